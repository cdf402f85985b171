//! The laws of the queue at both ends of a session, under random operations on bad links.

use nowcast_sim::scenario;

#[test]
fn two_hundred_lives_obey_the_laws() {
    for seed in 0..200 {
        if let Err(failure) = scenario::check(seed) {
            panic!("{failure}");
        }
    }
}

/// Seeds that once broke a law; `found.rs` has the faults as scripts that do not depend on timing.
#[test]
fn lives_that_found_faults_obey_the_laws() {
    for seed in [901_722_267, 950_143_023, 1_200_969_383] {
        if let Err(failure) = scenario::check(seed) {
            panic!("{failure}");
        }
    }
}

#[test]
fn the_same_seed_runs_the_same_life() {
    for seed in [3, 14, 159] {
        let lived = scenario::check(seed).expect("these seeds obey the laws");
        assert_eq!(scenario::check(seed).expect("again"), lived);
    }
}
