//! Endpoints without sockets, and clients that keep or break the rules. Time is an argument.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use nowcast_admission::Entry;
use nowcast_session::NoSource;
use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Dir, Endpoint,
    EndpointConfig, Event, ServerConfig, StreamId, Transmit, VarInt,
};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::version::TLS13;
use tokio::net::UdpSocket;
use tokio::sync::Notify;
use web_transport_proto::{
    Capsule, ConnectError, ConnectRequest as WebTransportRequest, ConnectResponse, Frame, Settings,
};

use super::core::{Admitted, Core, Host, Outlet};
use super::handshakes::Handshakes;
use super::shards::ThreadIds;
use super::{Address, connect};
use crate::acceptor::{AcceptConfig, Acceptor};
use crate::carrier::transport_config;
use crate::driver::Application;
use crate::endpoint::socket::sharing;
use crate::endpoint::{ConnectRequest, Directory, Discovery, RefusalAnswer};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 4_433);
const SECOND: Duration = Duration::from_secs(1);

/// Admits everybody to the room "open".
#[derive(Default)]
struct Rooms {
    asked: AtomicUsize,
    /// Host and origin of each request.
    pages: Mutex<Vec<[Option<String>; 2]>>,
}

impl Directory for Rooms {
    fn admit(&self, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let page = [asking.page.host, asking.page.origin].map(|part| part.map(str::to_owned));
        self.pages.lock().unwrap().push(page);
        match asking.name {
            "open" => Ok((
                Acceptor::new(AcceptConfig::default(), |_: Entry| Box::new(NoSource) as Box<dyn Application>),
                Entry::default(),
            )),
            _ => Err(RefusalAnswer::new("unauthorised", "not for you", "ask for a token")),
        }
    }

    fn describe(&self, asking: &ConnectRequest<'_>) -> Discovery {
        Discovery::new(asking.name, None)
    }
}

static CONFIGS: LazyLock<(Arc<ServerConfig>, ClientConfig, rustls::ClientConfig)> = LazyLock::new(|| {
    let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let mut server = ServerConfig::with_single_cert(vec![certified.cert.der().clone()], key.into()).unwrap();
    server.transport_config(transport_config());
    let mut roots = RootCertStore::empty();
    roots.add(certified.cert.der().clone()).unwrap();
    let tls = rustls::ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls =
        tls.with_protocol_versions(&[&TLS13]).unwrap().with_root_certificates(roots).with_no_client_auth();
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls.clone()).unwrap()));
    client.transport_config(transport_config());
    (Arc::new(server), client, tls)
});

#[derive(Default)]
struct Sent(Vec<(SocketAddr, Vec<u8>)>);

impl Outlet for Sent {
    fn train_max(&self) -> usize {
        1
    }

    fn send(&mut self, transmit: &Transmit, bytes: &[u8]) {
        self.0.push((transmit.destination, bytes.to_vec()));
    }
}

struct Client {
    endpoint: Endpoint,
    handle: ConnectionHandle,
    quic: Connection,
    address: SocketAddr,
    lost: Option<ConnectionError>,
    is_dead: bool,
}

/// A server and its clients, on a network that loses nothing.
struct Scene {
    now: Instant,
    rooms: Arc<Rooms>,
    core: Core,
    sent: Sent,
    clients: Vec<Client>,
    admitted: Vec<Admitted>,
    /// Bytes from and to each client.
    received: usize,
    answered: usize,
}

impl Scene {
    fn new() -> Self {
        let (now, rooms) = (Instant::now(), Arc::new(Rooms::default()));
        let mut config = EndpointConfig::default();
        config.cid_generator(|| Box::new(ThreadIds::new(1, 0, 1)));
        let host = Host {
            config: Arc::clone(&CONFIGS.0),
            directory: Arc::clone(&rooms) as _,
            handshakes: Arc::new(Handshakes::default()),
            shards: 1,
        };
        let core = Core::new(Arc::new(config), Some(host), now);
        Self {
            now,
            rooms,
            core,
            sent: Sent::default(),
            clients: Vec::new(),
            admitted: Vec::new(),
            received: 0,
            answered: 0,
        }
    }

    /// A new client from an address. Returns its number.
    fn connect(&mut self, address: impl Into<SocketAddr>) -> usize {
        self.connect_by(EndpointConfig::default(), address)
    }

