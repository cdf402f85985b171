//! Updates of a room's entry in the directory. A read is a hint: each decision is made by an update that expects the revision on
//! which it is based.

use crate::entry::{RoomEntry, Target};
use crate::member::{Member, Stored};
use crate::mutant::Mutant;
use crate::name::{Epoch, Revision, ServerId};
use crate::room::{Context, EndedWhy, RoomRequest};
use crate::time::Time;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Time after which a failed read is repeated.
const RETRY: Duration = Duration::from_millis(50);

/// The change of the entry that is wanted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Goal {
    /// This server becomes the owner of a room that no server with a valid lease holds.
    Claim { requires: Arc<[crate::name::Name]> },
    /// The owner names the target of a hand-over.
    Mark { epoch: Epoch, to: ServerId },
    /// The owner removes the target of a failed hand-over.
    Unmark { epoch: Epoch },
    /// The journal has the head of this owner, and the entry must show it.
    Pass { to: ServerId, epoch: Epoch },
    /// The owner ended the room, and any server may claim it.
    Release { epoch: Option<Epoch> },
}

/// The result of a goal.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reached {
    /// The entry is as wanted, or a newer owner has changed it.
    Yes(Goal, RoomEntry),
    /// The goal cannot be reached.
    Never(EndedWhy),
}

/// The update under way.
#[derive(Debug, Default)]
pub(super) struct EntryUpdate {
    goal: Option<Goal>,
    /// The last entry that was read or written. It may be old.
    known: Option<Option<(Revision, RoomEntry)>>,
    /// The entry of the last update, whose outcome may be unknown.
    attempt: Option<RoomEntry>,
    is_asked: bool,
    retry_at: Option<Time>,
}

impl EntryUpdate {
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.retry_at
    }

    pub(super) fn is_idle(&self) -> bool {
        self.goal.is_none()
    }

    /// Begins to pursue a goal, which replaces the last one.
    pub(super) fn begin(&mut self, goal: Goal) {
        self.goal = Some(goal);
    }

    pub(super) fn handle_read(&mut self, found: Option<(Revision, RoomEntry)>) {
        self.is_asked = false;
        self.known = Some(found);
    }

    pub(super) fn handle_unread(&mut self, now: Time) {
        self.is_asked = false;
        self.retry_at = Some(now + RETRY);
    }

    pub(super) fn handle_stored(&mut self, stored: Stored<Revision>) {
        self.is_asked = false;
        self.known = match (stored, self.attempt.clone()) {
            (Stored::Yes(revision), Some(entry)) => Some(Some((revision, entry))),
            _ => None,
        };
    }

    pub(super) fn handle_timeout(&mut self, now: Time) {
        self.retry_at = self.retry_at.filter(|at| *at > now);
    }

    /// Requests the next read or update. Returns the result of the goal once.
    pub(super) fn advance(
        &mut self,
        context: &Context<'_>,
        me: ServerId,
        requests: &mut VecDeque<RoomRequest>,
    ) -> Option<Reached> {
        if self.is_asked || self.retry_at.is_some() {
            return None;
        }
        let goal = self.goal.as_ref()?;
        let Some(known) = &self.known else {
            self.is_asked = true;
            requests.push_back(RoomRequest::ReadEntry);
            return None;
        };
        let (expected, current) = match known {
            Some((revision, entry)) => (*revision, Some(entry)),
            None => (Revision(0), None),
        };
        match goal.apply(context, me, current, self.attempt.as_ref()) {
            Ok(Some(entry)) if current == Some(&entry) => {
                self.attempt = None;
                self.goal.take().map(|goal| Reached::Yes(goal, entry))
            }
            Ok(Some(entry)) => {
                self.is_asked = true;
                self.attempt = Some(entry.clone());
                requests.push_back(RoomRequest::UpdateEntry { entry, expected });
                None
            }
            Ok(None) => {
                // The entry that the goal needs is not there: the read was stale.
                self.known = None;
                self.retry_at = Some(context.now + RETRY);
                None
            }
            Err(why) => {
                self.goal = None;
                self.known = None;
                Some(Reached::Never(why))
            }
        }
    }
}

