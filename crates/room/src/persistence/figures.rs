//! Metrics of the store on `/metrics`.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::PersistenceThread;

/// Reads the store's counters when `/metrics` is requested.
pub struct StoreFigures(pub Arc<PersistenceThread>);

impl Collector for StoreFigures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(stats) = self.0.stats() else { return Ok(()) };
        for (name, help, count) in [
            ("nowcast_store_commits", "Transactions of the store", stats.commits),
            (
                "nowcast_store_commits_failed",
                "Transactions that failed and are tried again",
                stats.commits_failed,
            ),
            ("nowcast_store_batches", "Batches of worlds' journals that were stored", stats.batches),
            ("nowcast_store_batch_bytes", "Their bytes", stats.batch_bytes),
            ("nowcast_store_snapshots", "Snapshots of worlds that were stored", stats.snapshots),
            ("nowcast_store_snapshot_bytes", "Their bytes", stats.snapshot_bytes),
            (
                "nowcast_store_batches_dropped",
                "Batches that could not be stored: their worlds continue with a snapshot",
                stats.batches_dropped,
            ),
            (
                "nowcast_store_snapshots_dropped",
                "Snapshots that could not be stored",
                stats.snapshots_dropped,
            ),
            (
                "nowcast_store_marks_dropped",
                "Used tokens that could not be stored: they are valid again in the next process",
                stats.marks_dropped,
            ),
        ] {
            let counter = ConstCounter::new(count);
            counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)?;
        }
        let queued = ConstGauge::new(i64::try_from(stats.queued_bytes).unwrap_or(i64::MAX));
        let help = "Bytes that wait for the disk";
        queued.encode(encoder.encode_descriptor(
            "nowcast_store_queued_bytes",
            help,
            None,
            queued.metric_type(),
        )?)?;
        let slowest = ConstGauge::new(stats.commit_max.as_secs_f64());
        let help = "The longest transaction so far";
        slowest.encode(encoder.encode_descriptor(
            "nowcast_store_commit_seconds_max",
            help,
            None,
            slowest.metric_type(),
        )?)
    }
}

impl fmt::Debug for StoreFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreFigures").finish_non_exhaustive()
    }
}
