//! Packets in flight: acknowledgement and loss, round trips, probes, silences and outages (`spec/SESSION.md`, sections 6 and 10).
//!
//! **Invariant**: while packets are in flight on a carrier that can lose them, a timer is set. When it fires, the oldest packet
//! counts as lost, or a probe leaves.

use std::time::Duration;

use crate::clock::Clock;
use crate::packet::Ranges;
use crate::rate::{Arrived, Rate};
use crate::rtt::{PROBE_TIMEOUT_MAX, Rtt};
use crate::sent::{Item, SentPackets, Settled};
use crate::stats::Stats;
use crate::time::Time;

/// New values for a silent peer are sent at this multiple of the earlier rate. So all values are sent once before any value is
/// sent a second time, because the number of new values does not grow.
const SILENT_SHARE: f64 = 1.5;
/// Time for which the sender keeps this rate. Afterwards the rate decreases.
const SILENCE_BOLD: Duration = Duration::from_secs(3);
/// Maximum number of bytes sent in a silence. A peer that was stopped must read all of them before it reads the newest values.
const SILENT_BYTES_MAX: u64 = 1_024 * 1_024;
/// A silence is an outage if it lasts at least this time, and at least this number of probe timeouts.
const OUTAGE: Duration = Duration::from_secs(1);
const OUTAGE_PROBES: u32 = 3;
/// After this number of packets that are not eliciting, an eliciting packet is sent. So the peer's knowledge of our numbers stays
/// current.
const QUIET_RUN_MAX: u32 = 64;
/// A sender stops when this number of consecutive packets is unacknowledged, because the peer could no longer unfold the numbers.
const SPAN_MAX: u64 = 16_384;

/// The owners of the items in packets. They are notified when a packet is acknowledged or lost.
pub(super) trait ItemOwners {
    /// Records that packet `number`, which contained `item`, arrived.
    fn arrived(&mut self, number: u64, item: Item);
    /// Records that packet `number`, which contained `item`, was lost.
    fn lost(&mut self, number: u64, item: Item);
}

/// The timing data of an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// The time at which the acknowledgement arrived.
    pub(super) now: Time,
    /// Time for which the peer held the acknowledgement, µs.
    pub(super) delay_micros: u64,
    /// The time at which the acknowledgement left, by the peer's clock, µs.
    pub(super) left_peer: i64,
}

/// The components that learn from acknowledgements, besides recovery itself.
pub(super) struct Learners<'a> {
    pub(super) rate: &'a mut Rate,
    pub(super) clock: &'a mut Clock,
    pub(super) stats: &'a mut Stats,
}

/// The packets in flight, and the measurements of the path that their acknowledgements give.
#[derive(Debug)]
pub(super) struct Recovery {
    pub(super) sent: SentPackets,
    rtt: Rtt,
    is_reliable: bool,
    /// Whether the next packet leaves at once and is eliciting, regardless of the rate.
    pub(super) is_probe_due: bool,
    /// The time since which packets are in flight and none was acknowledged.
    waits_since: Option<Time>,
    probes: u32,
    probed_at: Time,
    /// Number of bytes sent since the silence began.
    silent_bytes: u64,
    /// Consecutive packets that elicited no acknowledgement.
    quiet_run: u32,
    /// Packets below this number were sent before the end of the last outage, so their times are not samples of the path.
    informative_from: u64,
    /// Whether no packet that was sent after the last outage has been acknowledged yet.
    follows_outage: bool,
}

impl Recovery {
    pub(super) fn new(now: Time, is_reliable: bool) -> Self {
        Self {
            sent: SentPackets::default(),
            rtt: Rtt::default(),
            is_reliable,
            is_probe_due: false,
            waits_since: None,
            probes: 0,
            probed_at: now,
            silent_bytes: 0,
            quiet_run: 0,
            informative_from: 0,
            follows_outage: false,
        }
    }

    /// Estimates of the round-trip time.
    pub(super) fn rtt(&self) -> &Rtt {
        &self.rtt
    }

    /// Changes the carrier. Everything in flight counts as lost, and the measurements of the old path are dropped.
    pub(super) fn change_carrier(
        &mut self,
        is_reliable: bool,
        stats: &mut Stats,
        owners: &mut impl ItemOwners,
    ) {
        self.is_reliable = is_reliable;
        while let Some(settled) = self.sent.lose_oldest() {
            stats.packets_lost += 1;
            self.give_up(&settled, owners);
        }
        self.forget_path();
    }

    /// Drops the measurements of the path, because it has changed.
    fn forget_path(&mut self) {
        self.rtt = Rtt::default();
        self.sent.forget_path();
        self.informative_from = 0;
        self.follows_outage = false;
        self.probes = 0;
        self.is_probe_due = false;
        self.waits_since = None;
    }

    /// Records that the handshake took one round trip.
    pub(super) fn sample(&mut self, round_trip: Duration) {
        self.rtt.sample(round_trip, Duration::ZERO);
    }

