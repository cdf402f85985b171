//! Metrics of each open room on `/metrics`. They are shown while the room exists.

use std::fmt;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use nowcast_replication::ViewerStats;
use nowcast_world::STEP_HZ;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;

/// Bounds of the tick histograms in seconds. They are close together around a typical tick. One bound is 16 ms, the length
/// of a step.
pub(crate) const TICK_BOUNDS: [f64; 20] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.001_5, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.012, 0.014,
    0.016, 0.02, 0.025, 0.035, 0.05, 0.1,
];

/// A class of messages to clients whose bytes are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Definitions, entities, players, screens.
    Description,
    /// Events, answers, chat.
    Event,
    /// Positions of entities.
    Movement,
}

impl Class {
    const ALL: [Class; 3] = [Class::Description, Class::Event, Class::Movement];

    const fn name(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Event => "event",
            Self::Movement => "movement",
        }
    }
}

/// Bands of an entity's distance from a client's avatar, in the order of [`ViewerStats::oldest_steps`].
const DISTANCES: [&str; 3] = ["near", "middle", "far"];

/// The counters of one room.
pub struct RoomMetrics {
    room: String,
    world: String,
    pub(crate) tick_seconds: Histogram,
    /// The part of a tick that rules and physics take.
    pub(crate) step_seconds: Histogram,
    pub(crate) clients: Gauge,
    pub(crate) entities: Gauge,
    pub(crate) bodies_awake: Gauge,
    pub(crate) steps_skipped: Counter,
    /// Steps in which due rounds waited.
    pub(crate) rounds_delayed: Counter,
    /// Updates of entity groups that did not fit in a round of a client.
    pub(crate) postponed: Counter,
    /// Packets that counted as lost before their outcome was known.
    pub(crate) abandoned: Counter,
    /// Entities in interest sets, summed over all clients.
    pub interest_entities: Gauge,
    script_work: Share,
    bytes: [Counter; Class::ALL.len()],
    ages: [WorstAge; DISTANCES.len()],
}

impl RoomMetrics {
    fn new(room: &str, world: &str) -> Self {
        Self {
            room: room.to_owned(),
            world: world.to_owned(),
            tick_seconds: Histogram::new(TICK_BOUNDS),
            step_seconds: Histogram::new(TICK_BOUNDS),
            clients: Gauge::default(),
            entities: Gauge::default(),
            bodies_awake: Gauge::default(),
            steps_skipped: Counter::default(),
            rounds_delayed: Counter::default(),
            postponed: Counter::default(),
            abandoned: Counter::default(),
            interest_entities: Gauge::default(),
            script_work: Share::default(),
            bytes: Default::default(),
            ages: Default::default(),
        }
    }

    /// Counts the bytes sent to clients, without packet headers.
    pub fn count_bytes(&self, class: Class, bytes: usize) {
        self.bytes[class as usize].inc_by(bytes as u64);
    }

    /// Counts the movement bytes sent to one client, the updates of entity groups that did not fit in its round, and its
    /// packets that counted as lost before their outcome was known.
    pub fn note_movement(&self, bytes: usize, postponed: u64, abandoned: u64) {
        self.count_bytes(Class::Movement, bytes);
        self.postponed.inc_by(postponed);
        self.abandoned.inc_by(abandoned);
    }

    /// Records the ages of a client's state, which its viewer knows at the start of a round.
    pub fn note_ages(&self, replicated: &ViewerStats) {
        for (age, steps) in self.ages.iter().zip(replicated.oldest_steps) {
            age.note(steps);
        }
    }

    /// Discards the ages that were recorded before the previous call. Call it once a second.
    pub(crate) fn forget_ages(&self) {
        self.ages.iter().for_each(WorstAge::turn);
    }

    /// The fraction of its budget that a script used in the newest step.
    pub(crate) fn show_script_work(&self, share: f64) {
        self.script_work.0.store(share.to_bits(), Ordering::Relaxed);
    }

    fn labels(&self) -> [(&str, &str); 2] {
        [("room", &self.room), ("world", &self.world)]
    }

