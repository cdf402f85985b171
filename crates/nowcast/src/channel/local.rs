//! The verbs between tasks of one machine (`spec/CARRIERS.md`, section 5): both hold the ends of queues, so there is no
//! session, no packet and no driver.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use nowcast_queue::{Bounds, Key, Refusal};
use nowcast_session::{CloseCode, Closed, ClosedBy, Gauges, Refused, Stats};
use tokio::sync::{oneshot, watch};

use super::Error;
use super::kept::Kept;
use super::message::{CommandId, Message, MessageKind};
use super::status::{Phase, Status};
use crate::carrier::CarrierKind;
use crate::local::CARRIER;
use crate::local::backend::Queues;
use crate::local::message::{COMMAND, EVENT, REPLY};

/// As many lanes as a session has by default; all but the first are small.
pub(crate) const LANES: [Bounds; 8] = {
    const SMALL: Bounds = Bounds { entries_max: 256, bytes_max: 256 * 1_024 };
    let first = Bounds { entries_max: 4_096, bytes_max: 2 * 1_024 * 1_024 };
    [first, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL, SMALL]
};

/// One end of a channel between tasks of one machine, behind one lock.
pub(crate) struct Local {
    state: Mutex<State>,
    changes: watch::Sender<(Phase, Option<CarrierKind>)>,
}

pub(super) struct State {
    /// Gone once the channel is closed; that closes it for the peer.
    queues: Option<Queues>,
    closed: Option<Closed>,
    envelope: Vec<u8>,
    commands: u64,
    replies: HashMap<u64, Asked>,
    kept: Kept,
    reading: Arc<Fan>,
    writing: Arc<Fan>,
    stats: Stats,
}

struct Asked {
    reply: oneshot::Sender<Result<Vec<u8>, Error>>,
    deadline: Instant,
}

/// What is put under key 0.
#[derive(Clone, Copy, Debug)]
pub(super) enum Envelope {
    Event,
    Command(u64),
    Reply(u64),
}

/// Wakes all who wait, where the queue remembers only one.
#[derive(Default)]
struct Fan(Mutex<Vec<Waker>>);

impl Wake for Fan {
    fn wake(self: Arc<Self>) {
        let waiting = std::mem::take(&mut *self.0.lock().expect("nobody panics while holding it"));
        waiting.into_iter().for_each(Waker::wake);
    }
}

impl Fan {
    fn waker(self: &Arc<Self>, waiting: &Waker) -> Waker {
        let mut all = self.0.lock().expect("nobody panics while holding it");
        if !all.iter().any(|other| other.will_wake(waiting)) {
            all.push(waiting.clone());
        }
        drop(all);
        Waker::from(Arc::clone(self))
    }
}

impl Local {
    pub(crate) fn new(queues: Queues) -> Self {
        let (changes, _) = watch::channel((Phase::Open, Some(CARRIER)));
        let state = State {
            queues: Some(queues),
            closed: None,
            envelope: Vec::new(),
            commands: 0,
            replies: HashMap::new(),
            kept: Kept::default(),
            reading: Arc::default(),
            writing: Arc::default(),
            stats: Stats::default(),
        };
        Self { state: Mutex::new(state), changes }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding it")
    }

