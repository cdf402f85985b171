//! Data of accounts whose writer ends between two writes, or whose batch is too large.

use std::time::Duration;

use nowcast_cluster::Epoch;
use nowcast_jetstream::{Bucket, JetStreamStore};
use nowcast_store::{AccountRecord, Lost, Moment, Retention, Store as _, WorldName};
use nowcast_world::{SavedData, Value};

use super::garden::Story;
use super::{PATIENCE, block_on, completion, name, open, own_name, shared};

/// A name of the accounts' world, which rooms share.
const PARK: &str = "park";

fn save(story: &mut Story, account: &str, revision: u64, value: Value) {
    let saved = SavedData { version: 1, revision, value };
    story.recorder.save_account(AccountRecord { world: PARK.into(), account: account.into(), saved });
}

fn revision(store: &JetStreamStore, account: &str) -> Option<u64> {
    store.account(PARK, account).expect("the data can be read").map(|saved| saved.revision)
}

/// Stores a snapshot with the data that waits. Returns the result.
fn snapshot(store: &JetStreamStore, story: &mut Story) -> Result<(), Lost> {
    let (then, told) = completion();
    story.recorder.when_kept(then);
    story.snapshot(store);
    told.recv_timeout(PATIENCE).expect("the completion is called")
}

/// Removes all data of accounts from the bucket, as if its writer had ended before it wrote them there.
fn empty_bucket(store: &JetStreamStore) -> usize {
    block_on(async {
        let bucket = Bucket::open(store.link(), "accounts").await.expect("the bucket exists");
        let all = bucket.list().await.expect("the bucket can be read");
        for (key, _, revision) in &all {
            bucket.delete(key, *revision).await.expect("nobody else changes the entry");
        }
        all.len()
    })
}

fn begin() -> (JetStreamStore, JetStreamStore, WorldName, Story) {
    let (address, options, plaza) = (shared(), own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    first.claim(&plaza, Some(Epoch(1))).expect("the journal is new");
    let story = Story::new(&plaza, 3);
    (first, second, plaza, story)
}

#[test]
fn an_owner_that_ends_after_the_note_of_a_snapshot_leaves_the_data_of_accounts_to_the_next() {
    let (first, second, plaza, mut story) = begin();
    save(&mut story, "ada", 7, Value::from(3.0));
    assert_eq!(snapshot(&first, &mut story), Ok(()));
    assert_eq!(revision(&first, "ada"), Some(7));
    assert_eq!(empty_bucket(&first), 1);
    assert_eq!(revision(&first, "ada"), None);
    second.claim(&plaza, Some(Epoch(2))).unwrap();
    assert_eq!(revision(&second, "ada"), Some(7), "the journal names the data");
}

#[test]
fn an_owner_that_is_replaced_before_the_note_of_a_snapshot_changes_no_data_of_accounts() {
    let (first, second, plaza, mut story) = begin();
    save(&mut story, "ada", 7, Value::from(3.0));
    assert_eq!(snapshot(&first, &mut story), Ok(()));
    second.claim(&plaza, Some(Epoch(2))).unwrap();
    story.world.step();
    save(&mut story, "ada", 8, Value::from(4.0));
    assert_eq!(snapshot(&first, &mut story), Err(Lost));
    second.claim(&plaza, Some(Epoch(3))).unwrap();
    // The world of the next owner does not have the change, so its data must not have the change either.
    assert_eq!(revision(&second, "ada"), Some(7));
}

#[test]
fn data_of_accounts_in_a_batch_that_is_too_large_is_stored_with_the_next_snapshot() {
    let (first, second, plaza, mut story) = begin();
    assert_eq!(snapshot(&first, &mut story), Ok(()));
    let mut random = nowcast_world::Random::new(1);
    let accounts: Vec<String> = (0..24).map(|number| format!("account-{number}")).collect();
    for account in &accounts {
        let noise: Vec<u8> = (0..60_000).map(|_| random.bits() as u8).collect();
        save(&mut story, account, 1, Value::Bytes(noise));
    }
    story.world.step();
    let (then, told) = completion();
    story.recorder.when_kept(then);
    story.recorder.flush(&story.world, &first, story.now_ms);
    assert_eq!(told.recv_timeout(PATIENCE), Ok(Err(Lost)), "the batch is larger than a message");
    assert_eq!(snapshot(&first, &mut story), Ok(()));
    assert_eq!(empty_bucket(&first), accounts.len());
    second.claim(&plaza, Some(Epoch(2))).unwrap();
    for account in &accounts {
        assert_eq!(revision(&second, account), Some(1), "{account}");
    }
}

#[test]
fn the_data_of_accounts_of_a_removed_snapshot_is_removed_too() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let store = open(&address, &options, false);
    store.claim(&plaza, None).unwrap();
    let shelf = block_on(async {
        let client = super::plain_client(&address).await.expect("the servers answer");
        let context = async_nats::jetstream::new(client);
        context.get_object_store(format!("{}-snapshots", options.name)).await.expect("the store exists")
    });
    let mut story = Story::new(&plaza, 3);
    save(&mut story, "ada", 1, Value::from(1.0));
    assert_eq!(snapshot(&store, &mut story), Ok(()));
    // The name of the world, then epoch, sequence and step of its first snapshot.
    let snapshot_name = "706c617a61/1-1-0".to_owned();
    let first = [format!("{snapshot_name}-accounts"), snapshot_name];
    let are_removed =
        || first.each_ref().map(|name| block_on(shelf.info(name)).expect("it was stored").deleted);
    assert_eq!(are_removed(), [false, false]);
    story.world.step();
    assert_eq!(snapshot(&store, &mut story), Ok(()));
    // The completion waits for the batch before the snapshot.
    store.commit(PATIENCE).unwrap();
    let pruned = store.prune(&Retention { keep: Duration::ZERO, bytes_max: 0 }, story.now_ms + 1).unwrap();
    assert_eq!(pruned.snapshots, 1);
    assert_eq!(are_removed(), [true, true]);
    let saved = store.load(&plaza, Moment::Last).unwrap().expect("the newest snapshot stays");
    assert_eq!(saved.tick, 1);
}
