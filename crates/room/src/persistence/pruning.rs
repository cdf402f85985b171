//! The schedule of the store's pruning, by time and by written bytes, and the limit of the bytes that are not pruned.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use nowcast_store::Retention;

/// The longest time between two prunings.
const PRUNE_INTERVAL: Duration = Duration::from_secs(600);

/// A pruning is due when 1/`PRUNE_PART` of [`Retention::bytes_max`] was written. No pruning removes the journals of open
/// rooms since their last snapshots. All these journals together may have another 1/`PRUNE_PART`.
const PRUNE_PART: u64 = 8;

/// The fraction by which the database may exceed [`Retention::bytes_max`], besides one snapshot of each world.
#[cfg(test)]
const SLACK_PART: u64 = PRUNE_PART / 2;

/// The minimum share of a room. With many rooms, a snapshot after fewer bytes would cost more than it saves.
const SHARE_MIN: u64 = 256 << 10;

/// Decides when to prune the store. The caller passes the time.
#[derive(Debug, Default)]
pub struct PruneSchedule {
    /// The time of the last pruning, and the bytes written before it.
    last: Option<(Instant, u64)>,
}

impl PruneSchedule {
    /// Returns whether pruning is due. If it is due, the caller must prune. `written` counts the bytes of batches and
    /// snapshots since the store was opened.
    pub fn take_due(&mut self, now: Instant, written: u64, retention: &Retention) -> bool {
        let is_due = self.last.is_none_or(|(at, before)| {
            now.saturating_duration_since(at) >= PRUNE_INTERVAL
                || written.saturating_sub(before) >= (retention.bytes_max / PRUNE_PART).max(1)
        });
        if is_due {
            self.last = Some((now, written));
        }
        is_due
    }
}

/// The journal bytes that one open room may write after its last snapshot, which no pruning removes. Held while the room exists.
#[derive(Debug)]
pub(crate) struct JournalShare {
    rooms: Arc<AtomicUsize>,
    bytes_max: u64,
}

impl JournalShare {
    /// Takes a share. `rooms` counts the shares of a store.
    pub(super) fn take(rooms: &Arc<AtomicUsize>, retention: &Retention) -> JournalShare {
        rooms.fetch_add(1, Ordering::Relaxed);
        JournalShare { rooms: Arc::clone(rooms), bytes_max: retention.bytes_max / PRUNE_PART }
    }

    /// Returns the bytes of journal after which the room takes a snapshot.
    pub(crate) fn bytes(&self) -> usize {
        let rooms = self.rooms.load(Ordering::Relaxed).max(1) as u64;
        usize::try_from((self.bytes_max / rooms).max(SHARE_MIN)).unwrap_or(usize::MAX)
    }
}

impl Drop for JournalShare {
    fn drop(&mut self) {
        self.rooms.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use nowcast_store::{Origin, Recorder, WorldName};
    use nowcast_world::{Definition, Random, World};

    use super::super::{PersistenceThread, now_ms};
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(120);

    /// A folder that is removed with the test.
    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn rooms_that_write_fast_stay_under_the_bound_of_all_worlds_and_its_slack() {
        const BYTES_MAX: u64 = 16 << 20;
        let folder = Folder(std::env::temp_dir().join(format!("nowcast-pruning-{}", std::process::id())));
        let persistence = PersistenceThread::open(Some(&folder.0)).expect("the folder is this test's own");
        let store = persistence.store().expect("the store was opened");
        let retention = Retention { bytes_max: BYTES_MAX, ..Retention::default() };
        let mut rooms: Vec<_> = (0..4)
            .map(|number| {
                let world = World::new(Definition::default(), number, Box::new(()))
                    .expect("an empty definition is valid");
                let name = WorldName::new(&format!("room-{number}")).expect("the name is valid");
                let recorder = Recorder::new(name, Origin::default(), &world);
                (world, recorder, persistence.journal_share(&retention))
            })
            .collect();
        let (mut schedule, now) = (PruneSchedule::default(), Instant::now());
        let mut random = Random::new(1);
        let (mut written, mut most) = (0, 0);
        while written < 3 * BYTES_MAX {
            for (world, recorder, share) in &mut rooms {
                recorder.set_journal_bytes_max(share.bytes());
                recorder.note(world, (0..8_192).flat_map(|_| random.bits().to_le_bytes()).collect());
                world.step();
                if recorder.is_snapshot_due(world, &*store) {
                    recorder.snapshot(world, &*store, now_ms(), Vec::new());
                } else {
                    recorder.flush_all(world, &*store, now_ms());
                }
            }
            store.commit(PATIENCE).expect("the disk has room");
            let stats = store.stats();
            written = stats.batch_bytes + stats.snapshot_bytes;
            if schedule.take_due(now, written, &retention) {
                persistence.prune(&retention);
            }
            most = most.max(std::fs::metadata(folder.0.join("worlds.db")).expect("the file exists").len());
        }
        assert!(most > BYTES_MAX / 2, "{most}: the past is kept");
        assert!(most <= BYTES_MAX + BYTES_MAX / SLACK_PART, "{most} bytes of {BYTES_MAX}");
        let bytes: Vec<u64> =
            store.list().expect("the worlds can be listed").iter().map(|world| world.bytes).collect();
        assert_eq!(bytes.len(), 4);
        assert!(bytes.iter().sum::<u64>() <= BYTES_MAX + BYTES_MAX / PRUNE_PART, "{bytes:?}");
    }

    #[test]
    fn open_rooms_share_the_bytes_of_journals_since_their_snapshots() {
        let retention = Retention { bytes_max: 256 << 20, ..Retention::default() };
        let rooms = Arc::default();
        let first = JournalShare::take(&rooms, &retention);
        assert_eq!(first.bytes(), 32 << 20);
        let others: Vec<_> = (0..3).map(|_| JournalShare::take(&rooms, &retention)).collect();
        assert_eq!(first.bytes(), 8 << 20);
        drop(others);
        assert_eq!(first.bytes(), 32 << 20);
        let _many: Vec<_> = (0..10_000).map(|_| JournalShare::take(&rooms, &retention)).collect();
        assert_eq!(first.bytes() as u64, SHARE_MIN);
    }

    #[test]
    fn store_is_pruned_after_an_eighth_of_its_bytes_or_ten_minutes() {
        let retention = Retention { bytes_max: 256 << 20, ..Retention::default() };
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
