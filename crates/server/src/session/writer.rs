//! What a room says to one client on a session.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock, RwLock};

use nowcast::session::Refused;
use nowcast::{Channel, Error};
use nowcast_replication::{History, Sight, Viewer};
use nowcast_world::{EntityId, PlayerId};

use super::news::{News, state_of_screen};
use super::replication_source::ReplicationSource;
use super::{CHAT_LANE, FromWorld, MISSED_KEY, Missed, WORLD_LANE};
use crate::closing::Closing;
use crate::room::told::Shown;
use crate::room_metrics::{Class, RoomMetrics};

/// Bytes of movement a second for one client; beyond that what is far away is told more seldom.
const BYTES_PER_SECOND_MAX: usize = 256 * 1024;

/// A room's end of a client's channel. Everything is put without waiting: what cannot be taken ends the client.
pub(crate) struct SessionWriter {
    channel: Arc<Channel>,
    source: OnceLock<ReplicationSource>,
    network_hz: u32,
    /// Lines of chat that the client was not sent, and how many of them it has been told of. The room's thread alone
    /// counts.
    missed: AtomicU32,
    missed_told: AtomicU32,
}

impl SessionWriter {
    pub(crate) fn new(channel: Arc<Channel>, network_hz: u32) -> Self {
        let (missed, missed_told) = Default::default();
        Self { channel, source: OnceLock::new(), network_hz, missed, missed_told }
    }

    /// Tells a newcomer who it is and what is there; from now on it is told of movement, from the room's history, and what it is told
    /// is counted there.
    pub(crate) fn welcome(
        &self,
        welcome: &FromWorld,
        all: &News,
        seen: &[(u64, Arc<[u8]>)],
        screens: impl Iterator<Item = Shown>,
        player: PlayerId,
        (history, metrics): (&Arc<RwLock<History>>, &Arc<RoomMetrics>),
    ) {
        let per_round = BYTES_PER_SECOND_MAX / self.network_hz.max(1) as usize;
        let viewer = Viewer::with_bytes_per_round_max(per_round);
        let source = ReplicationSource {
            history: Arc::clone(history),
            viewer: Arc::new(viewer.into()),
            metrics: Arc::clone(metrics),
        };
        // A client is welcomed once, so nothing was there before.
        let _ = self.source.set(source.clone());
        self.tell(|batch| batch.try_event(WORLD_LANE, &nowcast_wire::encode_to_vec(welcome)));
        self.news(all, player, &[]);
        self.states(seen);
        self.tell(|batch| {
            screens
                .map(|shown| state_of_screen(&shown))
                .try_for_each(|(key, value)| batch.try_state(WORLD_LANE, key, &value))
        });
        self.channel.set_source(Box::new(source));
    }

    /// Tells what happened: first what there can be, then what there is, then what happened, so that whoever hears of an event
    /// sees what came of it. `entities` are those that the player sees. Returns how many lines of chat had to be left out.
    pub(crate) fn news(&self, news: &News, player: PlayerId, entities: &[(u64, Arc<[u8]>)]) -> u64 {
        self.tell(|batch| {
            news.define().into_iter().try_for_each(|define| batch.try_event(WORLD_LANE, define))?;
            entities.iter().try_for_each(|(key, value)| batch.try_state(WORLD_LANE, *key, value))?;
            news.states_for(player).try_for_each(|(key, value)| batch.try_state(WORLD_LANE, key, value))?;
            news.events_for(player).try_for_each(|event| batch.try_event(WORLD_LANE, event))
        });
        self.count(Class::Description, news.define().into_iter().map(|define| define.len()));
        self.count(Class::Description, entities.iter().map(|(_, value)| value.len()));
        self.count(Class::Description, news.states_for(player).map(|(_, value)| value.len()));
        self.count(Class::Event, news.events_for(player).map(|event| event.len()));
        news.said().iter().filter(|said| !self.say(said)).count() as u64
    }

