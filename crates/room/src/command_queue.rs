//! The commands of one client that wait for its room.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use crate::config::{COMMANDS_MAX, COMMANDS_PER_STEP_MAX};
use crate::player_command::PlayerCommand;

/// The commands of one client that wait for its room, in order. A newer state replaces an older one, unless an event is
/// between the two states.
#[derive(Default)]
pub(crate) struct CommandQueue {
    commands: VecDeque<PlayerCommand>,
    /// The client's task, while it waits for room.
    waiting: Option<Waker>,
}

impl CommandQueue {
    /// Whether the queue has room for any command.
    fn has_room(&self) -> bool {
        self.commands.len() < COMMANDS_MAX
    }

    /// Ready if the queue has room for any command. Otherwise the task waits for room.
    pub(crate) fn poll_room(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.has_room() {
            return Poll::Ready(());
        }
        self.waiting = Some(context.waker().clone());
        Poll::Pending
    }

    /// Returns the task that waits for room, if there is room again.
    pub(crate) fn take_waiting(&mut self) -> Option<Waker> {
        if self.has_room() { self.waiting.take() } else { None }
    }

    /// Adds a command. Returns false if the queue is full.
    pub(crate) fn push(&mut self, command: PlayerCommand) -> bool {
        let states = self.commands.iter_mut().rev().take_while(|known| known.is_state());
        if let Some(older) = states.into_iter().find(|known| known.is_replaced_by(&command)) {
            *older = command;
            return true;
        }
        // Between two events there is at most one input. The input has a reserved place, because the avatar of a silent
        // client must stop.
        let room = COMMANDS_MAX + usize::from(matches!(command, PlayerCommand::Input { .. }));
        let fits = self.commands.len() < room;
        if fits {
            self.commands.push_back(command);
        }
        fits
    }

    /// Takes the commands for one step, in order. Stops before the first command for which `is_early` is true.
    pub(crate) fn take(&mut self, is_early: impl FnMut(&PlayerCommand) -> bool) -> VecDeque<PlayerCommand> {
        let due =
            self.commands.iter().position(is_early).unwrap_or(self.commands.len()).min(COMMANDS_PER_STEP_MAX);
        let early = self.commands.split_off(due);
        std::mem::replace(&mut self.commands, early)
    }
}

#[cfg(test)]
mod tests {
    use nowcast_world::{EntityId, Input, Pose, Value};

    use super::*;
    use crate::player_command::Given;

    fn facing(yaw: f32) -> PlayerCommand {
        PlayerCommand::Input { input: Input { yaw, ..Input::default() }, number: 0 }
    }

    fn moved(entity: u32, x: f32) -> PlayerCommand {
        let pose = Pose { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        PlayerCommand::Move { entity: EntityId(entity), pose, velocity: None }
    }

    fn waves(count: usize) -> Vec<PlayerCommand> {
        let given = Given::now();
        let wave =
            || PlayerCommand::Act { action: "wave".into(), arguments: Value::Nil, number: None, given };
        (0..count).map(|_| wave()).collect()
    }

    fn pushed(commands: impl IntoIterator<Item = PlayerCommand>) -> CommandQueue {
        let mut queue = CommandQueue::default();
        commands.into_iter().for_each(|command| assert!(queue.push(command)));
        queue
    }

    #[test]
    fn newer_states_replace_older_ones_up_to_the_last_event() {
        let states = || [facing(0.1), moved(1, 0.1), moved(2, 0.2), facing(0.3), moved(1, 0.4)];
        let say = || PlayerCommand::Say { text: "hello".into() };
        let mut queue = pushed(states().into_iter().chain([say()]).chain(states()));
        let kept = || [facing(0.3), moved(1, 0.4), moved(2, 0.2)];
        let expected: Vec<_> = kept().into_iter().chain([say()]).chain(kept()).collect();
        assert_eq!(queue.take(|_| false), expected);
        assert!(queue.take(|_| false).is_empty());
    }

    #[test]
    fn a_full_queue_refuses_events_and_takes_one_input() {
        let mut queue = pushed(waves(COMMANDS_MAX));
        assert!(!queue.has_room());
        assert!(!queue.push(waves(1).remove(0)));
        assert!(queue.push(facing(0.1)) && queue.push(facing(0.2)));
        assert_eq!(queue.take(|_| false).len(), COMMANDS_PER_STEP_MAX);
        assert!(queue.has_room());
    }

    #[test]
    fn an_early_command_waits_with_all_commands_behind_it() {
        let mut queue = pushed([facing(0.1), moved(1, 0.0), facing(0.2)]);
        let is_move = |command: &PlayerCommand| matches!(command, PlayerCommand::Move { .. });
        assert_eq!(queue.take(is_move), [facing(0.2)]);
        assert!(queue.take(is_move).is_empty());
        assert_eq!(queue.take(|_| false), [moved(1, 0.0)]);
    }

    #[test]
    fn a_task_waits_for_room_until_commands_are_taken() {
        let context = Context::from_waker(Waker::noop());
        let mut queue = pushed(waves(COMMANDS_MAX - 1));
        assert!(queue.poll_room(&context).is_ready());
        assert!(queue.push(waves(1).remove(0)));
        assert!(queue.poll_room(&context).is_pending() && queue.take_waiting().is_none());
        queue.take(|_| false);
        assert!(queue.take_waiting().is_some() && queue.take_waiting().is_none());
    }
}