    fn connect_by(&mut self, config: EndpointConfig, address: impl Into<SocketAddr>) -> usize {
        let mut endpoint = Endpoint::new(Arc::new(config), None, false, None);
        let (handle, quic) =
            endpoint.connect(self.now, CONFIGS.1.clone(), SERVER, "localhost").expect("the name is valid");
        let address = address.into();
        self.clients.push(Client { endpoint, handle, quic, address, lost: None, is_dead: false });
        self.clients.len() - 1
    }

    /// Exchanges packets until nobody has one. Time stands still.
    fn settle(&mut self) {
        loop {
            let mut is_quiet = true;
            for client in self.clients.iter_mut().filter(|client| !client.is_dead) {
                for packet in client.drive(self.now) {
                    is_quiet = false;
                    self.received += packet.len();
                    self.core.handle(
                        self.now,
                        client.address,
                        Some(SERVER.ip()),
                        None,
                        packet,
                        &mut self.sent,
                    );
                }
            }
            self.core.handle_timeout(self.now, &mut self.sent);
            self.core.transmit(self.now, &mut self.sent);
            self.admitted.extend(self.core.take_admitted());
            for (to, packet) in self.sent.0.drain(..) {
                is_quiet = false;
                self.answered += packet.len();
                let client = self.clients.iter_mut().find(|client| client.address == to && !client.is_dead);
                if let Some(client) = client {
                    client.take(self.now, &packet);
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    /// Lets time pass, from timer to timer.
    fn pass(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle();
        while self.now < end {
            let timers = self.clients.iter_mut().filter(|client| !client.is_dead);
            let timers = timers.filter_map(|client| client.quic.poll_timeout());
            let next = timers.chain(self.core.poll_timeout()).min().unwrap_or(end);
            self.now = next.max(self.now + Duration::from_millis(1)).min(end);
            self.settle();
        }
    }

    /// A client with an open session.
    fn join(&mut self, address: impl Into<SocketAddr>) -> usize {
        let client = self.connect(address);
        self.ask(client, &request_for("open"));
        client
    }

    /// Sends a client's request. Returns its stream.
    fn ask(&mut self, client: usize, request: &[u8]) -> StreamId {
        self.settle();
        let settings = self.clients[client].open(Dir::Uni);
        self.clients[client].write(settings, &SETTINGS);
        let stream = self.clients[client].open(Dir::Bi);
        self.clients[client].write(stream, request);
        self.settle();
        stream
    }
}

impl Client {
    fn drive(&mut self, now: Instant) -> Vec<BytesMut> {
        let mut sent = Vec::new();
        while self.quic.poll_timeout().is_some_and(|at| at <= now) {
            self.quic.handle_timeout(now);
        }
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
        while let Some(event) = self.quic.poll() {
            if let Event::ConnectionLost { reason } = event {
                self.lost = Some(reason);
            }
        }
        let mut packet = Vec::new();
        while self.quic.poll_transmit(now, 1, &mut packet).is_some() {
            sent.push(BytesMut::from(&packet[..]));
            packet.clear();
        }
        sent
    }

    fn take(&mut self, now: Instant, packet: &[u8]) {
        let mut answer = Vec::new();
        let event = self.endpoint.handle(now, SERVER, None, None, BytesMut::from(packet), &mut answer);
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
            self.quic.handle_event(event);
        }
    }

    fn open(&mut self, dir: Dir) -> StreamId {
        self.quic.streams().open(dir).expect("the server allows the stream")
    }

    fn write(&mut self, stream: StreamId, bytes: &[u8]) {
        assert_eq!(self.quic.send_stream(stream).write(bytes), Ok(bytes.len()));
    }

    /// The bytes that have arrived on a stream.
    fn read(&mut self, stream: StreamId) -> Vec<u8> {
        let mut stream = self.quic.recv_stream(stream);
        let mut chunks = stream.read(true).expect("the stream is open");
        let mut bytes = Vec::new();
        while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
            bytes.extend_from_slice(&chunk.bytes);
        }
        _ = chunks.finalize();
        bytes
    }

    fn closed_with(&self) -> Option<u64> {
        match &self.lost {
            Some(ConnectionError::ApplicationClosed(close)) => Some(close.error_code.into_inner()),
            _ => None,
        }
    }
}

static SETTINGS: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (mut settings, mut bytes) = (Settings::default(), Vec::new());
    settings.enable_webtransport(1);
    settings.encode(&mut bytes);
    bytes
});

