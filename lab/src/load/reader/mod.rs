//! Readers: clients in separate processes. They cost less processor time than the server under load.
//!
//! A reader acknowledges updates, records their times and steps, and sends inputs. It decodes nothing else. The parent sends the
//! orders to each process as a line on standard input, and reads the findings from standard output.

mod frames;
mod measurements;
mod session;
mod stream;

use std::cell::{Cell, RefCell, RefMut};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use nowcast::CarrierKind;
use nowcast_world::STEP_HZ;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines, Stdin};
use tokio::sync::Notify;
use tokio::task::LocalSet;

use self::stream::Dialect;
pub(super) use measurements::Measurements;

/// The angle by which the input turns with each message, in radians, so that consecutive inputs differ.
const TURN: f32 = 0.01;

/// The protocol of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReaderProtocol {
    /// A session over WebTransport.
    WebTransport,
    /// A session over WebSocket.
    WebSocket,
    /// The plain protocol.
    Plain,
    /// The protocol of Colyseus.
    Colyseus,
}

/// The orders for one process of readers. The parent passes these orders when the process starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) protocol: ReaderProtocol,
    pub(super) address: SocketAddr,
    pub(super) room: String,
    /// Number of clients.
    pub(super) clients: u32,
    /// The number of the first client.
    pub(super) first: u32,
    /// Updates a second that each client requests.
    pub(super) hz: u32,
    /// Number of inputs a second from each client; 0 for no inputs.
    pub(super) controls_hz: u32,
    /// Interval between two joins, in milliseconds.
    pub(super) join_interval_ms: u64,
}

impl Orders {
    fn controls_interval(&self) -> Option<Duration> {
        (self.controls_hz > 0).then(|| Duration::from_secs(1) / self.controls_hz)
    }
}

/// Messages of the parent, one on each line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReaderCommand {
    /// Start counting. Earlier updates do not count.
    Begin,
    /// Report the updates since `Begin`.
    End,
}

/// Messages of a process of readers, one on each line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum ReaderReply {
    /// All clients have joined, or have failed. Holds the number of clients that joined.
    Joined(u32),
    /// The updates that the clients received.
    Measurements(Measurements),
}

/// State that the readers of one process share. All of them run on one thread.
struct Shared {
    orders: Orders,
    measurements: RefCell<Measurements>,
    joined: Cell<u32>,
    /// Notified when a client joins or ends.
    changed: Notify,
}

impl Shared {
    fn measurements(&self) -> RefMut<'_, Measurements> {
        self.measurements.borrow_mut()
    }

    fn join(&self) {
        self.joined.set(self.joined.get() + 1);
        self.changed.notify_one();
    }

    fn join_once(&self, is_first: bool) {
        if is_first {
            self.join();
        }
    }

    fn is_complete(&self) -> bool {
        self.joined.get() + self.measurements.borrow().lost >= self.orders.clients
    }
}

/// Makes the inputs of one client: always forward, turning slowly.
#[derive(Debug, Default)]
struct ControlsSent(u16);

impl ControlsSent {
    fn next_yaw(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(1);
        f32::from(self.0 % 600) * TURN
    }

    fn number(&self) -> u16 {
        self.0
    }
}

/// Returns the time of a step in nanoseconds since the world's first step.
fn ns_of_tick(tick: u32) -> u64 {
    u64::from(tick) * 1_000_000_000 / u64::from(STEP_HZ)
}

/// The main function of the hidden command `cargo xtask lab readers`. The function ends when the standard input ends.
///
/// # Errors
/// If the orders cannot be read, or the answers cannot be written.
pub fn main(orders: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let orders: Orders = serde_json::from_str(orders)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    LocalSet::new().block_on(&runtime, read_all(orders))?;
    Ok(())
}

async fn read_all(orders: Orders) -> io::Result<()> {
    let measurements = RefCell::default();
    let shared = Rc::new(Shared { orders, measurements, joined: Cell::new(0), changed: Notify::new() });
    for at in 0..shared.orders.clients {
        let shared = Rc::clone(&shared);
        tokio::task::spawn_local(async move {
            let wait = Duration::from_millis(shared.orders.join_interval_ms) * at;
            tokio::time::sleep(wait).await;
            let why = read_one(&shared, at).await;
            shared.measurements().lose(why);
            shared.changed.notify_one();
        });
    }
    while !shared.is_complete() {
        shared.changed.notified().await;
    }
    send_reply(&ReaderReply::Joined(shared.joined.get()))?;
    let mut commands = BufReader::new(tokio::io::stdin()).lines();
    while let Some(command) = next_command(&mut commands).await? {
        match command {
            ReaderCommand::Begin => shared.measurements().begin(),
            ReaderCommand::End => {
                let measurements = std::mem::take(&mut *shared.measurements());
                send_reply(&ReaderReply::Measurements(measurements))?;
            }
        }
    }
    Ok(())
}

/// Runs one client until it ends. Returns the reason of the end.
async fn read_one(shared: &Shared, at: u32) -> String {
    let Orders { protocol, address, ref room, first, hz, .. } = shared.orders;
    let name = format!("reader-{}", first + at);
    let carrier = match protocol {
        ReaderProtocol::WebTransport => CarrierKind::WebTransport,
        ReaderProtocol::WebSocket => CarrierKind::WebSocket,
        ReaderProtocol::Plain | ReaderProtocol::Colyseus => {
            let dialect = match protocol {
                ReaderProtocol::Plain => {
                    Dialect::Plain { path: format!("/ws/{room}?encoding=msgpack&hz={hz}&name={name}") }
                }
                _ => Dialect::Colyseus { room: room.clone() },
            };
            let Err(error) = stream::read(address, &dialect, shared).await;
            return error.to_string();
        }
    };
    let url = format!("nowcast://{address}/{room}");
    let Err(why) = session::read(&url, carrier, name, shared).await;
    why
}

async fn next_command(commands: &mut Lines<BufReader<Stdin>>) -> io::Result<Option<ReaderCommand>> {
    let Some(line) = commands.next_line().await? else { return Ok(None) };
    serde_json::from_str(&line).map(Some).map_err(io::Error::other)
}

fn send_reply(reply: &ReaderReply) -> io::Result<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, reply)?;
    out.write_all(b"\n")?;
    out.flush()
}
