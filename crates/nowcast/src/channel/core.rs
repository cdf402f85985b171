//! What a channel and its driver share: the session, its carrier, and who waits for what.

use std::cell::Cell;
use std::collections::HashMap;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use nowcast_session::{
    CloseCode, Closed, MessageKind as Kind, Notice, PacketOutcome, Refused, Replication, Session, Time,
};
use tokio::sync::{oneshot, watch};

use super::Error;
use super::kept::Kept;
use super::message::{CommandId, Message, MessageKind};
use super::status::{Phase, Status};
use crate::carrier::{Carrier, CarrierKind, Ending, retire};
use crate::{clock, random};

/// Feeds lanes with states of its own, which depend on what the peer has; see [`Replication`].
///
/// It is called with the channel locked: it must not call the channel. When it panics, the channel ends with the code
/// `APPLICATION` on both sides.
pub trait Source: Replication + Send {
    /// Hears what became of the bytes that it put into a packet.
    fn settled(&mut self, outcome: PacketOutcome);
}

/// What became of a command.
type Reply = Result<Vec<u8>, Error>;

/// How many expired events are remembered for an application that does not ask.
const EXPIRED_MAX: usize = 1_024;

/// A session with all around it, behind one lock.
pub(crate) struct Shared {
    core: Mutex<Core>,
}

/// What the lock guards.
pub(crate) struct Core {
    pub(crate) session: Session,
    pub(crate) carrier: Option<Box<dyn Carrier>>,
    /// What the session ran on last.
    latest_kind: Option<CarrierKind>,
    pub(crate) source: Option<Box<dyn Source>>,
    /// When the driver wakes by itself.
    pub(crate) armed: Option<Time>,
    /// When the driver last looked at the clock.
    pub(crate) looked_at: Time,
    driver: Option<Waker>,
    driver_is_woken: bool,
    readers: Vec<Waker>,
    writers: Vec<Waker>,
    /// Batches that are open; nothing is sent meanwhile.
    pub(crate) open_batches: usize,
    /// The application's source panicked.
    pub(crate) is_source_broken: Cell<bool>,
    replies: HashMap<(u8, u64), oneshot::Sender<Reply>>,
    kept: Kept,
    expired: Vec<(u8, u64)>,
    phase: Phase,
    resumed: u64,
    changes: watch::Sender<(Phase, Option<CarrierKind>)>,
    /// Whether nothing more leaves: the session is over and its last carrier ended.
    left: watch::Sender<bool>,
    /// The application is gone: ends when all was delivered, or then.
    pub(crate) lingers_until: Option<Time>,
    /// The carrier broke the rules, or the endpoint goes away.
    pub(crate) ending: Ending,
}

