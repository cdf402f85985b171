//! The four verbs for threads.

use std::time::{Duration, Instant};

use nowcast_queue::Key;
use nowcast_session::Closed;
use nowcast_wire::{ReadOwned, Wire};

use super::wait::wait;
use crate::channel::{Asked, CommandId, Entry, Error, LaneId, Message, Payload, Phase, Received, Status};

/// A [channel](crate::Channel) for threads. It is the same channel, but its calls block instead of returning futures.
///
/// ```
/// use nowcast::{MessageKind, blocking};
/// use std::time::Duration;
///
/// # let name = &format!("doc-blocking-{}", std::process::id());
/// let mut service = blocking::advertise(name)?;
/// let doubler = std::thread::spawn({
///     # let name = name.clone();
///     move || {
///         let channel = blocking::connect(&name).expect("the name is advertised");
///         let numbers = channel.lane(0).typed::<u32>();
///         while let Ok(message) = channel.receive() {
///             if let MessageKind::Command(id) = message.kind {
///                 numbers.reply(id, &(2 * message.decode::<u32>()?))?;
///             }
///         }
///         Ok::<_, nowcast::Error>(())
///     }
/// });
/// let channel = service.accept()?;
/// let answer: u32 = channel.lane(0).typed::<u32>().call(&21, Duration::from_secs(5))?;
/// assert_eq!(answer, 42);
/// drop(channel); // closes it, which ends the other side's loop
/// doubler.join().unwrap()?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Channel {
    channel: crate::Channel,
    first: Lane,
}

impl From<crate::Channel> for Channel {
    fn from(channel: crate::Channel) -> Self {
        let first = Lane(channel.lane(0));
        Self { channel, first }
    }
}

impl Channel {
    /// The same channel for async tasks.
    #[must_use]
    pub fn to_async(&self) -> crate::Channel {
        self.channel.clone()
    }

    /// Returns a lane with its own order; see [`crate::Channel::lane`].
    #[must_use]
    pub fn lane(&self, lane: impl Into<LaneId>) -> Lane {
        Lane(self.channel.lane(lane))
    }

