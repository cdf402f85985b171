//! Attacks on an endpoint: named refusals, bounded memory, counters, and a concurrent session that is not affected.
//!
//! The long form of the flood is `NOWCAST_HOSTILE_ATTEMPTS=100000 cargo test --release -p nowcast --test hostile flood -- --nocapture`.

use futures_util::future::join_all;
use futures_util::{SinkExt, StreamExt};
use nowcast::admission::{Claims, Limits, Policy, TokenKey, unix_time};
use nowcast::{AcceptCounters, Phase};
use nowcast::{CarrierKind, Channel, ConnectError, Connector, ListenConfig, Listener, MessageKind, Service};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{
    ClientRequestBuilder, Error as WebSocketError, Message as WebSocketMessage,
};

const DEADLINE: Duration = Duration::from_secs(30);
const SECRET: &[u8] = b"a secret of more than 32 bytes, for tests";

/// Number of connection attempts in a flood: a hundred thousand in the long form.
fn attempts() -> usize {
    std::env::var("NOWCAST_HOSTILE_ATTEMPTS").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

/// An endpoint with an echo service, and a client that uses the service during the whole attack.
struct Scene {
    listener: Listener,
    counters: tokio::sync::watch::Receiver<AcceptCounters>,
    friend: Friend,
}

impl Scene {
    async fn begin(policy: Policy) -> Scene {
        let mut config = ListenConfig::on([Ipv4Addr::LOCALHOST.into()], 0);
        config.entry = policy;
        config.name_server = None;
        let listener = Listener::bind(config).await.unwrap();
        let service = listener.advertise("echo").await.unwrap();
        let (sender, counters) = tokio::sync::watch::channel(service.counters());
        tokio::spawn(echo(service, sender));
        let key = TokenKey::secret(SECRET).unwrap();
        let token = Claims::new(unix_time() + DEADLINE).name("friend").sign(&key).unwrap();
        let url = format!("nowcast://127.0.0.1:{}/echo", listener.port());
        let channel = Connector::new().token(token).connect(&url).await.unwrap();
        Scene { listener, counters, friend: Friend::new(channel) }
    }

    fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.listener.port()).into()
    }

    fn url(&self) -> String {
        format!("nowcast://{}/echo", self.address())
    }

    fn counters(&self) -> AcceptCounters {
        *self.counters.borrow()
    }

    fn refused(&self, word: &str) -> u64 {
        let refused = self.listener.refused();
        refused.iter().find(|(counted, _)| *counted == word).map_or(0, |(_, count)| *count)
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address()).await.unwrap()
    }

    /// Sends bytes, and returns everything that the endpoint sends until it closes.
    async fn answer(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The endpoint may close before all bytes are sent.
        let _ = stream.write_all(bytes).await;
        let mut answer = Vec::new();
        let _ = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("the endpoint closes");
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn get(&self, path: &str, headers: &str) -> String {
        self.answer(
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{headers}\r\n")
                .as_bytes(),
        )
        .await
    }

    async fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !is_so(self) {
            assert!(begin.elapsed() < DEADLINE, "not within {DEADLINE:?}: {what}: {:?}", self.counters());
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Checks that the friendly client was answered during the whole attack, on its first session.
    async fn end(self) {
        self.friend.end().await;
    }
}

async fn echo(mut service: Service, counters: tokio::sync::watch::Sender<AcceptCounters>) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    loop {
        tokio::select! {
            accepted = service.accept() => {
                let Ok(channel) = accepted else { return };
                tokio::spawn(async move {
                    while let Ok(message) = channel.receive().await {
                        if let MessageKind::Command(id) = message.kind {
                            // If a peer does not read, its lane is full. This affects only that peer.
                            let _ = channel.try_reply(id, &message.bytes);
                        }
                    }
                });
            }
            _ = tick.tick() => {
                counters.send_replace(service.counters());
            }
        }
    }
}

