//! Interest over lossy links: what a client shows is what the server would show it, whoever moves in or out of whose sight.
//!
//! `NOWCAST_SEEDS=10000` plays more seeds than CI does, `NOWCAST_SEED=n` one alone. With `NOWCAST_PLAYS=FILE` what reaches the
//! clients is written there, one play a line, for `packages/nowcast/test/world/sight.test.ts` to play it to the other implementation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::Write;

use nowcast_replication::{
    Atlas, History, Moving, Placed, Reach, Replica, Row, SectionId, Sight, Transform, Viewer, row_of,
};
use serde_json::{Value, json};

const SEEDS: u64 = 200;
const STEPS: u32 = 240;
const RADIUS: f32 = 30.0;
const ENTITIES_MAX: usize = 90;
const CLIENTS: usize = 3;

/// Steps after which nothing is lost any more and nothing moves.
const QUIET_STEPS: u32 = 240;

/// The delay of what never arrives.
const LOST: u32 = 1 << 20;

/// In a lull the client hears nothing but the time, for so many rounds: long enough to forget what it may forget.
const LULL_ROUNDS: u32 = 258;
const ROUND_STEPS: u32 = 3;
const BEFORE_LULL_STEPS: u32 = 30;

/// Out of sight of everything but what everybody sees.
const NOWHERE: [f32; 3] = [9_000.0, 0.0, 9_000.0];

/// Xorshift: small, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, count: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % u64::from(count.max(1))) as u32
    }

    fn happens(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// From -100 to 100 in steps of 1/8.
    fn coordinate(&mut self) -> f32 {
        self.below(1_600) as f32 / 8.0 - 100.0
    }
}

/// What is in the world.
#[derive(Clone, Copy)]
struct Body {
    position: [f32; 3],
    velocity: [f32; 3],
    reach: Reach,
}

/// What lane 0 says of one entity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Described,
    OutOfSight(u32),
    Gone,
}

/// A reliable lane of states: the newest of each key arrives in the end, in any order and as late as it likes.
#[derive(Default)]
struct Lane {
    waiting: BTreeMap<u32, State>,
}

impl Lane {
    fn put(&mut self, id: u32, state: State) {
        self.waiting.insert(id, state);
    }

    fn deliver(&mut self, percent: u32, chance: &mut Chance) -> Vec<(u32, State)> {
        let arrives: Vec<u32> = self.waiting.keys().copied().filter(|_| chance.happens(percent)).collect();
        arrives.into_iter().map(|id| (id, self.waiting.remove(&id).unwrap())).collect()
    }
}

/// The server's side of one client, the link, and the client.
struct Client {
    seed: u64,
    number: u32,
    eye: [f32; 3],
    sight: Sight,
    viewer: Viewer,
    lane: Lane,
    packets: VecDeque<(u32, u64, Vec<u8>)>,
    /// Packets that arrived, and when the server hears of it.
    acknowledgements: Vec<(u32, u64)>,
    last_packet: u64,
    replica: Replica,
    described: BTreeSet<u32>,
    /// Since when each entity was described without a break, as far as the server knows.
    in_sight_since: BTreeMap<u32, u32>,
    /// What arrived, in its order, if somebody wants to know.
    arrived: Option<Vec<Value>>,
}

impl Client {
    fn new(seed: u64, number: u32) -> Self {
        Self {
            seed,
            number,
            eye: [0.0; 3],
            sight: Sight::new(number),
            viewer: Viewer::with_bytes_per_round_max(400),
            lane: Lane::default(),
            packets: VecDeque::new(),
            acknowledgements: Vec::new(),
            last_packet: 0,
            replica: Replica::default(),
            described: BTreeSet::new(),
            in_sight_since: BTreeMap::new(),
            arrived: None,
        }
    }

    fn show(&mut self, id: u32, tick: u32) {
        // A client that did not hear that it was out of sight shows it where it was, until it hears more.
        let is_unheard = matches!(self.lane.waiting.get(&id), Some(State::OutOfSight(_)));
        self.lane.put(id, State::Described);
        if !is_unheard {
            self.in_sight_since.insert(id, tick);
        }
    }

    fn lose(&mut self, id: u32, state: State) {
        self.lane.put(id, state);
    }

