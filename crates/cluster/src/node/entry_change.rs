//! A change of a room's entry in the directory, by an update that expects the revision on which it is based.

use std::time::Duration;

use super::{Action, Answer, Input, Node, Outcome, Task, Work};
use crate::entry::{RoomEntry, Target};
use crate::journal::Stored;
use crate::mutant::Mutant;
use crate::name::{Epoch, Name, Revision, ServerId};
use crate::time::Time;

/// Attempts to change an entry that others change at the same time.
pub(super) const TRIES: u32 = 16;

/// First pause before the entry of a room that was handed over is corrected again. Each further pause is twice as long.
const CORRECTION_PAUSE: Duration = Duration::from_millis(100);
/// Pause after a read that was too old.
const OLD_READ_PAUSE: Duration = Duration::from_millis(20);
/// Maximum of these pauses.
const CORRECTION_PAUSE_MAX: Duration = Duration::from_secs(2);

/// A change of a room's entry.
#[derive(Debug)]
pub(super) struct EntryChange {
    room: Name,
    goal: Goal,
    tries: u32,
    pause: Duration,
    /// The entry that is being written.
    wanted: Option<RoomEntry>,
    /// The revision of this server's last update of the entry. An older read decides nothing.
    least: Option<Revision>,
    /// Whether nobody waits for a release, so that it is repeated.
    is_late: bool,
}

/// The purpose of a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Goal {
    /// Any server may take the room, which this server owned in this epoch. The end of the room waits for one attempt. If the
    /// directory does not answer, the release is repeated until it does, unless this server takes the room again. Otherwise a
    /// late update that names the target of a move could keep all servers from the room.
    Release(Epoch),
    /// Another server is the target of a move. As soon as the journal has the target's epoch, the target owns the room.
    NameTarget(ServerId),
    /// The entry names no target any more, after the move has ended in any way. If this server still has the room, it stays the
    /// owner. The entry is written even if it names no target, so that a late update which names the target is refused. Otherwise
    /// the room has stopped, and the target becomes the owner. Repeated until the directory answers: a target that is alive would
    /// keep all other servers from the room. Waits while a later move of the room is under way, whose target must stay named.
    EndMove(ServerId),
    /// This server took the room as the target of a move, and becomes the owner in the entry. Repeated until the directory
    /// answers, while this server has the room.
    NameOwner(Epoch),
}

impl EntryChange {
    pub(super) fn new(room: Name, goal: Goal) -> EntryChange {
        EntryChange {
            room,
            goal,
            tries: TRIES,
            pause: Duration::ZERO,
            wanted: None,
            least: None,
            is_late: false,
        }
    }
}

