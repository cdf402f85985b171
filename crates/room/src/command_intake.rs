//! The intake of one client's commands: checks rates, answers, and queues. Both protocols use the intake.

use std::sync::Arc;
use std::time::Instant;

use nowcast_limits::Verdict;
use nowcast_world_protocol::plain::DecodeError;

use crate::client_handle::ClientHandle;
use crate::closing::Closing;
use crate::metrics::Metrics;
use crate::player_command::{Numbered, PlayerCommand};
use crate::rate::{MessageKind, Rates};

/// The intake of one client's commands.
pub struct CommandIntake {
    handle: Arc<ClientHandle>,
    metrics: Arc<Metrics>,
}

impl CommandIntake {
    /// Creates the intake of the client with this handle.
    pub fn new(handle: Arc<ClientHandle>, metrics: Arc<Metrics>) -> Self {
        Self { handle, metrics }
    }

    /// Queues a command for the room. A command over the rate is dropped and answered, with two exceptions. The newest state
    /// is always queued, because a lost last input would leave the avatar moving. Numbered actions are always queued,
    /// because only the room knows whether an action was done before.
    ///
    /// # Errors
    /// Returns an error if the client must be removed, because it is far over the rate, or because it gives an action the number
    /// 0.
    pub fn submit(&self, mut command: PlayerCommand, rates: &mut Rates) -> Result<(), Closing> {
        if let PlayerCommand::Act { number: Some(Numbered { number: 0, .. }), .. } = &command {
            let cause = "an action has the number 0: numbers begin at 1";
            return Err(Closing::Malformed(DecodeError::Syntax(cause.into())));
        }
        let kind = command.kind();
        let is_over_rate = !self.admit(kind, rates)?;
        if let PlayerCommand::Act { number: Some(numbered), .. } = &mut command {
            numbered.is_over_rate = is_over_rate;
        } else if is_over_rate && !command.is_state() {
            let reason = format!("over the rate ({}): it had no effect", rates.limit(kind));
            self.handle.refuse_command(&command.subject(), &reason);
            return Ok(());
        }
        self.queue(command);
        Ok(())
    }

    /// Queues a command that was not caused by a message.
    pub fn queue(&self, command: PlayerCommand) {
        if !self.handle.commands.push(command) {
            self.metrics.drop_message("backlog");
        }
    }

    /// Returns whether a message is within its rate. Events over the rate are counted as dropped; states are not dropped.
    ///
    /// # Errors
    /// Returns an error if the client is so far over the rate that it must be removed.
    pub fn admit(&self, kind: MessageKind, rates: &mut Rates) -> Result<bool, Closing> {
        match rates.judge(kind, Instant::now()) {
            Verdict::Pass => Ok(true),
            Verdict::Drop => {
                if !kind.is_state() {
                    self.metrics.drop_message("rate");
                }
                Ok(false)
            }
            Verdict::Close => Err(Closing::TooMany(rates.limit(kind))),
        }
    }
}

#[cfg(test)]
mod tests {
    use nowcast_world::{Input, Value};

    use super::*;
    use crate::names::Name;
    use crate::plain_sink::PlainSink;
    use crate::player_command::Given;
    use crate::rate::ACTIONS_HZ;
    use crate::send_queue::Outgoing;
    use nowcast_world_protocol::plain::Encoding;

    fn intake() -> (CommandIntake, Arc<ClientHandle>, Arc<PlainSink>) {
        let metrics = Arc::new(Metrics::unregistered());
        let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&metrics)));
        let name = Name::Asked("Ada".into());
        let handle = Arc::new(ClientHandle::new(name, Arc::<PlainSink>::clone(&sink), 10, false, false));
        (CommandIntake::new(Arc::clone(&handle), metrics), handle, sink)
    }

    #[test]
    fn events_over_the_rate_are_answered_and_states_over_the_rate_are_applied() {
        let (intake, handle, sink) = intake();
        let mut rates = Rates::new(ACTIONS_HZ, Instant::now());
        for _ in 0..7 {
            intake
                .submit(PlayerCommand::Say { text: "hello".into() }, &mut rates)
                .expect("the client is not removed");
        }
        let mut queue = handle.take_receiver();
        assert_eq!(queue.take(|_| ()).len(), 5);
        let answers: Vec<_> = std::iter::from_fn(|| sink.queue.take()).collect();
        let is_answer =
            |next: &Outgoing| matches!(next, Outgoing::Event(text) if text.text().contains("over the rate"));
        assert_eq!(answers.iter().filter(|next| is_answer(next)).count(), 2);
        for step in 0..200_u16 {
            let input = Input { forward: 1.0, ..Input::default() };
            intake
                .submit(PlayerCommand::Input { input, number: step }, &mut rates)
                .expect("the client is not removed");
        }
        let commands = queue.take(|_| ());
        assert!(matches!(commands.back(), Some(PlayerCommand::Input { number: 199, .. })), "{commands:?}");
        assert!(sink.queue.take().is_none());
    }

    #[test]
    fn an_action_with_the_number_0_closes_the_client() {
        let (intake, _, _) = intake();
        let mut rates = Rates::new(ACTIONS_HZ, Instant::now());
        let act = |number| PlayerCommand::Act {
            action: "buy".into(),
            arguments: Value::Nil,
            number,
            given: Given::now(),
        };
        assert_eq!(intake.submit(act(None), &mut rates), Ok(()));
        assert_eq!(intake.submit(act(Some(Numbered::new(1))), &mut rates), Ok(()));
        let closed = intake.submit(act(Some(Numbered::new(0))), &mut rates);
        assert!(matches!(closed, Err(Closing::Malformed(_))));
    }
}
