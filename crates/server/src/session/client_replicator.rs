//! Replication to one client on a session, within the turns of the session's driver. It keeps the interest set, selects the
//! client's part of the updates, and writes movement when a packet leaves.

use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use super::replication_figures::ReplicationFigures;
use super::{UNREAD_BYTES_OF_ALL_MAX, UNREAD_SHARE_BYTES};
use nowcast_engine::DrivenSession;
use nowcast_engine::session::{Backlog, PacketOutcome, Refused, Source, WAITING_BYTES};
use nowcast_replication::{InterestChange, InterestSet, Viewer};
use nowcast_room::session::{
    Delivery, DeliveryReceiver, LatestSnapshot, RoomSnapshot, StepUpdate, Welcome, state_of_screen,
    states_of_change,
};
use nowcast_room::{Class, Closing, Metrics, RoomMetrics};
use nowcast_world::{PlayerId, STEP_HZ};
use nowcast_world_protocol::session::{CHAT_LANE, MISSED_KEY, Missed, REPLICATION_LANE, WORLD_LANE};

/// Maximum entities that enter a client's interest set in one round. The other entities follow in the next rounds, the
/// nearest first. A description has about 40 bytes.
const ENTITIES_PER_ROUND_MAX: usize = 400;

/// The replication of one client. Reads deliveries and the room's latest snapshot.
///
/// **Invariant**: the deliveries that were read are exactly those up to the step of the snapshot in use. So the description of an
/// entity that enters the interest set agrees with the earlier updates, and later updates continue from it. A room sends the
/// deliveries of a step before it publishes the step's snapshot.
pub(super) struct ClientReplicator {
    receiver: DeliveryReceiver,
    /// The next delivery, if the snapshot of its step is not published yet.
    ahead: Option<Delivery>,
    metrics: Arc<Metrics>,
    figures: Arc<ReplicationFigures>,
    /// The client's view. Present from the welcome on.
    view: Option<View>,
    /// The number of lines of chat that were not sent to the client.
    missed: u32,
    /// Whether the current value of `missed` was sent to the client.
    is_missed_sent: bool,
    /// Maximum memory of the messages that wait for the client, besides the picture of the world.
    unread_bytes_max: usize,
    /// This memory, as last added to the gauge of all clients.
    unread_bytes: i64,
}

/// The part of the world that a client receives.
struct View {
    player: PlayerId,
    latest_snapshot: Arc<LatestSnapshot>,
    interest_set: InterestSet,
    viewer: Viewer,
    /// Number of values on the client's screen when it joined.
    screens: usize,
    /// Steps that two movement rounds take.
    two_rounds_steps: u32,
    /// The counters of the client's room.
    metrics: Arc<RoomMetrics>,
    /// The number of entities in the interest set, as last added to the room's gauge. `counted_second` is the second of that
    /// count.
    interest_entities: i64,
    counted_second: Option<u64>,
}

impl ClientReplicator {
    pub(super) fn new(
        receiver: DeliveryReceiver,
        metrics: Arc<Metrics>,
        figures: Arc<ReplicationFigures>,
        unread_bytes_max: usize,
    ) -> Self {
        Self {
            receiver,
            ahead: None,
            metrics,
            figures,
            view: None,
            missed: 0,
            is_missed_sent: true,
            unread_bytes_max,
            unread_bytes: 0,
        }
    }

    /// Puts what the room has sent since the last turn into the session, and begins a round if one is due. `driver` is woken
    /// when the room sends more. Returns the reason for which the session must end after its last messages have arrived.
    ///
    /// # Errors
    /// The reason for which the session must end at once.
    pub(super) fn turn(
        &mut self,
        session: &mut DrivenSession,
        driver: &Waker,
    ) -> Result<Option<Closing>, Closing> {
        if !self.receiver.take_news(driver) {
            return Ok(None);
        }
        let closing = self.receiver.closing().cloned();
        if let Some(closing) = closing.as_ref().filter(|closing| !closing.delivers()) {
            return Err(closing.clone());
        }
        self.deliver(session, closing.is_some())?;
        self.count_unread(session)?;
        Ok(closing)
    }

    /// Reads the deliveries, and begins a round if one is due. The last deliveries of a room do not wait for a snapshot.
    fn deliver(&mut self, session: &mut DrivenSession, are_last: bool) -> Result<(), Closing> {
        // A round is requested after its snapshot was published. So the snapshot must be read after the request.
        let is_due = self.receiver.take_round();
        let mut snapshot = self.view.as_ref().and_then(|view| view.latest_snapshot.newest());
        while let Some(delivery) = self.ahead.take().or_else(|| self.receiver.take()) {
            match delivery {
                Delivery::Welcome(welcome) => {
                    let newest = welcome.latest_snapshot.newest();
                    match newest.filter(|snapshot| snapshot.tick >= welcome.tick) {
                        Some(newest) => {
                            self.welcome(session, *welcome, &newest)?;
                            snapshot = Some(newest);
                        }
                        None => {
                            self.ahead = Some(Delivery::Welcome(welcome));
                            break;
                        }
                    }
                }
                Delivery::StepUpdate(update) => {
                    let is_early = snapshot.as_ref().is_none_or(|snapshot| snapshot.tick < update.tick());
                    if is_early && !are_last {
                        self.ahead = Some(Delivery::StepUpdate(update));
                        break;
                    }
                    self.update(session, &update)?;
                }
                Delivery::Event(event) => self.event(session, &event)?,
                Delivery::Forget => {
                    if let Some(view) = &mut self.view {
                        view.viewer.reset();
                    }
                }
            }
        }
        match snapshot.filter(|_| is_due) {
            Some(snapshot) => self.round(session, &snapshot),
            None => Ok(()),
        }
    }

