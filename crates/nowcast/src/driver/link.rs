//! A channel's link over a network.

use std::sync::{Arc, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

use nowcast_session::{CloseCode, Refused, Time};
use tokio::sync::watch;

use super::core::{Core, Shared};
use super::source_drafts::discard;
use crate::carrier::CarrierKind;
use crate::channel::{CommandId, Entry, Error, LaneId, Link, Phase, Put, Received, Shapes, Source, Status};
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
        let shapes = shared.lock().shapes();
        Self { shared, shapes, entry }
    }

    fn lock(&self) -> MutexGuard<'_, Core> {
        self.shared.lock()
    }
}

fn put(core: &mut Core, now: Time, LaneId(lane): LaneId, put: Put<'_>) -> Result<u64, Refused> {
    match put {
        Put::State(key, value) => core.session.put_state(now, lane, key.raw(), value).map(|()| 0),
        Put::Event(payload, lifetime) => core.session.put_event(now, lane, payload, lifetime),
        Put::Command(payload, patience) => {
            let number = core.session.put_command(now, lane, payload, patience)?;
            core.expect_reply(CommandId::new(lane, number));
            Ok(number)
        }
        Put::Reply(number, payload) => core.session.put_reply(now, lane, number, payload).map(|()| number),
    }
}

impl Link for SessionLink {
    fn poll_put(&self, lane: LaneId, message: Put<'_>, waker: Option<&Waker>) -> Poll<Result<u64, Error>> {
        let mut core = self.lock();
        let done = put(&mut core, clock::now(), lane, message);
        if done == Err(Refused::Full) {
            waker.into_iter().for_each(|waker| core.wait_to_write(waker));
            return Poll::Pending;
        }
        Poll::Ready(core.put(done))
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
        self.lock().poll_message(bytes, waker)
    }

    fn poll_reply(&self, command: CommandId, waker: &Waker) -> Poll<Result<Vec<u8>, Error>> {
        self.lock().poll_reply(command, waker)
    }

    fn forget_reply(&self, command: CommandId) {
        self.lock().forget_reply(command);
    }

    fn poll_drained(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let core = self.lock();
        if core.session.is_drained() {
            return Poll::Ready(Ok(()));
        }
        if let Some(closed) = core.closed() {
            return Poll::Ready(Err(Error::Closed(closed)));
        }
        core.wait_to_write(waker);
        Poll::Pending
    }

    fn status(&self) -> Status {
        self.lock().status()
    }

    fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.lock().watch()
    }

    fn entry(&self) -> &Entry {
        &self.entry
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

    fn take_expired(&self) -> Vec<(LaneId, u64)> {
        self.lock().take_expired()
    }

    fn silence(&self) -> Duration {
        let since = self.lock().session.unanswered_since();
        since.map_or(Duration::ZERO, |since| clock::now().since(since))
    }

    fn time_since_heard(&self) -> Duration {
        clock::now().since(self.lock().session.last_heard())
    }

    fn subscribe(&self, subscription: Subscription) -> Option<Subscription> {
        let mut core = self.lock();
        core.subscription = Some(subscription);
        core.wake_driver();
        None
    }

    fn set_source(&self, source: Box<dyn Source>) {
        let mut core = self.lock();
        // After the end of the driver, no source is called.
        let unused = if core.is_left() { Some(source) } else { core.next_source.replace(source) };
        drop(core);
        self.shared.driver.call_source();
        discard(unused);
    }

    fn source_has_more(&self) {
        self.shared.driver.call_source();
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
        core.linger(clock::now());
    }
}
