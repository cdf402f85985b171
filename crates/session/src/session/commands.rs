//! Commands that wait for replies, and their deadlines (`spec/SESSION.md`, section 9).
//!
//! **Invariant**: every open command has its deadline in the table.

use std::collections::BTreeSet;

use crate::time::Time;

const COMMANDS_OPEN_MAX: usize = 4_096;

/// The deadline of a command. Deadlines are sorted by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deadline {
    at: Time,
    pub(super) lane: u8,
    pub(super) id: u64,
}

#[derive(Clone, Copy, Debug)]
struct OpenCommand {
    deadline: Deadline,
    /// The number of the command's event, once it was sent. The reply contains this number.
    number: Option<u64>,
}

/// The commands that have no reply yet.
#[derive(Debug, Default)]
pub(super) struct Commands {
    deadlines: BTreeSet<Deadline>,
    open: Vec<OpenCommand>,
}

impl Commands {
    /// Whether one more command fits.
    pub(super) fn has_room(&self) -> bool {
        self.open.len() < COMMANDS_OPEN_MAX
    }

    /// Records that a command was put.
    pub(super) fn add(&mut self, at: Time, lane: u8, id: u64) {
        let deadline = Deadline { at, lane, id };
        self.deadlines.insert(deadline);
        self.open.push(OpenCommand { deadline, number: None });
    }

    /// Records that a command leaves for the first time, as the event of this number.
    pub(super) fn bound(&mut self, lane: u8, id: u64, number: u64) {
        let is = |open: &&mut OpenCommand| (open.deadline.lane, open.deadline.id) == (lane, id);
        if let Some(open) = self.open.iter_mut().find(is) {
            open.number = Some(number);
        }
    }

    /// Returns the command that a reply answers, if the command still waits.
    pub(super) fn answered(&mut self, lane: u8, number: u64) -> Option<u64> {
        let is = |open: &OpenCommand| open.deadline.lane == lane && open.number == Some(number);
        let index = self.open.iter().position(is)?;
        let OpenCommand { deadline, .. } = self.open.swap_remove(index);
        self.deadlines.remove(&deadline);
        Some(deadline.id)
    }

    /// The time of the next deadline.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.deadlines.first().map(|deadline| deadline.at)
    }

    /// Removes the next command that is due by now.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Deadline> {
        let deadline = self.deadlines.first().copied().filter(|deadline| deadline.at <= now)?;
        self.deadlines.pop_first();
        self.open.retain(|open| open.deadline != deadline);
        Some(deadline)
    }
}
