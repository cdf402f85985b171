//! A program's end of a channel, with the same calls as the queue in shared memory.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use nowcast_queue::{Bounds, Counters, Key, Put, Refusal};
use tokio::sync::Notify;

use super::LINGER_MAX;
use super::frame::Receipt;
use super::incoming::Incoming;
use super::outgoing::Outgoing;

/// Both directions of a channel. Each end can move to its own thread.
#[derive(Debug)]
pub struct Queues {
    /// The direction of this program's messages.
    pub sender: QueueSender,
    /// The direction of the peer's messages.
    pub receiver: QueueReceiver,
}

/// The sending end. Dropping it closes the direction after the kernel has accepted all messages.
#[derive(Debug)]
pub struct QueueSender {
    shared: Arc<Shared>,
    refused: u64,
}

/// The receiving end. Dropping it closes the direction.
#[derive(Debug)]
pub struct QueueReceiver {
    shared: Arc<Shared>,
}

/// State that the two ends share with the pump.
#[derive(Debug)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Notified when a message has arrived, or when none can arrive any more.
    arrived: Condvar,
    /// Notified when there is room, when nothing can be put any more, or when a close has advanced.
    room: Condvar,
    /// Notified when there is something to write.
    pub(crate) work: Notify,
    peer_pid: u32,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) outgoing: Outgoing,
    pub(crate) incoming: Incoming,
}

impl Queues {
    pub(crate) fn new(peer_pid: u32, ours: &[Bounds], theirs: &[Bounds]) -> (Queues, Arc<Shared>) {
        let shared = Arc::new(Shared {
            state: Mutex::new(State { outgoing: Outgoing::new(ours), incoming: Incoming::new(theirs) }),
            arrived: Condvar::new(),
            room: Condvar::new(),
            work: Notify::new(),
            peer_pid,
        });
        let sender = QueueSender { shared: Arc::clone(&shared), refused: 0 };
        (Queues { sender, receiver: QueueReceiver { shared: Arc::clone(&shared) } }, shared)
    }
}

impl QueueSender {
    /// Puts a value on a lane without waiting.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn try_put_on(&mut self, lane: usize, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let put = self.shared.lock().outgoing.put(lane, key, value);
        self.refused += u64::from(put.is_err());
        self.shared.work.notify_one();
        put
    }

    /// Puts a value on a lane. Waits for room until the deadline.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn put_on(
        &mut self,
        lane: usize,
        key: Key,
        value: &[u8],
        deadline: Option<Instant>,
    ) -> Result<Put, Refusal> {
        let mut state = self.shared.lock();
        loop {
            match state.outgoing.put(lane, key, value) {
                Err(Refusal::Full) => state = wait(&self.shared.room, state, deadline)?,
                done => {
                    drop(state);
                    self.shared.work.notify_one();
                    return done;
                }
            }
        }
    }

    /// Puts a value on a lane, or registers the task to be woken when there may be room.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn poll_put_on(
        &mut self,
        context: &mut Context<'_>,
        lane: usize,
        key: Key,
        value: &[u8],
    ) -> Poll<Result<Put, Refusal>> {
        let mut state = self.shared.lock();
        match state.outgoing.put(lane, key, value) {
            Err(Refusal::Full) => {
                state.outgoing.waker = Some(context.waker().clone());
                Poll::Pending
            }
            done => {
                drop(state);
                self.shared.work.notify_one();
                Poll::Ready(done)
            }
        }
    }

    /// Ready when the peer has received all messages, or cannot receive them any more.
    pub fn poll_drained(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if state.outgoing.is_drained() {
            return Poll::Ready(());
        }
        state.outgoing.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Returns the counters of messages, summed over all lanes.
    #[must_use]
    pub fn counters(&self) -> Counters {
        Counters { refused: self.refused, ..self.shared.lock().outgoing.counters() }
    }

    /// Number of lanes in this direction.
    #[must_use]
    pub fn lanes(&self) -> usize {
        self.shared.lock().outgoing.lanes()
    }
}