    /// The label of a room, and another label.
    fn labels_and<'a>(&'a self, name: &'a str, value: &'a str) -> [(&'a str, &'a str); 3] {
        let [room, world] = self.labels();
        [room, world, (name, value)]
    }
}

/// A counter that starts at 0.
#[derive(Default)]
struct Share(AtomicU64);

/// The maximum ages in this second and in the previous second, in world steps.
#[derive(Default)]
struct WorstAge {
    now: AtomicU32,
    before: AtomicU32,
}

impl WorstAge {
    fn note(&self, steps: u32) {
        self.now.fetch_max(steps, Ordering::Relaxed);
    }

    fn turn(&self) {
        self.before.store(self.now.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }

    fn seconds(&self) -> f64 {
        let steps = self.now.load(Ordering::Relaxed).max(self.before.load(Ordering::Relaxed));
        f64::from(steps) / f64::from(STEP_HZ)
    }
}

/// The open rooms whose metrics `/metrics` shows. Each room holds its metrics. Metrics that no room holds are not shown.
#[derive(Clone, Default)]
pub(crate) struct OpenRooms(Arc<Mutex<Vec<Weak<RoomMetrics>>>>);

impl OpenRooms {
    /// Creates the metrics of a room that opens.
    pub(crate) fn open(&self, room: &str, world: &str) -> Arc<RoomMetrics> {
        let figures = Arc::new(RoomMetrics::new(room, world));
        let mut open = self.0.lock();
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&figures));
        figures
    }

    /// Returns all rooms by name. If two rooms have the same name, the older one is about to end, and only the newer one is
    /// listed.
    fn list(&self) -> Vec<Arc<RoomMetrics>> {
        let mut rooms: Vec<_> = self.0.lock().iter().filter_map(Weak::upgrade).collect();
        rooms.reverse();
        rooms.sort_by(|a, b| a.room.cmp(&b.room));
        rooms.dedup_by(|later, kept| later.room == kept.room);
        rooms
    }
}

/// The metric's name, its help text, and the function that reads its value.
type Figure = (&'static str, &'static str, fn(&RoomMetrics) -> &dyn EncodeMetric);

const FIGURES: [Figure; 10] = [
    ("nowcast_room_clients", "Clients in the room", |room| &room.clients),
    ("nowcast_room_tick_seconds", "Time that one tick of the room takes", |room| &room.tick_seconds),
    ("nowcast_room_step_seconds", "The part of the tick for the world: rules and physics", |room| {
        &room.step_seconds
    }),
    ("nowcast_room_steps_skipped", "Steps left out because the room could not keep up", |room| {
        &room.steps_skipped
    }),
    (
        "nowcast_room_rounds_delayed",
        "Steps in which due rounds of all clients waited, because too many clients had not begun the previous round",
        |room| &room.rounds_delayed,
    ),
    ("nowcast_room_entities", "Entities in the room's world", |room| &room.entities),
    ("nowcast_room_bodies_awake", "Bodies that physics moves", |room| &room.bodies_awake),
    (
        "nowcast_room_interest_entities",
        "Entities in the interest sets of clients on sessions, summed over clients",
        |room| &room.interest_entities,
    ),
    (
        "nowcast_room_updates_postponed",
        "Group updates that did not fit in a round of a client, and follow in a later one",
        |room| &room.postponed,
    ),
    (
        "nowcast_room_packets_abandoned",
        "Packets of movement that counted as lost before their outcome was known",
        |room| &room.abandoned,
    ),
];

