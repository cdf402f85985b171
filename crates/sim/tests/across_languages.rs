//! Checks the laws of the queue with Rust at one end and TypeScript at the other.
//!
//! The tests need Node and the built SDK. `cargo xtask test` builds the SDK and runs them: `NOWCAST_TYPESCRIPT_PEER` names
//! `peer.mjs`.

use std::path::Path;

use nowcast_sim::scenario::{self, Cast};
use nowcast_sim::typescript_peer::{PEER_VARIABLE, Peer};

fn peer() -> Peer {
    let path = std::env::var_os(PEER_VARIABLE);
    let path = path.expect("NOWCAST_TYPESCRIPT_PEER names packages/nowcast/test/session/peer.mjs");
    Peer::start(Path::new(&path)).unwrap_or_else(|missing| panic!("{missing}"))
}

#[test]
#[ignore = "needs the built SDK: `cargo xtask test` builds it and runs this test"]
fn the_laws_hold_in_twenty_sessions_across_languages() {
    let peer = peer();
    for seed in 0..20 {
        if let Err(failure) = scenario::check_with(seed, Cast::across(&peer, seed)) {
            panic!("{failure}");
        }
    }
}

#[test]
#[ignore = "needs the built SDK: `cargo xtask test` builds it and runs this test"]
fn the_laws_hold_in_twenty_sessions_with_killed_processes_across_languages() {
    let peer = peer();
    for seed in 0..20 {
        if let Err(failure) = scenario::check_restarts(seed, Cast::across(&peer, seed)) {
            panic!("{failure}");
        }
    }
}

#[test]
#[ignore = "needs the built SDK: `cargo xtask test` builds it and runs this test"]
fn the_same_seed_has_the_same_outcome_across_languages() {
    let peer = peer();
    for seed in [3, 14] {
        let live =
            || scenario::check_with(seed, Cast::across(&peer, seed)).expect("these seeds obey the laws");
        assert_eq!(live(), live());
    }
}