    /// Sends a newcomer its number and the state of the world.
    fn welcome(
        &mut self,
        session: &mut DrivenSession,
        welcome: Welcome,
        snapshot: &RoomSnapshot,
    ) -> Result<(), Closing> {
        let Welcome { player, event, all, screens, latest_snapshot, metrics, two_rounds_steps, .. } = welcome;
        let viewer = Viewer::with_bytes_per_round_max(welcome.bytes_per_round_max);
        let (interest_set, counted_second) = (InterestSet::new(player.0), None);
        self.view = Some(View {
            player,
            latest_snapshot,
            interest_set,
            viewer,
            screens: screens.len(),
            two_rounds_steps,
            metrics,
            interest_entities: 0,
            counted_second,
        });
        self.event(session, &event)?;
        self.update(session, &all)?;
        self.look(session, snapshot, all.at())?;
        screens
            .iter()
            .map(state_of_screen)
            .try_for_each(|(key, value)| self.state(session, key, &value, all.at()))
    }

    /// Sends an update: first the definition, then states, then events. So when a client receives an event, it already has
    /// the event's effects.
    fn update(&mut self, session: &mut DrivenSession, update: &StepUpdate) -> Result<(), Closing> {
        let Some(View { player, interest_set, .. }) = &mut self.view else { return Ok(()) };
        let (player, at) = (*player, update.at());
        interest_set.add_created(update.created());
        if let Some(define) = update.define() {
            self.count(Class::Description, define.len());
            session.put_event(WORLD_LANE, define).or_else(refused)?;
        }
        let Some(View { interest_set, .. }) = &self.view else { return Ok(()) };
        for (key, value) in update.entities_for(interest_set) {
            self.state(session, key, &value, at)?;
        }
        for (key, value) in update.states_for(player) {
            self.state(session, key, value, at)?;
        }
        for event in update.events_for(player) {
            self.event(session, event)?;
        }
        for said in update.said() {
            self.say(session, said, at);
        }
        Ok(())
    }

    /// Updates the interest set, and begins a round of movement.
    fn round(&mut self, session: &mut DrivenSession, snapshot: &RoomSnapshot) -> Result<(), Closing> {
        let at = Instant::now();
        self.look(session, snapshot, at)?;
        if let Some(view) = &mut self.view {
            view.viewer.set_interest(&view.interest_set, &snapshot.rates, view.two_rounds_steps);
            view.viewer.begin_round(&snapshot.frames, snapshot.player(view.player).eye);
            view.metrics.note_ages(&view.viewer.stats);
            self.figures.note_ages(view.viewer.stats.oldest_steps);
            view.count_visible(snapshot);
            self.figures.set_visible(view.interest_entities.unsigned_abs());
        }
        self.send_missed(session, at);
        Ok(())
    }

    /// Sends the entities that entered the interest set and the entities that left it.
    fn look(
        &mut self,
        session: &mut DrivenSession,
        snapshot: &RoomSnapshot,
        at: Instant,
    ) -> Result<(), Closing> {
        let Some(View { player, interest_set, .. }) = &mut self.view else { return Ok(()) };
        let eye = snapshot.player(*player).eye;
        let look = interest_set.refresh(&snapshot.grid_snapshot, eye, ENTITIES_PER_ROUND_MAX);
        if look == InterestChange::default() {
            return Ok(());
        }
        self.metrics.interest_entered.inc_by(snapshot.count_members(&look.entered));
        self.metrics.interest_left.inc_by(snapshot.count_members(&look.left));
        let states =
            states_of_change(&look, &snapshot.descriptions, (snapshot.tick as u32, &snapshot.grid_snapshot));
        states.iter().try_for_each(|(key, value)| self.state(session, *key, value, at))
    }

    fn state(&self, session: &mut DrivenSession, key: u64, value: &[u8], at: Instant) -> Result<(), Closing> {
        self.count(Class::Description, value.len());
        session.put_state(WORLD_LANE, key, value, at).or_else(refused)
    }

    fn event(&self, session: &mut DrivenSession, event: &[u8]) -> Result<(), Closing> {
        self.count(Class::Event, event.len());
        session.put_event(WORLD_LANE, event).or_else(refused)
    }