    /// Handles the arrival of a packet before its content takes effect. After an outage the sender continues at once with the
    /// newest data, at its earlier rate. The back-off of the silence and the packets still in flight do not limit the sender.
    pub(super) fn on_packet_received(&mut self, now: Time, last_heard: Time, rate: &mut Rate) {
        let Some(since) = self.waits_since else { return };
        let silent = now.since(since.max(last_heard));
        if silent < OUTAGE.max(OUTAGE_PROBES * self.rtt.probe_timeout()) {
            return;
        }
        // The packets in flight keep their items and are still acknowledged or lost. They only no longer fill the window.
        self.end_silence(now);
        self.sent.write_off_flight();
        rate.go_on();
        // If every answer takes this long, the path itself is slow. The next answer is then a valid sample.
        if !self.follows_outage {
            self.follows_outage = true;
            self.informative_from = self.sent.next_number();
        }
    }

    /// Handles an acknowledgement by the peer.
    pub(super) fn acknowledged(
        &mut self,
        timing: Timing,
        ranges: &Ranges,
        learners: Learners<'_>,
        owners: &mut impl ItemOwners,
    ) {
        let Timing { now, .. } = timing;
        let largest = ranges[0].1;
        let mut newest: Option<Settled> = None;
        let (mut bytes, mut is_progress) = (0, false);
        self.sent.note_largest(largest);
        learners.rate.found(self.sent.find_missed(now, ranges));
        for &(low, high) in ranges.iter() {
            let (low, high) = self.sent.tracked(low, high);
            for number in (low..high).rev() {
                let Some(settled) = self.sent.acknowledge(number) else { continue };
                if settled.eliciting {
                    is_progress = true;
                    bytes += u64::from(settled.bytes);
                    learners.stats.packets_acknowledged += 1;
                }
                for item in self.sent.items(settled.items.clone()) {
                    owners.arrived(number, item);
                }
                if newest.is_none() {
                    newest = Some(settled);
                }
            }
        }
        let newest = newest.filter(|newest| newest.number == largest && is_progress);
        if let Some(newest) = &newest {
            if self.silence(now).is_some() {
                learners.rate.slow_down();
            }
            if self.is_informative(newest) {
                self.learn(timing, newest, bytes, learners.rate, learners.clock);
            }
        }
        self.sent.forget();
        self.detect_losses(now, learners.rate, learners.stats, owners);
        if newest.is_some() {
            self.end_silence(now);
        }
    }

    /// Updates time and rate from the newest acknowledged packet. `bytes` is the size of all newly acknowledged packets.
    fn learn(&mut self, timing: Timing, newest: &Settled, bytes: u64, rate: &mut Rate, clock: &mut Clock) {
        let Timing { now, delay_micros, left_peer } = timing;
        // RFC 9002, section 5.1: only the newest acknowledged packet gives a sample, because older ones may have waited.
        self.follows_outage = false;
        self.rtt.sample(now.since(newest.at), Duration::from_micros(delay_micros));
        let arrived = left_peer.wrapping_sub(delay_micros as i64);
        clock.sample(newest.at, arrived, left_peer, now);
        let arrived = Arrived {
            number: newest.number,
            next_number: self.sent.next_number(),
            sent: newest.at,
            arrived,
            packet_bytes: newest.bytes,
            bytes,
            busy_period: newest.busy_period,
            is_reliable: self.is_reliable,
        };
        rate.acknowledged(now, arrived);
    }

    /// Whether the acknowledgement or loss of this packet is a sample of the current path.
    fn is_informative(&self, settled: &Settled) -> bool {
        settled.number >= self.informative_from
    }

    /// Declares packets lost if later packets were acknowledged before them.
    pub(super) fn detect_losses(
        &mut self,
        now: Time,
        rate: &mut Rate,
        stats: &mut Stats,
        owners: &mut impl ItemOwners,
    ) {
        if self.is_reliable {
            return;
        }
        let delay = self.loss_delay();
        while let Some(settled) = self.sent.lose(now, delay) {
            stats.packets_lost += 1;
            if self.is_informative(&settled) {
                rate.lost(settled.bytes);
            }
            self.give_up(&settled, owners);
        }
        if self.sent.in_flight() == 0 {
            self.waits_since = None;
        }
    }

    fn give_up(&mut self, lost: &Settled, owners: &mut impl ItemOwners) {
        for item in self.sent.items(lost.items.clone()) {
            owners.lost(lost.number, item);
        }
        self.sent.forget();
    }

    /// The age at which a packet counts as lost, once a later one is acknowledged.
    fn loss_delay(&self) -> Duration {
        self.rtt.loss_delay(self.sent.overtaken())
    }

    /// Returns the time at which the next packet counts as lost, if nothing arrives.
    pub(super) fn loss_at(&self) -> Option<Time> {
        self.sent.loss_at(self.loss_delay()).filter(|_| !self.is_reliable)
    }