impl Collector for OpenRooms {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let rooms = self.list();
        let Some(first) = rooms.first() else { return Ok(()) };
        for (name, help, figure) in FIGURES {
            let kind = figure(first).metric_type();
            let mut family = encoder.encode_descriptor(name, help, None, kind)?;
            for room in &rooms {
                figure(room).encode(family.encode_family(&room.labels())?)?;
            }
        }
        let help = "Fraction of its work budget that the room's script used in the newest step";
        let name = "nowcast_room_script_work_ratio";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for room in &rooms {
            let share = f64::from_bits(room.script_work.0.load(Ordering::Relaxed));
            ConstGauge::new(share).encode(family.encode_family(&room.labels())?)?;
        }
        let help = "Bytes sent to clients, before packets are built";
        let mut family = encoder.encode_descriptor("nowcast_room_bytes", help, None, MetricType::Counter)?;
        for room in &rooms {
            for class in Class::ALL {
                let labels = room.labels_and("class", class.name());
                room.bytes[class as usize].encode(family.encode_family(&labels)?)?;
            }
        }
        let help = "Greatest age of the state of moving entities at a client within the last second or two, by the distance from its avatar";
        let name = "nowcast_room_age_seconds_max";
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
        for room in &rooms {
            for (distance, age) in DISTANCES.into_iter().zip(&room.ages) {
                let labels = room.labels_and("distance", distance);
                ConstGauge::new(age.seconds()).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for OpenRooms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenRooms").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::registry::Registry;

    use super::*;

    fn page(rooms: &OpenRooms) -> String {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(rooms.clone()));
        let mut page = String::new();
        text::encode(&mut page, &registry).unwrap();
        page
    }

    /// Returns the values of the lines that begin with a name and contain all of these labels.
    fn values(page: &str, name: &str, labels: &[&str]) -> Vec<f64> {
        let named = |line: &&str| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'));
        let lines = page.lines().filter(named).filter(|line| labels.iter().all(|label| line.contains(label)));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse().unwrap()).collect()
    }

    #[test]
    fn a_rooms_metrics_have_its_name_and_end_with_it() {
        let rooms = OpenRooms::default();
        let (park, yard) = (rooms.open("park", "plaza"), rooms.open("yard", "plaza"));
        park.clients.set(3);
        park.note_movement(700, 2, 1);
        park.note_movement(0, 5, 0);
        park.show_script_work(0.25);
        yard.tick_seconds.observe(0.002);
        let shown = page(&rooms);
        let park_only = r#"room="park""#;
        assert_eq!(values(&shown, "nowcast_room_clients", &[park_only, r#"world="plaza""#]), [3.0]);
        assert_eq!(values(&shown, "nowcast_room_bytes_total", &[park_only, r#"class="movement""#]), [700.0]);
        assert_eq!(values(&shown, "nowcast_room_updates_postponed_total", &[park_only]), [7.0]);
        assert_eq!(values(&shown, "nowcast_room_packets_abandoned_total", &[park_only]), [1.0]);
        assert_eq!(values(&shown, "nowcast_room_script_work_ratio", &[park_only]), [0.25]);
        assert_eq!(values(&shown, "nowcast_room_tick_seconds_count", &[r#"room="yard""#]), [1.0]);
        drop(park);
        let shown = page(&rooms);
        assert_eq!(values(&shown, "nowcast_room_clients", &[]), [0.0]);
        assert_eq!(values(&shown, "nowcast_room_clients", &[r#"room="yard""#]), [0.0]);
        drop(yard);
        assert!(!page(&rooms).contains("nowcast_room"));
    }

    #[test]
    fn a_reopened_room_replaces_the_ending_one_in_the_metrics() {
        let rooms = OpenRooms::default();
        let (before, after) = (rooms.open("park", "plaza"), rooms.open("park", "plaza"));
        before.clients.set(1);
        after.clients.set(2);
        let shown = page(&rooms);
        assert_eq!(values(&shown, "nowcast_room_clients", &[]), [2.0]);
    }

    #[test]
    fn the_worst_age_covers_the_last_two_seconds() {
        let rooms = OpenRooms::default();
        let room = rooms.open("park", "plaza");
        let worst = |distance: &str| {
            let label = format!(r#"distance="{distance}""#);
            let found = values(&page(&rooms), "nowcast_room_age_seconds_max", &[&label]);
            found.first().copied()
        };
        let round = |oldest_steps| {
            room.note_ages(&ViewerStats { oldest_steps, ..ViewerStats::default() });
        };
        round([3, 0, 18]);
        round([0, 0, 12]);
        assert_eq!([worst("near"), worst("middle"), worst("far")], [Some(0.05), Some(0.0), Some(0.3)]);
        room.forget_ages();
        round([0, 0, 6]);
        assert_eq!(worst("far"), Some(0.3));
        room.forget_ages();
        assert_eq!(worst("far"), Some(0.1));
    }
}
