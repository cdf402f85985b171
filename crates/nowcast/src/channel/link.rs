//! The link under a channel: a session over a network (`session_link/`), or the queues of one machine
//! (`local/link.rs`).

use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use nowcast_engine::carrier::CarrierKind;
use nowcast_engine::{IoThread, Phase};
use nowcast_queue::Key;
use nowcast_wire::{Read, ReadOwned};
use tokio::sync::watch;

use super::shapes::Shapes;
use super::{CommandId, Entry, Error, LaneId, Received, Status};
use crate::published::Subscription;

/// A message to put.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Put<'a> {
    State(Key, &'a [u8]),
    Event(&'a [u8]),
    /// A command with the timeout of its reply.
    Command(&'a [u8], Duration),
    /// A reply to the command of this number.
    Reply(u64, &'a [u8]),
}

/// One end of a channel, shared by all handles of it. Dropping it ends the channel.
///
/// Calls that may have to wait take a waker. With a waker, `Pending` means that the link wakes it when a retry may succeed.
/// Without a waker, nothing is registered.
pub(crate) trait Link: Send + Sync {
    /// Puts a message. `Pending` if the lane is full. Returns the number of an event or command.
    fn poll_put(&self, lane: LaneId, put: Put<'_>, waker: Option<&Waker>) -> Poll<Result<u64, Error>>;

    /// Takes the next message into `bytes`, replacing its content. `Pending` if there is none.
    fn poll_receive(&self, bytes: &mut Vec<u8>, waker: Option<&Waker>) -> Poll<Result<Received, Error>>;

    /// Like [`poll_receive`](Self::poll_receive), but lets the thread sleep until there is a message, at most until the
    /// deadline. Returns `None` at the deadline, or if the link supports only wakers.
    fn receive_asleep(
        &self,
        _bytes: &mut Vec<u8>,
        _deadline: Option<Instant>,
    ) -> Option<Result<Received, Error>> {
        None
    }

    /// Takes the reply to a command of this side.
    fn poll_reply(&self, command: CommandId, waker: &Waker) -> Poll<Result<Vec<u8>, Error>>;

    /// Abandons the reply.
    fn forget_reply(&self, command: CommandId);

    /// Ready when all messages have arrived.
    fn poll_drained(&self, waker: &Waker) -> Poll<Result<(), Error>>;

    fn status(&self) -> Status;

    fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)>;

    fn entry(&self) -> &Entry;

    /// The random number that the accepting side gave the session. A link without sessions has none.
    fn session_id(&self) -> Option<[u8; 8]> {
        None
    }

    /// The types that the two ends have announced to each other.
    fn shapes(&self) -> &Shapes;

    /// Ends the channel at once.
    fn close(&self, code: u32, reason: &str);

    /// Becomes true when the closed channel has sent everything. Returns `None` if closing sends nothing.
    fn watch_left(&self) -> Option<watch::Receiver<bool>> {
        None
    }

    /// Holds messages back until the matching call of [`end_batch`](Self::end_batch).
    fn begin_batch(&self) {}

    fn end_batch(&self) {}

    /// Like [`poll_put`](Self::poll_put) without a waker, within a batch.
    fn put_in_batch(&self, lane: LaneId, put: Put<'_>) -> Poll<Result<u64, Error>> {
        self.poll_put(lane, put, None)
    }

    /// Lets the channel read published values when it sends. Returns the subscription if the link cannot read published values.
    fn subscribe(&self, subscription: Subscription) -> Option<Subscription> {
        Some(subscription)
    }

    /// The I/O thread of the session. A link without a session has none.
    fn thread(&self) -> Option<&IoThread> {
        None
    }

    fn ping(&self) {}

    fn set_bytes_per_second_max(&self, _bytes_per_second_max: Option<u64>) {}
}

impl dyn Link {
    /// Decodes a message of this lane. Decodes the peer's version of the type if the peer announced one, or else exactly this
    /// type.
    pub(crate) fn decode<'de, T: Read<'de>>(&self, lane: LaneId, bytes: &'de [u8]) -> Result<T, Error> {
        match self.shapes().of(lane.number()) {
            Some(announced) => announced.decode(bytes),
            None => super::decode(bytes),
        }
    }

    /// Decodes a reply. Decodes the peer's version of the type if the reply names one, or else exactly this type.
    pub(crate) fn decode_reply<T: ReadOwned>(&self, reply: &[u8]) -> Result<T, Error> {
        match self.shapes().of_reply(reply) {
            Some((announced, message)) => announced.decode(message),
            None => super::decode(reply),
        }
    }
}
