//! The link of a channel over a network: a session of the engine, which the handles of the channel share with the session's driver,
//! behind one lock.

mod feed;
mod link;

use std::mem;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};
use std::time::Instant;

use nowcast_engine::carrier::{Carrier, CarrierKind};
use nowcast_engine::{Application, DrivenSession, Phase, SessionOwner, clock};
use nowcast_session::{CloseCode, Closed, MessageKind as Kind, Notice, PacketOutcome, Source};
use tokio::sync::watch;

use crate::channel::{
    CommandId, Error, LaneId, Message, MessageKind, Received, Replies, RequeuedMessages, Shapes, Wakers,
};
use crate::published::Subscription;
use feed::{feed, feed_at};

pub(crate) use link::SessionLink;

/// Lends a channel's session to its driver.
pub(crate) struct SharedOwner(pub(crate) Arc<Shared>);

impl SessionOwner for SharedOwner {
    fn lend(&mut self, turn: &mut dyn FnMut(&mut DrivenSession, &mut dyn Application)) {
        let Core { driven, handles } = &mut *self.0.lock();
        turn(driven, handles);
    }
}

/// The driver has ended.
impl Drop for SharedOwner {
    fn drop(&mut self) {
        self.0.left.send_replace(true);
    }
}

/// A session and the state of its channel's handles, behind one lock.
pub(crate) struct Shared {
    core: Mutex<Core>,
    /// Becomes true when nothing more can leave: the session is closed and its last carrier has ended.
    left: watch::Sender<bool>,
}

/// The state behind the lock.
pub(crate) struct Core {
    pub(crate) driven: DrivenSession,
    pub(crate) handles: Handles,
}

/// The state of the handles of a channel, and the tasks that wait for the session.
pub(crate) struct Handles {
    /// Requests a turn of the driver. Absent after the request.
    driver: Option<Waker>,
    readers: Wakers,
    writers: Wakers,
    /// The number of acknowledged packets at the time when the writers were last woken.
    acknowledged: u64,
    /// Number of open batches. Nothing is sent while one exists.
    open_batches: usize,
    replies: Replies,
    kept: RequeuedMessages,
    /// The types that the two ends have announced to each other.
    shapes: Arc<Shapes>,
    /// The publisher's messages for the peer.
    subscription: Option<Subscription>,
    changes: watch::Sender<(Phase, Option<CarrierKind>)>,
}

impl Shared {
    pub(crate) fn new(driven: DrivenSession) -> Arc<Self> {
        let (changes, _) = watch::channel((Phase::Connecting, driven.carrier_kind()));
        let handles = Handles {
            driver: None,
            readers: Wakers::default(),
            writers: Wakers::default(),
            acknowledged: 0,
            open_batches: 0,
            replies: Replies::default(),
            kept: RequeuedMessages::default(),
            shapes: Arc::default(),
            subscription: None,
            changes,
        };
        Arc::new(Self { core: Mutex::new(Core { driven, handles }), left: watch::Sender::new(false) })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Core> {
        self.core.lock().expect("no thread panics while holding the lock")
    }
}

impl Core {
    /// Continues on another carrier, and closes the previous one.
    pub(crate) fn attach(&mut self, carrier: Box<dyn Carrier>) {
        self.driven.attach(carrier);
        self.handles.note_change(&self.driven);
        self.handles.wake_driver();
    }

    /// Takes the notices of the session.
    fn take_notices(&mut self) {
        self.driven.pass_notices(&mut self.handles);
    }

    pub(crate) fn closed(&self) -> Option<Closed> {
        self.driven.closed().cloned()
    }

    /// Ends the session, and its carrier for the same reason.
    pub(crate) fn close(&mut self, code: u32, reason: &str) {
        self.driven.close(code, reason);
        self.take_notices();
        self.handles.wake_driver();
    }

    /// Closes the session after all messages are delivered.
    fn linger(&mut self) {
        self.driven.look();
        self.driven.close_after_delivery(CloseCode::DONE.0, "");
        self.handles.wake_driver();
    }

    /// Returns the next message that is not a reply. Replies go to their tasks.
    fn take_message(&mut self, bytes: &mut Vec<u8>) -> Option<Received> {
        self.handles.take_message(&mut self.driven, bytes)
    }

