//! Sends the events of all rooms to a back end by HTTP (`docs/how-to/back-end.md`, "Receive events by a webhook").
//!
//! Rooms put events into a bounded queue and never wait. One task takes batches from the queue. It repeats each batch until
//! the receiver accepts the batch, or the batch is too old. So a slow or absent receiver delays the queue alone.

mod receiver;

use std::collections::VecDeque;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::http::Uri;
use bytes::Bytes;
use nowcast::admission::{SigningSecret, unix_time};
use nowcast_room::{EventSink, PublicEvent};
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::Serialize;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout_at};
use tracing::{info, warn};

use self::receiver::Receiver;

/// Maximum number of events that wait for the receiver.
const EVENTS_MAX: usize = 4_096;

/// Maximum bytes of the events that wait.
const EVENTS_BYTES_MAX: usize = 8 << 20;

/// Maximum number of events in one request.
const BATCH_EVENTS_MAX: usize = 100;

/// Bytes of events after which a batch takes no further event.
const BATCH_BYTES_MAX: usize = 256 << 10;

/// The version of the requests' bodies.
const VERSION: u32 = 1;

/// The back end that receives the events of all rooms.
#[derive(Clone, Debug)]
pub struct WebhookConfig {
    /// The receiver.
    pub url: WebhookUrl,
    /// The secret that signs each request.
    pub secret: SigningSecret,
    /// Maximum time from the beginning of a request to its answer.
    pub answer_max: Duration,
    /// The pause after a failed request. It doubles with each further failure of the same batch.
    pub pause: Duration,
    /// Maximum pause.
    pub pause_max: Duration,
    /// Time after which a batch is dropped if every request for it failed.
    pub batch_age_max: Duration,
}

impl WebhookConfig {
    /// Creates a configuration with the default times.
    pub fn new(url: WebhookUrl, secret: SigningSecret) -> Self {
        Self {
            url,
            secret,
            answer_max: Duration::from_secs(10),
            pause: Duration::from_secs(1),
            pause_max: Duration::from_secs(30),
            batch_age_max: Duration::from_secs(300),
        }
    }
}

/// The address of a webhook's receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookUrl {
    is_encrypted: bool,
    /// The host without the brackets of an IPv6 address.
    host: String,
    port: u16,
    /// The host and the port as in the URL.
    authority: String,
    path: String,
}

impl FromStr for WebhookUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is not a URL such as https://example.org/nowcast or http://localhost:3000/");
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let is_encrypted = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(wrong()),
        };
        let authority = uri.authority().ok_or_else(wrong)?;
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            is_encrypted,
            host: authority.host().trim_matches(['[', ']']).to_owned(),
            port: authority.port_u16().unwrap_or(if is_encrypted { 443 } else { 80 }),
            authority: authority.as_str().to_owned(),
            path: uri.path_and_query().map_or("/", |path| path.as_str()).to_owned(),
        })
    }
}

impl fmt::Display for WebhookUrl {
    /// Leaves out the path, which may have a secret.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_encrypted { "https" } else { "http" };
        write!(formatter, "{scheme}://{}", self.authority)
    }
}

/// The first fields of an event.
#[derive(Serialize)]
struct Head<'e> {
    id: &'e str,
    #[serde(rename = "type")]
    topic: &'static str,
    time_ms: u64,
    room: &'e str,
}

/// The events that wait for the receiver, each as JSON.
#[derive(Default)]
struct Queue {
    events: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Whether the newest event was dropped.
    is_full: bool,
}

/// Sends the events of all rooms to the receiver.
pub(crate) struct Webhook {
    config: WebhookConfig,
    /// The beginning of the ids of this process's events.
    process: String,
    taken: AtomicU64,
    queue: Mutex<Queue>,
    arrived: Notify,
    is_closed: AtomicBool,
    closed: Notify,
    metrics: WebhookMetrics,
}

impl Webhook {
    pub(crate) fn new(config: WebhookConfig) -> Arc<Self> {
        let mut random = [0; 8];
        SystemRandom::new().fill(&mut random).expect("the system has randomness");
        Arc::new(Self {
            config,
            process: format!("{:016x}", u64::from_be_bytes(random)),
            taken: AtomicU64::new(0),
            queue: Mutex::default(),
            arrived: Notify::new(),
            is_closed: AtomicBool::new(false),
            closed: Notify::new(),
            metrics: WebhookMetrics::default(),
        })
    }

    pub(crate) fn metrics(&self) -> &WebhookMetrics {
        &self.metrics
    }

