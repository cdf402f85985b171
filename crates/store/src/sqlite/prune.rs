//! Decides which records of the history are removed.

use std::collections::{BinaryHeap, VecDeque};

use rusqlite::{Transaction, params};

use crate::fail_point::{FailPoint, pass};
use crate::store::{Pruned, Retention};

/// Maximum number of rows that one transaction deletes, so that other jobs do not wait longer for it than for a large
/// snapshot.
const PRUNE_ROWS: i64 = 4_096;

/// A snapshot, and the batches up to the next snapshot.
struct Stretch {
    /// The number of the snapshot.
    number: i64,
    time_ms: u64,
    bytes: u64,
}

/// The stretches of a world, the oldest first.
struct History {
    world: i64,
    stretches: VecDeque<Stretch>,
}

impl History {
    fn read(transaction: &Transaction<'_>, world: i64) -> rusqlite::Result<History> {
        let mut snapshots = transaction.prepare(
            "SELECT number, time_ms, length(file) FROM snapshots WHERE world = ? ORDER BY number DESC",
        )?;
        let snapshots = snapshots
            .query_map([world], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<Result<Vec<(i64, i64, i64)>, _>>()?;
        let mut journal = transaction.prepare(
            "SELECT coalesce(sum(length(body)), 0) FROM journal WHERE world = ? AND number > ? AND number <= ?",
        )?;
        let (mut stretches, mut next) = (VecDeque::new(), i64::MAX);
        for (number, time_ms, file_bytes) in snapshots {
            let journal_bytes: i64 = journal.query_row(params![world, number, next], |row| row.get(0))?;
            let bytes = journal_bytes.saturating_add(file_bytes).max(0) as u64;
            stretches.push_front(Stretch { number, time_ms: time_ms.max(0) as u64, bytes });
            next = number;
        }
        Ok(History { world, stretches })
    }

    /// Drops everything older than the newest snapshot before a time.
    fn drop_before(&mut self, cutoff_ms: u64) {
        let newest = self.stretches.iter().rposition(|stretch| stretch.time_ms <= cutoff_ms);
        self.stretches.drain(..newest.unwrap_or(0));
    }

    fn bytes(&self) -> u64 {
        self.stretches.iter().map(|stretch| stretch.bytes).sum()
    }

    /// The number of the oldest snapshot that stays.
    fn first(&self) -> i64 {
        self.stretches.front().map_or(0, |stretch| stretch.number)
    }
}

/// Drops the oldest stretch of the largest world until all worlds together fit. So a world that writes much does not cost
/// other worlds their history. The newest stretch of each world stays.
fn drop_beyond(histories: &mut [History], bytes_max: u64) {
    let mut largest: BinaryHeap<(u64, usize)> =
        histories.iter().enumerate().map(|(index, history)| (history.bytes(), index)).collect();
    let mut total: u64 = largest.iter().map(|(bytes, _)| bytes).sum();
    while total > bytes_max
        && let Some((bytes, index)) = largest.pop()
    {
        let stretches = &mut histories[index].stretches;
        if stretches.len() > 1
            && let Some(oldest) = stretches.pop_front()
        {
            total -= oldest.bytes;
            largest.push((bytes - oldest.bytes, index));
        }
    }
}

/// Removes rows beyond the retention, a limited number at a time. Returns whether there are more. Snapshots go first, and then the
/// batches before the oldest remaining snapshot, so the remaining history is always complete, even if the removal is
/// interrupted.
pub(super) fn prune(
    transaction: &Transaction<'_>,
    retention: &Retention,
    now_ms: u64,
) -> rusqlite::Result<(Pruned, bool)> {
    pass(FailPoint::BeforePrune);
    let mut pruned = Pruned::default();
    let keep_ms = u64::try_from(retention.keep.as_millis()).unwrap_or(u64::MAX);
    let cutoff_ms = now_ms.saturating_sub(keep_ms);
    let ids = transaction
        .prepare("SELECT id FROM worlds")?
        .query_map([], |row| row.get(0))?
        .collect::<Result<Vec<i64>, _>>()?;
    let histories = ids.into_iter().map(|world| History::read(transaction, world));
    let mut histories = histories.collect::<Result<Vec<_>, _>>()?;
    histories.iter_mut().for_each(|history| history.drop_before(cutoff_ms));
    drop_beyond(&mut histories, retention.bytes_max);
    let mut rows_left = PRUNE_ROWS;
    for history in histories {
        let (world, first) = (history.world, history.first());
        let snapshots = "DELETE FROM snapshots WHERE world = ? AND number < ?";
        pruned.snapshots += transaction.execute(snapshots, params![world, first])? as u64;
        pass(FailPoint::HalfPruned);
        let batches = "DELETE FROM journal WHERE world = ?1 AND number IN \
            (SELECT number FROM journal WHERE world = ?1 AND number <= ?2 ORDER BY number LIMIT ?3)";
        let gone = transaction.execute(batches, params![world, first, rows_left])? as i64;
        pruned.batches += gone as u64;
        rows_left -= gone;
    }
    let marks =
        "DELETE FROM marks WHERE (kind, key) IN (SELECT kind, key FROM marks WHERE expires_ms <= ? LIMIT ?)";
    let gone = transaction.execute(marks, params![now_ms as i64, rows_left])?;
    pruned.marks = gone as u64;
    rows_left -= gone as i64;
    Ok((pruned, rows_left == 0))
}