/// The number of answers, and the longest wait for an answer.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    count: u64,
    longest: Duration,
}

/// A client that repeatedly sends commands and waits for their replies.
struct Friend {
    stop: tokio::sync::oneshot::Sender<()>,
    talking: tokio::task::JoinHandle<(Answers, Channel)>,
}

impl Friend {
    fn new(channel: Channel) -> Friend {
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let talking = tokio::spawn(async move {
            let mut answered = Answers::default();
            while stopped.try_recv().is_err() {
                let (asked, question) = (Instant::now(), answered.count.to_le_bytes());
                let reply = channel.command(&question, DEADLINE).await;
                assert_eq!(reply.as_deref(), Ok(question.as_slice()), "the friend noticed");
                answered.count += 1;
                answered.longest = answered.longest.max(asked.elapsed());
                sleep(Duration::from_millis(2)).await;
            }
            (answered, channel)
        });
        Friend { stop, talking }
    }

    async fn end(self) -> Answers {
        self.stop.send(()).unwrap();
        let (answered, channel) = self.talking.await.unwrap();
        assert!(answered.count > 0);
        assert_eq!(channel.status().phase, Phase::Open);
        answered
    }
}

fn with_key() -> Policy {
    Policy { key: Some(TokenKey::secret(SECRET).unwrap()), ..Policy::default() }
}

