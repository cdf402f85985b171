//! A client with a seat: its messages, and what it receives.

use std::mem;
use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};

use nowcast::Key;
use nowcast_engine::session::MessageKind as Received;
use nowcast_engine::{DrivenSession, Phase};
use nowcast_room::session::{ReplicationRequest, SessionIntake};
use nowcast_room::{ClientHandle, Closing, Quiet, Rates, Seat};
use nowcast_world_protocol::session::{ClientMessage, FromWorld};
use tracing::debug;

use super::client_replicator::ClientReplicator;
use super::malformed;
use super::session_sink::SessionSink;
use crate::shared::Shared;

/// Interval between checks whether messages of a client arrive.
const LOOK: Duration = Duration::from_millis(250);

/// A message of a client that arrived before the client has joined.
pub(super) struct EarlyMessage {
    pub(super) kind: Received,
    pub(super) lane: u8,
    pub(super) bytes: Vec<u8>,
}

/// A client with a seat.
pub(super) struct Player {
    seat: Seat,
    handle: Arc<ClientHandle>,
    sink: Arc<SessionSink>,
    pub(super) replicator: ClientReplicator,
    intake: SessionIntake,
    quiet: Quiet,
    /// The time of the next check whether messages of the client arrive.
    pub(super) look_at: Instant,
    /// The messages that arrived before the client had its seat.
    early: Vec<EarlyMessage>,
    /// Whether the client has allowances from an earlier connection.
    is_returning: bool,
    /// The reason for which the room ends the session after its last messages.
    pub(super) asked_to_leave: Option<Closing>,
    shared: Arc<Shared>,
}

impl Player {
    pub(super) fn new(
        shared: Arc<Shared>,
        seat: Seat,
        handle: Arc<ClientHandle>,
        (sink, replicator): (Arc<SessionSink>, ClientReplicator),
        early: Vec<EarlyMessage>,
        is_returning: bool,
    ) -> Self {
        Self {
            seat,
            intake: SessionIntake::new(Arc::clone(&handle), Arc::clone(&shared.metrics.rooms)),
            handle,
            sink,
            replicator,
            quiet: Quiet::default(),
            look_at: Instant::now(),
            early,
            is_returning,
            asked_to_leave: None,
            shared,
        }
    }

    /// Enters the room.
    pub(super) fn enter(&self, session: &DrivenSession) {
        self.sink.figures.note_session(session);
        self.seat.enter(Arc::clone(&self.handle));
        debug!(room = self.seat.room(), "session joined");
    }

    /// Handles the messages that arrived before the client had its seat.
    fn receive_early(&mut self, session: &DrivenSession) -> Result<(), Closing> {
        let rates = Arc::clone(&self.handle.rates);
        let mut waited = Rates::of_waiting(self.shared.config.limits.actions_hz, Instant::now());
        // A client that has just reconnected does not get the allowance of waiting messages again.
        let mut known = self.is_returning.then(|| rates.lock());
        for EarlyMessage { kind, lane, bytes } in mem::take(&mut self.early) {
            self.handle(session, (kind, lane), &bytes, known.as_deref_mut().unwrap_or(&mut waited))?;
        }
        Ok(())
    }

    /// Handles the client's messages, and puts what the room has published into the session.
    pub(super) fn turn(
        &mut self,
        session: &mut DrivenSession,
        context: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Closing> {
        if !self.early.is_empty() {
            self.receive_early(session)?;
        }
        self.receive(session, context, bytes)?;
        let now = Instant::now();
        let is_due = now >= self.look_at;
        if is_due {
            self.look_at = now + LOOK;
            self.note_silence(session);
            let is_interrupted = *session.phase() == Phase::Interrupted;
            let round_trip = session.protocol.gauges().round_trip;
            self.intake.check_input_timeout(session.silence(), round_trip, is_interrupted);
        }
        if session.closed().is_none()
            && let Some(closing) = self.replicator.turn(session, context.waker())?
        {
            session.close_after_delivery(closing.session_code(), &closing.reason());
            self.asked_to_leave.get_or_insert(closing);
        }
        // A request comes before its wake-up, which the replicator has just taken.
        if is_due || self.sink.figures.take_request() {
            self.sink.figures.note_session(session);
        }
        Ok(())
    }

    /// Handles the messages that have arrived. While the room has not taken enough of the earlier commands, messages stay in the
    /// session, whose window then stops the client.
    fn receive(
        &mut self,
        session: &mut DrivenSession,
        context: &mut Context<'_>,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Closing> {
        if !session.protocol.is_readable() {
            return Ok(());
        }
        if self.quiet.lasts() {
            self.note_silence(session);
        }
        let rates = Arc::clone(&self.handle.rates);
        let mut rates = rates.lock();
        while self.handle.poll_commands_fit(context).is_ready() {
            let Some(received) = session.receive_into(bytes) else { break };
            self.handle(session, (received.kind, received.lane), bytes, &mut rates)?;
        }
        Ok(())
    }

    /// Leaves the room.
    pub(super) fn leave(self: Box<Self>, closing: &Closing, since_heard: Duration) {
        if closing.holds_seat() {
            let patience = self.shared.config.timeouts.seat_held;
            self.handle.lose(Instant::now() + patience.saturating_sub(since_heard));
        }
    }

    fn note_silence(&mut self, session: &DrivenSession) {
        self.quiet.note(session.since_heard(), Instant::now(), &mut self.handle.rates.lock());
    }

    /// Handles one message.
    fn handle(
        &mut self,
        session: &DrivenSession,
        (kind, lane): (Received, u8),
        message: &[u8],
        rates: &mut Rates,
    ) -> Result<(), Closing> {
        self.shared.metrics.messages_received.inc();
        let key = match kind {
            Received::State { key } => Some(Key::from(key)),
            Received::Event => None,
            _ => return Err(malformed("a world expects no commands")),
        };
        let message =
            ClientMessage::read(lane, key, message).map_err(|error| malformed(&error.to_string()))?;
        let round_trip = session.protocol.gauges().round_trip;
        match self.intake.receive(message, round_trip, rates)? {
            Some(ReplicationRequest::Forget) => self.sink.forget(),
            Some(ReplicationRequest::Rate(network_hz)) => {
                self.sink.event(&FromWorld::Rate { network_hz });
            }
            None => {}
        }
        Ok(())
    }
}

/// A client whose code panicked leaves, too.
impl Drop for Player {
    fn drop(&mut self) {
        self.handle.leave();
    }
}
