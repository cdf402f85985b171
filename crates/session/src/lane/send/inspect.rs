//! The messages that wait in a lane, for inspection.

use std::time::Duration;

use nowcast_queue::Outdated;

use super::{SendLane, WAITING_BYTES};
use crate::time::Time;

/// A message that waits to be sent for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingMessage {
    /// The lane.
    pub lane: u8,
    /// The key of a state; `None` for an event, a command or a reply.
    pub key: Option<u64>,
    /// The length of the payload, in bytes.
    pub bytes: u32,
    /// The time since the message was put.
    pub age: Duration,
}

/// The messages that wait to be sent for the first time, as memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Memory of the messages that no put replaces, in bytes: events, and states whose key has a newer value behind an event.
    pub bytes: usize,
    /// Number of the other states: at most one for each key.
    pub states: usize,
}

impl std::iter::Sum for Backlog {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            bytes: sum.bytes + one.bytes,
            states: sum.states + one.states,
        })
    }
}

impl SendLane {
    /// The messages that wait, as memory.
    pub(crate) fn backlog(&self) -> Backlog {
        let Outdated { entries, bytes } = self.queue.outdated();
        Backlog {
            bytes: self.event_bytes + bytes + entries * WAITING_BYTES,
            states: self.queue.len() - self.events_waiting - entries,
        }
    }

    /// Bytes of the messages that wait.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.queue.bytes()
    }

    /// The messages that wait, in the order in which they leave.
    pub(crate) fn waiting_messages(&self, now: Time) -> impl Iterator<Item = WaitingMessage> {
        self.queue.iter().map(move |(key, waiting)| WaitingMessage {
            lane: self.lane,
            key: (!key.is_event()).then_some(key.raw()),
            bytes: waiting.length,
            age: now.since(waiting.at),
        })
    }
}

#[cfg(test)]
mod tests {
    use nowcast_queue::Bounds;

    use super::super::{LaneConfig, SendLane, Store, WAITING_BYTES};
    use super::Backlog;
    use crate::error::Refused;
    use crate::packet::EventKind;
    use crate::stats::Stats;
    use crate::time::Time;

    fn put(lane: &mut SendLane, store: &mut Store, length: usize) -> Result<u64, Refused> {
        lane.put_event(Time::from_millis(0), EventKind::Event, &vec![0; length], None, store)
    }

    #[test]
    fn events_that_nobody_reads_use_at_most_their_budget() {
        let bounds = Bounds { entries_max: usize::MAX, bytes_max: usize::MAX };
        let event_bytes_max = 64 << 10;
        for length in [0, 10, 100, 1_000, 10_000] {
            let used = allocation_counter::measure(|| {
                let mut store = Store::default();
                let mut lane =
                    SendLane::new(0, LaneConfig { bounds, event_bytes_max, ..LaneConfig::default() });
                while put(&mut lane, &mut store, length).is_ok() {}
                assert!(lane.event_bytes > event_bytes_max && lane.event_bytes < event_bytes_max + 20_000);
                let state =
                    lane.put_state(Time::from_millis(0), 1, &[1; 8], &mut store, &mut Stats::default());
                assert_eq!(state, Ok(()), "states have bounds of their own");
            });
            assert!(used.bytes_max < 2 * event_bytes_max as u64, "{length}: {}", used.bytes_max);
        }
    }

    #[test]
    fn states_that_an_event_keeps_from_being_replaced_count_with_the_memory_that_they_hold() {
        let put_state = |lane: &mut SendLane, store: &mut Store, key| {
            let (now, mut stats) = (Time::from_millis(0), Stats::default());
            lane.put_state(now, key, &[1; 30], store, &mut stats).expect("the lane has space");
        };
        let mut backlog = Backlog::default();
        let used = allocation_counter::measure(|| {
            let mut store = Store::default();
            let mut lane = SendLane::new(0, LaneConfig::default());
            for _ in 0..100 {
                (1..=60).for_each(|key| put_state(&mut lane, &mut store, key));
                put(&mut lane, &mut store, 8).expect("the lane has space");
            }
            backlog = lane.backlog();
        });
        assert_eq!(backlog.states, 60, "the newest value of each key");
        assert_eq!(backlog.bytes, 99 * 60 * (30 + WAITING_BYTES) + 100 * (8 + WAITING_BYTES));
        assert!(used.bytes_max < 2 * backlog.bytes as u64, "{backlog:?}: {}", used.bytes_max);
    }

    #[test]
    fn one_large_event_leaves_room_for_others() {
        let mut store = Store::default();
        let mut lane = SendLane::new(0, LaneConfig { event_bytes_max: 1 << 16, ..LaneConfig::default() });
        let large = |lane: &mut SendLane, store: &mut Store| put(lane, store, 1 << 20);
        assert!((0..4).all(|_| large(&mut lane, &mut store).is_ok()));
        assert_eq!(large(&mut lane, &mut store), Err(Refused::Full));
        assert_eq!(lane.event_bytes, 4 * ((1 << 20) + WAITING_BYTES));
    }
}
