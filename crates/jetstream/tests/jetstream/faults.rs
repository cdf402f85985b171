//! Owners that are replaced, and nats-servers that end.

use std::time::Duration;

use nowcast_cluster::{Epoch, Name, ServerId};
use nowcast_jetstream::JetStreamStore;
use nowcast_store::{
    ActionId, Attempt, Health, Lost, Moment, Problem, Refused, RefusedWhy, Store as _, StoreError, WorldName,
};
use nowcast_world::{Command, PlayerId};

use super::garden::{self, Story};
use super::{PATIENCE, Servers, block_on, completion, name, open, own_name, shared};

const ADA: PlayerId = PlayerId(1);

/// Claims a world whose owner ended it with the message `last`.
fn claim_after(
    store: &JetStreamStore,
    world: &WorldName,
    epoch: Epoch,
    last: u64,
) -> Result<Epoch, StoreError> {
    let owner = ServerId { name: Name::new("south").expect("the name is valid"), incarnation: epoch.0 };
    store.claim_for(world, owner, Some(epoch), Some(last))
}

/// Begins a world with one player, and stores it.
fn begin(store: &JetStreamStore, world: &WorldName) -> Story {
    let mut story = Story::new(world, 7);
    story.snapshot(store);
    story.recorder.apply(&mut story.world, Command::join(ADA, "Ada")).unwrap();
    story
}

/// Counts once, and returns whether it was the first attempt, and whether it was confirmed.
fn count(store: &JetStreamStore, story: &mut Story, number: u64) -> (Attempt, Result<(), Lost>) {
    let (then, told) = completion();
    let id = ActionId { client: [9; 16], number };
    let action = garden::action(ADA, "count");
    let attempt = story.recorder.apply_once(&mut story.world, id, action, then).unwrap();
    story.world.step();
    story.recorder.flush(&story.world, store, story.now_ms);
    (attempt, told.recv_timeout(PATIENCE).expect("the completion is called"))
}

#[test]
fn an_owner_that_was_replaced_confirms_nothing_and_the_next_has_everything_that_was_confirmed() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    assert_eq!(first.claim(&plaza, None).unwrap(), Epoch(1));
    let mut before = begin(&first, &plaza);
    for number in 1..=3 {
        assert_eq!(count(&first, &mut before, number), (Attempt::First, Ok(())));
    }
    // The first owner does not know of the second one yet.
    assert_eq!(second.claim(&plaza, Some(Epoch(5))).unwrap(), Epoch(5));
    assert!(first.is_owner(&plaza));
    assert_eq!(count(&first, &mut before, 4), (Attempt::First, Err(Lost)), "the journal is the fence");
    assert!(!first.is_owner(&plaza) && second.is_owner(&plaza));
    assert_eq!(count(&first, &mut before, 5), (Attempt::First, Err(Lost)));
    let refused = first.append(&plaza, Default::default(), Vec::new());
    assert!(matches!(refused, Err(Refused { why: RefusedWhy::Fenced, .. })));
    let older = first.claim(&plaza, Some(Epoch(4))).unwrap_err();
    assert!(matches!(older.problem, Problem::Fenced), "{older}");

    let saved = second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    let mut after = Story::resume(&saved, 7);
    assert_eq!(garden::count(&after.world, 1), 3, "confirmed actions, and no others");
    // The client of the first owner had no answer and repeats its action.
    assert_eq!(count(&second, &mut after, 3), (Attempt::Again, Ok(())));
    assert_eq!(count(&second, &mut after, 4), (Attempt::First, Ok(())));
    assert_eq!(garden::count(&after.world, 1), 4);
}

#[test]
fn a_world_that_was_read_before_its_claim_is_loaded_with_all_later_changes() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    first.claim(&plaza, Some(Epoch(1))).unwrap();
    let mut before = begin(&first, &plaza);
    assert_eq!(count(&first, &mut before, 1), (Attempt::First, Ok(())));
    block_on(second.prefetch(&plaza)).unwrap();
    let loaded = second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    assert_eq!(garden::count(&Story::resume(&loaded, 7).world, 1), 1);
    // The load has not taken the world from its owner.
    assert_eq!(count(&first, &mut before, 2), (Attempt::First, Ok(())));
    second.claim(&plaza, Some(Epoch(2))).unwrap();
    let loaded = second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    let mut after = Story::resume(&loaded, 7);
    assert_eq!(garden::count(&after.world, 1), 2);
    assert_eq!(count(&second, &mut after, 3), (Attempt::First, Ok(())));
    assert_eq!(count(&first, &mut before, 3), (Attempt::First, Err(Lost)));
}

