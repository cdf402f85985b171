//! When the controls of a client that counts its steps come into force: as long after one another as they did there.
//!
//! The network brings controls early and late; a walk that began late and ended early would be shorter than the one that its
//! client showed. So controls wait a few steps, and each step of the world takes the next step of the client (`spec/WORLD.md`,
//! section 3, "Steps").

use std::collections::VecDeque;

use nowcast_world::Input;

/// Steps that controls wait at least: as late as they may come without being felt.
const WAIT_STEPS: i32 = 3;
/// Whoever asked for nothing for so long has come to rest.
const REST_STEPS: u32 = 60;
/// Where news comes late they wait longer, but not more than this.
const WAIT_STEPS_MAX: i32 = 8;
/// After so many messages in time they wait a step less.
const TIMELY_MESSAGES: u32 = 300;
/// Controls that come later than this have lost their place and hold at once.
const LATE_STEPS_MAX: i32 = 15;
/// A client whose steps are farther from those expected has another clock than before.
const APART_STEPS_MAX: i32 = 60;
/// Changes that may wait.
const CHANGES_MAX: usize = 32;

/// The controls of one client from a step of its own on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Change {
    /// The client's step.
    pub(crate) step: u16,
    pub(crate) input: Input,
}

/// What one client's controls say at each step. The session's task adds, the room's thread takes.
#[derive(Debug)]
pub(crate) struct Playout {
    /// What waits, by the client's steps.
    waiting: VecDeque<Change>,
    /// The newest change that is known, in force or waiting.
    newest: Option<u16>,
    /// The client's step that the next step of the world takes.
    next: u16,
    current: Input,
    /// For how many steps they have asked for nothing.
    still_steps: u32,
    /// How many steps controls are to wait.
    wait: i32,
    /// The step at which the client was when it was heard last.
    heard: Option<u16>,
    timely: u32,
}

impl Default for Playout {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            newest: None,
            next: 0,
            current: Input::default(),
            still_steps: 0,
            wait: WAIT_STEPS,
            heard: None,
            timely: 0,
        }
    }
}

impl Playout {
    /// The client is at `now`, and its controls changed so, oldest first. Returns how many steps the latest of what is new came
    /// too late.
    pub(crate) fn receive(&mut self, now: u16, changes: impl Iterator<Item = Change>) -> u32 {
        let is_new = self.newest.is_none();
        let lead = apart(now, self.next);
        let stands = self.waiting.is_empty() && self.still_steps >= REST_STEPS;
        // While nothing moves, nobody notices that the wait is set right.
        if is_new || lead.abs() > APART_STEPS_MAX || stands && !(self.wait..=self.wait + 2).contains(&lead) {
            self.next = now.wrapping_sub(self.wait as u16);
            if lead.abs() > APART_STEPS_MAX {
                self.waiting.clear();
                self.newest = None;
            }
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
            // What came late holds from now on, and all that follows waits longer by as much.
            if late > 0 {
                late_steps = late_steps.max(late.unsigned_abs());
                if late <= LATE_STEPS_MAX {
                    self.next = change.step;
                }
            }
            if self.waiting.len() == CHANGES_MAX {
                self.waiting.pop_front();
            }
            self.waiting.push_back(change);
        }
        self.learn(now, lead, late_steps);
        late_steps
    }

