//! Checks the session's guarantees about age, on shortened runs of `cargo xtask lab freshness --simulated`.

use std::time::Duration;

use nowcast_lab::freshness::workload::{Outcome, Queueing, Workload, measure, quantile};
use nowcast_sim::link::{Jitter, LinkConfig, Loss, Policer, Variation};

const INTERVAL_MS: f32 = 16.667;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn measured(link: LinkConfig) -> Outcome {
    measure(&Workload { link, duration: Duration::from_secs(8), ..Workload::default() })
}

#[test]
fn on_a_good_link_values_are_as_fresh_as_their_interval_allows() {
    let outcome = measured(LinkConfig { delay: ms(25), ..LinkConfig::default() });
    assert!(quantile(&outcome.ages, 0.99) <= 25.0 + INTERVAL_MS + 1.0);
    assert!(outcome.overhead_bytes_per_packet <= 12.0, "{}", outcome.overhead_bytes_per_packet);
}

#[test]
fn a_lost_packet_in_twenty_costs_events_a_few_intervals_not_a_round_trip() {
    let outcome = measured(LinkConfig { delay: ms(50), loss: Loss::Random(0.05), ..LinkConfig::default() });
    assert!(quantile(&outcome.ages, 0.999) <= 50.0 + 3.0 * INTERVAL_MS);
    assert!(quantile(&outcome.event_latencies, 0.999) <= 50.0 + 3.0 * INTERVAL_MS);
}

#[test]
fn packets_lost_in_bursts_are_not_taken_for_a_full_link() {
    let bursts = Loss::Bursts { share: 0.05, length: 3.0 };
    let link = LinkConfig { delay: ms(50), loss: bursts, ..LinkConfig::default() };
    let outcome = measure(&Workload { link, duration: Duration::from_secs(60), ..Workload::default() });
    assert!(quantile(&outcome.ages, 0.999) <= 50.0 + 6.0 * INTERVAL_MS, "{}", quantile(&outcome.ages, 0.999));
    assert!(quantile(&outcome.event_latencies, 0.999) <= 50.0 + 6.0 * INTERVAL_MS);
}

#[test]
fn after_an_outage_everything_is_current_at_once_and_nothing_is_replayed() {
    let outage = Duration::from_secs(4)..Duration::from_secs(6);
    let outcome = measured(LinkConfig { delay: ms(25), outages: vec![outage], ..LinkConfig::default() });
    assert!(outcome.current_after_outage[0] <= 25.0 + INTERVAL_MS, "{:?}", outcome.current_after_outage);
    assert!(outcome.events_after_outage[0] <= 100.0, "{:?}", outcome.events_after_outage);
    assert!(outcome.shown_of_outage_max <= 1);
}

#[test]
fn a_link_with_a_third_of_the_required_capacity_is_used_almost_fully_with_a_short_queue() {
    let narrow = LinkConfig {
        delay: ms(25),
        rate_bits: Some(1_000_000),
        queue_bytes: 64 * 1_024,
        ..LinkConfig::default()
    };
    let outcome = measured(narrow.clone());
    assert!(outcome.utilisation > 85.0, "{}", outcome.utilisation);
    assert!(quantile(&outcome.link_queue, 0.95) < 30.0, "{}", quantile(&outcome.link_queue, 0.95));
    let worst = outcome.age_p99_by_key.iter().copied().fold(0.0, f32::max);
    let round_robin = 100.0 * 68.0 * 8.0 / 1_000.0;
    assert!(worst <= 2.0 * (25.0 + round_robin + INTERVAL_MS), "a key starves: {worst} ms");
    assert!(quantile(&outcome.event_latencies, 0.95) <= 65.0);
    let lossy = LinkConfig { loss: Loss::Random(0.02), ..narrow };
    assert!(measured(lossy).utilisation > 80.0, "loss is not taken for congestion");
}

