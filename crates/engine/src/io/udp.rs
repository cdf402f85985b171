//! The UDP socket of a QUIC endpoint. Datagrams are read in batches, and all datagrams of a turn leave together.
//!
//! On Linux the datagrams of a turn leave with one system call, `sendmmsg`. Datagrams that the call cannot describe still leave
//! alone: trains of datagrams to one client, which the kernel splits (GSO), and answers from another address than the one that the
//! system chooses (`sources.rs`). On other systems each datagram or train leaves alone.

use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use tokio::io::Interest;
use tokio::net::UdpSocket;

use super::sources::Sources;

/// Maximum number of datagrams that leave with one system call.
const BATCH: usize = 64;
/// Maximum number of datagrams that wait while the kernel's buffer is full. Further datagrams are dropped, as if the network had
/// lost them.
const WAITING_MAX: usize = 4_096;
/// Maximum number of datagrams of a train: those that a session's driver sends in one turn.
const TRAIN_MAX: usize = 4;
/// Maximum size of what the kernel returns as one buffer: a datagram, or several of one peer (GRO).
const RECEIVED_BYTES_MAX: usize = 64 * 1_024;

/// A socket that collects the datagrams of a turn.
pub(crate) struct DatagramSocket {
    io: UdpSocket,
    state: UdpSocketState,
    waiting: Waiting,
    /// Whether the last read returned all datagrams.
    is_drained: bool,
}

/// Datagrams that were read together.
pub(crate) struct Batch {
    buffer: Vec<u8>,
    metas: [RecvMeta; BATCH_SIZE],
}

/// Datagrams that have not left.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    datagrams: Vec<Datagram>,
    sources: Sources,
}

struct Datagram {
    to: SocketAddr,
    /// The end of its bytes.
    end: usize,
}

impl DatagramSocket {
    /// Takes over a non-blocking socket. Must be called within a tokio runtime.
    pub(crate) fn open(socket: std::net::UdpSocket) -> io::Result<Self> {
        let state = UdpSocketState::new((&socket).into())?;
        let io = UdpSocket::from_std(socket)?;
        Ok(Self { io, state, waiting: Waiting::default(), is_drained: false })
    }

    /// Maximum number of equally long datagrams in one [`send`](Self::send).
    pub(crate) fn train_max(&self) -> usize {
        self.state.max_gso_segments().min(TRAIN_MAX)
    }

