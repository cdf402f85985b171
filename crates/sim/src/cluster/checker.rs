//! The promises of a cluster, checked at each event of a life.

use std::collections::BTreeMap;

use nowcast_cluster::{Epoch, Frame, Name, Sequence};

use super::world::{Action, World};

/// One start of a server's process.
pub(super) type Process = (u8, u32);

/// Watches a life from outside, with the true time.
#[derive(Debug)]
pub(super) struct Checker {
    rooms: BTreeMap<Name, Room>,
    /// Whether clocks exceed the bound. Then leases promise nothing.
    has_wild_clocks: bool,
    pub(super) confirmed: u64,
    pub(super) shown: u64,
    pub(super) takeovers: u64,
    pub(super) hand_overs: u64,
    /// Time between the last state of a source and the first one of its target, in steps beyond one, together.
    pub(super) freeze_steps: u64,
    /// The true time, in steps.
    pub(super) now_steps: u64,
    violation: Option<String>,
}

/// The truth about a room.
#[derive(Debug, Default)]
struct Room {
    /// The world after all frames that were ever stored.
    world: World,
    last: Sequence,
    /// The owner of each epoch that ran.
    owners: BTreeMap<Epoch, Process>,
    /// The newest state that a client was shown.
    shown: (Epoch, u64),
    /// The time at which it was shown, in steps.
    shown_at: u64,
    /// Whether the next state is the first one after a hand-over.
    is_moved: bool,
}

impl Checker {
    pub(super) fn new(has_wild_clocks: bool) -> Checker {
        Checker {
            rooms: BTreeMap::new(),
            has_wild_clocks,
            confirmed: 0,
            shown: 0,
            takeovers: 0,
            hand_overs: 0,
            freeze_steps: 0,
            now_steps: 0,
            violation: None,
        }
    }

    /// The first violation.
    pub(super) fn violation(&mut self) -> Option<String> {
        self.violation.take()
    }

    pub(super) fn fail(&mut self, what: String) {
        self.violation.get_or_insert(what);
    }

    /// A frame was stored in the journal of a room.
    pub(super) fn stored(&mut self, name: Name, sequence: Sequence, frame: &Frame) {
        let room = self.rooms.entry(name).or_default();
        let mut problem = None;
        if sequence != room.last.next() {
            problem = Some(format!(
                "frame {sequence} is stored after frame {}, so acknowledged frames are lost",
                room.last
            ));
        }
        room.last = sequence;
        if let Frame::Batch(batch) = frame {
            let is_again = |action: &Action| action.number <= room.world.applied[usize::from(action.client)];
            if let Some(action) = Action::read(&batch.bytes).find(is_again) {
                problem = Some(format!("{action:?} is carried out twice"));
            }
            if let Err(what) = room.world.step(batch.through_step, &batch.bytes) {
                problem = Some(what);
            }
        }
        problem.into_iter().for_each(|what| self.fail(what));
    }

    /// A server owns a room from now on. `is_moved` says whether the room was handed over.
    pub(super) fn runs(&mut self, name: Name, owner: Process, epoch: Epoch, world: &World, is_moved: bool) {
        self.takeovers += u64::from(!is_moved);
        self.hand_overs += u64::from(is_moved);
        let room = self.rooms.entry(name).or_default();
        let mut problems = Vec::new();
        if let Some(other) = room.owners.insert(epoch, owner).filter(|other| *other != owner) {
            problems.push(format!("{other:?} and {owner:?} both own epoch {epoch}"));
        }
        // A process that was stopped before this event may wake as the owner of an old epoch. It may show and confirm nothing.
        let is_newest = epoch >= room.newest();
        if is_newest && *world != room.world {
            problems
                .push(format!("epoch {epoch} begins with {world:?}, but the journal has {:?}", room.world));
        }
        if is_moved && is_newest && world.step < room.shown.1 {
            problems.push(format!(
                "epoch {epoch} begins at step {}, but step {} was shown",
                world.step, room.shown.1
            ));
        }
        room.is_moved = is_moved && is_newest;
        problems.into_iter().for_each(|what| self.fail(what));
    }

    /// A server sends a state to clients.
    pub(super) fn shows(&mut self, name: Name, epoch: Epoch, step: u64) {
        self.shown += 1;
        let room = self.rooms.entry(name).or_default();
        let newest = room.newest();
        let mut problem = None;
        if epoch < newest && !self.has_wild_clocks {
            problem = Some(format!("epoch {epoch} shows step {step}, although epoch {newest} runs"));
        }
        if epoch == room.shown.0 && step <= room.shown.1 {
            problem = Some(format!("epoch {epoch} shows step {step} after step {}", room.shown.1));
        }
        if std::mem::take(&mut room.is_moved) {
            self.freeze_steps += (self.now_steps - room.shown_at).saturating_sub(1);
        }
        room.shown_at = self.now_steps;
        room.shown = room.shown.max((epoch, step));
        problem.into_iter().for_each(|what| self.fail(what));
    }

    /// A server confirms an action.
    pub(super) fn confirms(&mut self, name: Name, epoch: Epoch, action: Action) {
        self.confirmed += 1;
        let room = self.rooms.entry(name).or_default();
        let newest = room.newest();
        let client = usize::from(action.client);
        let mut problem = None;
        if epoch < newest && !self.has_wild_clocks {
            problem = Some(format!("epoch {epoch} confirms {action:?}, although epoch {newest} runs"));
        }
        if action.number > room.world.applied[client] {
            problem = Some(format!("{action:?} is confirmed, and is not in the journal"));
        }
        problem.into_iter().for_each(|what| self.fail(what));
    }
}

impl Room {
    /// The newest epoch that runs.
    fn newest(&self) -> Epoch {
        self.owners.last_key_value().map_or(Epoch(0), |(epoch, _)| *epoch)
    }
}
