//! One lane of a channel: putting messages.

use std::future::poll_fn;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker, ready};
use std::time::{Duration, Instant};

use nowcast_queue::Key;
use nowcast_session::Refused;
use nowcast_wire::{ReadOwned, Wire};

use super::link::{Link, Put};
use super::shapes::{ShapeId, TypeShape, as_event};
use super::{CommandId, Error, LaneId, Payload};

/// Maximum timeout of a command.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(24 * 3_600);

/// One lane of a channel, with its own order. Put messages on different lanes if they need not wait for each other.
///
/// A lane is cheap to clone and can move into a task. The channel stays open while a handle to one of its lanes exists. `T` is
/// the type of its messages: bytes (`[u8]`), or a type that derives [`Wire`], see [`typed`](Self::typed). The peer decodes
/// values by [`Message::decode`](super::Message::decode), also as another version of the type. Fields are matched by name, and
/// a field that cannot be read is an error that names it. If bytes and typed values share a lane, the receiver must distinguish
/// them.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let listener = nowcast::Listener::bind(nowcast::ListenConfig::loopback(0)).await?;
/// # let mut service = listener.advertise("tracker").await?;
/// # let url = format!("nowcast://127.0.0.1:{}/tracker", listener.port());
/// # let (tracker, renderer) = tokio::join!(service.accept(), nowcast::connect(&url));
/// # let (tracker, renderer) = (tracker?, renderer?);
/// #[derive(nowcast_wire::Wire, Debug, PartialEq)]
/// struct Pose { position: [f32; 3], yaw: f32 }
///
/// let poses = tracker.lane(1).typed::<Pose>();
/// tokio::spawn(async move { poses.state(7, &Pose { position: [0.1, 1.7, -0.3], yaw: 0.5 }).await });
///
/// let message = renderer.receive().await?;
/// assert_eq!(message.decode::<Pose>()?.yaw, 0.5);
/// # Ok(())
/// # }
/// ```
pub struct Lane<T: ?Sized = [u8]> {
    link: Arc<dyn Link>,
    id: LaneId,
    /// The shape of `T`, after it was announced on this lane.
    shape: OnceLock<ShapeId>,
    carries: PhantomData<fn(&T)>,
}

impl Lane {
    pub(super) fn new(link: Arc<dyn Link>, id: LaneId) -> Self {
        Self { link, id, shape: OnceLock::new(), carries: PhantomData }
    }
}

impl<T: Payload + ?Sized> Lane<T> {
    /// Returns the same lane for values of another type.
    #[must_use]
    pub fn typed<U: Wire>(&self) -> Lane<U> {
        Lane { link: Arc::clone(&self.link), id: self.id, shape: OnceLock::new(), carries: PhantomData }
    }

    /// The lane's name.
    #[must_use]
    pub fn id(&self) -> LaneId {
        self.id
    }

    /// Puts the newest value of `key`, at least 1. It replaces an unsent value. Waits only if the key is new and the
    /// lane full.
    ///
    /// # Errors
    /// [`Refused::KeyZero`], [`Refused::NoLane`], [`Refused::TooLarge`], and the error that ended the channel.
    pub async fn state(&self, key: impl Into<Key>, value: &T) -> Result<(), Error> {
        let key = key.into();
        poll_fn(|context| self.poll_state(key, value, Some(context.waker()))).await
    }

    /// Like [`state`](Self::state), but never waits.
    ///
    /// # Errors
    /// Like [`state`](Self::state), and [`Refused::Full`] if the key is new and the lane full.
    pub fn try_state(&self, key: impl Into<Key>, value: &T) -> Result<(), Error> {
        at_once(self.poll_state(key.into(), value, None))
    }

    /// Puts an event. It is delivered exactly once, in order, and after the states that were put before it. Waits while
    /// the lane is full.
    ///
    /// # Errors
    /// [`Refused::NoLane`], [`Refused::TooLarge`], and the error that ended the channel.
    pub async fn event(&self, value: &T) -> Result<(), Error> {
        poll_fn(|context| self.poll_event(value, Some(context.waker()))).await
    }

    /// Like [`event`](Self::event), but never waits.
    ///
    /// # Errors
    /// Like [`event`](Self::event), and [`Refused::Full`] if the lane is full.
    pub fn try_event(&self, value: &T) -> Result<(), Error> {
        at_once(self.poll_event(value, None))
    }

    /// Puts a command and waits for its reply, for at most `timeout` or 24 h, whichever is shorter. Messages that arrive before
    /// the reply are received as usual. Must be called within a tokio runtime. Dropping the future abandons the reply.
    ///
    /// # Errors
    /// [`Error::TimedOut`] after `timeout`, [`Error::Behind`] if more messages arrive before the reply than this side can hold,
    /// [`Refused::NoLane`], [`Refused::TooLarge`], and the error that ended the channel.
    pub async fn command(&self, value: &T, timeout: Duration) -> Result<Vec<u8>, Error> {
        let asking = async {
            let mut asked = Asked::new(self, timeout);
            poll_fn(|context| asked.poll(value, context.waker())).await
        };
        tokio::time::timeout(timeout.min(COMMAND_TIME_MAX), asking).await.unwrap_or(Err(Error::TimedOut))
    }

