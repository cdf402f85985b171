//! Events of rooms at a back end, which may refuse them, hang, disappear, or have a wrong certificate.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use nowcast_server::admission::SigningSecret;
use nowcast_server::{Config, WebhookConfig};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use ring::hmac;
use serde_json::{Value as Json, json};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::common::process::Folder;
use super::common::{PATIENCE, Player, TestServer, script};
use nowcast_wire::Value;

const SECRET: &str = "a-secret-of-these-tests-that-is-long-enough";

const RULES: &str = r#"
local world = require("@nowcast/world")
world.action("count", { number = "u32" }, function(player, arguments)
    world.emit("counted", { number = arguments.number })
end)
"#;

/// The answer of a back end to a request.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Accepts,
    Refuses,
    Hangs,
}

/// A request that a back end accepted.
struct Received {
    signature: String,
    body: String,
}

/// The way in which a back end answers.
struct Behaviour {
    mode: Mutex<Mode>,
    /// The certificate of a back end with TLS.
    tls: Mutex<Option<TlsAcceptor>>,
    accepted: UnboundedSender<Received>,
}

/// A back end with one address, which listens until it is stopped.
struct BackEnd {
    address: SocketAddr,
    behaviour: Arc<Behaviour>,
    accepted: UnboundedReceiver<Received>,
    listening: JoinHandle<()>,
}

impl BackEnd {
    async fn start(mode: Mode) -> Self {
        let (sender, accepted) = unbounded_channel();
        let behaviour =
            Arc::new(Behaviour { mode: Mutex::new(mode), tls: Mutex::new(None), accepted: sender });
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let listening = tokio::spawn(listen(listener, Arc::clone(&behaviour)));
        Self { address, behaviour, accepted, listening }
    }

    /// Closes the port and all connections.
    async fn stop(&mut self) {
        self.listening.abort();
        assert!((&mut self.listening).await.is_err_and(|error| error.is_cancelled()));
    }

    /// Listens on the same port again.
    async fn restart(&mut self) {
        let listener = TcpListener::bind(self.address).await.expect("the port is free again");
        self.listening = tokio::spawn(listen(listener, Arc::clone(&self.behaviour)));
    }

    fn set(&self, mode: Mode) {
        *self.behaviour.mode.lock() = mode;
    }

    /// Speaks TLS with this certificate on new connections.
    fn present(&self, certificate: TlsAcceptor) {
        *self.behaviour.tls.lock() = Some(certificate);
    }

    /// Waits for the events of the next request that the back end accepts.
    async fn next(&mut self) -> Vec<Json> {
        let received = timeout(PATIENCE, self.accepted.recv()).await.expect("a request arrives");
        let Received { signature, body } = received.expect("the sender exists");
        check_signature(&signature, &body);
        let mut body: Json = serde_json::from_str(&body).expect("the body is JSON");
        assert_eq!(body["version"], 1);
        serde_json::from_value(body["events"].take()).expect("events are a list")
    }

    /// Reads events until one of this type.
    async fn until(&mut self, kind: &str) -> Vec<Json> {
        let mut events = Vec::new();
        while events.last().is_none_or(|event: &Json| event["type"] != kind) {
            events.extend(self.next().await);
        }
        events
    }
}

/// Answers requests. All connections belong to this task, so they end with it.
async fn listen(listener: TcpListener, behaviour: Arc<Behaviour>) {
    let shared = Arc::clone(&behaviour);
    let answer = async move |headers: HeaderMap, body: String| {
        let mode = *shared.mode.lock();
        match mode {
            Mode::Accepts => {
                let signature = headers["nowcast-signature"].to_str().expect("it is text").to_owned();
                assert_eq!(headers["content-type"], "application/json");
                let _ = shared.accepted.send(Received { signature, body });
                StatusCode::NO_CONTENT
            }
            Mode::Refuses => StatusCode::INTERNAL_SERVER_ERROR,
            Mode::Hangs => std::future::pending().await,
        }
    };
    let router = Router::new().route("/hook", post(answer));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.expect("the listener accepts");
        let (router, tls) = (router.clone(), behaviour.tls.lock().clone());
        connections.spawn(async move {
            match tls {
                None => serve(stream, router).await,
                Some(tls) => {
                    // The client may refuse the certificate.
                    if let Ok(stream) = tls.accept(stream).await {
                        serve(stream, router).await;
                    }
                }
            }
        });
    }
}

/// Answers the requests of a connection.
async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router) {
    let service = hyper_util::service::TowerToHyperService::new(router);
    let stream = hyper_util::rt::TokioIo::new(stream);
    // The client may end the connection at any time.
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(stream, service).await;
}

