//! Records the updates that readers receive.

use serde::{Deserialize, Serialize};

/// Maximum number of recorded values of each kind in one process. Further values are only counted.
const NOTED_MAX: usize = 1 << 20;

/// The updates that the readers of one process received between two times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(in crate::load) struct Measurements {
    /// Intervals between two updates of a client, in microseconds.
    pub(in crate::load) intervals_us: Vec<u32>,
    /// Delays of updates after their step, in microseconds. For all clients, the clocks have the same offset.
    pub(in crate::load) delays_us: Vec<i64>,
    /// Number of updates that arrived.
    pub(in crate::load) updates: u64,
    /// Bytes of messages, without the headers of their carrier.
    pub(in crate::load) payload_bytes: u64,
    /// Number of clients that ended before they were requested to. The next field is the reason of the first such end.
    pub(in crate::load) lost: u32,
    pub(in crate::load) why_lost: Option<String>,
}

impl Measurements {
    /// Starts counting. If a client was lost before, the reason of the first is kept, because that client may never have joined.
    pub(super) fn begin(&mut self) {
        *self = Self { why_lost: self.why_lost.take(), ..Self::default() };
    }

    /// Records an update. `stamp_ns` is the time of its step by the server's clock.
    pub(super) fn update(&mut self, before_ns: Option<u64>, now_ns: u64, stamp_ns: u64) {
        self.updates += 1;
        if let Some(before) = before_ns
            && self.intervals_us.len() < NOTED_MAX
        {
            let interval = (now_ns - before) / 1_000;
            self.intervals_us.push(u32::try_from(interval).unwrap_or(u32::MAX));
        }
        if self.delays_us.len() < NOTED_MAX {
            self.delays_us.push((now_ns as i64 - stamp_ns as i64) / 1_000);
        }
    }

    /// Records that a client ended.
    pub(super) fn lose(&mut self, why: impl ToString) {
        self.lost += 1;
        self.why_lost.get_or_insert_with(|| why.to_string());
    }

    /// Adds the observations of another process that uses the same server.
    pub(in crate::load) fn add(&mut self, other: Measurements) {
        self.intervals_us.extend(other.intervals_us);
        self.delays_us.extend(other.delays_us);
        self.updates += other.updates;
        self.payload_bytes += other.payload_bytes;
        self.lost += other.lost;
        self.why_lost = self.why_lost.take().or(other.why_lost);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_begin_with_the_second_update_and_delays_with_the_first() {
        let mut measurements = Measurements::default();
        measurements.update(None, 5_000_000, 4_000_000);
        measurements.update(Some(5_000_000), 55_000_000, 57_000_000);
        assert_eq!((measurements.updates, measurements.intervals_us.as_slice()), (2, &[50_000][..]));
        assert_eq!(measurements.delays_us, [1_000, -2_000]);
    }

    #[test]
    fn the_reason_of_a_failed_join_is_kept_when_counting_begins() {
        let mut measurements = Measurements::default();
        measurements.update(None, 5_000_000, 4_000_000);
        measurements.lose("the server was full");
        measurements.begin();
        assert_eq!(
            (measurements.updates, measurements.lost, measurements.why_lost.as_deref()),
            (0, 0, Some("the server was full"))
        );
    }
}
