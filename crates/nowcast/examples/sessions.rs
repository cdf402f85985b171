//! What the session costs: many sessions in one process, beside the same traffic over the bare carriers.
//!
//! ```text
//! cargo run --release -p nowcast --example sessions -- 1000 10
//! ```
//!
//! Both ends of every session are in this process and send 20 packets a second, each with 10 states of 40 bytes. Printed is
//! the CPU time of the whole process for each such packet, and how it compares with the same bytes over quinn's datagrams
//! and tungstenite's messages alone.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use nowcast::{CarrierKind, Channel, Connector, ListenConfig, Listener};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

type Failure = Box<dyn std::error::Error + Send + Sync>;

const PERIOD: Duration = Duration::from_millis(50);
const STATES: u64 = 10;
const STATE_BYTES: usize = 40;
/// The same bytes with what keys and lengths would take at least.
const PACKET_BYTES: usize = STATES as usize * (STATE_BYTES + 2);
const WARM_UP: Duration = Duration::from_secs(2);

/// What was sent and got, and whether it is over.
#[derive(Default)]
struct Tally {
    sent: AtomicU64,
    got: AtomicU64,
    is_over: AtomicBool,
}

impl Tally {
    fn goes_on(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let count: usize = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let seconds: u64 = arguments.next().map_or(Ok(10), |text| text.parse())?;
    println!(
        "{count} sessions, both ends here, {STATES} states of {STATE_BYTES} bytes 20 times a second, {seconds} s"
    );
    let quinn =
        measure("bare quinn datagrams", seconds, async |tally, tasks| bare_quinn(count, tally, tasks).await);
    let quinn = quinn.await?;
    let ours = measure("sessions over WebTransport", seconds, async |tally, tasks| {
        sessions(CarrierKind::WebTransport, count, tally, tasks).await
    });
    let ours = ours.await?;
    println!("  {:+.0} %", (ours / quinn - 1.0) * 100.0);
    let bare = measure("bare tungstenite messages", seconds, async |tally, tasks| {
        bare_tungstenite(count, tally, tasks).await
    });
    let bare = bare.await?;
    let ours = measure("sessions over WebSocket", seconds, async |tally, tasks| {
        sessions(CarrierKind::WebSocket, count, tally, tasks).await
    });
    let ours = ours.await?;
    println!("  {:+.0} %", (ours / bare - 1.0) * 100.0);
    Ok(())
}

/// Begins the traffic, lets it settle, and returns the CPU time for each packet in µs.
async fn measure(
    name: &str,
    seconds: u64,
    begin: impl AsyncFnOnce(Arc<Tally>, &mut JoinSet<()>) -> Result<(), Failure>,
) -> Result<f64, Failure> {
    let tally = Arc::new(Tally::default());
    let mut tasks = JoinSet::new();
    begin(Arc::clone(&tally), &mut tasks).await?;
    sleep(WARM_UP).await;
    let (sent, got, cpu) =
        (tally.sent.load(Ordering::Relaxed), tally.got.load(Ordering::Relaxed), cpu_time()?);
    sleep(Duration::from_secs(seconds)).await;
    let sent = tally.sent.load(Ordering::Relaxed) - sent;
    let got = tally.got.load(Ordering::Relaxed) - got;
    let micros = (cpu_time()? - cpu).as_secs_f64() * 1e6 / sent as f64;
    println!(
        "{name}: {micros:.1} µs a packet; {sent} packets put, {:.1} % got",
        got as f64 / sent as f64 * 100.0
    );
    tally.is_over.store(true, Ordering::Relaxed);
    tasks.shutdown().await;
    sleep(Duration::from_secs(1)).await;
    Ok(micros)
}

/// User and system time of this process so far.
fn cpu_time() -> Result<Duration, Failure> {
    const TICKS_PER_SECOND: u64 = 100;
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit(") ").next().ok_or("the process has a name")?;
    let fields: Vec<&str> = after_name.split(' ').collect();
    let ticks: u64 = fields[11].parse::<u64>()? + fields[12].parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 1_000 / TICKS_PER_SECOND))
}

