//! Sessions whose processes are killed, and durable actions that survive them.

use nowcast_sim::scenario::{self, Cast, Lived};

#[test]
fn in_two_hundred_sessions_with_killed_processes_the_laws_hold_and_each_durable_action_is_applied_once() {
    let mut all = Lived::default();
    for seed in 0..200 {
        match scenario::check_restarts(seed, Cast::Rust) {
            Ok(lived) => {
                all.restarts += lived.restarts;
                all.acts += lived.acts;
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(all.restarts > 200, "{} processes were killed", all.restarts);
    assert!(all.acts > 4_000, "{} actions", all.acts);
}

#[test]
fn the_same_seed_has_the_same_outcome_with_restarts() {
    for seed in [3, 14, 159] {
        let live = || scenario::check_restarts(seed, Cast::Rust).expect("these seeds obey the laws");
        assert_eq!(live(), live());
    }
}