/// Checks a signature as a back end would.
fn check_signature(signature: &str, body: &str) {
    let (time, digits) = signature
        .strip_prefix("t=")
        .and_then(|rest| rest.split_once(",v1="))
        .expect("the header has a time and a signature");
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signed = hmac::sign(&key, format!("{time}.{body}").as_bytes());
    let expected: String = signed.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(digits, expected);
    let time = Duration::from_secs(time.parse().expect("the time is in seconds"));
    assert!(nowcast_server::admission::unix_time().abs_diff(time) < Duration::from_secs(60));
}

/// Sends the events to a back end, and repeats requests soon.
fn send_to(address: SocketAddr, change: impl FnOnce(&mut WebhookConfig)) -> impl FnOnce(&mut Config) {
    let url = format!("http://{address}/hook").parse().expect("it is a URL");
    let secret = SigningSecret::parse(SECRET).expect("it is a secret");
    let mut webhook = WebhookConfig::new(url, secret);
    webhook.answer_max = Duration::from_millis(300);
    webhook.pause = Duration::from_millis(20);
    webhook.pause_max = Duration::from_millis(50);
    change(&mut webhook);
    move |config| {
        config.worlds = vec![script("yard", RULES)];
        config.webhook = Some(webhook);
        config.timeouts.room_empty = Duration::from_millis(50);
        config.limits.actions_hz = 1_000;
    }
}

/// Acts, and waits until the player receives the event of the rules.
async fn count(player: &mut Player, number: u32) {
    player.act("count", &[("number", Value::from(i64::from(number)))]).await;
    let is_it = |told: &Json| told["number"].as_f64() == Some(f64::from(number));
    player.until_view("the event", |view| view.happened.iter().any(|(_, told)| is_it(told))).await;
}

fn numbers(events: &[Json]) -> Vec<u32> {
    events
        .iter()
        .filter_map(|event| event["payload"]["number"].as_f64())
        .map(|number| number as u32)
        .collect()
}