    /// What a server tells of one step of the world on lane 0.
    fn tell(&mut self, tick: u32, atlas: &Atlas, is_round: bool) {
        let sees = |sight: &Sight, section: Option<SectionId>| section.is_some_and(|at| sight.sees(at));
        self.sight.follow(&atlas.created());
        for moved in atlas.relocations() {
            match (sees(&self.sight, moved.from), sees(&self.sight, moved.to)) {
                (false, true) => self.show(moved.id, tick),
                (true, false) if atlas.entities().any(|(placed, _)| placed.id == moved.id) => {
                    self.lose(moved.id, State::OutOfSight(tick));
                }
                (true, false) => self.lose(moved.id, State::Gone),
                _ => {}
            }
        }
        if !is_round {
            return;
        }
        let look = self.sight.look(atlas.chart(), Some(self.eye), 25);
        for section in look.left {
            atlas.members(section).iter().for_each(|id| self.lose(*id, State::OutOfSight(tick)));
        }
        for section in look.entered {
            atlas.members(section).iter().for_each(|id| self.show(*id, tick));
        }
    }

    fn round(&mut self, history: &History) {
        self.viewer.set_sight(&self.sight, RADIUS / 2.0);
        self.viewer.due(history.frames(), None);
    }

    fn send(&mut self, step: u32, history: &History, loss: u32, chance: &mut Chance) {
        while self.viewer.has_more() {
            let mut payload = Vec::new();
            self.last_packet += 1;
            self.viewer.fill(history.frames(), self.last_packet, 1_000, &mut payload);
            // What nothing fits into waits for the next round.
            if payload.is_empty() {
                break;
            }
            let delay = if chance.happens(loss) { LOST } else { chance.below(9) };
            self.packets.push_back((step + delay, self.last_packet, payload));
        }
    }

    fn receive(&mut self, step: u32, link: &Link, chance: &mut Chance) {
        let (arrived, later): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.packets).into_iter().partition(|(at, ..)| *at <= step);
        self.packets = later;
        for (_, number, payload) in arrived {
            self.note(|| {
                let bytes: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
                json!({ "payload": bytes })
            });
            self.apply(&payload);
            let delay = if link.ack_steps_max > 0 { chance.below(link.ack_steps_max) } else { 0 };
            self.acknowledgements.push((step + delay, number));
        }
        self.acknowledge(step);
        // A packet is known to be lost some time later.
        while self.packets.front().is_some_and(|(at, ..)| *at >= LOST && at - LOST + 12 < step) {
            let (_, number, _) = self.packets.pop_front().unwrap();
            self.viewer.settled(number, false);
        }
        for (id, state) in self.lane.deliver(link.states_percent, chance) {
            match state {
                State::Described => {
                    self.described.insert(id);
                    self.note(|| json!({ "in_sight": id }));
                }
                State::OutOfSight(tick) => {
                    self.described.remove(&id);
                    self.replica.hide(id, tick);
                    self.note(|| json!({ "out_of_sight": id, "tick": tick }));
                }
                State::Gone => {
                    self.described.remove(&id);
                    self.note(|| json!({ "gone": id }));
                }
            }
        }
    }

    fn apply(&mut self, payload: &[u8]) {
        let applied = self.replica.apply(payload).expect("a sender of ours wrote it");
        assert_eq!(
            applied.missing, 0,
            "NOWCAST_SEED={}: client {} has what it is told against",
            self.seed, self.number
        );
    }

    /// The server hears of what arrived, in the order in which it hears of it.
    fn acknowledge(&mut self, step: u32) {
        let (heard, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.acknowledgements).into_iter().partition(|(at, _)| *at <= step);
        self.acknowledgements = later;
        heard.into_iter().for_each(|(_, number)| self.viewer.settled(number, true));
    }

    /// For a while nothing is said but the time.
    fn lull(&mut self, tick: u32) {
        self.note(|| json!({ "lull": LULL_ROUNDS, "tick": tick, "every": ROUND_STEPS }));
        for round in 1..=LULL_ROUNDS {
            let mut payload = tick.wrapping_add(round * ROUND_STEPS).to_le_bytes().to_vec();
            payload.extend_from_slice(&[0, 0]);
            self.apply(&payload);
        }
    }

    /// What it shows: what is described, where rows have it.
    fn shown(&self) -> BTreeMap<u32, Row> {
        self.described.iter().filter_map(|id| Some((*id, self.replica.row(*id)?))).collect()
    }

    /// Notes what it shows beside what arrived.
    fn note_shown(&mut self) {
        if self.arrived.is_some() {
            let shown = self.shown().into_iter().map(|(id, row)| json!({ "id": id, "row": row }));
            let shown: Vec<_> = shown.collect();
            self.note(|| json!({ "shown": shown }));
        }
    }

    fn note(&mut self, what: impl FnOnce() -> Value) {
        if let Some(arrived) = &mut self.arrived {
            arrived.push(what());
        }
    }

    /// What the server would show it.
    fn due(&self, atlas: &Atlas, history: &History) -> BTreeMap<u32, Row> {
        let is_seen = |id: u32| atlas.section_of(id).is_some_and(|section| self.sight.sees(section));
        history.rows().filter(|(id, _)| is_seen(*id)).map(|(id, row)| (id, *row)).collect()
    }
}

