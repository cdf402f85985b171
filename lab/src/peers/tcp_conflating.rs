//! TCP with a conflating sender. Before each piece, the sender asks with `poll` whether the kernel would send the piece at
//! once. Only then does the sender decide the content of the piece: events first, then the newest values.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::SockRef;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::frame::{self, Deframer};
use super::{Connection, End, PeerError, Work, tcp};
use crate::peers::Message;

/// Maximum number of unsent bytes in the kernel. `poll` reports room if the kernel holds at most half of this number.
pub(super) const BACKLOG_BYTES: u32 = 4 * 1_024;
/// Number of bytes that are written at once. The content is decided before each piece.
pub(super) const PIECE_BYTES: usize = 1_400;
/// Maximum number of reads before the program asks for their messages.
const UNREAD_MAX: usize = 16;

pub(super) struct TcpConflating {
    socket: TcpStream,
    shared: Arc<Shared>,
    arrived: mpsc::Receiver<Vec<u8>>,
    incoming: Deframer,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

/// Messages that were put and are not yet part of a piece.
#[derive(Default)]
pub(super) struct Waiting {
    events: VecDeque<Vec<u8>>,
    /// The newest value of every key that waits. The next field is the order in which the keys began to wait.
    values: HashMap<u16, Vec<u8>>,
    order: VecDeque<u16>,
    is_over: bool,
}

impl Waiting {
    pub(super) fn put(&mut self, key: u16, bytes: &[u8]) {
        if key == 0 {
            self.events.push_back(bytes.to_vec());
        } else if self.values.insert(key, bytes.to_vec()).is_none() {
            self.order.push_back(key);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty() && self.order.is_empty()
    }

    /// Decides the content of a piece.
    pub(super) fn fill(&mut self, piece: &mut Vec<u8>) {
        while piece.len() < PIECE_BYTES {
            if let Some(event) = self.events.pop_front() {
                frame::push(piece, 0, &event);
            } else if let Some(key) = self.order.pop_front() {
                let value = self.values.remove(&key).expect("a key that waits has a value");
                frame::push(piece, key, &value);
            } else {
                return;
            }
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Opens a stream with few unsent bytes in the kernel. It uses BBR if the kernel supports it.
pub(super) async fn stream(
    end: End,
    address: SocketAddr,
    listening: &mut dyn FnMut(),
) -> Result<tokio::net::TcpStream, PeerError> {
    let congestion_control = if tcp::has_bbr() { "bbr" } else { "cubic" };
    let stream = tcp::stream(end, address, Some(congestion_control), listening).await?;
    let set = SockRef::from(&stream).set_tcp_notsent_lowat(BACKLOG_BYTES);
    set.map_err(PeerError::socket("set TCP_NOTSENT_LOWAT"))?;
    Ok(stream)
}

impl TcpConflating {
    pub(super) async fn open(
        end: End,
        address: SocketAddr,
        listening: &mut dyn FnMut(),
    ) -> Result<Self, PeerError> {
        let stream = stream(end, address, listening).await?;
        let open = || -> io::Result<Self> {
            let socket = stream.into_std()?;
            socket.set_nonblocking(false)?;
            let (writing, reading) = (socket.try_clone()?, socket.try_clone()?);
            let shared = Arc::new(Shared::default());
            let (arrivals, arrived) = mpsc::channel(UNREAD_MAX);
            let theirs = Arc::clone(&shared);
            // Both threads end with the socket, which is shut down when the connection is dropped.
            thread::spawn(move || write(writing, &theirs));
            thread::spawn(move || read(reading, &arrivals));
            Ok(Self { socket, shared, arrived, incoming: Deframer::default() })
        };
        open().map_err(PeerError::socket("share the socket"))
    }
}

/// Writes until the connection ends.
fn write(mut socket: TcpStream, shared: &Shared) {
    let mut piece = Vec::new();
    loop {
        let something =
            shared.changed.wait_while(shared.lock(), |waiting| waiting.is_empty() && !waiting.is_over);
        drop(something);
        if wait_for_room(&socket).is_err() {
            return;
        }
        let mut waiting = shared.lock();
        if waiting.is_over {
            return;
        }
        waiting.fill(&mut piece);
        drop(waiting);
        if socket.write_all(&piece).is_err() {
            return;
        }
        piece.clear();
    }
}

fn wait_for_room(socket: &TcpStream) -> Result<(), Errno> {
    loop {
        let mut asked = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut asked, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            polled => return polled.map(drop),
        }
    }
}

/// Reads until the connection ends. The channel then closes, by which the program notices the end.
fn read(mut socket: TcpStream, arrivals: &mpsc::Sender<Vec<u8>>) {
    let mut buffer = [0; 16 * 1_024];
    while let Ok(length @ 1..) = socket.read(&mut buffer) {
        if arrivals.blocking_send(buffer[..length].to_vec()).is_err() {
            return;
        }
    }
}

impl Connection for TcpConflating {
    fn put(&mut self, key: u16, bytes: &[u8]) -> Result<(), PeerError> {
        self.shared.lock().put(key, bytes);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.shared.changed.notify_one();
        Ok(())
    }

    fn work<'a>(&'a mut self, until: Instant, messages_max: usize, inbox: &'a mut Vec<Message>) -> Work<'a> {
        Box::pin(frame::receive(&mut self.arrived, &mut self.incoming, until, messages_max, inbox))
    }
}

impl Drop for TcpConflating {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.changed.notify_one();
        // The shutdown wakes both threads. If the socket is already closed, they have ended.
        let _ = self.socket.shutdown(Shutdown::Both);
    }
}
