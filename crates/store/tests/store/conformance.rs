//! Scenarios that every store passes. Each function gets the way to open the store, and may open it again after dropping it.

use std::collections::BTreeMap;
use std::sync::mpsc::channel;
use std::time::Duration;

use nowcast_store::{
    AccountRecord, ActionId, Attempt, Batch, Continuity, Mark, MarkKind, Moment, Note, Once, Origin,
    Retention, Snapshot, Store,
};
use nowcast_world::journal::{Entry, Record};
use nowcast_world::{Command, PlayerId, SavedData, Value};
use proptest::prelude::*;

use super::garden::{self, BEGIN_MS, Story};
use super::{PATIENCE, completion, name, seeds};

/// Opens the store of a scenario.
pub(crate) type Open<'a> = &'a dyn Fn() -> Box<dyn Store>;

/// A world is restored to the last bit and continues identically.
pub(crate) fn worlds_are_restored(open: Open<'_>) {
    for seed in 0..seeds(3) {
        let plaza = name(&format!("plaza-{seed}"));
        let mut story = Story::new(&plaza, seed);
        let mut store = open();
        for part in 0..4 {
            story.play(&*store, 150);
            if part == 1 {
                story.snapshot(&*store);
            }
            story.play(&*store, 61);
            story.recorder.flush_all(&story.world, &*store, story.now_ms);
            drop(store);
            store = open();
            let saved = store.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
            let again = Story::resume(&saved, seed);
            assert_eq!(again.world.tick(), story.world.tick(), "seed {seed}");
            assert_eq!(again.world.hash(), story.world.hash(), "seed {seed}, part {part}");
            assert_eq!(saved.snapshot.origin, garden::origin(seed));
            story = again;
        }
    }
}

/// A durable action is confirmed after it is stored, and happens once.
pub(crate) fn durable_actions_happen_once(open: Open<'_>) {
    let plaza = name("plaza");
    let store = open();
    let mut story = Story::new(&plaza, 1);
    let ada = PlayerId(1);
    story.snapshot(&*store);
    story.recorder.apply(&mut story.world, Command::join(ada, "Ada")).unwrap();
    let id = ActionId { client: [9; 16], number: 1 };
    let act = |story: &mut Story| {
        let (then, told) = completion();
        let command = garden::action(ada, "count");
        let attempt = story.recorder.apply_once(&mut story.world, id, command, then).unwrap();
        story.world.step();
        story.recorder.flush(&story.world, &*store, story.now_ms);
        (attempt, told.recv_timeout(PATIENCE).expect("the completion is called"))
    };
    assert_eq!(act(&mut story), (Attempt::First, Ok(())));
    let kept = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!(garden::count(&garden::replay(&kept), 1), 1, "a confirmed action is stored");
    assert_eq!(act(&mut story), (Attempt::Again, Ok(())));
    // The process ends without an answer, and the client retries.
    drop(store);
    let store = open();
    let mut story = Story::resume(&store.load(&plaza, Moment::Last).unwrap().unwrap(), 1);
    let (then, told) = completion();
    let command = garden::action(ada, "count");
    let attempt = story.recorder.apply_once(&mut story.world, id, command, then).unwrap();
    story.recorder.flush(&story.world, &*store, story.now_ms);
    assert_eq!((attempt, told.recv_timeout(PATIENCE).unwrap()), (Attempt::Again, Ok(())));
    // A snapshot contains the done action, too.
    story.snapshot(&*store);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert!(saved.batches.is_empty() && saved.once().contains(id));
    assert_eq!(garden::count(&garden::replay(&saved), 1), 1);
}

/// Notes of a host come back in order after its snapshot.
pub(crate) fn notes_come_back(open: Open<'_>) {
    let plaza = name("plaza");
    let store = open();
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&*store);
    for number in 0..10u8 {
        story.recorder.note(&story.world, vec![number]);
        story.play(&*store, 2);
    }
    story.recorder.flush_all(&story.world, &*store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!(saved.snapshot.host, b"host");
    let notes: Vec<_> = saved.notes().map(|note| (note.tick, note.bytes[0])).collect();
    assert_eq!(notes, (0..10).map(|number| (2 * u64::from(number), number)).collect::<Vec<_>>());
}

/// A world at rest costs no bytes, and its clock continues.
pub(crate) fn rest_costs_no_bytes(open: Open<'_>) {
    let plaza = name("plaza");
    let store = open();
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&*store);
    for _ in 0..600 {
        story.world.step();
        story.recorder.flush(&story.world, &*store, story.now_ms);
    }
    store.commit(PATIENCE).unwrap();
    let before = store.stats().batch_bytes;
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!((saved.tick, saved.batches.len()), (600, 0));
    // The batch before the snapshot records that the snapshot changed the world.
    assert!(before < 100, "{before} bytes");
}

