//! The four verbs over any carrier.

mod core;
mod kept;
mod local;
mod message;
mod status;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::Stream;
use nowcast_session::{CloseCode, Closed, Refused};

pub use self::core::Source;
pub(crate) use self::core::{Core, Guarded, Shared};
use self::local::Envelope;
pub(crate) use self::local::{LANES as LOCAL_LANES, Local};
pub use message::{CommandId, Message, MessageKind};
pub use status::{Phase, Status, StatusChanges};

use crate::acceptor::Entry;
use crate::carrier::RETIRE_TIME_MAX;
use crate::clock;

/// A dropped channel stays so long to deliver what was put.
const LINGER: Duration = Duration::from_secs(5);

/// The longest time that [`Channel::leave`] takes: that of the session's farewell and that of its carrier's, one second each.
pub const LEAVE_TIME_MAX: Duration = Duration::from_secs(1).saturating_add(RETIRE_TIME_MAX);

/// A two-way connection to another task, on the best carrier there is.
///
/// All verbs take `&self`: share a channel between threads or tasks by [`Arc`]. Dropping it closes it after what was put
/// has arrived, or after 5 s.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nowcast::{ListenConfig, Listener, MessageKind};
/// use std::time::{Duration, Instant};
///
/// let listener = Listener::bind(ListenConfig::loopback(0)).await?;
/// let mut service = listener.advertise("doubler").await?;
/// let url = format!("nowcast://127.0.0.1:{}/doubler", listener.port());
/// tokio::spawn(async move {
///     let channel = service.accept().await?;
///     loop {
///         let message = channel.receive().await?;
///         if let MessageKind::Command(id) = message.kind {
///             channel.reply(id, &[2 * message.bytes[0]])?;
///         }
///     }
///     # #[allow(unreachable_code)]
///     Ok::<_, nowcast::Error>(())
/// });
/// let channel = nowcast::connect(&url).await?;
/// channel.state(1, b"the newest wins")?;
/// channel.event(b"delivered once, after the states before it")?;
/// let reply = channel.command(&[21], Instant::now() + Duration::from_secs(5)).await?;
/// assert_eq!(reply, [42]);
/// # Ok(())
/// # }
/// ```
pub struct Channel {
    link: Link,
    entry: Entry,
}

/// What is below a channel.
enum Link {
    /// A session and its driver, over a network.
    Session(Arc<Shared>),
    /// The ends of queues between tasks of one machine.
    Local(Box<Local>),
}

/// What can go wrong with an open channel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The channel is over.
    #[error(transparent)]
    Closed(#[from] Closed),
    /// A put was not taken; nothing that was accepted before is lost by it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No reply came before the deadline. It is dropped and counted if it comes later.
    #[error("no reply came before the deadline")]
    TimedOut,
    /// The reply stands behind more messages than this side keeps: receive them, then ask again.
    #[error("too many messages wait to be received before the reply")]
    Behind,
}

impl Channel {
    pub(crate) fn new(shared: Arc<Shared>, entry: Entry) -> Self {
        Self { link: Link::Session(shared), entry }
    }

    pub(crate) fn local(queues: crate::local::backend::Queues, entry: Entry) -> Self {
        Self { link: Link::Local(Box::new(Local::new(queues))), entry }
    }

    /// Puts the newest value of `key` on lane 0; see [`Lane::state`].
    ///
    /// # Errors
    /// See [`Lane::state`].
    pub fn state(&self, key: u64, value: &[u8]) -> Result<(), Error> {
        self.lane(0).state(key, value)
    }

    /// Puts an event on lane 0; see [`Lane::event`].
    ///
    /// # Errors
    /// See [`Lane::event`].
    pub fn event(&self, payload: &[u8]) -> Result<(), Error> {
        self.lane(0).event(payload)
    }

    /// Puts an event on lane 0, waiting while the lane is full.
    ///
    /// # Errors
    /// See [`Lane::event`].
    pub async fn event_wait(&self, payload: &[u8]) -> Result<(), Error> {
        self.lane(0).event_wait(payload).await
    }

