//! Sessions whose processes are killed, and durable actions that survive them.

use nowcast_sim::scenario::{self, Cast, Lived};

#[test]
fn two_hundred_lives_with_killed_processes_obey_the_laws_and_do_each_durable_action_once() {
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
fn the_same_seed_runs_the_same_life_with_restarts() {
    for seed in [3, 14, 159] {
        let live = || scenario::check_restarts(seed, Cast::Rust).expect("these seeds obey the laws");
        assert_eq!(live(), live());
    }
}
