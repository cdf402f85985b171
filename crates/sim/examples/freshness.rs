//! `cargo run --release -p nowcast-sim --example freshness`: the figures as raw numbers.
use nowcast_sim::freshness::{Outcome, Queueing, Workload, measure, quantile};
use nowcast_sim::link::{LinkConfig, Loss};
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
        "{name:18} age {} worst key p99 {worst:.1} | event {} ({}/{}) | overhead {:.1} | util {:.1} queue p95 {:.1} max {:.1} | lost {}/{} | outage {:?} {:?} {}",
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
        o.current_after_outage,
        o.events_after_outage,
        o.shown_of_outage_max
    );
}

fn main() {
    let seed = std::env::args().nth(1).map_or(1, |s| s.parse().unwrap());
    let ms = Duration::from_millis;
    let link = |delay, loss| LinkConfig { delay: ms(delay), loss, ..LinkConfig::default() };
    let base = Workload { seed, ..Workload::default() };
    let run = |name: &str, link: LinkConfig| {
        for (q, queueing) in
            [("", Queueing::TwoLanes), (" one lane", Queueing::OneLane), (" fifo", Queueing::Fifo)]
        {
            if q == " fifo" && std::env::args().nth(2).is_none() {
                continue;
            }
            show(&format!("{name}{q}"), &measure(&Workload { link: link.clone(), queueing, ..base.clone() }));
        }
    };
    run("no loss 50", link(25, Loss::None));
    run("5% random 100", link(50, Loss::Random(0.05)));
    run("5% bursts 100", link(50, Loss::Bursts { share: 0.05, length: 3.0 }));
    let outage = vec![
        Duration::from_secs(20)..Duration::from_secs(22),
        Duration::from_millis(40_005)..Duration::from_millis(42_005),
    ];
    run("outage 50", LinkConfig { outages: outage, ..link(25, Loss::None) });
    run("narrow 50", LinkConfig { rate_bits: Some(1_000_000), queue_bytes: 65_536, ..link(25, Loss::None) });
}