    /// Puts an event on lane 0 that is given up after `lifetime`; see [`Lane::event_with_lifetime`].
    ///
    /// # Errors
    /// See [`Lane::event`].
    pub fn event_with_lifetime(&self, payload: &[u8], lifetime: Duration) -> Result<u64, Error> {
        self.lane(0).event_with_lifetime(payload, lifetime)
    }

    /// Puts a command on lane 0 and waits for its reply; see [`Lane::command`].
    ///
    /// # Errors
    /// See [`Lane::command`].
    pub async fn command(&self, payload: &[u8], deadline: Instant) -> Result<Vec<u8>, Error> {
        self.lane(0).command(payload, deadline).await
    }

    /// Answers a command.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane holds as much as it may, and whatever ended the channel.
    pub fn reply(&self, command: CommandId, payload: &[u8]) -> Result<(), Error> {
        match &self.link {
            Link::Session(shared) => {
                let mut core = shared.lock();
                let put = core.session.put_reply(clock::now(), command.lane, command.number, payload);
                core.put(put)
            }
            Link::Local(local) => {
                local.lock().put_enveloped(command.lane, Envelope::Reply(command.number), payload)
            }
        }
    }

    /// A lane of its own order; there are as many as both sides accept, 8 by default.
    #[must_use]
    pub fn lane(&self, lane: u8) -> Lane<'_> {
        Lane { channel: self, lane }
    }

    /// Puts many messages at once: nothing leaves before the batch is dropped, so that what belongs together travels
    /// together. The channel can be used meanwhile, but nothing else leaves either: drop a batch soon.
    #[must_use]
    pub fn batch(&self) -> Batch<'_> {
        match &self.link {
            Link::Session(shared) => {
                shared.lock().open_batches += 1;
                Batch { puts: Puts::Session(shared, clock::now()) }
            }
            Link::Local(local) => Batch { puts: Puts::Local(local) },
        }
    }

    /// Receives the next message, waiting for one.
    ///
    /// # Errors
    /// How the channel ended, once everything that had arrived was received.
    pub async fn receive(&self) -> Result<Message, Error> {
        poll_fn(|context| self.poll_receive(context)).await
    }

    /// Receives the next message if there is one.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn try_receive(&self) -> Result<Option<Message>, Error> {
        match &self.link {
            Link::Session(shared) => shared.lock().next_message(),
            Link::Local(local) => {
                let mut state = local.lock();
                let received = match state.poll_message(None) {
                    Poll::Ready(received) => received.map(Some),
                    Poll::Pending => Ok(None),
                };
                local.tell(&state);
                received
            }
        }
    }

    /// Receives the next message, or arranges for the task to be woken when there may be one.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub fn poll_receive(&self, context: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        let shared = match &self.link {
            Link::Session(shared) => shared,
            Link::Local(local) => {
                let mut state = local.lock();
                let received = state.poll_message(Some(context));
                local.tell(&state);
                return received;
            }
        };
        let mut core = shared.lock();
        match core.next_message() {
            Ok(Some(message)) => Poll::Ready(Ok(message)),
            Err(error) => Poll::Ready(Err(error)),
            Ok(None) => {
                core.wait_to_read(context.waker());
                Poll::Pending
            }
        }
    }

    /// The messages as a stream, which ends when the peer is done.
    #[must_use]
    pub fn messages(&self) -> Messages<'_> {
        Messages { channel: self }
    }

    /// The events that were given up at the end of their lifetime since this was last asked: lane, and what
    /// [`event_with_lifetime`](Self::event_with_lifetime) returned.
    #[must_use]
    pub fn take_expired(&self) -> Vec<(u8, u64)> {
        self.session().map_or_else(Vec::new, |mut core| core.take_expired())
    }

    /// How the channel is.
    #[must_use]
    pub fn status(&self) -> Status {
        match &self.link {
            Link::Session(shared) => shared.lock().status(),
            Link::Local(local) => local.status(),
        }
    }

    /// For how long an answer of the peer has been awaited without anything arriving; zero while none is. Where it
    /// is much more than the round trip, the peer has gone or the path is cut, and neither may have been noticed.
    #[must_use]
    pub fn silence(&self) -> Duration {
        let since = self.session().and_then(|core| core.session.unanswered_since());
        since.map_or(Duration::ZERO, |since| clock::now().since(since))
    }

    /// Hears when it opens, is interrupted, changes its carrier, or ends.
    #[must_use]
    pub fn status_changes(&self) -> StatusChanges {
        let watch = match &self.link {
            Link::Session(shared) => shared.lock().watch(),
            Link::Local(local) => local.watch(),
        };
        StatusChanges { watch }
    }

    /// Who is at the other end, as far as the endpoint knows. Empty on the side that connected.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        &self.entry
    }

    /// Feeds the lanes that are configured for it from `source`. Call [`source_has_more`](Self::source_has_more) when it
    /// has something new. Over shared memory there are no packets to fill, and it is never asked.
    pub fn set_source(&self, source: Box<dyn Source>) {
        if let Some(mut core) = self.session() {
            core.source = Some(source);
            core.wake_driver();
        }
    }

    /// The replication source has something to send.
    pub fn source_has_more(&self) {
        if let Some(mut core) = self.session() {
            core.wake_driver();
        }
    }

    /// Measures the round trip now rather than with the next traffic; [`status`](Self::status) tells it when the answer is
    /// there. The application at the other end does not notice. Through shared memory nothing travels, and nothing is measured.
    pub fn ping(&self) {
        if let Some(mut core) = self.session() {
            core.session.ping();
            core.wake_driver();
        }
    }

    /// Never send faster than this, in bytes a second; `None` for as fast as the path takes it.
    pub fn set_bytes_per_second_max(&self, bytes_per_second_max: Option<u64>) {
        if let Some(mut core) = self.session() {
            core.session.set_bytes_per_second_max(bytes_per_second_max);
        }
    }

    /// Waits until all that was put has arrived at the peer.
    ///
    /// # Errors
    /// How the channel ended, if it did before.
    pub async fn drained(&self) -> Result<(), Error> {
        poll_fn(|context| {
            let mut core = match &self.link {
                Link::Session(shared) => shared.lock(),
                Link::Local(local) => return local.lock().poll_drained(context).map(Ok),
            };
            if core.session.is_drained() {
                return Poll::Ready(Ok(()));
            }
            if let Some(closed) = core.closed() {
                return Poll::Ready(Err(Error::Closed(closed)));
            }
            core.wait_to_write(context.waker());
            Poll::Pending
        })
        .await
    }

    /// Ends the channel at once; the peer is told `code` (0, or 64 and above for the application's own) and `reason`. What
    /// has not arrived is given up: wait for [`drained`](Self::drained) first, or drop the channel instead.
    pub fn close(&self, code: u32, reason: &str) {
        match &self.link {
            Link::Session(shared) => shared.lock().close(clock::now(), CloseCode(code), reason),
            Link::Local(local) => local.close(CloseCode(code), reason),
        }
    }

    /// Ends the channel as [`close`](Self::close) does, and waits until the peer has been told, as far as it listens, for at
    /// most [`LEAVE_TIME_MAX`]. A program that ends right after a mere `close` may be gone before its farewell has left, and
    /// then its peer keeps the session until the resume time-out.
    pub async fn leave(&self, code: u32, reason: &str) {
        self.close(code, reason);
        let left = self.session().map(|core| core.watch_left());
        if let Some(mut left) = left {
            // A peer that does not listen notices the silence.
            let _ = tokio::time::timeout(LEAVE_TIME_MAX, left.wait_for(|&has_left| has_left)).await;
        }
    }

    /// Waits until the channel is over.
    pub async fn closed(&self) -> Closed {
        let mut changes = self.status_changes();
        loop {
            if let (Phase::Closed(closed), _) = changes.now() {
                return closed;
            }
            changes.changed().await;
        }
    }

    /// The session, if there is one.
    fn session(&self) -> Option<MutexGuard<'_, Core>> {
        match &self.link {
            Link::Session(shared) => Some(shared.lock()),
            Link::Local(_) => None,
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        if let Some(mut core) = self.session() {
            core.lingers_until = Some(clock::now() + LINGER);
            core.wake_driver();
        }
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Channel").field("entry", &self.entry).finish_non_exhaustive()
    }
}