    /// Puts the newest value of `key` on lane 0; see [`Lane::state`].
    ///
    /// # Errors
    /// See [`Lane::state`].
    pub fn state(&self, key: impl Into<Key>, value: &[u8]) -> Result<(), Error> {
        self.first.state(key, value)
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
    pub fn event(&self, payload: &[u8]) -> Result<(), Error> {
        self.first.event(payload)
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
    pub fn command(&self, payload: &[u8], timeout: Duration) -> Result<Vec<u8>, Error> {
        self.first.command(payload, timeout)
    }

    /// Answers a command; see [`Lane::reply`].
    ///
    /// # Errors
    /// See [`Lane::reply`].
    pub fn reply(&self, command: CommandId, payload: &[u8]) -> Result<(), Error> {
        self.first.reply(command, payload)
    }

    /// Waits for the next message, and receives it.
    ///
    /// # Errors
    /// The end of the channel, after all messages that had arrived were received.
    pub fn receive(&self) -> Result<Message, Error> {
        self.receive_until(None)
    }

    /// Receives the next message, waiting for one at most for `timeout`.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive), and [`Error::TimedOut`].
    pub fn receive_within(&self, timeout: Duration) -> Result<Message, Error> {
        self.receive_until(Instant::now().checked_add(timeout))
    }

    fn receive_until(&self, deadline: Option<Instant>) -> Result<Message, Error> {
        let mut bytes = Vec::new();
        let received = self.receive_into_until(&mut bytes, deadline)?;
        Ok(self.channel.message(received, bytes))
    }

    /// Waits for the next message, and receives it into a buffer, whose content is replaced. No memory is allocated if the buffer
    /// is large enough.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn receive_into(&self, bytes: &mut Vec<u8>) -> Result<Received, Error> {
        self.receive_into_until(bytes, None)
    }

    fn receive_into_until(&self, bytes: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Received, Error> {
        let link = self.channel.link();
        if let Some(received) = link.receive_asleep(bytes, deadline) {
            return received;
        }
        wait(deadline, |waker| link.poll_receive(bytes, Some(waker))).unwrap_or(Err(Error::TimedOut))
    }

    /// Receives the next message if there is one.
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn try_receive(&self) -> Result<Option<Message>, Error> {
        self.channel.try_receive()
    }

    /// Receives the next message into a buffer if there is one; see [`receive_into`](Self::receive_into).
    ///
    /// # Errors
    /// Like [`receive`](Self::receive).
    pub fn try_receive_into(&self, bytes: &mut Vec<u8>) -> Result<Option<Received>, Error> {
        self.channel.try_receive_into(bytes)
    }

    /// Waits until all messages put before have arrived at the peer.
    ///
    /// # Errors
    /// The end of the channel, if it ended before all messages arrived.
    pub fn drained(&self) -> Result<(), Error> {
        always(wait(None, |waker| self.channel.link().poll_drained(waker)))
    }

    /// The status of the channel.
    #[must_use]
    pub fn status(&self) -> Status {
        self.channel.status()
    }

    /// Returns the endpoint's data about the peer.
    #[must_use]
    pub fn entry(&self) -> &Entry {
        self.channel.entry()
    }

    /// The end of the channel, if it has ended.
    #[must_use]
    pub fn ended(&self) -> Option<Closed> {
        match self.channel.status().phase {
            Phase::Closed(closed) => Some(closed),
            _ => None,
        }
    }

    /// Ends the channel at once; see [`crate::Channel::close`].
    pub fn close(&self, code: u32, reason: &str) {
        self.channel.close(code, reason);
    }
}

/// A [lane](crate::Lane) for threads. It is the same lane, but its calls block instead of returning futures.
#[derive(Debug)]
pub struct Lane<T: ?Sized = [u8]>(crate::Lane<T>);

impl<T: Payload + ?Sized> Lane<T> {
    /// The same lane for values of another type.
    #[must_use]
    pub fn typed<U: Wire>(&self) -> Lane<U> {
        Lane(self.0.typed())
    }

    /// The lane's name.
    #[must_use]
    pub fn id(&self) -> LaneId {
        self.0.id()
    }

    /// Puts the newest value of `key`, at least 1. Waits only if the key is new and the lane full.
    ///
    /// # Errors
    /// Like [`crate::Lane::state`].
    pub fn state(&self, key: impl Into<Key>, value: &T) -> Result<(), Error> {
        let key = key.into();
        always(wait(None, |waker| self.0.poll_state(key, value, Some(waker))))
    }

    /// Like [`state`](Self::state), but never waits.
    ///
    /// # Errors
    /// Like [`crate::Lane::try_state`].
    pub fn try_state(&self, key: impl Into<Key>, value: &T) -> Result<(), Error> {
        self.0.try_state(key, value)
    }

    /// Puts an event. Waits while the lane is full.
    ///
    /// # Errors
    /// Like [`crate::Lane::event`].
    pub fn event(&self, value: &T) -> Result<(), Error> {
        always(wait(None, |waker| self.0.poll_event(value, Some(waker))))
    }

    /// Like [`event`](Self::event), but never waits.
    ///
    /// # Errors
    /// Like [`crate::Lane::try_event`].
    pub fn try_event(&self, value: &T) -> Result<(), Error> {
        self.0.try_event(value)
    }

    /// Puts a command and waits for its reply, for at most `timeout` or 24 h, whichever is shorter.
    ///
    /// # Errors
    /// Like [`crate::Lane::command`].
    pub fn command(&self, value: &T, timeout: Duration) -> Result<Vec<u8>, Error> {
        let mut asked = Asked::new(&self.0, timeout);
        wait(Some(asked.until()), |waker| asked.poll(value, waker)).unwrap_or(Err(Error::TimedOut))
    }

    /// Like [`command`](Self::command), but decodes the reply as a value of the type `R`.
    ///
    /// # Errors
    /// Like [`crate::Lane::call`].
    pub fn call<R: ReadOwned>(&self, value: &T, timeout: Duration) -> Result<R, Error> {
        self.0.decode_reply(&self.command(value, timeout)?)
    }

    /// Answers a command, on its lane. Waits while the lane is full.
    ///
    /// # Errors
    /// Like [`crate::Lane::reply`].
    pub fn reply(&self, command: CommandId, value: &T) -> Result<(), Error> {
        always(wait(None, |waker| self.0.poll_reply(command, value, Some(waker))))
    }

    /// Like [`reply`](Self::reply), but never waits.
    ///
    /// # Errors
    /// Like [`crate::Lane::try_reply`].
    pub fn try_reply(&self, command: CommandId, value: &T) -> Result<(), Error> {
        self.0.try_reply(command, value)
    }
}

impl<T: ?Sized> Clone for Lane<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Unwraps the result of a wait without a deadline.
fn always<T>(done: Option<Result<T, Error>>) -> Result<T, Error> {
    done.unwrap_or(Err(Error::TimedOut))
}
