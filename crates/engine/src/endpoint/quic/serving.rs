//! The loop of a QUIC endpoint on one socket.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use quinn_proto::{EcnCodepoint, Transmit, VarInt};
use quinn_udp as udp;
use tokio::time::{Sleep, sleep_until};

use super::carrier::QuicCarrier;
use super::core::{Admitted, Core, Outlet};
use super::shards::Forwarded;
use super::shared::Serving;
use crate::io::{Batch, DatagramSocket};

/// Maximum number of reads in a turn, so that a flood does not keep the jobs of sessions from their turns.
const READS_MAX: u32 = 8;
/// Size of a block of memory for datagrams that arrive. A peer that leaves bytes unread keeps whole blocks in use, so a block is
/// small.
const BLOCK_BYTES: usize = 4 * 1_024;
/// Pause after a turn in which each read failed, so that a broken socket does not keep a processor busy.
const BROKEN_PAUSE: Duration = Duration::from_millis(10);
/// QUIC's code of an endpoint that shuts down.
const GOING_AWAY: VarInt = VarInt::from_u32(1);

/// The future that reads and writes the socket of an endpoint.
pub(super) struct Loop {
    serving: Arc<Serving>,
    socket: DatagramSocket,
    batch: Batch,
    /// The block for the next datagrams.
    block: BytesMut,
    sleep: Pin<Box<Sleep>>,
    /// If all reads of a turn failed, the time of the next read.
    retry_at: Option<Instant>,
}

impl Loop {
    pub(super) fn new(serving: Arc<Serving>, socket: DatagramSocket) -> Self {
        let sleep = Box::pin(sleep_until(Instant::now().into()));
        let (batch, block) = (Batch::default(), BytesMut::new());
        Self { serving, socket, batch, block, sleep, retry_at: None }
    }

    /// Reads datagrams until none is left. Returns whether the socket may have more.
    fn receive(&mut self, core: &mut Core, now: Instant, context: &mut Context<'_>) -> bool {
        let Self { serving, socket, batch, block, retry_at, .. } = self;
        if retry_at.is_some_and(|at| now < at) {
            return false;
        }
        *retry_at = None;
        let mut has_worked = false;
        for _ in 0..READS_MAX {
            let Poll::Ready(received) = socket.poll_receive(context, batch) else { return false };
            let count = match received {
                Ok(count) => count,
                Err(error) => {
                    // Such as an ICMP error for an earlier datagram. It concerns no other peer.
                    tracing::debug!(%error, "a datagram cannot be received");
                    continue;
                }
            };
            has_worked = true;
            for number in 0..count {
                let (datagrams, sender) = batch.received(number);
                for datagram in datagrams {
                    if let Some(other) = serving.shard.other(datagram) {
                        other.forward(sender, datagram);
                        continue;
                    }
                    let datagram = copied(block, datagram);
                    let ecn = sender.ecn.map(ecn_of_udp);
                    core.handle(now, sender.addr, sender.dst_ip, ecn, datagram, &mut Out(socket));
                }
            }
        }
        if !has_worked {
            *retry_at = Some(now + BROKEN_PAUSE);
        }
        has_worked
    }

    /// Handles the datagrams that other threads have received for this one.
    fn take_forwarded(&mut self, core: &mut Core, now: Instant) {
        for Forwarded { from, to, ecn, bytes } in self.serving.inbox.take() {
            let ecn = ecn.map(ecn_of_udp);
            core.handle(now, from, to, ecn, BytesMut::from(&bytes[..]), &mut Out(&mut self.socket));
        }
    }

    /// Starts the sessions of admitted clients.
    fn hand_over(&self, admitted: Vec<Admitted>) {
        for Admitted { acceptor, entry, connection } in admitted {
            if let Some(carrier) = QuicCarrier::new(&self.serving, connection) {
                acceptor.hand_over(Box::new(carrier), entry);
            }
        }
    }

    /// Registers the events that must cause another turn.
    fn rest(&mut self, next: Option<Instant>, context: &mut Context<'_>) {
        let Some(at) = next.into_iter().chain(self.retry_at).min() else { return };
        if self.sleep.deadline() != at.into() {
            self.sleep.as_mut().reset(at.into());
        }
        if self.sleep.as_mut().poll(context).is_ready() {
            context.waker().wake_by_ref();
        }
    }
}

impl Future for Loop {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let serving = Arc::clone(&this.serving);
        serving.inbox.register(context.waker());
        let now = Instant::now();
        let mut core = serving.lock();
        let has_more = this.receive(&mut core, now, context);
        this.take_forwarded(&mut core, now);
        core.handle_timeout(now, &mut Out(&mut this.socket));
        if serving.is_closing() {
            core.close_all(now, GOING_AWAY, "going away");
        }
        core.transmit(now, &mut Out(&mut this.socket));
        let (admitted, is_over, next) = (core.take_admitted(), core.is_over(), core.poll_timeout());
        drop(core);
        this.hand_over(admitted);
        this.socket.flush(context);
        if is_over {
            return Poll::Ready(());
        }
        if has_more {
            context.waker().wake_by_ref();
        }
        this.rest(next, context);
        Poll::Pending
    }
}

/// The socket, as the endpoint's core uses it.
struct Out<'a>(&'a mut DatagramSocket);

impl Outlet for Out<'_> {
    fn train_max(&self) -> usize {
        self.0.train_max()
    }

    fn send(&mut self, transmit: &Transmit, bytes: &[u8]) {
        self.0.send(&udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.map(ecn_to_udp),
            contents: bytes,
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        });
    }
}

/// Copies a datagram into a block that several datagrams share. So most datagrams allocate nothing.
fn copied(block: &mut BytesMut, datagram: &[u8]) -> BytesMut {
    if block.capacity() < datagram.len() {
        block.reserve(datagram.len().max(BLOCK_BYTES));
    }
    block.extend_from_slice(datagram);
    block.split()
}

fn ecn_of_udp(ecn: udp::EcnCodepoint) -> EcnCodepoint {
    match ecn {
        udp::EcnCodepoint::Ect0 => EcnCodepoint::Ect0,
        udp::EcnCodepoint::Ect1 => EcnCodepoint::Ect1,
        udp::EcnCodepoint::Ce => EcnCodepoint::Ce,
    }
}

fn ecn_to_udp(ecn: EcnCodepoint) -> udp::EcnCodepoint {
    match ecn {
        EcnCodepoint::Ect0 => udp::EcnCodepoint::Ect0,
        EcnCodepoint::Ect1 => udp::EcnCodepoint::Ect1,
        EcnCodepoint::Ce => udp::EcnCodepoint::Ce,
    }
}