/// One lane of a channel: an order of its own. Put what need not wait for each other on different lanes.
#[derive(Clone, Copy, Debug)]
pub struct Lane<'a> {
    channel: &'a Channel,
    lane: u8,
}

impl Lane<'_> {
    /// Puts the newest value of `key`, at least 1: it replaces one that was not sent yet. Never waits.
    ///
    /// # Errors
    /// [`Refused::Full`] when the key is new to a lane that is full, and whatever ended the channel.
    pub fn state(&self, key: u64, value: &[u8]) -> Result<(), Error> {
        match &self.channel.link {
            Link::Session(shared) => {
                let mut core = shared.lock();
                let put = core.session.put_state(clock::now(), self.lane, key, value);
                core.put(put)
            }
            Link::Local(local) => local.lock().put_state(self.lane, key, value),
        }
    }

    /// Puts an event, which is delivered exactly once, in order, and after the states it was put after. Never waits.
    ///
    /// # Errors
    /// [`Refused::Full`] when the lane holds as much as it may, and whatever ended the channel.
    pub fn event(&self, payload: &[u8]) -> Result<(), Error> {
        match &self.channel.link {
            Link::Session(shared) => {
                let mut core = shared.lock();
                let put = core.session.put_event(clock::now(), self.lane, payload, None);
                core.put(put).map(drop)
            }
            Link::Local(local) => local.lock().put_enveloped(self.lane, Envelope::Event, payload),
        }
    }

    /// As [`event`](Self::event), but waits while the lane is full.
    ///
    /// # Errors
    /// Whatever ended the channel.
    pub async fn event_wait(&self, payload: &[u8]) -> Result<(), Error> {
        let shared = match &self.channel.link {
            Link::Session(shared) => shared,
            Link::Local(local) => {
                return poll_fn(|context| local.lock().poll_put_event(context, self.lane, payload)).await;
            }
        };
        poll_fn(|context| match self.event(payload) {
            Err(Error::Refused(Refused::Full)) => {
                shared.lock().wait_to_write(context.waker());
                // Room may have come between the two locks.
                match self.event(payload) {
                    Err(Error::Refused(Refused::Full)) => Poll::Pending,
                    done => Poll::Ready(done),
                }
            }
            done => Poll::Ready(done),
        })
        .await
    }

    /// As [`event`](Self::event), but given up if it was not acknowledged after `lifetime`, which
    /// [`Channel::take_expired`] then tells by the name returned here.
    ///
    /// # Errors
    /// As [`event`](Self::event).
    pub fn event_with_lifetime(&self, payload: &[u8], lifetime: Duration) -> Result<u64, Error> {
        match &self.channel.link {
            Link::Session(shared) => {
                let mut core = shared.lock();
                let put = core.session.put_event(clock::now(), self.lane, payload, Some(lifetime));
                core.put(put)
            }
            // It has arrived as soon as it is put.
            Link::Local(local) => local.lock().put_enveloped(self.lane, Envelope::Event, payload).map(|()| 0),
        }
    }

    /// Puts a command and waits for its reply. What else arrives meanwhile is received afterwards.
    ///
    /// # Errors
    /// [`Error::TimedOut`] at the deadline, [`Error::Behind`] when more arrives before the reply than this side keeps,
    /// [`Refused::Full`], and whatever ended the channel.
    pub async fn command(&self, payload: &[u8], deadline: Instant) -> Result<Vec<u8>, Error> {
        let shared = match &self.channel.link {
            Link::Session(shared) => shared,
            Link::Local(local) => return command_local(local, self.lane, payload, deadline).await,
        };
        let now = clock::now();
        let mut reply = {
            let mut core = shared.lock();
            let patience = clock::at(deadline).since(now);
            let put = core.session.put_command(now, self.lane, payload, patience);
            let command = core.put(put)?;
            core.await_reply(self.lane, command)
        };
        poll_fn(|context| {
            let mut core = shared.lock();
            let behind = core.pump_for_reply();
            match Pin::new(&mut reply).poll(context) {
                Poll::Ready(Ok(reply)) => return Poll::Ready(reply),
                // Only the end of the channel forgets who waits.
                Poll::Ready(Err(_)) => {
                    let closed = core.closed().map_or(Error::TimedOut, Error::Closed);
                    return Poll::Ready(Err(closed));
                }
                Poll::Pending => behind?,
            }
            core.wait_to_read(context.waker());
            Poll::Pending
        })
        .await
    }
}

