//! A client with a seat: its messages, and what it receives.

use std::mem;
use std::sync::Arc;
use std::task::Context;
use std::time::{Duration, Instant};

use nowcast::Key;
use nowcast_engine::session::MessageKind as Received;
use nowcast_engine::{DrivenSession, Phase};
use nowcast_room::session::{Change, InputBuffer};
use nowcast_room::{ClientHandle, Closing, CommandIntake, MessageKind, PlayerCommand, Quiet, Rates, Seat};
use nowcast_world::{EntityId, Input, InputError};
use nowcast_world_protocol::plain::{NETWORK_HZ, OutOfBounds};
use nowcast_world_protocol::session::{
    CHAT_LANE, CONTROLS_KEY, Controls, FromWorld, Line, OWNED_KEYS, STEPS_KEY, STEPS_MAX, Step, Steps,
    ToWorld, VIEW_DELAY_MS_MAX, VIEW_KEY, View, WORLD_LANE,
};
use tracing::debug;

use super::client_replicator::ClientReplicator;
use super::input_watchdog::{InputWatchdog, LOOK, SILENCE_MAX};
use super::session_sink::SessionSink;
use super::{malformed, rate_out_of_bounds, read};
use crate::shared::Shared;

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
    intake: CommandIntake,
    watchdog: InputWatchdog,
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
            intake: CommandIntake::new(Arc::clone(&handle), Arc::clone(&shared.metrics.rooms)),
            handle,
            sink,
            replicator,
            watchdog: InputWatchdog::default(),
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
            self.check_input_timeout(session);
        }
        if is_due || self.sink.figures.take_request() {
            self.sink.figures.note_session(session);
        }
        if session.closed().is_none()
            && let Some(closing) = self.replicator.turn(session, context.waker())?
        {
            session.close_after_delivery(closing.session_code(), &closing.reason());
            self.asked_to_leave.get_or_insert(closing);
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

    /// Handles one message: decodes it, checks its bounds, and submits its command.
    fn handle(
        &mut self,
        session: &DrivenSession,
        (kind, lane): (Received, u8),
        message: &[u8],
        rates: &mut Rates,
    ) -> Result<(), Closing> {
        self.shared.metrics.messages_received.inc();
        let command = match (kind, lane) {
            (Received::State { key }, WORLD_LANE) => match Key::from(key) {
                CONTROLS_KEY => return self.steer(message, rates),
                STEPS_KEY => return self.steer_by_steps(message, rates),
                VIEW_KEY => return self.view(message, rates),
                key => {
                    let id = key.raw().checked_sub(OWNED_KEYS).and_then(|id| u32::try_from(id).ok());
                    let entity = id.ok_or_else(|| malformed("nothing is expected on this lane or key"))?;
                    PlayerCommand::of_owned(EntityId(entity), read(message)?)?
                }
            },
            (Received::Event, CHAT_LANE) => PlayerCommand::Say { text: read::<Line>(message)?.text },
            (Received::Event, WORLD_LANE) => match read::<ToWorld>(message)? {
                ToWorld::Forget => return self.forget(rates),
                ToWorld::Rate { network_hz } => return self.set_rate(network_hz, rates),
                event => PlayerCommand::of_session(event, self.view_age(session))?,
            },
            _ => return Err(malformed("nothing is expected on this lane or key")),
        };
        self.intake.submit(command, rates)
    }

    /// Returns the age of the client's view, if the server can measure it.
    fn view_age(&self, session: &DrivenSession) -> Option<Duration> {
        session.protocol.gauges().round_trip.map(|round_trip| round_trip + self.handle.view_delay())
    }

    fn set_rate(&self, network_hz: u32, rates: &mut Rates) -> Result<(), Closing> {
        if !NETWORK_HZ.contains(&network_hz) {
            return Err(Closing::OutOfBounds(rate_out_of_bounds(network_hz)));
        }
        if self.intake.admit(MessageKind::Rate, rates)? {
            self.handle.set_network_hz(network_hz);
            self.sink.event(&FromWorld::Rate { network_hz });
        }
        Ok(())
    }

    /// Applies the controls of a client that counts no steps.
    fn steer(&mut self, message: &[u8], rates: &mut Rates) -> Result<(), Closing> {
        let Controls { number, forward, right, yaw, run, jump } = read(message)?;
        let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
        *self.handle.input() = InputBuffer::default();
        self.watchdog.steer(input);
        self.intake.submit(PlayerCommand::Input { input, number }, rates)
    }

    /// Applies the input of a client that counts its steps. Each change takes effect at its step.
    fn steer_by_steps(&mut self, message: &[u8], rates: &mut Rates) -> Result<(), Closing> {
        let Steps { number, steps } = read(message)?;
        if steps.is_empty() || steps.len() > STEPS_MAX {
            return Err(malformed("steps are 1 to 64 changes of the controls"));
        }
        let mut changes = Vec::with_capacity(steps.len());
        for &Step { ago, forward, right, yaw, run, jump } in steps.iter().rev() {
            let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
            changes.push(Change { step: number.wrapping_sub(ago), input });
        }
        self.intake.admit(MessageKind::Input, rates)?;
        let heard = self.handle.input().receive(number, changes.into_iter());
        if heard.is_late {
            self.shared.metrics.rooms.drop_message("late_steps");
        }
        if heard.is_elsewhere {
            self.shared.metrics.rooms.drop_message("steps_elsewhere");
        }
        Ok(())
    }

    /// Records the client's view delay: the age of the state that the client shows, without the time on the network.
    fn view(&self, message: &[u8], rates: &mut Rates) -> Result<(), Closing> {
        let View { delay_ms } = read(message)?;
        if delay_ms > VIEW_DELAY_MS_MAX {
            let (value, high) = (delay_ms.into(), VIEW_DELAY_MS_MAX.into());
            return Err(Closing::OutOfBounds(OutOfBounds::Range {
                field: "delay_ms",
                value,
                low: 0.0,
                high,
            }));
        }
        self.intake.admit(MessageKind::Rate, rates)?;
        self.handle.set_view_delay_ms(delay_ms);
        Ok(())
    }

    /// Stops the avatar of a client that left or whose connection is interrupted.
    fn check_input_timeout(&mut self, session: &DrivenSession) {
        if self.handle.input().counts() {
            // The walker of a client that counts steps waits for the steps, and then stands still.
            return;
        }
        let patience = SILENCE_MAX + session.protocol.gauges().round_trip.unwrap_or_default();
        let is_heard = *session.phase() != Phase::Interrupted && session.silence() < patience;
        if let Some(input) = self.watchdog.hear(is_heard) {
            let number = self.handle.controls();
            self.intake.queue(PlayerCommand::Input { input, number });
        }
    }

    fn forget(&self, rates: &mut Rates) -> Result<(), Closing> {
        if self.intake.admit(MessageKind::Rate, rates)? {
            self.sink.forget();
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

fn out_of_bounds(error: InputError) -> Closing {
    Closing::OutOfBounds(OutOfBounds::from(error))
}
