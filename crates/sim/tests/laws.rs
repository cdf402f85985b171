//! Checks the laws of the queue at both ends of a session, under random operations on bad links.

use nowcast_sim::scenario;

#[test]
fn the_laws_hold_in_two_hundred_random_sessions() {
    let mut streams = 0;
    for seed in 0..200 {
        match scenario::check(seed) {
            Ok(lived) => streams += lived.streams,
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(streams > 150, "the fairness of keys (law 5) was checked in {streams} sessions");
}

#[test]
fn the_same_seed_has_the_same_outcome() {
    for seed in [3, 14, 159] {
        let lived = scenario::check(seed).expect("these seeds obey the laws");
        assert_eq!(scenario::check(seed).expect("again"), lived);
    }
}