fn request_for(name: &str) -> Vec<u8> {
    request_from(&format!("https://localhost:4433/nowcast/{name}"), None)
}

fn request_from(url: &str, origin: Option<&str>) -> Vec<u8> {
    let mut request = WebTransportRequest::new(url.parse::<url::Url>().unwrap());
    if let Some(origin) = origin {
        request = request.with_header(hyper::header::ORIGIN, origin.parse().unwrap());
    }
    let mut bytes = Vec::new();
    request.encode(&mut bytes).unwrap();
    bytes
}

fn address(number: u16) -> (Ipv4Addr, u16) {
    (Ipv4Addr::new(198, 51, 100, 1), 10_000 + number)
}

/// Code of a connection that is closed without a reason of WebTransport.
fn no_reason() -> Option<u64> {
    Some(web_transport_proto::error_to_http3(0))
}

#[test]
fn a_request_in_single_bytes_opens_a_session_in_any_order_of_streams() {
    for settings_first in [true, false] {
        let mut scene = Scene::new();
        let client = scene.connect(address(0));
        scene.settle();
        let qpack = scene.clients[client].open(Dir::Uni);
        scene.clients[client].write(qpack, &[2]);
        scene.settle();
        let control = scene.clients[client].open(Dir::Uni);
        let stream = scene.clients[client].open(Dir::Bi);
        let request = request_for("open");
        let mut parts = [(control, &SETTINGS[..]), (stream, &request[..])];
        if !settings_first {
            parts.reverse();
        }
        for (stream, bytes) in parts {
            for byte in bytes {
                assert!(scene.admitted.is_empty());
                scene.clients[client].write(stream, &[*byte]);
                scene.settle();
            }
        }
        assert_eq!((scene.admitted.len(), scene.rooms.asked.load(Ordering::Relaxed)), (1, 1));
    }
}

#[test]
fn datagrams_pass_before_and_after_new_keys() {
    let mut scene = Scene::new();
    let client = scene.join(address(0));
    for round in 0..6 {
        if round % 2 == 1 {
            scene.clients[client].quic.force_key_update();
        }
        let payload = Bytes::from(vec![0, round]);
        scene.clients[client].quic.datagrams().send(payload.clone(), false).unwrap();
        scene.pass(SECOND);
        let connection = scene.admitted[0].connection;
        let quic = &mut scene.core.connection(connection).expect("the session is open").quic;
        assert_eq!(quic.datagrams().recv().as_ref(), Some(&payload));
        quic.datagrams().send(payload.clone(), false).unwrap();
        scene.core.touch(connection);
        scene.settle();
        assert_eq!(scene.clients[client].quic.datagrams().recv(), Some(payload));
    }
}

#[test]
fn strangers_that_say_nothing_lose_their_connections_and_their_places() {
    let mut scene = Scene::new();
    for number in 0..2 {
        scene.connect(address(number));
    }
    scene.pass(9 * SECOND);
    assert!(scene.clients.iter().all(|client| client.lost.is_none()));
    scene.pass(2 * SECOND);
    assert!(scene.clients.iter().all(|client| client.closed_with() == no_reason()));
    assert!(scene.core.is_empty());
    scene.join(address(9));
    assert_eq!(scene.admitted.len(), 1);
}

#[test]
fn a_refused_client_sees_a_status_and_then_the_end() {
    let mut scene = Scene::new();
    let client = scene.connect(address(0));
    let request = scene.ask(client, &request_for("closed"));
    let answer = scene.clients[client].read(request);
    let status = match ConnectResponse::decode(&mut &answer[..]) {
        Err(ConnectError::WrongStatus(Some(status))) => status.as_u16(),
        other => panic!("{other:?}"),
    };
    assert_eq!(status, RefusalAnswer::new("unauthorised", "", "").status);
    scene.pass(3 * SECOND);
    assert_eq!(scene.clients[client].closed_with(), Some(0x100), "H3_NO_ERROR");
    assert!(scene.core.is_empty() && scene.admitted.is_empty());
}

