//! Immutable snapshots of a changing value. Readers may hold a snapshot for any time, and the writer never waits for
//! them.

use std::sync::Arc;

/// Maximum number of old snapshots that are kept for reuse. If readers hold more at once, the next snapshot is a copy.
const KEPT_MAX: usize = 4;

/// Maximum number of changes that an old snapshot may miss. A snapshot that misses more changes is dropped, because a reader
/// has held it for a long time.
const MISSED_MAX: usize = 64;

/// A value that can be updated change by change.
pub trait ApplyDelta: Clone + Default {
    /// A difference between two versions.
    type Change;

    /// Applies the next change.
    fn apply(&mut self, change: &Self::Change);
}

/// Holds the newest snapshot of a value, for any number of readers, and old snapshots for reuse.
///
/// A new snapshot is an old one that no reader holds any more, with the missed changes applied. Its cost therefore
/// depends on the changes, not on the size of the value. If readers hold all old snapshots, the new one is a copy. A copy
/// costs more, but no thread waits.
pub struct SnapshotPool<T: ApplyDelta> {
    newest: Arc<T>,
    earlier: Vec<Earlier<T>>,
}

struct Earlier<T: ApplyDelta> {
    picture: Arc<T>,
    /// The changes since this version, oldest first.
    missed: Vec<Arc<T::Change>>,
}

impl<T: ApplyDelta> Default for SnapshotPool<T> {
    fn default() -> Self {
        Self { newest: Arc::default(), earlier: Vec::new() }
    }
}

impl<T: ApplyDelta> SnapshotPool<T> {
    /// Returns the newest snapshot.
    pub fn newest(&self) -> &Arc<T> {
        &self.newest
    }

    /// Publishes a snapshot with this change, and returns it.
    pub fn publish(&mut self, change: T::Change) -> &Arc<T> {
        let change = Arc::new(change);
        for earlier in &mut self.earlier {
            earlier.missed.push(Arc::clone(&change));
        }
        let next = self.take_free().unwrap_or_else(|| {
            let mut copy = T::clone(&self.newest);
            copy.apply(&change);
            Arc::new(copy)
        });
        let picture = std::mem::replace(&mut self.newest, next);
        self.earlier.retain(|earlier| earlier.missed.len() <= MISSED_MAX);
        if self.earlier.len() == KEPT_MAX {
            self.earlier.remove(0);
        }
        self.earlier.push(Earlier { picture, missed: vec![change] });
        &self.newest
    }

    /// Returns the newest old snapshot that no reader holds, with all changes applied.
    fn take_free(&mut self) -> Option<Arc<T>> {
        let at = self.earlier.iter_mut().rposition(|earlier| Arc::get_mut(&mut earlier.picture).is_some())?;
        let Earlier { mut picture, missed } = self.earlier.remove(at);
        let own = Arc::get_mut(&mut picture)?;
        for change in missed {
            own.apply(&change);
        }
        Some(picture)
    }
}

impl<T: ApplyDelta> std::fmt::Debug for SnapshotPool<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("SnapshotPool").field("earlier", &self.earlier.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All changes that were applied, in order.
    #[derive(Clone, Default, PartialEq, Debug)]
    struct Log(Vec<u32>);

    impl ApplyDelta for Log {
        type Change = u32;

        fn apply(&mut self, change: &u32) {
            self.0.push(*change);
        }
    }

    proptest! {
        #[test]
        fn held_snapshots_never_change_and_the_newest_has_every_change(
            holds in prop::collection::vec((any::<bool>(), 0usize..9), 0..300),
        ) {
            let mut snapshots = SnapshotPool::<Log>::default();
            let mut held: Vec<(Log, Arc<Log>)> = Vec::new();
            let mut all = Log::default();
            for (number, (holds, lets_go)) in holds.into_iter().enumerate() {
                snapshots.publish(number as u32);
                all.0.push(number as u32);
                prop_assert_eq!(&**snapshots.newest(), &all);
                if holds {
                    held.push((all.clone(), Arc::clone(snapshots.newest())));
                }
                if lets_go < held.len() {
                    held.remove(lets_go);
                }
                prop_assert!(snapshots.earlier.len() <= KEPT_MAX);
                for (was, picture) in &held {
                    prop_assert_eq!(&**picture, was);
                }
            }
        }
    }

    #[test]
    fn released_snapshots_are_reused_instead_of_copied() {
        let mut snapshots = SnapshotPool::<Log>::default();
        let addresses: std::collections::BTreeSet<usize> = (0..100)
            .map(|number| {
                snapshots.publish(number);
                Arc::as_ptr(snapshots.newest()) as usize
            })
            .collect();
        assert!(addresses.len() <= 2, "{} snapshots", addresses.len());
    }

    #[test]
    fn a_snapshot_that_is_held_for_ever_is_dropped() {
        let mut snapshots = SnapshotPool::<Log>::default();
        let held = Arc::clone(snapshots.newest());
        for number in 0..1_000 {
            snapshots.publish(number);
        }
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(held.0.is_empty());
    }
}
