//! The link of a channel between programs on one machine (`spec/CARRIERS.md`, section 5). Both programs hold the ends of queues,
//! so there is no session, no packet and no driver.
//!
//! A message under key 0 begins with one byte for its kind. In commands and replies, an eight-byte number follows
//! (`spec/QUEUE.md`, section 8).

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use nowcast_engine::carrier::CarrierKind;
use nowcast_queue::{Bounds, Key, Refusal};
use nowcast_session::{CloseCode, Closed, ClosedBy, Gauges, Refused, Stats};
use tokio::sync::watch;

use super::backend::{CARRIER, QueueReceiver, QueueSender, Queues};
use crate::channel::{
    CommandId, Entry, Error, LaneId, Link, Message, MessageKind, Phase, Put, Received, Replies,
    RequeuedMessages, Shapes, Status, WakerSet,
};

/// The default lanes of a session. All lanes except the first are small.
pub(crate) const LANES: [Bounds; 8] = {
    const SMALL: Bounds = Bounds { entries_max: 256, bytes_max: 256 * 1_024 };
    let first = Bounds { entries_max: 4_096, bytes_max: 2 * 1_024 * 1_024 };
    [first, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL]
};

/// Interval at which a sleeping thread checks whether its own side has closed the channel.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

const EVENT: u8 = 0;
const COMMAND: u8 = 1;
const REPLY: u8 = 2;
/// Size in bytes of the header of a command: its kind and its number.
const NUMBERED_BYTES: usize = 9;

/// The ends of the queues of one channel. Sending and receiving have separate locks. A waiting task holds no lock.
pub(crate) struct LocalLink {
    sending: Mutex<Sending>,
    receiving: Mutex<Receiving>,
    /// The reason of the channel's end, once it has ended.
    end: OnceLock<Closed>,
    changes: watch::Sender<(Phase, Option<CarrierKind>)>,
    readers: Arc<WakerSet>,
    writers: Arc<WakerSet>,
    shapes: Arc<Shapes>,
    entry: Entry,
}

struct Sending {
    /// `None` after the end of the channel. Dropping the queue closes the channel for the peer.
    queue: Option<QueueSender>,
    sealed: Vec<u8>,
    commands: u64,
}

struct Receiving {
    queue: Option<QueueReceiver>,
    /// Whether a sleeping thread has borrowed the receiving queue.
    is_lent: bool,
    kept: RequeuedMessages,
    replies: Replies,
    shapes: Arc<Shapes>,
    received: u64,
    late_replies: u64,
}

impl LocalLink {
    /// Makes the link of a channel to an advertised name.
    pub(crate) fn new(queues: Queues, name: &str) -> Self {
        let Queues { sender, receiver } = queues;
        let (changes, _) = watch::channel((Phase::Open, Some(CARRIER)));
        let process = Some(receiver.peer_pid());
        let shapes = Arc::<Shapes>::default();
        Self {
            sending: Mutex::new(Sending { queue: Some(sender), sealed: Vec::new(), commands: 0 }),
            receiving: Mutex::new(Receiving {
                queue: Some(receiver),
                is_lent: false,
                kept: RequeuedMessages::default(),
                replies: Replies::default(),
                shapes: Arc::clone(&shapes),
                received: 0,
                late_replies: 0,
            }),
            end: OnceLock::new(),
            changes,
            readers: Arc::default(),
            writers: Arc::default(),
            shapes,
            entry: Entry { room: name.to_owned(), process, ..Entry::default() },
        }
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().expect("no thread panics while holding the lock")
    }

