//! The application's handle: the four verbs over any carrier.
//!
//! | file | content |
//! | --- | --- |
//! | `mod.rs` | [`Channel`]: the connection, and receiving |
//! | `lane.rs`, `batch.rs`, `payload.rs` | putting messages, as bytes or typed |
//! | `shapes.rs` | compatibility between versions of a type |
//! | `link.rs` | the interface of links: a session (`session_link/`), or queues of one machine (`local/`) |
//! | `message.rs`, `status.rs`, `error.rs` | results for the application |
//! | `requeued.rs`, `replies.rs`, `wakers.rs` | shared parts of all links |

mod batch;
mod error;
mod lane;
mod link;
mod message;
mod payload;
mod replies;
mod requeued;
mod shapes;
mod status;
mod wakers;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use nowcast_queue::Key;
use nowcast_session::Closed;
use nowcast_wire::Read;

pub use batch::Batch;
pub use error::Error;
pub use lane::Lane;
pub use message::{CommandId, LaneId, Message, MessageKind, Received};
pub use payload::{Payload, decode};
pub use shapes::{ShapeId, TypeShape};
pub use status::{Status, StatusChanges};

pub(crate) use link::{Link, Put};
pub(crate) use replies::Replies;
pub(crate) use requeued::RequeuedMessages;
pub(crate) use shapes::{Shapes, as_event};
pub(crate) use wakers::{WakerSet, Wakers};

pub use nowcast_admission::Entry;
pub use nowcast_engine::Phase;

use nowcast_engine::carrier::RETIRE_TIME_MAX;

/// Maximum duration of [`Channel::leave`]: one second each for closing the session and the carrier.
pub const LEAVE_TIME_MAX: Duration = Duration::from_secs(1).saturating_add(RETIRE_TIME_MAX);

/// A two-way connection to another program, over the best available carrier.
///
/// A channel is cheap to clone, and all handles are the same channel. When the last handle (or [lane](Lane)) is dropped, the
/// channel closes after its messages have arrived, or after 5 s.
///
/// `try_x` never waits; `x().await` may wait. Threads without a runtime wait by
/// [`blocking::wait`](crate::blocking::wait).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nowcast::{ListenConfig, Listener, MessageKind};
/// use std::time::Duration;
///
/// let listener = Listener::bind(ListenConfig::loopback(0)).await?;
/// let mut service = listener.advertise("doubler").await?;
/// let url = format!("nowcast://127.0.0.1:{}/doubler", listener.port());
/// tokio::spawn(async move {
///     let channel = service.accept().await?;
///     loop {
///         let message = channel.receive().await?;
///         if let MessageKind::Command(id) = message.kind {
///             channel.reply(id, &[2 * message.bytes[0]]).await?;
///         }
///     }
///     # #[allow(unreachable_code)]
///     Ok::<_, nowcast::Error>(())
/// });
/// let channel = nowcast::connect(&url).await?;
/// channel.state(1, b"the newest wins").await?;
/// channel.event(b"delivered once, after the states before it").await?;
/// let reply = channel.command(&[21], Duration::from_secs(5)).await?;
/// assert_eq!(reply, [42]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Channel {
    link: Arc<dyn Link>,
    /// The lane of the calls that have no lane argument.
    first: Lane,
}

impl Channel {
    pub(crate) fn new(link: Arc<dyn Link>) -> Self {
        let first = Lane::new(Arc::clone(&link), LaneId::default());
        Self { link, first }
    }

    pub(crate) fn link(&self) -> &dyn Link {
        &*self.link
    }

    /// Returns a lane with its own order. Both sides limit the number of lanes, 8 by default. The first put returns an
    /// error if the lane does not exist.
    #[must_use]
    pub fn lane(&self, lane: impl Into<LaneId>) -> Lane {
        Lane::new(Arc::clone(&self.link), lane.into())
    }

    /// Puts the newest value of `key` on lane 0; see [`Lane::state`].
    ///
    /// # Errors
    /// See [`Lane::state`].
    pub async fn state(&self, key: impl Into<Key>, value: &[u8]) -> Result<(), Error> {
        self.first.state(key, value).await
    }

    /// Puts the newest value of `key` on lane 0 without waiting; see [`Lane::try_state`].
    ///
    /// # Errors
    /// See [`Lane::try_state`].
    pub fn try_state(&self, key: impl Into<Key>, value: &[u8]) -> Result<(), Error> {
        self.first.try_state(key, value)
    }

    /// Puts an event on lane 0; see [`Lane::event`].
    ///
    /// # Errors
    /// See [`Lane::event`].
    pub async fn event(&self, payload: &[u8]) -> Result<(), Error> {
        self.first.event(payload).await
    }

    /// Puts an event on lane 0 without waiting; see [`Lane::try_event`].
    ///
    /// # Errors
    /// See [`Lane::try_event`].
    pub fn try_event(&self, payload: &[u8]) -> Result<(), Error> {
        self.first.try_event(payload)
    }

    /// Puts a command on lane 0 and waits for its reply; see [`Lane::command`].
    ///
    /// # Errors
    /// See [`Lane::command`].
    pub async fn command(&self, payload: &[u8], timeout: Duration) -> Result<Vec<u8>, Error> {
        self.first.command(payload, timeout).await
    }

    /// Answers a command, on its lane; see [`Lane::reply`].
    ///
    /// # Errors
    /// See [`Lane::reply`].
    pub async fn reply(&self, command: CommandId, payload: &[u8]) -> Result<(), Error> {
        self.first.reply(command, payload).await
    }

