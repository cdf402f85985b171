//! The calls of `bindings/c/tests/costs.c` in Rust, for the comparison by `cargo xtask costs`: `call_costs MODE ROUNDS`.
//!
//! `put` puts the newest value of one key, `state` and `event` also receive each message. A value has 80 bytes, and both ends of
//! the channel are in this process. As in C, the time of a received value is a number of nanoseconds. Prints the nanoseconds of a
//! round, in the best of twenty parts.

use std::hint::black_box;
use std::time::{Duration, Instant};

use nowcast::Channel;
use nowcast::blocking::{self, wait};

const PARTS: u32 = 20;
const VALUE: [u8; 80] = [7; 80];

/// One round of a mode.
fn round(
    mode: &str,
    left: &Channel,
    right: &Channel,
    bytes: &mut Vec<u8>,
    begin: Instant,
) -> Result<(), nowcast::Error> {
    match mode {
        "event" => left.try_event(&VALUE)?,
        _ => left.try_state(1, &VALUE)?,
    }
    if mode != "put" {
        let received = right.try_receive_into(bytes)?.expect("the message has arrived");
        assert_eq!(bytes.len(), VALUE.len());
        black_box(received.produced_at.duration_since(begin).as_nanos());
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(mode), Some(rounds)) = (arguments.next(), arguments.next()) else {
        return Err("the arguments are a mode and a number of rounds".into());
    };
    let rounds: u32 = rounds.parse()?;
    let name = format!("rust-costs-{}", std::process::id());
    let mut service = blocking::advertise(&name)?;
    let right = wait(nowcast::connect(&name))?;
    let left = wait(service.accept())?;

    let begin = Instant::now();
    let (mut bytes, mut best) = (Vec::with_capacity(VALUE.len()), Duration::MAX);
    for _ in 0..PARTS {
        let start = Instant::now();
        for _ in 0..rounds / PARTS {
            round(&mode, &left, &right, &mut bytes, begin)?;
        }
        best = best.min(start.elapsed());
    }
    println!("{:.1}", best.as_nanos() as f64 / f64::from(rounds / PARTS));
    Ok(())
}