#[test]
fn the_directory_sees_the_host_and_the_origin_of_a_page() {
    let mut scene = Scene::new();
    let cases = [("evil.example:7777", Some("https://evil.example")), ("robot.example", None)];
    for (number, (host, origin)) in cases.into_iter().enumerate() {
        let client = scene.connect(address(number as u16));
        scene.ask(client, &request_from(&format!("https://{host}/nowcast/open"), origin));
        let seen = scene.rooms.pages.lock().unwrap().pop();
        assert_eq!(seen, Some([Some(host.to_owned()), origin.map(str::to_owned)]));
    }
}

#[test]
fn a_client_with_small_udp_payloads_receives_the_required_size() {
    let mut scene = Scene::new();
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(1_200).expect("QUIC allows it");
    let client = scene.connect_by(config, address(0));
    let request = scene.ask(client, &request_for("open"));
    let answer = scene.clients[client].read(request);
    assert!(String::from_utf8_lossy(&answer).contains("1252"), "the reason names the size");
    assert!(scene.admitted.is_empty());
}

#[test]
fn clients_that_do_not_speak_webtransport_are_closed() {
    let settings = || (Dir::Uni, SETTINGS.to_vec());
    let cases = [
        ("a request that is not one", vec![(Dir::Bi, vec![0, 1, 0])]),
        ("settings without WebTransport", vec![(Dir::Uni, vec![0, 4, 0])]),
        ("two control streams", vec![settings(), settings()]),
        ("a request without an end", vec![(Dir::Bi, vec![0xff; 64 * 1_024])]),
    ];
    for (case, streams) in cases {
        let mut scene = Scene::new();
        let client = scene.connect(address(0));
        scene.settle();
        for (dir, bytes) in streams {
            let stream = scene.clients[client].open(dir);
            // Flow control may take less at once.
            for bytes in bytes.chunks(8 * 1_024) {
                _ = scene.clients[client].quic.send_stream(stream).write(bytes);
                scene.settle();
            }
        }
        scene.pass(SECOND);
        assert_eq!(scene.clients[client].closed_with(), no_reason(), "{case}");
        assert!(scene.core.is_empty(), "{case}");
    }
}

#[test]
fn streams_beyond_the_session_are_read_and_dropped() {
    let mut scene = Scene::new();
    let client = scene.join(address(0));
    let mut streams = Vec::new();
    while let Some(stream) = scene.clients[client].quic.streams().open(Dir::Uni) {
        streams.push(stream);
    }
    while let Some(stream) = scene.clients[client].quic.streams().open(Dir::Bi) {
        streams.push(stream);
    }
    assert!((5..20).contains(&streams.len()), "{}", streams.len());
    // More than all windows together: the server takes the bytes and keeps none.
    for _ in 0..40 {
        for stream in &streams {
            scene.clients[client].write(*stream, &[0x21; 4 * 1_024]);
        }
        scene.pass(SECOND / 10);
    }
    let connection = scene.admitted[0].connection;
    assert!(scene.core.connection(connection).is_some_and(|connection| connection.ended.get().is_none()));
    assert!(scene.clients[client].lost.is_none());
}

#[test]
fn the_clients_goodbye_ends_the_session() {
    for says_goodbye in [true, false] {
        let mut scene = Scene::new();
        let client = scene.join(address(0));
        let stream = StreamId::new(quinn_proto::Side::Client, Dir::Bi, 0);
        if says_goodbye {
            let (mut capsule, mut frame) = (Vec::new(), Vec::new());
            Capsule::CloseWebTransportSession { code: 7, reason: "enough".to_owned() }.encode(&mut capsule);
            Frame::DATA.encode(&mut frame);
            frame.push(u8::try_from(capsule.len()).unwrap());
            frame.extend(capsule);
            for byte in frame {
                scene.clients[client].write(stream, &[byte]);
                scene.settle();
            }
        } else {
            scene.clients[client].quic.send_stream(stream).finish().unwrap();
        }
        scene.settle();
        let code = if says_goodbye { 7 } else { 0 };
        assert_eq!(scene.clients[client].closed_with(), Some(web_transport_proto::error_to_http3(code)));
        scene.pass(2 * SECOND);
        assert!(scene.core.is_empty());
    }
}

#[test]
fn dead_peers_are_forgotten() {
    let mut scene = Scene::new();
    let client = scene.join(address(0));
    scene.clients[client].is_dead = true;
    scene.pass(20 * SECOND);
    let connection = scene.admitted[0].connection;
    let ended = Arc::clone(&scene.core.connection(connection).expect("it may come back").ended);
    scene.pass(20 * SECOND);
    assert!(scene.core.connection(connection).is_none() && scene.core.is_empty());
    assert!(matches!(ended.get(), Some(crate::carrier::Ended::Broken(_))));
    assert_eq!(scene.core.poll_timeout(), None, "a forgotten connection has no timer");
}

