//! The queue from one client's task to its room. The task puts messages in, and the room's thread takes them out. They share no
//! lock while the queue has space.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;

use crate::config::{COMMANDS_MAX, COMMANDS_PER_STEP_MAX};
use crate::player_command::{Given, PlayerCommand};
use crate::session::input_buffer::{BufferedInput, Change, InputBuffer};

/// The longest time that an action waits until the walker takes the step in which the client sent the action. A delayed walker
/// is usually at most a second behind its client.
const ACTION_WAIT_MAX: Duration = Duration::from_millis(1_500);

/// Creates the queue of one client.
pub(crate) fn command_queue() -> (CommandSender, CommandReceiver) {
    let (queued, receiver) = channel();
    let backlog = Arc::new(Backlog::default());
    let sender = CommandSender { queued, backlog: Arc::clone(&backlog) };
    let (commands, input) = (VecDeque::new(), InputBuffer::default());
    (sender, CommandReceiver { queued: receiver, backlog, commands, input })
}

/// A message of the client.
enum Queued {
    // Boxed, because the channel allocates many entries at once.
    Command(Box<PlayerCommand>),
    Steps { number: u16, changes: Vec<Change> },
}

/// The space that a state takes. A state is small, and the room drops it if a newer one has arrived.
const STATE_SPACE: usize = 1;

/// The space that an event or a message with steps takes.
const EVENT_SPACE: usize = 8;

/// The space of a queue.
const SPACE: usize = COMMANDS_MAX * EVENT_SPACE;

/// Extra space, beyond [`SPACE`], for inputs without steps. A full queue must still accept the input that stops the avatar of a
/// silent client.
const INPUT_SPACE: usize = 64;

fn space_of(command: &PlayerCommand) -> usize {
    if command.is_state() { STATE_SPACE } else { EVENT_SPACE }
}

/// Counts the messages that the room has not finished. Wakes the client's task when there is space again.
#[derive(Default)]
struct Backlog {
    /// The space that unfinished messages take.
    taken: AtomicUsize,
    /// Whether `task` waits for space.
    is_awaited: AtomicBool,
    task: Mutex<Option<Waker>>,
}

impl Backlog {
    fn has_space(&self) -> bool {
        self.taken.load(Ordering::SeqCst) < SPACE
    }

    /// Frees the space of finished messages.
    fn free(&self, space: usize) {
        self.taken.fetch_sub(space, Ordering::SeqCst);
        if self.is_awaited.load(Ordering::SeqCst) && self.has_space() {
            self.is_awaited.store(false, Ordering::SeqCst);
            let task = self.task.lock().take();
            task.into_iter().for_each(Waker::wake);
        }
    }
}

/// The sending end, which the client's task uses.
pub(crate) struct CommandSender {
    queued: Sender<Queued>,
    backlog: Arc<Backlog>,
}

