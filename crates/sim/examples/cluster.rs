//! Lives of a cluster: `cargo run --release -p nowcast-sim --example cluster -- FIRST COUNT`. A failure prints the shortest script
//! that was found. A single life with `-- SEED 1` also describes all servers if a room is lost.
use nowcast_sim::cluster::{Lived, Setup, check};

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let (first, count) = (args.next().unwrap_or(0), args.next().unwrap_or(1_000));
    let setup = Setup { is_verbose: count == 1, ..Setup::default() };
    let mut total = Lived::default();
    let mut failed = 0;
    for seed in first..first + count {
        if (seed - first) % 50_000 == 49_999 {
            println!("{} lives, {failed} failed", seed - first);
        }
        match check(seed, &setup) {
            Ok(lived) => total.add(lived),
            Err(failure) => {
                failed += 1;
                println!("{failure}");
                if failed >= 5 {
                    break;
                }
            }
        }
    }
    println!("{failed} failed, {total:?}");
}
