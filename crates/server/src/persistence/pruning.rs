//! When the store is pruned: after a time, and after an amount of written bytes.

use std::time::{Duration, Instant};

use nowcast_store::Retention;

/// The longest time between two prunings.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);

/// The store is pruned after this fraction of one world's byte limit was written.
const PRUNE_PART: u64 = 8;

/// Decides when to prune the store. Time is an argument.
#[derive(Debug, Default)]
pub(crate) struct PruneSchedule {
    /// The time of the last pruning, and the bytes that had been written by then.
    last: Option<(Instant, u64)>,
}

impl PruneSchedule {
    /// Whether pruning is due. If so, the caller prunes. `written` counts the bytes of batches and snapshots since the
    /// store was opened.
    pub(crate) fn take_due(&mut self, now: Instant, written: u64, retention: &Retention) -> bool {
        let is_due = self.last.is_none_or(|(at, before)| {
            now.saturating_duration_since(at) >= PRUNE_INTERVAL
                || written.saturating_sub(before) >= (retention.world_bytes_max / PRUNE_PART).max(1)
        });
        if is_due {
            self.last = Some((now, written));
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_is_pruned_after_an_eighth_of_a_worlds_bytes_or_ten_minutes() {
        let retention = Retention { world_bytes_max: 256 << 20, ..Retention::default() };
        let mut schedule = PruneSchedule::default();
        let start = Instant::now();
        assert!(schedule.take_due(start, 0, &retention), "at the start");
        assert!(!schedule.take_due(start + Duration::from_secs(599), 1 << 20, &retention));
        assert!(schedule.take_due(start + Duration::from_secs(600), 1 << 20, &retention));
        let at = start + Duration::from_secs(601);
        // 3.2 MB/s, as 40 clients can write.
        let due = (1..=600u64).filter(|second| {
            schedule.take_due(at + Duration::from_secs(*second), (1 << 20) + second * 3_200_000, &retention)
        });
        assert_eq!(due.count(), 54, "once in 11 s");
    }
}
