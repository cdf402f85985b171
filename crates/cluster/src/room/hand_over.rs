//! The source of a hand-over.
//!
//! | phase | ends when |
//! | --- | --- |
//! | marking | the entry names the target, with the epoch that it takes |
//! | snapshotting | the journal has a snapshot; then the target gets its reference, and all batches after it |
//! | warming | the target's hash at one of the newest steps equals the source's |
//! | stopping | the thread has passed its last batch and stands at step N |
//! | flushing | the journal has that batch |
//! | deciding | the target's head is in the journal; after the time limit the source appends its own frame in that place |
//! | resuming | the journal has the source's frame, or the target's |
//!
//! Until the end of *flushing*, the target does not know the sequence that its head needs, so the source may continue at
//! once. From then on, only the journal decides: one of the two frames stands behind this sequence.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::entry::Target;
use crate::frame::{Batch, Frame, Resume};
use crate::mutant::Mutant;
use crate::name::{Epoch, ServerId};
use crate::peer::{CancelWhy, PeerBody};
use crate::room::entry_update::Goal;
use crate::room::{Context, EndedWhy, Role, Room, RoomEvent};
use crate::time::Time;

/// The target has caught up when it has replayed one of this number of newest batches.
const CAUGHT_UP_BATCHES: usize = 4;

/// The source of a hand-over.
#[derive(Debug)]
pub(super) struct Source {
    to: ServerId,
    /// The target's epoch; 0 until it is known.
    epoch: Epoch,
    phase: Phase,
    deadline: Time,
    /// The newest steps and their hashes.
    hashes: VecDeque<(u64, u64)>,
    /// The reason of a failure after the flush.
    why: CancelWhy,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Phase {
    Marking,
    Snapshotting,
    Warming,
    Stopping,
    Flushing,
    Deciding,
    Resuming,
}

/// A hand-over that does not begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HandOverRefused {
    /// The room does not run on this server, or is being handed over already.
    #[error("the room does not run on this server, or a hand-over of it is under way")]
    NotRunning,
    /// The target is this server, is dead, drains, or lacks a required tag.
    #[error(
        "the target cannot take the room: it is this server, dead, draining, or lacks a tag that the room requires"
    )]
    Target,
}

impl Source {
    pub(super) fn is_stopped(&self) -> bool {
        self.phase >= Phase::Flushing
    }

    pub(super) fn is_deciding(&self) -> bool {
        self.phase >= Phase::Deciding
    }

    pub(super) fn epoch(&self) -> Epoch {
        self.epoch
    }

    pub(super) fn deadline(&self) -> Option<Time> {
        (self.phase != Phase::Resuming).then_some(self.deadline)
    }
}

impl Room {
    /// Begins to hand the room over.
    pub(crate) fn hand_over(&mut self, context: &Context<'_>, to: ServerId) -> Result<(), HandOverRefused> {
        let is_ready =
            matches!(self.role, Role::Owner(None)) && self.may_act(context) && self.entry.is_idle();
        if !is_ready {
            return Err(HandOverRefused::NotRunning);
        }
        let deadline = context.now + context.config.hand_over_max;
        let (epoch, phase, why) = (Epoch(0), Phase::Marking, CancelWhy::Timeout);
        self.role = Role::Owner(Some(Source { to, epoch, phase, deadline, hashes: VecDeque::new(), why }));
        self.entry.begin(Goal::Mark { epoch: self.epoch, to });
        self.advance(context);
        Ok(())
    }

    /// The entry names the target.
    pub(super) fn marked(&mut self, context: &Context<'_>, target: Option<Target>) {
        let Role::Owner(Some(source)) = &mut self.role else { return };
        let Some(target) = target.filter(|_| source.phase == Phase::Marking) else {
            return self.cancel_hand_over(context, CancelWhy::Overtaken);
        };
        source.epoch = target.epoch;
        source.phase = Phase::Snapshotting;
        if !self.has_snapshot() {
            self.ask_snapshot();
        }
    }

    /// The thread has stopped at `step`, and has passed its last batch.
    pub(crate) fn stopped(&mut self, context: &Context<'_>, step: u64, hash: u64, sessions: Arc<[u8]>) {
        if let Role::Owner(Some(source)) = &mut self.role
            && source.phase == Phase::Stopping
        {
            source.phase = Phase::Flushing;
            source.deadline = context.now + context.config.freeze_max;
            let stopped = PeerBody::Stopped { epoch: source.epoch, step, hash, sessions };
            self.messages.push_back((source.to, stopped));
            self.advance(context);
        }
    }