    /// Reading may free credit. The driver is then woken to inform the peer.
    fn note_reading(&mut self) {
        let report = self.driven.protocol.report_at();
        if report.is_some_and(|at| self.driven.armed().is_none_or(|armed| at < armed)) {
            self.handles.wake_driver();
        }
    }
}

impl Handles {
    /// Wakes the driver, so that it checks the session.
    pub(crate) fn wake_driver(&mut self) {
        self.driver.take().into_iter().for_each(Waker::wake);
    }

    fn take_message(&mut self, driven: &mut DrivenSession, bytes: &mut Vec<u8>) -> Option<Received> {
        loop {
            let message = driven.receive_into(bytes)?;
            let lane = message.lane;
            let kind = match message.kind {
                Kind::State { key } => MessageKind::State { key: key.into() },
                Kind::Event if self.shapes.take_in(lane, bytes) => continue,
                Kind::Event => MessageKind::Event,
                Kind::Command { command } => MessageKind::Command(CommandId::new(lane, command)),
                Kind::Replication { packet } => MessageKind::Replication { packet },
                Kind::Reply { command } => {
                    // The session counts late replies. If the caller is gone, it needs no reply.
                    self.replies.settle(CommandId::new(lane, command), Ok(mem::take(bytes)));
                    continue;
                }
            };
            let produced_at = clock::instant(message.produced_at);
            return Some(Received { lane: LaneId(lane), kind, produced_at });
        }
    }

    /// Takes messages while one of them may be the reply to a waiting command. All other messages are kept for the application.
    fn take_replies(&mut self, driven: &mut DrivenSession) {
        loop {
            if self.kept.is_full() {
                return self.replies.settle_all(&Error::Behind);
            }
            let mut bytes = Vec::new();
            let Some(received) = self.take_message(driven, &mut bytes) else { return };
            self.kept.keep(Message::new(received, bytes));
        }
    }

    fn note_change(&mut self, driven: &DrivenSession) {
        let state = (driven.phase().clone(), driven.carrier_kind());
        self.changes.send_if_modified(|before| {
            let is_new = *before != state;
            *before = state;
            is_new
        });
    }

    pub(crate) fn watch(&self) -> watch::Receiver<(Phase, Option<CarrierKind>)> {
        self.changes.subscribe()
    }
}

impl Source for Handles {
    fn has_more(&self, _lane: u8) -> bool {
        false
    }

    fn fill(&mut self, _lane: u8, _number: u64, _room: usize, _packet: &mut Vec<u8>) {}

    fn on_outcome(&mut self, _outcome: PacketOutcome) {}

    fn waiting(&self, _lanes: u16) -> u16 {
        0
    }
}

impl Application for Handles {
    /// Wakes the tasks that can continue after packets arrived.
    fn turn(&mut self, driven: &mut DrivenSession, context: &mut Context<'_>) {
        if !self.driver.as_ref().is_some_and(|driver| driver.will_wake(context.waker())) {
            self.driver = Some(context.waker().clone());
        }
        if !self.replies.is_empty() {
            self.take_replies(driven);
        }
        if driven.protocol.is_readable() || !self.kept.is_empty() {
            self.readers.wake_all();
        }
        // Only acknowledgements make room for new messages.
        let acknowledged = driven.protocol.stats().packets_acknowledged;
        if mem::replace(&mut self.acknowledged, acknowledged) != acknowledged {
            self.writers.wake_all();
        }
    }

    fn wake_at(&mut self, driven: &mut DrivenSession, context: &mut Context<'_>) -> Option<Instant> {
        feed_at(&mut self.subscription, driven, context).map(clock::instant)
    }

    fn before_packet(&mut self, driven: &mut DrivenSession) -> bool {
        // The end of the last batch wakes the driver.
        let may_send = self.open_batches == 0;
        if may_send {
            feed(&mut self.subscription, driven);
        }
        may_send
    }

    fn on_notice(&mut self, driven: &DrivenSession, notice: &Notice) {
        match notice {
            Notice::Closed(closed) => self.replies.settle_all(&Error::Closed(closed.clone())),
            Notice::CommandTimedOut { lane, command } => {
                // If the caller is gone, it needs no reply.
                self.replies.settle(CommandId::new(*lane, *command), Err(Error::TimedOut));
            }
            Notice::Opened { .. } | Notice::Detached => {}
        }
        self.note_change(driven);
        self.readers.wake_all();
        self.writers.wake_all();
    }
}
