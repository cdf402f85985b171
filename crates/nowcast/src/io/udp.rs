//! The UDP socket of an I/O thread. The datagrams of a turn leave with one system call, `sendmmsg`.
//!
//! quinn passes each datagram to the system by itself, which costs a system call for each client of a round. Datagrams that the
//! call cannot describe still leave alone: trains of datagrams to one client, which the kernel splits (GSO), and answers from
//! another address than the one that the system chooses (`sources.rs`).

use std::cell::RefCell;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn::udp::{RecvMeta, Transmit, UdpSocketState};
use quinn::{AsyncUdpSocket, UdpPoller};
use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny, sendmmsg};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::sources::Sources;

/// Maximum number of datagrams that leave with one system call.
const BATCH: usize = 64;
/// Maximum number of datagrams that wait while the kernel's buffer is full. Further datagrams are dropped, as if the network had
/// lost them.
const WAITING_MAX: usize = 4_096;

/// Maximum number of datagrams of a train: those that a session's driver sends in one turn. Each connection keeps a buffer for a
/// train.
const TRAIN_MAX: usize = 4;

thread_local! {
    /// The sockets of this thread.
    static SOCKETS: RefCell<Vec<Weak<TurnSocket>>> = const { RefCell::new(Vec::new()) };
}

/// Sends the waiting datagrams of all sockets of this thread.
pub(super) fn end_turn(context: &mut Context<'_>) {
    SOCKETS.with_borrow_mut(|sockets| {
        sockets.retain(|socket| socket.upgrade().inspect(|socket| socket.flush(Some(context))).is_some());
    });
}

/// A socket that collects the datagrams of a turn.
pub(super) struct TurnSocket {
    io: UdpSocket,
    state: UdpSocketState,
    waiting: Mutex<Waiting>,
    /// Whether the last read returned all datagrams.
    is_drained: AtomicBool,
}

/// Datagrams that have not left.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    datagrams: Vec<Datagram>,
    sources: Sources,
}

struct Datagram {
    to: SocketAddrAny,
    /// The end of its bytes.
    end: usize,
}

impl TurnSocket {
    /// Takes over a socket. Must be called on an I/O thread.
    pub(super) fn open(socket: std::net::UdpSocket) -> io::Result<Arc<Self>> {
        let state = UdpSocketState::new((&socket).into())?;
        let io = UdpSocket::from_std(socket)?;
        let socket =
            Arc::new(Self { io, state, waiting: Mutex::default(), is_drained: AtomicBool::new(false) });
        SOCKETS.with_borrow_mut(|sockets| sockets.push(Arc::downgrade(&socket)));
        Ok(socket)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // A batch that was interrupted by a panic is sent again.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends waiting datagrams until the kernel's buffer is full. `context` is then woken when it has space.
    fn flush(&self, mut context: Option<&mut Context<'_>>) {
        let waiting = &mut *self.lock();
        let mut sent = 0;
        while sent < waiting.datagrams.len() {
            match self.io.try_io(Interest::WRITABLE, || waiting.send_from(sent, &self.io)) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let Some(context) = &mut context else { break };
                    if self.io.poll_send_ready(context).is_pending() {
                        break;
                    }
                }
                Err(error) => {
                    tracing::debug!(%error, "a datagram cannot be sent");
                    sent += 1;
                }
            }
        }
        waiting.forget(sent);
    }
}

impl Waiting {
    fn add(&mut self, transmit: &Transmit<'_>) {
        let segment_bytes = transmit.segment_size.unwrap_or(transmit.contents.len()).max(1);
        for datagram in transmit.contents.chunks(segment_bytes) {
            if self.datagrams.len() >= WAITING_MAX {
                return;
            }
            self.bytes.extend_from_slice(datagram);
            self.datagrams.push(Datagram { to: transmit.destination.into(), end: self.bytes.len() });
        }
    }

    /// Sends a batch of datagrams, from a position on. Returns their number.
    fn send_from(&self, first: usize, socket: &UdpSocket) -> io::Result<usize> {
        let batch = &self.datagrams[first..];
        let batch = &batch[..batch.len().min(BATCH)];
        let mut start = if first == 0 { 0 } else { self.datagrams[first - 1].end };
        let slices: Vec<_> = batch
            .iter()
            .map(|datagram| {
                [IoSlice::new(&self.bytes[std::mem::replace(&mut start, datagram.end)..datagram.end])]
            })
            .collect();
        let mut control: Vec<_> = batch.iter().map(|_| SendAncillaryBuffer::default()).collect();
        let parts = batch.iter().zip(&slices).zip(&mut control);
        let mut headers: Vec<_> = parts
            .map(|((datagram, slice), control)| MMsgHdr::new_with_addr(&datagram.to, slice, control))
            .collect();
        Ok(sendmmsg(socket, &mut headers, SendFlags::empty())?)
    }