    /// Sends a line of chat. If the lane is full, the line is missed and counted.
    fn say(&mut self, session: &mut DrivenSession, line: &[u8], at: Instant) {
        self.count(Class::Event, line.len());
        // The client learns of the missed lines before it receives a later line.
        let is_put = self.send_missed(session, at) && session.put_event(CHAT_LANE, line).is_ok();
        if !is_put {
            self.is_missed_sent = false;
            self.missed = self.missed.wrapping_add(1);
            self.metrics.lines_missed.inc();
        }
    }

    /// Sends the number of missed lines of chat, if it changed. Returns whether the client gets the present number.
    fn send_missed(&mut self, session: &mut DrivenSession, at: Instant) -> bool {
        if !self.is_missed_sent {
            let missed = nowcast_wire::encode_to_vec(&Missed { lines: self.missed });
            self.is_missed_sent = session.put_state(CHAT_LANE, MISSED_KEY.raw(), &missed, at).is_ok();
        }
        self.is_missed_sent
    }

    fn count(&self, class: Class, bytes: usize) {
        if let Some(view) = &self.view {
            view.metrics.count_bytes(class, bytes);
            self.figures.count(class, bytes);
        }
    }

    /// Counts the messages that wait for the client.
    ///
    /// # Errors
    /// The client is too slow, if it leaves more unread than one client may, or more than its share while the messages of all
    /// clients use up their budget.
    fn count_unread(&mut self, session: &DrivenSession) -> Result<(), Closing> {
        let Backlog { mut bytes, states } = session.protocol.backlog();
        // Descriptions of entities that left the picture wait, too, and none replaces them. Few states are never worth a count.
        if states * WAITING_BYTES > UNREAD_SHARE_BYTES
            && let Some(view) = &self.view
        {
            bytes += states.saturating_sub(view.picture_states()) * WAITING_BYTES;
        }
        let more = bytes as i64 - self.unread_bytes;
        let of_all = self.metrics.unread_bytes.inc_by(more) + more;
        self.unread_bytes = bytes as i64;
        let is_over_share = of_all > UNREAD_BYTES_OF_ALL_MAX as i64 && bytes > UNREAD_SHARE_BYTES;
        match bytes > self.unread_bytes_max || is_over_share {
            true => Err(Closing::TooSlow),
            false => Ok(()),
        }
    }
}

/// Handles a message that the session refused. Without it, the client's world would be incomplete, so the client is removed.
fn refused(why: Refused) -> Result<(), Closing> {
    match why {
        // The client reads too slowly.
        Refused::Full => Err(Closing::TooSlow),
        Refused::TooLarge { bytes, bytes_max } => {
            let what = format!("the world has a message of {bytes} bytes, the client takes {bytes_max}");
            Err(Closing::Protocol(what))
        }
        // A client whose session is closed has already left.
        _ => Ok(()),
    }
}

impl View {
    /// Number of states in the present picture: entities in the interest set, players, and values on screens.
    fn picture_states(&self) -> usize {
        let snapshot = self.latest_snapshot.newest();
        let seen = snapshot.map_or(0, |snapshot| {
            snapshot.count_members(self.interest_set.sections()) as usize + snapshot.players.len()
        });
        seen + self.screens
    }

    /// Counts the entities in the interest set, once a second.
    fn count_visible(&mut self, snapshot: &RoomSnapshot) {
        let second = Some(snapshot.tick / u64::from(STEP_HZ));
        if self.counted_second != second {
            self.counted_second = second;
            let interest_entities = snapshot.count_members(self.interest_set.sections()) as i64;
            self.metrics.interest_entities.inc_by(interest_entities - self.interest_entities);
            self.interest_entities = interest_entities;
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        self.metrics.interest_entities.dec_by(self.interest_entities);
    }
}

impl Drop for ClientReplicator {
    fn drop(&mut self) {
        self.metrics.unread_bytes.dec_by(self.unread_bytes);
    }
}

impl Source for ClientReplicator {
    fn has_more(&self, lane: u8) -> bool {
        lane == REPLICATION_LANE && self.view.as_ref().is_some_and(|view| view.viewer.has_more())
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        let Some(View { player, latest_snapshot, viewer, metrics, .. }) = &mut self.view else { return };
        // Uses the newest snapshot at the time when the packet leaves.
        let Some(snapshot) = latest_snapshot.newest() else { return };
        let (before, stats) = (packet.len(), viewer.stats);
        viewer.set_controls(snapshot.frames.tick(), snapshot.player(*player).controls);
        viewer.fill(&snapshot.frames, number, room, packet);
        self.figures.count(Class::Movement, packet.len() - before);
        self.figures.note_payload(&snapshot.frames, &packet[before..]);
        let postponed = viewer.stats.postponed - stats.postponed;
        metrics.note_movement(packet.len() - before, postponed, viewer.stats.abandoned - stats.abandoned);
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        if let Some(view) = &mut self.view {
            view.viewer.on_outcome(outcome.number, outcome.arrived);
        }
    }
}
