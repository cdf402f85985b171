//! Commands that wait for replies, their deadlines, and the deadlines of events with a time to live (`spec/SESSION.md`, section
//! 9).
//!
//! **Invariant**: every open command has its deadline in the table. An event with a time to live has one until it arrives or
//! expires.

use std::collections::BTreeSet;

use crate::time::Time;

const COMMANDS_OPEN_MAX: usize = 4_096;
/// Maximum number of pending commands and events with a time to live.
const DEADLINES_MAX: usize = 16_384;

const _: () = assert!(COMMANDS_OPEN_MAX < DEADLINES_MAX);

/// The end of an event's time to live, or the deadline of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Deadline {
    pub(super) at: Time,
    pub(super) lane: u8,
    pub(super) id: u64,
    pub(super) is_command: bool,
}

#[derive(Clone, Copy, Debug)]
struct OpenCommand {
    lane: u8,
    id: u64,
    deadline: Time,
    /// The number of the command's event, once it was sent. The reply contains this number.
    number: Option<u64>,
}

impl OpenCommand {
    fn is(&self, lane: u8, id: u64) -> bool {
        self.lane == lane && self.id == id
    }
}

/// All deadlines of a session, and its commands that have no reply yet.
#[derive(Debug, Default)]
pub(super) struct Commands {
    deadlines: BTreeSet<Deadline>,
    open: Vec<OpenCommand>,
}

impl Commands {
    /// Whether there is room for one more event with a time to live.
    pub(super) fn has_room_for_event(&self) -> bool {
        self.deadlines.len() < DEADLINES_MAX
    }

    /// Whether one more command fits.
    pub(super) fn has_room_for_command(&self) -> bool {
        self.open.len() < COMMANDS_OPEN_MAX && self.deadlines.len() < DEADLINES_MAX
    }

    /// Records that an event with a time to live was put.
    pub(super) fn add_event(&mut self, at: Time, lane: u8, id: u64) {
        self.deadlines.insert(Deadline { at, lane, id, is_command: false });
    }

    /// Records that a command was put.
    pub(super) fn add_command(&mut self, at: Time, lane: u8, id: u64) {
        self.deadlines.insert(Deadline { at, lane, id, is_command: true });
        self.open.push(OpenCommand { lane, id, deadline: at, number: None });
    }

    /// Records that a command leaves for the first time, as the event of this number.
    pub(super) fn bound(&mut self, lane: u8, id: u64, number: u64) {
        if let Some(open) = self.open.iter_mut().find(|open| open.is(lane, id)) {
            open.number = Some(number);
        }
    }

    /// Records that an event arrived before the end of its time to live.
    pub(super) fn event_arrived(&mut self, at: Time, lane: u8, id: u64) {
        self.deadlines.remove(&Deadline { at, lane, id, is_command: false });
    }

    /// Returns the command that a reply answers, if the command still waits.
    pub(super) fn answered(&mut self, lane: u8, number: u64) -> Option<u64> {
        let index = self.open.iter().position(|open| open.lane == lane && open.number == Some(number))?;
        let OpenCommand { id, deadline: at, .. } = self.open.swap_remove(index);
        self.deadlines.remove(&Deadline { at, lane, id, is_command: true });
        Some(id)
    }

    /// The time of the next deadline.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.deadlines.first().map(|deadline| deadline.at)
    }

    /// Removes the next entry that is due by now.
    pub(super) fn take_due(&mut self, now: Time) -> Option<Deadline> {
        let deadline = self.deadlines.first().copied().filter(|deadline| deadline.at <= now)?;
        self.deadlines.pop_first();
        if deadline.is_command
            && let Some(index) = self.open.iter().position(|open| open.is(deadline.lane, deadline.id))
        {
            self.open.swap_remove(index);
        }
        Some(deadline)
    }
}