/// A used token and a ban outlive the process, and end in time.
pub(crate) fn marks_end_in_time(open: Open<'_>) {
    let mark = |key: &[u8], expires_ms| Mark {
        kind: MarkKind::TokenUsed,
        key: key.to_vec(),
        note: String::new(),
        expires_ms,
    };
    let is_new = |store: &dyn Store, mark: Mark, now_ms| {
        let (tell, told) = channel();
        store
            .mark(mark, now_ms, Box::new(move |outcome| tell.send(outcome).expect("the test waits")))
            .unwrap();
        told.recv_timeout(PATIENCE).expect("the completion is called").expect("the action is stored")
    };
    let store = open();
    assert!(is_new(&*store, mark(b"a", BEGIN_MS + 1_000), BEGIN_MS));
    assert!(!is_new(&*store, mark(b"a", BEGIN_MS + 1_000), BEGIN_MS + 10), "used a second time");
    let ban = Mark {
        kind: MarkKind::Ban,
        key: b"mallory".to_vec(),
        note: "spam".into(),
        expires_ms: u64::MAX >> 1,
    };
    assert!(is_new(&*store, ban.clone(), BEGIN_MS));
    drop(store);
    let store = open();
    assert!(!is_new(&*store, mark(b"a", BEGIN_MS + 1_000), BEGIN_MS + 20), "after a restart, too");
    assert!(is_new(&*store, mark(b"b", BEGIN_MS + 1_000), BEGIN_MS + 20));
    assert_eq!(store.marks(MarkKind::Ban, BEGIN_MS).unwrap(), std::slice::from_ref(&ban));
    assert_eq!(store.marks(MarkKind::TokenUsed, BEGIN_MS + 999).unwrap().len(), 2);
    assert_eq!(store.marks(MarkKind::TokenUsed, BEGIN_MS + 1_000).unwrap(), []);
    assert_eq!(store.prune(&Default::default(), BEGIN_MS + 1_000).unwrap().marks, 2);
    store.unmark(MarkKind::Ban, &ban.key, Vec::new()).unwrap();
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.marks(MarkKind::Ban, BEGIN_MS).unwrap(), []);
}

/// A list shows the stored worlds.
pub(crate) fn worlds_are_listed(open: Open<'_>) {
    let store = open();
    assert!(store.list().unwrap().is_empty());
    for (index, world) in ["plaza", "attic"].into_iter().enumerate() {
        let mut story = Story::new(&name(world), index as u64);
        story.play(&*store, 90);
        story.snapshot(&*store);
    }
    store.commit(PATIENCE).unwrap();
    let list = store.list().unwrap();
    assert_eq!(list.iter().map(|world| world.name.as_str()).collect::<Vec<_>>(), ["attic", "plaza"]);
    let plaza = &list[1];
    assert_eq!((plaza.tick, plaza.snapshots, plaza.created_ms), (90, 2, BEGIN_MS));
    assert_eq!(plaza.origin, Origin { seed: 0, ..garden::origin(0) });
    assert!(plaza.bytes > 0 && plaza.batches > 0 && plaza.changed_ms > plaza.created_ms);
}

/// The data of an account is stored with the batch that caused it, and comes back.
pub(crate) fn accounts_come_back(open: Open<'_>) {
    let plaza = name("plaza");
    let store = open();
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&*store);
    assert_eq!(store.account("park", "ada").unwrap(), None);
    for revision in 1..=3u64 {
        let saved = SavedData { version: 2, revision, value: Value::from(revision as f64) };
        story.recorder.save_account(AccountRecord { world: "park".into(), account: "ada".into(), saved });
        let (then, told) = completion();
        story.recorder.when_kept(then);
        story.world.step();
        story.recorder.flush(&story.world, &*store, story.now_ms);
        assert_eq!(told.recv_timeout(PATIENCE), Ok(Ok(())));
        let saved = store.account("park", "ada").unwrap().expect("the data was confirmed");
        assert_eq!((saved.version, saved.revision, saved.value), (2, revision, Value::from(revision as f64)));
    }
    drop(store);
    let store = open();
    assert_eq!(store.account("park", "ada").unwrap().map(|saved| saved.revision), Some(3));
    assert_eq!(store.account("plaza", "ada").unwrap(), None, "another world has its own data");
}

/// The stored state of a world: a snapshot, and batches that follow it.
#[derive(Clone, Default, PartialEq, Debug)]
struct Kept {
    snapshot: Snapshot,
    batches: Vec<Batch>,
    tick: u64,
    is_in_hole: bool,
}

/// An operation on a store.
#[derive(Clone, Debug)]
pub(crate) enum Step {
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

/// Any operation.
pub(crate) fn any_step() -> impl Strategy<Value = Step> {
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
    store: Box<dyn Store>,
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

/// A store has the contents of a plain list after any operations.
pub(crate) fn contents_are_those_of_a_list(steps: Vec<Step>, open: Open<'_>) {
    let mut both = Both { store: open(), model: BTreeMap::new(), time_ms: 1 };
    for step in steps {
        match step {
            Step::Append(world, ticks, notes) => both.append(world, ticks, notes),
            Step::Stray(world) => {
                let tick = both.model.get(&world).map_or(0, |kept| kept.tick) + 1;
                both.give(
                    world,
                    Batch { from_tick: tick, through_tick: tick, time_ms: 1, ..Batch::default() },
                );
            }
            Step::Snapshot(world, ticks) => both.snapshot(world, ticks),
            Step::Commit => both.compare(),
            Step::Reopen => {
                let Both { store, model, time_ms } = both;
                drop(store);
                // A hole is remembered only by the process that made it. After a restart, the journal continues at its
                // end.
                let model =
                    model.into_iter().map(|(world, kept)| (world, Kept { is_in_hole: false, ..kept }));
                both = Both { store: open(), model: model.collect(), time_ms };
                both.compare();
            }
            Step::Prune => {
                let all = Retention { keep: Duration::ZERO, bytes_max: 0 };
                both.store.prune(&all, u64::MAX >> 1).unwrap();
                both.compare();
            }
        }
    }
    both.compare();
}
