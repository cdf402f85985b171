//! State that a driver shares with the handles of its channel: the session, its carrier, and the waiting tasks.

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::Duration;

use nowcast_session::{CloseCode, Closed, Notice, Session, Time};
use tokio::sync::watch;

use crate::carrier::{Carrier, CarrierKind, Ending, retire};
use crate::channel::{
    BoxedSource, CommandId, DriverWaker, Error, Phase, Replies, RequeuedMessages, Shapes, Status, Wakers,
};
use crate::published::Subscription;
use crate::{clock, random};

/// Maximum time for which a channel stays open to deliver its last messages.
const LINGER: Duration = Duration::from_secs(5);

/// A session and its surroundings, behind one lock.
pub(crate) struct Shared {
    core: Mutex<Core>,
    pub(super) driver: Arc<DriverWaker>,
}

/// The close of a session whose last messages are on their way.
pub(super) struct Lingers {
    pub(super) until: Time,
    pub(super) code: CloseCode,
    pub(super) reason: String,
}

/// The state behind the lock.
pub(crate) struct Core {
    pub(crate) session: Session,
    pub(crate) carrier: Option<Box<dyn Carrier>>,
    /// The session's last carrier.
    latest_kind: Option<CarrierKind>,
    /// The new source, until the driver takes it.
    pub(super) next_source: Option<BoxedSource>,
    /// The publisher's messages for the peer.
    pub(crate) subscription: Option<Subscription>,
    /// The time of the driver's timer.
    pub(crate) armed: Option<Time>,
    /// The time at which the driver last read the clock.
    pub(crate) looked_at: Time,
    driver: Arc<DriverWaker>,
    pub(super) readers: Wakers,
    pub(super) writers: Wakers,
    /// The number of acknowledged packets at the time when the writers were last woken.
    acknowledged: u64,
    /// Number of open batches. Nothing is sent while one exists.
    pub(crate) open_batches: usize,
    /// The beginning of the latest batch.
    pub(crate) batch_began: Time,
    pub(super) replies: Replies,
    pub(super) kept: RequeuedMessages,
    pub(super) shapes: Arc<Shapes>,
    phase: Phase,
    resumed: u64,
    changes: watch::Sender<(Phase, Option<CarrierKind>)>,
    /// Becomes true when nothing more can leave: the session is closed and its last carrier has ended.
    left: watch::Sender<bool>,
    /// Set when the application has put its last message. The session ends when all messages are delivered, or at this time.
    pub(super) lingers: Option<Lingers>,
    /// The reason to close the carrier.
    pub(crate) ending: Ending,
}

impl Shared {
    pub(crate) fn new(session: Session, carrier: Option<Box<dyn Carrier>>) -> Arc<Self> {
        let kind = carrier.as_ref().map(|carrier| carrier.kind());
        let (changes, _) = watch::channel((Phase::Connecting, kind));
        let driver = Arc::new(DriverWaker::here());
        Arc::new(Self {
            driver: Arc::clone(&driver),
            core: Mutex::new(Core {
                session,
                carrier,
                latest_kind: kind,
                next_source: None,
                subscription: None,
                armed: None,
                looked_at: clock::now(),
                driver,
                readers: Wakers::default(),
                writers: Wakers::default(),
                acknowledged: 0,
                open_batches: 0,
                batch_began: Time::default(),
                replies: Replies::default(),
                kept: RequeuedMessages::default(),
                shapes: Arc::default(),
                phase: Phase::Connecting,
                resumed: 0,
                changes,
                left: watch::Sender::new(false),
                lingers: None,
                ending: Ending::Done,
            }),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("no thread panics while holding the lock")
    }
}

impl Core {
    /// Continues on another carrier, and closes the previous one.
    pub(crate) fn attach(&mut self, now: Time, carrier: Box<dyn Carrier>) {
        self.session.attach(now, carrier.properties(), random::entropy());
        self.latest_kind = Some(carrier.kind());
        if let Some(old) = self.carrier.replace(carrier) {
            retire(old, Ending::Done);
        }
        self.note_change();
        self.wake_driver();
    }

    /// Removes a dead carrier.
    pub(crate) fn detach(&mut self, now: Time) {
        self.carrier = None;
        self.session.detach(now);
    }

    /// Wakes the driver, so that it checks the session.
    pub(crate) fn wake_driver(&self) {
        self.driver.wake();
    }

    /// Begins the driver's turn. `waker` requests another turn.
    pub(crate) fn driver_looks(&self, waker: &Waker) {
        self.driver.register(waker);
    }

    /// Takes the events of the session and acts on them.
    pub(crate) fn take_news(&mut self) {
        let mut has_news = false;
        while let Some(notice) = self.session.poll_notice() {
            has_news = true;
            self.on_notice(notice);
        }
        if has_news {
            self.note_change();
            self.readers.wake_all();
            self.writers.wake_all();
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
                self.replies.settle_all(&Error::Closed(closed.clone()));
                self.phase = Phase::Closed(closed);
            }
            Notice::CommandTimedOut { lane, command } => {
                // If the caller is gone, it needs no reply.
                self.replies.settle(CommandId::new(lane, command), Err(Error::TimedOut));
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

    /// Whether the session was open at any time, so that it can be resumed.
    pub(crate) fn has_begun(&self) -> bool {
        !matches!(self.phase, Phase::Connecting)
    }

    pub(crate) fn carrier_kind(&self) -> Option<CarrierKind> {
        self.carrier.as_ref().map(|carrier| carrier.kind())
    }

    /// Wakes the tasks that can continue after packets arrived.
    pub(crate) fn wake_waiting(&mut self) {
        if !self.replies.is_empty() {
            self.take_replies();
        }
        if self.session.is_readable() || !self.kept.is_empty() {
            self.readers.wake_all();
        }
        // Only acknowledgements make room for new messages.
        let acknowledged = self.session.stats().packets_acknowledged;
        if mem::replace(&mut self.acknowledged, acknowledged) != acknowledged {
            self.writers.wake_all();
        }
    }

    pub(crate) fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.changes.subscribe()
    }

    pub(super) fn status(&self) -> Status {
        Status::of(&self.session, clock::now(), self.latest_kind, self.phase.clone(), self.resumed)
    }

    pub(super) fn session_id(&self) -> Option<[u8; 8]> {
        self.session.identity().map(|resume| resume.session)
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

    /// Closes the session after all messages are delivered, or after [`LINGER`]. The first call counts.
    pub(crate) fn linger(&mut self, now: Time, code: CloseCode, reason: &str) {
        self.lingers.get_or_insert_with(|| Lingers { until: now + LINGER, code, reason: reason.to_owned() });
        self.wake_driver();
    }

    /// Records that the driver has ended.
    pub(crate) fn has_left(&mut self) {
        self.left.send_replace(true);
    }

    /// Whether the driver has ended.
    pub(super) fn is_left(&self) -> bool {
        *self.left.borrow()
    }

    /// Becomes true when the driver has ended.
    pub(super) fn watch_left(&self) -> watch::Receiver<bool> {
        self.left.subscribe()
    }
}
