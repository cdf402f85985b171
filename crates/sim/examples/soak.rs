//! Lives many seeds: `cargo run --release -p nowcast-sim --example soak -- FIRST COUNT`, with TypeScript at one end if
//! `NOWCAST_TYPESCRIPT_PEER` names its script. Run one on each core.
use nowcast_sim::foreign::{PEER_VARIABLE, Peer};
use nowcast_sim::scenario::{self, Cast};

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let (first, count) = (args.next().unwrap_or(0), args.next().unwrap_or(100));
    let peer = std::env::var_os(PEER_VARIABLE)
        .map(|path| Peer::start(path.as_ref()).unwrap_or_else(|missing| panic!("{missing}")));
    let mut failed = 0;
    let mut total = std::time::Duration::ZERO;
    for seed in first..first + count {
        let cast = peer.as_ref().map_or(Cast::Rust, |peer| Cast::across(peer, seed));
        match scenario::check_with(seed, cast) {
            Ok(lived) => total += lived.time,
            Err(failure) => {
                failed += 1;
                println!("{failure}");
                if failed >= 2 {
                    break;
                }
            }
        }
        let lived = seed - first + 1;
        if lived % 10_000 == 0 {
            println!("{lived} lives");
        }
    }
    println!("{failed} failed, {total:?} of virtual time");
}
