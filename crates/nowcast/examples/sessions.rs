//! The cost of sessions: many sessions in one process, compared with the same traffic over the bare carriers.
//!
//! ```text
//! cargo run --release -p nowcast --example sessions -- [SESSIONS] [SECONDS] [ROUNDS] [PROGRAM]
//! ```
//!
//! PROGRAM, for a profiler: runs only `quinn`, `webtransport`, `tungstenite` or `websocket`.
//!
//! Both ends of every session are in this process and send 20 packets a second, each with 10 states of 40 bytes. The output is
//! the CPU time of the whole process for each packet, compared with the same bytes over bare quinn datagrams and tungstenite
//! messages. Each figure is the median of the rounds. In a round, all programs run one after the other.

use std::hint::black_box;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use nowcast::{AcceptLimits, CarrierKind, Channel, Connector, ListenConfig, Listener};
use socket2::{Domain, Socket, Type};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const PERIOD: Duration = Duration::from_millis(50);
const STATES: u64 = 10;
const STATE_BYTES: usize = 40;
/// Packet size of the bare programs. These programs put the same messages into a packet as a session does. One byte for the key
/// and one for the length precede each message.
const PACKET_BYTES: usize = STATES as usize * (STATE_BYTES + 2);
const WARM_UP: Duration = Duration::from_secs(3);

/// Counters of sent and received messages.
#[derive(Default)]
struct Tally {
    sent: AtomicU64,
    got: AtomicU64,
}

/// One of the compared programs, connected and sending.
#[derive(Default)]
struct Traffic {
    tasks: JoinSet<()>,
    /// Both ends of all sessions. Each end counts its packets.
    channels: Vec<Arc<Channel>>,
}

impl Traffic {
    /// Returns the numbers of sent packets, of acknowledgement-only packets among them, and of probes.
    fn packets(&self) -> [u64; 3] {
        let stats = self.channels.iter().map(|channel| channel.status().stats);
        stats.fold([0; 3], |[packets, acks, probes], stats| {
            [packets + stats.packets_sent, acks + stats.acks_sent, probes + stats.probes_sent]
        })
    }
}

/// A compared program, and the CPU time for each of its packets in µs, by round.
struct Program {
    name: &'static str,
    micros: Vec<f64>,
}

impl Program {
    fn new(name: &'static str) -> Self {
        Self { name, micros: Vec::new() }
    }

    /// Waits until the traffic is steady, measures it and ends it.
    async fn measure(&mut self, tally: &Tally, mut traffic: Traffic, seconds: u64) -> Result<(), Failure> {
        sleep(WARM_UP).await;
        let read = || (tally.sent.load(Ordering::Relaxed), tally.got.load(Ordering::Relaxed));
        let packets_before = traffic.packets();
        let ((sent_before, got_before), cpu_before) = (read(), cpu_time()?);
        sleep(Duration::from_secs(seconds)).await;
        let ((sent, got), cpu) = (read(), cpu_time()? - cpu_before);
        let packets = traffic.packets();
        let (sent, got) = (sent - sent_before, got - got_before);
        let micros = cpu.as_secs_f64() * 1e6 / sent as f64;
        let arrived = got as f64 / sent as f64 * 100.0;
        println!("{}: {micros:.1} µs a packet; {sent} packets put, {arrived:.1} % got", self.name);
        if packets[0] > 0 {
            let [packets, acks, probes] = [0, 1, 2].map(|index| packets[index] - packets_before[index]);
            println!(
                "  {packets} packets of sessions, {acks} of them acknowledgements alone, {probes} probes"
            );
        }
        self.micros.push(micros);
        traffic.tasks.shutdown().await;
        drop(traffic);
        sleep(Duration::from_secs(1)).await;
        Ok(())
    }

