//! The metrics of rooms on `/metrics`. The names are part of the interface; `docs/reference/metrics.md` lists them.

use std::sync::Arc;
use std::time::Duration;

use nowcast_world_protocol::session::Outcome;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use crate::room_metrics::{OpenRooms, RoomMetrics, TICK_BOUNDS};

/// Bounds of the encode histogram in seconds.
const ENCODE_BOUNDS: [f64; 12] =
    [0.000_005, 0.000_01, 0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05];

/// The counters of all rooms together.
pub struct Metrics {
    pub(crate) tick_seconds: Histogram,
    pub(crate) tick_cpu_seconds: Histogram,
    pub(crate) steps_skipped: Counter,
    encode_seconds: Histogram,
    pub(crate) clients: Gauge,
    pub(crate) rooms: Gauge,
    /// Ended rooms whose threads still run.
    pub(crate) rooms_abandoned: Gauge,
    /// Upper bound for the memory of these ended rooms' scripts and values.
    pub(crate) rooms_abandoned_bytes_max: Gauge,
    pub(crate) bodies_awake: Gauge,
    pub(crate) snapshots_superseded: Counter,
    /// Lines of chat dropped for a client that had not read the earlier ones.
    pub lines_missed: Counter,
    /// Memory of the messages that wait for clients on sessions, besides the pictures of their worlds, in bytes.
    pub unread_bytes: Gauge,
    pub(crate) players_resumed: Counter,
    durable: Family<Outcomes, Counter>,
    turns: Family<Outcomes, Counter>,
    /// Entities that entered the interest set of a client on a session.
    pub interest_entered: Counter,
    /// Entities that left the interest set of a client on a session.
    pub interest_left: Counter,
    /// The open rooms, each with its own metrics.
    open_rooms: OpenRooms,
    rooms_ended: Family<Reason, Counter>,
    rules: Family<Outcomes, Counter>,
    dropped: Family<Reason, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcomes {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

impl Metrics {
    /// Creates all counters at 0, and registers them.
    #[must_use]
    pub fn new(registry: &mut Registry) -> Self {
        let open_rooms = OpenRooms::default();
        registry.register_collector(Box::new(open_rooms.clone()));
        let own = registry.sub_registry_with_prefix("nowcast");
        let tick_seconds = Histogram::new(TICK_BOUNDS);
        own.register("tick_seconds", "Time that one tick of one room takes", tick_seconds.clone());
        let tick_cpu_seconds = Histogram::new(TICK_BOUNDS);
        own.register(
            "tick_cpu_seconds",
            "Processor time that one tick of one room takes, without waiting for a processor",
            tick_cpu_seconds.clone(),
        );
        let encode_seconds = Histogram::new(ENCODE_BOUNDS);
        own.register(
            "snapshot_encode_seconds",
            "Time to encode one snapshot for one group of clients, or to publish one for sessions",
            encode_seconds.clone(),
        );
        Self {
            tick_seconds,
            tick_cpu_seconds,
            encode_seconds,
            steps_skipped: register_metric(
                own,
                "steps_skipped",
                "Steps left out because a room could not keep up",
            ),
            clients: register_metric(own, "clients", "Clients in a room"),
            rooms: register_metric(own, "rooms", "Rooms that are open"),
            rooms_abandoned: register_metric(own, "rooms_abandoned", "Ended rooms whose threads still run"),
            rooms_abandoned_bytes_max: register_metric(
                own,
                "rooms_abandoned_bytes_max",
                "Upper bound of the memory of the scripts and values of these rooms",
            ),
            bodies_awake: register_metric(own, "bodies_awake", "Bodies that physics moves, over all rooms"),
            snapshots_superseded: register_metric(
                own,
                "snapshots_superseded",
                "Snapshots that were replaced by a newer one before the client's socket had room",
            ),
            lines_missed: register_metric(
                own,
                "chat_lines_missed",
                "Lines of chat dropped for a client that had not read the earlier ones; the client is sent their number",
            ),
            unread_bytes: register_metric(
                own,
                "session_unread_bytes",
                "Memory of the messages that wait for clients on sessions, besides the pictures of their worlds, in bytes",
            ),
            players_resumed: register_metric(
                own,
                "players_resumed",
                "Clients that reconnected to their player",
            ),
            durable: register_metric(
                own,
                "durable_actions",
                "Numbered actions of clients, which happen exactly once",
            ),
            turns: register_metric(
                own,
                "prediction",
                "Steps of walkers that ran differently from the client's prediction, and views that were too old",
            ),
            interest_entered: register_metric(
                own,
                "interest_entered",
                "Entities that came near a client on a session, counted for each client",
            ),
            interest_left: register_metric(
                own,
                "interest_left",
                "Entities that a client on a session no longer receives because they are far away, counted for each client",
            ),
            rooms_ended: register_metric(own, "rooms_ended", "Rooms that ended"),
            rules: register_metric(
                own,
                "rules",
                "Outcomes of versions of worlds' rules, and errors that they raised",
            ),
            dropped: register_metric(own, "messages_dropped", "Messages from clients that were dropped"),
            open_rooms,
        }
    }

    /// Creates counters that no page shows.
    #[cfg(test)]
    pub(crate) fn unregistered() -> Self {
        Self::new(&mut Registry::default())
    }

    /// The number of rooms that ended for a reason.
    #[cfg(test)]
    pub(crate) fn ended(&self, reason: &'static str) -> u64 {
        self.rooms_ended.get_or_create(&Reason { reason }).get()
    }

    /// Creates the metrics of a new room. They are shown until the last handle is dropped.
    pub(crate) fn open_room(&self, room: &str, world: &str) -> Arc<RoomMetrics> {
        self.open_rooms.open(room, world)
    }

    /// Counts the end of a room.
    pub(crate) fn end_room(&self, reason: &'static str) {
        self.rooms_ended.get_or_create(&Reason { reason }).inc();
    }

    /// Counts the outcome of a version of a world's rules.
    pub(crate) fn report_rules(&self, outcome: Outcome) {
        let outcome = match outcome {
            Outcome::Runs => "runs",
            Outcome::Refused => "refused",
            Outcome::RolledBack => "rolled_back",
            Outcome::Failed => "failed",
            Outcome::Printed => "printed",
        };
        self.rules.get_or_create(&Outcomes { outcome }).inc();
    }

    /// Counts lines that rules printed and that no client received, because there were too many lines.
    pub(crate) fn drop_printed(&self, lines: u64) {
        self.rules.get_or_create(&Outcomes { outcome: "printed_dropped" }).inc_by(lines);
    }

    /// Counts errors of rules that were not reported, because there were too many errors.
    pub(crate) fn drop_failures(&self, errors: u64) {
        self.rules.get_or_create(&Outcomes { outcome: "failed_dropped" }).inc_by(errors);
    }

    /// Counts the outcome of a numbered action.
    pub(crate) fn count_durable(&self, outcome: &'static str) {
        self.durable.get_or_create(&Outcomes { outcome }).inc();
    }

    /// Counts an irregular step: a step in which a walker did not take its client's next step, or a step whose view is older than
    /// the kept history.
    pub(crate) fn count_turn(&self, outcome: &'static str) {
        self.turns.get_or_create(&Outcomes { outcome }).inc();
    }

    /// Counts a client's message that has no effect.
    pub fn drop_message(&self, reason: &'static str) {
        self.dropped.get_or_create(&Reason { reason }).inc();
    }

    /// Records the time of an encoding.
    pub fn observe_encode(&self, took: Duration) {
        self.encode_seconds.observe(took.as_secs_f64());
    }
}

/// Creates a metric with the value 0, and registers it.
pub fn register_metric<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}