    /// Like [`command`](Self::command), but decodes the reply as the type `R`, or as another version of it.
    ///
    /// # Errors
    /// Like [`command`](Self::command), and [`Error::Invalid`] if the reply cannot be decoded as that type. The error names the
    /// field.
    pub async fn call<R: ReadOwned>(&self, value: &T, timeout: Duration) -> Result<R, Error> {
        self.link.decode_reply(&self.command(value, timeout).await?)
    }

    /// Answers a command, on its lane. Waits while the lane is full.
    ///
    /// # Errors
    /// [`Refused::TooLarge`], and the error that ended the channel.
    pub async fn reply(&self, command: CommandId, value: &T) -> Result<(), Error> {
        poll_fn(|context| self.poll_reply(command, value, Some(context.waker()))).await
    }

    /// Like [`reply`](Self::reply), but never waits.
    ///
    /// # Errors
    /// Like [`reply`](Self::reply), and [`Refused::Full`] if the lane is full.
    pub fn try_reply(&self, command: CommandId, value: &T) -> Result<(), Error> {
        at_once(self.poll_reply(command, value, None))
    }

    #[inline]
    fn poll_state(&self, key: Key, value: &T, waker: Option<&Waker>) -> Poll<Result<(), Error>> {
        let shape = ready!(self.poll_shape(waker))?;
        value.with_bytes(shape, |bytes| {
            self.link.poll_put(self.id, Put::State(key, bytes), waker).map(|put| put.map(drop))
        })
    }

    fn poll_event(&self, value: &T, waker: Option<&Waker>) -> Poll<Result<(), Error>> {
        let shape = ready!(self.poll_shape(waker))?;
        value.with_bytes(shape, |bytes| {
            self.link.poll_put(self.id, Put::Event(&as_event(bytes)), waker).map(|put| put.map(drop))
        })
    }

    fn poll_reply(&self, command: CommandId, value: &T, waker: Option<&Waker>) -> Poll<Result<(), Error>> {
        let CommandId { lane, number } = command;
        let head = T::type_shape().map(|type_shape| self.link.shapes().ours().head_of_reply(type_shape));
        let put = |bytes: &[u8]| self.link.poll_put(lane, Put::Reply(number, bytes), waker);
        let put = value.with_bytes(None, |bytes| match head {
            Some(head) => put(&[&head, bytes].concat()),
            None => put(bytes),
        });
        put.map(|put| put.map(drop))
    }

    /// Returns the number of the shape of `T`. The number has been announced to the peer, and precedes each value. `None` for
    /// bytes, which have no shape. `Pending` if there was no room for the announcement.
    #[inline]
    fn poll_shape(&self, waker: Option<&Waker>) -> Poll<Result<Option<ShapeId>, Error>> {
        match (self.shape.get(), T::type_shape()) {
            (None, Some(type_shape)) => self.announce(type_shape, waker),
            (shape, _) => Poll::Ready(Ok(shape.copied())),
        }
    }

    #[cold]
    fn announce(&self, type_shape: TypeShape, waker: Option<&Waker>) -> Poll<Result<Option<ShapeId>, Error>> {
        let put =
            |event: &[u8]| self.link.poll_put(self.id, Put::Event(event), waker).map(|put| put.map(drop));
        let shape = ready!(self.link.shapes().ours().announce(type_shape, self.id.number(), put))?;
        // Another task may have set the same number before.
        let _ = self.shape.set(shape);
        Poll::Ready(Ok(Some(shape)))
    }
}

/// Turns a pending put into a refusal.
fn at_once<T>(put: Poll<Result<T, Error>>) -> Result<T, Error> {
    match put {
        Poll::Ready(put) => put,
        Poll::Pending => Err(Error::Refused(Refused::Full)),
    }
}

/// A command with its reply. Dropping it abandons the reply.
struct Asked<'a, T: ?Sized> {
    lane: &'a Lane<T>,
    command: Option<CommandId>,
    until: Instant,
}

impl<'a, T: Payload + ?Sized> Asked<'a, T> {
    fn new(lane: &'a Lane<T>, timeout: Duration) -> Self {
        Self { lane, command: None, until: Instant::now() + timeout.min(COMMAND_TIME_MAX) }
    }

    /// Puts the command as soon as there is room, and then polls the reply.
    fn poll(&mut self, value: &T, waker: &Waker) -> Poll<Result<Vec<u8>, Error>> {
        let Lane { link, id, .. } = self.lane;
        if self.command.is_none() {
            let left = self.until.saturating_duration_since(Instant::now());
            let shape = ready!(self.lane.poll_shape(Some(waker)))?;
            let put =
                value.with_bytes(shape, |bytes| link.poll_put(*id, Put::Command(bytes, left), Some(waker)));
            self.command = match put {
                Poll::Ready(number) => Some(CommandId::new(id.number(), number?)),
                Poll::Pending => return Poll::Pending,
            };
        }
        self.command.map_or(Poll::Pending, |command| link.poll_reply(command, waker))
    }
}

impl<T: ?Sized> Drop for Asked<'_, T> {
    fn drop(&mut self) {
        if let Some(command) = self.command {
            self.lane.link.forget_reply(command);
        }
    }
}

impl<T: ?Sized> Clone for Lane<T> {
    fn clone(&self) -> Self {
        Self { link: Arc::clone(&self.link), id: self.id, shape: self.shape.clone(), carries: PhantomData }
    }
}

impl<T: ?Sized> std::fmt::Debug for Lane<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Lane").field(&self.id.number()).finish()
    }
}