    /// Handles a message of the target.
    pub(super) fn handle_target(&mut self, context: &Context<'_>, from: ServerId, body: &PeerBody) {
        let Role::Owner(Some(source)) = &mut self.role else { return };
        if from != source.to {
            return;
        }
        match *body {
            PeerBody::Replayed { epoch, step, hash } if epoch == source.epoch => {
                let newest = source.hashes.iter().rev().take(CAUGHT_UP_BATCHES);
                let Some((_, own)) = newest.copied().find(|(own, _)| *own == step) else { return };
                if source.phase != Phase::Warming {
                } else if own != hash && !context.config.has(Mutant::IgnoreHash) {
                    self.cancel_hand_over(context, CancelWhy::Hash);
                } else {
                    source.phase = Phase::Stopping;
                    source.deadline = context.now + context.config.freeze_max;
                    self.events.push_back(RoomEvent::Stop);
                }
            }
            PeerBody::Committed { epoch } if epoch == source.epoch && source.is_deciding() => {
                let to = source.to;
                self.pass(to, epoch, EndedWhy::HandedOver { to });
            }
            PeerBody::Cancel { epoch, why } if epoch == source.epoch => self.cancel_hand_over(context, why),
            _ => {}
        }
    }

    /// Sends the commands of a new batch to the target.
    pub(super) fn send_commands(&mut self, batch: &Batch, hash: Option<u64>) {
        let Role::Owner(Some(source)) = &mut self.role else { return };
        if !matches!(source.phase, Phase::Warming | Phase::Stopping) {
            return;
        }
        self.messages.push_back((source.to, commands(source.epoch, batch)));
        source.hashes.extend(hash.map(|hash| (batch.through_step, hash)));
        if source.hashes.len() > CAUGHT_UP_BATCHES {
            source.hashes.pop_front();
        }
    }

    /// Begins the next phase if the journal is ready for it.
    pub(super) fn advance_source(&mut self, context: &Context<'_>) {
        let has_snapshot = self.has_snapshot();
        let is_flushed = self.append.is_none() && self.queue.is_empty();
        let (sequence, batch_number) = (self.last, self.number);
        let Role::Owner(Some(source)) = &mut self.role else { return };
        let (to, epoch) = (source.to, source.epoch);
        match (source.phase, self.snapshot) {
            (Phase::Snapshotting, Some(snapshot)) if has_snapshot => {
                source.phase = Phase::Warming;
                let release = context.config.release;
                let offer = PeerBody::Offer { epoch, source_epoch: self.epoch, release, snapshot };
                self.messages.push_back((to, offer));
                self.messages.extend(self.recent.iter().map(|batch| (to, commands(epoch, batch))));
            }
            (Phase::Flushing, _) if is_flushed => {
                source.phase = Phase::Deciding;
                source.deadline = context.now + context.config.freeze_max;
                self.messages.push_back((to, PeerBody::Flushed { epoch, sequence, batch_number }));
            }
            _ => {}
        }
    }

    /// Ends the hand-over if it can still be ended here. Otherwise the source asks the journal by appending its own frame.
    pub(super) fn cancel_hand_over(&mut self, context: &Context<'_>, why: CancelWhy) {
        let Role::Owner(Some(source)) = &mut self.role else { return };
        source.why = why;
        match source.phase {
            Phase::Resuming => {}
            Phase::Deciding if context.config.has(Mutant::ResumeUnasked) => self.resumed(),
            Phase::Deciding => {
                source.phase = Phase::Resuming;
                self.send(Frame::Resume(Resume { epoch: self.epoch, step: self.step }));
            }
            _ => self.resumed(),
        }
    }

    /// The source continues: the target cannot append its head any more.
    pub(super) fn resumed(&mut self) {
        let Role::Owner(source) = &mut self.role else { return };
        if let Some(Source { to, epoch, why, .. }) = source.take() {
            self.messages.push_back((to, PeerBody::Cancel { epoch, why }));
            self.events.push_back(RoomEvent::Continue { why });
            self.entry.begin(Goal::Unmark { epoch: self.epoch });
        }
    }

    /// Ends phases whose time is over, on both sides.
    pub(super) fn check_deadlines(&mut self, context: &Context<'_>) {
        match &self.role {
            Role::Owner(Some(source)) if source.deadline().is_some_and(|at| at <= context.now) => {
                self.cancel_hand_over(context, CancelWhy::Timeout);
            }
            Role::Receiving(receiving) if receiving.deadline().is_some_and(|at| at <= context.now) => {
                self.fail_receiving(CancelWhy::Lost);
            }
            _ => {}
        }
    }

    /// Whether a hand-over waits for a snapshot.
    pub(super) fn awaits_snapshot(&self) -> bool {
        matches!(&self.role, Role::Owner(Some(source)) if source.phase == Phase::Snapshotting)
    }

    /// Whether the newest snapshot and the kept batches lead to the newest state.
    fn has_snapshot(&self) -> bool {
        self.snapshot.is_some_and(|snapshot| {
            let next = self.recent.front().map_or(self.number + 1, |batch| batch.number);
            next == snapshot.batch_number + 1
        })
    }
}

fn commands(epoch: Epoch, batch: &Batch) -> PeerBody {
    let Batch { from_step, through_step, .. } = *batch;
    PeerBody::Commands { epoch, from_step, through_step, bytes: batch.bytes.clone() }
}
