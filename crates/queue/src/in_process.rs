//! A publication between threads of one process: one publishing thread and many subscribers.

use crate::{
    Key, Publication, PublicationBounds, PublicationCounters, Put, Receiver, Refusal, Refused, SubscriberId,
    Weigh,
};
use std::collections::HashMap;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// Makes a [`Publication`] that threads and async tasks can subscribe to. Dropping the publisher closes it for all subscribers,
/// which still receive the earlier messages.
///
/// ```
/// use nowcast_queue::{Key, PublicationBounds, Receiver, in_process};
///
/// let tracker = in_process::publisher(PublicationBounds::default());
/// let mut renderers = [tracker.subscribe(), tracker.subscribe()];
/// for sample in 0..1000_u32 {
///     tracker.put(Key::state(1), sample.to_le_bytes().to_vec()).unwrap();
/// }
/// for renderer in &mut renderers {
///     let mut value = Vec::new();
///     renderer.get(&mut value, None).unwrap();
///     assert_eq!(value, 999_u32.to_le_bytes(), "a thousand updates later, one message: the newest");
/// }
/// ```
#[must_use]
pub fn publisher<V: Weigh>(bounds: PublicationBounds) -> Publisher<V> {
    let state = State {
        publication: Publication::new(bounds),
        is_open: true,
        sleeping: 0,
        wakers: HashMap::new(),
        watchers: HashMap::new(),
        distributor: None,
        is_news: false,
    };
    Publisher { shared: Arc::new(Shared { state: Mutex::new(state), filled: Condvar::new() }) }
}

/// The publishing end; see [`publisher`].
///
/// A put takes the same time for one subscriber as for a thousand, except for waking the subscribers that wait. Blocked threads
/// are woken by one system call, but tasks are woken one by one. If a put may not take that long, let another task wake them with
/// [`distribution`](Self::distribution).
#[derive(Debug)]
pub struct Publisher<V> {
    shared: Arc<Shared<V>>,
}

/// A receiving end; see [`publisher`]. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscriber<V: Weigh> {
    shared: Arc<Shared<V>>,
    id: SubscriberId,
}

impl<V: Weigh> Publisher<V> {
    /// Puts a value for all subscribers; see [`Publication::put`]. Never waits.
    ///
    /// # Errors
    /// Like [`Publication::put`].
    pub fn put(&self, key: Key, value: V) -> Result<Put, Refused<V>> {
        let mut state = self.shared.lock();
        let behind = state.publication.counters().behind;
        let put = state.publication.put(key, value);
        if state.publication.counters().behind != behind {
            let watchers = mem::take(&mut state.watchers);
            self.shared.wake_waiting(state);
            watchers.into_values().for_each(Waker::wake);
            return put;
        }
        // Waiting subscribers need to be woken only if a put makes a new entry.
        if matches!(put, Ok(Put::Queued)) {
            self.shared.wake_waiting(state);
        }
        put
    }

    /// Adds a subscriber. The subscriber first receives the newest value of every key.
    #[must_use]
    pub fn subscribe(&self) -> Subscriber<V> {
        let id = self.shared.lock().publication.subscribe();
        Subscriber { shared: Arc::clone(&self.shared), id }
    }

    /// Number of subscribers, including subscribers that fell behind and are not dropped yet.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.shared.lock().publication.subscribers()
    }

    /// Returns the counters.
    #[must_use]
    pub fn counters(&self) -> PublicationCounters {
        self.shared.lock().publication.counters()
    }

    /// Reads any other property of the publication.
    pub fn inspect<T>(&self, look: impl FnOnce(&Publication<V>) -> T) -> T {
        look(&self.shared.lock().publication)
    }

    /// Returns a future that wakes the waiting tasks. While the future exists, [`put`](Self::put) wakes at most one task: the
    /// one that runs this future. The future completes when the publisher is dropped. Use at most one for each publisher.
    pub fn distribution(&self) -> Distribution<V> {
        Distribution { shared: Arc::clone(&self.shared) }
    }
}

impl<V> Drop for Publisher<V> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.is_open = false;
        self.shared.wake_waiting(state);
    }
}

impl<V: Weigh> Subscriber<V> {
    /// Reads the next message without taking it.
    ///
    /// # Errors
    /// [`Refusal::Behind`], and [`Refusal::Closed`] after the publisher was dropped and all messages were received.
    pub fn peek<T>(&self, look: impl FnOnce(Key, &V) -> T) -> Result<Option<T>, Refusal> {
        let mut state = self.shared.lock();
        let is_open = state.is_open;
        match state.publication.peek(self.id)? {
            Some((key, value)) => Ok(Some(look(key, value))),
            None if is_open => Ok(None),
            None => Err(Refusal::Closed),
        }
    }

    /// Takes the next message, with the newest value of its key.
    ///
    /// # Errors
    /// Like [`peek`](Self::peek).
    pub fn take(&mut self) -> Result<Option<(Key, V)>, Refusal>
    where
        V: Clone,
    {
        self.shared.lock().take(self.id)
    }

    /// Ready if a message waits or the publication has ended. Otherwise registers the task, which the next message or the end
    /// wakes.
    pub fn poll_ready(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if !state.is_open || !matches!(state.publication.peek(self.id), Ok(None)) {
            return Poll::Ready(());
        }
        state.wait(self.id, context.waker());
        Poll::Pending
    }

