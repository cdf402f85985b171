//! A channel's link over a network: the application's side of a session. `core.rs` is the driver's side.

use std::mem;
use std::sync::{Arc, MutexGuard};
use std::task::{Poll, Waker};

use nowcast_session::{CloseCode, MessageKind as Kind, Refused, Time, WaitingMessage};
use tokio::sync::watch;

use super::core::{Core, Shared};
use super::source_calls::discard;
use crate::carrier::CarrierKind;
use crate::channel::{
    BoxedSource, CommandId, DriverWaker, Entry, Error, LaneId, Link, Message, MessageKind, Phase, Put,
    Received, Shapes, Status,
};
use crate::clock;
use crate::published::Subscription;

/// A session, as the handles of its channel use it.
pub(crate) struct SessionLink {
    shared: Arc<Shared>,
    shapes: Arc<Shapes>,
    entry: Entry,
}

impl SessionLink {
    pub(crate) fn new(shared: Arc<Shared>, entry: Entry) -> Self {
        let shapes = Arc::clone(&shared.lock().shapes);
        Self { shared, shapes, entry }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.shared.lock()
    }
}

fn put(core: &mut Core, now: Time, LaneId(lane): LaneId, put: Put<'_>) -> Result<u64, Refused> {
    match put {
        Put::State(key, value) => core.session.put_state(now, lane, key.raw(), value).map(|()| 0),
        Put::Event(payload) => core.session.put_event(now, lane, payload).map(|()| 0),
        Put::Command(payload, patience) => {
            let number = core.session.put_command(now, lane, payload, patience)?;
            core.replies.expect(CommandId::new(lane, number));
            Ok(number)
        }
        Put::Reply(number, payload) => core.session.put_reply(now, lane, number, payload).map(|()| number),
    }
}

/// The application's calls, under the lock of the channel.
impl Core {
    /// Takes messages while one of them may be the reply to a waiting command. All other messages are kept for the application.
    pub(super) fn take_replies(&mut self) {
        loop {
            if self.kept.is_full() {
                return self.replies.settle_all(&Error::Behind);
            }
            let mut bytes = Vec::new();
            let Some(received) = self.take_message(&mut bytes) else { break };
            self.kept.keep(Message::new(received, bytes));
        }
        self.note_reading();
    }

    /// Returns the next message that is not a reply. Replies go to their tasks.
    fn take_message(&mut self, bytes: &mut Vec<u8>) -> Option<Received> {
        loop {
            // This time only limits when consumption is reported, so an older time suffices. Reading a clock for each message
            // would cost more.
            let message = self.session.poll_message(self.looked_at, bytes)?;
            let lane = message.lane;
            if message.kind == Kind::Event && self.shapes.take_in(lane, bytes) {
                continue;
            }
            let kind = match message.kind {
                Kind::State { key } => MessageKind::State { key: key.into() },
                Kind::Event => MessageKind::Event,
                Kind::Command { command } => MessageKind::Command(CommandId::new(lane, command)),
                Kind::Replication { packet } => MessageKind::Replication { packet },
                Kind::Reply { command } => {
                    // The session counts late replies. If the caller is gone, it needs no reply.
                    self.replies.settle(CommandId::new(lane, command), Ok(mem::take(bytes)));
                    continue;
                }
            };
            return Some(Received {
                lane: LaneId(lane),
                kind,
                produced_at: clock::instant(message.produced_at),
            });
        }
    }

    /// Reading may free credit. The driver is then woken to inform the peer.
    fn note_reading(&mut self) {
        let wakes = self.session.report_at();
        if wakes.is_some_and(|at| self.armed.is_none_or(|armed| at < armed)) {
            self.wake_driver();
        }
    }

    /// Converts the session's answer to a put.
    fn explain<T>(&mut self, put: Result<T, Refused>) -> Result<T, Error> {
        put.map_err(|refused| {
            if refused == Refused::Closed {
                // A packet may have ended the session since the driver's last turn.
                self.take_news();
            }
            match (refused, self.closed()) {
                (Refused::Closed, Some(closed)) => Error::Closed(closed),
                _ => Error::Refused(refused),
            }
        })
    }
}

