//! Decides when to acknowledge received packets (`spec/SESSION.md`, section 6).
//!
//! **Invariant**: from the arrival of an eliciting packet until its acknowledgement leaves, a time is set. At this time the
//! acknowledgement leaves, if necessary in a separate packet.

use std::time::Duration;

use crate::packet::{Arrival, Data, Received, write_header};
use crate::rtt::{ACK_DELAY_FIRST_MICROS, ACK_DELAY_MAX, HELD_ACK_DELAY_MAX, allowance, longest_lately};
use crate::time::{Time, WIRE_UNIT_MICROS};

/// An acknowledgement is due after this number of eliciting packets. A server's turn has fewer, so that one acknowledgement
/// suffices for a turn. More acknowledgements would crowd a narrow uplink.
const PACKETS_MAX: u32 = 16;
/// An acknowledgement is due after this time on a stream. On datagrams, it is due after [`ACK_DELAY_MAX`].
const STREAM_DELAY_MAX: Duration = Duration::from_millis(20);
/// An acknowledgement of at most this number of bytes may wait for another packet.
const LITTLE_BYTES: usize = 1_000;
/// Maximum time of this wait on a stream, where nothing is lost.
const LITTLE_DELAY: Duration = Duration::from_millis(60);
/// Packets that are closer together than this left in the same turn.
const TURN: Duration = Duration::from_millis(2);
/// Possible lateness of our next packet, because timers are late under load.
const SLACK: Duration = Duration::from_millis(5);
const SLACK_SHARE: u32 = 2;
/// The peer expects an acknowledgement within the time of [`allowance`]. This side holds an acknowledgement for a twentieth
/// less than this time, so that the peer never regards the acknowledgement as lost.
const MARGIN: u32 = 20;

/// A packet after a silence of this length is acknowledged at once, because the peer may have waited for an answer during the
/// whole silence.
const QUIET: Duration = Duration::from_secs(1);

/// The numbers of received packets, and the acknowledgements that are due.
#[derive(Debug)]
pub(super) struct Acknowledger {
    received: Received,
    pending: Pending,
}

impl Acknowledger {
    pub(super) fn new() -> Self {
        Self { received: Received::new(), pending: Pending::default() }
    }

    /// The largest number that has arrived.
    pub(super) fn largest(&self) -> Option<u64> {
        self.received.largest()
    }

    /// Classifies a packet number as new, duplicate or too old.
    pub(super) fn classify(&self, number: u64) -> Arrival {
        self.received.classify(number)
    }

    /// Records a new packet of `length` bytes. The previous packet arrived at `last_heard`.
    pub(super) fn arrived(
        &mut self,
        now: Time,
        number: u64,
        data: &Data<'_>,
        length: usize,
        last_heard: Time,
        is_reliable: bool,
    ) {
        let leaves_gap = self.received.insert(number);
        if self.received.largest() == Some(number) {
            self.pending.largest_at = now;
        }
        if data.is_eliciting() {
            let ends_quiet = now.since(last_heard) >= QUIET;
            let is_soon_replaced = data.is_soon_replaced();
            let packet = Eliciting { bytes: length, leaves_gap, ends_quiet, is_soon_replaced };
            self.pending.arrived(now, &packet, is_reliable);
        }
    }

    /// The time at which an acknowledgement leaves in a separate packet.
    pub(super) fn due_at(&self, now: Time) -> Option<Time> {
        self.pending.due_at(now)
    }

    /// Begins packet `number`. If there is anything new to acknowledge, includes an acknowledgement and returns `true`.
    pub(super) fn write_header(&self, now: Time, number: u64, out: &mut Vec<u8>) -> bool {
        let delay = now.since(self.pending.largest_at).as_micros() as u64 / WIRE_UNIT_MICROS;
        let ack = self.pending.is_new.then_some((&self.received, delay));
        write_header(out, number, now.wire(), ack);
        self.pending.is_new
    }

    /// Records that a packet leaves. `acks` states whether it contains an acknowledgement.
    pub(super) fn departed(&mut self, now: Time, is_eliciting: bool, acks: bool) {
        self.pending.departed(now, is_eliciting, acks);
    }

