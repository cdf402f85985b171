//! A room that this server takes: an update of its entry with the next epoch, and then the claim of its journal.
//!
//! A read is a hint. So an update that expects the revision which was seen for a whole lease ends each holder that does not renew
//! its lease. The room's entry is updated from the revision that named these holders.

use super::entry_change::{EntryChange, Goal, TRIES};
use super::{Action, Answer, Claimed, Input, Node, Outcome, Signal, TakeError, Task, Work};
use crate::entry::{RoomEntry, ServerEntry};
use crate::journal::Stored;
use crate::leases::Holder;
use crate::mutant::Mutant;
use crate::name::{Epoch, Name, Revision, Sequence, ServerId};
use crate::time::Time;

/// A room that this server takes.
#[derive(Debug)]
pub(super) struct Take {
    room: Name,
    until: Time,
    tries: u32,
    /// The entry of the room that was read.
    before: Option<(Revision, RoomEntry)>,
    step: Step,
}

#[derive(Debug)]
enum Step {
    ReadRoom,
    ReadServers { began: Time },
    EndHolder(ServerEntry),
    WriteRoom { id: ServerId, epoch: Epoch },
    Claim { epoch: Epoch, is_move: bool },
}

impl Take {
    pub(super) fn new(room: Name, until: Time) -> Take {
        Take { room, until, tries: TRIES, before: None, step: Step::ReadRoom }
    }
}

/// `None` while the room is being taken.
type Progress = Result<Option<Epoch>, TakeError>;

impl Node {
    pub(super) fn step_take(
        &mut self,
        now: Time,
        task: &mut Task,
        take: &mut Take,
        input: Input,
    ) -> Option<Outcome> {
        let room = take.room;
        let taken = match self.continue_take(now, task, take, input) {
            Ok(None) => return None,
            Err(TakeError::NoLease | TakeError::Failed(_))
                if now + self.config.times.take_pause < take.until
                    && !self.has_ended()
                    && !matches!(take.step, Step::Claim { .. }) =>
            {
                task.wake_at = Some(now + self.config.times.take_pause);
                return None;
            }
            Ok(Some(epoch)) => Ok(epoch),
            Err(error) => Err(error),
        };
        if taken.is_err() {
            // The server that gives the room is answered at once.
            self.forget_arrival(room);
        }
        Some(Outcome::Taken(taken))
    }

    fn continue_take(&mut self, now: Time, task: &mut Task, take: &mut Take, input: Input) -> Progress {
        match (&mut take.step, input) {
            (_, Input::Begin | Input::Timeout) => self.begin_take(now, task, take),
            (Step::ReadRoom, Input::Answer(Answer::Room(Ok(None)))) => {
                take.before = None;
                self.write_take(task, take)
            }
            (Step::ReadRoom, Input::Answer(Answer::Room(Ok(found)))) => {
                take.before = found;
                take.step = Step::ReadServers { began: now };
                self.act_for(task, Action::ReadServers);
                Ok(None)
            }
            (Step::ReadServers { began }, Input::Answer(Answer::Servers(Ok(found)))) => {
                self.leases.looked(*began, now, found);
                self.end_holders(task, take)
            }
            (Step::EndHolder(dead), Input::Answer(Answer::Stored(stored))) => match stored {
                Stored::Yes(revision) => {
                    // Only this entry is new. Time 0 leaves the time of the last whole read as it is.
                    self.leases.looked(Time::default(), now, [(revision, dead.clone())]);
                    self.end_holders(task, take)
                }
                Stored::Refused if self.config.has(Mutant::IgnoreRenewal) => self.write_take(task, take),
                // The holder has renewed its lease.
                Stored::Refused => Err(TakeError::Elsewhere(dead.id)),
                Stored::Unknown(cause) => Err(TakeError::Failed(cause)),
            },
            (Step::WriteRoom { id, epoch }, Input::Answer(Answer::Stored(stored))) => match stored {
                Stored::Yes(revision) if *id == self.id() && self.leases.covers(now) => {
                    let epoch = *epoch;
                    self.entries.insert(take.room, revision);
                    self.claim(task, take, epoch, false)
                }
                Stored::Yes(_) => Err(TakeError::NoLease),
                Stored::Refused if self.config.has(Mutant::TrustRefusedTake) => {
                    let epoch = *epoch;
                    self.claim(task, take, epoch, false)
                }
                Stored::Refused if take.tries > 0 => {
                    take.tries -= 1;
                    self.begin_take(now, task, take)
                }
                Stored::Refused => {
                    Err(TakeError::Failed(format!("others take room {} at the same time", take.room)))
                }
                Stored::Unknown(cause) => Err(TakeError::Failed(cause)),
            },
            (Step::Claim { epoch, is_move }, Input::Answer(Answer::Claimed(claimed))) => {
                let (epoch, is_move) = (*epoch, *is_move);
                self.handle_claimed(take.room, epoch, is_move, claimed)
            }
            (_, Input::Answer(Answer::Room(Err(cause)) | Answer::Servers(Err(cause)))) => {
                Err(TakeError::Failed(cause))
            }
            _ => Ok(None),
        }
    }

