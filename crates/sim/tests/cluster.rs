//! Lives of a cluster, and deliberate faults of its core that the checker must find.

use nowcast_cluster::{Config, Faults, Mutant};
use nowcast_sim::cluster::{Lived, Script, Setup, check, run};

/// Number of lives in which a deliberate fault must be found.
const LIVES_MAX: u64 = 20_000;

/// Number of lives. `NOWCAST_SEEDS=1000000` runs the long form.
fn seeds() -> u64 {
    let given =
        std::env::var("NOWCAST_SEEDS").ok().map(|text| text.parse().expect("NOWCAST_SEEDS is a number"));
    given.unwrap_or(400).max(400)
}

#[test]
fn in_four_hundred_lives_every_promise_holds() {
    let mut total = Lived::default();
    for seed in 0..seeds() {
        match check(seed, &Setup::default()) {
            Ok(lived) => total.add(lived),
            Err(failure) => panic!("{failure}"),
        }
    }
    eprintln!("{total:?}");
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

#[test]
fn a_target_keeps_its_room_while_the_bucket_of_rooms_has_no_leader() {
    let mut total = Lived::default();
    for seed in 0..100 {
        let lived = run(&Script::around_hand_over(seed), &Setup::default());
        total.add(lived.unwrap_or_else(|what| panic!("seed {seed}: {what}")));
    }
    assert!(total.hand_overs > 20, "{total:?}");
}

/// Lives seeds with a deliberate fault until the checker finds it.
fn find(mutant: Mutant, script: impl Fn(u64) -> Script) {
    let config = Config { faults: Faults::of(mutant), ..Setup::default().config };
    let setup = Setup { config, ..Setup::default() };
    let found = (0..LIVES_MAX).find_map(|seed| Some((seed + 1, run(&script(seed), &setup).err()?)));
    let (lives, what) = found.unwrap_or_else(|| panic!("{mutant:?} was not found in {LIVES_MAX} lives"));
    eprintln!("{mutant:?} was found in life {lives}: {what}");
}

macro_rules! finds {
    ($($test:ident: $mutant:ident by $script:ident;)*) => {$(
        #[test]
        fn $test() {
            find(Mutant::$mutant, Script::$script);
        }
    )*};
}

finds! {
    an_owner_without_a_fence_is_found: NoFence by random;
    an_owner_that_takes_a_foreign_frame_for_its_own_is_found: TrustForeignFrame by random;
    an_owner_that_takes_a_missing_answer_for_a_confirmation_is_found: TrustUnknownAppend by random;
    an_owner_that_ignores_the_end_of_its_lease_is_found: IgnoreLease by random;
    a_lease_that_counts_from_the_answer_is_found: CountFromAnswer by random;
    a_server_that_does_not_wait_for_the_end_of_a_lease_is_found: ClaimEarly by random;
    a_server_that_goes_on_after_its_life_was_ended_is_found: IgnoreDeath by random;
    a_start_that_does_not_wait_for_the_last_start_is_found: EnterAtOnce by random;
    a_room_whose_last_holder_may_renew_its_lease_is_found: KeepHolder by random;
    a_room_that_is_taken_from_a_holder_with_a_renewed_lease_is_found: IgnoreRenewal by random;
    a_holder_that_counts_as_dead_because_a_read_is_old_is_found: TrustOldServers by random;
    a_room_that_is_taken_from_a_living_owner_is_found: IgnoreOwner by random;
    a_room_that_is_taken_from_a_living_target_is_found: IgnoreTarget by around_hand_over;
    an_epoch_with_two_owners_is_found: SameEpoch by random;
    a_room_that_is_owned_without_the_directory_is_found: TrustRefusedTake by random;
    a_release_of_a_room_of_another_server_is_found: ReleaseForeign by random;
    a_source_that_goes_on_after_it_gave_the_room_away_is_found: KeepOwning by random;
    a_move_to_a_target_that_the_directory_does_not_name_is_found: MoveUnnamed by random;
    a_target_that_becomes_the_owner_of_a_room_that_stayed_is_found: EndAtTarget by random;
    a_correction_that_ends_a_later_move_is_found: EndLaterMove by around_second_move;
    a_move_that_outlives_its_ownership_is_found: KeepDeparture by around_paused_source;
    a_move_after_which_nobody_corrects_the_directory_is_found: LeaveTarget by random;
    a_target_that_uses_the_epoch_of_its_former_life_is_found: TakeForFormerLife by random;
}
