//! A world continues after its process has ended.

use std::time::Duration;

use nowcast_store::{
    AccountRecord, Batch, Completion, Continuity, Health, Mark, MarkCompletion, MarkKind, Moment, Pruned,
    Refused, Retention, SNAPSHOT_REST_TICKS, SNAPSHOT_TICKS, SavedWorld, Snapshot, SqliteStore, Stats, Store,
    StoreError, Summary, WorldName,
};
use nowcast_world::journal::Record;
use nowcast_world::{Command, PlayerId, SavedData, Value};

use super::garden::{self, Story};
use super::{Folder, PATIENCE, conformance, name};

/// A store whose disk loses either all batches or all snapshots.
struct Forgetful<'a> {
    store: &'a SqliteStore,
    loses_batches: bool,
}

impl Store for Forgetful<'_> {
    fn append(&self, world: &WorldName, batch: Batch, then: Vec<Completion>) -> Result<(), Refused> {
        if self.loses_batches { Ok(()) } else { self.store.append(world, batch, then) }
    }
    fn snapshot_with_accounts(
        &self,
        world: &WorldName,
        snapshot: Snapshot,
        continuity: Continuity,
        accounts: Vec<AccountRecord>,
        then: Vec<Completion>,
    ) -> Result<(), Refused> {
        if !self.loses_batches {
            return Ok(());
        }
        self.store.snapshot_with_accounts(world, snapshot, continuity, accounts, then)
    }
    fn commit(&self, within: Duration) -> Result<(), StoreError> {
        self.store.commit(within)
    }
    fn load(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, StoreError> {
        self.store.load(world, moment)
    }
    fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.store.list()
    }
    fn prune(&self, retention: &Retention, now_ms: u64) -> Result<Pruned, StoreError> {
        self.store.prune(retention, now_ms)
    }
    fn mark(&self, mark: Mark, now_ms: u64, then: MarkCompletion) -> Result<(), Refused> {
        self.store.mark(mark, now_ms, then)
    }
    fn unmark(&self, kind: MarkKind, key: &[u8], then: Vec<Completion>) -> Result<(), Refused> {
        self.store.unmark(kind, key, then)
    }
    fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, StoreError> {
        self.store.marks(kind, now_ms)
    }
    fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, StoreError> {
        self.store.account(world, account)
    }
    fn has_room(&self) -> bool {
        self.store.has_room()
    }
    fn health(&self) -> Health {
        self.store.health()
    }
    fn stats(&self) -> Stats {
        self.store.stats()
    }
}

#[test]
fn a_snapshot_has_the_data_of_accounts_that_its_changes_caused() {
    let (folder, plaza) = (Folder::new("snapshot-accounts"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 5);
    let saved = SavedData { version: 1, revision: 7, value: Value::from(3.0) };
    story.recorder.save_account(AccountRecord { world: "park".into(), account: "ada".into(), saved });
    // The first record of a world is a snapshot. The process ends before the next batch is stored.
    story.snapshot(&Forgetful { store: &store, loses_batches: true });
    assert!(story.recorder.has_saved_accounts());
    store.commit(PATIENCE).unwrap();
    assert_eq!(store.account("park", "ada").unwrap().map(|saved| saved.revision), Some(7));
}

#[test]
fn a_snapshot_that_was_lost_leaves_its_mark_in_the_journal() {
    let (folder, plaza) = (Folder::new("settled"), name("plaza"));
    let store = folder.open();
    let mut story = Story::new(&plaza, 5);
    story.play(&store, 200);
    for _ in 0..3 {
        story.snapshot(&Forgetful { store: &store, loses_batches: false });
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
                let join = Command::join(PlayerId(1), "Ada");
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
fn a_world_is_restored_to_the_last_bit_and_continues_identically() {
    let folder = Folder::new("worlds-are-restored");
    conformance::worlds_are_restored(&|| Box::new(folder.open()));
}

#[test]
fn a_durable_action_is_confirmed_after_it_is_stored_and_happens_once() {
    let folder = Folder::new("durable-actions-happen-once");
    conformance::durable_actions_happen_once(&|| Box::new(folder.open()));
}

#[test]
fn notes_of_a_host_come_back_in_order_after_its_snapshot() {
    let folder = Folder::new("notes-come-back");
    conformance::notes_come_back(&|| Box::new(folder.open()));
}

#[test]
fn a_world_at_rest_costs_no_bytes_and_its_clock_continues() {
    let folder = Folder::new("rest-costs-no-bytes");
    conformance::rest_costs_no_bytes(&|| Box::new(folder.open()));
}

#[test]
fn a_used_token_and_a_ban_outlive_the_process_and_end_in_time() {
    let folder = Folder::new("marks-end-in-time");
    conformance::marks_end_in_time(&|| Box::new(folder.open()));
}

#[test]
fn a_list_shows_the_stored_worlds() {
    let folder = Folder::new("worlds-are-listed");
    conformance::worlds_are_listed(&|| Box::new(folder.open()));
}

#[test]
fn the_data_of_an_account_comes_back_after_a_restart() {
    let folder = Folder::new("accounts-come-back");
    conformance::accounts_come_back(&|| Box::new(folder.open()));
}
