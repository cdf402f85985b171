//! Limits the bytes sent to an unvalidated address to three times the bytes received from it (RFC 9000, section 8.1). So an
//! attacker that forges a victim's address cannot make this endpoint send more to the victim.
//!
//! quinn begins a datagram while the limit is not reached, and the datagram may exceed the limit. Such a datagram is dropped, as
//! if the network had lost it.

use std::collections::HashMap;
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncTimer, AsyncUdpSocket, Runtime, UdpPoller};

use crate::carrier::QuicRuntime;

/// Minimum size of a first packet. An endpoint drops a smaller one (RFC 9000, section 14.1).
const FIRST_PACKET_BYTES: usize = 1_200;

/// Maximum number of bytes sent for each byte received.
const FACTOR: usize = 3;

/// Time after a failed handshake during which the connection may still send its close.
const LINGER: Duration = Duration::from_secs(10);

/// Maximum number of addresses that are watched at one time.
const ADDRESSES_MAX: usize = 4_096;

/// The unvalidated addresses of one endpoint.
#[derive(Default)]
pub(super) struct Unproven {
    budgets: Mutex<HashMap<SocketAddr, Budget>>,
    /// The number of watched addresses. While it is 0, no address is looked up.
    count: AtomicUsize,
}

struct Budget {
    received: usize,
    sent: usize,
    /// Time at which the address is forgotten, if its handshake has failed.
    until: Option<Instant>,
}

impl Unproven {
    fn lock(&self) -> MutexGuard<'_, HashMap<SocketAddr, Budget>> {
        // The map is consistent after each statement.
        self.budgets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches the handshake of an address that has sent its first packet. Returns `false` if too many are watched already.
    pub(super) fn begin(&self, address: SocketAddr, now: Instant) -> bool {
        let mut budgets = self.lock();
        budgets.retain(|_, budget| budget.until.is_none_or(|until| now < until));
        let is_room = budgets.len() < ADDRESSES_MAX || budgets.contains_key(&address);
        if is_room {
            let budget = budgets.entry(address).or_insert(Budget { received: 0, sent: 0, until: None });
            budget.received += FIRST_PACKET_BYTES;
            budget.until = None;
        }
        self.count.store(budgets.len(), Ordering::Release);
        is_room
    }

    /// Ends the watch, because the address has answered and is therefore not forged.
    pub(super) fn prove(&self, address: SocketAddr) {
        let mut budgets = self.lock();
        budgets.remove(&address);
        self.count.store(budgets.len(), Ordering::Release);
    }

    /// Records that the handshake ended without an answer from the address.
    pub(super) fn fail(&self, address: SocketAddr, now: Instant) {
        if let Some(budget) = self.lock().get_mut(&address) {
            budget.until = Some(now + LINGER);
        }
    }

    fn received(&self, address: SocketAddr, bytes: usize) {
        if self.count.load(Ordering::Acquire) > 0
            && let Some(budget) = self.lock().get_mut(&address)
        {
            budget.received += bytes;
        }
    }

    /// Takes datagrams of one size from the budget of an address. The last datagram may be shorter. Returns the number of bytes
    /// of the datagrams that may be sent.
    fn take(&self, address: SocketAddr, bytes: usize, datagram_bytes: usize) -> usize {
        if self.count.load(Ordering::Acquire) == 0 {
            return bytes;
        }
        let mut budgets = self.lock();
        let Some(budget) = budgets.get_mut(&address) else { return bytes };
        let left = (FACTOR * budget.received).saturating_sub(budget.sent);
        let whole = left / datagram_bytes.max(1) * datagram_bytes;
        let allowed = if bytes <= left { bytes } else { whole };
        budget.sent += allowed;
        allowed
    }
}

/// The runtime of an endpoint that accepts handshakes.
pub(super) struct UnprovenRuntime(pub(super) Arc<Unproven>);

impl fmt::Debug for UnprovenRuntime {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("UnprovenRuntime").finish_non_exhaustive()
    }
}

impl Runtime for UnprovenRuntime {
    fn new_timer(&self, at: Instant) -> Pin<Box<dyn AsyncTimer>> {
        QuicRuntime.new_timer(at)
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        QuicRuntime.spawn(future);
    }

    fn wrap_udp_socket(&self, socket: UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        let socket = QuicRuntime.wrap_udp_socket(socket)?;
        Ok(Arc::new(BoundedSocket { socket, unproven: Arc::clone(&self.0) }))
    }

    fn now(&self) -> Instant {
        QuicRuntime.now()
    }
}

/// A socket that sends no more bytes to unvalidated addresses than their budgets allow.
struct BoundedSocket {
    socket: Arc<dyn AsyncUdpSocket>,
    unproven: Arc<Unproven>,
}

impl fmt::Debug for BoundedSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("BoundedSocket").field("socket", &self.socket).finish_non_exhaustive()
    }
}

impl AsyncUdpSocket for BoundedSocket {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.socket).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        let bytes = transmit.contents.len();
        let datagram_bytes = transmit.segment_size.unwrap_or(bytes);
        let allowed = self.unproven.take(transmit.destination, bytes, datagram_bytes);
        if allowed == bytes {
            return self.socket.try_send(transmit);
        }
        if allowed == 0 {
            return Ok(());
        }
        self.socket.try_send(&Transmit { contents: &transmit.contents[..allowed], ..transmit.clone() })
    }

    fn poll_recv(
        &self,
        context: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        metas: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let polled = self.socket.poll_recv(context, buffers, metas);
        if let Poll::Ready(Ok(count)) = &polled {
            metas.iter().take(*count).for_each(|meta| self.unproven.received(meta.addr, meta.len));
        }
        polled
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unproven_address_is_sent_whole_datagrams_within_three_times_its_bytes() {
        let (unproven, now) = (Unproven::default(), Instant::now());
        let address = SocketAddr::from(([192, 0, 2, 1], 4_433));
        assert_eq!(unproven.take(address, 9_000, 1_200), 9_000, "nobody begins a handshake");
        assert!(unproven.begin(address, now));
        assert_eq!(unproven.take(address, 1_570, 1_200), 1_570);
        assert_eq!(unproven.take(address, 1_570, 1_200), 1_570);
        assert_eq!(unproven.take(address, 1_200, 1_200), 0, "3,140 of 3,600 bytes are used");
        assert_eq!(unproven.take(address, 400, 400), 400);
        unproven.received(address, 1_200);
        assert_eq!(unproven.take(address, 4_800, 1_200), 3_600);
        unproven.prove(address);
        assert_eq!(unproven.take(address, 9_000, 1_200), 9_000);
    }

    #[test]
    fn address_whose_handshake_failed_stays_limited_until_its_connection_is_forgotten() {
        let (unproven, now) = (Unproven::default(), Instant::now());
        let [address, other] = [1, 2].map(|last| SocketAddr::from(([192, 0, 2, last], 4_433)));
        assert!(unproven.begin(address, now));
        unproven.fail(address, now);
        assert_eq!(unproven.take(address, 4_800, 1_200), 3_600);
        assert!(unproven.begin(other, now + LINGER));
        assert_eq!(unproven.take(address, 4_800, 1_200), 4_800, "the address is forgotten");
        for port in 0..u16::try_from(ADDRESSES_MAX).expect("the limit is small") {
            unproven.begin(SocketAddr::from(([192, 0, 2, 3], port)), now + LINGER);
        }
        assert!(!unproven.begin(address, now + LINGER), "no more are watched");
        assert!(unproven.begin(other, now + LINGER), "watched addresses stay watched");
    }
}