impl CommandSender {
    /// Ready if the queue has space for any message. Otherwise the task waits for space.
    pub(crate) fn poll_space(&self, context: &Context<'_>) -> Poll<()> {
        if self.backlog.has_space() {
            return Poll::Ready(());
        }
        *self.backlog.task.lock() = Some(context.waker().clone());
        self.backlog.is_awaited.store(true, Ordering::SeqCst);
        // The room may have finished messages before it could see that the task waits.
        if self.backlog.has_space() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Adds a command. Returns false if the queue is full.
    pub(crate) fn push(&self, command: PlayerCommand) -> bool {
        let beyond = if matches!(command, PlayerCommand::Input { .. }) { INPUT_SPACE } else { 0 };
        self.send(SPACE + beyond, space_of(&command), || Queued::Command(Box::new(command)))
    }

    /// Adds the input of a client that counts its steps. Returns false if the queue is full.
    pub(crate) fn push_steps(&self, number: u16, changes: Vec<Change>) -> bool {
        self.send(SPACE, EVENT_SPACE, || Queued::Steps { number, changes })
    }

    fn send(&self, space_max: usize, space: usize, message: impl FnOnce() -> Queued) -> bool {
        let fits = self.backlog.taken.load(Ordering::SeqCst) < space_max;
        if fits {
            self.backlog.taken.fetch_add(space, Ordering::SeqCst);
            // The room may have ended. Then it closes the client.
            let _ = self.queued.send(message());
        }
        fits
    }
}

/// The receiving end, which the room's thread uses.
pub(crate) struct CommandReceiver {
    queued: Receiver<Queued>,
    backlog: Arc<Backlog>,
    /// The commands that have arrived, in order. A newer state has replaced an older one, unless an event is between them.
    commands: VecDeque<PlayerCommand>,
    /// The client's input at each of its steps.
    pub(crate) input: InputBuffer,
}

impl CommandReceiver {
    /// Takes the commands for one step, in order. Stops before the first action that was sent in a step that the walker has not
    /// taken yet, unless the action has waited for [`ACTION_WAIT_MAX`]. For each message with steps, calls `heard` with the
    /// faults found in it.
    pub(crate) fn take(&mut self, mut heard: impl FnMut(BufferedInput)) -> VecDeque<PlayerCommand> {
        if self.backlog.taken.load(Ordering::Acquire) == 0 {
            return VecDeque::new();
        }
        let mut space = self.space();
        while let Ok(message) = self.queued.try_recv() {
            match message {
                Queued::Command(command) => {
                    space += space_of(&command);
                    self.arrive(*command);
                }
                Queued::Steps { number, changes } => {
                    space += EVENT_SPACE;
                    heard(self.input.receive(number, changes.into_iter()));
                }
            }
        }
        let Self { commands, input, .. } = self;
        let is_early = |command: &PlayerCommand| match command {
            PlayerCommand::Act { given: Given { at, step: Some(step), .. }, .. } => {
                input.is_ahead(*step) && at.elapsed() < ACTION_WAIT_MAX
            }
            _ => false,
        };
        let due = commands.iter().position(is_early).unwrap_or(commands.len()).min(COMMANDS_PER_STEP_MAX);
        let early = commands.split_off(due);
        let due = std::mem::replace(commands, early);
        self.backlog.free(space - self.space());
        due
    }

    /// The space of the commands that have arrived.
    fn space(&self) -> usize {
        self.commands.iter().map(space_of).sum()
    }

