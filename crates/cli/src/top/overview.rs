//! Differences between two scrapes of a server's metrics.

use std::time::Instant;

use nowcast_server::figures::{Buckets, Figures, Sample};
use serde_json::{Value, json};

/// The classes of messages to clients, as `/metrics` names them.
pub(super) const CLASSES: [&str; 3] = ["description", "event", "movement"];

/// The distance bands of entities from a client's avatar, as `/metrics` names them.
pub(super) const DISTANCES: [&str; 3] = ["near", "middle", "far"];

/// The activity of a server between two samples.
pub(super) struct Overview {
    pub(super) clients: f64,
    pub(super) connections: f64,
    pub(super) resident_bytes: f64,
    /// Number of cores that the server kept busy.
    pub(super) cores: f64,
    /// Bytes received on TCP connections, for each second.
    pub(super) bytes_in: f64,
    pub(super) bytes_out: f64,
    /// Messages of clients without effect, for each second.
    pub(super) dropped: f64,
    pub(super) rooms: Vec<Room>,
}

/// The activity of a room between two samples.
pub(super) struct Room {
    /// The name in the metrics. Escape it before display.
    pub(super) name: String,
    pub(super) world: String,
    pub(super) clients: f64,
    pub(super) entities: f64,
    pub(super) bodies_awake: f64,
    /// Median duration of a tick, in seconds; `None` if there was no tick.
    pub(super) tick_p50: Option<f64>,
    pub(super) tick_p99: Option<f64>,
    /// The part of the tick that rules and physics took.
    pub(super) step_p99: Option<f64>,
    /// The share of its budget that the script used.
    pub(super) script: f64,
    /// Number of entities that a client sees.
    pub(super) interest_entities: f64,
    /// Bytes a second, by [`CLASSES`].
    pub(super) bytes: [f64; CLASSES.len()],
    /// Number of updates that were postponed, for each second.
    pub(super) postponed: f64,
    pub(super) steps_skipped: f64,
    /// Ages of entities in seconds, by [`DISTANCES`].
    pub(super) ages: [f64; DISTANCES.len()],
}

impl Overview {
    /// Returns the difference between two scrapes.
    pub(super) fn between(before: &(Instant, Figures), now: &(Instant, Figures)) -> Overview {
        let seconds = (now.0 - before.0).as_secs_f64();
        let span = Span { before: &before.1, now: &now.1, seconds };
        Overview {
            clients: span.level("nowcast_clients", &[]),
            connections: span.level("nowcast_connections", &[]),
            resident_bytes: span.level("process_resident_memory_bytes", &[]),
            cores: span.rate("process_cpu_seconds_total", &[]),
            bytes_in: span.rate("nowcast_bytes_total", &[("direction", "in")]),
            bytes_out: span.rate("nowcast_bytes_total", &[("direction", "out")]),
            dropped: span.rate_of_all("nowcast_messages_dropped_total"),
            rooms: now.1.named("nowcast_room_clients").filter_map(|room| span.room(room)).collect(),
        }
    }

    /// Returns JSON for scripts, with rates for each second and times in milliseconds.
    pub(super) fn to_json(&self) -> Value {
        let Overview { clients, connections, resident_bytes, cores, bytes_in, bytes_out, dropped, rooms } =
            self;
        json!({
            "clients": clients,
            "connections": connections,
            "resident_bytes": resident_bytes,
            "cores": cores,
            "bytes_in_per_second": bytes_in,
            "bytes_out_per_second": bytes_out,
            "messages_dropped_per_second": dropped,
            "rooms": rooms.iter().map(Room::to_json).collect::<Vec<_>>(),
        })
    }
}

impl Room {
    fn to_json(&self) -> Value {
        let ms = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e3);
        let by = |names: [&str; 3], values: [f64; 3]| -> Value {
            names.into_iter().zip(values).map(|(name, value)| (name.to_owned(), json!(value))).collect()
        };
        json!({
            "name": self.name,
            "world": self.world,
            "clients": self.clients,
            "entities": self.entities,
            "bodies_awake": self.bodies_awake,
            "tick_ms_p50": ms(self.tick_p50),
            "tick_ms_p99": ms(self.tick_p99),
            "step_ms_p99": ms(self.step_p99),
            "script_work_ratio": self.script,
            "interest_entities_per_client": self.interest_entities,
            "bytes_per_second": by(CLASSES, self.bytes),
            "updates_postponed_per_second": self.postponed,
            "steps_skipped_per_second": self.steps_skipped,
            "age_ms_max": by(DISTANCES, self.ages.map(|seconds| seconds * 1e3)),
        })
    }
}

/// Two samples of the metrics, and the time between them.
struct Span<'a> {
    before: &'a Figures,
    now: &'a Figures,
    seconds: f64,
}

