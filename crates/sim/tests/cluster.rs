//! Lives of a cluster, and deliberate faults of its core that the checker must find.

use nowcast_cluster::{Config, Mutant};
use nowcast_sim::cluster::{Lived, Script, Setup, check, run};

/// Number of lives in which a deliberate fault must be found.
const LIVES_MAX: u64 = 3_000;

#[test]
fn in_four_hundred_lives_every_promise_holds() {
    let mut total = Lived::default();
    for seed in 0..400 {
        match check(seed, &Setup::default()) {
            Ok(lived) => total.add(lived),
            Err(failure) => panic!("{failure}"),
        }
    }
    // The lives contain something to check.
    assert!(total.faults > 800, "{total:?}");
    assert!(total.takeovers > 500 && total.hand_overs > 40, "{total:?}");
    assert!(total.confirmed > 10_000 && total.shown > 20_000, "{total:?}");
}

#[test]
fn two_runs_of_a_seed_are_equal_to_the_last_event() {
    for seed in [1, 14, 159, 2_653] {
        let live = || run(&Script::random(seed), &Setup::default()).expect("these seeds keep the promises");
        assert_eq!(live(), live());
    }
}

/// Lives seeds with a deliberate fault until the checker finds it.
fn find(mutant: Mutant) -> String {
    find_in(mutant, Script::random)
}

fn find_in(mutant: Mutant, script: impl Fn(u64) -> Script) -> String {
    let config = Config { mutant: Some(mutant), ..Setup::default().config };
    let setup = Setup { config, ..Setup::default() };
    (0..LIVES_MAX)
        .find_map(|seed| run(&script(seed), &setup).err())
        .unwrap_or_else(|| panic!("{mutant:?} was not found in {LIVES_MAX} lives"))
}

#[test]
fn an_owner_without_a_fence_is_found() {
    find(Mutant::NoFence);
}

#[test]
fn a_confirmation_before_the_acknowledgement_is_found() {
    let what = find(Mutant::ConfirmEarly);
    assert!(what.contains("is confirmed, and is not in the journal"), "{what}");
}

#[test]
fn an_owner_that_ignores_the_end_of_its_lease_is_found() {
    find(Mutant::IgnoreLease);
}

#[test]
fn a_server_that_does_not_wait_for_the_end_of_a_lease_is_found() {
    find(Mutant::ClaimEarly);
}

#[test]
fn an_epoch_with_two_owners_is_found() {
    find(Mutant::SameEpoch);
}

#[test]
fn a_hand_over_that_ignores_different_hashes_is_found() {
    find(Mutant::IgnoreHash);
}

#[test]
fn a_journal_that_is_purged_before_its_snapshot_is_verified_is_found() {
    find(Mutant::PurgeEarly);
}

#[test]
fn a_source_that_goes_on_without_asking_the_journal_is_found() {
    find(Mutant::ResumeUnasked);
}

#[test]
fn a_claim_that_ignores_the_target_of_a_hand_over_is_found() {
    find_in(Mutant::IgnoreTarget, Script::around_hand_over);
}

#[test]
fn a_target_keeps_its_room_while_the_bucket_of_rooms_has_no_leader() {
    let mut total = Lived::default();
    for seed in 0..100 {
        let lived = run(&Script::around_hand_over(seed), &Setup::default());
        total.add(lived.unwrap_or_else(|what| panic!("seed {seed}: {what}")));
    }
    assert!(total.hand_overs > 20, "{total:?}");
}

#[test]
fn servers_refuse_an_engine_that_loses_acknowledged_writes_and_the_check_matters() {
    let unchecked = Setup { skips_engine_check: true, ..Setup::default() };
    let mut violations = 0;
    for seed in 0..100 {
        let script = Script::on_unsafe_engine(seed);
        let refused = run(&script, &Setup::default()).expect("no server joins, so nothing is promised");
        assert_eq!((refused.engines_refused, refused.confirmed), (1, 0));
        violations += u32::from(run(&script, &unchecked).is_err());
    }
    assert!(violations > 20, "only {violations} of 100 lives lost something");
}

fn live(seeds: &[u64]) {
    for seed in seeds {
        if let Err(failure) = check(*seed, &Setup::default()) {
            panic!("{failure}");
        }
    }
}

/// These lives had more than 200,000 events: a server whose lease was over was woken without end for leases of others that it could
/// not judge.
#[test]
fn a_server_without_a_lease_waits_before_it_judges_others() {
    live(&[0, 1, 10, 11, 16]);
}

/// A starting server took each read of the past for another revision, and began to wait for the lease of its last start anew. So rooms
/// of servers that were killed together were never found again.
#[test]
fn a_starting_server_ignores_reads_of_the_past() {
    live(&[727, 939, 1_044]);
}

/// A process was stopped between the append of its head and the acknowledgement, and another server took the room meanwhile. When
/// the process wakes, it shows and confirms nothing.
#[test]
fn an_owner_that_wakes_after_its_successor_began_shows_nothing() {
    live(&[104, 260]);
}

/// The source of a hand-over had no lease when its last batch was acknowledged. It confirmed the batch when its lease was renewed,
/// although the target was running by then.
#[test]
fn a_source_confirms_nothing_while_the_journal_decides() {
    live(&[9_644]);
}