/// Resident memory of this process, if the system reports it.
fn resident_bytes() -> u64 {
    if !cfg!(target_os = "linux") {
        return 0;
    }
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

/// Pseudorandom numbers that are the same in every run.
fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..length).map(|_| next()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_never_completes_a_handshake() {
    let scene = Scene::begin(Policy::default()).await;
    let garbage = (0..40).map(|seed| {
        // Half of the connections begin like TLS.
        let prefix: &[u8] = if seed % 2 == 0 { &[] } else { &[0x16, 0x03, 0x01] };
        [prefix, &noise(1_500, seed)].concat()
    });
    join_all(garbage.map(async |bytes| scene.answer(&bytes).await)).await;
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    for seed in 0..500 {
        let mut datagram = noise(1_200, seed);
        // Half of the packets look like the first packet of a QUIC connection of version 1 (RFC 9000, section 17.2.2).
        if seed % 2 == 0 {
            datagram[..7].copy_from_slice(&[0xc3, 0, 0, 0, 1, 8, seed as u8]);
        }
        let _ = udp.send_to(&datagram, scene.address()).await;
    }
    let head_without_end = format!("GET /nowcast/echo HTTP/1.1\r\nX: {}", "y".repeat(100_000));
    let answer = scene.answer(head_without_end.as_bytes()).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_names_are_not_found() {
    let scene = Scene::begin(Policy::default()).await;
    let long = format!("/nowcast/{}", "n".repeat(65));
    let endless = format!("/nowcast/{}", "n".repeat(8_000));
    for path in [
        "/",
        "/nowcast/",
        "/nowcast/.echo",
        "/nowcast/ec%68o",
        "/nowcast/../echo",
        "/nowcast/nobody",
        &long,
        &endless,
    ] {
        let answer = scene.get(path, "").await;
        assert!(answer.starts_with("HTTP/1.1 404") && answer.contains("no_such_name"), "{path}: {answer}");
    }
    let post = scene
        .answer(b"POST /nowcast/echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
        .await;
    assert!(post.starts_with("HTTP/1.1 405"), "{post}");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_refused_by_name_on_every_carrier() {
    let scene = Scene::begin(with_key()).await;
    let key = TokenKey::secret(SECRET).unwrap();
    let other = TokenKey::secret(b"another secret of more than 32 bytes").unwrap();
    let now = unix_time();
    let minute = Duration::from_secs(60);
    let expired = Claims::new(now - minute).sign(&key).unwrap();
    let foreign = Claims::new(now + minute).sign(&other).unwrap();
    let elsewhere = Claims::new(now + minute).room("plaza").sign(&key).unwrap();
    let oversized = "t".repeat(4_000);
    let tokens = [
        ("", "needed"),
        (&expired, "expired"),
        (&foreign, "key"),
        (&elsewhere, "another room"),
        (&oversized, "longer"),
    ];
    for (token, cause) in tokens {
        for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
            let mut connector = Connector::new().carriers([carrier]);
            if !token.is_empty() {
                connector = connector.token(token);
            }
            match connector.connect(&scene.url()).await {
                Err(ConnectError::Refused(refusal)) => {
                    assert_eq!((refusal.status, refusal.error.as_str()), (401, "unauthorised"));
                    assert!(refusal.cause.contains(cause), "{cause}: {}", refusal.cause);
                    assert!(!refusal.cause.contains(token) || token.is_empty(), "a token is never repeated");
                }
                other => panic!("{cause} over {carrier}: {other:?}"),
            }
        }
    }
    assert!(scene.refused("unauthorised") >= 10);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_single_use_token_begins_one_session_and_resumes_it() {
    let scene = Scene::begin(with_key()).await;
    let key = TokenKey::secret(SECRET).unwrap();
    let token = Claims::new(unix_time() + DEADLINE).name("Ada").once("ticket").sign(&key).unwrap();
    let connector = Connector::new().token(token);
    let channel = connector.connect(&scene.url()).await.unwrap();
    match connector.connect(&scene.url()).await {
        Err(ConnectError::Refused(refusal)) => assert!(refusal.cause.contains("used"), "{}", refusal.cause),
        other => panic!("{other:?}"),
    }
    let reply = channel.command(b"still here", DEADLINE).await.unwrap();
    assert_eq!(reply, b"still here");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_other_origins_may_not_join() {
    let policy = Policy { origins: vec!["https://example.org".into()], ..Policy::default() };
    let scene = Scene::begin(policy).await;
    let refused = scene.get("/nowcast/echo", "Origin: https://evil.example\r\n").await;
    assert!(refused.starts_with("HTTP/1.1 403") && refused.contains("wrong_origin"), "{refused}");
    assert!(!refused.to_lowercase().contains("access-control-allow-origin"), "{refused}");
    let allowed = scene.get("/nowcast/echo", "Origin: https://example.org\r\n").await;
    assert!(allowed.starts_with("HTTP/1.1 200"), "{allowed}");
    assert_eq!(scene.refused("wrong_origin"), 1);
    scene.end().await;
}

/// A WebSocket to the endpoint that has not sent HELLO.
async fn websocket(scene: &Scene) -> Result<WebSocketStream<TcpStream>, WebSocketError> {
    let uri = format!("ws://{}/nowcast/echo", scene.address()).parse().unwrap();
    let request = ClientRequestBuilder::new(uri).with_sub_protocol("nowcast.1");
    Ok(tokio_tungstenite::client_async(request, scene.connect().await).await?.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn another_version_is_refused_with_the_supported_versions() {
    let scene = Scene::begin(Policy::default()).await;
    let mut socket = websocket(&scene).await.unwrap();
    // HELLO (spec/SESSION.md, section 4) with versions 9 to 9. The rest is as in the vectors.
    let mut hello = vec![0x80, b'N', b'O', b'W', b'C', 9, 9];
    hello.extend([0xa1; 8]);
    hello.extend(1_000_000_u64.to_le_bytes());
    hello.extend([8, 0x80, 0x80, 0x40, 0x80, 0x80, 0x10, 0xb0, 9, 0x90, 0x4e, 0xe0, 0xd4, 3, 0]);
    hello.resize(160, 0);
    socket.send(WebSocketMessage::binary(hello)).await.unwrap();
    let answer = timeout(DEADLINE, socket.next()).await.unwrap().unwrap().unwrap().into_data();
    assert_eq!(answer[0], 0x82, "REFUSE");
    assert_eq!(answer[9..12], [5, 1, 1], "the code `version`, and the versions 1 to 1");
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_carrier_without_a_hello_is_counted_and_closed() {
    let scene = Scene::begin(Policy::default()).await;
    let mut socket = websocket(&scene).await.unwrap();
    socket.send(WebSocketMessage::binary(noise(500, 1))).await.unwrap();
    scene.until("the first packet is no HELLO", |scene| scene.counters().malformed == 1).await;
    let ended = timeout(DEADLINE, async { while let Some(Ok(_)) = socket.next().await {} }).await;
    assert!(ended.is_ok(), "the carrier is closed");

    // Half-open connections that send nothing. The oldest connections are closed when newer ones arrive. All are closed after 5
    // s.
    let mut silent = Vec::new();
    for _ in 0..150 {
        silent.push(websocket(&scene).await.expect("silent connections do not block a client"));
    }
    scene.until("the oldest was closed", |scene| scene.counters().refused_carriers >= 50).await;
    let late = nowcast::connect(&scene.url()).await;
    assert!(late.is_ok(), "{late:?}");
    let given_up = |scene: &Scene| scene.counters().without_hello + scene.counters().refused_carriers;
    let silent_count = silent.len() as u64;
    scene.until("the others were closed after the timeout", |scene| given_up(scene) == silent_count).await;
    assert_eq!(scene.counters().carriers, 0);
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_lorises_lose_their_connections() {
    let scene = Scene::begin(Policy::default()).await;
    let mut lorises = Vec::new();
    for _ in 0..100 {
        let mut stream = scene.connect().await;
        stream.write_all(b"GET /nowcast/echo HTTP/1.1\r\nHost: localhost\r\n").await.unwrap();
        lorises.push(tokio::spawn(async move {
            let begin = Instant::now();
            let mut byte = [0];
            // Sends a header byte by byte, until the endpoint closes.
            loop {
                assert!(begin.elapsed() < DEADLINE, "single bytes keep the connection open");
                let sent = stream.write_all(b"x").await;
                let heard = timeout(Duration::from_millis(200), stream.read(&mut byte)).await;
                if sent.is_err() || matches!(heard, Ok(Ok(0) | Err(_))) {
                    return;
                }
            }
        }));
    }
    for loris in lorises {
        loris.await.unwrap();
    }
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_attempts_leaves_no_carrier_and_no_memory() {
    let limits = Limits { connections_max: 200, ..Limits::default() };
    let scene = Scene::begin(Policy { limits, ..Policy::default() }).await;
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let attempts = attempts();
    let mut after_warm_up = 0;
    for attempt in 0..attempts {
        if attempt == attempts / 10 {
            after_warm_up = resident_bytes();
        }
        // Some connections are dropped at once, some send a request and leave, and some begin QUIC and never continue.
        let Ok(mut stream) = TcpStream::connect(scene.address()).await else { continue };
        match attempt % 4 {
            0 => drop(stream),
            1 => drop(stream.write_all(b"GET /nowcast/echo HTTP/1.1\r\nHost: localhost\r\n\r\n").await),
            2 => drop(stream.write_all(&noise(300, attempt as u64)).await),
            _ => {
                let mut initial = noise(1_200, attempt as u64);
                initial[..6].copy_from_slice(&[0xc3, 0, 0, 0, 1, 8]);
                let _ = udp.send_to(&initial, scene.address()).await;
            }
        }
    }
    let grown = resident_bytes().saturating_sub(after_warm_up);
    assert!(grown < 64 * 1024 * 1024, "{attempts} attempts left {grown} bytes");
    scene.until("no carrier is left", |scene| scene.counters().carriers == 0).await;
    assert_eq!(scene.counters().sessions, 1, "the friend's");
    let Answers { count, longest } = scene.friend.end().await;
    println!(
        "{attempts} attempts: memory grew by {} KiB; the friendly client was answered {count} times, after {longest:.1?} at most",
        grown / 1_024
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_keeps_no_history_for_a_peer_that_stops_reading() {
    const KEYS: u64 = 1_000;
    let mut config = ListenConfig::on([Ipv4Addr::LOCALHOST.into()], 0);
    config.name_server = None;
    let listener = Listener::bind(config).await.unwrap();
    let mut service = listener.advertise("poses").await.unwrap();
    let url = format!("nowcast://127.0.0.1:{}/poses", listener.port());
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let (freeze, thaw) = (std::sync::mpsc::channel::<()>(), std::sync::mpsc::channel::<()>());
        let url = url.clone();
        // A separate runtime, which is blocked so that its sockets are not read.
        let reader = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let channel = runtime.block_on(Connector::new().carriers([carrier]).connect(&url)).unwrap();
            freeze.0.send(()).unwrap();
            thaw.1.recv().unwrap();
            runtime.block_on(async move {
                let mut messages = 0_u64;
                loop {
                    let message = timeout(DEADLINE, channel.receive())
                        .await
                        .expect("the newest value arrives in time")
                        .unwrap();
                    messages += 1;
                    if message.kind == MessageKind::Event {
                        return messages;
                    }
                }
            })
        });
        let channel = service.accept().await.unwrap();
        freeze.1.recv().unwrap();
        let mut value = vec![0; 200];
        let mut before = 0;
        for round in 0..400_u64 {
            value[..8].copy_from_slice(&round.to_le_bytes());
            for key in 1..=KEYS {
                channel.try_state(key, &value).unwrap();
            }
            if round == 50 {
                before = resident_bytes();
            }
            tokio::task::yield_now().await;
        }
        let grown = resident_bytes().saturating_sub(before);
        assert!(grown < 32 * 1024 * 1024, "{carrier}: it grew by {grown} bytes");
        channel.try_event(b"that was all").unwrap();
        thaw.0.send(()).unwrap();
        let messages = tokio::task::spawn_blocking(move || reader.join().unwrap()).await.unwrap();
        assert!(messages < 10 * KEYS, "{carrier}: {messages} messages are history");
    }
}

/// Makes the first packet of a QUIC client. The address of the client may be forged, because the packet depends on no answer.
fn first_packet(server: SocketAddr) -> Vec<u8> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn_proto::crypto::rustls::QuicClientConfig::try_from(tls).unwrap();
    let config = quinn_proto::ClientConfig::new(Arc::new(crypto));
    let mut endpoint = quinn_proto::Endpoint::new(Arc::default(), None, true, None);
    let now = Instant::now();
    let (_, mut connection) = endpoint.connect(now, config, server, "localhost").unwrap();
    let mut packet = Vec::new();
    let sent = connection.poll_transmit(now, 1, &mut packet).expect("a client sends first");
    assert_eq!(sent.size, packet.len());
    packet
}

#[tokio::test(flavor = "multi_thread")]
async fn one_quic_initial_is_answered_with_at_most_three_times_its_bytes() {
    /// The endpoint abandons a handshake after 10 s, and may then send a close.
    const SILENCE: Duration = Duration::from_secs(12);
    let scene = Scene::begin(Policy::default()).await;
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let packet = first_packet(scene.address());
    udp.send_to(&packet, scene.address()).await.unwrap();
    let (mut buffer, mut answered) = ([0; 2_048], Vec::new());
    while let Ok(received) = timeout(SILENCE, udp.recv(&mut buffer)).await {
        answered.push(received.unwrap());
    }
    let bytes: usize = answered.iter().sum();
    println!(
        "{} bytes are answered with {answered:?}: {:.2} times",
        packet.len(),
        bytes as f64 / packet.len() as f64
    );
    assert!(bytes > packet.len(), "the handshake is answered: {answered:?}");
    assert!(bytes <= 3 * packet.len(), "{bytes} bytes in {answered:?}");
    scene.end().await;
}
