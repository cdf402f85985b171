//! Encodes rows. This runs on the writer's thread because it takes time. A row is encoded only once, even if it is written
//! several times.

use std::collections::BTreeMap;

use crate::batch::Batch;
use crate::name::WorldName;
use crate::snapshot::write_file;
use crate::sqlite::queue::{Content, Job, Work};

/// Maximum number of steps in one row of joined batches. History and pruning work by rows, so rows must not be too long.
const JOINED_TICKS_MAX: u64 = 15;

/// Maximum bytes in memory of joined batches.
const JOINED_BYTES_MAX: usize = 1 << 20;

/// Packs all jobs of a group. Consecutive changes of one world become one row, because columns of many entries take fewer
/// bytes.
pub(super) fn pack(group: &mut Vec<Job>) {
    join(group);
    for job in group {
        match &mut job.work {
            Work::Batch { span, content, accounts, .. } => {
                if let Content::Given(batch) = content {
                    *span = batch.span();
                    *accounts = std::mem::take(&mut batch.accounts);
                    *content = Content::Row((!batch.is_empty()).then(|| batch.to_bytes()));
                }
            }
            Work::Snapshot { world, snapshot, file, .. } if file.is_none() => {
                // Writing into memory does not fail. If it failed, the job would be treated as lost.
                *file = write_file(world.as_str(), snapshot, &[]).ok();
                snapshot.world = Vec::new();
                snapshot.host = Vec::new();
            }
            _ => {}
        }
    }
}

fn join(group: &mut Vec<Job>) {
    // For each world, the index of the batch that the next batch may be joined to.
    let mut open: BTreeMap<WorldName, usize> = BTreeMap::new();
    let mut joined: Vec<Job> = Vec::with_capacity(group.len());
    for mut job in group.drain(..) {
        match &mut job.work {
            Work::Batch { world, content: Content::Given(batch), .. } => {
                let last = open.get(world).and_then(|place| joined.get_mut(*place));
                if let Some(last) = last
                    && last.bytes + job.bytes <= JOINED_BYTES_MAX
                    && let Work::Batch { content: Content::Given(before), .. } = &mut last.work
                    && follows(before, batch)
                {
                    before.extend(std::mem::take(batch));
                    last.then.append(&mut job.then);
                    last.count += job.count;
                    last.bytes += job.bytes;
                    continue;
                }
                open.insert(world.clone(), joined.len());
            }
            Work::Batch { world, .. }
            | Work::Snapshot { world, .. }
            | Work::Import { world, .. }
            | Work::Remove { world, .. } => {
                open.remove(world);
            }
            Work::Mark { .. } | Work::Unmark { .. } | Work::Prune { .. } | Work::RemoveAccount { .. } => {}
        }
        joined.push(job);
    }
    *group = joined;
}

fn follows(before: &Batch, next: &Batch) -> bool {
    before.through_tick == next.from_tick && next.through_tick - before.from_tick <= JOINED_TICKS_MAX
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use nowcast_world::journal::{Entry, Record};

    use super::*;
    use crate::batch::Note;
    use crate::snapshot::Snapshot;
    use crate::store::Continuity;

    fn job(world: &str, from_tick: u64, through_tick: u64) -> Job {
        let batch = Batch {
            from_tick,
            through_tick,
            time_ms: through_tick,
            entries: vec![Entry { tick: from_tick, record: Record::Settled }],
            notes: vec![Note { tick: from_tick, bytes: vec![1] }],
            ..Batch::default()
        };
        let world = WorldName::new(world).expect("the name is valid");
        let bytes = batch.memory_bytes();
        let work =
            Work::Batch { world, span: batch.span(), content: Content::Given(batch), accounts: Vec::new() };
        Job { work, then: vec![Box::new(|_| {})], count: 1, bytes, at: Instant::now() }
    }

    fn snapshot(world: &str) -> Job {
        let world = WorldName::new(world).expect("the name is valid");
        let snapshot = Box::new(Snapshot::default());
        let continuity = Continuity::Follows;
        let work = Work::Snapshot { world, snapshot, file: None, continuity, accounts: Vec::new() };
        Job { work, then: Vec::new(), count: 1, bytes: 0, at: Instant::now() }
    }

    /// World, ticks, entries and completions of each batch.
    fn rows(group: &[Job]) -> Vec<(String, u64, u64, usize, usize)> {
        let row = |job: &Job| match &job.work {
            Work::Batch { world, span, content: Content::Row(Some(body)), .. } => {
                let batch = Batch::from_bytes(*span, body).expect("the bytes were just written");
                let (from, through) = (batch.from_tick, batch.through_tick);
                assert_eq!((batch.entries.len(), batch.time_ms), (batch.notes.len(), through));
                Some((world.to_string(), from, through, batch.entries.len(), job.then.len()))
            }
            _ => None,
        };
        group.iter().filter_map(row).collect()
    }

    #[test]
    fn consecutive_changes_of_one_world_become_one_row() {
        let mut group = vec![job("a", 0, 1), job("b", 7, 8), job("a", 1, 2), job("a", 2, 3)];
        let bytes: usize = group.iter().map(|job| job.bytes).sum();
        pack(&mut group);
        assert_eq!(rows(&group), [("a".to_owned(), 0, 3, 3, 3), ("b".to_owned(), 7, 8, 1, 1)]);
        assert_eq!(group.iter().map(|job| job.bytes).sum::<usize>(), bytes);
        assert_eq!(group.iter().map(|job| job.count).sum::<u64>(), 4);
    }

    #[test]
    fn a_row_ends_at_a_snapshot_at_a_gap_and_after_a_quarter_of_a_second() {
        let mut group = vec![job("a", 0, 1), snapshot("a"), job("a", 1, 2), job("a", 3, 4)];
        pack(&mut group);
        assert_eq!(
            rows(&group).iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(),
            [(0, 1), (1, 2), (3, 4)]
        );
        let mut group: Vec<Job> = (0..40).map(|tick| job("a", tick, tick + 1)).collect();
        pack(&mut group);
        assert_eq!(
            rows(&group).iter().map(|row| (row.1, row.2)).collect::<Vec<_>>(),
            [(0, 15), (15, 30), (30, 40)]
        );
    }

    #[test]
    fn a_packed_row_stays_one_row() {
        let mut group = vec![job("a", 0, 1)];
        pack(&mut group);
        group.push(job("a", 1, 2));
        pack(&mut group);
        assert_eq!(rows(&group).len(), 2);
    }
}