/// What becomes of what is sent.
#[derive(Clone, Copy)]
struct Link {
    /// Percent of payloads that are lost.
    loss: u32,
    /// Percent of the waiting states of lane 0 that arrive in a step.
    states_percent: u32,
    /// Steps within which the server hears of what arrived.
    ack_steps_max: u32,
}

struct Play {
    chance: Chance,
    tick: u32,
    bodies: BTreeMap<u32, Body>,
    last_id: u32,
    atlas: Atlas,
    history: History,
    clients: Vec<Client>,
    /// Where each entity was at each step.
    past: BTreeMap<u32, Vec<(u32, Row)>>,
    link: Link,
}

impl Play {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let link = Link {
            loss: [0, 1, 5, 30][chance.below(4) as usize],
            states_percent: [100, 60, 15][chance.below(3) as usize],
            ack_steps_max: [0, 10, 90][chance.below(3) as usize],
        };
        let mut play = Self {
            tick: u32::MAX - 100,
            bodies: BTreeMap::new(),
            last_id: 0,
            atlas: Atlas::default(),
            history: History::default(),
            clients: (1..=CLIENTS as u32).map(|number| Client::new(seed, number)).collect(),
            past: BTreeMap::new(),
            link,
            chance,
        };
        (0..40).for_each(|_| play.appear());
        play
    }

    fn appear(&mut self) {
        let chance = &mut self.chance;
        let position = [chance.coordinate(), 0.0, chance.coordinate()];
        let reach = match chance.below(12) {
            0 => Reach::Always,
            1 => Reach::Owner(1 + chance.below(CLIENTS as u32)),
            2 => Reach::Never,
            3 => Reach::Within(RADIUS / 3.0),
            _ => Reach::Within(RADIUS),
        };
        let velocity = match chance.below(3) {
            0 => [0.0; 3],
            _ => [chance.coordinate() / 60.0, 0.0, chance.coordinate() / 60.0],
        };
        self.last_id += 1;
        self.bodies.insert(self.last_id, Body { position, velocity, reach });
    }

    /// Things come, go, move, jump and change owners; eyes wander and jump.
    fn live(&mut self) {
        if self.bodies.len() < ENTITIES_MAX && self.chance.happens(15) {
            self.appear();
        }
        let chance = &mut self.chance;
        let ids: Vec<u32> = self.bodies.keys().copied().collect();
        if chance.happens(10) {
            self.bodies.remove(&ids[chance.below(ids.len() as u32) as usize]);
        }
        for body in self.bodies.values_mut() {
            if chance.happens(1) {
                body.position = [chance.coordinate(), 0.0, chance.coordinate()];
            }
            if chance.happens(2) {
                body.velocity = [chance.coordinate() / 60.0, 0.0, chance.coordinate() / 60.0];
            }
            if let Reach::Owner(owner) = &mut body.reach
                && chance.happens(3)
            {
                *owner = 1 + chance.below(CLIENTS as u32);
            }
            for axis in 0..3 {
                body.position[axis] += body.velocity[axis];
                if body.position[axis].abs() > 100.0 {
                    body.velocity[axis] = -body.velocity[axis];
                }
            }
        }
        for client in &mut self.clients {
            if chance.happens(2) {
                client.eye = [chance.coordinate(), 0.0, chance.coordinate()];
            }
            client.eye[0] = (client.eye[0] + chance.coordinate() / 100.0).clamp(-100.0, 100.0);
        }
    }

    /// Some of the clients look elsewhere, very long, and then back, so that they may have forgotten what they saw. What they
    /// acknowledged before may be heard of only now.
    fn lull(&mut self, step: u32) {
        let eyes: Vec<[f32; 3]> = self.clients.iter().map(|client| client.eye).collect();
        for client in &mut self.clients {
            if self.chance.happens(70) {
                client.eye = NOWHERE;
            }
        }
        // Until nothing is left to say, for the server would not be silent before.
        let link = Link { loss: 0, states_percent: 100, ..self.link };
        let link = std::mem::replace(&mut self.link, link);
        for more in 0..BEFORE_LULL_STEPS {
            self.step(step + more);
        }
        for client in &mut self.clients {
            // Whatever is on its way arrives meanwhile.
            client.packets.iter_mut().filter(|(at, ..)| *at < LOST).for_each(|(at, ..)| *at = 0);
            client.receive(step + BEFORE_LULL_STEPS, &self.link, &mut self.chance);
            client.lull(self.tick);
        }
        self.link = link;
        self.tick = self.tick.wrapping_add(LULL_ROUNDS * ROUND_STEPS);
        self.clients.iter_mut().zip(eyes).for_each(|(client, eye)| client.eye = eye);
    }

    fn step(&mut self, step: u32) {
        self.tick = self.tick.wrapping_add(1);
        let placed = self.bodies.iter().map(|(id, body)| Placed {
            id: *id,
            position: body.position,
            reach: body.reach,
            size: 1.0,
        });
        self.atlas.update(self.tick, placed);
        let is_round = |client: &Client| (step + client.number).is_multiple_of(ROUND_STEPS);
        for client in &mut self.clients {
            let is_round = is_round(client);
            client.tell(self.tick, &self.atlas, is_round);
        }
        let moving =
            self.bodies.iter().zip(self.atlas.entities()).filter_map(|((id, body), (_, section))| {
                let transform = Transform { position: body.position, rotation: [0.0, 0.0, 0.0, 1.0] };
                Some(Moving { id: *id, transform, section: section?, size: 1.0 })
            });
        self.history.publish(self.tick, moving);
        for (id, body) in &self.bodies {
            let row = row_of(&Transform { position: body.position, rotation: [0.0, 0.0, 0.0, 1.0] });
            self.past.entry(*id).or_default().push((self.tick, row));
        }
        for client in &mut self.clients {
            if is_round(client) {
                client.round(&self.history);
            }
            client.send(step, &self.history, self.link.loss, &mut self.chance);
            client.receive(step, &self.link, &mut self.chance);
        }
    }

    /// Nothing is ever shown where it was before it came into sight.
    fn check_past(&self, seed: u64) {
        for client in &self.clients {
            for (id, row) in client.shown() {
                let Some(since) = client.in_sight_since.get(&id) else { continue };
                // What the client has not yet heard of may have it in sight since earlier.
                if client.lane.waiting.contains_key(&id) {
                    continue;
                }
                let was_there = self.past[&id]
                    .iter()
                    .any(|(tick, past)| *past == row && tick.wrapping_sub(*since) as i32 >= 0);
                assert!(was_there, "NOWCAST_SEED={seed}: client {} shows {id} in its past", client.number);
            }
        }
    }
}

