//! One-to-many channels, called topics in Zenoh, iceoryx2 and ROS.

mod subscribers;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use nowcast_engine::clock;
use nowcast_queue::{Key, PublicationBounds, PublicationCounters, Refusal, in_process};
use nowcast_session::Refused;
use nowcast_wire::Wire;
use tokio::sync::watch;

use crate::channel::{Error, LaneId, Payload, ShapeId, Shapes, TypeShape, as_event};
use crate::listener::{AdvertiseError, Listener};
use crate::published::Published;
use subscribers::{Table, serve_all};

impl Listener {
    /// Publishes under `name`. Programs that [`connect`](crate::connect) to this name become subscribers, over any carrier. Their
    /// channels first receive the newest value of every key, and then every later event with the states that precede it.
    ///
    /// # Errors
    /// [`AdvertiseError`].
    pub async fn publish(&self, name: &str) -> Result<Publisher, AdvertiseError> {
        self.publish_with(name, PublicationBounds::default()).await
    }

    /// Like [`publish`](Self::publish), with limits for stored messages.
    ///
    /// # Errors
    /// [`AdvertiseError`].
    pub async fn publish_with(
        &self,
        name: &str,
        bounds: PublicationBounds,
    ) -> Result<Publisher, AdvertiseError> {
        let service = self.advertise(name).await?;
        let table = in_process::publisher(bounds);
        tokio::spawn(table.distribution());
        let (open, is_open) = watch::channel(());
        let ignored = Arc::new(AtomicU64::new(0));
        let table = Arc::new(Table { messages: table, shapes: Shapes::default() });
        tokio::spawn(serve_all(service, Arc::downgrade(&table), Arc::clone(&ignored), is_open));
        let shared = Arc::new(Shared { table, name: name.to_owned(), ignored, _open: open });
        Ok(Publisher { shared, shape: OnceLock::new(), carries: PhantomData })
    }
}

/// Puts messages for all subscribers of a name.
///
/// A put costs the same for one subscriber as for a thousand. One table holds the newest value of every key, and each
/// subscriber's session reads it when a packet leaves for that subscriber. Events, and the last values before them, are stored
/// once until all subscribers have received them, within limits ([`PublicationBounds`]). A subscriber that falls further behind
/// is closed with the code [`BEHIND`](nowcast_session::CloseCode::BEHIND) and [counted](Self::counters); other subscribers are
/// not affected. States alone never make a subscriber fall behind. For each subscriber, the laws of the queue hold
/// (`spec/QUEUE.md`, section 11).
///
/// No call waits, so there are no futures. A publisher is cheap to clone, and all handles are the same publisher. When the last
/// handle is dropped, the name is released. Subscribers are then closed after they have received all messages, or after 5 s.
/// Messages from subscribers are dropped and [counted](Self::ignored). If both sides send, use
/// [`advertise`](Listener::advertise).
///
/// Subscribers on the same machine that connect without a port have a separate queue each, in shared memory or over a local
/// socket. A task copies published messages into this queue while there is room. So each such subscriber costs one more copy of
/// the values. If such a subscriber falls behind, it is counted like the others, but learns only that its channel is closed.
///
/// A publisher has one lane. For messages with another priority or order, publish another name.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nowcast::{ListenConfig, Listener, MessageKind};
///
/// let listener = Listener::bind(ListenConfig::loopback(0)).await?;
/// let tracker = listener.publish("tracker").await?;
/// tracker.state(1, b"looks left")?;
/// tracker.state(1, b"looks up")?; // replaces the value before it
///
/// let url = format!("nowcast://127.0.0.1:{}/tracker", listener.port());
/// let (one, two) = (nowcast::connect(&url).await?, nowcast::connect(&url).await?);
/// for renderer in [&one, &two] {
///     assert_eq!(renderer.receive().await?.bytes, b"looks up"); // what there was before it came
/// }
/// tracker.event(b"presses the button")?;
/// for renderer in [&one, &two] {
///     let message = renderer.receive().await?;
///     assert_eq!((message.kind, &message.bytes[..]), (MessageKind::Event, &b"presses the button"[..]));
/// }
/// # Ok(())
/// # }
/// ```
pub struct Publisher<T: ?Sized = [u8]> {
    shared: Arc<Shared>,
    /// The number of the shape of `T`, after the shape was announced.
    shape: OnceLock<ShapeId>,
    carries: PhantomData<fn(&T)>,
}