impl Shared {
    pub(crate) fn new(session: Session, carrier: Option<Box<dyn Carrier>>) -> Arc<Self> {
        let kind = carrier.as_ref().map(|carrier| carrier.kind());
        let (changes, _) = watch::channel((Phase::Connecting, kind));
        Arc::new(Self {
            core: Mutex::new(Core {
                session,
                carrier,
                latest_kind: kind,
                source: None,
                armed: None,
                looked_at: clock::now(),
                driver: None,
                driver_is_woken: false,
                readers: Vec::new(),
                writers: Vec::new(),
                open_batches: 0,
                is_source_broken: Cell::new(false),
                replies: HashMap::new(),
                kept: Kept::default(),
                expired: Vec::new(),
                phase: Phase::Connecting,
                resumed: 0,
                changes,
                left: watch::Sender::new(false),
                lingers_until: None,
                ending: Ending::Done,
            }),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("nobody panics while holding it")
    }
}

impl Core {
    /// Goes on over another carrier; the one before is ended.
    pub(crate) fn attach(&mut self, now: Time, carrier: Box<dyn Carrier>) {
        self.session.attach(now, carrier.properties(), random::entropy());
        self.latest_kind = Some(carrier.kind());
        if let Some(old) = self.carrier.replace(carrier) {
            retire(old, Ending::Done);
        }
        self.note_change();
        self.wake_driver();
    }

    /// The carrier is dead.
    pub(crate) fn detach(&mut self, now: Time) {
        self.carrier = None;
        self.session.detach(now);
    }

    /// Has the driver look at the session soon.
    pub(crate) fn wake_driver(&mut self) {
        if mem::replace(&mut self.driver_is_woken, true) {
            return;
        }
        if let Some(driver) = &self.driver {
            driver.wake_by_ref();
        }
    }

    /// The driver looks; whoever wants it to look again wakes `waker`.
    pub(crate) fn driver_looks(&mut self, waker: &Waker) {
        self.driver_is_woken = false;
        if !self.driver.as_ref().is_some_and(|driver| driver.will_wake(waker)) {
            self.driver = Some(waker.clone());
        }
    }

    /// Hands out the session's news.
    pub(crate) fn take_news(&mut self) {
        while let Some(outcome) = self.session.poll_outcome() {
            if let Some(source) = &mut self.source
                && guarded(|| source.settled(outcome)).is_none()
            {
                self.is_source_broken.set(true);
            }
        }
        if self.is_source_broken.get() && self.source.take().is_some() {
            self.session.close(self.looked_at, CloseCode::APPLICATION, "the source panicked");
        }
        let mut has_news = false;
        while let Some(notice) = self.session.poll_notice() {
            has_news = true;
            self.on_notice(notice);
        }
        if has_news {
            self.note_change();
            wake_all(&mut self.readers);
            wake_all(&mut self.writers);
        }
    }

    fn on_notice(&mut self, notice: Notice) {
        match notice {
            Notice::Opened { resumed } => {
                self.resumed += u64::from(resumed);
                self.phase = Phase::Open;
            }
            Notice::Detached => self.phase = Phase::Interrupted,
            Notice::Closed(closed) => {
                self.phase = Phase::Closed(closed);
                self.replies.clear();
            }
            Notice::Expired { lane, event } => {
                if self.expired.len() < EXPIRED_MAX {
                    self.expired.push((lane, event));
                }
            }
            Notice::CommandTimedOut { lane, command } => {
                if let Some(waiting) = self.replies.remove(&(lane, command)) {
                    let _ = waiting.send(Err(Error::TimedOut));
                }
            }
        }
    }

    fn note_change(&mut self) {
        let state = (self.phase.clone(), self.carrier_kind());
        self.changes.send_if_modified(|before| {
            let is_new = *before != state;
            *before = state;
            is_new
        });
    }

    pub(crate) fn carrier_kind(&self) -> Option<CarrierKind> {
        self.carrier.as_ref().map(|carrier| carrier.kind())
    }

    /// Something arrived: who reads may have something to read, who writes may have room.
    pub(crate) fn wake_waiting(&mut self) {
        wake_all(&mut self.readers);
        wake_all(&mut self.writers);
    }

    pub(super) fn wait_to_read(&mut self, waker: &Waker) {
        wait(&mut self.readers, waker);
    }

    pub(super) fn wait_to_write(&mut self, waker: &Waker) {
        wait(&mut self.writers, waker);
    }

    /// The next message for the application.
    pub(super) fn next_message(&mut self) -> Result<Option<Message>, Error> {
        if let Some(message) = self.kept.next() {
            return Ok(Some(message));
        }
        let message = self.pump();
        if message.is_none() {
            self.note_reading();
            if let Some(closed) = self.closed() {
                return Err(Error::Closed(closed));
            }
        }
        Ok(message)
    }

    /// Takes what arrived until the reply to a command may be among it; the rest is kept for the application.
    pub(super) fn pump_for_reply(&mut self) -> Result<(), Error> {
        loop {
            if self.kept.is_full() {
                return Err(Error::Behind);
            }
            let Some(message) = self.pump() else { break };
            self.kept.keep(message);
        }
        self.note_reading();
        Ok(())
    }

    /// The next message that is not a reply; replies go to who waits for them.
    fn pump(&mut self) -> Option<Message> {
        loop {
            let mut bytes = Vec::new();
            // The time only says by when consumption is to be reported; reading a clock for each message would cost more.
            let message = self.session.poll_message(self.looked_at, &mut bytes)?;
            let lane = message.lane;
            let kind = match message.kind {
                Kind::State { key } => MessageKind::State { key },
                Kind::Event => MessageKind::Event,
                Kind::Command { command } => MessageKind::Command(CommandId { lane, number: command }),
                Kind::Replication { packet } => MessageKind::Replication { packet },
                Kind::Reply { command } => {
                    if let Some(waiting) = self.replies.remove(&(lane, command)) {
                        // Whoever asked may have given up.
                        let _ = waiting.send(Ok(bytes));
                        wake_all(&mut self.readers);
                    }
                    continue;
                }
            };
            let produced_at = clock::instant(message.produced_at);
            return Some(Message { lane, kind, bytes, produced_at });
        }
    }

    /// What was read may be credit for the peer that is to be reported.
    fn note_reading(&mut self) {
        let wakes = self.session.report_at();
        if wakes.is_some_and(|at| self.armed.is_none_or(|armed| at < armed)) {
            self.wake_driver();
        }
    }

    pub(super) fn await_reply(&mut self, lane: u8, command: u64) -> oneshot::Receiver<Reply> {
        let (sender, receiver) = oneshot::channel();
        // Commands are bounded by the session; those whose caller left end with their deadline.
        self.replies.insert((lane, command), sender);
        receiver
    }

    pub(super) fn take_expired(&mut self) -> Vec<(u8, u64)> {
        mem::take(&mut self.expired)
    }

    pub(crate) fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.changes.subscribe()
    }

    pub(super) fn status(&self) -> Status {
        Status::of(&self.session, self.latest_kind, self.phase.clone(), self.resumed)
    }

    pub(crate) fn closed(&self) -> Option<Closed> {
        match &self.phase {
            Phase::Closed(closed) => Some(closed.clone()),
            _ => None,
        }
    }

    /// Ends the session, and its carrier for the same reason.
    pub(crate) fn close(&mut self, now: Time, code: CloseCode, reason: &str) {
        if code == CloseCode::GOING_AWAY {
            self.ending = Ending::GoingAway;
        }
        self.session.close(now, code, reason);
        self.take_news();
        self.wake_driver();
    }

    /// The driver has ended.
    pub(crate) fn has_left(&mut self) {
        self.left.send_replace(true);
    }

    /// True once the driver has ended.
    pub(super) fn watch_left(&self) -> watch::Receiver<bool> {
        self.left.subscribe()
    }

    /// What the session said to a put; what was taken is to be sent.
    pub(super) fn put<T>(&mut self, put: Result<T, Refused>) -> Result<T, Error> {
        let done = self.explain(put)?;
        self.wake_driver();
        Ok(done)
    }

    /// What the session said to a put.
    pub(super) fn explain<T>(&self, put: Result<T, Refused>) -> Result<T, Error> {
        put.map_err(|refused| match (refused, self.closed()) {
            (Refused::Closed, Some(closed)) => Error::Closed(closed),
            _ => Error::Refused(refused),
        })
    }
}

/// Runs the application's code under the lock of the channel, which outlives a panic there. The process's own hook has said
/// already what happened.
fn guarded<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}

