//! A world continues after its process has ended.

use std::sync::mpsc::channel;
use std::time::Duration;

use nowcast_store::{
    ActionId, Attempt, Batch, Completion, Continuity, Health, Mark, MarkCompletion, MarkKind, Moment, Origin,
    Pruned, Refused, Retention, SNAPSHOT_REST_TICKS, SNAPSHOT_TICKS, SavedWorld, Snapshot, SqliteStore,
    Stats, Store, StoreError, Summary, WorldName,
};
use nowcast_world::journal::Record;
use nowcast_world::{Command, PlayerId, SavedData};

use super::garden::{self, BEGIN_MS, Story};
use super::{Folder, PATIENCE, completion, name, seeds};

#[test]
fn a_world_is_restored_to_the_last_bit_and_continues_identically() {
    for seed in 0..seeds(3) {
        let (folder, plaza) = (Folder::new("comes-back"), name("plaza"));
        let mut story = Story::new(&plaza, seed);
        let mut store = folder.open();
        for part in 0..4 {
            story.play(&store, 150);
            if part == 1 {
                story.snapshot(&store);
            }
            story.play(&store, 61);
            story.recorder.flush_all(&story.world, &store, story.now_ms);
            drop(store);
            store = folder.open();
            let saved = store.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
            let again = Story::resume(&saved, seed);
            assert_eq!(again.world.tick(), story.world.tick(), "seed {seed}");
            assert_eq!(again.world.hash(), story.world.hash(), "seed {seed}, part {part}");
            assert_eq!(saved.snapshot.origin, garden::origin(seed));
            story = again;
        }
    }
}

/// A store whose disk loses every snapshot except the first one.
struct Forgetful<'a>(&'a SqliteStore);

impl Store for Forgetful<'_> {
    fn append(&self, world: &WorldName, batch: Batch, then: Vec<Completion>) -> Result<(), Refused> {
        self.0.append(world, batch, then)
    }
    fn snapshot(&self, _: &WorldName, _: Snapshot, _: Continuity, _: Vec<Completion>) -> Result<(), Refused> {
        Ok(())
    }
    fn commit(&self, within: Duration) -> Result<(), StoreError> {
        self.0.commit(within)
    }
    fn load(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, StoreError> {
        self.0.load(world, moment)
    }
    fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.0.list()
    }
    fn prune(&self, retention: &Retention, now_ms: u64) -> Result<Pruned, StoreError> {
        self.0.prune(retention, now_ms)
    }
    fn mark(&self, mark: Mark, now_ms: u64, then: MarkCompletion) -> Result<(), Refused> {
        self.0.mark(mark, now_ms, then)
    }
    fn unmark(&self, kind: MarkKind, key: &[u8], then: Vec<Completion>) -> Result<(), Refused> {
        self.0.unmark(kind, key, then)
    }
    fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, StoreError> {
        self.0.marks(kind, now_ms)
    }
    fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, StoreError> {
        self.0.account(world, account)
    }
    fn has_room(&self) -> bool {
        self.0.has_room()
    }
    fn health(&self) -> Health {
        self.0.health()
    }
    fn stats(&self) -> Stats {
        self.0.stats()
    }
}