impl QueueReceiver {
    /// Gets the next message of any lane, lower numbers first, without waiting.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn try_get_any(&mut self, value: &mut Vec<u8>) -> Result<Option<(usize, Key)>, Refusal> {
        let mut state = self.shared.lock();
        self.take(&mut state, value)
    }

    /// Gets the next message of any lane. Waits for one until the deadline.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn get_any(
        &mut self,
        value: &mut Vec<u8>,
        deadline: Option<Instant>,
    ) -> Result<(usize, Key), Refusal> {
        let mut state = self.shared.lock();
        loop {
            if let Some(got) = self.take(&mut state, value)? {
                return Ok(got);
            }
            state = wait(&self.shared.arrived, state, deadline)?;
        }
    }

    /// Gets the next message of any lane, or registers the task to be woken when there may be one.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn poll_get_any(
        &mut self,
        context: &mut Context<'_>,
        value: &mut Vec<u8>,
    ) -> Poll<Result<(usize, Key), Refusal>> {
        let mut state = self.shared.lock();
        if let Some(got) = self.take(&mut state, value)? {
            return Poll::Ready(Ok(got));
        }
        state.incoming.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// The peer's process id, as it reports itself.
    #[must_use]
    pub fn peer_pid(&self) -> u32 {
        self.shared.peer_pid
    }

    fn take(&self, state: &mut State, value: &mut Vec<u8>) -> Result<Option<(usize, Key)>, Refusal> {
        let taken = state.incoming.take(value)?;
        if taken.as_ref().is_some_and(|taken| taken.is_worth_a_report) {
            self.shared.work.notify_one();
        }
        Ok(taken.map(|taken| (taken.lane, taken.key)))
    }
}

impl Drop for QueueSender {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.outgoing.close();
        self.shared.work.notify_one();
        // The process, and its helper thread, may end as soon as this call returns.
        let deadline = Instant::now() + LINGER_MAX;
        while !state.outgoing.is_over() {
            match wait(&self.shared.room, state, Some(deadline)) {
                Ok(locked) => state = locked,
                Err(_) => return,
            }
        }
    }
}

impl Drop for QueueReceiver {
    fn drop(&mut self) {
        self.shared.lock().incoming.close();
        self.shared.work.notify_one();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic leaves no partial change, so a poisoned lock still guards a valid state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the frames that may leave now into an empty buffer. Returns whether they were the last ones.
    pub(crate) fn fill(&self, into: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        state.incoming.fill(into);
        let has_room = state.outgoing.fill(into);
        let is_over = into.is_empty() && state.outgoing.is_over() && state.incoming.is_over();
        let waker = if has_room { state.outgoing.waker.take() } else { None };
        drop(state);
        if has_room {
            self.room.notify_all();
        }
        waker.into_iter().for_each(Waker::wake);
        is_over
    }

    /// Marks the filled bytes as written.
    pub(crate) fn written(&self) {
        let mut state = self.lock();
        state.outgoing.written();
        state.incoming.written();
        if state.outgoing.is_over() {
            self.room.notify_all();
        }
    }

    /// Handles a message that arrived.
    pub(crate) fn arrive(&self, lane: usize, key: Key, value: Vec<u8>) -> Result<(), &'static str> {
        let mut state = self.lock();
        state.incoming.arrive(lane, key, value)?;
        let waker = state.incoming.waker.take();
        drop(state);
        self.arrived.notify_one();
        // A replacement is reported to the sender, so that it can send more.
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Handles the peer's report of received messages.
    pub(crate) fn receive(&self, lane: usize, receipt: Receipt) -> Result<(), &'static str> {
        let mut state = self.lock();
        let is_drained = state.outgoing.receive(lane, receipt)?;
        let waker = if is_drained { state.outgoing.waker.take() } else { None };
        drop(state);
        // The window is open again.
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Ends the incoming direction.
    pub(crate) fn end_incoming(&self, refusal: Refusal) {
        let mut state = self.lock();
        state.incoming.end(refusal);
        let waker = state.incoming.waker.take();
        drop(state);
        self.arrived.notify_all();
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Ends the outgoing direction.
    pub(crate) fn end_outgoing(&self, refusal: Refusal) {
        let mut state = self.lock();
        state.outgoing.end(refusal);
        let waker = state.outgoing.waker.take();
        drop(state);
        self.room.notify_all();
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }

    /// The bounds of the lanes that the peer puts into.
    pub(crate) fn incoming_bounds(&self) -> Vec<Bounds> {
        self.lock().incoming.bounds().to_vec()
    }
}

fn wait<'a>(
    condition: &Condvar,
    state: MutexGuard<'a, State>,
    deadline: Option<Instant>,
) -> Result<MutexGuard<'a, State>, Refusal> {
    let Some(deadline) = deadline else {
        return Ok(condition.wait(state).unwrap_or_else(PoisonError::into_inner));
    };
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(Refusal::TimedOut);
    }
    Ok(condition.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0)
}