    fn receiving(&self) -> MutexGuard<'_, Receiving> {
        self.receiving.lock().expect("no thread panics while holding the lock")
    }

    /// Returns the error of every call after the end.
    fn ended(&self) -> Error {
        self.end.get().map_or(Error::Refused(Refused::Closed), |closed| Error::Closed(closed.clone()))
    }

    /// Converts a refusal of a queue. Must not be called under a lock.
    fn explain(&self, refusal: Refusal) -> Error {
        let (code, by) = match refusal {
            Refusal::Full => return Error::Refused(Refused::Full),
            Refusal::TooLarge { bytes, bytes_max } => {
                return Error::Refused(Refused::TooLarge { bytes, bytes_max });
            }
            Refusal::Closed => (CloseCode::DONE, ClosedBy::Peer),
            Refusal::Corrupt(_) => (CloseCode::VIOLATION, ClosedBy::Us),
            _ => (CloseCode::GAVE_UP, ClosedBy::Silence),
        };
        let reason = if code == CloseCode::DONE { String::new() } else { refusal.to_string() };
        self.finish(Closed { code, reason, by });
        self.ended()
    }

    /// Ends the channel. Messages that have arrived can still be received, unless this side has closed it.
    fn finish(&self, closed: Closed) {
        let by_us = closed.by == ClosedBy::Us;
        if self.end.set(closed.clone()).is_err() {
            return;
        }
        self.sending().queue = None;
        if by_us {
            self.finish_receiving();
        }
        self.changes.send_replace((Phase::Closed(closed), None));
        self.readers.wake_all();
        self.writers.wake_all();
    }

    /// Whether this side has closed the channel.
    fn is_ours_to_end(&self) -> bool {
        self.end.get().is_some_and(|closed| closed.by == ClosedBy::Us)
    }

    /// Records that nothing more will be received.
    fn finish_receiving(&self) {
        let mut receiving = self.receiving();
        receiving.queue = None;
        // A sleeping thread itself detects the end of the channel.
        receiving.is_lent = false;
        receiving.replies.settle_all(&self.ended());
    }

    /// Returns why the receiving queue has ended. Must not be called under a lock.
    fn explain_receiving(&self, refusal: Refusal) -> Error {
        let error = self.explain(refusal);
        self.finish_receiving();
        error
    }

    /// Takes messages while one of them may be the awaited reply. All other messages are kept.
    fn look_for_reply(&self, receiving: &mut Receiving, waker: &Waker) -> Result<(), Refusal> {
        while !receiving.kept.is_full() {
            let mut bytes = Vec::new();
            let Some(received) = receiving.take(&mut bytes, Some((&self.readers, waker)))? else {
                return Ok(());
            };
            receiving.kept.keep(Message::new(received, bytes));
            self.readers.wake_all();
        }
        receiving.replies.settle_all(&Error::Behind);
        Ok(())
    }
}

impl Link for LocalLink {
    fn poll_put(&self, lane: LaneId, put: Put<'_>, waker: Option<&Waker>) -> Poll<Result<u64, Error>> {
        let mut guard = self.sending();
        let Sending { queue, sealed, commands } = &mut *guard;
        let Some(queue) = queue else {
            drop(guard);
            return Poll::Ready(Err(self.ended()));
        };
        let (index, lanes) = (usize::from(lane.number()), queue.lanes());
        if index >= lanes {
            let lanes = lanes.try_into().unwrap_or(u8::MAX);
            return Poll::Ready(Err(Error::Refused(Refused::NoLane { lane: lane.number(), lanes })));
        }
        let (key, bytes, number) = match put {
            Put::State(key, _) if key.is_event() => {
                return Poll::Ready(Err(Error::Refused(Refused::KeyZero)));
            }
            Put::State(key, value) => (key, value, 0),
            Put::Event(payload) => (Key::EVENT, seal(sealed, EVENT, None, payload), 0),
            Put::Command(payload, _) => {
                *commands += 1;
                // The reply may arrive before the put has returned, so the command is registered first.
                self.receiving().replies.expect(CommandId::new(lane.number(), *commands));
                (Key::EVENT, seal(sealed, COMMAND, Some(*commands), payload), *commands)
            }
            Put::Reply(number, payload) => (Key::EVENT, seal(sealed, REPLY, Some(number), payload), number),
        };
        let mut done = queue.try_put_on(index, key, bytes);
        if done == Err(Refusal::Full)
            && let Some(waker) = waker
        {
            let waker = self.writers.join(waker);
            done = match queue.poll_put_on(&mut Context::from_waker(&waker), index, key, bytes) {
                Poll::Ready(done) => done,
                Poll::Pending => Err(Refusal::Full),
            };
        }
        drop(guard);
        if done.is_err() && matches!(put, Put::Command(..)) {
            self.forget_reply(CommandId::new(lane.number(), number));
        }
        match done {
            Ok(_) => Poll::Ready(Ok(number)),
            Err(Refusal::Full) => Poll::Pending,
            Err(refusal) => Poll::Ready(Err(self.explain(refusal))),
        }
    }

