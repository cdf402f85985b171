//! Links whose capacity changes. A sender must not mistake its own queue for that of a competitor, and must not starve beside a
//! competitor.

mod seeds;

use std::time::Duration;

use nowcast_lab::freshness::tcp::Control;
use nowcast_lab::freshness::workload::{Outcome, Workload, measure, quantile};
use nowcast_sim::link::{Jitter, LinkConfig, Loss, Variation};
use seeds::seeds;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn over(link: LinkConfig, seed: u64) -> Outcome {
    measure(&Workload { link, seed, duration: ms(40_000), ..Workload::default() })
}

fn unsteady(variation: Variation) -> LinkConfig {
    LinkConfig {
        delay: ms(19),
        jitter: Jitter::Uniform(ms(12)),
        loss: Loss::Random(0.000_5),
        rate_bits: Some(4_000_000),
        queue_bytes: 250_000,
        variation,
        ..LinkConfig::default()
    }
}

/// Checks the 99th percentiles of age and of events in ms, and the used share of the link in percent.
fn check(what: &str, outcome: &Outcome, [age_max, event_max]: [f32; 2], used_min: f64) {
    let (age, event) = (quantile(&outcome.ages, 0.99), quantile(&outcome.event_latencies, 0.99));
    let figures = format!("{what}: age {age:.0} ms, events {event:.0} ms, {:.1} % used", outcome.utilisation);
    eprintln!("{figures}");
    assert!(age <= age_max && event <= event_max && outcome.utilisation >= used_min, "{figures}");
}

/// The load is 3.3 Mbit/s, so at most 86 % of the link can be used.
#[test]
fn capacity_that_falls_to_a_quarter_by_turns_is_not_taken_for_a_competitor() {
    let square = Variation::Square { low_bits: 1_000_000, high: ms(3_000), low: ms(3_000) };
    for seed in seeds(1..=3) {
        check("square", &over(unsteady(square), seed), [300.0, 250.0], 77.0);
    }
}

#[test]
fn capacity_that_falls_for_long_is_found_within_a_round_trip() {
    let fall = Variation::Square { low_bits: 1_500_000, high: ms(15_000), low: ms(15_000) };
    let link =
        LinkConfig { delay: ms(25), rate_bits: Some(6_000_000), queue_bytes: 200_000, ..unsteady(fall) };
    let link = LinkConfig { jitter: Jitter::None, loss: Loss::None, ..link };
    check("fall", &over(link, 1), [250.0, 220.0], 55.0);
}

#[test]
fn capacity_that_rises_and_falls_is_followed() {
    let sawtooth = Variation::Sawtooth { low_bits: 1_000_000, period: ms(4_000) };
    let walk = Variation::Walk { low_bits: 500_000, every: ms(200) };
    for seed in seeds(1..=2) {
        check("sawtooth", &over(unsteady(sawtooth), seed), [300.0, 250.0], 85.0);
        check("walk", &over(unsteady(walk), seed), [300.0, 200.0], 75.0);
    }
}

/// A competitive mode with a rate instead of a window got only 1 to 23 % of a link whose capacity periodically falls to a
/// quarter.
#[test]
fn beside_cubic_on_a_changing_link_the_session_has_a_fifth_of_the_capacity() {
    let square = Variation::Square { low_bits: 1_000_000, high: ms(3_000), low: ms(3_000) };
    let sawtooth = Variation::Sawtooth { low_bits: 1_000_000, period: ms(4_000) };
    let walk = Variation::Walk { low_bits: 500_000, every: ms(200) };
    // A queue of 250 KB alone takes 2 s at 1 Mbit/s, and 4 s at 0.5 Mbit/s.
    for (name, variation, age_max) in
        [("square", square, 3_200.0), ("sawtooth", sawtooth, 1_700.0), ("walk", walk, 4_500.0)]
    {
        for seed in seeds(31..=33) {
            let outcome = measure(&Workload {
                link: unsteady(variation),
                seed,
                duration: ms(40_000),
                beside: Some((Control::Cubic, Duration::MAX)),
                ..Workload::default()
            });
            let share = outcome.session_bits * 100.0 / outcome.capacity_bits;
            let age = quantile(&outcome.ages, 0.99);
            let figures = format!("{name}, seed {seed}: {share:.0} % of the capacity, age p99 {age:.0} ms");
            eprintln!("{figures}");
            assert!(share >= 20.0 && age <= age_max, "{figures}");
        }
    }
}