    /// How long controls had to wait for none to be late: those that were, and those that the client might have changed just
    /// after the message before this one, if one between the two was lost.
    fn learn(&mut self, now: u16, lead: i32, late_steps: u32) {
        let gap = self.heard.replace(now).map_or(0, |heard| apart(now, heard));
        let late = if late_steps > 0 { lead.saturating_add_unsigned(late_steps) } else { 0 };
        let needed = late.max(if gap <= WAIT_STEPS_MAX { gap - 1 } else { 0 });
        if needed > self.wait {
            self.wait = needed.min(WAIT_STEPS_MAX);
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

    /// What the controls say in the next step of the world, if that is something else, and the client's step that it takes;
    /// `None` before the client counted any.
    pub(crate) fn take(&mut self) -> Option<(u16, Option<Input>)> {
        self.newest?;
        let step = self.next;
        self.next = self.next.wrapping_add(1);
        let mut changed = None;
        while let Some(change) = self.waiting.front().filter(|change| apart(change.step, step) <= 0) {
            self.current = change.input;
            changed = Some(change.input);
            self.waiting.pop_front();
        }
        self.still_steps = if is_standing(&self.current) { self.still_steps.saturating_add(1) } else { 0 };
        Some((step, changed))
    }
}

/// How many steps `a` is after `b`.
fn apart(a: u16, b: u16) -> i32 {
    i32::from(a.wrapping_sub(b) as i16)
}

fn is_standing(input: &Input) -> bool {
    input.forward == 0.0 && input.right == 0.0 && !input.jump
}

#[cfg(test)]
mod tests {
    use super::*;

    const WALK: Input = Input { forward: 1.0, right: 0.0, yaw: 0.0, run: false, jump: false };
    const STAND: Input = Input { forward: 0.0, ..WALK };

    fn at(step: u16, input: Input) -> Change {
        Change { step, input }
    }

    /// How many steps of the world somebody walks who walks 30 steps of its own, when news arrive so many steps late.
    fn walked(delays: [u16; 2]) -> u32 {
        let mut playout = Playout::default();
        playout.receive(u16::MAX - 40, [at(u16::MAX - 40, STAND)].into_iter());
        let start = u16::MAX - 20;
        let mut walks = 0;
        let mut input = STAND;
        for world in 0..200_u16 {
            let client = (u16::MAX - 40).wrapping_add(world);
            if client == start.wrapping_add(delays[0]) {
                playout.receive(start, [at(start, WALK)].into_iter());
            }
            if client == start.wrapping_add(30 + delays[1]) {
                let end = start.wrapping_add(30);
                playout.receive(end, [at(start, WALK), at(end, STAND)].into_iter());
            }
            let (_, changed) = playout.take().expect("it counts");
            input = changed.unwrap_or(input);
            walks += u32::from(input == WALK);
        }
        walks
    }

    #[test]
    fn a_walk_lasts_as_long_as_its_client_walked_whatever_the_network_does() {
        for delays in [[0, 0], [3, 3], [3, 0], [5, 5], [9, 9], [9, 2]] {
            assert_eq!(walked(delays), 30, "delays {delays:?}");
        }
    }

    #[test]
    fn news_that_comes_too_late_makes_what_follows_wait_as_much_longer() {
        let mut playout = Playout::default();
        playout.receive(100, [at(100, WALK)].into_iter());
        for step in 97..110 {
            assert_eq!(playout.take().map(|(step, _)| step), Some(step));
        }
        assert_eq!(playout.receive(106, [at(104, STAND)].into_iter()), 6);
        assert_eq!(playout.take(), Some((104, Some(STAND))));
        // At rest, the wait is set right again by the next word of the client.
        for _ in 0..REST_STEPS {
            playout.take();
        }
        playout.receive(200, [at(104, STAND)].into_iter());
        assert_eq!(playout.take(), Some((195, None)), "a message seems to be missing, so it waits longer");
    }

    #[test]
    fn a_clock_that_jumps_and_changes_without_end_do_no_harm() {
        let mut playout = Playout::default();
        playout.receive(5, [at(5, WALK)].into_iter());
        let turned = Input { yaw: 1.0, ..STAND };
        playout.receive(40_000, [at(40_000, turned)].into_iter());
        for _ in 0..WAIT_STEPS {
            playout.take();
        }
        assert_eq!(playout.take(), Some((40_000, Some(turned))));
        for step in 0..10_000_u16 {
            playout.receive(step, [at(step, if step % 2 == 0 { WALK } else { STAND })].into_iter());
            assert!(playout.waiting.len() <= CHANGES_MAX);
        }
    }
}