#[test]
fn a_snapshot_that_was_lost_leaves_its_mark_in_the_journal() {
    let (folder, plaza) = (Folder::new("settled"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 5);
    story.play(&store, 200);
    for _ in 0..3 {
        story.snapshot(&Forgetful(&store));
        story.play(&store, 100);
    }
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!((saved.snapshot.tick, saved.tick), (0, 500));
    assert_eq!(garden::replay(&saved).hash(), story.world.hash());
    // Without these entries the replay gives another world, whose hashes differ.
    let mut without = saved;
    without
        .batches
        .iter_mut()
        .for_each(|batch| batch.entries.retain(|entry| entry.record != Record::Settled));
    assert!(without.replay(garden::restore).is_err());
}

#[test]
fn a_durable_action_is_confirmed_after_it_is_stored_and_happens_once() {
    let (folder, plaza) = (Folder::new("once"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 1);
    let ada = PlayerId(1);
    story.snapshot(&store);
    story.recorder.apply(&mut story.world, Command::Join { player: ada, name: "Ada".into() }).unwrap();
    let id = ActionId { client: [9; 16], number: 1 };
    let act = |story: &mut Story| {
        let (then, told) = completion();
        let command = garden::action(ada, "count");
        let attempt = story.recorder.apply_once(&mut story.world, id, command, then).unwrap();
        story.world.step();
        story.recorder.flush(&story.world, &store, story.now_ms);
        (attempt, told.recv_timeout(PATIENCE).expect("the completion is called"))
    };
    assert_eq!(act(&mut story), (Attempt::First, Ok(())));
    let kept = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!(garden::count(&garden::replay(&kept), 1), 1, "a confirmed action is stored");
    assert_eq!(act(&mut story), (Attempt::Again, Ok(())));
    // The process ends without an answer, and the client retries.
    drop(store);
    let store = folder.open();
    let mut story = Story::resume(&store.load(&plaza, Moment::Last).unwrap().unwrap(), 1);
    let (then, told) = completion();
    let command = garden::action(ada, "count");
    let attempt = story.recorder.apply_once(&mut story.world, id, command, then).unwrap();
    story.recorder.flush(&story.world, &store, story.now_ms);
    assert_eq!((attempt, told.recv_timeout(PATIENCE).unwrap()), (Attempt::Again, Ok(())));
    // A snapshot contains the done action, too.
    story.snapshot(&store);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert!(saved.batches.is_empty() && saved.once().contains(id));
    assert_eq!(garden::count(&garden::replay(&saved), 1), 1);
}

#[test]
fn notes_of_a_host_come_back_in_order_after_its_snapshot() {
    let (folder, plaza) = (Folder::new("notes"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&store);
    for number in 0..10u8 {
        story.recorder.note(&story.world, vec![number]);
        story.play(&store, 2);
    }
    story.recorder.flush_all(&story.world, &store, story.now_ms);
    store.commit(PATIENCE).unwrap();
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!(saved.snapshot.host, b"host");
    let notes: Vec<_> = saved.notes().map(|note| (note.tick, note.bytes[0])).collect();
    assert_eq!(notes, (0..10).map(|number| (2 * u64::from(number), number)).collect::<Vec<_>>());
}

#[test]
fn a_world_at_rest_costs_no_bytes_and_its_clock_continues() {
    let (folder, plaza) = (Folder::new("rest"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 1);
    story.snapshot(&store);
    for _ in 0..600 {
        story.world.step();
        story.recorder.flush(&story.world, &store, story.now_ms);
    }
    store.commit(PATIENCE).unwrap();
    let before = store.stats().batch_bytes;
    let saved = store.load(&plaza, Moment::Last).unwrap().unwrap();
    assert_eq!((saved.tick, saved.batches.len()), (600, 0));
    // The batch before the snapshot records that the snapshot changed the world.
    assert!(before < 100, "{before} bytes");
}

#[test]
fn a_snapshot_is_due_after_a_minute_of_life_or_an_hour_of_rest() {
    let (folder, plaza) = (Folder::new("due"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 1);
    let pass = |story: &mut Story, acts: bool| {
        assert!(story.recorder.is_snapshot_due(&story.world, &store));
        story.snapshot(&store);
        let since = story.world.tick();
        while !story.recorder.is_snapshot_due(&story.world, &store) {
            if acts && story.world.tick() == since {
                let join = Command::Join { player: PlayerId(1), name: "Ada".into() };
                story.recorder.apply(&mut story.world, join).unwrap();
            }
            story.world.step();
            while story.world.poll_event().is_some() {}
            story.recorder.flush(&story.world, &store, story.now_ms);
        }
        story.world.tick() - since
    };
    assert_eq!(pass(&mut story, false), SNAPSHOT_REST_TICKS);
    assert_eq!(pass(&mut story, true), SNAPSHOT_TICKS);
}

#[test]
fn a_used_token_and_a_ban_outlive_the_process_and_end_in_time() {
    let folder = Folder::new("marks");
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
    let store = folder.open();
    assert!(is_new(&store, mark(b"a", BEGIN_MS + 1_000), BEGIN_MS));
    assert!(!is_new(&store, mark(b"a", BEGIN_MS + 1_000), BEGIN_MS + 10), "used a second time");
    let ban = Mark {
        kind: MarkKind::Ban,
        key: b"mallory".to_vec(),
        note: "spam".into(),
        expires_ms: u64::MAX >> 1,
    };
    assert!(is_new(&store, ban.clone(), BEGIN_MS));
    drop(store);
    let store = folder.open();
    assert!(!is_new(&store, mark(b"a", BEGIN_MS + 1_000), BEGIN_MS + 20), "after a restart, too");
    assert!(is_new(&store, mark(b"b", BEGIN_MS + 1_000), BEGIN_MS + 20));
    assert_eq!(store.marks(MarkKind::Ban, BEGIN_MS).unwrap(), std::slice::from_ref(&ban));
    assert_eq!(store.marks(MarkKind::TokenUsed, BEGIN_MS + 999).unwrap().len(), 2);
    assert_eq!(store.marks(MarkKind::TokenUsed, BEGIN_MS + 1_000).unwrap(), []);
    assert_eq!(store.prune(&Default::default(), BEGIN_MS + 1_000).unwrap().marks, 2);
    store.unmark(MarkKind::Ban, &ban.key, Vec::new()).unwrap();
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.marks(MarkKind::Ban, BEGIN_MS).unwrap(), []);
}

#[test]
fn a_list_shows_the_stored_worlds() {
    let folder = Folder::new("list");
    let store = folder.open();
    assert!(store.list().unwrap().is_empty());
    for (index, world) in ["plaza", "attic"].into_iter().enumerate() {
        let mut story = Story::new(&name(world), index as u64);
        story.play(&store, 90);
        story.snapshot(&store);
    }
    store.commit(PATIENCE).unwrap();
    let list = store.list().unwrap();
    assert_eq!(list.iter().map(|world| world.name.as_str()).collect::<Vec<_>>(), ["attic", "plaza"]);
    let plaza = &list[1];
    assert_eq!((plaza.tick, plaza.snapshots, plaza.created_ms), (90, 2, BEGIN_MS));
    assert_eq!(plaza.origin, Origin { seed: 0, ..garden::origin(0) });
    assert!(plaza.bytes > 0 && plaza.batches > 0 && plaza.changed_ms > plaza.created_ms);
}
