//! The target of a hand-over: a warm standby that replays the source's commands.

use std::sync::Arc;

use crate::frame::{Frame, HandOverCommit, Head, SnapshotRef};
use crate::mutant::Mutant;
use crate::name::{Epoch, Sequence, ServerId};
use crate::peer::{CancelWhy, PeerBody};
use crate::room::entry_update::Goal;
use crate::room::{Context, EndedWhy, Role, Room, RoomEvent};
use crate::time::Time;

/// The target of a hand-over.
#[derive(Debug)]
pub(super) struct Receiving {
    from: ServerId,
    epoch: Epoch,
    source_epoch: Epoch,
    deadline: Time,
    /// The step up to which commands have arrived.
    received: u64,
    /// The step up to which the commands are replayed, and the hash of the world at that step.
    replayed: Option<(u64, u64)>,
    /// The source's last step, the hash of the world at that step, and the sessions.
    stopped: Option<(u64, u64, Arc<[u8]>)>,
    /// The last sequence of the journal, and the number of the last batch.
    flushed: Option<(Sequence, u64)>,
    is_committing: bool,
}

impl Receiving {
    /// The time at which the target gives up. While its head is under way, only the journal decides.
    pub(super) fn deadline(&self) -> Option<Time> {
        (!self.is_committing).then_some(self.deadline)
    }
}

/// The offer of a source.
#[derive(Debug)]
pub(crate) struct Offer {
    pub(crate) from: ServerId,
    pub(crate) epoch: Epoch,
    pub(crate) source_epoch: Epoch,
    pub(crate) release: crate::release::Release,
    pub(crate) snapshot: SnapshotRef,
}

impl Room {
    /// Begins to receive a room.
    pub(crate) fn receive(context: &Context<'_>, me: ServerId, offer: &Offer) -> Result<Room, CancelWhy> {
        if !context.member.may_take(context.now) {
            return Err(CancelWhy::NotServing);
        }
        context.config.release.check_neighbour(offer.release).map_err(|_| CancelWhy::Release)?;
        let receiving = Receiving {
            from: offer.from,
            epoch: offer.epoch,
            source_epoch: offer.source_epoch,
            deadline: context.now + context.config.hand_over_max + 2 * context.config.freeze_max,
            received: offer.snapshot.step,
            replayed: None,
            stopped: None,
            flushed: None,
            is_committing: false,
        };
        let mut room = Room::new(me, Role::Receiving(receiving));
        room.events.push_back(RoomEvent::Restore { snapshot: Some(offer.snapshot), batches: Vec::new() });
        Ok(room)
    }

    pub(super) fn received_snapshot(&mut self, is_restored: bool) {
        if !is_restored {
            self.fail_receiving(CancelWhy::Snapshot);
        }
    }

    /// The thread has replayed all commands up to `step`, or cannot replay them.
    pub(crate) fn replayed(&mut self, context: &Context<'_>, replayed: Option<(u64, u64)>) {
        let Role::Receiving(receiving) = &mut self.role else { return };
        let Some((step, hash)) = replayed else { return self.fail_receiving(CancelWhy::Replay) };
        receiving.replayed = Some((step, hash));
        if step == receiving.received && receiving.stopped.is_none() {
            let body = PeerBody::Replayed { epoch: receiving.epoch, step, hash };
            self.messages.push_back((receiving.from, body));
        }
        self.advance(context);
    }

    /// Handles a message of the other side of a hand-over.
    pub(crate) fn handle_peer(&mut self, context: &Context<'_>, from: ServerId, body: &PeerBody) {
        if let Role::Receiving(receiving) = &mut self.role
            && receiving.from == from
        {
            match body {
                PeerBody::Commands { epoch, from_step, through_step, bytes } if *epoch == receiving.epoch => {
                    if *from_step == receiving.received {
                        receiving.received = *through_step;
                        let (through_step, bytes) = (*through_step, bytes.clone());
                        self.events.push_back(RoomEvent::Replay { through_step, bytes });
                    } else {
                        self.fail_receiving(CancelWhy::Replay);
                    }
                }
                PeerBody::Stopped { epoch, step, hash, sessions } if *epoch == receiving.epoch => {
                    receiving.stopped = Some((*step, *hash, sessions.clone()));
                }
                PeerBody::Flushed { epoch, sequence, batch_number } if *epoch == receiving.epoch => {
                    receiving.flushed = Some((*sequence, *batch_number));
                }
                // The source may cancel while the head is under way. Then the journal decides.
                PeerBody::Cancel { epoch, why } if *epoch == receiving.epoch && !receiving.is_committing => {
                    self.end(EndedWhy::NotReceived { why: *why });
                }
                _ => {}
            }
        } else {
            self.handle_target(context, from, body);
        }
        self.advance(context);
    }

    /// Appends the head when the target has reached the step at which the source stopped, and the journal has all batches.
    pub(super) fn advance_target(&mut self, context: &Context<'_>) {
        let Role::Receiving(receiving) = &mut self.role else { return };
        let (Some((step, hash, _)), Some((sequence, number)), Some(replayed), false) =
            (&receiving.stopped, receiving.flushed, receiving.replayed, receiving.is_committing)
        else {
            return;
        };
        let (step, hash) = (*step, *hash);
        if replayed.0 != step || !context.member.covers(context.now) {
            return;
        }
        if replayed.1 != hash && !context.config.has(Mutant::IgnoreHash) {
            return self.fail_receiving(CancelWhy::Hash);
        }
        receiving.is_committing = true;
        (self.epoch, self.last, self.number, self.step) = (receiving.epoch, sequence, number, step);
        let hand_over = Some(HandOverCommit { source_epoch: receiving.source_epoch, step, hash });
        let (epoch, release) = (receiving.epoch, context.config.release);
        self.send(Frame::Head(Head { epoch, owner: self.me, release, hand_over }));
    }

    /// The target's head is in the journal.
    pub(super) fn take_over(&mut self, receiving: Receiving, epoch: Epoch) {
        self.messages.push_back((receiving.from, PeerBody::Committed { epoch }));
        self.run(receiving.stopped.map_or_else(Arc::default, |(_, _, sessions)| sessions));
        self.entry.begin(Goal::Pass { to: self.me, epoch });
    }

    /// Gives up before the head was sent. The source continues.
    pub(super) fn fail_receiving(&mut self, why: CancelWhy) {
        if let Role::Receiving(receiving) = &self.role
            && !receiving.is_committing
        {
            self.messages.push_back((receiving.from, PeerBody::Cancel { epoch: receiving.epoch, why }));
            self.end(EndedWhy::NotReceived { why });
        }
    }
}
