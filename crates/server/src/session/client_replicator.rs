//! Replication to one client on a session, on its driver's thread: its interest set, its part of the updates, and
//! movement, written when a packet leaves.

use std::sync::Arc;
use std::time::Instant;

use nowcast::session::{PacketOutcome, Refused, Replication};
use nowcast::{PutBatch, RefusedPut, Source};
use nowcast_replication::{InterestChange, InterestSet, Viewer};
use nowcast_world::{PlayerId, STEP_HZ};

use super::latest_snapshot::{LatestSnapshot, RoomSnapshot};
use super::outbox::{Delivery, DeliveryReceiver, Welcome};
use super::step_update::{StepUpdate, state_of_screen, states_of_change};
use super::{CHAT_LANE, MISSED_KEY, Missed, REPLICATION_LANE, WORLD_LANE};
use crate::closing::Closing;
use crate::metrics::Metrics;
use crate::room_metrics::{Class, RoomMetrics};

/// Entities that come into sight in one round; more come with the next ones, the nearest first. A description has about 40
/// bytes.
const ENTITIES_PER_ROUND_MAX: usize = 400;

/// Entities that a newcomer is told of at once.
const ENTITIES_AT_ONCE_MAX: usize = 1_000;

/// One client's end of a room: reads its mail, and looks at the board.
///
/// **Invariant**: of the mail that is read, none is of a later step than the picture that is looked at, and none of that
/// step or an earlier one is left. So what comes into sight is described as the news before have it, and the news after go on from
/// there. A room posts the mail of a step before it puts the step's picture on the board.
pub(super) struct ClientReplicator {
    receiver: DeliveryReceiver,
    /// The next mail, of a step whose picture is not out yet.
    ahead: Option<Delivery>,
    metrics: Arc<Metrics>,
    /// Since the client was welcomed.
    view: Option<View>,
    /// Lines of chat that the client was not sent.
    missed: u32,
    /// Whether it was told how many these are.
    is_missed_told: bool,
}

/// The view of a client.
struct View {
    player: PlayerId,
    latest_snapshot: Arc<LatestSnapshot>,
    interest_set: InterestSet,
    viewer: Viewer,
    /// The counters of the client's room.
    metrics: Arc<RoomMetrics>,
    /// Entities in sight, as the room's gauge has them, and in which second that was.
    in_sight: i64,
    counted_second: Option<u64>,
}

impl ClientReplicator {
    pub(super) fn new(receiver: DeliveryReceiver, metrics: Arc<Metrics>) -> Self {
        Self { receiver, ahead: None, metrics, view: None, missed: 0, is_missed_told: true }
    }

    /// Reads the mail, and begins a round if one is due.
    fn deliver(&mut self, batch: &mut PutBatch) {
        // A round is asked for when its picture is out, so the picture is taken after that was heard.
        let is_due = self.receiver.take_round();
        let mut picture = self.view.as_ref().and_then(|view| view.latest_snapshot.newest());
        while let Some(delivery) = self.ahead.take().or_else(|| self.receiver.take()) {
            match delivery {
                Delivery::Welcome(welcome) => {
                    let newest = welcome.latest_snapshot.newest();
                    match newest.filter(|picture| picture.tick >= welcome.tick) {
                        Some(newest) => {
                            self.welcome(batch, *welcome, &newest);
                            picture = Some(newest);
                        }
                        None => {
                            self.ahead = Some(Delivery::Welcome(welcome));
                            break;
                        }
                    }
                }
                Delivery::StepUpdate(update) => {
                    if picture.as_ref().is_none_or(|picture| picture.tick < update.tick()) {
                        self.ahead = Some(Delivery::StepUpdate(update));
                        break;
                    }
                    self.update(batch, &update);
                }
                Delivery::Event(event) => self.event(batch, &event),
                Delivery::Forget => {
                    if let Some(view) = &mut self.view {
                        view.viewer.reset();
                    }
                }
                #[cfg(test)]
                Delivery::Hold(until) => drop(until.recv()),
            }
        }
        if let Some(picture) = picture.filter(|_| is_due) {
            self.round(batch, &picture);
        }
    }

    /// Tells a newcomer who it is and what is there.
    fn welcome(&mut self, batch: &mut PutBatch, welcome: Welcome, picture: &RoomSnapshot) {
        let Welcome { player, event, all, screens, latest_snapshot, metrics, bytes_per_round_max, .. } =
            welcome;
        let viewer = Viewer::with_bytes_per_round_max(bytes_per_round_max);
        let (interest_set, counted_second) = (InterestSet::new(player.0), None);
        self.view = Some(View {
            player,
            latest_snapshot,
            interest_set,
            viewer,
            metrics,
            in_sight: 0,
            counted_second,
        });
        self.event(batch, &event);
        self.update(batch, &all);
        self.look(batch, picture, all.at(), ENTITIES_AT_ONCE_MAX);
        for (key, value) in screens.iter().map(state_of_screen) {
            self.state(batch, key, &value, all.at());
        }
    }

    /// Tells what happened: first what there can be, then what there is, then what happened, so that whoever hears of an event
    /// sees what came of it.
    fn update(&mut self, batch: &mut PutBatch, update: &StepUpdate) {
        let Some(View { player, interest_set, .. }) = &mut self.view else { return };
        let (player, at) = (*player, update.at());
        interest_set.add_created(update.created());
        if let Some(define) = update.define() {
            self.count(Class::Description, define.len());
            batch.event(WORLD_LANE, define);
        }
        let Some(View { interest_set, .. }) = &self.view else { return };
        for (key, value) in update.entities_for(interest_set) {
            self.state(batch, key, &value, at);
        }
        for (key, value) in update.states_for(player) {
            self.state(batch, key, value, at);
        }
        for event in update.events_for(player) {
            self.event(batch, event);
        }
        for said in update.said() {
            self.tell_missed(batch, at);
            self.count(Class::Event, said.len());
            batch.event(CHAT_LANE, said);
        }
    }