    fn arrive(&mut self, command: PlayerCommand) {
        if matches!(command, PlayerCommand::Input { .. }) && self.input.counts() {
            // The client no longer counts its steps.
            self.input = InputBuffer::default();
        }
        let states = self.commands.iter_mut().rev().take_while(|known| known.is_state());
        match states.into_iter().find(|known| known.is_replaced_by(&command)) {
            Some(older) => *older = command,
            None => self.commands.push_back(command),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;
    use std::time::Instant;

    use nowcast_world::{EntityId, Input, Pose, Value};

    use super::*;

    fn facing(yaw: f32) -> PlayerCommand {
        PlayerCommand::Input { input: Input { yaw, ..Input::default() }, number: 0 }
    }

    fn moved(entity: u32, x: f32) -> PlayerCommand {
        let pose = Pose { position: [x, 0.0, 0.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        PlayerCommand::Move { entity: EntityId(entity), pose, velocity: None }
    }

    fn wave_at(given: Given) -> PlayerCommand {
        PlayerCommand::Act { action: "wave".into(), arguments: Value::Nil, number: None, given }
    }

    fn waves(count: usize) -> Vec<PlayerCommand> {
        let given = Given::now();
        (0..count).map(|_| wave_at(given)).collect()
    }

    fn pushed(commands: impl IntoIterator<Item = PlayerCommand>) -> (CommandSender, CommandReceiver) {
        let (sender, receiver) = command_queue();
        commands.into_iter().for_each(|command| assert!(sender.push(command)));
        (sender, receiver)
    }

    fn take(receiver: &mut CommandReceiver) -> VecDeque<PlayerCommand> {
        receiver.take(|heard| assert_eq!(heard, BufferedInput::default()))
    }

    #[test]
    fn newer_states_replace_older_ones_up_to_the_last_event() {
        let states = || [facing(0.1), moved(1, 0.1), moved(2, 0.2), facing(0.3), moved(1, 0.4)];
        let say = || PlayerCommand::Say { text: "hello".into() };
        let (_sender, mut receiver) = pushed(states().into_iter().chain([say()]).chain(states()));
        let kept = || [facing(0.3), moved(1, 0.4), moved(2, 0.2)];
        let expected: Vec<_> = kept().into_iter().chain([say()]).chain(kept()).collect();
        assert_eq!(take(&mut receiver), expected);
        assert!(take(&mut receiver).is_empty());
    }

    #[test]
    fn a_full_queue_refuses_events_and_steps_and_takes_input() {
        let (sender, mut receiver) = pushed(waves(COMMANDS_MAX));
        assert!(!sender.push(waves(1).remove(0)) && !sender.push_steps(1, Vec::new()));
        assert!((0..INPUT_SPACE).all(|_| sender.push(facing(0.1))) && !sender.push(facing(0.2)));
        assert_eq!(take(&mut receiver).len(), COMMANDS_PER_STEP_MAX);
        assert!(sender.push(waves(1).remove(0)));
        let left = COMMANDS_MAX - COMMANDS_PER_STEP_MAX + 2;
        assert_eq!(
            (0..4).map(|_| take(&mut receiver).len()).sum::<usize>(),
            left,
            "one of the inputs, and a wave"
        );
    }

    #[test]
    fn an_action_of_a_later_step_waits_with_all_commands_behind_it() {
        let change = |step| Change { step, input: Input { forward: 1.0, ..Input::default() } };
        let (sender, mut receiver) = command_queue();
        assert!(sender.push_steps(10, vec![change(10)]));
        let later = wave_at(Given { step: Some(10), ..Given::now() });
        assert!(sender.push(moved(1, 0.0)) && sender.push(later) && sender.push(moved(2, 0.0)));
        assert_eq!(take(&mut receiver), [moved(1, 0.0)]);
        assert!(take(&mut receiver).is_empty(), "the walker has not taken the step yet");
        while receiver.input.is_ahead(10) {
            assert!(receiver.input.take(|| false).is_some());
        }
        assert_eq!(take(&mut receiver).len(), 2);
        let Some(long_ago) = Instant::now().checked_sub(ACTION_WAIT_MAX) else { return };
        assert!(sender.push(wave_at(Given { at: long_ago, step: Some(20), ..Given::now() })));
        assert_eq!(take(&mut receiver).len(), 1, "an action waits for a limited time");
    }

    #[test]
    fn input_without_steps_ends_the_count_of_steps() {
        let (sender, mut receiver) = command_queue();
        assert!(sender.push_steps(10, vec![Change { step: 10, input: Input::default() }]));
        take(&mut receiver);
        assert!(receiver.input.counts());
        assert!(sender.push(facing(0.1)));
        assert_eq!((take(&mut receiver).len(), receiver.input.counts()), (1, false));
    }

    #[derive(Default)]
    struct Wakes(AtomicUsize);

    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_task_waits_for_room_until_commands_are_taken() {
        let wakes = Arc::new(Wakes::default());
        let waker = Waker::from(Arc::clone(&wakes));
        let context = Context::from_waker(&waker);
        let (sender, mut receiver) = pushed(waves(COMMANDS_MAX - 1));
        assert!(sender.poll_space(&context).is_ready());
        assert!(sender.push(waves(1).remove(0)));
        assert!(sender.poll_space(&context).is_pending() && wakes.0.load(Ordering::SeqCst) == 0);
        take(&mut receiver);
        take(&mut receiver);
        assert_eq!(wakes.0.load(Ordering::SeqCst), 1);
        assert!(sender.poll_space(&context).is_ready());
    }
}