    /// Drops pending acknowledgements. The reported delays stay, because the peer still uses them.
    pub(super) fn forget(&mut self) {
        self.pending = Pending { reported_delay: self.pending.reported_delay, ..Pending::default() };
    }

    /// Resets the reported delays after a change of the path, because no delay was reported on the new path.
    pub(super) fn forget_path(&mut self) {
        self.pending = Pending::default();
    }
}

/// The pending acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Pending {
    largest_at: Time,
    is_new: bool,
    eliciting: u32,
    /// Number of bytes in these packets.
    bytes: usize,
    is_urgent: bool,
    /// Whether the whole acknowledgement waits for another packet.
    is_held: bool,
    due_at: Option<Time>,
    cadence: SendCadence,
    /// The longest delay recently reported to the peer, in µs.
    reported_delay: u64,
}

impl Default for Pending {
    fn default() -> Self {
        Self {
            largest_at: Time::default(),
            is_new: false,
            eliciting: 0,
            bytes: 0,
            is_urgent: false,
            is_held: false,
            due_at: None,
            cadence: SendCadence::default(),
            reported_delay: ACK_DELAY_FIRST_MICROS,
        }
    }
}

/// One eliciting packet.
struct Eliciting {
    bytes: usize,
    leaves_gap: bool,
    /// Whether nothing had arrived for a long time before.
    ends_quiet: bool,
    /// Whether a later packet replaces all content of this packet if this packet is lost.
    is_soon_replaced: bool,
}

impl Pending {
    fn arrived(&mut self, now: Time, packet: &Eliciting, is_reliable: bool) {
        let delay = if is_reliable { STREAM_DELAY_MAX } else { ACK_DELAY_MAX };
        self.is_new = true;
        self.eliciting += 1;
        self.bytes += packet.bytes;
        let has_gap = packet.leaves_gap && !is_reliable;
        self.is_urgent |= self.eliciting >= PACKETS_MAX || has_gap || packet.ends_quiet;
        let is_little = self.bytes <= LITTLE_BYTES;
        let company = match is_reliable {
            // On a stream, no peer waits for the acknowledgement of a few bytes.
            true => Some(now + LITTLE_DELAY),
            false if packet.is_soon_replaced && (self.eliciting == 1 || self.is_held) => {
                let allowed = allowance(self.reported_delay);
                let limit = allowed - allowed / MARGIN;
                self.cadence.next_at(now).map(|next| next.min(now + limit))
            }
            false => None,
        };
        let company = company.filter(|_| is_little);
        self.is_held = company.is_some();
        let due = company.unwrap_or(now + delay);
        self.due_at = Some(self.due_at.map_or(due, |before| before.min(due)));
    }

    /// Records that a packet leaves. `acks` states whether it contains an acknowledgement.
    fn departed(&mut self, now: Time, is_eliciting: bool, acks: bool) {
        if is_eliciting {
            self.cadence.departed(now);
        }
        if acks {
            let reported_delay =
                longest_lately(self.reported_delay, now.since(self.largest_at).as_micros() as u64);
            *self = Self {
                largest_at: self.largest_at,
                cadence: self.cadence,
                reported_delay,
                ..Self::default()
            };
        }
    }

    /// The time at which an acknowledgement leaves in a separate packet.
    fn due_at(&self, now: Time) -> Option<Time> {
        if self.is_urgent { Some(now) } else { self.due_at }
    }
}

/// The regularity of our own packets. Acknowledgements can use packets that leave soon anyway.
#[derive(Clone, Copy, Debug, Default)]
struct SendCadence {
    last: Time,
    waits: [Duration; 2],
}

impl SendCadence {
    fn departed(&mut self, now: Time) {
        let wait = now.since(self.last);
        if wait >= TURN {
            self.waits = [wait, self.waits[0]];
            self.last = now;
        }
    }