    /// Reads a batch. Returns the number of its buffers.
    pub(crate) fn poll_receive(
        &mut self,
        context: &mut Context<'_>,
        batch: &mut Batch,
    ) -> Poll<io::Result<usize>> {
        let Self { io, state, is_drained, .. } = self;
        let Batch { buffer, metas } = batch;
        if std::mem::take(is_drained) {
            // Tells the runtime that the socket is empty, without another system call. The kernel reports every datagram that
            // arrives later.
            let is_empty = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
            _ = io.try_io(Interest::READABLE, is_empty);
        }
        loop {
            ready!(io.poll_recv_ready(context))?;
            let mut chunks = buffer.chunks_exact_mut(RECEIVED_BYTES_MAX);
            let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
                std::array::from_fn(|_| IoSliceMut::new(chunks.next().unwrap_or_default()));
            match io.try_io(Interest::READABLE, || state.recv((&*io).into(), &mut slices, metas)) {
                Ok(count) => {
                    *is_drained = count < BATCH_SIZE;
                    return Poll::Ready(Ok(count));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Sends a datagram, or a train of datagrams of one size, in this turn.
    pub(crate) fn send(&mut self, transmit: &Transmit<'_>) {
        let Self { io, state, waiting, .. } = self;
        let is_train = transmit.segment_size.is_some_and(|bytes| bytes < transmit.contents.len());
        let is_alone = is_train || !cfg!(target_os = "linux");
        if is_alone || !waiting.sources.is_chosen(transmit.destination, transmit.src_ip, Instant::now()) {
            match io.try_io(Interest::WRITABLE, || state.send((&*io).into(), transmit)) {
                // The datagrams wait, although the system then chooses the address from which they leave.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Ok(()) => return,
                Err(error) => return tracing::debug!(%error, "a datagram cannot be sent"),
            }
        }
        waiting.add(transmit);
        if waiting.datagrams.len().is_multiple_of(BATCH) {
            self.send_waiting(None);
        }
    }

    /// Ends a turn: sends waiting datagrams until the kernel's buffer is full. The task is then woken when it has space.
    pub(crate) fn flush(&mut self, context: &mut Context<'_>) {
        self.send_waiting(Some(context));
    }

    fn send_waiting(&mut self, mut context: Option<&mut Context<'_>>) {
        let Self { io, state, waiting, .. } = self;
        let mut sent = 0;
        while sent < waiting.datagrams.len() {
            match io.try_io(Interest::WRITABLE, || waiting.send_from(sent, io, state)) {
                Ok(count) => sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    let Some(context) = &mut context else { break };
                    if io.poll_send_ready(context).is_pending() {
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

impl Default for Batch {
    fn default() -> Self {
        Self { buffer: vec![0; BATCH_SIZE * RECEIVED_BYTES_MAX], metas: [RecvMeta::default(); BATCH_SIZE] }
    }
}

impl Batch {
    /// The datagrams of a buffer, and their sender.
    pub(crate) fn received(&self, number: usize) -> (impl Iterator<Item = &[u8]>, &RecvMeta) {
        let meta = &self.metas[number];
        let start = number * RECEIVED_BYTES_MAX;
        (self.buffer[start..start + meta.len].chunks(meta.stride.max(1)), meta)
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
            self.datagrams.push(Datagram { to: transmit.destination, end: self.bytes.len() });
        }
    }

    /// The waiting datagrams from a position on, with their bytes.
    fn from(&self, first: usize) -> impl Iterator<Item = (SocketAddr, &[u8])> {
        let mut start = if first == 0 { 0 } else { self.datagrams[first - 1].end };
        self.datagrams[first..].iter().map(move |datagram| {
            let begin = std::mem::replace(&mut start, datagram.end);
            (datagram.to, &self.bytes[begin..datagram.end])
        })
    }

    /// Sends a batch of datagrams, from a position on. Returns their number.
    #[cfg(target_os = "linux")]
    fn send_from(&self, first: usize, io: &UdpSocket, _: &UdpSocketState) -> io::Result<usize> {
        use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, SocketAddrAny, sendmmsg};
        let batch = || self.from(first).take(BATCH);
        let addresses: Vec<SocketAddrAny> = batch().map(|(to, _)| to.into()).collect();
        let slices: Vec<_> = batch().map(|(_, bytes)| [io::IoSlice::new(bytes)]).collect();
        let mut control: Vec<_> = slices.iter().map(|_| SendAncillaryBuffer::default()).collect();
        let parts = addresses.iter().zip(&slices).zip(&mut control);
        let mut headers: Vec<_> =
            parts.map(|((to, slice), control)| MMsgHdr::new_with_addr(to, slice, control)).collect();
        Ok(sendmmsg(io, &mut headers, SendFlags::empty())?)
    }

    /// Sends a datagram, from a position on. Returns their number.
    #[cfg(not(target_os = "linux"))]
    fn send_from(&self, first: usize, io: &UdpSocket, state: &UdpSocketState) -> io::Result<usize> {
        let Some((destination, contents)) = self.from(first).next() else { return Ok(0) };
        let transmit = Transmit { destination, contents, ecn: None, segment_size: None, src_ip: None };
        state.send(io.into(), &transmit).map(|()| 1)
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

impl fmt::Debug for DatagramSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DatagramSocket").field("io", &self.io).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;

    fn transmit<'a>(destination: SocketAddr, contents: &'a [u8], src_ip: Option<IpAddr>) -> Transmit<'a> {
        Transmit { destination, ecn: None, contents, segment_size: None, src_ip }
    }

    fn open() -> DatagramSocket {
        let socket = std::net::UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        DatagramSocket::open(socket).unwrap()
    }

    #[tokio::test]
    async fn datagrams_of_a_turn_arrive_complete_and_in_order() {
        let (mut near, mut far) = (open(), open());
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, far.io.local_addr().unwrap().port()));
        near.io.writable().await.unwrap();
        for number in 0..100u8 {
            // With and without the address from which the datagram leaves.
            let from = (number % 2 == 0).then_some(IpAddr::from(Ipv4Addr::LOCALHOST));
            let bytes = vec![number; usize::from(number) + 1];
            near.send(&transmit(to, &bytes, from));
        }
        if cfg!(target_os = "linux") {
            assert_eq!(near.waiting.datagrams.len(), 100 - BATCH, "the rest leaves at the end of the turn");
        }
        let flush = |context: &mut Context<'_>| {
            near.flush(context);
            Poll::Ready(())
        };
        std::future::poll_fn(flush).await;
        assert!(near.waiting.datagrams.is_empty() && near.waiting.bytes.is_empty());
        let (mut arrived, mut batch) = (Vec::new(), Batch::default());
        while arrived.len() < 100 {
            let count = std::future::poll_fn(|context| far.poll_receive(context, &mut batch)).await.unwrap();
            for number in 0..count {
                let (datagrams, sender) = batch.received(number);
                arrived.extend(datagrams.map(<[u8]>::to_vec));
                assert_eq!(sender.addr.port(), near.io.local_addr().unwrap().port());
            }
        }
        let sent: Vec<_> = (0..100u8).map(|number| vec![number; usize::from(number) + 1]).collect();
        assert_eq!(arrived, sent);
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
}
