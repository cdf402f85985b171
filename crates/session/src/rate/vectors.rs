//! The vectors of `spec/vectors/session/rate.json`: the rate after each acknowledgement.
//!
//! These vectors are a record of what this crate computed. They show that the rate has not changed, and that the session in
//! TypeScript, which is written from `spec/SESSION.md`, section 11, computes the same. They do not show that the values are good:
//! the tests of `window.rs` and `competitive.rs`, and the simulations of links, check that.
//!
//! `NOWCAST_BLESS=1 cargo test -p nowcast-session --lib rate::vectors` writes the file again. Read the difference before you
//! commit it.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Arrived, Rate};
use crate::time::Time;

const ONE_WAY_MICROS: u64 = 25_000;
const LEAST_MICROS: u64 = 2 * ONE_WAY_MICROS;
const START_MICROS: u64 = 1_000_000_000;
const TICK_MICROS: u64 = 500;
/// Maximum length of the queue that others fill.
const OTHERS_QUEUE_MICROS: f64 = 150_000.0;
/// A packet that would wait longer than this is lost.
const QUEUE_MICROS_MAX: f64 = 250_000.0;
const PACKET_BYTES: u32 = 3_000;

/// A link on which a sender always has data to send, and the traffic of others on it.
struct Case {
    name: &'static str,
    /// The capacity at a time, bytes a second.
    capacity: fn(f64) -> f64,
    /// The traffic of others at a time, as a share of the capacity, independent of the sender.
    others: fn(f64) -> f64,
    drops: Drops,
    seconds: f64,
}

/// Packets that are dropped without regard to the queue.
#[derive(Clone, Copy)]
enum Drops {
    None,
    /// Each packet with a multiple of this number.
    EachNth(u64),
    /// The packets above a rate in bytes a second, with a bucket of this number of bytes.
    Policer {
        rate: f64,
        bucket: f64,
    },
}

const CASES: [Case; 7] = [
    Case {
        name: "the capacity falls to a quarter, and rises again",
        capacity: |at| if (2.0..4.0).contains(&at) { 125_000.0 } else { 500_000.0 },
        others: |_| 0.0,
        drops: Drops::None,
        seconds: 5.0,
    },
    Case {
        name: "others fill the queue",
        capacity: |_| 500_000.0,
        others: |at| if at > 2.0 { 0.8 } else { 0.0 },
        drops: Drops::None,
        seconds: 4.0,
    },
    Case {
        name: "others fill the queue and leave",
        capacity: |_| 250_000.0,
        others: |at| if (1.5..4.0).contains(&at) { 0.8 } else { 0.0 },
        drops: Drops::None,
        seconds: 7.0,
    },
    Case {
        name: "others fill the queue while the capacity rises and falls",
        capacity: |at| if ((at / 2.0) as u64).is_multiple_of(2) { 500_000.0 } else { 125_000.0 },
        others: |at| if at > 1.0 { 0.7 } else { 0.0 },
        drops: Drops::None,
        seconds: 10.0,
    },
    Case {
        name: "others fill the queue for a while and leave an empty link",
        capacity: |_| 250_000.0,
        others: |at| if (1.5..3.5).contains(&at) { 0.95 } else { 0.0 },
        drops: Drops::None,
        seconds: 9.0,
    },
    Case {
        name: "a policer drops packets above a rate",
        capacity: |_| 500_000.0,
        others: |_| 0.0,
        drops: Drops::Policer { rate: 150_000.0, bucket: 20_000.0 },
        seconds: 8.0,
    },
    Case {
        name: "each fifth packet is lost at any rate",
        capacity: |_| 500_000.0,
        others: |_| 0.0,
        drops: Drops::EachNth(5),
        seconds: 4.0,
    },
];

/// Branches of competitive mode that a case reached.
#[derive(Debug, Default)]
struct Reached {
    window: bool,
    pause: bool,
    end: bool,
    policer: bool,
}