    pub(super) fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.changes.subscribe()
    }

    /// Tells those who watch when the channel has ended.
    pub(super) fn tell(&self, state: &State) {
        if let Some(closed) = &state.closed {
            self.changes.send_if_modified(|change| {
                let is_new = !matches!(change.0, Phase::Closed(_));
                *change = (Phase::Closed(closed.clone()), None);
                is_new
            });
        }
    }

    pub(super) fn close(&self, code: CloseCode, reason: &str) {
        let mut state = self.lock();
        state.end(Closed { code, reason: reason.to_owned(), by: ClosedBy::Us });
        self.tell(&state);
    }

    pub(super) fn status(&self) -> Status {
        let state = self.lock();
        let mut stats = state.stats.clone();
        stats.superseded = state.queues.as_ref().map_or(0, |queues| queues.sender.counters().replaced);
        let phase = state.closed.clone().map_or(Phase::Open, Phase::Closed);
        Status {
            carrier: Some(CARRIER),
            is_open: phase == Phase::Open,
            phase,
            rtt: None,
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
}

impl State {
    pub(super) fn put_state(&mut self, lane: u8, key: u64, value: &[u8]) -> Result<(), Error> {
        if key == 0 {
            return Err(Error::Refused(Refused::KeyZero));
        }
        self.put(lane, Key::from_raw(key), value)
    }

    pub(super) fn put_enveloped(
        &mut self,
        lane: u8,
        envelope: Envelope,
        payload: &[u8],
    ) -> Result<(), Error> {
        let mut bytes = std::mem::take(&mut self.envelope);
        seal(envelope, payload, &mut bytes);
        let put = self.put(lane, Key::EVENT, &bytes);
        self.envelope = bytes;
        put
    }

    fn put(&mut self, lane: u8, key: Key, bytes: &[u8]) -> Result<(), Error> {
        let queues = self.queues.as_mut().ok_or_else(|| closed_error(self.closed.as_ref()))?;
        let lanes = queues.sender.lanes();
        if usize::from(lane) >= lanes {
            return Err(Error::Refused(Refused::NoLane { lane, lanes: lanes as u8 }));
        }
        let put = queues.sender.try_put_on(lane.into(), key, bytes);
        put.map(drop).map_err(|refusal| self.explain(&refusal))
    }

    /// As an event, but waits for room.
    pub(super) fn poll_put_event(
        &mut self,
        context: &mut Context<'_>,
        lane: u8,
        payload: &[u8],
    ) -> Poll<Result<(), Error>> {
        match self.put_enveloped(lane, Envelope::Event, payload) {
            Err(Error::Refused(Refused::Full)) => {}
            done => return Poll::Ready(done),
        }
        let Some(queues) = &mut self.queues else { return Poll::Pending };
        let mut bytes = Vec::new();
        seal(Envelope::Event, payload, &mut bytes);
        let waker = self.writing.waker(context.waker());
        let put =
            queues.sender.poll_put_on(&mut Context::from_waker(&waker), lane.into(), Key::EVENT, &bytes);
        put.map(|put| put.map(drop).map_err(|refusal| self.explain(&refusal)))
    }

    /// Ready when the peer has, or can get at, all that was put.
    pub(super) fn poll_drained(&mut self, context: &Context<'_>) -> Poll<()> {
        let Some(queues) = &mut self.queues else { return Poll::Ready(()) };
        let waker = self.writing.waker(context.waker());
        queues.sender.poll_drained(&mut Context::from_waker(&waker))
    }

    /// Puts a command; the reply comes through what is returned.
    pub(super) fn put_command(
        &mut self,
        lane: u8,
        payload: &[u8],
        deadline: Instant,
    ) -> Result<oneshot::Receiver<Result<Vec<u8>, Error>>, Error> {
        self.commands += 1;
        self.put_enveloped(lane, Envelope::Command(self.commands), payload)?;
        let (reply, receiver) = oneshot::channel();
        let now = Instant::now();
        self.replies.retain(|_, asked| asked.deadline > now);
        self.replies.insert(self.commands, Asked { reply, deadline });
        Ok(receiver)
    }

    /// The next message, or arranges for the task to be woken when there may be one.
    pub(super) fn poll_message(&mut self, context: Option<&Context<'_>>) -> Poll<Result<Message, Error>> {
        if let Some(message) = self.kept.next() {
            return Poll::Ready(Ok(message));
        }
        self.pump(context)
    }

    /// Takes what arrived until the awaited reply may be among it; the rest is kept.
    pub(super) fn pump_for_reply(&mut self, context: &Context<'_>) -> Result<(), Error> {
        loop {
            if self.kept.is_full() {
                return Err(Error::Behind);
            }
            match self.pump(Some(context)) {
                Poll::Ready(Ok(message)) => self.kept.keep(message),
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(()),
            }
        }
    }

    fn pump(&mut self, context: Option<&Context<'_>>) -> Poll<Result<Message, Error>> {
        loop {
            let Some(queues) = &mut self.queues else {
                return Poll::Ready(Err(closed_error(self.closed.as_ref())));
            };
            let mut bytes = Vec::new();
            let got = match context {
                None => queues.receiver.try_get_any(&mut bytes),
                Some(context) => {
                    let waker = self.reading.waker(context.waker());
                    match queues.receiver.poll_get_any(&mut Context::from_waker(&waker), &mut bytes) {
                        Poll::Ready(got) => got.map(Some),
                        Poll::Pending => Ok(None),
                    }
                }
            };
            let (lane, key) = match got {
                Ok(Some(got)) => got,
                Ok(None) => return Poll::Pending,
                Err(refusal) => return Poll::Ready(Err(self.explain(&refusal))),
            };
            self.stats.messages_received += 1;
            if let Some(message) = self.open(lane as u8, key, bytes) {
                return Poll::Ready(message);
            }
        }
    }

    /// The message that these bytes are; `None` for a reply, which goes to who asked.
    fn open(&mut self, lane: u8, key: Key, mut bytes: Vec<u8>) -> Option<Result<Message, Error>> {
        let message = |kind, bytes| Some(Ok(Message { lane, kind, bytes, produced_at: Instant::now() }));
        if !key.is_event() {
            return message(MessageKind::State { key: key.raw() }, bytes);
        }
        let kind = bytes.first().copied();
        if kind == Some(EVENT) {
            bytes.remove(0);
            return message(MessageKind::Event, bytes);
        }
        let id = bytes.get(1..).and_then(|rest| rest.first_chunk()).map(|id| u64::from_le_bytes(*id));
        match (kind, id) {
            (Some(COMMAND), Some(number)) => {
                message(MessageKind::Command(CommandId { lane, number }), bytes.split_off(9))
            }
            (Some(REPLY), Some(number)) => {
                match self.replies.remove(&number) {
                    // Whoever asked may have given up.
                    Some(asked) => drop(asked.reply.send(Ok(bytes.split_off(9)))),
                    None => self.stats.dropped.late_replies += 1,
                }
                None
            }
            _ => Some(Err(self.explain(&Refusal::Corrupt("an event of an unknown kind")))),
        }
    }

    fn explain(&mut self, refusal: &Refusal) -> Error {
        let (code, by) = match *refusal {
            Refusal::Full => return Error::Refused(Refused::Full),
            Refusal::TooLarge { bytes, bytes_max } => {
                return Error::Refused(Refused::TooLarge { bytes, bytes_max });
            }
            Refusal::Closed => (CloseCode::DONE, ClosedBy::Peer),
            Refusal::Corrupt(_) => (CloseCode::VIOLATION, ClosedBy::Us),
            _ => (CloseCode::GAVE_UP, ClosedBy::Silence),
        };
        let reason = if code == CloseCode::DONE { String::new() } else { refusal.to_string() };
        self.end(Closed { code, reason, by });
        closed_error(self.closed.as_ref())
    }

    fn end(&mut self, closed: Closed) {
        if self.closed.is_none() {
            self.closed = Some(closed);
            self.queues = None;
            self.replies.clear();
            Arc::clone(&self.reading).wake();
            Arc::clone(&self.writing).wake();
        }
    }

    pub(super) fn closed(&self) -> Option<Closed> {
        self.closed.clone()
    }
}

fn closed_error(closed: Option<&Closed>) -> Error {
    closed.map_or(Error::Refused(Refused::Closed), |closed| Error::Closed(closed.clone()))
}

fn seal(envelope: Envelope, payload: &[u8], into: &mut Vec<u8>) {
    into.clear();
    match envelope {
        Envelope::Event => into.push(EVENT),
        Envelope::Command(id) => {
            into.push(COMMAND);
            into.extend_from_slice(&id.to_le_bytes());
        }
        Envelope::Reply(id) => {
            into.push(REPLY);
            into.extend_from_slice(&id.to_le_bytes());
        }
    }
    into.extend_from_slice(payload);
}

/// Waits until the deadline, but no longer than a day, which is what a forgotten one means.
pub(super) fn until(deadline: Instant) -> tokio::time::Sleep {
    const DAY: Duration = Duration::from_secs(24 * 3_600);
    tokio::time::sleep(deadline.saturating_duration_since(Instant::now()).min(DAY))
}
