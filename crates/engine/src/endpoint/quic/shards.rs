//! An endpoint on several I/O threads.
//!
//! Each thread has its own socket and endpoint, all on one address. The kernel chooses the socket by the addresses of both
//! ends, so all packets of a client arrive at one thread, which owns the connection. A client whose address changes may arrive
//! at another thread. Therefore each connection ID names its thread, and a packet at the wrong thread is passed on.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::Waker;
use std::time::Duration;

use futures_util::task::AtomicWaker;
use quinn_proto::{ConnectionId, ConnectionIdGenerator, HashedConnectionIdGenerator, InvalidCid};
use quinn_udp::{EcnCodepoint, RecvMeta};

/// Maximum number of datagrams that wait for another thread. Further datagrams are dropped, as if the network had lost them.
const FORWARDED_MAX: usize = 1_024;
/// Set in the first byte of packets with long headers (RFC 9000, section 17.2). Only handshakes have such packets.
const LONG_HEADER: u8 = 0x80;
/// Length of the connection IDs of [`HashedConnectionIdGenerator`].
const ID_BYTES: usize = 8;

/// Makes connection IDs that name the thread of the connection: the first byte, modulo the number of threads.
pub(super) struct ThreadIds {
    ids: HashedConnectionIdGenerator,
    number: u8,
    of: u8,
}

impl ThreadIds {
    /// The threads of an endpoint share a key.
    pub(super) fn new(key: u64, number: u8, of: u8) -> Self {
        Self { ids: HashedConnectionIdGenerator::from_key(key), number, of: of.max(1) }
    }
}

impl ConnectionIdGenerator for ThreadIds {
    fn generate_cid(&mut self) -> ConnectionId {
        loop {
            let id = self.ids.generate_cid();
            if id[0] % self.of == self.number {
                return id;
            }
        }
    }

    fn validate(&self, id: &ConnectionId) -> Result<(), InvalidCid> {
        self.ids.validate(id)
    }

    fn cid_len(&self) -> usize {
        self.ids.cid_len()
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        self.ids.cid_lifetime()
    }
}

/// A datagram for another thread.
pub(super) struct Forwarded {
    pub(super) from: SocketAddr,
    pub(super) to: Option<IpAddr>,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) bytes: Vec<u8>,
}

/// Wakes the loop of an endpoint, and holds the datagrams that other threads have received for it.
#[derive(Default)]
pub(super) struct Inbox {
    task: AtomicWaker,
    forwarded: Mutex<Vec<Forwarded>>,
}

impl Inbox {
    pub(super) fn register(&self, waker: &Waker) {
        self.task.register(waker);
    }

    pub(super) fn wake(&self) {
        self.task.wake();
    }

    /// Takes a datagram from another thread.
    pub(super) fn forward(&self, sender: &RecvMeta, datagram: &[u8]) {
        let mut forwarded = self.lock();
        if forwarded.len() >= FORWARDED_MAX {
            return;
        }
        let (from, to, ecn) = (sender.addr, sender.dst_ip, sender.ecn);
        forwarded.push(Forwarded { from, to, ecn, bytes: datagram.to_vec() });
        drop(forwarded);
        self.wake();
    }

    /// Returns the datagrams from other threads.
    pub(super) fn take(&self) -> Vec<Forwarded> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Forwarded>> {
        self.forwarded.lock().expect("no thread panics while holding the lock")
    }
}

/// The inboxes of all endpoints of an address, in the order of their numbers, when they have been made.
pub(super) type Inboxes = Arc<OnceLock<Vec<Arc<Inbox>>>>;

/// One of the endpoints of an address.
pub(super) struct Shard {
    ids: ThreadIds,
    all: Inboxes,
}

impl Shard {
    pub(super) fn new(ids: ThreadIds, all: Inboxes) -> Self {
        Self { ids, all }
    }

    /// The only endpoint of its address.
    pub(super) fn alone() -> Self {
        Self::new(ThreadIds::new(0, 0, 1), Inboxes::default())
    }

    /// Returns the endpoint to which a datagram belongs, if it is another one.
    pub(super) fn other(&self, datagram: &[u8]) -> Option<&Inbox> {
        if self.ids.of == 1 || datagram.first().is_none_or(|first| first & LONG_HEADER != 0) {
            return None;
        }
        let id = datagram.get(1..=ID_BYTES)?;
        let number = id[0] % self.ids.of;
        if number == self.ids.number || self.ids.validate(&ConnectionId::new(id)).is_err() {
            return None;
        }
        self.all.get()?.get(usize::from(number)).map(Arc::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connection_ids_name_their_thread() {
        for number in 0..3 {
            let mut ids = ThreadIds::new(7, number, 3);
            for _ in 0..100 {
                let id = ids.generate_cid();
                assert_eq!((id.len(), id[0] % 3), (ID_BYTES, number));
                assert!(ids.validate(&id).is_ok() && ThreadIds::new(7, 0, 3).validate(&id).is_ok());
                assert!(ThreadIds::new(8, number, 3).validate(&id).is_err());
            }
        }
    }

    #[test]
    fn packets_at_the_wrong_thread_are_passed_on_up_to_a_limit() {
        let all = Inboxes::default();
        let shard = Shard::new(ThreadIds::new(7, 0, 2), Arc::clone(&all));
        let [mut ours, mut theirs] = [0, 1].map(|number| ThreadIds::new(7, number, 2));
        let packet = |first: u8, id: &[u8]| [&[first], id, &[0; 20]].concat();
        let theirs = packet(0x40, &theirs.generate_cid());
        assert!(shard.other(&theirs).is_none(), "the other thread does not serve yet");
        let inboxes: Vec<_> = (0..2).map(|_| Arc::new(Inbox::default())).collect();
        assert!(all.set(inboxes.clone()).is_ok());
        let other = shard.other(&theirs).expect("the packet belongs to the other thread");
        assert!(std::ptr::eq(other, Arc::as_ptr(&inboxes[1])));
        for datagram in [&packet(0x40, &ours.generate_cid()), &packet(0xc0, &theirs[1..9]), &theirs[..8]] {
            assert!(shard.other(datagram).is_none(), "{datagram:?}");
        }
        let mut forged = theirs.clone();
        forged[8] ^= 1;
        assert!(shard.other(&forged).is_none(), "no thread has made this connection ID");
        (0..2 * FORWARDED_MAX).for_each(|_| other.forward(&RecvMeta::default(), &theirs));
        let waiting = inboxes[1].take();
        assert_eq!((waiting.len(), &waiting[0].bytes), (FORWARDED_MAX, &theirs));
        assert!(inboxes[1].take().is_empty());
    }
}