impl Span<'_> {
    fn level(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.now.value(name, labels).unwrap_or(0.0)
    }

    /// Returns the rate of a counter. If a counter decreased, the server was restarted.
    fn rate(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let before = self.before.value(name, labels).unwrap_or(0.0);
        self.by_the_second(self.level(name, labels) - before)
    }

    fn rate_of_all(&self, name: &str) -> f64 {
        let sum = |of: &Figures| of.named(name).map(|sample| sample.value).sum::<f64>();
        self.by_the_second(sum(self.now) - sum(self.before))
    }

    fn by_the_second(&self, growth: f64) -> f64 {
        if self.seconds > 0.0 { growth.max(0.0) / self.seconds } else { 0.0 }
    }

    /// Returns a histogram of the time between the scrapes. If nothing was counted between them, returns a histogram of the whole
    /// time.
    fn histogram(&self, name: &str, labels: &[(&str, &str)]) -> Buckets {
        let now = self.now.histogram(name, labels);
        let meanwhile = now.since(&self.before.histogram(name, labels));
        if meanwhile.count() > 0.0 { meanwhile } else { now }
    }

    /// Returns the room that a sample belongs to. The sample must belong to a figure that every room has.
    fn room(&self, sample: &Sample) -> Option<Room> {
        let (name, world) = (sample.label("room")?, sample.label("world").unwrap_or_default());
        let room = ("room", name);
        let of = [room];
        let ticks = self.histogram("nowcast_room_tick_seconds", &of);
        let clients = sample.value;
        Some(Room {
            name: name.to_owned(),
            world: world.to_owned(),
            clients,
            entities: self.level("nowcast_room_entities", &of),
            bodies_awake: self.level("nowcast_room_bodies_awake", &of),
            tick_p50: ticks.quantile(0.5),
            tick_p99: ticks.quantile(0.99),
            step_p99: self.histogram("nowcast_room_step_seconds", &of).quantile(0.99),
            script: self.level("nowcast_room_script_work_ratio", &of),
            interest_entities: self.level("nowcast_room_interest_entities", &of) / clients.max(1.0),
            bytes: CLASSES.map(|class| self.rate("nowcast_room_bytes_total", &[room, ("class", class)])),
            postponed: self.rate("nowcast_room_updates_postponed_total", &of),
            steps_skipped: self.rate("nowcast_room_steps_skipped_total", &of),
            ages: DISTANCES
                .map(|distance| self.level("nowcast_room_age_seconds_max", &[room, ("distance", distance)])),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Makes a scrape at a time, with one room. `quick` and `slow` are the numbers of ticks that this room has counted.
    fn look(at: Instant, quick: u32, slow: u32, bytes: u32) -> (Instant, Figures) {
        let all = quick + slow;
        let page = format!(
            "nowcast_clients 3\nprocess_cpu_seconds_total {}\nnowcast_room_clients{{room=\"park\",world=\"plaza\"}} 3\n\
             nowcast_room_tick_seconds_bucket{{le=\"0.001\",room=\"park\",world=\"plaza\"}} {quick}\n\
             nowcast_room_tick_seconds_bucket{{le=\"0.01\",room=\"park\",world=\"plaza\"}} {all}\n\
             nowcast_room_tick_seconds_bucket{{le=\"+Inf\",room=\"park\",world=\"plaza\"}} {all}\n\
             nowcast_room_bytes_total{{room=\"park\",world=\"plaza\",class=\"movement\"}} {bytes}\n\
             nowcast_room_interest_entities{{room=\"park\",world=\"plaza\"}} 60\n\
             nowcast_room_age_seconds_max{{room=\"park\",world=\"plaza\",distance=\"far\"}} 0.25\n\
             nowcast_messages_dropped_total{{reason=\"rate\"}} 4\nnowcast_messages_dropped_total{{reason=\"backlog\"}} 6\n",
            f64::from(all) / 100.0
        );
        (at, Figures::parse(&page))
    }

    #[test]
    fn rates_and_quantiles_cover_the_time_between_two_samples() {
        let start = Instant::now();
        let before = look(start, 1_000, 0, 5_000);
        let now = look(start + Duration::from_secs(2), 1_000, 120, 9_000);
        let overview = Overview::between(&before, &now);
        assert!((overview.cores - 0.6).abs() < 1e-9);
        assert_eq!(overview.dropped, 0.0);
        let [room] = &overview.rooms[..] else { panic!("there is one room") };
        assert_eq!((room.name.as_str(), room.world.as_str(), room.clients), ("park", "plaza", 3.0));
        assert!(room.tick_p50.unwrap() > 0.005, "the quick ticks were before");
        assert_eq!((room.bytes, room.interest_entities), ([0.0, 0.0, 2_000.0], 20.0));
        assert_eq!(room.ages, [0.0, 0.0, 0.25]);
    }

    #[test]
    fn a_restarted_server_has_no_negative_rates() {
        let start = Instant::now();
        let (before, now) = (look(start, 1_000, 0, 5_000), look(start + Duration::from_secs(1), 10, 0, 100));
        let overview = Overview::between(&before, &now);
        assert_eq!((overview.cores, overview.rooms[0].bytes[2]), (0.0, 0.0));
        assert!(overview.rooms[0].tick_p50.is_some());
    }

    #[test]
    fn a_single_sample_has_levels_and_no_rates() {
        let one = look(Instant::now(), 10, 0, 100);
        let json = Overview::between(&one, &one).to_json();
        assert_eq!(json["clients"], 3.0);
        assert_eq!(json["rooms"][0]["bytes_per_second"]["movement"], 0.0);
        assert_eq!(json["rooms"][0]["age_ms_max"]["far"], 250.0);
    }
}