    fn poll_receive(&self, bytes: &mut Vec<u8>, waker: Option<&Waker>) -> Poll<Result<Received, Error>> {
        let mut receiving = self.receiving();
        if let Some(kept) = receiving.kept.next() {
            return Poll::Ready(Ok(kept.unpack(bytes)));
        }
        let taken = receiving.take(bytes, waker.map(|waker| (&self.readers, waker)));
        drop(receiving);
        match taken {
            Ok(Some(received)) => Poll::Ready(Ok(received)),
            Ok(None) => Poll::Pending,
            Err(refusal) => Poll::Ready(Err(self.explain_receiving(refusal))),
        }
    }

    fn receive_asleep(
        &self,
        bytes: &mut Vec<u8>,
        deadline: Option<Instant>,
    ) -> Option<Result<Received, Error>> {
        loop {
            let mut receiving = self.receiving();
            if let Some(kept) = receiving.kept.next() {
                return Some(Ok(kept.unpack(bytes)));
            }
            match receiving.take(bytes, None) {
                Ok(Some(received)) => return Some(Ok(received)),
                Ok(None) => {}
                Err(refusal) => {
                    drop(receiving);
                    return Some(Err(self.explain_receiving(refusal)));
                }
            }
            // A sleeping thread must not hold the lock, so it borrows the queue. Any second thread waits by a waker.
            let mut queue = receiving.lend()?;
            drop(receiving);
            let look_again = Instant::now() + LOOK_AGAIN;
            let until = deadline.map_or(look_again, |deadline| deadline.min(look_again));
            let got = queue.get_any(bytes, Some(until));
            let taken = self.receiving().give_back(queue, got, bytes, self.is_ours_to_end());
            self.readers.wake_all();
            match taken {
                Ok(Some(received)) => return Some(Ok(received)),
                Ok(None) if deadline.is_some_and(|deadline| deadline <= Instant::now()) => return None,
                Ok(None) => {}
                Err(refusal) => return Some(Err(self.explain_receiving(refusal))),
            }
        }
    }

    fn poll_reply(&self, command: CommandId, waker: &Waker) -> Poll<Result<Vec<u8>, Error>> {
        let mut receiving = self.receiving();
        if let Some(Poll::Ready(reply)) = receiving.replies.poll(command, waker) {
            return Poll::Ready(reply);
        }
        if let Err(refusal) = self.look_for_reply(&mut receiving, waker) {
            drop(receiving);
            self.explain_receiving(refusal);
            receiving = self.receiving();
        }
        let reply = receiving.replies.poll(command, waker);
        reply.unwrap_or_else(|| Poll::Ready(Err(self.ended())))
    }

    fn forget_reply(&self, command: CommandId) {
        self.receiving().replies.forget(command);
    }

    fn poll_drained(&self, waker: &Waker) -> Poll<Result<(), Error>> {
        let mut sending = self.sending();
        let Some(queue) = &mut sending.queue else { return Poll::Ready(Err(self.ended())) };
        let waker = self.writers.join(waker);
        queue.poll_drained(&mut Context::from_waker(&waker)).map(Ok)
    }

    fn status(&self) -> Status {
        let mut stats = Stats::default();
        if let Some(queue) = &self.sending().queue {
            stats.superseded = queue.counters().replaced;
        }
        let receiving = self.receiving();
        stats.messages_received = receiving.received;
        stats.dropped.late_replies = receiving.late_replies;
        drop(receiving);
        let phase = self.end.get().cloned().map_or(Phase::Open, Phase::Closed);
        Status {
            carrier: Some(CARRIER),
            is_open: phase == Phase::Open,
            phase,
            rtt: None,
            silence: Duration::ZERO,
            since_heard: Duration::ZERO,
            loss: 0.0,
            freshness: None,
            freshness_p99: None,
            superseded: stats.superseded,
            resent: 0,
            resumed: 0,
            gauges: Gauges::default(),
            stats,
        }
    }

    fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.changes.subscribe()
    }

    fn entry(&self) -> &Entry {
        &self.entry
    }

    fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    fn close(&self, code: u32, reason: &str) {
        self.finish(Closed { code: CloseCode(code), reason: reason.to_owned(), by: ClosedBy::Us });
    }
}