    /// Sends events until [`Webhook::finish`] is called, and then until no event waits or a request fails.
    pub(crate) async fn deliver(self: Arc<Self>) {
        let mut receiver = Receiver::new(&self.config);
        let mut is_failing = false;
        while let Some(batch) = self.next_batch().await {
            let is_delivered = self.deliver_batch(&mut receiver, &batch, &mut is_failing).await;
            self.metrics.count_events(if is_delivered { "delivered" } else { "given_up" }, batch.len());
            if !is_delivered && self.is_closed.load(Ordering::Acquire) {
                return;
            }
        }
    }

    /// Sends the last events within a time limit. Call it when all rooms have ended.
    pub(crate) async fn finish(&self, delivery: JoinHandle<()>, until: Instant) {
        self.is_closed.store(true, Ordering::Release);
        self.arrived.notify_one();
        self.closed.notify_one();
        let abort = delivery.abort_handle();
        let is_late = timeout_at(until.into(), delivery).await.is_err();
        abort.abort();
        let waiting = self.queue.lock().events.len();
        if is_late || waiting > 0 {
            warn!(url = %self.config.url, waiting, "the webhook's receiver did not accept the last events");
        }
    }

    /// Takes the oldest events. Waits for an event; `None` if the webhook is closed and no event waits.
    async fn next_batch(&self) -> Option<Vec<Vec<u8>>> {
        loop {
            let batch = self.queue.lock().take_batch();
            if !batch.is_empty() {
                self.metrics.waiting.dec_by(batch.len() as i64);
                return Some(batch);
            }
            if self.is_closed.load(Ordering::Acquire) {
                return None;
            }
            self.arrived.notified().await;
        }
    }

    /// Repeats the request for a batch until the receiver accepts it or the batch is too old. After the webhook was closed, only
    /// one more request is sent. Returns whether the batch was accepted.
    async fn deliver_batch(&self, receiver: &mut Receiver, batch: &[Vec<u8>], is_failing: &mut bool) -> bool {
        let (url, body) = (&self.config.url, body_of(batch));
        let began = Instant::now();
        let mut pause = self.config.pause;
        loop {
            let was_closed = self.is_closed.load(Ordering::Acquire);
            let sent = receiver.send(&body).await;
            self.metrics.count_request(&sent);
            let Err(failure) = sent else {
                if std::mem::replace(is_failing, false) {
                    info!(%url, "the webhook's receiver accepts events again");
                }
                return true;
            };
            if !std::mem::replace(is_failing, true) {
                warn!(%url, %failure, "the webhook's receiver did not accept events: they wait, and the server tries again");
            }
            if was_closed || began.elapsed() + pause > self.config.batch_age_max {
                warn!(%url, %failure, events = batch.len(), "events are dropped, because the webhook's receiver did not accept them");
                return false;
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.closed.notified() => {}
            }
            pause = (2 * pause).min(self.config.pause_max);
        }
    }
}

impl EventSink for Webhook {
    fn take(&self, room: &str, event: &Arc<PublicEvent>) {
        // A receiver that misses a number knows that events were dropped.
        let id = format!("{}-{}", self.process, self.taken.fetch_add(1, Ordering::Relaxed) + 1);
        let time_ms = u64::try_from(unix_time().as_millis()).unwrap_or(u64::MAX);
        let json = event.to_json(&Head { id: &id, topic: event.topic(), time_ms, room });
        let mut queue = self.queue.lock();
        if queue.events.len() >= EVENTS_MAX || queue.bytes + json.len() > EVENTS_BYTES_MAX {
            let was_full = std::mem::replace(&mut queue.is_full, true);
            drop(queue);
            self.metrics.count_events("dropped", 1);
            if !was_full {
                warn!(url = %self.config.url, "events are dropped, because too many wait for the webhook's receiver");
            }
            return;
        }
        queue.is_full = false;
        queue.bytes += json.len();
        queue.events.push_back(json);
        drop(queue);
        self.metrics.waiting.inc();
        self.arrived.notify_one();
    }
}

impl Queue {
    fn take_batch(&mut self) -> Vec<Vec<u8>> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH_EVENTS_MAX
            && bytes < BATCH_BYTES_MAX
            && let Some(event) = self.events.pop_front()
        {
            bytes += event.len();
            batch.push(event);
        }
        self.bytes -= bytes;
        batch
    }
}

