//! A session with its carrier, as its driver and its application use it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use nowcast_queue::Key;
use nowcast_session::{
    Backlog, CloseCode, Closed, Gauges, MessageKind as Kind, Notice, Refused, Session, Stats, Time,
    WaitingMessage,
};

use super::{Application, RECEIVE_MAX};
use crate::carrier::{Carrier, CarrierKind, Ended, Ending, retire};
use crate::channel::{CommandId, LaneId, MessageKind, Phase, Received, Shapes, Status, as_event};
use crate::{clock, random};

/// Maximum time for which a session stays open to deliver its last messages.
const LINGER: Duration = Duration::from_secs(5);

/// A session with its carrier, in a turn of its driver. Its [`Application`] takes and puts messages by these methods.
pub struct DrivenSession {
    pub(crate) session: Session,
    pub(crate) carrier: Option<Box<dyn Carrier>>,
    /// The session's last carrier.
    latest_kind: Option<CarrierKind>,
    phase: Phase,
    resumed: u64,
    /// The types that the two ends have announced to each other.
    pub(super) shapes: Arc<Shapes>,
    /// The time at which the driver last read the clock.
    pub(super) looked_at: Time,
    /// The time of the driver's timer.
    pub(super) armed: Option<Time>,
    /// Set when the application has put its last message. The session ends when all messages are delivered, or when the
    /// time is over.
    lingers: Option<Lingers>,
    /// The reason to close the carrier.
    pub(super) ending: Ending,
}

/// The close of a session whose last messages are on their way.
struct Lingers {
    until: Time,
    code: CloseCode,
    reason: String,
}

impl DrivenSession {
    pub(crate) fn new(session: Session, carrier: Box<dyn Carrier>) -> Self {
        Self {
            session,
            latest_kind: Some(carrier.kind()),
            carrier: Some(carrier),
            phase: Phase::Connecting,
            resumed: 0,
            shapes: Arc::default(),
            looked_at: clock::now(),
            armed: None,
            lingers: None,
            ending: Ending::Done,
        }
    }

    /// Takes the next message into `bytes`, replacing its content. Returns `None` if there is none. A message stays in the
    /// session until it is taken, and the peer can then send no more than the window allows.
    pub fn receive_into(&mut self, bytes: &mut Vec<u8>) -> Option<Received> {
        self.take_message(bytes, |_, _| ())
    }

    /// Like [`receive_into`](Self::receive_into). Passes replies to `settle`.
    pub(super) fn take_message(
        &mut self,
        bytes: &mut Vec<u8>,
        mut settle: impl FnMut(CommandId, &mut Vec<u8>),
    ) -> Option<Received> {
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
                    settle(CommandId::new(lane, command), bytes);
                    continue;
                }
            };
            let produced_at = clock::instant(message.produced_at);
            return Some(Received { lane: LaneId(lane), kind, produced_at });
        }
    }

    /// Whether messages wait for the application.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.session.is_readable()
    }

    /// Puts a state that was produced at `at`.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane has no entry for a new key. A value of a known key is always accepted while there are enough
    /// bytes.
    pub fn put_state(
        &mut self,
        lane: impl Into<LaneId>,
        key: impl Into<Key>,
        value: &[u8],
        at: Instant,
    ) -> Result<(), Refused> {
        let at = clock::at(at).min(self.looked_at);
        self.session.put_state(at, lane.into().number(), key.into().raw(), value)
    }

    /// Puts an event.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane is full.
    pub fn put_event(&mut self, lane: impl Into<LaneId>, payload: &[u8]) -> Result<(), Refused> {
        self.session.put_event(self.looked_at, lane.into().number(), &as_event(payload))
    }

    /// The messages that wait to be sent for the first time, as memory.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.session.backlog()
    }

    /// Closes the session at once, like [`Channel::close`](crate::Channel::close).
    pub fn close(&mut self, code: u32, reason: &str) {
        if code == CloseCode::GOING_AWAY.0 {
            self.ending = Ending::GoingAway;
        }
        // The application may have taken long, and the peer has a limited time for its answer.
        let now = self.look();
        self.session.close(now, CloseCode(code), reason);
    }

    /// Closes the session when all messages have arrived at the peer, or after some seconds, like a dropped channel. The first
    /// call counts.
    pub fn close_after_delivery(&mut self, code: u32, reason: &str) {
        let until = self.looked_at + LINGER;
        self.lingers.get_or_insert_with(|| Lingers {
            until,
            code: CloseCode(code),
            reason: reason.to_owned(),
        });
    }

    /// The end of the session, if it is closed.
    #[must_use]
    pub fn closed(&self) -> Option<&Closed> {
        match &self.phase {
            Phase::Closed(closed) => Some(closed),
            _ => None,
        }
    }

    /// Whether packets can flow.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Whether the session was open at any time, so that it can be resumed.
    pub(crate) fn has_begun(&self) -> bool {
        self.phase != Phase::Connecting
    }

    /// Whether the carrier is lost, and the session waits for the next one.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.phase == Phase::Interrupted
    }

    pub(super) fn phase(&self) -> &Phase {
        &self.phase
    }

    /// The current carrier, or the last one.
    #[must_use]
    pub fn carrier_kind(&self) -> Option<CarrierKind> {
        self.latest_kind
    }

    /// Returns the random number that the accepting side gave the session; see
    /// [`Channel::session_id`](crate::Channel::session_id).
    #[must_use]
    pub fn session_id(&self) -> Option<[u8; 8]> {
        self.session.identity().map(|resume| resume.session)
    }

    /// The time since which packets need an answer and nothing has arrived; zero if no answer is expected.
    #[must_use]
    pub fn silence(&self) -> Duration {
        self.session.unanswered_since().map_or(Duration::ZERO, |since| self.looked_at.since(since))
    }

    /// Time since the newest packet of the peer arrived, also after the end of the session.
    #[must_use]
    pub fn since_heard(&self) -> Duration {
        self.looked_at.since(self.session.last_heard())
    }

    /// Number of times that the session continued over a new carrier.
    #[must_use]
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// The present measurements.
    #[must_use]
    pub fn gauges(&self) -> Gauges {
        self.session.gauges()
    }

    /// Counters from the beginning of the session.
    #[must_use]
    pub fn stats(&self) -> &Stats {
        self.session.stats()
    }

    /// Returns the messages that wait to be sent for the first time, lane by lane, in the order in which they leave.
    pub fn waiting_messages(&self) -> impl Iterator<Item = WaitingMessage> {
        self.session.waiting_messages(self.looked_at)
    }

    pub(super) fn status(&self) -> Status {
        Status::of(&self.session, clock::now(), self.latest_kind, self.phase.clone(), self.resumed)
    }
}