/// Plays a seed, in which so much comes and goes as is answered. What arrives is noted if that `is_noted`.
fn play(seed: u64, steps: u32, is_noted: bool) -> (Play, u64) {
    let mut play = Play::new(seed);
    if is_noted {
        play.clients.iter_mut().for_each(|client| client.arrived = Some(Vec::new()));
    }
    let in_sight = |play: &Play| -> usize {
        play.clients.iter().map(|client| client.due(&play.atlas, &play.history).len()).sum()
    };
    let mut changes = 0;
    let mut step = 0;
    while step < steps {
        play.live();
        let before = in_sight(&play);
        play.step(step);
        changes += u64::from(before != in_sight(&play));
        step += 1;
        if play.chance.happens(2) {
            play.lull(step);
            step += BEFORE_LULL_STEPS;
        }
        if step.is_multiple_of(5) {
            play.check_past(seed);
            play.clients.iter_mut().for_each(Client::note_shown);
        }
    }
    // Nothing moves any more, and what was lost is told again until everybody has it.
    for more in 0..QUIET_STEPS {
        if more == QUIET_STEPS / 2 {
            play.link.loss = 0;
        }
        play.step(step + more);
    }
    for client in &mut play.clients {
        let due = client.due(&play.atlas, &play.history);
        assert_eq!(client.shown(), due, "NOWCAST_SEED={seed}: client {}", client.number);
        client.note_shown();
    }
    (play, changes)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a whole number"))
}