/// Drives the rate over the link of a case. Each acknowledgement of one packet is one step.
fn steps(case: &Case, reached: &mut Reached) -> Vec<Value> {
    let mut rate = Rate::new(None);
    let mut under_way = VecDeque::<(u64, Arrived)>::new();
    let mut lost = VecDeque::<u64>::new();
    let (mut now, mut number, mut flight, mut free_at, mut steps) =
        (0_u64, 0_u64, 0_u64, 0.0_f64, Vec::new());
    let mut tokens = 0.0_f64;
    while (now as f64) < case.seconds * 1e6 {
        let at = |micros: u64| Time::from_micros(START_MICROS + micros);
        if let Some((_, arrived)) = under_way.pop_front_if(|(due, _)| *due <= now) {
            flight -= u64::from(PACKET_BYTES);
            rate.hold_back();
            let arrived = Arrived { next_number: number, ..arrived };
            rate.acknowledged(at(now), arrived);
            steps.push(json!({
                "now": now,
                "number": arrived.number,
                "next_number": number,
                "sent": arrived.sent.as_micros() - START_MICROS,
                "arrived": arrived.arrived,
                "rate": rate.bytes_per_second,
            }));
            while lost.pop_front_if(|number| *number < arrived.number).is_some() {
                flight -= u64::from(PACKET_BYTES);
                rate.lost(PACKET_BYTES);
                steps.push(json!({ "now": now, "lost": PACKET_BYTES }));
            }
            reached.window |= rate.competitive.is_some_and(|mode| mode.window_bytes().is_some());
            reached.pause |= rate.competitive.is_some_and(|mode| mode.pauses(at(now)));
            reached.end |= rate.ended.is_some();
            reached.policer |= rate.policer.allowed(at(now)).is_finite();
            continue;
        }
        let flight_max = rate.flight_bytes_max(
            std::time::Duration::from_micros(LEAST_MICROS),
            std::time::Duration::from_micros(LEAST_MICROS),
            false,
        );
        let has_room = flight < flight_max;
        if rate.next_at() <= at(now) && (has_room || rate.is_draining()) {
            let passing = f64::from(PACKET_BYTES) / (case.capacity)(now as f64 / 1e6) * 1e6;
            let is_dropped = match case.drops {
                Drops::None => false,
                Drops::EachNth(nth) => number.is_multiple_of(nth),
                Drops::Policer { .. } => tokens < f64::from(PACKET_BYTES),
            };
            if is_dropped || free_at.max(now as f64) + passing > now as f64 + QUEUE_MICROS_MAX {
                lost.push_back(number);
            } else {
                tokens -= f64::from(PACKET_BYTES);
                free_at = free_at.max(now as f64) + passing;
                let arrived = free_at as u64 + ONE_WAY_MICROS;
                under_way.push_back((
                    arrived + ONE_WAY_MICROS,
                    Arrived {
                        number,
                        next_number: 0,
                        sent: at(now),
                        arrived: arrived as i64,
                        packet_bytes: PACKET_BYTES,
                        bytes: PACKET_BYTES.into(),
                        busy_period: 0,
                        is_reliable: false,
                    },
                ));
            }
            number += 1;
            flight += u64::from(PACKET_BYTES);
            let has_room = flight
                < rate.flight_bytes_max(
                    std::time::Duration::from_micros(LEAST_MICROS),
                    std::time::Duration::from_micros(LEAST_MICROS),
                    false,
                );
            rate.spend(at(now), PACKET_BYTES as usize, has_room);
            steps.push(json!({ "now": now, "spent": PACKET_BYTES, "has_room": has_room }));
            continue;
        }
        now += TICK_MICROS;
        // If all packets in flight were dropped, no acknowledgement reveals the loss. A probe would.
        while under_way.is_empty() && lost.pop_front().is_some() {
            flight -= u64::from(PACKET_BYTES);
            rate.lost(PACKET_BYTES);
            steps.push(json!({ "now": now, "lost": PACKET_BYTES }));
        }
        if let Drops::Policer { rate, bucket } = case.drops {
            tokens = (tokens + rate * TICK_MICROS as f64 / 1e6).min(bucket);
        }
        if free_at < now as f64 + OTHERS_QUEUE_MICROS {
            free_at = free_at.max(now as f64) + (case.others)(now as f64 / 1e6) * TICK_MICROS as f64;
        }
    }
    steps
}

#[test]
fn the_rate_follows_acknowledgements_as_the_vectors_say() {
    let mut reached = Reached::default();
    let cases: Vec<Value> =
        CASES.iter().map(|case| json!({ "name": case.name, "steps": steps(case, &mut reached) })).collect();
    assert!(reached.window && reached.pause && reached.end && reached.policer, "{reached:?}");
    let last_rate = |case: &Value| {
        let steps = case["steps"].as_array().expect("steps");
        steps.iter().rev().find_map(|step| step["rate"].as_f64()).expect("a rate")
    };
    let [policed, lossy] = [&cases[5], &cases[6]].map(last_rate);
    assert!((110_000.0..200_000.0).contains(&policed) && lossy > 400_000.0, "{policed} and {lossy}");
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/session/rate.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        let lines: Vec<String> = cases
            .iter()
            .map(|case| {
                let steps: Vec<String> =
                    case["steps"].as_array().expect("steps").iter().map(Value::to_string).collect();
                format!("{{\"name\":{},\"steps\":[\n{}\n]}}", case["name"], steps.join(",\n"))
            })
            .collect();
        std::fs::write(&path, format!("[\n{}\n]\n", lines.join(",\n")))
            .expect("the directory can be written");
    }
    let found: Vec<Value> =
        serde_json::from_str(&std::fs::read_to_string(path).expect("the file of vectors can be read"))
            .expect("JSON");
    assert_eq!(found.len(), cases.len());
    for (found, case) in found.iter().zip(&cases) {
        let (found, steps) =
            (found["steps"].as_array().expect("steps"), case["steps"].as_array().expect("steps"));
        assert_eq!(found.len(), steps.len(), "{}", case["name"]);
        for (found, step) in found.iter().zip(steps) {
            let rate = |step: &Value| step["rate"].as_f64().unwrap_or(0.0);
            assert!((rate(found) - rate(step)).abs() <= 1e-6 * rate(step), "{found} {step}");
            assert_eq!(found["now"], step["now"]);
        }
    }
}