/// Runs for a minute over a narrow link that also loses packets.
fn narrow_and_lossy(rate_bits: u64, share: f64, seed: u64) -> Outcome {
    let link = LinkConfig {
        delay: ms(25),
        rate_bits: Some(rate_bits),
        queue_bytes: 64 * 1_024,
        loss: Loss::Random(share),
        ..LinkConfig::default()
    };
    measure(&Workload { link, seed, duration: Duration::from_secs(60), ..Workload::default() })
}

/// Regression test: the first packets after the handshake end an idle time. If one of them was lost, the rate fell to the
/// delivery rate of that time, and took seconds to recover.
#[test]
fn idle_time_is_not_taken_for_a_slow_link() {
    for (rate_bits, share, seed) in [(500_000, 0.01, 4), (500_000, 0.05, 6), (700_000, 0.02, 7)] {
        let outcome = narrow_and_lossy(rate_bits, share, seed);
        assert!(quantile(&outcome.ages, 1.0) < 1_000.0, "{}", quantile(&outcome.ages, 1.0));
    }
}

/// Regression test: rounds that still contained older packets counted against the rate that had just fallen. The session then
/// mistook its own queue for the queue of other senders.
#[test]
fn its_own_queue_is_not_taken_for_that_of_others() {
    for seed in [1, 3, 6] {
        let outcome = narrow_and_lossy(1_000_000, 0.01, seed);
        assert!(quantile(&outcome.link_queue, 0.99) < 60.0, "{}", quantile(&outcome.link_queue, 0.99));
        assert!(outcome.utilisation > 90.0, "{}", outcome.utilisation);
    }
}

/// Runs for 20 s over a link whose delay varies evenly between these two times.
fn jittery([least, most]: [u64; 2], overtakes: bool, loss: Loss, rate_bits: Option<u64>) -> Outcome {
    let jitter = Jitter::Uniform(ms(most - least));
    let link = LinkConfig { delay: ms(least), jitter, overtakes, loss, rate_bits, ..LinkConfig::default() };
    measure(&Workload { link, duration: Duration::from_secs(20), ..Workload::default() })
}

#[test]
fn jitter_is_not_taken_for_a_queue() {
    let each_way = Loss::Random(0.005);
    for (delays, loss) in [([20, 30], Loss::None), ([15, 35], Loss::None), ([20, 60], each_way)] {
        for overtakes in [false, true] {
            let outcome = jittery(delays, overtakes, loss, None);
            let (age, event) = (quantile(&outcome.ages, 0.99), quantile(&outcome.event_latencies, 0.99));
            let slowest = delays[1] as f32;
            let figures = format!("{delays:?} ms, overtaking {overtakes}: age {age} ms, events {event} ms");
            eprintln!("{figures}");
            assert!(age <= slowest + INTERVAL_MS && event <= slowest + 1.0, "{figures}");
        }
    }
}

#[test]
fn normal_jitter_and_spikes_cost_no_more_than_they_last() {
    for (jitter, slowest) in
        [(Jitter::Normal(ms(3)), 25.0 + 21.0), (Jitter::Spikes { per_10_000: 50 }, 25.0 + 60.0)]
    {
        for overtakes in [false, true] {
            let link = LinkConfig { delay: ms(25), jitter, overtakes, ..LinkConfig::default() };
            let outcome =
                measure(&Workload { link, duration: Duration::from_secs(20), ..Workload::default() });
            let age = quantile(&outcome.ages, 0.99);
            assert!(age <= slowest + INTERVAL_MS, "{jitter:?}, overtaking {overtakes}: {age} ms");
        }
    }
}

#[test]
fn a_queue_is_detected_on_a_link_with_jitter() {
    for overtakes in [false, true] {
        let outcome = jittery([20, 30], overtakes, Loss::None, Some(1_000_000));
        assert!(quantile(&outcome.link_queue, 0.95) < 40.0, "{}", quantile(&outcome.link_queue, 0.95));
        assert!(outcome.utilisation > 85.0, "{}", outcome.utilisation);
    }
}