    /// Removes the first datagrams.
    fn forget(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        let bytes = self.datagrams[count - 1].end;
        self.bytes.drain(..bytes);
        self.datagrams.drain(..count);
        self.datagrams.iter_mut().for_each(|datagram| datagram.end -= bytes);
    }
}

impl fmt::Debug for TurnSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("TurnSocket").field("io", &self.io).finish_non_exhaustive()
    }
}

/// The socket accepts datagrams at any time, because they wait in its own list.
#[derive(Debug)]
struct AlwaysWritable;

impl UdpPoller for AlwaysWritable {
    fn poll_writable(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

impl AsyncUdpSocket for TurnSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Box::pin(AlwaysWritable)
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let mut waiting = self.lock();
        let is_train = transmit.segment_size.is_some_and(|bytes| bytes < transmit.contents.len());
        if is_train || !waiting.sources.is_chosen(transmit.destination, transmit.src_ip, Instant::now()) {
            let send = || self.state.send((&self.io).into(), transmit);
            match self.io.try_io(Interest::WRITABLE, send) {
                // The datagrams wait, although the system then chooses the address from which they leave.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => return sent,
            }
        }
        waiting.add(transmit);
        if waiting.datagrams.len().is_multiple_of(BATCH) {
            drop(waiting);
            self.flush(None);
        }
        Ok(())
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        if self.is_drained.swap(false, Ordering::Relaxed) {
            // Tells the runtime that the socket is empty, without another system call. The kernel reports every datagram that
            // arrives later.
            let is_empty = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            _ = self.io.try_io(Interest::READABLE, is_empty);
        }
        loop {
            ready!(self.io.poll_recv_ready(context))?;
            let read = || self.state.recv((&self.io).into(), buffers, metas);
            if let Ok(count) = self.io.try_io(Interest::READABLE, read) {
                self.is_drained.store(count < buffers.len(), Ordering::Relaxed);
                return Poll::Ready(Ok(count));
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.io.local_addr()
    }

    fn may_fragment(&self) -> bool {
        self.state.may_fragment()
    }

    fn max_transmit_segments(&self) -> usize {
        self.state.max_gso_segments().min(TRAIN_MAX)
    }

    fn max_receive_segments(&self) -> usize {
        self.state.gro_segments()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};
    use std::num::NonZeroUsize;

    use super::*;
    use crate::io::IoThreads;

    fn transmit<'a>(destination: SocketAddr, contents: &'a [u8], src_ip: Option<IpAddr>) -> Transmit<'a> {
        Transmit { destination, ecn: None, contents, segment_size: None, src_ip }
    }

    #[test]
    fn datagrams_of_a_turn_arrive_complete_and_in_order() {
        let threads = IoThreads::start(NonZeroUsize::MIN).unwrap();
        let reader = std::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let to = reader.local_addr().unwrap();
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let thread = threads.next();
        let socket = thread.run(|| TurnSocket::open(non_blocking()).unwrap()).unwrap();
        let (tell, is_writable) = std::sync::mpsc::channel();
        let opened = Arc::clone(&socket);
        thread.spawn(async move { tell.send(opened.io.writable().await.is_ok()).unwrap() });
        assert_eq!(is_writable.recv(), Ok(true));
        let sends = move || {
            for number in 0..100u8 {
                // With and without the address from which the datagram leaves.
                let from = (number % 2 == 0).then_some(here);
                let bytes = vec![number; usize::from(number) + 1];
                socket.try_send(&transmit(to, &bytes, from)).unwrap();
            }
            let waiting = socket.lock().datagrams.len();
            // The rest leaves at the end of the turn.
            (waiting, socket)
        };
        let (waiting, _socket) = thread.run(sends).unwrap();
        assert_eq!(waiting, 100 - BATCH);
        let mut bytes = [0; 256];
        for number in 0..100u8 {
            let length = reader.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..length], &vec![number; usize::from(number) + 1]);
        }
    }

    #[test]
    fn datagrams_that_the_kernel_does_not_take_wait_up_to_a_limit() {
        let mut waiting = Waiting::default();
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        for number in 0..WAITING_MAX + 10 {
            waiting.add(&transmit(to, &[number as u8], None));
        }
        assert_eq!((waiting.datagrams.len(), waiting.bytes.len()), (WAITING_MAX, WAITING_MAX));
        waiting.forget(WAITING_MAX - 1);
        assert_eq!((waiting.bytes.as_slice(), waiting.datagrams[0].end), (&[(WAITING_MAX - 1) as u8][..], 1));
    }

    fn non_blocking() -> std::net::UdpSocket {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }
}