impl Receiving {
    /// Takes the next message that is not a reply. Replies go to their tasks. With a waker, the task is woken when
    /// there may be a message.
    fn take(
        &mut self,
        bytes: &mut Vec<u8>,
        waker: Option<(&Arc<WakerSet>, &Waker)>,
    ) -> Result<Option<Received>, Refusal> {
        loop {
            let Some(queue) = &mut self.queue else {
                if !self.is_lent {
                    return Err(Refusal::Closed);
                }
                waker.into_iter().for_each(|(readers, waker)| readers.insert(waker));
                return Ok(None);
            };
            let mut got = queue.try_get_any(bytes)?;
            if got.is_none()
                && let Some((readers, waker)) = waker
            {
                let waker = readers.join(waker);
                got = match queue.poll_get_any(&mut Context::from_waker(&waker), bytes) {
                    Poll::Ready(got) => Some(got?),
                    Poll::Pending => None,
                };
            }
            let Some((lane, key)) = got else { return Ok(None) };
            if let Some(received) = self.sort(lane, key, bytes)? {
                return Ok(Some(received));
            }
        }
    }

    /// Returns the received message, unless it is a reply or an announcement. A reply is passed to its task.
    fn sort(&mut self, lane: usize, key: Key, bytes: &mut Vec<u8>) -> Result<Option<Received>, Refusal> {
        let lane = LaneId::new(lane.try_into().unwrap_or(u8::MAX));
        self.received += 1;
        let kind = match unseal(key, bytes)? {
            Sealed::State => MessageKind::State { key },
            Sealed::Event if self.shapes.take_in(lane.number(), bytes) => return Ok(None),
            Sealed::Event => MessageKind::Event,
            Sealed::Command(number) => MessageKind::Command(CommandId::new(lane.number(), number)),
            Sealed::Reply(number) => {
                let command = CommandId::new(lane.number(), number);
                let is_awaited = self.replies.settle(command, Ok(std::mem::take(bytes)));
                self.late_replies += u64::from(!is_awaited);
                return Ok(None);
            }
        };
        Ok(Some(Received { lane, kind, produced_at: Instant::now() }))
    }

    /// Lends the queue to a thread that sleeps until a message arrives.
    fn lend(&mut self) -> Option<QueueReceiver> {
        let queue = self.queue.take();
        self.is_lent |= queue.is_some();
        queue
    }

    /// Takes back the queue from the thread, and the message that the thread received.
    fn give_back(
        &mut self,
        queue: QueueReceiver,
        got: Result<(usize, Key), Refusal>,
        bytes: &mut Vec<u8>,
        is_over: bool,
    ) -> Result<Option<Received>, Refusal> {
        self.is_lent = false;
        self.queue = (!is_over).then_some(queue);
        match got {
            Ok((lane, key)) => self.sort(lane, key, bytes),
            Err(Refusal::TimedOut) => Ok(None),
            Err(refusal) => Err(refusal),
        }
    }
}

/// The header of a message in the queue.
enum Sealed {
    State,
    Event,
    Command(u64),
    Reply(u64),
}

fn seal<'a>(sealed: &'a mut Vec<u8>, kind: u8, number: Option<u64>, payload: &[u8]) -> &'a [u8] {
    sealed.clear();
    sealed.push(kind);
    if let Some(number) = number {
        sealed.extend_from_slice(&number.to_le_bytes());
    }
    sealed.extend_from_slice(payload);
    sealed
}

/// Removes the header that [`seal`] added.
fn unseal(key: Key, bytes: &mut Vec<u8>) -> Result<Sealed, Refusal> {
    if !key.is_event() {
        return Ok(Sealed::State);
    }
    let number = || {
        let number = bytes.get(1..NUMBERED_BYTES).and_then(|number| number.first_chunk());
        number.map(|number| u64::from_le_bytes(*number)).ok_or(Refusal::Corrupt("a command without a number"))
    };
    let (sealed, length) = match bytes.first() {
        Some(&EVENT) => (Sealed::Event, 1),
        Some(&COMMAND) => (Sealed::Command(number()?), NUMBERED_BYTES),
        Some(&REPLY) => (Sealed::Reply(number()?), NUMBERED_BYTES),
        _ => return Err(Refusal::Corrupt("an event of an unknown kind")),
    };
    bytes.drain(..length);
    Ok(sealed)
}