struct Shared {
    table: Arc<Table>,
    name: String,
    ignored: Arc<AtomicU64>,
    /// The publisher accepts subscribers until this sender is dropped, together with the last handle.
    _open: watch::Sender<()>,
}

impl Shared {
    fn put(&self, key: Key, bytes: &[u8]) -> Result<(), Error> {
        let published = Published { at: clock::now(), bytes: bytes.into() };
        match self.table.messages.put(key, published) {
            Ok(_) => Ok(()),
            Err(refused) => Err(Error::Refused(match refused.refusal {
                Refusal::TooLarge { bytes, bytes_max } => Refused::TooLarge { bytes, bytes_max },
                _ => Refused::Full,
            })),
        }
    }
}

impl<T: Payload + ?Sized> Publisher<T> {
    /// Returns the same publisher for values of another type. As with [lanes](crate::Lane), subscribers may have other versions
    /// of this type.
    #[must_use]
    pub fn typed<U: Wire>(&self) -> Publisher<U> {
        Publisher { shared: Arc::clone(&self.shared), shape: OnceLock::new(), carries: PhantomData }
    }

    /// Puts the newest value of `key`, at least 1, for all subscribers. Never waits.
    ///
    /// # Errors
    /// [`Refused::KeyZero`], [`Refused::TooLarge`], and [`Refused::Full`] if the newest values already have the maximum number of
    /// keys or bytes. Subscribers never cause a refusal.
    pub fn state(&self, key: impl Into<Key>, value: &T) -> Result<(), Error> {
        let key = key.into();
        if key.is_event() {
            return Err(Error::Refused(Refused::KeyZero));
        }
        self.put(key, value)
    }

    /// Puts an event for all current subscribers. Each receives it exactly once, in order, and after the states that
    /// were put before it. Never waits.
    ///
    /// # Errors
    /// [`Refused::TooLarge`].
    pub fn event(&self, value: &T) -> Result<(), Error> {
        self.put(Key::EVENT, value)
    }

    fn put(&self, key: Key, value: &T) -> Result<(), Error> {
        let shape = match (self.shape.get(), T::type_shape()) {
            (None, Some(type_shape)) => Some(self.announce(type_shape)?),
            (shape, _) => shape.copied(),
        };
        value.with_bytes(shape, |bytes| {
            let bytes = if key.is_event() { as_event(bytes) } else { Cow::Borrowed(bytes) };
            self.shared.put(key, &bytes)
        })
    }

    #[cold]
    fn announce(&self, type_shape: TypeShape) -> Result<ShapeId, Error> {
        let put = |event: &[u8]| Poll::Ready(self.shared.put(Key::EVENT, event));
        match self.shared.table.shapes.ours().announce(type_shape, LaneId::default().number(), put) {
            // Another thread may have set the same number before.
            Poll::Ready(shape) => shape.inspect(|&shape| _ = self.shape.set(shape)),
            Poll::Pending => Err(Error::Refused(Refused::Full)),
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Number of subscribers.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.shared.table.messages.subscribers()
    }

    /// Number of messages from subscribers, which are dropped.
    #[must_use]
    pub fn ignored(&self) -> u64 {
        self.shared.ignored.load(Ordering::Relaxed)
    }

    /// Returns the counters of put and delivered messages, and of subscribers that fell behind.
    #[must_use]
    pub fn counters(&self) -> PublicationCounters {
        self.shared.table.messages.counters()
    }
}

impl<T: ?Sized> Clone for Publisher<T> {
    fn clone(&self) -> Self {
        Publisher { shared: Arc::clone(&self.shared), shape: self.shape.clone(), carries: PhantomData }
    }
}

impl<T: ?Sized> std::fmt::Debug for Publisher<T> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Publisher").field("name", &self.shared.name).finish_non_exhaustive()
    }
}