#[test]
fn a_world_is_claimed_directly_after_the_last_message_of_its_owner_and_loaded_with_all_changes() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    first.claim(&plaza, Some(Epoch(1))).unwrap();
    let mut before = begin(&first, &plaza);
    assert_eq!(count(&first, &mut before, 1), (Attempt::First, Ok(())));
    block_on(second.prefetch(&plaza)).unwrap();
    second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    assert_eq!(count(&first, &mut before, 2), (Attempt::First, Ok(())));
    let last = first.last_message(&plaza).expect("the first store owns the world");
    assert_eq!(second.last_message(&plaza), None);
    assert_eq!(claim_after(&second, &plaza, Epoch(2), last).unwrap(), Epoch(2));
    assert_eq!(second.last_message(&plaza), Some(last + 1), "the head is the next message");
    let loaded = second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    let mut after = Story::resume(&loaded, 7);
    assert_eq!(garden::count(&after.world, 1), 2);
    assert_eq!(count(&second, &mut after, 3), (Attempt::First, Ok(())));
    assert_eq!(count(&first, &mut before, 3), (Attempt::First, Err(Lost)));
}

#[test]
fn a_claim_after_a_message_that_is_not_the_last_finds_the_end_of_the_journal() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    first.claim(&plaza, Some(Epoch(1))).unwrap();
    let mut before = begin(&first, &plaza);
    assert_eq!(count(&first, &mut before, 1), (Attempt::First, Ok(())));
    let early = first.last_message(&plaza).expect("the first store owns the world");
    block_on(second.prefetch(&plaza)).unwrap();
    assert_eq!(count(&first, &mut before, 2), (Attempt::First, Ok(())));
    assert_eq!(claim_after(&second, &plaza, Epoch(2), early).unwrap(), Epoch(2));
    let loaded = second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    let mut after = Story::resume(&loaded, 7);
    assert_eq!(garden::count(&after.world, 1), 2);
    assert_eq!(count(&second, &mut after, 3), (Attempt::First, Ok(())));

    // A newer snapshot that the next server has not read is read after the claim.
    block_on(first.prefetch(&plaza)).unwrap();
    after.snapshot(&second);
    second.commit(PATIENCE).unwrap();
    let last = second.last_message(&plaza).expect("the second store owns the world");
    assert_eq!(claim_after(&first, &plaza, Epoch(3), last).unwrap(), Epoch(3));
    let loaded = first.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    let mut again = Story::resume(&loaded, 7);
    assert_eq!((loaded.batches.len(), garden::count(&again.world, 1)), (0, 3));
    assert_eq!(count(&first, &mut again, 4), (Attempt::First, Ok(())));
    let older = claim_after(&second, &plaza, Epoch(2), last).unwrap_err();
    assert!(matches!(older.problem, Problem::Fenced), "{older}");
}

#[test]
fn a_claim_after_a_message_that_does_not_exist_or_was_purged_is_decided_without_repetition() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    first.claim(&plaza, Some(Epoch(1))).unwrap();
    let mut before = begin(&first, &plaza);
    assert_eq!(count(&first, &mut before, 1), (Attempt::First, Ok(())));
    block_on(second.prefetch(&plaza)).unwrap();
    let last = first.last_message(&plaza).expect("the first store owns the world");
    // A repeated append would fail until the time of requests is over, and the claim with it.
    assert_eq!(claim_after(&second, &plaza, Epoch(2), last + 100).unwrap(), Epoch(2));
    assert_eq!(second.last_message(&plaza), Some(last + 1), "the head is at the end of the journal");

    let loaded = second.load(&plaza, Moment::Last).unwrap().expect("the world was stored");
    let mut after = Story::resume(&loaded, 7);
    block_on(first.prefetch(&plaza)).unwrap();
    assert_eq!(count(&second, &mut after, 2), (Attempt::First, Ok(())));
    let stream = format!("{}-world-{}", options.name, "706c617a61");
    let client = block_on(super::plain_client(&address)).unwrap();
    let stream = block_on(async { async_nats::jetstream::new(client).get_stream(stream).await }).unwrap();
    let early = second.last_message(&plaza).expect("the second store owns the world");
    for number in 3..=4 {
        assert_eq!(count(&second, &mut after, number), (Attempt::First, Ok(())));
    }
    block_on(stream.delete_message(early + 1)).unwrap();
    let older = claim_after(&first, &plaza, Epoch(2), early).unwrap_err();
    assert!(matches!(older.problem, Problem::Fenced), "{older}");
}