async fn command_local(local: &Local, lane: u8, payload: &[u8], deadline: Instant) -> Result<Vec<u8>, Error> {
    let mut reply = local.lock().put_command(lane, payload, deadline)?;
    let waiting = poll_fn(|context| {
        let mut state = local.lock();
        let behind = state.pump_for_reply(context);
        local.tell(&state);
        match Pin::new(&mut reply).poll(context) {
            Poll::Ready(Ok(reply)) => Poll::Ready(reply),
            Poll::Ready(Err(_)) => Poll::Ready(Err(state.closed().map_or(Error::TimedOut, Error::Closed))),
            Poll::Pending => behind.map_or_else(|error| Poll::Ready(Err(error)), |()| Poll::Pending),
        }
    });
    tokio::select! {
        reply = waiting => reply,
        () = local::until(deadline) => Err(Error::TimedOut),
    }
}

/// Several puts as one; see [`Channel::batch`].
pub struct Batch<'a> {
    puts: Puts<'a>,
}

enum Puts<'a> {
    Session(&'a Shared, nowcast_session::Time),
    Local(&'a Local),
}

impl Batch<'_> {
    /// As [`Lane::state`].
    ///
    /// # Errors
    /// As [`Lane::state`].
    pub fn state(&mut self, lane: u8, key: u64, value: &[u8]) -> Result<(), Error> {
        match &mut self.puts {
            Puts::Session(shared, now) => {
                let mut core = shared.lock();
                let now = core.looked_at.max(*now);
                let put = core.session.put_state(now, lane, key, value);
                core.explain(put)
            }
            Puts::Local(local) => local.lock().put_state(lane, key, value),
        }
    }

    /// As [`Lane::event`].
    ///
    /// # Errors
    /// As [`Lane::event`].
    pub fn event(&mut self, lane: u8, payload: &[u8]) -> Result<(), Error> {
        match &mut self.puts {
            Puts::Session(shared, now) => {
                let mut core = shared.lock();
                let now = core.looked_at.max(*now);
                let put = core.session.put_event(now, lane, payload, None);
                core.explain(put).map(drop)
            }
            Puts::Local(local) => local.lock().put_enveloped(lane, Envelope::Event, payload),
        }
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if let Puts::Session(shared, _) = &mut self.puts {
            let mut core = shared.lock();
            core.open_batches -= 1;
            core.wake_driver();
        }
    }
}

impl std::fmt::Debug for Batch<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Batch").finish_non_exhaustive()
    }
}

/// The messages of a channel; see [`Channel::messages`].
#[derive(Debug)]
pub struct Messages<'a> {
    channel: &'a Channel,
}

impl Stream for Messages<'_> {
    type Item = Result<Message, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.channel.poll_receive(context).map(|received| match received {
            Err(Error::Closed(closed)) if closed.code == CloseCode::DONE => None,
            other => Some(other),
        })
    }
}
