//! A channel's link over a network, as the handles of the channel use it. `mod.rs` is the driver's side.

use std::sync::{Arc, MutexGuard};
use std::task::{Poll, Waker};

use nowcast_engine::carrier::CarrierKind;
use nowcast_engine::{IoThread, Phase, clock};
use nowcast_session::{Refused, Time};
use tokio::sync::watch;

use super::{Core, Shared};
use crate::channel::{CommandId, Entry, Error, LaneId, Link, Put, Received, Shapes, Status};
use crate::published::Subscription;

/// A session, as the handles of its channel use it.
pub(crate) struct SessionLink {
    shared: Arc<Shared>,
    shapes: Arc<Shapes>,
    entry: Entry,
    /// The I/O thread of the session; `None` on another runtime.
    thread: Option<IoThread>,
}

impl SessionLink {
    /// Makes the link of a session that runs on this thread.
    pub(crate) fn new(shared: Arc<Shared>, entry: Entry) -> Self {
        let shapes = Arc::clone(&shared.lock().handles.shapes);
        Self { shared, shapes, entry, thread: IoThread::current() }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.shared.lock()
    }
}

fn put(core: &mut Core, now: Time, LaneId(lane): LaneId, put: Put<'_>) -> Result<u64, Refused> {
    let session = &mut core.driven.protocol;
    match put {
        Put::State(key, value) => session.put_state(now, lane, key.raw(), value).map(|()| 0),
        Put::Event(payload) => session.put_event(now, lane, payload).map(|()| 0),
        Put::Command(payload, patience) => {
            let number = session.put_command(now, lane, payload, patience)?;
            core.handles.replies.expect(CommandId::new(lane, number));
            Ok(number)
        }
        Put::Reply(number, payload) => session.put_reply(now, lane, number, payload).map(|()| number),
    }
}

impl Core {
    /// Converts the session's answer to a put.
    fn explain<T>(&mut self, put: Result<T, Refused>) -> Result<T, Error> {
        put.map_err(|refused| {
            if refused == Refused::Closed {
                // A packet may have ended the session since the driver's last turn.
                self.take_notices();
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
                core.handles.writers.insert(waker);
            }
            return Poll::Pending;
        }
        let done = core.explain(done)?;
        core.handles.wake_driver();
        Poll::Ready(Ok(done))
    }

    fn put_in_batch(&self, lane: LaneId, message: Put<'_>) -> Poll<Result<u64, Error>> {
        let mut core = self.lock();
        // An older time suffices. Reading a clock for each message of a batch would cost more than the message itself.
        let now = core.driven.now();
        match put(&mut core, now, lane, message) {
            Err(Refused::Full) => Poll::Pending,
            done => Poll::Ready(core.explain(done)),
        }
    }

    fn begin_batch(&self) {
        let mut core = self.lock();
        core.handles.open_batches += 1;
        core.driven.look();
    }

    fn end_batch(&self) {
        let mut core = self.lock();
        core.handles.open_batches -= 1;
        core.handles.wake_driver();
    }

    fn poll_receive(&self, bytes: &mut Vec<u8>, waker: Option<&Waker>) -> Poll<Result<Received, Error>> {
        let mut core = self.lock();
        if let Some(kept) = core.handles.kept.next() {
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
            core.handles.readers.insert(waker);
        }
        Poll::Pending
    }

    fn poll_reply(&self, command: CommandId, waker: &Waker) -> Poll<Result<Vec<u8>, Error>> {
        let mut core = self.lock();
        match core.handles.replies.poll(command, waker) {
            Some(reply) => reply,
            None => Poll::Ready(Err(core.closed().map_or(Error::TimedOut, Error::Closed))),
        }
    }

    fn forget_reply(&self, command: CommandId) {
        self.lock().handles.replies.forget(command);
    }

    fn poll_drained(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let mut core = self.lock();
        if core.driven.protocol.is_drained() {
            return Poll::Ready(Ok(()));
        }
        if let Some(closed) = core.closed() {
            return Poll::Ready(Err(Error::Closed(closed)));
        }
        core.handles.writers.insert(waker);
        Poll::Pending
    }

    fn status(&self) -> Status {
        Status::of(&self.lock().driven)
    }

    fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.lock().handles.watch()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }

    fn session_id(&self) -> Option<[u8; 8]> {
        self.lock().driven.protocol.identity().map(|resume| resume.session)
    }

    fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    fn close(&self, code: u32, reason: &str) {
        self.lock().close(code, reason);
    }

    fn watch_left(&self) -> Option<watch::Receiver<bool>> {
        Some(self.shared.left.subscribe())
    }

    fn subscribe(&self, subscription: Subscription) -> Option<Subscription> {
        let mut core = self.lock();
        core.handles.subscription = Some(subscription);
        core.handles.wake_driver();
        None
    }

    fn thread(&self) -> Option<&IoThread> {
        self.thread.as_ref()
    }

    fn ping(&self) {
        let mut core = self.lock();
        core.driven.protocol.ping();
        core.handles.wake_driver();
    }

    fn set_bytes_per_second_max(&self, bytes_per_second_max: Option<u64>) {
        self.lock().driven.protocol.set_bytes_per_second_max(bytes_per_second_max);
    }
}

impl Drop for SessionLink {
    fn drop(&mut self) {
        self.lock().linger();
    }
}
