//! Counters and measurements of a session. Every drop is counted here.

use std::time::Duration;

use crate::histogram::Histogram;

/// Counters from the beginning of a session.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Packets of every kind that left.
    pub packets_sent: u64,
    /// Bytes of these packets.
    pub bytes_sent: u64,
    /// Packets of every kind that were accepted.
    pub packets_received: u64,
    /// Bytes of these packets.
    pub bytes_received: u64,
    /// Eliciting packets that the peer acknowledged.
    pub packets_acknowledged: u64,
    /// Eliciting packets regarded as lost.
    pub packets_lost: u64,
    /// Probes that were sent because acknowledgements did not arrive.
    pub probes_sent: u64,
    /// Packets that contained nothing but an acknowledgement.
    pub acks_sent: u64,
    /// Events, commands and replies bound to a packet for the first time.
    pub events_sent: u64,
    /// Events sent again because a packet was lost.
    pub events_resent: u64,
    /// Events that were sent again before any loss was known.
    pub events_repeated: u64,
    /// Values bound to a packet for the first time.
    pub states_sent: u64,
    /// Values sent again because a packet was lost.
    pub states_resent: u64,
    /// Bytes of keys and payloads bound for the first time.
    pub payload_bytes_sent: u64,
    /// Values that a newer one replaced, before they were sent or after they were lost.
    pub superseded: u64,
    /// Commands whose deadline passed without a reply.
    pub commands_timed_out: u64,
    /// Barriers made only to report consumption.
    pub barriers_made: u64,
    /// Messages shown to the application.
    pub messages_received: u64,
    /// Received values that a newer one replaced before the application read them.
    pub conflated: u64,
    /// Age of values when they arrived.
    pub freshness: Histogram,
    /// Drops, by reason.
    pub dropped: Dropped,
}

/// Drops, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Empty packets.
    pub empty: u64,
    /// Malformed packets, from a peer that was not proven.
    pub malformed: u64,
    /// Packets whose number was received before.
    pub duplicate: u64,
    /// Packets that are too old for the detection of duplicates.
    pub ancient: u64,
    /// Data packets that arrived before the peer was proven.
    pub unproven: u64,
    /// Packets of the handshake that were not expected.
    pub misplaced: u64,
    /// Payloads of a replication source that were dropped in favour of newer ones, because the application did not read them.
    pub unread: u64,
    /// Packets that arrived when the session was closed or had no carrier.
    pub closed: u64,
    /// Received values that were older than a value received before.
    pub stale_states: u64,
    /// Events received already.
    pub late_events: u64,
    /// Replies to commands that had already expired.
    pub late_replies: u64,
    /// Notices that were dropped in favour of newer ones, because the application did not read them.
    pub notices: u64,
}

/// The present measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Smoothed round-trip time.
    pub round_trip: Option<Duration>,
    /// The last measured round-trip time, without the time for which the peer held the acknowledgement.
    pub round_trip_latest: Option<Duration>,
    /// Smallest round-trip time.
    pub round_trip_min: Option<Duration>,
    /// Variation of the round-trip time.
    pub round_trip_variation: Option<Duration>,
    /// The delay in the standing queue, which does not drain.
    pub queueing_delay: Duration,
    /// The sender's rate limit.
    pub bytes_per_second: u64,
    /// Bytes that were sent and are neither acknowledged nor lost.
    pub in_flight_bytes: u64,
    /// Messages that wait to be sent.
    pub waiting: usize,
    /// Bytes of these messages.
    pub waiting_bytes: usize,
    /// Messages that wait for the application.
    pub unread: usize,
}

impl Stats {
    /// Lost packets per eliciting packet that is either acknowledged or lost.
    pub fn loss(&self) -> f64 {
        let known = self.packets_acknowledged + self.packets_lost;
        if known == 0 { 0.0 } else { self.packets_lost as f64 / known as f64 }
    }
}
