//! A task's end of a channel: the same calls as on the queue in shared memory.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use nowcast_queue::{Bounds, Counters, Key, Put, Refusal};
use tokio::sync::Notify;

use super::LINGER_MAX;
use super::frame::Receipt;
use super::incoming::Incoming;
use super::outgoing::Outgoing;

/// Both directions of a channel. Each end can go to a thread of its own.
#[derive(Debug)]
pub(crate) struct Queues {
    /// Where this task puts.
    pub(crate) sender: QueueSender,
    /// Where this task gets what the peer puts.
    pub(crate) receiver: QueueReceiver,
}

/// The end that puts. Dropping it closes the direction, once what was put is in the hands of the kernel.
#[derive(Debug)]
pub(crate) struct QueueSender {
    shared: Arc<Shared>,
    refused: u64,
}

/// The end that gets. Dropping it closes the direction.
#[derive(Debug)]
pub(crate) struct QueueReceiver {
    shared: Arc<Shared>,
}

/// State that the two ends share with the pump.
#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Notified when something arrived, or nothing will any more.
    arrived: Condvar,
    /// Notified when there is room, or nothing can be put any more, or a close has come further.
    room: Condvar,
    /// Notified when there is something to write.
    pub(super) work: Notify,
    peer_pid: u32,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) outgoing: Outgoing,
    pub(super) incoming: Incoming,
}

impl Queues {
    pub(super) fn new(peer_pid: u32, ours: &[Bounds], theirs: &[Bounds]) -> (Queues, Arc<Shared>) {
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
    pub(crate) fn try_put_on(&mut self, lane: usize, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let put = self.shared.lock().outgoing.put(lane, key, value);
        self.refused += u64::from(put.is_err());
        self.shared.work.notify_one();
        put
    }

    /// Puts a value on a lane and waits for room, until the deadline.
    #[cfg(test)]
    pub(crate) fn put_on(
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

    /// Puts a value on a lane, or arranges to be woken when there may be room.
    pub(crate) fn poll_put_on(
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

    /// Ready when the peer has received all that was put, or never will.
    pub(crate) fn poll_drained(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.shared.lock();
        if state.outgoing.is_drained() {
            return Poll::Ready(());
        }
        state.outgoing.waker = Some(context.waker().clone());
        Poll::Pending
    }

    /// Returns the counters of messages, all lanes together.
    pub(crate) fn counters(&self) -> Counters {
        Counters { refused: self.refused, ..self.shared.lock().outgoing.counters() }
    }

    /// How many lanes this direction has.
    pub(crate) fn lanes(&self) -> usize {
        self.shared.lock().outgoing.lanes()
    }
}

impl QueueReceiver {
    /// Gets the next message of any lane, lower numbers first, without waiting.
    pub(crate) fn try_get_any(&mut self, value: &mut Vec<u8>) -> Result<Option<(usize, Key)>, Refusal> {
        let mut state = self.shared.lock();
        self.take(&mut state, value)
    }

    /// Gets the next message of any lane and waits for one, until the deadline.
    pub(crate) fn get_any(
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

    /// Gets the next message of any lane, or arranges to be woken when there may be one.
    pub(crate) fn poll_get_any(
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

    /// The process at the other end, as it says itself.
    pub(crate) fn peer_pid(&self) -> u32 {
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
        // A process may end as soon as this returns, and its helper thread with it.
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
        // The state is never left half changed by a panic, so a poisoned lock still guards a sound one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts what may be written now into an empty buffer. Returns whether there is nothing more to be said, ever.
    pub(super) fn fill(&self, into: &mut Vec<u8>) -> bool {
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
    pub(super) fn written(&self) {
        let mut state = self.lock();
        state.outgoing.written();
        state.incoming.written();
        if state.outgoing.is_over() {
            self.room.notify_all();
        }
    }

    /// A message has arrived.
    pub(super) fn arrive(&self, lane: usize, key: Key, value: Vec<u8>) -> Result<(), &'static str> {
        let mut state = self.lock();
        state.incoming.arrive(lane, key, value)?;
        let waker = state.incoming.waker.take();
        drop(state);
        self.arrived.notify_one();
        // Replacements are reported, so that the sender may send on.
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// The peer reports what it received.
    pub(super) fn receive(&self, lane: usize, receipt: Receipt) -> Result<(), &'static str> {
        let mut state = self.lock();
        let is_drained = state.outgoing.receive(lane, receipt)?;
        let waker = if is_drained { state.outgoing.waker.take() } else { None };
        drop(state);
        // The window is open again.
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
        Ok(())
    }

    /// Nothing arrives any more.
    pub(super) fn end_incoming(&self, refusal: Refusal) {
        let mut state = self.lock();
        state.incoming.end(refusal);
        let waker = state.incoming.waker.take();
        drop(state);
        self.arrived.notify_all();
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }

    /// Nothing can be put any more.
    pub(super) fn end_outgoing(&self, refusal: Refusal) {
        let mut state = self.lock();
        state.outgoing.end(refusal);
        let waker = state.outgoing.waker.take();
        drop(state);
        self.room.notify_all();
        self.work.notify_one();
        waker.into_iter().for_each(Waker::wake);
    }

    /// The bounds of the lanes that the peer puts into.
    pub(super) fn incoming_bounds(&self) -> Vec<Bounds> {
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
