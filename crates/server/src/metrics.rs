//! The metrics on `/metrics`. The names are part of the interface; `docs/SERVER.md` lists them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use nowcast_world_protocol::session::Outcome;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::logs::LogWriter;
use crate::persistence::StoreFigures;
use crate::process;
use crate::room_metrics::{OpenRooms, RoomMetrics, TICK_BOUNDS};

/// The content type of [`Metrics::render`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Bounds of the encode histogram in seconds.
const ENCODE_BOUNDS: [f64; 12] =
    [0.000_005, 0.000_01, 0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.05];

/// Every counter of a server.
pub(crate) struct Metrics {
    pub(crate) tick_seconds: Histogram,
    pub(crate) tick_cpu_seconds: Histogram,
    pub(crate) steps_skipped: Counter,
    pub(crate) encode_seconds: Histogram,
    pub(crate) clients: Gauge,
    pub(crate) rooms: Gauge,
    /// Ended rooms whose threads still run.
    pub(crate) rooms_abandoned: Gauge,
    /// Upper bound of the memory of their scripts and values.
    pub(crate) rooms_abandoned_bytes_max: Gauge,
    pub(crate) connections: Gauge,
    pub(crate) bodies_awake: Gauge,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
    pub(crate) messages_received: Counter,
    pub(crate) messages_sent: Counter,
    pub(crate) snapshots_superseded: Counter,
    pub(crate) lines_missed: Counter,
    pub(crate) players_resumed: Counter,
    durable: Family<Outcomes, Counter>,
    turns: Family<Outcomes, Counter>,
    /// Entities that entered the interest set of a client that looked about, and that left it.
    pub(crate) sight_entered: Counter,
    pub(crate) sight_left: Counter,
    /// Carriers of sessions that sent more bytes than a session can use.
    pub(crate) flooded: Counter,
    /// The open rooms, each with its own metrics.
    open_rooms: OpenRooms,
    rooms_ended: Family<Reason, Counter>,
    rules: Family<Outcomes, Counter>,
    dropped: Family<Reason, Counter>,
    closed: Family<Close, Counter>,
    refused: Family<Reason, Counter>,
    resident_bytes: Gauge,
    open_files: Gauge,
    cpu_seconds: Counter<f64, AtomicU64>,
    registry: Registry,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcomes {
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

/// From clients to the server.
const IN: Direction = Direction { direction: "in" };

/// From the server to clients.
const OUT: Direction = Direction { direction: "out" };

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Close {
    code: u16,
    reason: &'static str,
}

impl Metrics {
    /// Creates all counters at 0. `logs` is the program's log writer, if its metrics are shown.
    pub(crate) fn new(logs: Option<&LogWriter>) -> Self {
        let mut registry = Registry::default();
        let process = registry.sub_registry_with_prefix("process");
        let resident_bytes = gauge(process, "resident_memory_bytes", "Memory that this process has in RAM");
        let open_files = gauge(process, "open_fds", "Files and sockets that this process has open");
        let cpu_seconds = Counter::default();
        process.register("cpu_seconds", "Processor time that this process has used", cpu_seconds.clone());

        let open_rooms = OpenRooms::default();
        registry.register_collector(Box::new(open_rooms.clone()));
        let own = registry.sub_registry_with_prefix("nowcast");
        if let Some(logs) = logs {
            let help = "Lines of logs that were not written: their output was full, broken or not read";
            own.register("log_lines_dropped", help, logs.counter());
        }
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
            "Time to encode one snapshot for one group of clients, or to take one down for sessions",
            encode_seconds.clone(),
        );
        let bytes: Family<Direction, Counter> = family(own, "bytes", "Bytes on TCP connections");
        let messages: Family<Direction, Counter> = family(own, "messages", "Messages of the plain protocol");
        let refused: Family<Reason, Counter> =
            family(own, "connections_refused", "Connections and joins that were refused");
        Self {
            tick_seconds,
            tick_cpu_seconds,
            encode_seconds,
            steps_skipped: counter(own, "steps_skipped", "Steps left out because a room could not keep up"),
            clients: gauge(own, "clients", "Clients in a room"),
            rooms: gauge(own, "rooms", "Rooms that are open"),
            rooms_abandoned: gauge(own, "rooms_abandoned", "Ended rooms whose threads still run"),
            rooms_abandoned_bytes_max: gauge(
                own,
                "rooms_abandoned_bytes_max",
                "Upper bound of the memory of the scripts and values of these rooms",
            ),
            connections: gauge(own, "connections", "TCP connections, joined or not"),
            bodies_awake: gauge(own, "bodies_awake", "Bodies that physics moves, over all rooms"),
            bytes_received: bytes.get_or_create_owned(&IN),
            bytes_sent: bytes.get_or_create_owned(&OUT),
            messages_received: messages.get_or_create_owned(&IN),
            messages_sent: messages.get_or_create_owned(&OUT),
            snapshots_superseded: counter(
                own,
                "snapshots_superseded",
                "Snapshots that were replaced by a newer one before the client's socket had room",
            ),
            lines_missed: counter(
                own,
                "chat_lines_missed",
                "Lines of chat dropped for a client that had not read the earlier ones; the client is sent their number",
            ),
            players_resumed: counter(own, "players_resumed", "Clients that reconnected to their player"),
            durable: family(own, "durable_actions", "Numbered actions of clients, which happen exactly once"),
            turns: family(
                own,
                "prediction",
                "Steps of walkers that ran differently from the client's prediction, and views that were too old",
            ),
            sight_entered: counter(
                own,
                "sight_entered",
                "Entities that came near a client on a session, counted for each client",
            ),
            sight_left: counter(
                own,
                "sight_left",
                "Entities that a client on a session no longer receives because they are far away, counted for each client",
            ),
            rooms_ended: family(own, "rooms_ended", "Rooms that ended"),
            rules: family(own, "rules", "Outcomes of versions of worlds' rules, and errors that they raised"),
            dropped: family(own, "messages_dropped", "Messages from clients that were dropped"),
            closed: family(own, "client_closed", "Clients that left or were closed"),
            flooded: refused.get_or_create_owned(&Reason { reason: "flood" }),
            refused,
            resident_bytes,
            open_files,
            cpu_seconds,
            open_rooms,
            // Last, because `own` borrows it until here.
            registry,
        }
    }

    /// Shows the store's figures, too.
    pub(crate) fn watch_store(&mut self, figures: StoreFigures) {
        self.registry.register_collector(Box::new(figures));
    }

    /// The metrics of a room that opens. They are shown until the last handle is dropped.
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

    /// Counts lines printed by rules and sent to no client, because there were too many.
    pub(crate) fn drop_printed(&self, lines: u64) {
        self.rules.get_or_create(&Outcomes { outcome: "printed_dropped" }).inc_by(lines);
    }

    /// Counts errors of rules that were not reported, because there were too many.
    pub(crate) fn drop_failures(&self, errors: u64) {
        self.rules.get_or_create(&Outcomes { outcome: "failed_dropped" }).inc_by(errors);
    }

    /// Counts the outcome of a numbered action.
    pub(crate) fn count_durable(&self, outcome: &'static str) {
        self.durable.get_or_create(&Outcomes { outcome }).inc();
    }

    /// Counts a walker's step that was not the next one of its client, or a view older than the history of worlds.
    pub(crate) fn count_turn(&self, outcome: &'static str) {
        self.turns.get_or_create(&Outcomes { outcome }).inc();
    }

    /// Counts a message from a client that has no effect.
    pub(crate) fn drop_message(&self, reason: &'static str) {
        self.dropped.get_or_create(&Reason { reason }).inc();
    }

    /// Counts the end of a client.
    pub(crate) fn close_client(&self, code: u16, reason: &'static str) {
        self.closed.get_or_create(&Close { code, reason }).inc();
    }

    /// Counts a client that was refused.
    pub(crate) fn refuse(&self, reason: &'static str) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    /// Counts a session that was refused, by the error of `spec/CARRIERS.md`.
    pub(crate) fn refuse_session(&self, error: &str) {
        const ERRORS: [(&str, &str); 6] = [
            ("unauthorised", "unauthorised"),
            ("wrong_origin", "origin"),
            ("not_encrypted", "not_encrypted"),
            ("no_such_name", "parameter"),
            ("too_many", "join_rate"),
            ("full", "room_full"),
        ];
        let known = ERRORS.iter().find(|(name, _)| *name == error);
        self.refuse(known.map_or("other", |(_, label)| label));
    }

    /// Counts the time that encoding took.
    pub(crate) fn observe_encode(&self, took: Duration) {
        self.encode_seconds.observe(took.as_secs_f64());
    }

    /// The page of `/metrics`.
    pub(crate) fn render(&self) -> String {
        self.measure_process();
        let mut page = String::with_capacity(8 * 1024);
        text::encode(&mut page, &self.registry).expect("writing to memory does not fail");
        page
    }

    /// Reads the metrics of the process from the system. They stay 0 where the system does not report them.
    fn measure_process(&self) {
        if let Some(resident) = process::resident_bytes() {
            self.resident_bytes.set(resident);
        }
        if let Some(files) = process::open_files() {
            self.open_files.set(files);
        }
        if let Some(seconds) = process::cpu_seconds() {
            // The counter accepts differences only.
            self.cpu_seconds.inc_by((seconds - self.cpu_seconds.get()).max(0.0));
        }
    }
}

fn counter(registry: &mut Registry, name: &str, help: &str) -> Counter {
    let counter = Counter::default();
    registry.register(name, help, counter.clone());
    counter
}

fn gauge(registry: &mut Registry, name: &str, help: &str) -> Gauge {
    let gauge = Gauge::default();
    registry.register(name, help, gauge.clone());
    gauge
}

fn family<L>(registry: &mut Registry, name: &str, help: &str) -> Family<L, Counter>
where
    L: EncodeLabelSet + Clone + Eq + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static,
{
    let family = Family::default();
    registry.register(name, help, family.clone());
    family
}