/// Returns the body of a request.
fn body_of(batch: &[Vec<u8>]) -> Bytes {
    let mut body = format!(r#"{{"version":{VERSION},"events":["#).into_bytes();
    body.extend(batch.join(&b','));
    body.extend(b"]}");
    body.into()
}

/// The reason why a request failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    /// The receiver answered with this status.
    #[error("it answered {0}")]
    Status(axum::http::StatusCode),
    /// No answer came in time.
    #[error("it did not answer within {0:?}")]
    Timeout(Duration),
    /// The connection could not be opened, or ended.
    #[error("it cannot be reached ({0})")]
    Unreachable(String),
    /// Its certificate is of another host, or of an authority that this process does not trust.
    #[error("{0}; the variable SSL_CERT_FILE names the file of trusted authorities")]
    Untrusted(String),
}

impl Failure {
    fn label(&self) -> &'static str {
        match self {
            Self::Status(_) => "refused",
            Self::Timeout(_) => "timeout",
            Self::Unreachable(_) => "unreachable",
            Self::Untrusted(_) => "untrusted",
        }
    }
}

/// The metrics of a webhook.
#[derive(Default)]
pub(crate) struct WebhookMetrics {
    events: Family<Outcome, Counter>,
    requests: Family<Outcome, Counter>,
    waiting: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Outcome {
    outcome: &'static str,
}

impl WebhookMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let own = registry.sub_registry_with_prefix("nowcast_webhook");
        let help = "Events of rooms that the receiver accepted, or that were dropped";
        own.register("events", help, self.events.clone());
        own.register("requests", "Requests to the receiver", self.requests.clone());
        own.register("events_waiting", "Events that wait for the receiver", self.waiting.clone());
    }

    fn count_events(&self, outcome: &'static str, count: usize) {
        self.events.get_or_create(&Outcome { outcome }).inc_by(count as u64);
    }

    fn count_request(&self, sent: &Result<(), Failure>) {
        let outcome = sent.as_ref().map_or_else(Failure::label, |()| "accepted");
        self.requests.get_or_create(&Outcome { outcome }).inc();
    }
}

#[cfg(test)]
mod tests {
    use nowcast_room::PublicKind;
    use nowcast_world::Value;

    use super::*;

    fn webhook() -> Arc<Webhook> {
        let secret = SigningSecret::parse("0123456789abcdefghijklmnopqrstuvwxyz").expect("it is long enough");
        Webhook::new(WebhookConfig::new("http://localhost:1/".parse().expect("it is a URL"), secret))
    }

    fn event(bytes: usize) -> Arc<PublicEvent> {
        let payload = Value::from("x".repeat(bytes));
        Arc::new(PublicEvent {
            step: 1,
            kind: PublicKind::Event { name: "e".into(), payload, players: None },
        })
    }

    #[test]
    fn urls_have_a_scheme_a_host_and_a_path() {
        let url = |text: &str| text.parse::<WebhookUrl>();
        let found = url("https://example.org/hook?key=1").expect("it is a URL");
        assert_eq!(
            (found.host.as_str(), found.port, found.path.as_str()),
            ("example.org", 443, "/hook?key=1")
        );
        assert_eq!(found.to_string(), "https://example.org");
        let found = url("http://[::1]:3000").expect("it is a URL");
        assert_eq!((found.host.as_str(), found.port, found.path.as_str()), ("::1", 3000, "/"));
        for wrong in ["example.org", "ftp://example.org/", "http://", "http://me:word@example.org/", "/hook"]
        {
            assert!(url(wrong).is_err_and(|error| error.contains("is not a URL such as")), "{wrong}");
        }
    }

    #[test]
    fn the_queue_holds_a_bounded_number_of_events_and_bytes() {
        for (bytes, held) in [(1, EVENTS_MAX), (60_000, EVENTS_BYTES_MAX / 60_200)] {
            let (webhook, event) = (webhook(), event(bytes));
            for _ in 0..EVENTS_MAX + 10 {
                webhook.take("yard", &event);
            }
            let queue = webhook.queue.lock();
            assert!((held..=held + 1).contains(&queue.events.len()), "{} of {held}", queue.events.len());
            assert!(queue.bytes <= EVENTS_BYTES_MAX);
            let dropped = webhook.metrics.events.get_or_create(&Outcome { outcome: "dropped" }).get();
            assert_eq!(dropped as usize, EVENTS_MAX + 10 - queue.events.len());
        }
    }

    #[test]
    fn batches_are_bounded_and_take_the_oldest_events_first() {
        let webhook = webhook();
        for bytes in [300_000, 1, 1] {
            webhook.take("yard", &event(bytes));
        }
        let mut queue = webhook.queue.lock();
        let batches: Vec<usize> = std::iter::from_fn(|| Some(queue.take_batch().len())).take(3).collect();
        assert_eq!((batches, queue.bytes), (vec![1, 2, 0], 0));
    }
}
