//! When a client's input takes effect, if the client counts its steps (`spec/MOVEMENT.md`, section 9). The server takes
//! each step of the client once, in order, with the input that the step had on the client.
//!
//! If the server continued with old input while newer input is in transit, the walker would move to a position that it never
//! had on its client. So the walker waits for its client's input. In a step of the world for which no input is known, the
//! walker stands still. After such a wait, the next message with the same delay arrives in time. The walker catches up the
//! missed steps later. Where nothing else moves nearby, the walker takes two steps in one step of the world.

use std::collections::VecDeque;

use nowcast_world::Input;
use serde::Serialize;

/// Minimum number of steps by which input is delayed. People do not notice this delay.
const WAIT_STEPS: i32 = 3;
/// A client without input for this many steps has come to rest.
const REST_STEPS: u32 = 60;
/// Maximum number of steps by which input is delayed after a rest.
const WAIT_STEPS_MAX: i32 = 8;
/// After this many messages in a row that are not late, the delay becomes one step shorter.
const TIMELY_MESSAGES: u32 = 300;
/// Input of a client at rest takes effect at once, and not at its own step, if it is more steps late than this.
const LATE_STEPS_MAX: i32 = PATIENCE_STEPS as i32;
/// If a client's step differs from the expected step by more than this, the client's clock was changed.
const APART_STEPS_MAX: i32 = 120;
/// Maximum changes of input that wait.
const CHANGES_MAX: usize = 128;
/// Maximum steps in a row for which a walker waits: one second. After that, the walker takes steps with input that asks for
/// nothing. If a stream loses a message twice, the message usually still arrives within this time.
const PATIENCE_STEPS: u32 = 60;
/// After this many steps with known input, the walker may wait one more step.
const PATIENCE_EVERY_STEPS: u32 = 4;
/// At most one in this many steps is a double step, so a walker is at most a quarter faster.
const STRIDE_EVERY_STEPS: u32 = 4;
/// Length in steps of the window in which the buffer measures how many steps are known in advance. To catch up, the walker
/// uses only steps that were spare in the whole window.
const WINDOW_STEPS: u32 = 60;
/// Number of known steps that remain buffered when steps are caught up.
const RESERVE_STEPS: i32 = 2;

// The walker may repeat only steps in which it stood still.
const _: () = assert!(LATE_STEPS_MAX as u32 <= REST_STEPS && PATIENCE_STEPS <= REST_STEPS);
// After the longest wait, the steps of a client must still be near the expected ones, so that its clock does not count as
// changed.
const _: () = assert!(PATIENCE_STEPS as i32 + WAIT_STEPS_MAX < APART_STEPS_MAX);
const _: () = assert!(CHANGES_MAX as i32 >= APART_STEPS_MAX);

/// A change of one client's input, which applies from one of its steps on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Change {
    /// The client's step.
    pub(crate) step: u16,
    /// The input from this step on.
    pub(crate) input: Input,
}

/// The faults found in a message of a client.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct BufferedInput {
    /// Input arrived for a step that had already been taken without it.
    pub(crate) is_late: bool,
    /// Steps of the client are skipped, because its clock changed or runs too fast.
    pub(crate) is_elsewhere: bool,
}

/// The behaviour of a walker in a step of the world.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum DueStep {
    /// Takes the client's step of this number. `input` is the new input, if it changed. If there is a `first`, the walker
    /// takes another step with that input before, in the same step of the world.
    Steps { number: u16, input: Option<Input>, first: Option<Input> },
    /// Waits for the client's input. The walker stays at its position after the client's step of this number.
    Waits { number: u16 },
    /// The maximum wait is over. The walker takes the step of this number with an input that stands still. `input` is this
    /// input if it differs from the walker's last input.
    GivesUp { number: u16, input: Option<Input> },
}

/// Counters of a client's input since it joined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct InputCounts {
    /// Steps whose input was known in time.
    pub(crate) taken: u64,
    /// Changes that arrived after their step.
    pub(crate) late: u64,
    /// Steps whose input was not known when they were due.
    pub(crate) missing: u64,
}

/// A client's input at each of the client's steps.
#[derive(Debug)]
pub(crate) struct InputBuffer {
    /// Counters of the input.
    counts: InputCounts,
    /// The waiting changes of input, ordered by the client's steps.
    waiting: VecDeque<Change>,
    /// The step of the newest known change, which may be in force or waiting.
    newest: Option<u16>,
    /// The client's step that is taken next.
    next: u16,
    /// The client's step up to which all input is known.
    known: u16,
    /// The input in force; `None` before the first change, when the walker keeps the direction in which the rules placed it.
    current: Option<Input>,
    /// The walker's last input.
    replicated: Option<Input>,
    /// Number of consecutive steps with a standing input: no direction and no jump.
    still_steps: u32,
    /// Number of steps by which input is delayed after a rest.
    wait: i32,
    timely: u32,
    /// Number of steps for which the walker may still wait for the client.
    patience: u32,
    /// Whether the walker stands still because it waited for the maximum time.
    has_given_up: bool,
    /// Steps that the walker did not take, because it waited or because the world skipped steps, and that are not caught up
    /// yet. Because of this count, a walker never takes more steps than the elapsed time allows.
    owed: u32,
    /// Number of steps of the world in which this client took part.
    turns: u32,
    /// The minimum number of steps that were known in advance, in this window and in the previous window.
    least: [i32; 2],
}