    /// Records that a packet leaves, with the items that were pushed to [`Self::sent`].
    pub(super) fn departed(&mut self, now: Time, bytes: usize, is_eliciting: bool, rate: &mut Rate) {
        self.sent.push(now, bytes, is_eliciting);
        match self.silence(now) {
            Some(share) => {
                rate.spend_silently(now, bytes, share);
                self.silent_bytes += bytes as u64;
            }
            None => {
                let has_room_in_flight = self.sent.in_flight_bytes() < self.flight_bytes_max(rate);
                rate.spend(now, bytes, has_room_in_flight);
                self.silent_bytes = 0;
            }
        }
        if is_eliciting {
            self.quiet_run = 0;
            self.is_probe_due = false;
            self.waits_since.get_or_insert(now);
        } else {
            self.quiet_run += 1;
        }
    }

    /// Whether the next packet should be eliciting, because many consecutive packets were not.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet_run >= QUIET_RUN_MAX
    }

    /// Returns the time at which a probe leaves, if acknowledgements have not arrived.
    pub(super) fn probe_at(&self) -> Option<Time> {
        if self.is_reliable || self.sent.in_flight() == 0 {
            return None;
        }
        let base = self.rtt.probe_timeout();
        // The back-off of RFC 9002, section 6.2.1, begins after a bold phase, so that a short outage ends without a long wait.
        let is_bold = self.waits_since.is_some_and(|since| self.probed_at.since(since) < SILENCE_BOLD);
        let doublings = if is_bold { 0 } else { self.probes.min(10) };
        let wait = (base * (1 << doublings)).min(PROBE_TIMEOUT_MAX.max(base));
        // A probe restarts the time. Otherwise all later probes of a long silence would be due at once.
        let from = self.waits_since.map_or(self.probed_at, |since| since.max(self.probed_at));
        Some(from + wait)
    }

    /// Starts a probe. The next packet carries the items of the oldest packet in flight, regardless of the rate. Returns these
    /// items.
    pub(super) fn probe(&mut self, now: Time) -> impl Iterator<Item = Item> + '_ {
        self.is_probe_due = true;
        self.probes += 1;
        self.probed_at = now;
        self.sent.items(self.sent.oldest_items())
    }

    /// The share of the rate to use while the peer is silent; `None` if the peer is not silent.
    fn silence(&self, now: Time) -> Option<f64> {
        let since = self.waits_since.filter(|_| !self.is_reliable)?;
        let elapsed = now.since(since);
        if elapsed < 2 * self.rtt.probe_timeout() {
            return None;
        }
        // After the bold phase the share halves every second, because a peer that is silent that long has probably gone.
        let late = elapsed.saturating_sub(SILENCE_BOLD).as_secs().min(30) as i32;
        Some(SILENT_SHARE * 0.5f64.powi(late))
    }

    /// The time at which the silence begins, if it has not begun. From then on the bytes in flight no longer delay new content.
    pub(super) fn silence_begins(&self, now: Time) -> Option<Time> {
        let begins = self.waits_since.map(|since| since + 2 * self.rtt.probe_timeout());
        begins.filter(|begins| *begins > now)
    }

    fn end_silence(&mut self, now: Time) {
        self.probes = 0;
        self.probed_at = now;
        self.waits_since = (self.sent.in_flight() > 0).then_some(now);
    }

    /// The time since which packets are in flight without any acknowledgement; `None` while nothing is in flight.
    pub(super) fn unanswered_since(&self) -> Option<Time> {
        self.waits_since.filter(|_| self.sent.in_flight() > 0)
    }

    /// Whether no content may leave, because too many packets are tracked or unacknowledged.
    pub(super) fn is_full(&self) -> bool {
        self.sent.is_full() || self.sent.unacknowledged_span() > SPAN_MAX
    }

    /// Whether the bytes in flight leave room for more. In a silence, only the bytes that were sent since its beginning count.
    pub(super) fn has_room_in_flight(&self, now: Time, rate: &Rate) -> bool {
        match self.silence(now) {
            Some(_) => self.silent_bytes < SILENT_BYTES_MAX,
            // A drain paces packets far below the window. The window is full of the queue that the drain empties.
            None => rate.is_draining() || self.sent.in_flight_bytes() < self.flight_bytes_max(rate),
        }
    }

    fn flight_bytes_max(&self, rate: &Rate) -> u64 {
        const UNKNOWN: Duration = Duration::from_millis(100);
        let (least, smoothed) = (self.rtt.minimum(), self.rtt.smoothed());
        let (least, smoothed) = (least.unwrap_or(UNKNOWN), smoothed.unwrap_or(UNKNOWN));
        rate.flight_bytes_max(least, smoothed, self.is_reliable)
    }

    /// The time at which a packet becomes eliciting only to keep the carrier alive. If the session has never sent an eliciting
    /// packet, the time counts from its first received packet.
    pub(super) fn keep_alive_at(&self, idle_timeout: Duration, last_heard: Time) -> Time {
        self.sent.last_eliciting_at().unwrap_or(last_heard) + idle_timeout / 3
    }
}