#[test]
fn noise_is_neither_stored_nor_amplified() {
    let mut scene = Scene::new();
    let mut state = 1_u64;
    for number in 0..3_000_u16 {
        let bytes: Vec<u8> = (0..number % 1_400)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        scene.received += bytes.len();
        let from = SocketAddr::from(address(number));
        scene.core.handle(scene.now, from, None, None, BytesMut::from(&bytes[..]), &mut scene.sent);
    }
    scene.settle();
    assert!(scene.core.is_empty());
    assert!(scene.answered <= scene.received, "{} for {}", scene.answered, scene.received);
}

#[test]
fn a_crowd_from_one_address_proves_itself_and_gets_in_at_a_pace() {
    let mut scene = Scene::new();
    let clients: Vec<_> = (0..60).map(|number| scene.connect(address(number))).collect();
    scene.settle();
    let is_in = |scene: &Scene| {
        clients.iter().filter(|&&client| !scene.clients[client].quic.is_handshaking()).count()
    };
    let at_once = is_in(&scene);
    assert!((30..60).contains(&at_once), "{at_once} of a burst of 32");
    scene.pass(SECOND);
    assert_eq!(is_in(&scene), clients.len());
}

#[test]
fn an_endpoint_that_closes_ends_all_and_refuses_more() {
    let mut scene = Scene::new();
    let client = scene.join(address(0));
    scene.core.close_all(scene.now, VarInt::from_u32(1), "going away");
    scene.settle();
    assert_eq!(scene.clients[client].closed_with(), Some(1));
    let late = scene.connect(address(1));
    scene.pass(2 * SECOND);
    assert!(scene.clients[late].lost.is_some());
    assert!(scene.core.is_empty());
}

/// Forwards datagrams between one client and a server. The client's address changes at each notification.
async fn forward(near: UdpSocket, server: SocketAddr, moves: Arc<Notify>) -> std::io::Result<()> {
    let open = async || {
        let far = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        far.connect(server).await.map(|()| far)
    };
    let (mut far, mut client) = (open().await?, server);
    let (mut up, mut down) = ([0; 2_048], [0; 2_048]);
    loop {
        tokio::select! {
            received = near.recv_from(&mut up) => {
                let (bytes, from) = received?;
                client = from;
                far.send(&up[..bytes]).await?;
            }
            received = far.recv(&mut down) => {
                near.send_to(&down[..received?], client).await?;
            }
            () = moves.notified() => far = open().await?,
        }
    }
}

#[tokio::test]
async fn a_client_whose_address_changes_keeps_its_connection_on_any_of_two_threads() {
    const CLIENTS: usize = 8;
    let local = || {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    let socket = local();
    let server = socket.local_addr().unwrap();
    let sockets = sharing(socket, 2).unwrap();
    assert!(sockets.iter().all(|socket| socket.local_addr().unwrap() == server));
    let directory: Arc<dyn Directory> = Arc::new(Rooms::default());
    let address = Address::new(&CONFIGS.0, &directory, sockets.len());
    let serving: Vec<_> = sockets
        .into_iter()
        .enumerate()
        .map(|(number, socket)| address.serve(socket, number).unwrap())
        .collect();
    address.is_complete(&serving);
    let is_empty = || serving.iter().all(|serving| serving.lock().is_empty());
    for _ in 0..CLIENTS {
        let (near, moves) =
            (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap(), Arc::<Notify>::default());
        let entrance = near.local_addr().unwrap();
        let forwarding = tokio::spawn(forward(near, server, Arc::clone(&moves)));
        let url = "https://localhost/nowcast/open".parse().unwrap();
        let carrier = connect(CONFIGS.2.clone(), entrance, "localhost", url).await.unwrap();
        assert!(!is_empty());
        moves.notify_one();
        // The server learns of the end at the thread of the connection. Otherwise it would wait for 30 s.
        drop(carrier);
        let ended = async {
            while !is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(10 * SECOND, ended).await.expect("the server learns of the end");
        forwarding.abort();
    }
    serving.iter().for_each(|serving| serving.close());
}
