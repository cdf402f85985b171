//! Runs many seeds: `cargo run --release -p nowcast-sim --example soak -- FIRST COUNT`. Run one instance on each core. With
//! TypeScript at one end, use `cargo xtask lab soak --typescript`.
use nowcast_sim::scenario;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<u64>().expect("a number"));
    let (first, count) = (args.next().unwrap_or(0), args.next().unwrap_or(100));
    let mut failed = 0;
    let mut streams = 0;
    let mut total = std::time::Duration::ZERO;
    for seed in first..first + count {
        match scenario::check(seed) {
            Ok(lived) => {
                total += lived.time;
                streams += lived.streams;
            }
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
    println!("{failed} failed, {streams} streams checked for fairness, {total:?} of virtual time");
}