    fn begin_take(&mut self, now: Time, task: &mut Task, take: &mut Take) -> Progress {
        let room = take.room;
        let required = self.config.required_tags(room);
        let lacking: Vec<Name> = required.into_iter().filter(|tag| !self.config.tags.contains(tag)).collect();
        if !lacking.is_empty() {
            return Err(TakeError::Tags(lacking));
        }
        if !self.leases.covers(now) {
            return Err(TakeError::NoLease);
        }
        // A room that its owner has handed to this server needs no request to the directory: its entry names this server. If
        // another server has taken the room since, the journal refuses the older epoch.
        if let Some(stop) = self.take_arrival(room) {
            return self.claim(task, take, stop, true);
        }
        let is_elsewhere = || self.choose(room).is_some_and(|chosen| chosen.id.name != self.config.name);
        if self.life.is_draining && is_elsewhere() {
            return Err(TakeError::Draining);
        }
        let release = self.config.release;
        self.leases.living().try_for_each(|entry| release.check_neighbour(entry.release))?;
        take.step = Step::ReadRoom;
        self.act_for(task, Action::ReadRoom(room));
        Ok(None)
    }

    /// Ends the lives of the holders whose leases are over. Fails if a holder may be alive.
    fn end_holders(&mut self, task: &mut Task, take: &mut Take) -> Progress {
        let Some((_, before)) = &take.before else { return self.write_take(task, take) };
        let (me, ignores_target) = (self.id(), self.config.has(Mutant::IgnoreTarget));
        let holders = before.holders().filter(|id| *id != me && !(ignores_target && *id != before.owner));
        for id in holders {
            match self.leases.holder(id) {
                Holder::Over => {}
                Holder::MayLive if self.config.has(Mutant::IgnoreOwner) => {}
                Holder::MayLive => return Err(TakeError::Elsewhere(id)),
                Holder::Unknown if self.config.has(Mutant::TrustOldServers) => {}
                Holder::Unknown => {
                    return Err(TakeError::Failed(format!(
                        "the directory does not show the server {id} yet"
                    )));
                }
                Holder::Lapsed(..) if self.config.has(Mutant::KeepHolder) => {}
                Holder::Lapsed(dead, revision) => {
                    take.step = Step::EndHolder(dead.clone());
                    self.act_for(task, Action::WriteServer(dead, revision));
                    return Ok(None);
                }
            }
        }
        self.write_take(task, take)
    }

    /// Updates the entry of the room: this server becomes the owner, with the next epoch.
    fn write_take(&mut self, task: &mut Task, take: &mut Take) -> Progress {
        let (replaces, newest, owners) =
            take.before.as_ref().map_or((Revision(0), Epoch(0), Epoch(0)), |(revision, entry)| {
                (*revision, entry.newest_epoch, entry.epoch)
            });
        let is_same = self.config.has(Mutant::SameEpoch) && owners > Epoch(0);
        let epoch = if is_same { owners } else { newest.next() };
        let id = self.id();
        let entry = RoomEntry {
            epoch,
            newest_epoch: newest.max(epoch),
            owner: id,
            is_released: false,
            target: None,
            requires: self.config.required_tags(take.room),
        };
        take.step = Step::WriteRoom { id, epoch };
        self.act_for(task, Action::WriteRoom(take.room, entry, replaces));
        Ok(None)
    }

    /// The directory names this server. Claims the journal.
    fn claim(
        &mut self,
        task: &mut Task,
        take: &mut Take,
        epoch: impl Into<TakenEpoch>,
        is_move: bool,
    ) -> Progress {
        let TakenEpoch { epoch, after } = epoch.into();
        // A move of an earlier ownership ends.
        if let Some(departing) =
            self.departures.get(&take.room).filter(|_| !self.config.has(Mutant::KeepDeparture))
        {
            self.inbox.push_back((departing.task, Input::Signal(Signal::Ended)));
        }
        self.owned.insert(take.room, epoch);
        take.step = Step::Claim { epoch, is_move };
        let (room, owner) = (take.room, self.id());
        self.act_for(task, Action::ClaimJournal { room, owner, epoch, after });
        Ok(None)
    }

    fn handle_claimed(&mut self, room: Name, epoch: Epoch, is_move: bool, claimed: Claimed) -> Progress {
        let is_owned = self.owned.get(&room) == Some(&epoch);
        match claimed {
            // This server's life ended during the claim. The next owner gets a later epoch, and so fences the head.
            Claimed::Owned if !is_owned => Err(TakeError::NoLease),
            Claimed::Owned => {
                if is_move && !self.config.has(Mutant::LeaveTarget) {
                    self.begin(None, Work::Change(EntryChange::new(room, Goal::NameOwner(epoch))));
                }
                Ok(Some(epoch))
            }
            Claimed::Fenced => {
                self.owned.remove(&room);
                Err(TakeError::Fenced)
            }
            Claimed::Failed(cause) => {
                // Another server may have more success.
                self.owned.remove(&room);
                self.begin(None, Work::Change(EntryChange::new(room, Goal::Release(epoch))));
                Err(TakeError::Failed(cause))
            }
        }
    }
}

/// The epoch of a claim, and the last frame of an owner that ended the journal for this server.
pub(super) struct TakenEpoch {
    pub(super) epoch: Epoch,
    pub(super) after: Option<Sequence>,
}

impl From<Epoch> for TakenEpoch {
    fn from(epoch: Epoch) -> TakenEpoch {
        TakenEpoch { epoch, after: None }
    }
}