    /// Answers a command without waiting; see [`Lane::try_reply`].
    ///
    /// # Errors
    /// See [`Lane::try_reply`].
    pub fn try_reply(&self, command: CommandId, payload: &[u8]) -> Result<(), Error> {
        self.first.try_reply(command, payload)
    }

    /// Puts several messages that leave together: nothing leaves before the batch is dropped. Drop a batch soon, because no
    /// message of the channel leaves while the batch exists.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        Batch::new(&*self.link)
    }

    /// Waits for the next message, and receives it.
    ///
    /// # Errors
    /// The end of the channel, after all messages that had arrived were received.
    pub async fn receive(&self) -> Result<Message, Error> {
        poll_fn(|context| self.poll_receive(context)).await
    }

    /// Receives the next message if there is one.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn try_receive(&self) -> Result<Option<Message>, Error> {
        let mut bytes = Vec::new();
        Ok(self.try_receive_into(&mut bytes)?.map(|received| self.message(received, bytes)))
    }

    /// Waits for the next message, and receives it into a buffer, whose content is replaced. No memory is allocated if the buffer
    /// is large enough.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub async fn receive_into(&self, bytes: &mut Vec<u8>) -> Result<Received, Error> {
        poll_fn(|context| self.link.poll_receive(bytes, Some(context.waker()))).await
    }

    /// Receives the next message into a buffer if there is one; see [`receive_into`](Self::receive_into).
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn try_receive_into(&self, bytes: &mut Vec<u8>) -> Result<Option<Received>, Error> {
        match self.link.poll_receive(bytes, None) {
            Poll::Ready(received) => received.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    /// Receives the next message, or registers the task to be woken when there may be one.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn poll_receive(&self, context: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        let mut bytes = Vec::new();
        let received = self.link.poll_receive(&mut bytes, Some(context.waker()));
        received.map(|received| Ok(self.message(received?, bytes)))
    }

    pub(crate) fn message(&self, received: Received, bytes: Vec<u8>) -> Message {
        Message::new(received, bytes).with_shapes(self.link.shapes())
    }

    /// Decodes a message that was received into a buffer; see [`Message::decode`].
    ///
    /// # Errors
    /// [`Error::Invalid`] if the bytes cannot be read as that type. The error names the field.
    pub fn decode<'de, T: Read<'de>>(&self, received: &Received, bytes: &'de [u8]) -> Result<T, Error> {
        self.link.decode(received.lane, bytes)
    }

    /// The status of the channel.
    #[must_use]
    pub fn status(&self) -> Status {
        self.link.status()
    }

    /// Watches when the channel opens, is interrupted, changes its carrier, or ends.
    #[must_use]
    pub fn status_changes(&self) -> StatusChanges {
        StatusChanges { watch: self.link.watch() }
    }

    /// Returns the endpoint's data about the peer. Empty on the side that connected.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        self.link.entry()
    }

    /// Returns the random number that the accepting side gave the session when the session began; the same on both sides, and
    /// on every carrier. A client can sign it to prove that it has a key. `None` over shared memory and local sockets, and
    /// before the session begins.
    #[must_use]
    pub fn session_id(&self) -> Option<[u8; 8]> {
        self.link.session_id()
    }

    /// Runs a future on the I/O thread of the channel's session, or else as a task of the current tokio runtime. A future that
    /// reads the channel there is woken without another thread.
    pub fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) {
        match self.link.thread() {
            Some(thread) => thread.spawn(job),
            None => drop(tokio::spawn(job)),
        }
    }

    /// Measures the round trip now instead of with the next traffic. [`status`](Self::status) shows it when the answer arrives.
    /// The application at the other end does not notice the measurement. Shared memory has no round trip, so nothing is measured
    /// there.
    pub fn ping(&self) {
        self.link.ping();
    }

    /// Limits the rate, in bytes a second. With `None`, only the path limits it.
    pub fn set_bytes_per_second_max(&self, bytes_per_second_max: Option<u64>) {
        self.link.set_bytes_per_second_max(bytes_per_second_max);
    }

    /// Waits until all messages put before have arrived at the peer.
    ///
    /// # Errors
    /// The end of the channel, if it ended before all messages arrived.
    pub async fn drained(&self) -> Result<(), Error> {
        poll_fn(|context| self.link.poll_drained(context.waker())).await
    }

    /// Closes the channel at once. The peer receives `code` (0, or 64 and above for the application's own codes) and
    /// `reason`. Messages that have not arrived are lost: wait for [`drained`](Self::drained) first, or drop the
    /// channel instead.
    pub fn close(&self, code: u32, reason: &str) {
        self.link.close(code, reason);
    }

    /// Closes the channel like [`close`](Self::close), and waits until the peer has received the close, for at most
    /// [`LEAVE_TIME_MAX`]. A program that calls only `close` and then exits may exit before the close is sent. The peer of such
    /// a program keeps the session until the resume timeout.
    pub async fn leave(&self, code: u32, reason: &str) {
        self.close(code, reason);
        if let Some(mut left) = self.link.watch_left() {
            // A peer that does not receive the close detects the silence later.
            let _ = tokio::time::timeout(LEAVE_TIME_MAX, left.wait_for(|&has_left| has_left)).await;
        }
    }

    /// Waits until the channel is closed.
    pub async fn closed(&self) -> Closed {
        let mut changes = self.status_changes();
        loop {
            if let (Phase::Closed(closed), _) = changes.now() {
                return closed;
            }
            changes.changed().await;
        }
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Channel").field("entry", self.entry()).finish_non_exhaustive()
    }
}