    /// Ready if this subscriber has fallen behind. Otherwise registers the task, which is woken when any subscriber falls behind.
    /// For tasks that cannot take the waiting messages now.
    pub fn poll_behind(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if matches!(state.publication.peek(self.id), Err(Refusal::Behind)) {
            return Poll::Ready(());
        }
        state.watchers.insert(self.id, context.waker().clone());
        Poll::Pending
    }
}

impl<V: Weigh> Drop for Subscriber<V> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.wakers.remove(&self.id);
        state.watchers.remove(&self.id);
        state.publication.unsubscribe(self.id);
    }
}

impl<V: Weigh + Clone + AsRef<[u8]>> Receiver for Subscriber<V> {
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        Ok(self.take()?.map(|message| copy(message, value)))
    }

    fn get(&mut self, value: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Key, Refusal> {
        let mut state = self.shared.lock();
        loop {
            if let Some(message) = state.take(self.id)? {
                drop(state);
                return Ok(copy(message, value));
            }
            state.sleeping += 1;
            let (woken, result) = sleep(&self.shared.filled, state, deadline);
            state = woken;
            state.sleeping -= 1;
            result?;
        }
    }

    fn poll_get(&mut self, context: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>> {
        let mut state = self.shared.lock();
        match state.take(self.id)? {
            Some(message) => {
                drop(state);
                Poll::Ready(Ok(copy(message, value)))
            }
            None => {
                state.wait(self.id, context.waker());
                Poll::Pending
            }
        }
    }
}

fn copy<V: AsRef<[u8]>>((key, bytes): (Key, V), value: &mut Vec<u8>) -> Key {
    value.clear();
    value.extend_from_slice(bytes.as_ref());
    key
}

/// Wakes the waiting tasks of a publisher; see [`Publisher::distribution`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Distribution<V> {
    shared: Arc<Shared<V>>,
}

impl<V> Future for Distribution<V> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        let wakers =
            if mem::take(&mut state.is_news) { mem::take(&mut state.wakers) } else { HashMap::new() };
        let is_open = state.is_open;
        state.distributor = is_open.then(|| context.waker().clone());
        drop(state);
        wakers.into_values().for_each(Waker::wake);
        if is_open { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl<V> Drop for Distribution<V> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.distributor = None;
        // From now on puts themselves wake the waiting tasks. All of them are woken once, so that they check for missed messages.
        let wakers = mem::take(&mut state.wakers);
        drop(state);
        wakers.into_values().for_each(Waker::wake);
    }
}

#[derive(Debug)]
struct Shared<V> {
    state: Mutex<State<V>>,
    /// Notified after a put, if a thread sleeps.
    filled: Condvar,
}

#[derive(Debug)]
struct State<V> {
    publication: Publication<V>,
    is_open: bool,
    /// Number of sleeping threads.
    sleeping: usize,
    /// Waiting tasks.
    wakers: HashMap<SubscriberId, Waker>,
    /// Tasks that wait until their subscriber falls behind.
    watchers: HashMap<SubscriberId, Waker>,
    /// The task that wakes the waiting tasks.
    distributor: Option<Waker>,
    /// Whether this task was woken since it last ran.
    is_news: bool,
}

impl<V> Shared<V> {
    fn lock(&self) -> MutexGuard<'_, State<V>> {
        // A panic leaves no partial change, so a poisoned lock still guards a valid publication.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the threads and tasks that wait for values or for the end, and releases the lock before.
    fn wake_waiting(&self, mut state: MutexGuard<'_, State<V>>) {
        let is_needed = state.sleeping > 0;
        let (mut wakers, mut distributor) = (HashMap::new(), None);
        if !state.wakers.is_empty() || !state.is_open {
            match &state.distributor {
                Some(waker) if !state.is_news => distributor = Some(waker.clone()),
                Some(_) => {}
                None => wakers = mem::take(&mut state.wakers),
            }
            state.is_news = state.distributor.is_some();
        }
        drop(state);
        if is_needed {
            self.filled.notify_all();
        }
        wakers.into_values().for_each(Waker::wake);
        distributor.into_iter().for_each(Waker::wake);
    }
}

impl<V: Weigh> State<V> {
    fn take(&mut self, id: SubscriberId) -> Result<Option<(Key, V)>, Refusal>
    where
        V: Clone,
    {
        match self.publication.pop(id)? {
            None if !self.is_open => Err(Refusal::Closed),
            message => Ok(message),
        }
    }

    fn wait(&mut self, id: SubscriberId, waker: &Waker) {
        self.wakers
            .entry(id)
            .and_modify(|waiting| waiting.clone_from(waker))
            .or_insert_with(|| waker.clone());
    }
}

/// Sleeps until it is notified or the deadline passes.
fn sleep<'a, T>(
    condition: &Condvar,
    state: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> (MutexGuard<'a, T>, Result<(), Refusal>) {
    let Some(deadline) = deadline else {
        return (condition.wait(state).unwrap_or_else(PoisonError::into_inner), Ok(()));
    };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return (state, Err(Refusal::TimedOut));
    }
    (condition.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0, Ok(()))
}