#[tokio::test]
async fn joins_events_chat_leaves_and_the_end_of_a_room_arrive_signed_and_in_order() {
    let mut back_end = BackEnd::start(Mode::Accepts).await;
    let server = TestServer::with(send_to(back_end.address, |_| {})).await;
    let mut ada = server.join("yard-2", "name=Ada").await;
    let id = ada.id;
    count(&mut ada, 5).await;
    drop(ada);
    let events = back_end.until("dispose").await;
    let kinds: Vec<&str> = events.iter().map(|event| event["type"].as_str().expect("a text")).collect();
    assert_eq!(kinds, ["join", "event", "leave", "dispose"]);
    for event in &events {
        assert_eq!(event["room"], "yard-2");
        assert!(event["step"].is_u64() && event["time_ms"].as_u64() > Some(1_600_000_000_000));
    }
    assert_eq!((&events[0]["player"], &events[0]["name"]), (&json!(id), &json!("Ada")));
    assert_eq!((&events[1]["name"], numbers(&events)), (&json!("counted"), vec![5]));
    assert_eq!(events[2]["player"], json!(id));
    let ids: Vec<(&str, &str)> =
        events.iter().map(|event| event["id"].as_str().and_then(|id| id.split_once('-')).unwrap()).collect();
    assert_eq!(ids.iter().map(|(_, number)| *number).collect::<Vec<_>>(), ["1", "2", "3", "4"]);
    assert!(ids.iter().all(|(process, _)| *process == ids[0].0));
    server.until_metric(r#"nowcast_webhook_events_total{outcome="delivered"}"#, |count| count == 4.0).await;
    server.stop().await;
}

#[tokio::test]
async fn a_back_end_that_refuses_hangs_and_disappears_delays_no_room_and_misses_no_event() {
    let mut back_end = BackEnd::start(Mode::Refuses).await;
    let server = TestServer::with(send_to(back_end.address, |_| {})).await;
    let requests = |outcome: &str| format!(r#"nowcast_webhook_requests_total{{outcome="{outcome}"}}"#);
    let mut ada = server.join("yard", "name=Ada").await;
    count(&mut ada, 1).await;
    server.until_metric(&requests("refused"), |count| count > 2.0).await;
    back_end.set(Mode::Hangs);
    server.until_metric(&requests("timeout"), |count| count > 0.0).await;
    count(&mut ada, 2).await;
    back_end.stop().await;
    server.until_metric(&requests("unreachable"), |count| count > 1.0).await;
    // More events than one request takes.
    for number in 3..=130 {
        count(&mut ada, number).await;
    }
    assert_eq!(server.metric(&requests("accepted")), 0.0);
    back_end.set(Mode::Accepts);
    back_end.restart().await;
    let mut events = Vec::new();
    while numbers(&events).len() < 130 {
        events.extend(back_end.next().await);
    }
    assert_eq!(numbers(&events), (1..=130).collect::<Vec<_>>());
    assert_eq!(server.metric(r#"nowcast_webhook_events_total{outcome="dropped"}"#), 0.0);
    assert!(server.metric("nowcast_webhook_events_waiting") < 1.0);
    server.stop().await;
}

#[tokio::test]
async fn events_that_a_back_end_refuses_for_too_long_are_dropped_and_later_events_arrive() {
    let mut back_end = BackEnd::start(Mode::Refuses).await;
    let hasty = |webhook: &mut WebhookConfig| webhook.batch_age_max = Duration::from_millis(100);
    let server = TestServer::with(send_to(back_end.address, hasty)).await;
    let mut ada = server.join("yard", "name=Ada").await;
    let given_up = r#"nowcast_webhook_events_total{outcome="given_up"}"#;
    server.until_metric(given_up, |count| count >= 1.0).await;
    back_end.set(Mode::Accepts);
    count(&mut ada, 7).await;
    let mut events = Vec::new();
    while numbers(&events).is_empty() {
        events.extend(back_end.next().await);
    }
    assert_eq!(numbers(&events), [7]);
    // The last events are sent before the server ends.
    server.stop().await;
    assert_eq!(back_end.until("dispose").await.last().unwrap()["room"], "yard");
}

#[tokio::test]
async fn a_server_ends_although_its_back_end_hangs() {
    let back_end = BackEnd::start(Mode::Hangs).await;
    let patient = |webhook: &mut WebhookConfig| webhook.answer_max = Duration::from_secs(3_600);
    let server = TestServer::with(send_to(back_end.address, patient)).await;
    let _ada = server.join("yard", "name=Ada").await;
    server.until_metric("nowcast_webhook_events_waiting", |count| count == 0.0).await;
    server.stop().await;
}

/// The folder of a process that runs the test of TLS.
const TLS_FOLDER: &str = "NOWCAST_WEBHOOK_TLS_FOLDER";
/// The file in that folder with the only authority that the process trusts.
const AUTHORITY: &str = "authority.pem";

#[tokio::test]
async fn events_arrive_over_tls_only_if_the_certificate_has_the_right_authority_and_name() {
    if let Some(folder) = std::env::var_os(TLS_FOLDER) {
        return deliver_over_tls(Path::new(&folder)).await;
    }
    // A process reads its authorities once, so the test runs in a process with authorities of its own.
    let folder = Folder::new();
    std::fs::create_dir_all(&folder.0).expect("the folder can be made");
    let test = "webhook::events_arrive_over_tls_only_if_the_certificate_has_the_right_authority_and_name";
    let output = Command::new(std::env::current_exe().expect("a test knows its own program"))
        .args(["--exact", test, "--nocapture"])
        .env(TLS_FOLDER, &folder.0)
        .env("SSL_CERT_FILE", folder.0.join(AUTHORITY))
        .output()
        .expect("the program can run itself");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

async fn deliver_over_tls(folder: &Path) {
    let (trusted, foreign) = (authority("trusted"), authority("foreign"));
    std::fs::write(folder.join(AUTHORITY), trusted.pem()).expect("the folder exists");
    let mut back_end = BackEnd::start(Mode::Accepts).await;
    back_end.present(certificate(&foreign, "localhost"));
    let url = format!("https://localhost:{}/hook", back_end.address.port());
    let over_tls = |webhook: &mut WebhookConfig| {
        webhook.url = url.parse().expect("it is a URL");
        webhook.answer_max = PATIENCE;
    };
    let server = TestServer::with(send_to(back_end.address, over_tls)).await;
    let requests = |outcome: &str| format!(r#"nowcast_webhook_requests_total{{outcome="{outcome}"}}"#);
    let mut ada = server.join("yard", "name=Ada").await;
    count(&mut ada, 1).await;
    server.until_metric(&requests("untrusted"), |count| count > 1.0).await;
    back_end.present(certificate(&trusted, "example.org"));
    // The request that runs now may still see the first certificate.
    let refused = server.metric(&requests("untrusted"));
    server.until_metric(&requests("untrusted"), |count| count > refused + 1.0).await;
    assert_eq!(server.metric(&requests("accepted")), 0.0);
    assert!(back_end.accepted.try_recv().is_err(), "a request arrived over a refused connection");
    back_end.present(certificate(&trusted, "localhost"));
    let mut events = Vec::new();
    while numbers(&events).is_empty() {
        events.extend(back_end.next().await);
    }
    assert_eq!((numbers(&events), &events[0]["type"]), (vec![1], &json!("join")));
    server.stop().await;
}

/// Makes an authority for certificates.
fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().expect("the system has randomness");
    CertifiedIssuer::self_signed(params, key).expect("the parameters are valid")
}

/// Makes a certificate for a host.
fn certificate(authority: &CertifiedIssuer<'static, KeyPair>, host: &str) -> TlsAcceptor {
    let key = KeyPair::generate().expect("the system has randomness");
    let params = CertificateParams::new([host.to_owned()]).expect("the name is valid");
    let certificate = params.signed_by(&key, authority).expect("the authority can sign");
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of the default versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key);
    TlsAcceptor::from(Arc::new(config.expect("the key belongs to the certificate")))
}