async fn sessions(
    kind: CarrierKind,
    count: usize,
    tally: Arc<Tally>,
    tasks: &mut JoinSet<()>,
) -> Result<(), Failure> {
    let listener = Listener::bind(ListenConfig::on([Ipv4Addr::LOCALHOST.into()], 0)).await?;
    let mut service = listener.advertise("sessions").await?;
    let url = format!("nowcast://127.0.0.1:{}/sessions", listener.port());
    let connector = Connector::new().carriers([kind]);
    for _ in 0..count {
        let (near, far) = tokio::join!(connector.connect(&url), service.accept());
        for channel in [Arc::new(near?), Arc::new(far?)] {
            tasks.spawn(put_states(Arc::clone(&channel), Arc::clone(&tally)));
            tasks.spawn(get_states(channel, Arc::clone(&tally)));
        }
    }
    tasks.spawn(async move {
        let _house = (listener, service);
        std::future::pending().await
    });
    Ok(())
}

async fn put_states(channel: Arc<Channel>, tally: Arc<Tally>) {
    let mut beat = steady();
    while tally.goes_on() {
        beat.tick().await;
        let mut batch = channel.batch();
        for key in 1..=STATES {
            if batch.state(0, key, &[7; STATE_BYTES]).is_err() {
                return;
            }
        }
        tally.sent.fetch_add(1, Ordering::Relaxed);
    }
}

async fn get_states(channel: Arc<Channel>, tally: Arc<Tally>) {
    while let Ok(message) = channel.receive().await {
        // One of ten stands for the packet they came in.
        if message.key() == Some(STATES) {
            tally.got.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn steady() -> tokio::time::Interval {
    let mut beat = interval(PERIOD);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    beat
}

async fn bare_quinn(count: usize, tally: Arc<Tally>, tasks: &mut JoinSet<()>) -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let server = quinn::ServerConfig::with_single_cert(vec![made.cert.der().clone()], key.into())?;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone())?;
    let client = quinn::ClientConfig::with_root_certificates(Arc::new(roots))?;
    let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let house = quinn::Endpoint::server(server, loopback)?;
    let address = house.local_addr()?;
    for _ in 0..count {
        // A socket for each client, as sessions have.
        let endpoint = quinn::Endpoint::client(loopback)?;
        let near = endpoint.connect_with(client.clone(), address, "localhost")?;
        let far =
            async { house.accept().await.ok_or("the endpoint is closed")?.await.map_err(Failure::from) };
        let (near, far) = tokio::join!(near, far);
        for connection in [near?, far?] {
            let (beating, counting) = (Arc::clone(&tally), Arc::clone(&tally));
            let sender = connection.clone();
            tasks.spawn(async move {
                let mut beat = steady();
                while beating.goes_on() {
                    beat.tick().await;
                    if sender.send_datagram(vec![7; PACKET_BYTES].into()).is_err() {
                        return;
                    }
                    beating.sent.fetch_add(1, Ordering::Relaxed);
                }
            });
            tasks.spawn(async move {
                while connection.read_datagram().await.is_ok() {
                    counting.got.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    }
    tasks.spawn(async move {
        let _house = house;
        std::future::pending().await
    });
    Ok(())
}

async fn bare_tungstenite(count: usize, tally: Arc<Tally>, tasks: &mut JoinSet<()>) -> Result<(), Failure> {
    let house = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = house.local_addr()?;
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
        let (near, far) = tokio::join!(near, far);
        converse(near?, &tally, tasks);
        converse(far?, &tally, tasks);
    }
    Ok(())
}

fn converse(socket: WebSocketStream<TcpStream>, tally: &Arc<Tally>, tasks: &mut JoinSet<()>) {
    let (beating, counting) = (Arc::clone(tally), Arc::clone(tally));
    let (mut sink, mut stream) = socket.split();
    tasks.spawn(async move {
        let mut beat = steady();
        while beating.goes_on() {
            beat.tick().await;
            if sink.send(Message::Binary(vec![7; PACKET_BYTES].into())).await.is_err() {
                return;
            }
            beating.sent.fetch_add(1, Ordering::Relaxed);
        }
    });
    tasks.spawn(async move {
        while let Some(Ok(_)) = stream.next().await {
            counting.got.fetch_add(1, Ordering::Relaxed);
        }
    });
}
