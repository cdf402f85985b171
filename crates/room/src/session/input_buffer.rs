//! The times at which the input of a client that counts its steps takes effect: each step of the client is taken once,
//! in its order, with the input that it had on the client (`spec/MOVEMENT.md`, section 9).
//!
//! A server that continued with old input while newer input is in transit would move the walker to a position that its
//! client never had. So a walker waits for its client's input: it stands still in a step of the world without known
//! input. The missed steps make room for the next late message, and are caught up later, by two steps in one where
//! nothing else moves nearby.

use std::collections::VecDeque;

use nowcast_world::Input;

/// Steps that controls wait at least: as late as they may come without being felt.
const WAIT_STEPS: i32 = 3;
/// A client without input for this many steps has come to rest.
const REST_STEPS: u32 = 60;
/// Maximum steps for which input waits after a rest.
const WAIT_STEPS_MAX: i32 = 8;
/// After this many messages in time the buffer is a step shorter.
const TIMELY_MESSAGES: u32 = 300;
/// Controls of a client at rest that come later than this have lost their place, and hold at once.
const LATE_STEPS_MAX: i32 = PATIENCE_STEPS as i32;
/// A client whose steps are farther from the expected ones than this has another clock than before.
const APART_STEPS_MAX: i32 = 120;
/// Changes that may wait.
const CHANGES_MAX: usize = 128;
/// Maximum steps in a row for which a walker waits, one second; then it stands still without its client. A message that
/// a stream loses twice usually arrives within that time.
const PATIENCE_STEPS: u32 = 60;
/// After this many taken steps, the walker may wait one more step.
const PATIENCE_EVERY_STEPS: u32 = 4;
/// One step in this many is a double step, so a walker is at most a quarter faster.
const STRIDE_EVERY_STEPS: u32 = 4;
/// Input that is known in advance is measured for this many steps before it counts as too much.
const WINDOW_STEPS: u32 = 60;
/// Number of known steps that remain buffered when steps are caught up.
const RESERVE_STEPS: i32 = 2;

// Only steps in which the walker stood still may be taken again.
const _: () = assert!(LATE_STEPS_MAX as u32 <= REST_STEPS && PATIENCE_STEPS <= REST_STEPS);
// A player that is waited for is not taken for a stranger when it comes. Its controls may be different in each step.
const _: () = assert!(PATIENCE_STEPS as i32 + WAIT_STEPS_MAX < APART_STEPS_MAX);
const _: () = assert!(CHANGES_MAX as i32 >= APART_STEPS_MAX);

/// The input of one client from one of its steps on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Change {
    /// The client's step.
    pub step: u16,
    /// The input from this step on.
    pub input: Input,
}

/// Faults of a message of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BufferedInput {
    /// Controls came for a step that had been taken without them.
    pub is_late: bool,
    /// The client's clock changed, or runs too fast: steps are left out.
    pub is_elsewhere: bool,
}

/// The act of a walker in a step of the world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum DueStep {
    /// Takes the client's step of this number, with this input if it differs from the last one. If there is a `first`,
    /// the walker takes one more step before it in the same step of the world, with that input.
    Steps { number: u16, input: Option<Input>, first: Option<Input> },
    /// Waits for input of the client, at the position after the client's step of this number.
    Waits { number: u16 },
    /// The walker waited long enough, and takes the step of this number with this input, which asks for nothing.
    GivesUp { number: u16, input: Option<Input> },
}

/// The input of one client at each step. The session's task adds to it, and the room's thread takes from it.
#[derive(Debug)]
pub(crate) struct InputBuffer {
    /// The waiting input, by the client's steps.
    waiting: VecDeque<Change>,
    /// The newest change that is known, in force or waiting.
    newest: Option<u16>,
    /// The client's step that is taken next.
    next: u16,
    /// The client's step up to which all controls are known.
    known: u16,
    current: Input,
    /// The walker's last input.
    replicated: Option<Input>,
    /// Number of steps for which the input has asked for nothing.
    still_steps: u32,
    /// Number of steps for which input is to wait after a rest.
    wait: i32,
    timely: u32,
    /// Number of steps for which the walker may still wait for the client.
    patience: u32,
    /// Whether the walker stands still because its wait is over.
    has_given_up: bool,
    /// Steps that the walker waited, or the world left out, and that are not caught up yet. No walker takes more steps
    /// than time passed.
    owed: u32,
    /// Steps of the world that this client took part in.
    turns: u32,
    /// The fewest steps that were known in advance, in this window and in the one before.
    least: [i32; 2],
}

impl Default for InputBuffer {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            newest: None,
            next: 0,
            known: 0,
            current: Input::default(),
            replicated: None,
            still_steps: 0,
            wait: WAIT_STEPS,
            timely: 0,
            patience: PATIENCE_STEPS,
            has_given_up: false,
            owed: 0,
            turns: 0,
            least: [0; 2],
        }
    }
}