#[test]
fn a_client_shows_what_the_server_would_show_it_and_nothing_of_before_it_came_into_sight() {
    if let Some(seed) = number("NOWCAST_SEED") {
        play(seed, STEPS, false);
        return;
    }
    let seeds = number("NOWCAST_SEEDS").unwrap_or(SEEDS);
    let mut file = std::env::var_os("NOWCAST_PLAYS").map(|path| std::fs::File::create(path).unwrap());
    let mut changes = 0;
    for seed in 0..seeds {
        let (play, changed) = play(seed, STEPS, file.is_some());
        changes += changed;
        let Some(file) = &mut file else { continue };
        for client in play.clients {
            let line = json!({ "seed": seed, "client": client.number, "steps": client.arrived });
            writeln!(file, "{line}").unwrap();
        }
    }
    assert!(changes > seeds * 20, "much comes and goes: {changes}");
}

/// `spec/vectors/world/sight.json`: what reaches clients, in its order, and what they show then.
///
/// `NOWCAST_BLESS=1` writes it anew after a deliberate change of the format.
#[test]
fn the_vectors_of_sight_hold() {
    let plays = [3, 5, 11].map(|seed| {
        let (mut play, _) = play(seed, 60, true);
        json!({ "seed": seed, "client": 1, "steps": play.clients.swap_remove(0).arrived })
    });
    let vector = json!({
        "about": "What reaches clients: payloads, rounds in which nothing is said but the time, and what lane 0 says of entities. Where it says so, a client shows these rows of those in sight.",
        "plays": plays,
    });
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/world/sight.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        std::fs::write(&path, format!("{vector}\n")).unwrap();
    }
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert!(kept == vector, "{} is not what is sent", path.display());
}

/// A square field with something that moves every 20 m, of `side` things a side, and what a client in its middle costs.
fn told_of_a_field(side: u32) -> (u64, usize, usize) {
    let (mut atlas, mut history, mut client) = (Atlas::default(), History::default(), Client::new(0, 1));
    client.viewer = Viewer::default();
    let mut bytes = 0;
    let middle = (side / 2) as f32 * 20.0;
    client.eye = [middle, 0.0, middle];
    for tick in 0..60u32 {
        let place = |id: u32| {
            let [column, row] = [(id - 1) % side, (id - 1) / side].map(|at| at as f32 * 20.0 - middle);
            // The same things are in the middle of every field.
            [column + middle + (tick as f32 / 8.0), 0.0, row + middle]
        };
        let reach = Reach::Within(60.0);
        let ids = 1..=side * side;
        atlas.update(tick, ids.clone().map(|id| Placed { id, position: place(id), reach, size: 0.5 }));
        client.tell(tick, &atlas, tick.is_multiple_of(3));
        let moving = ids.zip(atlas.entities()).map(|(id, (placed, section))| Moving {
            id,
            transform: Transform { position: placed.position, rotation: [0.0, 0.0, 0.0, 1.0] },
            section: section.expect("everything has one"),
            size: 0.5,
        });
        history.publish(tick, moving);
        client.round(&history);
        while client.viewer.has_more() {
            let mut payload = Vec::new();
            client.last_packet += 1;
            client.viewer.fill(history.frames(), client.last_packet, 1_100, &mut payload);
            client.viewer.settled(client.last_packet, true);
            bytes += payload.len();
        }
    }
    (client.viewer.stats.records, bytes, client.due(&atlas, &history).len())
}

#[test]
fn what_a_client_costs_does_not_grow_with_the_world() {
    let [small, large] = [24, 96].map(told_of_a_field);
    assert!((30..120).contains(&small.2), "{small:?}");
    assert_eq!(small.2, large.2, "it sees as much");
    assert_eq!(small.0, large.0, "and is sent as many groups");
    assert!(
        large.1 <= small.1 + small.1 / 10,
        "{small:?} {large:?}: only ids and numbers of groups are longer"
    );
}