    /// Lets the client look about, and begins a round of movement.
    fn round(&mut self, batch: &mut PutBatch, picture: &RoomSnapshot) {
        let at = Instant::now();
        self.look(batch, picture, at, ENTITIES_PER_ROUND_MAX);
        if let Some(view) = &mut self.view {
            view.viewer.set_interest(&view.interest_set, picture.far_metres);
            view.viewer.begin_round(&picture.frames, picture.player(view.player).eye);
            view.metrics.note_ages(&view.viewer.stats);
            view.count_visible(picture);
        }
        self.tell_missed(batch, at);
    }

    /// Tells what came into sight and what is out of it.
    fn look(&mut self, batch: &mut PutBatch, picture: &RoomSnapshot, at: Instant, entities_max: usize) {
        let Some(View { player, interest_set, .. }) = &mut self.view else { return };
        let eye = picture.player(*player).eye;
        let look = interest_set.refresh(&picture.grid_snapshot, eye, entities_max);
        if look == InterestChange::default() {
            return;
        }
        self.metrics.sight_entered.inc_by(picture.count_members(&look.entered));
        self.metrics.sight_left.inc_by(picture.count_members(&look.left));
        let states =
            states_of_change(&look, &picture.descriptions, (picture.tick as u32, &picture.grid_snapshot));
        for (key, value) in &states {
            self.state(batch, *key, value, at);
        }
    }

    fn state(&self, batch: &mut PutBatch, key: u64, value: &[u8], at: Instant) {
        self.count(Class::Description, value.len());
        batch.state(WORLD_LANE, key, value, at);
    }

    fn event(&self, batch: &mut PutBatch, event: &[u8]) {
        self.count(Class::Event, event.len());
        batch.event(WORLD_LANE, event);
    }

    fn count(&self, class: Class, bytes: usize) {
        if let Some(view) = &self.view {
            view.metrics.count_bytes(class, bytes);
        }
    }

    /// Tells how many lines of chat were missed, if the client has not heard. Of a client that does not read so fast, the session takes no
    /// more of them, and none before it has taken this.
    fn tell_missed(&mut self, batch: &mut PutBatch, at: Instant) {
        if !self.is_missed_told {
            self.is_missed_told = true;
            let missed = nowcast_wire::encode_to_vec(&Missed { lines: self.missed });
            batch.state(CHAT_LANE, MISSED_KEY, &missed, at);
        }
    }

    /// Hears what the session did not take. Returns why the client has to leave, if it has.
    fn hear_refused(&mut self, refused: Vec<RefusedPut>) -> Option<Closing> {
        for RefusedPut { lane, key, why } in refused {
            match why {
                Refused::Full | Refused::TooLarge { .. } if lane.number() == CHAT_LANE => {
                    self.is_missed_told = false;
                    if key.is_none() {
                        self.missed = self.missed.wrapping_add(1);
                        self.metrics.lines_missed.inc();
                    }
                }
                // A client that left so much unread is told nothing more.
                Refused::Full => return Some(Closing::TooSlow),
                // A client that cannot be told what there is would see a world with holes.
                Refused::TooLarge { bytes, bytes_max } => {
                    let what =
                        format!("the world has a message of {bytes} bytes, the client takes {bytes_max}");
                    return Some(Closing::Protocol(what));
                }
                // A client whose channel is closed is gone anyway.
                _ => {}
            }
        }
        None
    }
}

impl View {
    /// Counts what is in sight, once a second.
    fn count_visible(&mut self, picture: &RoomSnapshot) {
        let second = Some(picture.tick / u64::from(STEP_HZ));
        if self.counted_second != second {
            self.counted_second = second;
            let in_sight = picture.count_members(self.interest_set.sections()) as i64;
            self.metrics.in_sight.inc_by(in_sight - self.in_sight);
            self.in_sight = in_sight;
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.metrics.in_sight.dec_by(self.in_sight);
    }
}

impl Replication for ClientReplicator {
    fn has_more(&self, lane: u8) -> bool {
        lane == REPLICATION_LANE && self.view.as_ref().is_some_and(|view| view.viewer.has_more())
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, out: &mut Vec<u8>) {
        let Some(View { player, latest_snapshot, viewer, metrics, .. }) = &mut self.view else { return };
        // The newest there is when the packet leaves.
        let Some(picture) = latest_snapshot.newest() else { return };
        let (before, put_off) = (out.len(), viewer.stats.postponed);
        viewer.set_controls(picture.frames.tick(), picture.player(*player).controls);
        viewer.fill(&picture.frames, number, room, out);
        metrics.note_movement(out.len() - before, viewer.stats.postponed - put_off);
    }
}

impl Source for ClientReplicator {
    fn on_outcome(&mut self, outcome: PacketOutcome) {
        if let Some(view) = &mut self.view {
            view.viewer.on_outcome(outcome.number, outcome.arrived);
        }
    }

    fn feed(&mut self, batch: &mut PutBatch) {
        if let Some(closing) = self.receiver.closing() {
            return batch.close(closing.session_code(), &closing.reason());
        }
        match self.hear_refused(batch.take_refused()) {
            Some(closing) => batch.close(closing.session_code(), &closing.reason()),
            None => self.deliver(batch),
        }
    }
}
