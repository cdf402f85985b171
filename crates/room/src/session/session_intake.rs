//! The intake of one client on a session: decodes the client's messages, checks their bounds, and passes them on.

use std::sync::Arc;
use std::time::Duration;

use nowcast_world::{Input, InputError};
use nowcast_world_protocol::plain::{DecodeError, OutOfBounds};
use nowcast_world_protocol::session::{
    ClientMessage, Controls, STEPS_MAX, Step, Steps, ToWorld, VIEW_DELAY_MS_MAX, View,
};

use super::input_buffer::Change;
use super::input_watchdog::{InputWatchdog, SILENCE_MAX};
use crate::client_handle::ClientHandle;
use crate::closing::Closing;
use crate::command_intake::CommandIntake;
use crate::metrics::Metrics;
use crate::player_command::PlayerCommand;
use crate::rate::{MessageKind, Rates};

/// The intake of one client on a session. The room's thread takes what is queued here in its next tick.
pub struct SessionIntake {
    handle: Arc<ClientHandle>,
    metrics: Arc<Metrics>,
    commands: CommandIntake,
    watchdog: InputWatchdog,
    /// Whether the client counts its steps.
    counts_steps: bool,
}

/// A request that concerns the client's replication instead of the room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplicationRequest {
    /// The client lost its state: no acknowledgement of movement counts any more.
    Forget,
    /// The client gets this many rounds of movement a second from now on.
    Rate(u32),
}

impl SessionIntake {
    /// Creates the intake of the client with this handle.
    pub fn new(handle: Arc<ClientHandle>, metrics: Arc<Metrics>) -> Self {
        let commands = CommandIntake::new(Arc::clone(&handle), Arc::clone(&metrics));
        Self { handle, metrics, commands, watchdog: InputWatchdog::default(), counts_steps: false }
    }

    /// Handles one message. `round_trip` is the time to the client and back, if it is known. Returns what the caller must do.
    ///
    /// # Errors
    /// Returns an error if the client must be removed, because a field is out of bounds or the client is far over a rate.
    pub fn receive(
        &mut self,
        message: ClientMessage,
        round_trip: Option<Duration>,
        rates: &mut Rates,
    ) -> Result<Option<ReplicationRequest>, Closing> {
        let command = match message {
            ClientMessage::Controls(controls) => return self.steer(controls, rates).map(|()| None),
            ClientMessage::Steps(steps) => return self.steer_by_steps(&steps, rates).map(|()| None),
            ClientMessage::View(view) => return self.view(view, rates).map(|()| None),
            ClientMessage::Event(ToWorld::Forget) => {
                return self.request(ReplicationRequest::Forget, rates);
            }
            ClientMessage::Event(ToWorld::Rate { network_hz }) => {
                OutOfBounds::check_network_hz("network_hz", network_hz).map_err(Closing::OutOfBounds)?;
                let request = self.request(ReplicationRequest::Rate(network_hz), rates)?;
                if request.is_some() {
                    self.handle.set_network_hz(network_hz);
                }
                return Ok(request);
            }
            ClientMessage::Owned(entity, owned) => PlayerCommand::of_owned(entity, owned)?,
            ClientMessage::Line(line) => PlayerCommand::Say { text: line.text },
            ClientMessage::Event(event) => {
                // The age of the client's view, if the server can measure it.
                let saw = round_trip.map(|round_trip| round_trip + self.handle.view_delay());
                PlayerCommand::of_session(event, saw)?
            }
        };
        self.commands.submit(command, rates).map(|()| None)
    }

    /// Stops the avatar of a client that is silent, and moves it on when messages arrive again.
    pub fn check_input_timeout(
        &mut self,
        silence: Duration,
        round_trip: Option<Duration>,
        is_interrupted: bool,
    ) {
        if self.counts_steps {
            // The walker of a client that counts steps waits for the steps, and then stands still.
            return;
        }
        let is_silent = is_interrupted || silence >= SILENCE_MAX + round_trip.unwrap_or_default();
        if let Some((input, number)) = self.watchdog.update(is_silent) {
            self.commands.queue(PlayerCommand::Input { input, number });
        }
    }

    /// Applies the controls of a client that counts no steps.
    fn steer(&mut self, controls: Controls, rates: &mut Rates) -> Result<(), Closing> {
        let Controls { number, forward, right, yaw, run, jump } = controls;
        let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
        self.counts_steps = false;
        self.watchdog.steer(input, number);
        self.commands.submit(PlayerCommand::Input { input, number }, rates)
    }

