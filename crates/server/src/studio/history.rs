//! Metrics of the last hour, in a ring.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value as Json, json};

/// Interval between two samples.
pub(super) const INTERVAL: Duration = Duration::from_secs(5);

/// Number of samples: one hour.
const SAMPLES_MAX: usize = 720;

/// The sampled metrics, as `/metrics` names them.
const SERIES: [&str; 18] = [
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_open_fds",
    "nowcast_clients",
    "nowcast_rooms",
    "nowcast_connections",
    "nowcast_bodies_awake",
    "nowcast_tick_seconds_sum",
    "nowcast_tick_seconds_count",
    "nowcast_tick_cpu_seconds_sum",
    "nowcast_snapshot_encode_seconds_sum",
    "nowcast_snapshots_superseded_total",
    "nowcast_steps_skipped_total",
    "nowcast_bytes_total{direction=\"in\"}",
    "nowcast_bytes_total{direction=\"out\"}",
    "nowcast_messages_total{direction=\"in\"}",
    "nowcast_messages_total{direction=\"out\"}",
    "nowcast_log_lines_dropped_total",
];

/// The memory of a full history is far below the limit of all histories.
const _: () = assert!(SAMPLES_MAX * size_of::<Sample>() < 1 << 20);

struct Sample {
    time_ms: u64,
    /// The values of [`SERIES`]. NaN stands for a metric that the page does not have.
    values: [f64; SERIES.len()],
}

/// The samples of the last hour.
#[derive(Default)]
pub(super) struct MetricsHistory(Mutex<VecDeque<Sample>>);

impl MetricsHistory {
    /// Adds a sample of a page of `/metrics`.
    pub(super) fn sample(&self, time_ms: u64, page: &str) {
        let mut values = [f64::NAN; SERIES.len()];
        for line in page.lines() {
            let Some((name, value)) = line.rsplit_once(' ') else { continue };
            if let Some(index) = SERIES.iter().position(|known| *known == name) {
                values[index] = value.parse().unwrap_or(f64::NAN);
            }
        }
        let mut samples = self.0.lock();
        if samples.len() >= SAMPLES_MAX {
            samples.pop_front();
        }
        samples.push_back(Sample { time_ms, values });
    }

    pub(super) fn to_json(&self) -> Json {
        let samples = self.0.lock();
        let times: Vec<u64> = samples.iter().map(|sample| sample.time_ms).collect();
        let series = SERIES.iter().enumerate().map(|(index, name)| {
            let values: Vec<Option<f64>> = samples
                .iter()
                .map(|sample| Some(sample.values[index]).filter(|value| value.is_finite()))
                .collect();
            json!({ "name": name, "values": values })
        });
        let series: Vec<Json> = series.collect();
        json!({ "intervalMs": INTERVAL.as_millis() as u64, "times": times, "series": series })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_hour_of_samples_is_kept() {
        let history = MetricsHistory::default();
        for time in 0..SAMPLES_MAX as u64 + 10 {
            history.sample(time, &format!("# HELP nowcast_rooms\nnowcast_rooms {time}\nnowcast_rooms_x 7\n"));
        }
        let json = history.to_json();
        assert_eq!(json["times"].as_array().unwrap().len(), SAMPLES_MAX);
        let rooms =
            json["series"].as_array().unwrap().iter().find(|series| series["name"] == "nowcast_rooms");
        let values = rooms.unwrap()["values"].as_array().unwrap();
        assert_eq!((values[0].as_f64(), values.len()), (Some(10.0), SAMPLES_MAX));
        let clients = &json["series"][3];
        assert_eq!(clients["values"][0], Json::Null, "the page had no such metric");
    }
}
