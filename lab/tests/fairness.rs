//! Measures the shares of a session and of TCP on a common link.

mod seeds;

use std::time::Duration;

use nowcast_lab::freshness::tcp::Control;
use nowcast_lab::freshness::workload::{Outcome, Workload, measure, quantile};
use nowcast_sim::link::LinkConfig;
use seeds::seeds;

/// Offers 24 Mbit/s to a narrower link with a round trip of 50 ms, in competition with TCP up to `until`.
fn beside(control: Control, rate_bits: u64, queue_bytes: usize, until: Duration) -> Outcome {
    let link = LinkConfig {
        delay: Duration::from_millis(25),
        rate_bits: Some(rate_bits),
        queue_bytes,
        ..LinkConfig::default()
    };
    measure(&Workload {
        link,
        duration: Duration::from_secs(40),
        value_bytes: 500,
        beside: Some((control, until)),
        ..Workload::default()
    })
}

#[test]
fn a_session_and_tcp_both_get_a_usable_share() {
    for control in [Control::Reno, Control::Cubic] {
        for (rate, queue) in [(2_000_000, 64_000), (10_000_000, 32_000), (10_000_000, 128_000)] {
            let outcome = beside(control, rate, queue, Duration::MAX);
            let share = |bits: f64| bits * 100.0 / rate as f64;
            let (session, tcp) = (share(outcome.session_bits), share(outcome.tcp_bits));
            let figures =
                format!("{control:?}, {rate} bit/s, {queue} bytes: {session:.0} % and {tcp:.0} % for TCP");
            eprintln!("{figures}");
            assert!(session > 20.0 && tcp > 30.0, "{figures}");
        }
    }
}

/// Regression test: the rate fell five times before the queue was attributed to others. Behind a long queue, five falls took
/// seconds, and then the rate was almost zero.
#[test]
fn behind_a_long_queue_of_others_the_rate_neither_starves_nor_takes_all() {
    for seed in seeds(1..=4) {
        let link = LinkConfig {
            delay: Duration::from_millis(25),
            rate_bits: Some(5_000_000),
            queue_bytes: 128_000,
            ..LinkConfig::default()
        };
        let beside = Some((Control::Cubic, Duration::MAX));
        let workload =
            Workload { link, seed, beside, duration: Duration::from_secs(40), ..Workload::default() };
        let outcome = measure(&workload);
        let (share, age) = (outcome.session_bits / 50_000.0, quantile(&outcome.ages, 0.99));
        let figures = format!("seed {seed}: {share:.0} % of the link, age p99 {age:.0} ms");
        eprintln!("{figures}");
        assert!((30.0..=55.0).contains(&share) && age <= 490.0, "{figures}");
    }
}

#[test]
fn after_tcp_ends_the_link_is_used_and_its_queue_is_short_again() {
    let outcome = beside(Control::Cubic, 10_000_000, 128_000, Duration::from_secs(12));
    assert!(outcome.session_bits > 7_500_000.0, "{}", outcome.session_bits);
    assert!(quantile(&outcome.link_queue, 0.6) < 20.0, "{}", quantile(&outcome.link_queue, 0.6));
}