impl InputBuffer {
    /// The client is at `now`, and its controls changed so, oldest first.
    pub(crate) fn receive(&mut self, now: u16, changes: impl Iterator<Item = Change>) -> BufferedInput {
        let mut heard = BufferedInput::default();
        let lead = apart(now, self.next);
        let is_new = self.newest.is_none();
        let stands = self.rests();
        let is_elsewhere = lead.abs() > APART_STEPS_MAX;
        // While the walker stands still, a correction of the wait has no visible effect.
        if is_new || is_elsewhere || stands && !(self.wait..=self.wait + 2).contains(&lead) {
            let next = now.wrapping_sub(self.wait as u16);
            // Steps that were stood and are taken again are made up for, as those that were waited.
            let again = if is_new || is_elsewhere { 0 } else { apart(self.next, next).max(0) };
            self.owed = again.unsigned_abs().min(PATIENCE_STEPS);
            self.next = next;
        }
        if is_elsewhere {
            heard.is_elsewhere = !is_new;
            self.waiting.clear();
            self.newest = None;
        }
        if is_new || is_elsewhere || apart(now, self.known) > 0 {
            self.known = now;
        }
        let mut late_steps = 0;
        for change in changes {
            if self.newest.is_some_and(|newest| apart(change.step, newest) <= 0) {
                continue;
            }
            self.newest = Some(change.step);
            if change.input == self.waiting.back().map_or(self.current, |last| last.input) {
                continue;
            }
            let late = apart(self.next, change.step);
            if late > 0 {
                late_steps = late_steps.max(late);
                if stands && !self.has_given_up && late <= LATE_STEPS_MAX {
                    // It stood all the while, so the steps since then are as good as not taken.
                    self.next = change.step;
                    self.owed = self.owed.saturating_add(late.unsigned_abs()).min(PATIENCE_STEPS);
                } else {
                    heard.is_late = true;
                }
            }
            if self.waiting.len() == CHANGES_MAX {
                self.waiting.pop_front();
            }
            self.waiting.push_back(change);
        }
        self.learn(lead, late_steps);
        heard
    }

    /// Learns the wait after a rest for which no input is late.
    fn learn(&mut self, lead: i32, late_steps: i32) {
        if late_steps > 0 && lead + late_steps > self.wait {
            self.wait = (lead + late_steps).min(WAIT_STEPS_MAX);
            self.timely = 0;
            return;
        }
        self.timely += 1;
        if self.timely == TIMELY_MESSAGES {
            self.wait = (self.wait - 1).max(WAIT_STEPS);
            self.timely = 0;
        }
    }

    /// Whether the client counts its steps.
    pub(crate) fn counts(&self) -> bool {
        self.newest.is_some()
    }

    /// Notes that the world left out this many steps, because its machine was held up: the walker stood still, as when
    /// it waits.
    pub(crate) fn leave_out(&mut self, steps: u32) {
        self.owed = self.owed.saturating_add(steps).min(PATIENCE_STEPS);
    }

    /// Whether the client's step of this number was not taken yet, and will be.
    pub(crate) fn is_ahead(&self, step: u16) -> bool {
        self.counts() && (0..=APART_STEPS_MAX).contains(&apart(step, self.next))
    }

    /// Returns the walker's act in the next step of the world; `None` before the client counted any step. `may_stride`
    /// is true if it can take two steps in one.
    pub(crate) fn take(&mut self, may_stride: bool) -> Option<DueStep> {
        self.newest?;
        self.turns = self.turns.wrapping_add(1);
        let in_hand = apart(self.known, self.next);
        if self.turns.is_multiple_of(WINDOW_STEPS) {
            self.least = [in_hand, self.least[0]];
        }
        self.least[0] = self.least[0].min(in_hand);
        let rests = self.rests() && !self.has_given_up;
        if in_hand < 0 && !rests {
            return Some(self.do_without());
        }
        if self.turns.is_multiple_of(PATIENCE_EVERY_STEPS) {
            self.patience = (self.patience + 1).min(PATIENCE_STEPS);
        }
        self.has_given_up = false;
        let has_spare = self.least.iter().all(|least| *least > RESERVE_STEPS);
        let is_due = self.turns.is_multiple_of(STRIDE_EVERY_STEPS);
        let first = (may_stride && is_due && has_spare && self.owed > 0 && !rests).then(|| {
            self.owed -= 1;
            self.least = self.least.map(|least| least - 1);
            self.advance();
            self.current
        });
        let number = self.advance();
        Some(DueStep::Steps { number, input: self.tell(), first })
    }

    /// Nothing is known of the next step.
    fn do_without(&mut self) -> DueStep {
        if self.patience > 0 {
            self.patience -= 1;
            self.owed = (self.owed + 1).min(PATIENCE_STEPS);
            return DueStep::Waits { number: self.next.wrapping_sub(1) };
        }
        self.has_given_up = true;
        let number = self.advance();
        self.still_steps = self.still_steps.saturating_add(1);
        DueStep::GivesUp { number, input: self.tell() }
    }

    /// The input in force, if it differs from the walker's last input.
    fn tell(&mut self) -> Option<Input> {
        let Input { yaw, run, .. } = self.current;
        let standing = Input { forward: 0.0, right: 0.0, yaw, run, jump: false };
        let input = if self.has_given_up { standing } else { self.current };
        (self.replicated.replace(input) != Some(input)).then_some(input)
    }

    /// Whether the input has asked for nothing for long enough that the walker has come to rest.
    fn rests(&self) -> bool {
        self.waiting.is_empty() && self.still_steps >= REST_STEPS
    }

    /// Takes the next step, and returns its number.
    fn advance(&mut self) -> u16 {
        let step = self.next;
        self.next = self.next.wrapping_add(1);
        while let Some(change) = self.waiting.front().filter(|change| apart(change.step, step) <= 0) {
            self.current = change.input;
            self.waiting.pop_front();
        }
        if !self.has_given_up {
            self.still_steps =
                if is_standing(&self.current) { self.still_steps.saturating_add(1) } else { 0 };
        }
        step
    }
}

/// The number of steps from `b` to `a`.
fn apart(a: u16, b: u16) -> i32 {
    i32::from(a.wrapping_sub(b) as i16)
}

fn is_standing(input: &Input) -> bool {
    input.forward == 0.0 && input.right == 0.0 && !input.jump
}

#[cfg(test)]
mod tests;