#[test]
fn confirmed_actions_outlive_any_nats_server_and_nothing_is_confirmed_without_a_majority() {
    let mut servers = Servers::start(3);
    let (address, options, plaza) = (servers.address(), own_name(), name("plaza"));
    let store = open(&address, &options, false);
    store.claim(&plaza, None).unwrap();
    let mut story = begin(&store, &plaza);
    assert_eq!(count(&store, &mut story, 1), (Attempt::First, Ok(())));
    // One of three may be the leader of the stream.
    servers.cluster().kill(0);
    assert_eq!(count(&store, &mut story, 2), (Attempt::First, Ok(())));
    servers.cluster().kill(1);
    let (then, told) = completion();
    let id = ActionId { client: [9; 16], number: 3 };
    story.recorder.apply_once(&mut story.world, id, garden::action(ADA, "count"), then).unwrap();
    story.world.step();
    story.recorder.flush(&story.world, &store, story.now_ms);
    let late = store.commit(Duration::from_secs(5)).unwrap_err();
    assert!(matches!(late.problem, Problem::Unreachable(_) | Problem::Late), "{late}");
    assert!(told.try_recv().is_err(), "nothing is confirmed by one server of three");
    assert!(!matches!(store.health(), Health::Healthy) && !store.has_room(), "{:?}", store.health());
    servers.cluster().restart(1).expect("the server starts with its files");
    servers.cluster().restart(0).expect("the server starts with its files");
    assert_eq!(told.recv_timeout(PATIENCE), Ok(Ok(())), "the waiting action is stored");
    drop(store);
    let store = open(&address, &options, true);
    let again = Story::resume(&store.load(&plaza, Moment::Last).unwrap().expect("it was stored"), 7);
    assert_eq!(garden::count(&again.world, 1), 3);
}

#[test]
fn messages_that_somebody_purged_are_named_and_the_rest_is_not_touched() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let store = open(&address, &options, false);
    store.claim(&plaza, None).unwrap();
    let mut story = begin(&store, &plaza);
    for number in 1..=2 {
        count(&store, &mut story, number).1.unwrap();
    }
    let stream = format!("{}-world-{}", options.name, "706c617a61");
    let client = block_on(super::plain_client(&address)).unwrap();
    let stream = block_on(async { async_nats::jetstream::new(client).get_stream(stream).await }).unwrap();
    let last = stream.cached_info().state.last_sequence;
    block_on(stream.delete_message(last - 1)).unwrap();
    let error = store.load(&plaza, Moment::Last).unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged { .. }), "{error}");
    assert!(error.to_string().contains(&format!("message {}", last - 1)), "{error}");
    assert_eq!(block_on(stream.get_info()).unwrap().state.last_sequence, last);
}

#[test]
fn a_journal_that_somebody_purged_is_named_and_gets_no_new_owner() {
    let address = shared();
    let (options, plaza) = (own_name(), name("plaza"));
    let (first, second) = (open(&address, &options, false), open(&address, &options, false));
    first.claim(&plaza, None).unwrap();
    let mut story = begin(&first, &plaza);
    assert_eq!(count(&first, &mut story, 1).1, Ok(()));
    let stream = format!("{}-world-{}", options.name, "706c617a61");
    let client = block_on(super::plain_client(&address)).unwrap();
    let stream = block_on(async { async_nats::jetstream::new(client).get_stream(stream).await }).unwrap();
    block_on(async { stream.purge().await }).unwrap();
    let last = block_on(stream.get_info()).unwrap().state.last_sequence;
    let error = second.claim(&plaza, Some(Epoch(2))).unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("purged by hand"), "{error}");
    assert_eq!(block_on(stream.get_info()).unwrap().state.last_sequence, last, "nothing is written");
}
