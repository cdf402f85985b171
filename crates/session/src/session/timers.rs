//! What happens when nothing arrives (`spec/SESSION.md`, sections 10 and 12).

use std::time::Duration;

use super::commands::Deadline;
use super::{Phase, Session};
use crate::error::{CloseCode, Closed, ClosedBy};
use crate::lane::send::Expiry;
use crate::message::Notice;
use crate::rtt::PROBE_TIMEOUT_MAX;
use crate::time::Time;

/// A silent peer is sent new values at this share of what it took before, so that a turn of all of them is through before the
/// next one; there are no more of them than before.
const SILENT_SHARE: f64 = 1.5;
/// For so long it is sent as many as before; then ever fewer.
const SILENCE_BOLD: Duration = Duration::from_secs(3);
/// What a probe takes from each lane.
const PROBE_MESSAGES: usize = 16;

impl Session {
    /// Does what time demands. Early or additional calls do no harm.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire(now);
        match &self.phase {
            Phase::Open => self.open_timeout(now),
            Phase::Connecting { .. } => self.connecting_timed_out(now),
            Phase::Answered { .. } if now.since(self.last_heard) >= self.config.handshake_timeout => {
                self.unproven_timed_out(now);
            }
            Phase::Detached { since, .. } if now.since(*since) >= self.resume_timeout => {
                let reason = "no new carrier within the resume time-out".to_owned();
                self.end(now, Closed { code: CloseCode::GAVE_UP, reason, by: ClosedBy::Silence });
            }
            Phase::Closing { until, .. } if now >= *until => self.phase = Phase::Closed,
            _ => {}
        }
    }

    fn unproven_timed_out(&mut self, now: Time) {
        if self.identity.is_some_and(|identity| identity.epoch > 0) {
            self.detach(now);
        } else {
            let reason = "the peer was not proven within the handshake time-out".to_owned();
            self.end(now, Closed { code: CloseCode::GAVE_UP, reason, by: ClosedBy::Silence });
        }
    }

    fn open_timeout(&mut self, now: Time) {
        if now.since(self.last_heard) >= self.idle_timeout {
            self.begin_detached(now, true);
            return;
        }
        self.detect_losses(now);
        if self.probe_at().is_some_and(|at| now >= at) {
            self.probe(now);
        }
    }

    /// Acknowledgements stayed away: the next packet carries what is oldest, whatever the rate.
    fn probe(&mut self, now: Time) {
        self.is_probe_due = true;
        self.probes += 1;
        self.probed_at = now;
        self.stats.probes_sent += 1;
        for index in self.sent.oldest_items() {
            let item = self.sent.item(index);
            let lane = match item {
                crate::sent::Item::State { lane, .. } | crate::sent::Item::Event { lane, .. } => lane,
                _ => continue,
            };
            if let Some(lane) = &mut self.outgoing[usize::from(lane)] {
                lane.probe(item);
            }
        }
        for lane in self.outgoing.iter_mut().flatten() {
            lane.probe_oldest(PROBE_MESSAGES);
        }
    }

    fn probe_at(&self) -> Option<Time> {
        if self.carrier.is_reliable || self.sent.in_flight() == 0 {
            return None;
        }
        let base = self.rtt.probe_timeout();
        let bold = self.waits_since.is_some_and(|since| self.probed_at.since(since) < SILENCE_BOLD);
        let doublings = if bold { 0 } else { self.probes.min(10) };
        let wait = (base * (1 << doublings)).min(PROBE_TIMEOUT_MAX.max(base));
        let from = self.waits_since.max(Some(self.probed_at)).max(self.only_probe_from());
        from.map(|from| from + wait)
    }

    /// Before the first silence, the last packet sent counts (RFC 9002, section 6.2.1).
    fn only_probe_from(&self) -> Option<Time> {
        if self.probes == 0 && self.silence(self.probed_at).is_none() { self.waits_since } else { None }
    }

    /// How much of the rate to use while the peer is silent; `None` if it is not.
    pub(super) fn silence(&self, now: Time) -> Option<f64> {
        let since = self.waits_since.filter(|_| !self.carrier.is_reliable)?;
        let elapsed = now.since(since);
        if elapsed < 2 * self.rtt.probe_timeout() {
            return None;
        }
        let late = elapsed.saturating_sub(SILENCE_BOLD).as_secs().min(30) as i32;
        Some(SILENT_SHARE * 0.5f64.powi(late))
    }

    /// Since when packets want an answer though nothing has been heard: the silence that a driver judges a carrier by.
    /// `None` while nothing is asked.
    pub fn unanswered_since(&self) -> Option<Time> {
        let asked = match &self.phase {
            Phase::Connecting { began, .. } => Some(*began),
            Phase::Open => self.waits_since.filter(|_| self.sent.in_flight() > 0),
            _ => None,
        };
        asked.map(|asked| asked.max(self.last_heard))
    }

    /// After so long an answer is overdue, by what is known of the round trip.
    pub fn probe_timeout(&self) -> Duration {
        self.rtt.probe_timeout()
    }

    fn expire(&mut self, now: Time) {
        while let Some(Deadline { lane, id, is_command, .. }) = self.commands.take_due(now) {
            let Some(sender) = &mut self.outgoing[usize::from(lane)] else { continue };
            let expiry = sender.expire(id, &mut self.store);
            if is_command {
                self.stats.commands_timed_out += 1;
                self.tell(Notice::CommandTimedOut { lane, command: id });
            } else if expiry == Expiry::Expired {
                self.stats.expired += 1;
                self.tell(Notice::Expired { lane, event: id });
            }
        }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) and then [`poll_packet`](Self::poll_packet) again, if nothing
    /// happens before. A time that has passed means now.
    pub fn poll_timeout(&mut self, now: Time) -> Option<Time> {
        let phase = match &self.phase {
            Phase::Open => self.open_wakes_at(now),
            Phase::Connecting { began, next, .. } => {
                Some((*next).min(*began + self.config.handshake_timeout))
            }
            Phase::Answered { answer_due: true, .. } | Phase::Refusing { .. } => Some(now),
            Phase::Answered { .. } => Some(self.last_heard + self.config.handshake_timeout),
            Phase::Detached { since, .. } => Some(*since + self.resume_timeout),
            Phase::Closing { due: true, .. } => Some(now),
            Phase::Closing { until, .. } => Some(*until),
            Phase::Listening | Phase::Closed => None,
        };
        earliest([phase, self.commands.next_at().filter(|_| !self.is_closed())])
    }

    fn open_wakes_at(&mut self, now: Time) -> Option<Time> {
        let ack = self.ack.due_at(now);
        let loss = self.sent.loss_at(self.loss_delay()).filter(|_| !self.carrier.is_reliable);
        let must = (self.is_probe_due || self.proof_is_due()).then_some(now);
        let content = self.content_at(now);
        let lanes = self.lanes_in_use();
        let bulk = self.outgoing[..lanes].iter_mut().flatten().filter_map(|lane| lane.next_at(now)).min();
        earliest([
            ack,
            loss,
            must,
            content,
            bulk,
            self.report_at(),
            self.probe_at(),
            self.repeat_at(now),
            Some(self.keep_alive_at()),
            Some(self.last_heard + self.idle_timeout),
        ])
    }

    /// When the peer is to be told what the application has consumed. A time that has passed means now.
    pub fn report_at(&self) -> Option<Time> {
        let lanes = self.incoming[..self.lanes_heard.into()].iter().flatten();
        lanes.filter_map(|lane| lane.window_due(&self.config.limits)).min()
    }

    pub(super) fn keep_alive_at(&self) -> Time {
        self.sent.last_eliciting_at().unwrap_or_default().max(self.opened_or_heard()) + self.idle_timeout / 3
    }

    /// An opened session that never sent anything eliciting begins to count with what it heard first.
    fn opened_or_heard(&self) -> Time {
        if self.sent.last_eliciting_at().is_some() { Time::default() } else { self.last_heard }
    }
}

fn earliest<const N: usize>(times: [Option<Time>; N]) -> Option<Time> {
    times.into_iter().flatten().min()
}