impl Goal {
    /// Returns the wanted entry, which equals `current` when the goal is reached; `None` if `current` must be read again.
    fn apply(
        &self,
        context: &Context<'_>,
        me: ServerId,
        current: Option<&RoomEntry>,
        attempt: Option<&RoomEntry>,
    ) -> Result<Option<RoomEntry>, EndedWhy> {
        if let Goal::Claim { requires } = self {
            return claim(context, me, requires, current, attempt).map(Some);
        }
        let Some(current) = current else {
            let is_release = matches!(self, Goal::Release { .. });
            return if is_release { Err(EndedWhy::Released) } else { Ok(None) };
        };
        let mut wanted = current.clone();
        match *self {
            Goal::Claim { .. } => {}
            Goal::Mark { epoch, to } => {
                check_owner(current, me, epoch)?;
                if current.target.is_none_or(|target| target.server != to) {
                    wanted.newest_epoch = current.newest_epoch.next();
                    wanted.target = Some(Target { server: to, epoch: wanted.newest_epoch });
                }
            }
            Goal::Unmark { epoch } => {
                check_owner(current, me, epoch)?;
                wanted.target = None;
            }
            Goal::Pass { to, epoch } if current.epoch < epoch => {
                wanted.epoch = epoch;
                wanted.newest_epoch = current.newest_epoch.max(epoch);
                wanted.owner = to;
                wanted.is_released = false;
                wanted.target = None;
            }
            Goal::Pass { .. } => {}
            Goal::Release { epoch } => {
                if current.owner == me && epoch.is_none_or(|epoch| epoch == current.epoch) {
                    wanted.is_released = true;
                    wanted.target = None;
                }
            }
        }
        Ok(Some(wanted))
    }
}

fn check_owner(current: &RoomEntry, me: ServerId, epoch: Epoch) -> Result<(), EndedWhy> {
    if current.owner == me && current.epoch == epoch {
        Ok(())
    } else {
        Err(EndedWhy::Superseded { epoch: current.epoch })
    }
}

fn claim(
    context: &Context<'_>,
    me: ServerId,
    requires: &Arc<[crate::name::Name]>,
    current: Option<&RoomEntry>,
    attempt: Option<&RoomEntry>,
) -> Result<RoomEntry, EndedWhy> {
    let Some(current) = current else {
        let epoch = Epoch(1);
        let requires = requires.clone();
        return Ok(RoomEntry {
            epoch,
            newest_epoch: epoch,
            owner: me,
            is_released: false,
            target: None,
            requires,
        });
    };
    // Only this server gets this epoch, even if the acknowledgement of the update was lost.
    let is_ours = |attempt: &RoomEntry| (attempt.owner, attempt.epoch) == (current.owner, current.epoch);
    if attempt.is_some_and(is_ours) && !current.is_released {
        return Ok(current.clone());
    }
    let ignores_target = context.config.has(Mutant::IgnoreTarget);
    let mut holders = current.holders().filter(|holder| !(ignores_target && current.owner != *holder));
    if let Some(holder) = holders.find(|holder| !is_free(context.member, me, *holder)) {
        return Err(EndedWhy::Held { holder });
    }
    let epoch =
        if context.config.has(Mutant::SameEpoch) { current.epoch } else { current.newest_epoch.next() };
    let newest_epoch = epoch.max(current.newest_epoch);
    let requires = current.requires.clone();
    Ok(RoomEntry { epoch, newest_epoch, owner: me, is_released: false, target: None, requires })
}

/// Whether a holder does not prevent a claim. This server itself does not: it has no other instance of the room.
fn is_free(member: &Member, me: ServerId, holder: ServerId) -> bool {
    holder == me || member.is_over(holder)
}