    fn print_beside(&self, bare: &Program) {
        let mut ratios: Vec<f64> =
            self.micros.iter().zip(&bare.micros).map(|(ours, bare)| ours / bare).collect();
        ratios.sort_by(f64::total_cmp);
        let Some(median) = ratios.get(ratios.len() / 2) else { return };
        println!("{} beside {}: {:+.0} %", self.name, bare.name, (median - 1.0) * 100.0);
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let mut next = |otherwise| arguments.next().map_or(Ok(otherwise), |text| text.parse::<u64>());
    let (count, seconds, rounds) = (next(1_000)? as usize, next(10)?, next(3)?);
    let only = arguments.next();
    let runs = |program: &str| only.as_deref().is_none_or(|only| only == program);
    println!(
        "{count} sessions, both ends here, {STATES} states of {STATE_BYTES} bytes 20 times a second, {seconds} s"
    );
    let mut quinn = Program::new("bare quinn datagrams");
    let mut webtransport = Program::new("sessions over WebTransport");
    let mut tungstenite = Program::new("bare tungstenite messages");
    let mut websocket = Program::new("sessions over WebSocket");
    for _ in 0..rounds {
        if runs("quinn") {
            let tally = Arc::default();
            quinn.measure(&tally, bare_quinn(count, &tally).await?, seconds).await?;
        }
        if runs("webtransport") {
            let tally = Arc::default();
            let traffic = sessions(CarrierKind::WebTransport, count, &tally).await?;
            webtransport.measure(&tally, traffic, seconds).await?;
        }
        if runs("tungstenite") {
            let tally = Arc::default();
            tungstenite.measure(&tally, bare_tungstenite(count, &tally).await?, seconds).await?;
        }
        if runs("websocket") {
            let tally = Arc::default();
            let traffic = sessions(CarrierKind::WebSocket, count, &tally).await?;
            websocket.measure(&tally, traffic, seconds).await?;
        }
    }
    webtransport.print_beside(&quinn);
    websocket.print_beside(&tungstenite);
    Ok(())
}

/// User and system time of this process so far.
fn cpu_time() -> Result<Duration, Failure> {
    const TICKS_PER_SECOND: u64 = 100;
    if !cfg!(target_os = "linux") {
        return Err("the processor time of a process is known only on Linux: run this example there".into());
    }
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(") ").next().ok_or("the process has a name")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

/// The timer of one sender. The senders are spread over the period, so each sender and its receiver have a different offset.
fn beat(sender: usize) -> Interval {
    const GOLDEN: f64 = 0.618_033_988_75;
    let phase = PERIOD.mul_f64((sender as f64 * GOLDEN).fract());
    let mut beat = interval_at(Instant::now() + phase, PERIOD);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

async fn sessions(kind: CarrierKind, count: usize, tally: &Arc<Tally>) -> Result<Traffic, Failure> {
    let mut config = ListenConfig::on([Ipv4Addr::LOCALHOST.into()], 0);
    // All clients connect from one address, as fast as possible.
    config.entry.limits.attempts_per_address_hz = 1e6;
    config.accept.limits =
        AcceptLimits { sessions_max: count, sessions_per_address_max: count, ..AcceptLimits::default() };
    let listener = Listener::bind(config).await?;
    let mut service = listener.advertise("sessions").await?;
    let url = format!("nowcast://127.0.0.1:{}/sessions", listener.port());
    let connector = Connector::new().carriers([kind]);
    let mut channels = Vec::new();
    for _ in 0..count {
        let near = async { connector.connect(&url).await.map_err(Failure::from) };
        let far = async { service.accept().await.map_err(Failure::from) };
        let (near, far) = tokio::try_join!(near, far)?;
        channels.extend([Arc::new(near), Arc::new(far)]);
    }
    let mut traffic = Traffic { channels, ..Traffic::default() };
    for (sender, channel) in traffic.channels.iter().enumerate() {
        traffic.tasks.spawn(put_states(Arc::clone(channel), Arc::clone(tally), sender));
        traffic.tasks.spawn(get_states(Arc::clone(channel), Arc::clone(tally)));
    }
    traffic.tasks.spawn(async move {
        let _house = (listener, service);
        std::future::pending().await
    });
    Ok(traffic)
}

async fn put_states(channel: Arc<Channel>, tally: Arc<Tally>, sender: usize) {
    let mut beat = beat(sender);
    loop {
        beat.tick().await;
        let mut batch = channel.batch();
        for key in 1..=STATES {
            if batch.try_state(0, key, &[7; STATE_BYTES]).is_err() {
                return;
            }
        }
        tally.sent.fetch_add(1, Ordering::Relaxed);
    }
}

async fn get_states(channel: Arc<Channel>, tally: Arc<Tally>) {
    while let Ok(message) = channel.receive().await {
        // Each packet holds one message of each key, so the messages of one key count the packets.
        if message.key().is_some_and(|key| key.raw() == STATES) {
            tally.got.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Makes a packet of the bare programs.
fn filled() -> Vec<u8> {
    let mut packet = Vec::with_capacity(PACKET_BYTES);
    for key in 1..=STATES as u8 {
        packet.extend_from_slice(&[key, STATE_BYTES as u8]);
        packet.extend_from_slice(black_box(&[7; STATE_BYTES]));
    }
    packet
}

/// Reads the messages of a packet of the bare programs.
fn take(mut packet: &[u8], tally: &Tally) {
    while let [key, length, rest @ ..] = packet {
        let (message, rest) = rest.split_at(usize::from(*length));
        black_box(message.to_vec());
        if u64::from(*key) == STATES {
            tally.got.fetch_add(1, Ordering::Relaxed);
        }
        packet = rest;
    }
}

async fn bare_quinn(count: usize, tally: &Arc<Tally>) -> Result<Traffic, Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = quinn::ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone())?;
    let client = quinn::ClientConfig::with_root_certificates(Arc::new(roots))?;
    let house = quinn_endpoint(Some(server))?;
    let address = house.local_addr()?;
    let mut connections = Vec::new();
    for _ in 0..count {
        // Each client has its own socket, as in sessions.
        let endpoint = quinn_endpoint(None)?;
        let near = endpoint.connect_with(client.clone(), address, "localhost")?;
        let near = async { near.await.map_err(Failure::from) };
        let far =
            async { house.accept().await.ok_or("the endpoint is closed")?.await.map_err(Failure::from) };
        let (near, far) = tokio::try_join!(near, far)?;
        connections.extend([near, far]);
    }
    let mut traffic = Traffic::default();
    for (sender, connection) in connections.into_iter().enumerate() {
        let (beating, counting) = (Arc::clone(tally), Arc::clone(tally));
        let outgoing = connection.clone();
        traffic.tasks.spawn(async move {
            let mut beat = beat(sender);
            loop {
                beat.tick().await;
                if outgoing.send_datagram(filled().into()).is_err() {
                    return;
                }
                beating.sent.fetch_add(1, Ordering::Relaxed);
            }
        });
        traffic.tasks.spawn(async move {
            while let Ok(packet) = connection.read_datagram().await {
                take(&packet, &counting);
            }
        });
    }
    traffic.tasks.spawn(async move {
        let _house = house;
        std::future::pending().await
    });
    Ok(traffic)
}

/// Opens an endpoint with the same buffers for bursts as sessions have. Without these buffers, packets would be dropped, and the
/// endpoint would appear cheaper than it is.
fn quinn_endpoint(server: Option<quinn::ServerConfig>) -> Result<quinn::Endpoint, Failure> {
    const BUFFER_BYTES: usize = 4 * 1_024 * 1_024;
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    socket.set_recv_buffer_size(BUFFER_BYTES)?;
    socket.set_send_buffer_size(BUFFER_BYTES)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
    let (config, runtime) = (quinn::EndpointConfig::default(), Arc::new(quinn::TokioRuntime));
    Ok(quinn::Endpoint::new(config, server, socket.into(), runtime)?)
}

async fn bare_tungstenite(count: usize, tally: &Arc<Tally>) -> Result<Traffic, Failure> {
    let house = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = house.local_addr()?;
    let mut sockets = Vec::new();
    for _ in 0..count {
        let near = async {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok::<_, Failure>(client_async("ws://localhost/", stream).await?.0)
        };
        let far = async {
            let (stream, _) = house.accept().await?;
            stream.set_nodelay(true)?;
            Ok::<_, Failure>(accept_async(stream).await?)
        };
        let (near, far) = tokio::try_join!(near, far)?;
        sockets.extend([near, far]);
    }
    let mut traffic = Traffic::default();
    for (sender, socket) in sockets.into_iter().enumerate() {
        converse(socket, sender, tally, &mut traffic);
    }
    Ok(traffic)
}

fn converse(socket: WebSocketStream<TcpStream>, sender: usize, tally: &Arc<Tally>, traffic: &mut Traffic) {
    let (beating, counting) = (Arc::clone(tally), Arc::clone(tally));
    let (mut sink, mut stream) = socket.split();
    traffic.tasks.spawn(async move {
        let mut beat = beat(sender);
        loop {
            beat.tick().await;
            if sink.send(Message::Binary(filled().into())).await.is_err() {
                return;
            }
            beating.sent.fetch_add(1, Ordering::Relaxed);
        }
    });
    traffic.tasks.spawn(async move {
        while let Some(Ok(Message::Binary(packet))) = stream.next().await {
            take(&packet, &counting);
        }
    });
}