impl Link for SessionLink {
    fn poll_put(&self, lane: LaneId, message: Put<'_>, waker: Option<&Waker>) -> Poll<Result<u64, Error>> {
        let mut core = self.lock();
        let done = put(&mut core, clock::now(), lane, message);
        if done == Err(Refused::Full) {
            if let Some(waker) = waker {
                core.writers.insert(waker);
            }
            return Poll::Pending;
        }
        let done = core.explain(done)?;
        core.wake_driver();
        Poll::Ready(Ok(done))
    }

    fn put_in_batch(&self, lane: LaneId, message: Put<'_>) -> Poll<Result<u64, Error>> {
        let mut core = self.lock();
        // An older time suffices. Reading a clock for each message of a batch would cost more than the message itself.
        let now = core.looked_at.max(core.batch_began);
        match put(&mut core, now, lane, message) {
            Err(Refused::Full) => Poll::Pending,
            done => Poll::Ready(core.explain(done)),
        }
    }

    fn begin_batch(&self) {
        let mut core = self.lock();
        core.open_batches += 1;
        core.batch_began = clock::now();
    }

    fn end_batch(&self) {
        let mut core = self.lock();
        core.open_batches -= 1;
        core.wake_driver();
    }

    fn poll_receive(&self, bytes: &mut Vec<u8>, waker: Option<&Waker>) -> Poll<Result<Received, Error>> {
        let mut core = self.lock();
        if let Some(kept) = core.kept.next() {
            return Poll::Ready(Ok(kept.unpack(bytes)));
        }
        if let Some(received) = core.take_message(bytes) {
            return Poll::Ready(Ok(received));
        }
        core.note_reading();
        if let Some(closed) = core.closed() {
            return Poll::Ready(Err(Error::Closed(closed)));
        }
        if let Some(waker) = waker {
            core.readers.insert(waker);
        }
        Poll::Pending
    }

    fn poll_reply(&self, command: CommandId, waker: &Waker) -> Poll<Result<Vec<u8>, Error>> {
        let mut core = self.lock();
        match core.replies.poll(command, waker) {
            Some(reply) => reply,
            None => Poll::Ready(Err(core.closed().map_or(Error::TimedOut, Error::Closed))),
        }
    }

    fn forget_reply(&self, command: CommandId) {
        self.lock().replies.forget(command);
    }

    fn poll_drained(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let mut core = self.lock();
        if core.session.is_drained() {
            return Poll::Ready(Ok(()));
        }
        if let Some(closed) = core.closed() {
            return Poll::Ready(Err(Error::Closed(closed)));
        }
        core.writers.insert(waker);
        Poll::Pending
    }

    fn status(&self) -> Status {
        self.lock().status()
    }

    fn waiting_messages(&self) -> Vec<WaitingMessage> {
        self.lock().session.waiting_messages(clock::now()).collect()
    }

    fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.lock().watch()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }

    fn session_id(&self) -> Option<[u8; 8]> {
        self.lock().session_id()
    }

    fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    fn close(&self, code: u32, reason: &str) {
        self.lock().close(clock::now(), CloseCode(code), reason);
    }

    fn watch_left(&self) -> Option<watch::Receiver<bool>> {
        Some(self.lock().watch_left())
    }

    fn subscribe(&self, subscription: Subscription) -> Option<Subscription> {
        let mut core = self.lock();
        core.subscription = Some(subscription);
        core.wake_driver();
        None
    }

    fn set_source(&self, source: BoxedSource) {
        let mut core = self.lock();
        // After the end of the driver, no source is called.
        let unused = if core.is_left() { Some(source) } else { core.next_source.replace(source) };
        drop(core);
        self.shared.driver.call_source();
        discard(unused);
    }

    fn driver(&self) -> Arc<DriverWaker> {
        Arc::clone(&self.shared.driver)
    }

    fn ping(&self) {
        let mut core = self.lock();
        core.session.ping();
        core.wake_driver();
    }

    fn set_bytes_per_second_max(&self, bytes_per_second_max: Option<u64>) {
        self.lock().session.set_bytes_per_second_max(bytes_per_second_max);
    }
}

impl Drop for SessionLink {
    fn drop(&mut self) {
        let mut core = self.lock();
        core.linger(clock::now(), CloseCode::DONE, "");
    }
}
