//! The updatable queue between threads of one process: from one thread to another, or from one to many.

mod publisher;
mod waiting;

pub use publisher::{Distribution, Publisher, Subscriber, publisher};

use crate::{Bounds, Counters, Key, Put, Receiver, Refusal, Sender, UpdatableQueue};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use waiting::sleep;

/// Makes a queue and returns its two ends. Dropping one end closes the queue for the other.
///
/// ```
/// use nowcast_queue::{Bounds, Key, Receiver, Sender, in_process};
///
/// let (mut tracker, mut renderer) = in_process::queue(Bounds::default());
/// let producer = std::thread::spawn(move || {
///     for sample in 0..1000_u32 {
///         tracker.put(Key::state(1), &sample.to_le_bytes(), None).unwrap();
///     }
/// });
/// producer.join().unwrap();
///
/// let mut value = Vec::new();
/// renderer.get(&mut value, None).unwrap();
/// assert_eq!(value, 999_u32.to_le_bytes(), "a thousand updates later, one message: the newest");
/// ```
#[must_use]
pub fn queue(bounds: Bounds) -> (InProcessSender, InProcessReceiver) {
    let shared = Arc::new(Shared {
        state: Mutex::new(State {
            queue: UpdatableQueue::new(bounds),
            sender_open: true,
            receiver_open: true,
            sender_waker: None,
            receiver_waker: None,
        }),
        filled: Condvar::new(),
        drained: Condvar::new(),
    });
    (InProcessSender { shared: Arc::clone(&shared) }, InProcessReceiver { shared })
}

/// The sending end; see [`queue`].
#[derive(Debug)]
pub struct InProcessSender {
    shared: Arc<Shared>,
}

/// The receiving end; see [`queue`].
#[derive(Debug)]
pub struct InProcessReceiver {
    shared: Arc<Shared>,
}

impl InProcessSender {
    /// Returns the counters of messages.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.shared.lock().queue.counters()
    }
}

impl Sender for InProcessSender {
    fn try_put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let mut state = self.shared.lock();
        let put = state.put(key, value)?;
        self.shared.after_put(state);
        Ok(put)
    }

    fn put(&mut self, key: Key, value: &[u8], deadline: Option<Instant>) -> Result<Put, Refusal> {
        let mut state = self.shared.lock();
        loop {
            match state.put(key, value) {
                Err(Refusal::Full) => state = wait(&self.shared.drained, state, deadline)?,
                Err(refusal) => return Err(refusal),
                Ok(put) => {
                    self.shared.after_put(state);
                    return Ok(put);
                }
            }
        }
    }

    fn poll_put(&mut self, context: &mut Context<'_>, key: Key, value: &[u8]) -> Poll<Result<Put, Refusal>> {
        let mut state = self.shared.lock();
        match state.put(key, value) {
            Err(Refusal::Full) => {
                state.sender_waker = Some(context.waker().clone());
                Poll::Pending
            }
            Err(refusal) => Poll::Ready(Err(refusal)),
            Ok(put) => {
                self.shared.after_put(state);
                Poll::Ready(Ok(put))
            }
        }
    }
}

impl Receiver for InProcessReceiver {
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        let mut state = self.shared.lock();
        let key = state.get(value)?;
        if key.is_some() {
            self.shared.after_get(state);
        }
        Ok(key)
    }

    fn get(&mut self, value: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Key, Refusal> {
        let mut state = self.shared.lock();
        loop {
            if let Some(key) = state.get(value)? {
                self.shared.after_get(state);
                return Ok(key);
            }
            state = wait(&self.shared.filled, state, deadline)?;
        }
    }

    fn poll_get(&mut self, context: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>> {
        let mut state = self.shared.lock();
        match state.get(value) {
            Err(refusal) => Poll::Ready(Err(refusal)),
            Ok(Some(key)) => {
                self.shared.after_get(state);
                Poll::Ready(Ok(key))
            }
            Ok(None) => {
                state.receiver_waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Drop for InProcessSender {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.sender_open = false;
        self.shared.after_put(state);
    }
}

impl Drop for InProcessReceiver {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.receiver_open = false;
        self.shared.after_get(state);
    }
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Notified after a put.
    filled: Condvar,
    /// Notified after a get.
    drained: Condvar,
}

#[derive(Debug)]
struct State {
    queue: UpdatableQueue<Vec<u8>>,
    sender_open: bool,
    receiver_open: bool,
    sender_waker: Option<Waker>,
    receiver_waker: Option<Waker>,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves no partial change, so a poisoned lock still guards a valid queue.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn after_put(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.receiver_waker.take();
        drop(state);
        self.filled.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }

    fn after_get(&self, mut state: MutexGuard<'_, State>) {
        let waker = state.sender_waker.take();
        drop(state);
        self.drained.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }
}

impl State {
    fn put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        if !self.receiver_open {
            return Err(Refusal::Closed);
        }
        self.queue.put(key, value.to_vec()).map_err(|refused| refused.refusal)
    }

    fn get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        match self.queue.pop() {
            Some((key, waiting)) => {
                *value = waiting;
                Ok(Some(key))
            }
            None if self.sender_open => Ok(None),
            None => Err(Refusal::Closed),
        }
    }
}

fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, State>,
    deadline: Option<Instant>,
) -> Result<MutexGuard<'a, State>, Refusal> {
    let (state, slept) = sleep(condition, state, deadline);
    slept.map(|()| state)
}
