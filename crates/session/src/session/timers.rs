//! Timeouts: the actions that are due when nothing arrives (`spec/SESSION.md`, sections 10 and 12).

use super::Session;
use super::commands::Deadline;
use super::incoming::Owners;
use crate::message::Notice;
use crate::time::Time;

impl Session {
    /// Handles due timers. Early or additional calls are harmless.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire(now);
        if self.is_open() {
            self.handle_open_timeout(now);
        } else {
            let notice = self.handshake.handle_timeout(now, self.last_heard);
            self.notify(notice);
        }
    }

    fn handle_open_timeout(&mut self, now: Time) {
        if now.since(self.last_heard) >= self.handshake.idle_timeout() {
            let notice = self.handshake.fell_silent(now);
            self.notify(notice);
            return;
        }
        let Self { lanes, handshake, recovery, rate, stats, .. } = self;
        recovery.detect_losses(now, rate, stats, &mut Owners { lanes, handshake });
        if recovery.probe_at().is_some_and(|at| now >= at) {
            stats.probes_sent += 1;
            for item in recovery.probe(now) {
                lanes.probe(item);
            }
            lanes.probe_oldest();
        }
    }

    fn expire(&mut self, now: Time) {
        while let Some(Deadline { lane, id, .. }) = self.commands.take_due(now) {
            self.lanes.expire(lane, id);
            self.stats.commands_timed_out += 1;
            self.notify(Notice::CommandTimedOut { lane, command: id });
        }
    }

    /// Returns the time at which to call [`handle_timeout`](Self::handle_timeout) and then [`poll_packet`](Self::poll_packet)
    /// again, if nothing happens before. A time in the past means now.
    pub fn poll_timeout(&mut self, now: Time) -> Option<Time> {
        let due =
            if self.is_open() { self.open_due_at(now) } else { self.handshake.due_at(now, self.last_heard) };
        earliest([due, self.commands.next_at().filter(|_| !self.is_closed())])
    }

    fn open_due_at(&mut self, now: Time) -> Option<Time> {
        let must = (self.recovery.is_probe_due || self.handshake.proof_is_due()).then_some(now);
        earliest([
            must,
            self.acks.due_at(now),
            self.recovery.loss_at(),
            self.content_at(now),
            self.lanes.bulk_at(now, self.handshake.peer()),
            self.report_at(),
            self.recovery.probe_at(),
            self.repeat_at(now),
            Some(self.keep_alive_at()),
            Some(self.last_heard + self.handshake.idle_timeout()),
        ])
    }

    /// Returns the time at which the consumed count is reported to the peer. A time in the past means now.
    pub fn report_at(&self) -> Option<Time> {
        self.lanes.report_at(&self.config.limits)
    }

    pub(super) fn keep_alive_at(&self) -> Time {
        self.recovery.keep_alive_at(self.handshake.idle_timeout(), self.last_heard)
    }
}

fn earliest<const N: usize>(times: [Option<Time>; N]) -> Option<Time> {
    times.into_iter().flatten().min()
}