    /// Applies the input of a client that counts its steps. Each change takes effect at its step.
    fn steer_by_steps(&mut self, Steps { number, steps }: &Steps, rates: &mut Rates) -> Result<(), Closing> {
        if steps.is_empty() || steps.len() > STEPS_MAX {
            let cause = "steps are 1 to 64 changes of the controls";
            return Err(Closing::Malformed(DecodeError::Syntax(cause.into())));
        }
        let mut changes = Vec::with_capacity(steps.len());
        for &Step { ago, forward, right, yaw, run, jump } in steps.iter().rev() {
            let input = Input::new(forward, right, yaw, run, jump).map_err(out_of_bounds)?;
            changes.push(Change { step: number.wrapping_sub(ago), input });
        }
        self.commands.admit(MessageKind::Input, rates)?;
        if self.handle.commands.push_steps(*number, changes) {
            self.counts_steps = true;
        } else {
            self.metrics.drop_message("backlog");
        }
        Ok(())
    }

    /// Records the client's view delay: the age of the state that the client shows, without the time on the network.
    fn view(&self, View { delay_ms }: View, rates: &mut Rates) -> Result<(), Closing> {
        let (value, high) = (delay_ms.into(), VIEW_DELAY_MS_MAX.into());
        OutOfBounds::check("delay_ms", value, 0.0, high).map_err(Closing::OutOfBounds)?;
        self.commands.admit(MessageKind::Rate, rates)?;
        self.handle.set_view_delay_ms(delay_ms);
        Ok(())
    }

    /// Returns a request that is within its rate.
    fn request(
        &self,
        request: ReplicationRequest,
        rates: &mut Rates,
    ) -> Result<Option<ReplicationRequest>, Closing> {
        Ok(self.commands.admit(MessageKind::Rate, rates)?.then_some(request))
    }
}

fn out_of_bounds(error: InputError) -> Closing {
    Closing::OutOfBounds(OutOfBounds::from(error))
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use nowcast_world_protocol::plain::Encoding;

    use super::*;
    use crate::names::Name;
    use crate::plain_sink::PlainSink;
    use crate::rate::ACTIONS_HZ;

    fn intake() -> (SessionIntake, Arc<ClientHandle>, Rates) {
        let metrics = Arc::new(Metrics::unregistered());
        let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&metrics)));
        let handle = Arc::new(ClientHandle::new(Name::Asked("Ada".into()), sink, 10, false, false));
        (SessionIntake::new(Arc::clone(&handle), metrics), handle, Rates::new(ACTIONS_HZ, Instant::now()))
    }

    #[test]
    fn a_field_out_of_bounds_removes_the_client_and_queues_nothing() {
        let out_of_bounds = [
            ClientMessage::Controls(Controls { forward: f32::NAN, ..Controls::default() }),
            ClientMessage::Steps(Steps { number: 1, steps: Vec::new() }),
            ClientMessage::Steps(Steps { number: 1, steps: vec![Step::default(); STEPS_MAX + 1] }),
            ClientMessage::View(View { delay_ms: VIEW_DELAY_MS_MAX + 1 }),
            ClientMessage::Event(ToWorld::Rate { network_hz: 1_000 }),
        ];
        for message in out_of_bounds {
            let (mut intake, handle, mut rates) = intake();
            assert!(intake.receive(message.clone(), None, &mut rates).is_err(), "{message:?}");
            assert!(handle.take_receiver().take(|_| ()).is_empty());
        }
    }

    #[test]
    fn requests_beyond_their_rate_have_no_effect() {
        let (mut intake, handle, mut rates) = intake();
        let mut granted = 0;
        for network_hz in 5..=60 {
            let rate = ClientMessage::Event(ToWorld::Rate { network_hz });
            let Ok(Some(request)) = intake.receive(rate, None, &mut rates) else { break };
            assert_eq!(request, ReplicationRequest::Rate(network_hz));
            assert_eq!(handle.network_hz(), network_hz);
            granted += 1;
        }
        assert!((1..56).contains(&granted), "{granted} changes of the rate at once");
    }

    #[test]
    fn the_avatar_of_a_silent_client_stands_still() {
        let (mut intake, handle, mut rates) = intake();
        let walk = Controls { number: 3, forward: 1.0, ..Controls::default() };
        intake.receive(ClientMessage::Controls(walk), None, &mut rates).expect("the input is valid");
        let mut queue = handle.take_receiver();
        assert_eq!(queue.take(|_| ()).len(), 1);
        intake.check_input_timeout(SILENCE_MAX, Some(Duration::from_millis(1)), false);
        assert!(queue.take(|_| ()).is_empty(), "a round trip is added to the time");
        intake.check_input_timeout(SILENCE_MAX, None, false);
        let stopped = queue.take(|_| ());
        assert!(
            matches!(stopped.front(), Some(PlayerCommand::Input { input, .. }) if input.forward == 0.0),
            "{stopped:?}"
        );
    }
}
