//! Compares the store with a simple model in memory: random batches, snapshots, holes, and restarts.

use std::collections::BTreeMap;

use nowcast_store::{
    ActionId, Batch, Continuity, Moment, Note, Once, Retention, Snapshot, SqliteStore, Store,
};
use nowcast_world::journal::{Entry, Record};
use proptest::prelude::*;

use super::{Folder, PATIENCE, completion, name};

/// The stored state of a world: a snapshot, and batches that follow it.
#[derive(Clone, Default, PartialEq, Debug)]
struct Kept {
    snapshot: Snapshot,
    batches: Vec<Batch>,
    tick: u64,
    is_in_hole: bool,
}

#[derive(Clone, Debug)]
enum Step {
    /// Appends a batch that ends this many ticks later, with this many notes.
    Append(usize, u64, u8),
    /// Appends a batch that does not follow the last record.
    Stray(usize),
    /// Stores a snapshot, this many ticks after the last record.
    Snapshot(usize, u64),
    /// Waits until everything is stored, and reopens the store.
    Reopen,
    /// Waits until everything is stored.
    Commit,
    /// Prunes everything except the newest state.
    Prune,
}

fn any_step() -> impl Strategy<Value = Step> {
    let world = 0usize..3;
    prop_oneof![
        12 => (world.clone(), 0u64..5, 0u8..4).prop_map(|(world, ticks, notes)| Step::Append(world, ticks, notes)),
        1 => world.clone().prop_map(Step::Stray),
        3 => (world, 0u64..3).prop_map(|(world, ticks)| Step::Snapshot(world, ticks)),
        2 => Just(Step::Reopen),
        1 => Just(Step::Commit),
        1 => Just(Step::Prune),
    ]
}

const WORLDS: [&str; 3] = ["attic", "cellar", "plaza"];

/// An operation on both the model and the store.
struct Both {
    store: SqliteStore,
    model: BTreeMap<usize, Kept>,
    time_ms: u64,
}

impl Both {
    fn append(&mut self, world: usize, ticks: u64, notes: u8) {
        let from_tick = self.model.get(&world).map_or(0, |kept| kept.tick);
        self.time_ms += 1;
        let note = |number| Note { tick: from_tick, bytes: vec![number; usize::from(number) * 50] };
        let batch = Batch {
            from_tick,
            through_tick: from_tick + ticks,
            time_ms: self.time_ms,
            entries: (0..ticks).map(|at| Entry { tick: from_tick + at, record: Record::Settled }).collect(),
            done: vec![ActionId { client: [world as u8; 16], number: self.time_ms }],
            notes: (0..notes).map(note).collect(),
            accounts: Vec::new(),
        };
        self.give(world, batch);
    }

    fn give(&mut self, world: usize, batch: Batch) {
        let (then, told) = completion();
        let taken = self.store.append(&name(WORLDS[world]), batch.clone(), vec![then]);
        // The store refuses a batch that does not follow the last record, either at once or later. In both cases the journal
        // has a hole until the next snapshot.
        let is_kept = taken.is_ok() && told.recv_timeout(PATIENCE).expect("the completion is called").is_ok();
        match self.model.get_mut(&world) {
            Some(kept) if !kept.is_in_hole && kept.tick == batch.from_tick => {
                assert!(is_kept);
                kept.tick = batch.through_tick;
                kept.batches.push(batch);
            }
            Some(kept) => {
                assert!(!is_kept);
                kept.is_in_hole = true;
            }
            None => assert!(!is_kept),
        }
    }

    fn snapshot(&mut self, world: usize, ticks: u64) {
        self.time_ms += 1;
        let tick = self.model.get(&world).map_or(0, |kept| kept.tick) + ticks;
        let mut once = Once::default();
        once.insert(ActionId { client: [9; 16], number: self.time_ms }, tick);
        let snapshot = Snapshot {
            tick,
            hash: self.time_ms,
            time_ms: self.time_ms,
            world: vec![world as u8; 1_000],
            once,
            ..Snapshot::default()
        };
        self.store
            .snapshot(&name(WORLDS[world]), snapshot.clone(), Continuity::Follows, Vec::new())
            .expect("there is room");
        self.model.insert(world, Kept { snapshot, tick, ..Kept::default() });
    }

    fn compare(&self) {
        self.store.commit(PATIENCE).unwrap();
        let list = self.store.list().unwrap();
        assert_eq!(list.len(), self.model.len());
        for (world, kept) in &self.model {
            let saved =
                self.store.load(&name(WORLDS[*world]), Moment::Last).unwrap().expect("the world is stored");
            assert_eq!((&saved.snapshot, saved.tick), (&kept.snapshot, kept.tick));
            assert_eq!(saved.batches, kept.batches);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: super::seeds(12) as u32, ..ProptestConfig::default() })]
    #[test]
    fn a_store_has_the_contents_of_a_plain_list(steps in proptest::collection::vec(any_step(), 1..40)) {
        let folder = Folder::new("model");
        let mut both = Both { store: folder.open(), model: BTreeMap::new(), time_ms: 1 };
        for step in steps {
            match step {
                Step::Append(world, ticks, notes) => both.append(world, ticks, notes),
                Step::Stray(world) => {
                    let tick = both.model.get(&world).map_or(0, |kept| kept.tick) + 1;
                    both.give(world, Batch { from_tick: tick, through_tick: tick, time_ms: 1, ..Batch::default() });
                }
                Step::Snapshot(world, ticks) => both.snapshot(world, ticks),
                Step::Commit => both.compare(),
                Step::Reopen => {
                    let Both { store, model, time_ms } = both;
                    drop(store);
                    // A hole is remembered only by the process that made it. After a restart, the journal continues at its
                    // end.
                    let model = model.into_iter().map(|(world, kept)| (world, Kept { is_in_hole: false, ..kept }));
                    both = Both { store: folder.open(), model: model.collect(), time_ms };
                    both.compare();
                }
                Step::Prune => {
                    let all = Retention { keep: std::time::Duration::ZERO, bytes_max: 0 };
                    both.store.prune(&all, u64::MAX >> 1).unwrap();
                    both.compare();
                }
            }
        }
        both.compare();
    }
}
