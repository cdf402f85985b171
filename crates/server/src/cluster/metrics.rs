//! The metrics of a server's part in its cluster (`docs/reference/metrics.md`).

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

/// Upper bounds of the times for which a moving room stands still, in seconds.
const FREEZE_BUCKETS: [f64; 11] = [0.005, 0.01, 0.02, 0.034, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 5.0];

/// The counters of a server in a cluster.
pub(crate) struct ClusterMetrics {
    moves: Family<Outcome, Counter>,
    move_freeze_seconds: Histogram,
    /// Rooms that this server took, each with a new epoch.
    pub(super) epochs: Counter,
    refused: Family<Reason, Counter>,
    events: Family<Outcome, Counter>,
    commands: Family<Outcome, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

impl Default for ClusterMetrics {
    fn default() -> Self {
        Self {
            moves: Family::default(),
            move_freeze_seconds: Histogram::new(FREEZE_BUCKETS),
            epochs: Counter::default(),
            refused: Family::default(),
            events: Family::default(),
            commands: Family::default(),
        }
    }
}

impl ClusterMetrics {
    /// Adds the metrics to a page.
    pub(crate) fn register(&self, registry: &mut Registry) {
        let own = registry.sub_registry_with_prefix("nowcast_cluster");
        own.register("moves", "Rooms that this server gave to another one", self.moves.clone());
        let help = "Time for which a room that moved stood still";
        own.register("move_freeze_seconds", help, self.move_freeze_seconds.clone());
        own.register("epochs", "Rooms that this server took, each with a new epoch", self.epochs.clone());
        own.register("refused", "Rooms that this server did not take", self.refused.clone());
        let help = "Events of rooms that were published, or dropped because too many waited";
        own.register("events", help, self.events.clone());
        let help = "Commands to rooms by subjects that were carried out, or refused by the code of the error";
        own.register("commands", help, self.commands.clone());
    }

    /// Counts a room that moved, with the time for which it stood still.
    pub(super) fn moved(&self, freeze: Duration) {
        self.moves.get_or_create(&Outcome { outcome: "moved" }).inc();
        self.move_freeze_seconds.observe(freeze.as_secs_f64());
    }

    /// Counts a room that did not move.
    pub(super) fn stayed(&self) {
        self.moves.get_or_create(&Outcome { outcome: "stayed" }).inc();
    }

    /// Counts an event that was queued for NATS, or dropped.
    pub(super) fn published(&self, is_queued: bool) {
        let outcome = if is_queued { "published" } else { "dropped" };
        self.events.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a command to a room by its subject: `done`, or the code of its error.
    pub(super) fn commanded(&self, outcome: &'static str) {
        self.commands.get_or_create(&Outcome { outcome }).inc();
    }

    /// Counts a room that this server did not take.
    pub(super) fn refuse(&self, reason: &'static str) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn the_page_has_moves_freezes_epochs_refusals_events_and_commands() {
        let (metrics, mut registry) = (ClusterMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        metrics.moved(Duration::from_millis(20));
        metrics.stayed();
        metrics.epochs.inc();
        metrics.refuse("elsewhere");
        metrics.published(true);
        metrics.published(false);
        metrics.commanded("done");
        let mut page = String::new();
        encode(&mut page, &registry).expect("writing to memory does not fail");
        for line in [
            "nowcast_cluster_moves_total{outcome=\"moved\"} 1",
            "nowcast_cluster_moves_total{outcome=\"stayed\"} 1",
            "nowcast_cluster_move_freeze_seconds_bucket{le=\"0.02\"} 1",
            "nowcast_cluster_epochs_total 1",
            "nowcast_cluster_refused_total{reason=\"elsewhere\"} 1",
            "nowcast_cluster_events_total{outcome=\"published\"} 1",
            "nowcast_cluster_events_total{outcome=\"dropped\"} 1",
            "nowcast_cluster_commands_total{outcome=\"done\"} 1",
        ] {
            assert!(page.contains(line), "{line} in {page}");
        }
    }
}
