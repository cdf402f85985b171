//! SnapshotPool of something that goes on changing: each stays as it is for as long as somebody holds it, and who changes it waits for nobody.

use std::sync::Arc;

/// Earlier pictures that are kept to be brought up to date. Readers that hold more at once make the next one a copy.
const KEPT_MAX: usize = 4;

/// Changes that an earlier picture may miss; beyond that it is forgotten, because somebody has held it for long.
const MISSED_MAX: usize = 64;

/// A value that can be brought up to date, change by change.
pub trait ApplyDelta: Clone + Default {
    /// A difference between two versions.
    type Change;

    /// Takes in the next change.
    fn follow(&mut self, change: &Self::Change);
}

/// The newest picture of something, for any number of readers, and those before it.
///
/// A new picture is an earlier one that nobody holds any more, brought up to date. So it costs what has changed since, not what there
/// is. Where readers hold all of them, it is a copy: then it costs more, but nobody waits.
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
    /// The newest picture.
    pub fn newest(&self) -> &Arc<T> {
        &self.newest
    }

    /// Makes a picture with this change.
    pub fn publish(&mut self, change: T::Change) {
        let change = Arc::new(change);
        for earlier in &mut self.earlier {
            earlier.missed.push(Arc::clone(&change));
        }
        let next = self.take_free().unwrap_or_else(|| {
            let mut copy = T::clone(&self.newest);
            copy.follow(&change);
            Arc::new(copy)
        });
        let picture = std::mem::replace(&mut self.newest, next);
        self.earlier.retain(|earlier| earlier.missed.len() <= MISSED_MAX);
        if self.earlier.len() == KEPT_MAX {
            self.earlier.remove(0);
        }
        self.earlier.push(Earlier { picture, missed: vec![change] });
    }

    /// The newest of the earlier pictures that nobody holds, brought up to date.
    fn take_free(&mut self) -> Option<Arc<T>> {
        let at = self.earlier.iter_mut().rposition(|earlier| Arc::get_mut(&mut earlier.picture).is_some())?;
        let Earlier { mut picture, missed } = self.earlier.remove(at);
        let own = Arc::get_mut(&mut picture)?;
        for change in missed {
            own.follow(&change);
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

    /// Everything that happened, in order.
    #[derive(Clone, Default, PartialEq, Debug)]
    struct Log(Vec<u32>);

    impl ApplyDelta for Log {
        type Change = u32;

        fn follow(&mut self, change: &u32) {
            self.0.push(*change);
        }
    }

    proptest! {
        #[test]
        fn held_snapshots_never_change_and_the_newest_has_every_change(
            holds in prop::collection::vec((any::<bool>(), 0usize..9), 0..300),
        ) {
            let mut pictures = SnapshotPool::<Log>::default();
            let mut held: Vec<(Log, Arc<Log>)> = Vec::new();
            let mut all = Log::default();
            for (number, (holds, lets_go)) in holds.into_iter().enumerate() {
                pictures.publish(number as u32);
                all.0.push(number as u32);
                prop_assert_eq!(&**pictures.newest(), &all);
                if holds {
                    held.push((all.clone(), Arc::clone(pictures.newest())));
                }
                if lets_go < held.len() {
                    held.remove(lets_go);
                }
                prop_assert!(pictures.earlier.len() <= KEPT_MAX);
                for (was, picture) in &held {
                    prop_assert_eq!(&**picture, was);
                }
            }
        }
    }

    #[test]
    fn a_picture_that_is_let_go_is_used_again_instead_of_a_copy() {
        let mut pictures = SnapshotPool::<Log>::default();
        let addresses: std::collections::BTreeSet<usize> = (0..100)
            .map(|number| {
                pictures.publish(number);
                Arc::as_ptr(pictures.newest()) as usize
            })
            .collect();
        assert!(addresses.len() <= 2, "{} pictures", addresses.len());
    }

    #[test]
    fn one_that_is_held_for_ever_is_forgotten() {
        let mut pictures = SnapshotPool::<Log>::default();
        let held = Arc::clone(pictures.newest());
        (0..1_000).for_each(|number| pictures.publish(number));
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(held.0.is_empty());
    }
}