#[test]
fn overtaken_packets_are_not_taken_for_lost_nor_sent_again() {
    let outcome = jittery([15, 35], true, Loss::None, None);
    let (missed, resent) = (outcome.packets_taken_for_lost, outcome.resent);
    assert!(missed * 200 < outcome.packets_sent, "{missed} of {}", outcome.packets_sent);
    assert!(resent < 20, "{resent} values and events");
}

/// Runs for 30 s behind a policer. Returns the 99th percentiles of age and of events in ms, and the mean age of the worst key,
/// relative to all keys.
fn policed(rate_bits: u64, bucket_bytes: usize, loss: Loss) -> [f32; 3] {
    let policer = Policer { rate_bits, variation: Variation::Constant, bucket_bytes };
    let link = LinkConfig { delay: ms(25), loss, policer: Some(policer), ..LinkConfig::default() };
    let outcome = measure(&Workload { link, duration: Duration::from_secs(30), ..Workload::default() });
    let figures =
        [quantile(&outcome.ages, 0.99), quantile(&outcome.event_latencies, 0.99), outcome.unfairness()];
    eprintln!("{rate_bits} bit/s, {bucket_bytes} bytes, {loss:?}: {figures:?}");
    figures
}

/// Regression test: behind a policer, the same packets of each burst were dropped, and the keys in them waited for 40 s.
#[test]
fn behind_a_policer_no_key_starves_and_all_keys_are_fresh() {
    let bounds = [
        (2_000_000, 20_000, Loss::None, 120.0),
        (2_000_000, 5_000, Loss::Random(0.05), 130.0),
        (3_000_000, 100_000, Loss::None, 120.0),
        (1_000_000, 100_000, Loss::None, 180.0),
        (300_000, 5_000, Loss::None, 400.0),
    ];
    for (rate_bits, bucket_bytes, loss, age_max) in bounds {
        let [age, event, unfairness] = policed(rate_bits, bucket_bytes, loss);
        assert!(age <= age_max && event <= 60.0 && unfairness <= 1.5);
    }
}

#[test]
fn random_loss_is_not_taken_for_a_policer() {
    for share in [0.05, 0.1, 0.2] {
        let link = LinkConfig { delay: ms(25), loss: Loss::Random(share), ..LinkConfig::default() };
        let outcome = measure(&Workload { link, duration: Duration::from_secs(30), ..Workload::default() });
        // The load is 3.3 Mbit/s.
        let sent_bits = outcome.session_bits / (1.0 - share);
        assert!(sent_bits > 3_200_000.0, "{share}: {sent_bits} bit/s");
        assert!(quantile(&outcome.ages, 0.99) < 80.0, "{share}: {}", quantile(&outcome.ages, 0.99));
    }
}

/// Regression test: two acknowledgements for each turn of the sender filled an uplink of this capacity. Events then took three
/// times as long.
#[test]
fn acknowledgements_do_not_crowd_a_narrow_uplink() {
    // The headers are those of QUIC, UDP and IP.
    let way =
        |bits| LinkConfig { delay: ms(25), rate_bits: Some(bits), header_bytes: 60, ..LinkConfig::default() };
    let outcome = measure(&Workload {
        link: way(10_000_000),
        back: Some(way(30_000)),
        duration: Duration::from_secs(30),
        ..Workload::default()
    });
    let (age, event) = (quantile(&outcome.ages, 0.99), quantile(&outcome.event_latencies, 0.99));
    assert!(age <= 90.0 && event <= 60.0, "age {age} ms, events {event} ms, {} acks", outcome.packets_back);
}

#[test]
fn without_the_laws_of_the_queue_a_narrow_link_is_filled_with_history() {
    let link = LinkConfig {
        delay: ms(25),
        rate_bits: Some(1_000_000),
        queue_bytes: 64 * 1_024,
        ..LinkConfig::default()
    };
    let workload =
        Workload { link, duration: Duration::from_secs(4), queueing: Queueing::Fifo, ..Workload::default() };
    assert!(quantile(&measure(&workload).ages, 0.5) > 1_000.0);
}
