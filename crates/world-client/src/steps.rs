//! The input of a client that counts its steps (`spec/WORLD.md`, section 3: Steps).

use std::collections::VecDeque;
use std::time::Duration;

use nowcast_world::Input;
use nowcast_world_protocol::session::{STEPS_MAX, Step, Steps};

/// Minimum time between two messages.
const INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// Time between two messages while the client does not rest.
const REPEAT: Duration = Duration::from_nanos(1_000_000_000 / 30);
/// When a client comes to rest, its last message is repeated this many times, [`REPEAT`] apart, because packets get lost.
const REPEATS: u32 = 6;
/// Time between two messages while the client rests.
const REST: Duration = Duration::from_millis(500);
/// A client rests after this many consecutive steps with a standing input: no direction and no jump. This is longer than the
/// 60 steps after which the server regards the client as resting.
const REST_STEPS: u32 = 60 + 30;
/// Maximum age of a change that is sent again, in steps. The newest change is sent again at any age.
const AGO_STEPS_MAX: u32 = 90;
/// Maximum age that a message can state, in steps.
const AGO_STATED_MAX: u32 = 0x3fff;

/// A change of the input.
#[derive(Clone, Copy, Debug)]
struct Change {
    step: u32,
    input: Input,
}

/// Decides when the input of a client that counts its steps is sent. Each message contains all changes that the server has not
/// taken yet, so a lost packet causes no delay.
///
/// ```
/// use std::time::Duration;
/// use nowcast_world::Input;
/// use nowcast_world_client::StepSender;
///
/// let mut sender = StepSender::new(100, Input::default());
/// sender.change(101, Input { forward: 1.0, ..Input::default() });
/// let steps = sender.poll(Duration::ZERO, 102).expect("the first message is due at once");
/// assert_eq!(steps.number, 102);
/// assert_eq!(steps.steps.iter().map(|step| (step.ago, step.forward)).collect::<Vec<_>>(), [(1, 1.0), (2, 0.0)]);
/// assert_eq!(sender.poll(Duration::ZERO, 102), None);
/// ```
#[derive(Clone, Debug)]
pub struct StepSender {
    /// Oldest first; never empty.
    changes: VecDeque<Change>,
    sent_at: Option<Duration>,
    repeats: u32,
    /// The first step of the present run of standing input.
    still_since: Option<u32>,
}

impl StepSender {
    /// Begins with the input of a step.
    pub fn new(step: u32, input: Input) -> Self {
        let mut sender =
            Self { changes: VecDeque::with_capacity(4), sent_at: None, repeats: 0, still_since: None };
        sender.change(step, input);
        sender
    }

    /// Records that the input of a step differs from the input of the preceding step. The calls are in the order of the
    /// steps.
    pub fn change(&mut self, step: u32, input: Input) {
        self.changes.push_back(Change { step, input });
        if self.changes.len() > STEPS_MAX {
            self.changes.pop_front();
        }
        self.repeats = REPEATS + 1;
        if input.forward != 0.0 || input.right != 0.0 || input.jump {
            self.still_since = None;
        } else {
            self.still_since.get_or_insert(step);
        }
    }

    /// Records that the server has taken a step, so the server knows the input up to this step.
    pub fn acknowledge(&mut self, step: u32) {
        while self.changes.get(1).is_some_and(|next| next.step <= step) {
            self.changes.pop_front();
        }
    }

    /// Returns the message of the client that is at `step`, if one is due. `now` is a time since any fixed moment.
    pub fn poll(&mut self, now: Duration, step: u32) -> Option<Steps> {
        let rests = self.still_since.is_some_and(|since| step.saturating_sub(since) > REST_STEPS);
        let due = match self.repeats {
            repeats if repeats > REPEATS => INTERVAL,
            0 if rests => REST,
            _ => REPEAT,
        };
        // A message that would become due before the next frame is sent now.
        let due = due.saturating_sub(Duration::from_millis(1));
        if self.sent_at.is_some_and(|sent_at| now.saturating_sub(sent_at) < due) {
            return None;
        }
        while self.changes.len() > 1 && step.saturating_sub(self.changes[0].step) > AGO_STEPS_MAX {
            self.changes.pop_front();
        }
        self.sent_at = Some(now);
        self.repeats = self.repeats.saturating_sub(1);
        let steps = self.changes.iter().rev().map(|change| {
            let Input { forward, right, yaw, run, jump } = change.input;
            let ago = step.saturating_sub(change.step).min(AGO_STATED_MAX) as u16;
            Step { ago, forward, right, yaw, run, jump }
        });
        Some(Steps { number: step as u16, steps: steps.collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AHEAD: Input = Input { forward: 1.0, right: 0.0, yaw: 0.0, run: false, jump: false };

    /// Polls once for each of these steps, and counts the messages.
    fn messages(sender: &mut StepSender, steps: std::ops::Range<u32>) -> usize {
        let at = |step: u32| Duration::from_secs(step.into()) / 60;
        steps.filter(|step| sender.poll(at(*step), *step).is_some()).count()
    }

    #[test]
    fn a_walking_client_sends_thirty_messages_a_second_and_a_resting_one_two() {
        let mut sender = StepSender::new(0, AHEAD);
        assert_eq!(messages(&mut sender, 0..60), 30);
        sender.change(60, Input::default());
        assert_eq!(messages(&mut sender, 60..150), 45, "the server does not take it to rest yet");
        assert_eq!(messages(&mut sender, 180..300), 4);
    }

    #[test]
    fn a_change_is_sent_until_the_server_has_taken_its_step() {
        let mut sender = StepSender::new(10, Input::default());
        sender.change(12, AHEAD);
        sender.change(14, Input::default());
        let ages = |sender: &mut StepSender, step: u32| {
            let steps = sender.poll(Duration::from_secs(step.into()), step).expect("a message is due");
            steps.steps.iter().map(|step| step.ago).collect::<Vec<_>>()
        };
        assert_eq!(ages(&mut sender, 15), [1, 3, 5]);
        sender.acknowledge(12);
        assert_eq!(ages(&mut sender, 16), [2, 4]);
        sender.acknowledge(20);
        assert_eq!(ages(&mut sender, 21), [7]);
        assert_eq!(ages(&mut sender, 40_000), [0x3fff], "the newest change is never dropped");
    }

    #[test]
    fn a_message_has_at_most_64_changes() {
        let mut sender = StepSender::new(0, AHEAD);
        for step in 1..80 {
            sender.change(step, Input { jump: step % 2 == 1, ..AHEAD });
        }
        let steps = sender.poll(Duration::from_secs(1), 80).expect("a message is due");
        assert_eq!((steps.steps.len(), steps.steps[0].ago), (STEPS_MAX, 1));
    }
}