    /// Counts what a client in the room is told.
    fn count(&self, class: Class, lengths: impl Iterator<Item = usize>) {
        if let Some(source) = self.source.get() {
            source.metrics.count_bytes(class, lengths.sum());
        }
    }

    /// Tells what there is.
    pub(crate) fn states(&self, states: &[(u64, Arc<[u8]>)]) {
        if !states.is_empty() {
            self.count(Class::Description, states.iter().map(|(_, value)| value.len()));
            self.tell(|batch| {
                states.iter().try_for_each(|(key, value)| batch.try_state(WORLD_LANE, *key, value))
            });
        }
    }

    /// Passes a line of chat on. Returns whether there was room: a client that does not read so fast misses lines, and is
    /// told how many before the next that it gets.
    fn say(&self, said: &[u8]) -> bool {
        let is_said = self.tell_missed()
            && !matches!(self.channel.lane(CHAT_LANE).try_event(said), Err(Error::Refused(Refused::Full)));
        if is_said {
            self.count(Class::Event, [said.len()].into_iter());
        } else {
            self.missed.fetch_add(1, Ordering::Relaxed);
        }
        is_said
    }

    /// Tells how many lines were missed, if the client has not heard. Returns whether nothing is left to tell.
    fn tell_missed(&self) -> bool {
        let lines = self.missed.load(Ordering::Relaxed);
        if lines == self.missed_told.load(Ordering::Relaxed) {
            return true;
        }
        let missed = nowcast_wire::encode_to_vec(&Missed { lines });
        let put = self.channel.lane(CHAT_LANE).try_state(MISSED_KEY, &missed);
        let is_told = !matches!(put, Err(Error::Refused(Refused::Full)));
        if is_told {
            self.missed_told.store(lines, Ordering::Relaxed);
        }
        is_told
    }

    /// Tells something that concerns this client alone.
    pub(crate) fn event(&self, event: &FromWorld) {
        let event = nowcast_wire::encode_to_vec(event);
        self.count(Class::Event, [event.len()].into_iter());
        self.tell(|batch| batch.try_event(WORLD_LANE, &event));
    }

    /// From this step on these controls of the client are in force. To be said before the history has the step.
    pub(crate) fn controls(&self, tick: u32, number: u16) {
        if let Some(source) = self.source.get() {
            source.viewer().set_controls(tick, number);
        }
    }

    /// A round of movement is due, of what is in sight; what is farther away than `far_metres` comes less often.
    pub(crate) fn round(
        &self,
        history: &RwLock<History>,
        avatar: Option<EntityId>,
        sight: &Sight,
        far_metres: f32,
    ) {
        let Some(source) = self.source.get() else { return };
        {
            let history = history.read().expect("its one writer is the thread that reads here");
            let mut viewer = source.viewer();
            viewer.set_sight(sight, far_metres);
            viewer.due(&history, avatar.map(|id| id.0));
            source.metrics.note_ages(&viewer.stats);
        }
        self.channel.source_has_more();
        self.tell_missed();
    }

    /// The client lost what it knew of movement.
    pub(crate) fn forget(&self) {
        if let Some(source) = self.source.get() {
            source.viewer().reset();
            self.channel.source_has_more();
        }
    }

    /// Ends the session; the client's task learns of it by its next read.
    pub(crate) fn close(&self, closing: &Closing) {
        self.channel.close(closing.session_code(), &closing.reason());
    }

    fn tell(&self, put: impl FnOnce(&mut nowcast::Batch<'_>) -> Result<(), Error>) {
        match put(&mut self.channel.batch()) {
            // A client that left so much unread is told nothing more.
            Err(Error::Refused(Refused::Full)) => self.close(&Closing::TooSlow),
            // A client that cannot be told what there is would see a world with holes.
            Err(Error::Refused(Refused::TooLarge { bytes, bytes_max })) => {
                let what = format!("the world has a message of {bytes} bytes, the client takes {bytes_max}");
                self.close(&Closing::Protocol(what));
            }
            // A client whose channel is closed is gone anyway.
            _ => {}
        }
    }
}