impl Default for InputBuffer {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            newest: None,
            next: 0,
            known: 0,
            current: None,
            replicated: None,
            still_steps: 0,
            counts: InputCounts::default(),
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
    /// Adds a message of the client. `now` is the client's step, and `changes` are the changes of its input, oldest first.
    pub(crate) fn receive(&mut self, now: u16, changes: impl Iterator<Item = Change>) -> BufferedInput {
        let mut heard = BufferedInput::default();
        let lead = apart(now, self.next);
        let is_new = self.newest.is_none();
        let stands = self.rests();
        let is_elsewhere = lead.abs() > APART_STEPS_MAX;
        // While the walker stands still, a correction of the delay has no visible effect.
        if is_new || is_elsewhere || stands && !(self.wait..=self.wait + 2).contains(&lead) {
            let next = now.wrapping_sub(self.wait as u16);
            // Steps in which the walker stood, and which it now repeats, are caught up like steps for which it waited.
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
            if Some(change.input) == self.waiting.back().map(|last| last.input).or(self.current) {
                continue;
            }
            let late = apart(self.next, change.step);
            if late > 0 {
                late_steps = late_steps.max(late);
                if stands && !self.has_given_up && late <= LATE_STEPS_MAX {
                    // The walker has stood still since the step of the change, so it can repeat the steps since then.
                    self.next = change.step;
                    self.owed = self.owed.saturating_add(late.unsigned_abs()).min(PATIENCE_STEPS);
                } else {
                    heard.is_late = true;
                    self.counts.late += 1;
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

    /// Adjusts the delay after a rest, so that no input is late.
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

    /// Returns the counters of the input.
    pub(crate) fn counts_of_input(&self) -> InputCounts {
        self.counts
    }

    /// Whether the client counts its steps.
    pub(crate) fn counts(&self) -> bool {
        self.newest.is_some()
    }

    /// Records that the world skipped this many steps, because its machine was delayed. The walker stood still in them, as
    /// it does when it waits.
    pub(crate) fn leave_out(&mut self, steps: u32) {
        self.owed = self.owed.saturating_add(steps).min(PATIENCE_STEPS);
    }

    /// Whether the client's step of this number will still be taken.
    pub(crate) fn is_ahead(&self, step: u16) -> bool {
        self.counts() && (0..=APART_STEPS_MAX).contains(&apart(step, self.next))
    }

    /// Returns what the walker does in the next step of the world. Returns `None` before the client counted any step.
    /// `may_stride` returns whether the walker can take two steps in one step of the world.
    pub(crate) fn take(&mut self, may_stride: impl FnOnce() -> bool) -> Option<DueStep> {
        self.newest?;
        self.turns = self.turns.wrapping_add(1);
        let in_hand = apart(self.known, self.next);
        if self.turns.is_multiple_of(WINDOW_STEPS) {
            self.least = [in_hand, self.least[0]];
        }
        self.least[0] = self.least[0].min(in_hand);
        let rests = self.rests() && !self.has_given_up;
        if in_hand < 0 && !rests {
            self.counts.missing += 1;
            return Some(self.do_without());
        }
        if self.turns.is_multiple_of(PATIENCE_EVERY_STEPS) {
            self.patience = (self.patience + 1).min(PATIENCE_STEPS);
        }
        self.has_given_up = false;
        let has_spare = self.least.iter().all(|least| *least > RESERVE_STEPS);
        let is_due = self.turns.is_multiple_of(STRIDE_EVERY_STEPS);
        let strides =
            is_due && has_spare && self.owed > 0 && !rests && self.current.is_some() && may_stride();
        let first = strides.then(|| {
            self.owed -= 1;
            self.least = self.least.map(|least| least - 1);
            self.advance();
            self.current
        });
        self.counts.taken += 1;
        let number = self.advance();
        Some(DueStep::Steps { number, input: self.take_change(), first: first.flatten() })
    }

    /// Returns what the walker does if the input of the next step is not known.
    fn do_without(&mut self) -> DueStep {
        if self.patience > 0 {
            self.patience -= 1;
            self.owed = (self.owed + 1).min(PATIENCE_STEPS);
            return DueStep::Waits { number: self.next.wrapping_sub(1) };
        }
        self.has_given_up = true;
        let number = self.advance();
        self.still_steps = self.still_steps.saturating_add(1);
        DueStep::GivesUp { number, input: self.take_change() }
    }

    /// Returns the input in force, if it differs from the walker's last input.
    fn take_change(&mut self) -> Option<Input> {
        let current = self.current?;
        let standing = Input { forward: 0.0, right: 0.0, jump: false, ..current };
        let input = if self.has_given_up { standing } else { current };
        (self.replicated.replace(input) != Some(input)).then_some(input)
    }

    /// Whether the walker has come to rest, because its input has been standing for long enough.
    fn rests(&self) -> bool {
        self.waiting.is_empty() && self.still_steps >= REST_STEPS
    }

    /// Takes the next step, and returns its number.
    fn advance(&mut self) -> u16 {
        let step = self.next;
        self.next = self.next.wrapping_add(1);
        while let Some(change) = self.waiting.front().filter(|change| apart(change.step, step) <= 0) {
            self.current = Some(change.input);
            self.waiting.pop_front();
        }
        if !self.has_given_up {
            self.still_steps = if self.current.as_ref().is_none_or(is_standing) {
                self.still_steps.saturating_add(1)
            } else {
                0
            };
        }
        step
    }
}

/// Returns the number of steps from `b` to `a`.
fn apart(a: u16, b: u16) -> i32 {
    i32::from(a.wrapping_sub(b) as i16)
}

fn is_standing(input: &Input) -> bool {
    input.forward == 0.0 && input.right == 0.0 && !input.jump
}

#[cfg(test)]
mod tests;