    /// Returns the time at which our next packet will have left, if that is soon and the cadence is regular.
    fn next_at(&self, now: Time) -> Option<Time> {
        let wait = self.waits[0].max(self.waits[1]);
        let latest = now + HELD_ACK_DELAY_MAX;
        let is_soon = self.last + wait + SLACK <= latest;
        let next = (self.last + wait + wait / SLACK_SHARE + SLACK).min(latest);
        (is_soon && self.waits[1] > Duration::ZERO).then_some(next.max(now + ACK_DELAY_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATES: Eliciting =
        Eliciting { bytes: 400, leaves_gap: false, ends_quiet: false, is_soon_replaced: true };

    fn at(millis: u64) -> Time {
        Time::from_micros(3_600_000_000 + millis * 1_000)
    }

    fn sending_at(times: &[u64]) -> Pending {
        let mut acks = Pending::default();
        times.iter().for_each(|&time| acks.departed(at(time), true, false));
        acks
    }

    #[test]
    fn with_a_regular_cadence_acknowledgements_wait_for_the_next_packet() {
        // A delay longer than the initial assumption is reached step by step.
        for (period, before_next, expected) in [(50, 30, 0..1), (90, 75, 1..6)] {
            let (mut acks, mut alone) = (sending_at(&[0, period, 2 * period]), 0);
            for turn in 3..40 {
                let next = turn * period;
                let arrives = next - before_next;
                acks.arrived(at(arrives), &STATES, false);
                acks.largest_at = at(arrives);
                let due = acks.due_at(at(arrives)).unwrap();
                if due < at(next) {
                    alone += 1;
                    acks.departed(due, false, true);
                }
                acks.departed(at(next), true, acks.is_new);
            }
            assert!(expected.contains(&alone), "{alone} acknowledgements left alone every {period} ms");
        }
    }

    #[test]
    fn acknowledgements_do_not_wait_if_the_sender_is_silent_or_late() {
        for times in [&[][..], &[100], &[100, 140], &[50, 100, 200], &[100, 120, 140]] {
            let mut acks = sending_at(times);
            acks.arrived(at(200), &STATES, false);
            assert_eq!(acks.due_at(at(200)), Some(at(205)), "{times:?}");
        }
    }

    #[test]
    fn a_turn_of_the_sender_is_acknowledged_once() {
        let mut acks = Pending::default();
        for packet in 1..PACKETS_MAX {
            acks.arrived(at(200), &Eliciting { bytes: 1_200, ..STATES }, false);
            assert_eq!(acks.due_at(at(200)), Some(at(205)), "packet {packet}");
        }
        acks.arrived(at(200), &STATES, false);
        assert_eq!(acks.due_at(at(200)), Some(at(200)));
    }

    #[test]
    fn acknowledgements_still_wait_after_the_sender_was_late_once() {
        let mut acks = sending_at(&[0, 50, 100, 200]);
        for arrives in [210, 250] {
            acks.arrived(at(arrives), &STATES, false);
            acks.largest_at = at(arrives);
        }
        assert!(acks.is_held);
        let next = acks.cadence.next_at(at(250)).unwrap();
        assert_eq!(next, at(350), "never longer than the maximum time for holding an acknowledgement");
    }

    #[test]
    fn acknowledgements_of_events_and_gaps_are_never_held_and_later_ones_no_longer_than_the_first() {
        let mut acks = sending_at(&[0, 50, 100]);
        acks.arrived(at(101), &Eliciting { is_soon_replaced: false, ..STATES }, false);
        assert_eq!(acks.due_at(at(101)), Some(at(106)));
        let mut acks = sending_at(&[0, 50, 100]);
        acks.arrived(at(101), &Eliciting { leaves_gap: true, ..STATES }, false);
        assert_eq!(acks.due_at(at(101)), Some(at(101)));
        let mut acks = sending_at(&[0, 50, 100]);
        acks.arrived(at(101), &STATES, false);
        assert_eq!(acks.due_at(at(101)), Some(at(158)));
        acks.arrived(at(102), &STATES, false);
        assert_eq!(acks.due_at(at(102)), Some(at(158)));
        acks.arrived(at(103), &STATES, false);
        assert_eq!(acks.due_at(at(103)), Some(at(108)), "more than 1,000 bytes");
    }
}