/// The calls of the driver and of the acceptor.
impl DrivenSession {
    /// Reads the clock.
    pub(crate) fn look(&mut self) -> Time {
        self.looked_at = clock::now();
        self.looked_at
    }

    /// Continues on another carrier, and closes the previous one.
    pub(crate) fn attach(&mut self, carrier: Box<dyn Carrier>) {
        let now = self.look();
        self.session.attach(now, carrier.properties(), random::entropy());
        self.latest_kind = Some(carrier.kind());
        if let Some(old) = self.carrier.replace(carrier) {
            retire(old, Ending::Done);
        }
    }

    /// Passes arrived packets to the session. Returns their number.
    pub(super) fn receive(&mut self, context: &mut Context<'_>) -> u32 {
        let now = self.look();
        let mut count = 0;
        while count < RECEIVE_MAX {
            let Some(carrier) = &mut self.carrier else { break };
            match carrier.poll_receive(context) {
                Poll::Pending => break,
                Poll::Ready(Ok(packet)) => {
                    self.session.handle_packet(now, &packet);
                    count += 1;
                }
                Poll::Ready(Err(ended)) => {
                    self.lose(&ended);
                    break;
                }
            }
        }
        count
    }

    /// Handles timers. Ends a session that lingers when all messages are delivered, or at its deadline.
    pub(super) fn handle_time(&mut self) {
        let now = self.looked_at;
        if let Some(Lingers { until, code, reason }) = &self.lingers
            && (now >= *until || self.session.is_drained())
        {
            self.session.close(now, *code, reason);
        }
        self.session.handle_timeout(now);
    }

    /// Returns the time at which the driver must have its next turn.
    pub(super) fn turn_at(&mut self) -> Option<Time> {
        let now = self.looked_at;
        let lingers = self.lingers.as_ref().filter(|_| !self.session.is_closed());
        let end = lingers.map(|lingers| if self.session.is_drained() { now } else { lingers.until });
        self.session.poll_timeout(now).into_iter().chain(end).min()
    }

    /// Takes the notices of the session, and passes them to the application.
    pub(super) fn pass_notices(&mut self, application: &mut (impl Application + ?Sized)) {
        while let Some(notice) = self.session.poll_notice() {
            match &notice {
                Notice::Opened { resumed } => {
                    self.resumed += u64::from(*resumed);
                    self.phase = Phase::Open;
                }
                Notice::Detached => self.phase = Phase::Interrupted,
                Notice::Closed(closed) => self.phase = Phase::Closed(closed.clone()),
                Notice::CommandTimedOut { .. } => {}
            }
            application.on_notice(self, &notice);
        }
    }

    /// Reports that the carrier accepts no packet now.
    pub(super) fn carrier_is_full(&mut self, now: Time) {
        if self.carrier.as_ref().is_some_and(|carrier| carrier.is_shallow()) {
            self.session.carrier_is_full(now);
        }
    }

    /// Handles a carrier that ended by itself.
    pub(super) fn lose(&mut self, ended: &Ended) {
        tracing::debug!(%ended, "a session lost its carrier");
        if let Some(carrier) = self.carrier.take()
            && matches!(ended, Ended::Violation(_))
        {
            retire(carrier, Ending::Violation);
        }
        self.session.detach(self.looked_at);
    }

    /// Whether nothing more can leave: the session is over, or is closed without a carrier for its CLOSE.
    pub(super) fn is_over(&self) -> bool {
        self.session.is_over() || self.session.is_closed() && self.carrier.is_none()
    }
}

impl std::fmt::Debug for DrivenSession {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("DrivenSession").field("phase", &self.phase).finish_non_exhaustive()
    }
}
