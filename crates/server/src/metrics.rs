//! The metrics on `/metrics`. The names are part of the interface; `docs/reference/metrics.md` lists them.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use nowcast_room::{StoreFigures, register_metric};
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::logs::LogWriter;
use crate::process;
use crate::webhook::WebhookMetrics;

/// The content type of [`Metrics::render`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Every counter of a server.
pub(crate) struct Metrics {
    /// The counters of the server's rooms.
    pub(crate) rooms: Arc<nowcast_room::Metrics>,
    pub(crate) connections: Gauge,
    pub(crate) bytes_received: Counter,
    pub(crate) bytes_sent: Counter,
    pub(crate) messages_received: Counter,
    pub(crate) messages_sent: Counter,
    /// Carriers of sessions that sent more bytes than a session can use.
    pub(crate) flooded: Counter,
    closed: Family<Close, Counter>,
    refused: Family<Reason, Counter>,
    resident_bytes: Gauge,
    open_files: Gauge,
    cpu_seconds: Counter<f64, AtomicU64>,
    registry: Registry,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Direction {
    direction: &'static str,
}

/// Bytes from clients to the server.
const IN: Direction = Direction { direction: "in" };

/// Bytes from the server to clients.
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
        let resident_bytes =
            register_metric(process, "resident_memory_bytes", "Memory that this process has in RAM");
        let open_files = register_metric(process, "open_fds", "Files and sockets that this process has open");
        let cpu_seconds = Counter::default();
        process.register("cpu_seconds", "Processor time that this process has used", cpu_seconds.clone());

        let rooms = Arc::new(nowcast_room::Metrics::new(&mut registry));
        let own = registry.sub_registry_with_prefix("nowcast");
        if let Some(logs) = logs {
            let help = "Lines of logs that were not written: their output was full, broken or not read";
            own.register("log_lines_dropped", help, logs.counter());
        }
        let bytes: Family<Direction, Counter> = register_metric(own, "bytes", "Bytes on TCP connections");
        let messages: Family<Direction, Counter> =
            register_metric(own, "messages", "Messages of the plain protocol");
        let refused: Family<Reason, Counter> =
            register_metric(own, "connections_refused", "Connections and joins that were refused");
        Self {
            rooms,
            connections: register_metric(own, "connections", "TCP connections, joined or not"),
            bytes_received: bytes.get_or_create_owned(&IN),
            bytes_sent: bytes.get_or_create_owned(&OUT),
            messages_received: messages.get_or_create_owned(&IN),
            messages_sent: messages.get_or_create_owned(&OUT),
            closed: register_metric(own, "client_closed", "Clients that left or were closed"),
            flooded: refused.get_or_create_owned(&Reason { reason: "flood" }),
            refused,
            resident_bytes,
            open_files,
            cpu_seconds,
            // The registry is moved last, because `own` borrows it until here.
            registry,
        }
    }

    /// Adds the metrics of the store to the page.
    pub(crate) fn watch_store(&mut self, figures: StoreFigures) {
        self.registry.register_collector(Box::new(figures));
    }

    /// Adds the metrics of the server's cluster to the page.
    #[cfg(feature = "cluster")]
    pub(crate) fn watch_cluster(&mut self, metrics: &crate::cluster::ClusterMetrics) {
        metrics.register(&mut self.registry);
    }

    /// Adds the metrics of the webhook to the page.
    pub(crate) fn watch_webhook(&mut self, metrics: &WebhookMetrics) {
        metrics.register(&mut self.registry);
    }

    /// Counts the end of a client.
    pub(crate) fn close_client(&self, code: u16, reason: &'static str) {
        self.closed.get_or_create(&Close { code, reason }).inc();
    }

    /// Counts a client that was refused.
    pub(crate) fn refuse(&self, reason: &'static str) {
        self.refused.get_or_create(&Reason { reason }).inc();
    }

    /// Returns the page of `/metrics`.
    pub(crate) fn render(&self) -> String {
        self.measure_process();
        let mut page = String::with_capacity(8 * 1024);
        text::encode(&mut page, &self.registry).expect("writing to memory does not fail");
        page
    }

    /// Reads the metrics of the process from the system. Metrics that the system does not report stay 0.
    fn measure_process(&self) {
        if let Some(resident) = process::resident_bytes() {
            self.resident_bytes.set(resident);
        }
        if let Some(files) = process::open_files() {
            self.open_files.set(files);
        }
        if let Some(seconds) = process::cpu_seconds() {
            // The counter accepts only increments.
            self.cpu_seconds.inc_by((seconds - self.cpu_seconds.get()).max(0.0));
        }
    }
}