/// A source that does no harm when it panics: it then has nothing more to say.
pub(crate) struct Guarded<'a> {
    source: &'a mut dyn Source,
    is_broken: &'a Cell<bool>,
}

impl<'a> Guarded<'a> {
    pub(crate) fn new(source: &'a mut dyn Source, is_broken: &'a Cell<bool>) -> Self {
        Self { source, is_broken }
    }
}

impl Replication for Guarded<'_> {
    fn has_more(&self, lane: u8) -> bool {
        if self.is_broken.get() {
            return false;
        }
        guarded(|| self.source.has_more(lane)).unwrap_or_else(|| {
            self.is_broken.set(true);
            false
        })
    }

    fn fill(&mut self, lane: u8, number: u64, room: usize, out: &mut Vec<u8>) {
        let before = out.len();
        if self.is_broken.get() || guarded(|| self.source.fill(lane, number, room, out)).is_none() {
            self.is_broken.set(true);
            out.truncate(before);
        }
    }
}

fn wait(waiting: &mut Vec<Waker>, waker: &Waker) {
    if !waiting.iter().any(|other| other.will_wake(waker)) {
        waiting.push(waker.clone());
    }
}

fn wake_all(waiting: &mut Vec<Waker>) {
    waiting.drain(..).for_each(Waker::wake);
}
