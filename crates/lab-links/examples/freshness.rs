//! `cargo run --release -p nowcast-lab-links --example freshness` prints the figures as raw numbers.
use nowcast_lab_links::freshness::tcp::Control;
use nowcast_lab_links::freshness::workload::{Outcome, Queueing, Workload, measure, quantile};
use nowcast_sim::link::{Jitter, LinkConfig, Loss};
use std::time::Duration;

fn show(name: &str, o: &Outcome) {
    let q = |v: &[f32]| {
        format!(
            "{:.1}/{:.1}/{:.1}/{:.1}",
            quantile(v, 0.5),
            quantile(v, 0.99),
            quantile(v, 0.999),
            quantile(v, 1.0)
        )
    };
    let worst = o.age_p99_by_key.iter().copied().fold(0.0f32, f32::max);
    println!(
        "{name:18} age {} worst key p99 {worst:.1} | event {} ({}/{}) | overhead {:.1} | util {:.1} queue p95 {:.1} max {:.1} | lost {}/{}, taken for lost {}, resent {} | outage {:?} {:?} {}",
        q(&o.ages),
        q(&o.event_latencies),
        o.event_latencies.len(),
        o.events_put,
        o.overhead_bytes_per_packet,
        o.utilisation,
        quantile(&o.link_queue, 0.95),
        quantile(&o.link_queue, 1.0),
        o.packets_lost,
        o.packets_sent,
        o.packets_taken_for_lost,
        o.resent,
        o.current_after_outage,
        o.events_after_outage,
        o.shown_of_outage_max
    );
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The names of the cases, and their links.
fn cases() -> Vec<(&'static str, LinkConfig)> {
    let link = |delay, loss| LinkConfig { delay: ms(delay), loss, ..LinkConfig::default() };
    let jitter = |delay, jitter, overtakes| LinkConfig { jitter, overtakes, ..link(delay, Loss::None) };
    let narrow = |rate_bits, queue_bytes| LinkConfig {
        rate_bits: Some(rate_bits),
        queue_bytes,
        ..link(25, Loss::None)
    };
    let outages = vec![ms(20_000)..ms(22_000), ms(40_005)..ms(42_005)];
    let spikes = Jitter::Spikes { per_10_000: 50 };
    let lossy = |config| LinkConfig { loss: Loss::Random(0.005), ..config };
    vec![
        ("clean", link(25, Loss::None)),
        ("100-5", link(50, Loss::Random(0.05))),
        ("100-5-bursts", link(50, Loss::Bursts { share: 0.05, length: 3.0 })),
        ("outage", LinkConfig { outages, ..link(25, Loss::None) }),
        ("narrow", narrow(1_000_000, 65_536)),
        ("narrow-2mbit", narrow(2_000_000, 65_536)),
        ("narrow-3mbit", narrow(3_000_000, 65_536)),
        ("narrow-jitter", LinkConfig { jitter: Jitter::Uniform(ms(10)), ..narrow(1_000_000, 65_536) }),
        ("jitter-5", jitter(20, Jitter::Uniform(ms(10)), false)),
        ("jitter-5-over", jitter(20, Jitter::Uniform(ms(10)), true)),
        ("jitter-10", jitter(15, Jitter::Uniform(ms(20)), false)),
        ("jitter-10-over", jitter(15, Jitter::Uniform(ms(20)), true)),
        ("jitter-20", lossy(jitter(20, Jitter::Uniform(ms(40)), false))),
        ("jitter-20-over", lossy(jitter(20, Jitter::Uniform(ms(40)), true))),
        ("jitter-20-half", lossy(jitter(40, Jitter::Uniform(ms(20)), false))),
        ("normal-3", jitter(25, Jitter::Normal(ms(3)), false)),
        ("normal-3-over", jitter(25, Jitter::Normal(ms(3)), true)),
        ("spikes", jitter(25, spikes, false)),
        ("spikes-over", jitter(25, spikes, true)),
    ]
}

/// Arguments: the seed, then the names of cases. Without names, all cases run.
fn main() {
    let mut arguments = std::env::args().skip(1);
    let seed = arguments.next().map_or(1, |seed| seed.parse().expect("a number"));
    let wanted: Vec<String> = arguments.collect();
    let queueing = if wanted.iter().any(|word| word == "fifo") { Queueing::Fifo } else { Queueing::TwoLanes };
    for (word, link) in cases() {
        if wanted.is_empty() || wanted.iter().any(|other| other == word) {
            show(word, &measure(&Workload { link, seed, queueing, ..Workload::default() }));
        }
    }
    for control in [Control::Reno, Control::Cubic] {
        for (rate_bits, queue_bytes) in [(2, 64), (5, 128), (10, 32), (10, 64), (10, 128)] {
            let word = format!("beside-{control:?}-{rate_bits}-{queue_bytes}").to_lowercase();
            if !wanted.is_empty() && !wanted.contains(&word) {
                continue;
            }
            let rate_bits = rate_bits * 1_000_000;
            let link = LinkConfig {
                delay: ms(25),
                rate_bits: Some(rate_bits),
                queue_bytes: queue_bytes * 1_000,
                ..LinkConfig::default()
            };
            let beside = Some((control, Duration::MAX));
            // 64 bytes are the load of the lab. 500 bytes are a load of which each of these links can carry only half.
            for value_bytes in [64, 500] {
                let outcome = measure(&Workload {
                    link: link.clone(),
                    seed,
                    value_bytes,
                    beside,
                    duration: ms(40_000),
                    ..Workload::default()
                });
                show(&format!("{word} {value_bytes}"), &outcome);
                let share = |bits: f64| bits * 100.0 / rate_bits as f64;
                println!(
                    "{:18} {:.1} %, TCP {:.1} %",
                    "",
                    share(outcome.session_bits),
                    share(outcome.tcp_bits)
                );
            }
        }
    }
}
