//! Lanes. Each direction of a lane is one updatable queue whose two ends are on two machines (`spec/SESSION.md`, section 8).

pub(crate) mod receive;
pub(crate) mod send;
#[cfg(test)]
mod send_vectors;
mod states;
#[cfg(test)]
mod vectors;
mod waiting;

use nowcast_queue::Bounds;

/// The sending parameters of one lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaneConfig {
    /// Priority class. All messages of class 0 are sent before any of class 1, and so on.
    pub class: u8,
    /// Share among the lanes of the same class; greater than 0.
    pub weight: u16,
    /// Limits of the messages that wait to be sent.
    pub bounds: Bounds,
    /// Budget for the events, commands and replies that wait to be sent, in bytes of memory. A put is refused while more is used. A
    /// message uses [`WAITING_BYTES`] and its payload, but at most a quarter of the budget.
    pub event_bytes_max: usize,
    /// If this number of keys was sent since the last event, and all values have arrived, the lane forgets the keys before it sends a
    /// new one. A lane that has sent no state for a while forgets its keys even if there are fewer (`spec/SESSION.md`,
    /// section 10, "Memory").
    pub known_keys_max: usize,
    /// Maximum average rate of a bulk lane; `None` for other lanes.
    pub bytes_per_second_max: Option<u32>,
    /// Whether a [`crate::Replication`] source feeds this lane besides its queue.
    pub has_source: bool,
}

impl Default for LaneConfig {
    fn default() -> Self {
        Self {
            class: 1,
            weight: 1,
            bounds: Bounds { entries_max: 16_384, bytes_max: 16 << 20 },
            event_bytes_max: 16 << 20,
            known_keys_max: 128,
            bytes_per_second_max: None,
            has_source: false,
        }
    }
}

/// Memory of a waiting message besides its payload: an entry of the queue, which doubles when it grows, and a buffer.
pub const WAITING_BYTES: usize = 192;

/// A token bucket, for bulk lanes and early repetitions. Spending more than the tokens leaves a
/// debt, which time pays off.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bucket {
    tokens: f64,
    filled_at: Option<crate::time::Time>,
}

impl Bucket {
    /// Returns the tokens at `now`. The bucket starts full and is refilled at `per_second` up to `depth`.
    pub(crate) fn tokens(&mut self, now: crate::time::Time, per_second: f64, depth: f64) -> f64 {
        match self.filled_at.replace(now) {
            None => self.tokens = depth,
            Some(then) => self.tokens += now.since(then).as_secs_f64() * per_second,
        }
        self.tokens = self.tokens.min(depth);
        self.tokens
    }

    pub(crate) fn spend(&mut self, bytes: usize) {
        self.tokens -= bytes as f64;
    }
}