impl Node {
    pub(super) fn step_change(
        &mut self,
        now: Time,
        task: &mut Task,
        change: &mut EntryChange,
        input: Input,
    ) -> Option<Outcome> {
        let owned = self.epoch(change.room);
        let is_repeated = match change.goal {
            Goal::Release(_) if change.is_late && owned.is_some() => {
                return Some(Outcome::Changed(Ok(None)));
            }
            Goal::Release(_) => change.is_late && !self.has_ended(),
            Goal::NameTarget(_) => false,
            Goal::EndMove(_) => !self.has_ended(),
            Goal::NameOwner(epoch) if owned != Some(epoch) => {
                return Some(Outcome::Changed(Ok(None)));
            }
            Goal::NameOwner(_) => true,
        };
        let moves = self.departures.get(&change.room).map(|departing| departing.task);
        let is_early =
            matches!(change.goal, Goal::EndMove(_)) && moves.is_some_and(|moves| task.parent != Some(moves));
        let failed = match input {
            Input::Begin | Input::Timeout | Input::Answer(Answer::Room(Ok(_)))
                if is_early && !self.config.has(Mutant::EndLaterMove) =>
            {
                task.wake_at = Some(now + CORRECTION_PAUSE);
                return None;
            }
            Input::Begin | Input::Timeout => {
                change.least = self.entries.get(&change.room).copied();
                self.act_for(task, Action::ReadRoom(change.room));
                return None;
            }
            // The read is older than this server's own update.
            Input::Answer(Answer::Room(Ok(found)))
                if found.as_ref().map(|(revision, _)| *revision) < change.least && change.tries > 0 =>
            {
                change.tries -= 1;
                task.wake_at = Some(now + OLD_READ_PAUSE);
                return None;
            }
            Input::Answer(Answer::Room(Ok(found))) => {
                let changed = found
                    .and_then(|(revision, entry)| Some((revision, self.changed(change.goal, owned, entry)?)));
                let Some((revision, wanted)) = changed else {
                    return Some(Outcome::Changed(Ok(None)));
                };
                change.wanted = Some(wanted.clone());
                self.act_for(task, Action::WriteRoom(change.room, wanted, revision));
                return None;
            }
            Input::Answer(Answer::Stored(Stored::Yes(revision))) => {
                self.note_entry(change, revision);
                return Some(Outcome::Changed(Ok(change.wanted.take())));
            }
            Input::Answer(Answer::Stored(Stored::Refused)) if change.tries > 0 => {
                change.tries -= 1;
                self.act_for(task, Action::ReadRoom(change.room));
                return None;
            }
            Input::Answer(Answer::Stored(Stored::Unknown(cause)) | Answer::Room(Err(cause))) => cause,
            _ => "others change the entry at the same time".to_owned(),
        };
        if !is_repeated {
            if matches!(change.goal, Goal::Release(_)) && !self.has_ended() {
                let late = EntryChange { is_late: true, ..EntryChange::new(change.room, change.goal) };
                self.begin(None, Work::Change(late));
            }
            return Some(Outcome::Changed(Err(failed)));
        }
        change.tries = TRIES;
        change.pause = (2 * change.pause).clamp(CORRECTION_PAUSE, CORRECTION_PAUSE_MAX);
        task.wake_at = Some(now + change.pause);
        None
    }

    /// Remembers the revision of an update, until the room is no business of this server any more.
    fn note_entry(&mut self, change: &EntryChange, revision: Revision) {
        if self.owned.contains_key(&change.room) || matches!(change.goal, Goal::NameTarget(_)) {
            self.entries.insert(change.room, revision);
        } else {
            self.entries.remove(&change.room);
        }
    }

    /// Returns the wanted entry; `None` if the goal is reached, or if another server has taken the room.
    fn changed(&self, goal: Goal, owned: Option<Epoch>, found: RoomEntry) -> Option<RoomEntry> {
        let me = self.id();
        // A room that this server took as the target of a move is its own before the directory names it as the owner.
        let before = match found.target {
            Some(Target { server, epoch }) if server == me && !matches!(goal, Goal::NameOwner(_)) => {
                RoomEntry { owner: me, epoch, is_released: false, target: None, ..found }
            }
            _ => found,
        };
        let is_mine = before.owner == me && !before.is_released;
        match goal {
            Goal::Release(epoch) => {
                let is_released_here = is_mine && before.epoch == epoch;
                (is_released_here || self.config.has(Mutant::ReleaseForeign)).then_some(RoomEntry {
                    is_released: true,
                    target: None,
                    ..before
                })
            }
            Goal::NameTarget(server) => (is_mine && owned == Some(before.epoch)).then(|| {
                let epoch = before.newest_epoch.next();
                RoomEntry { newest_epoch: epoch, target: Some(Target { server, epoch }), ..before }
            }),
            Goal::EndMove(_) if owned.is_some() && !self.config.has(Mutant::EndAtTarget) => {
                (is_mine && owned == Some(before.epoch)).then_some(RoomEntry { target: None, ..before })
            }
            Goal::EndMove(target) => {
                let named = before.target.filter(|named| is_mine && named.server == target)?;
                Some(RoomEntry { owner: named.server, epoch: named.epoch, target: None, ..before })
            }
            Goal::NameOwner(epoch) => {
                let is_named = before.target == Some(Target { server: me, epoch });
                is_named.then_some(RoomEntry { owner: me, epoch, target: None, ..before })
            }
        }
    }
}
