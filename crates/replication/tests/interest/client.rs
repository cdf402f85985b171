//! One client of a play: its part of the server, the link, and the rows that it shows.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use nowcast_replication::{
    History, InterestGrid, InterestSet, Quantization, RateTable, Replica, Row, SectionId, UpdateRates, Viewer,
};
use serde_json::{Value, json};

use crate::chance::Chance;

pub(crate) const RADIUS: f32 = 30.0;

/// The delay of a packet that never arrives.
pub(crate) const LOST: u32 = 1 << 20;

/// Number of rounds of a lull, in which the client receives only the tick. A lull is long enough for the client to forget
/// everything that it may forget.
pub(crate) const LULL_ROUNDS: u32 = 258;
pub(crate) const ROUND_STEPS: u32 = 3;

/// The state of one entity on lane 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Described,
    OutOfSight(u32),
    Gone,
}

/// A reliable lane of states: the newest value of each key arrives eventually. Keys may overtake each other, and the delay
/// is random.
#[derive(Default)]
pub(crate) struct Lane {
    pub(crate) waiting: BTreeMap<u32, State>,
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

/// One client with its part of the server and the link.
pub(crate) struct Client {
    seed: u64,
    pub(crate) number: u32,
    pub(crate) eye: [f32; 3],
    interest_set: InterestSet,
    rates: Arc<RateTable>,
    pub(crate) viewer: Viewer,
    pub(crate) lane: Lane,
    pub(crate) packets: VecDeque<(u32, u64, Vec<u8>)>,
    /// Packets that arrived, each with the step at which the server learns of the arrival.
    acknowledgements: Vec<(u32, u64)>,
    pub(crate) last_packet: u64,
    replica: Replica,
    described: BTreeSet<u32>,
    /// The last known row of each described entity. An entity that left its group keeps its row until another group has
    /// it.
    known: BTreeMap<u32, (Row, Option<Quantization>)>,
    /// The server's record of the step since which each entity has been described without a break.
    pub(crate) in_sight_since: BTreeMap<u32, u32>,
    /// Messages in order of arrival, if the test asks for them.
    pub(crate) arrived: Option<Vec<Value>>,
}

impl Client {
    pub(crate) fn new(seed: u64, number: u32) -> Self {
        Self {
            seed,
            number,
            eye: [0.0; 3],
            interest_set: InterestSet::new(number),
            rates: Arc::new(RateTable::new(RADIUS / 2.0, UpdateRates::far(RADIUS / 2.0))),
            viewer: Viewer::with_bytes_per_round_max(400),
            lane: Lane::default(),
            packets: VecDeque::new(),
            acknowledgements: Vec::new(),
            last_packet: 0,
            replica: Replica::default(),
            described: BTreeSet::new(),
            known: BTreeMap::new(),
            in_sight_since: BTreeMap::new(),
            arrived: None,
        }
    }

    fn show(&mut self, id: u32, tick: u32) {
        // A client that has not yet received that an entity left its interest set still shows the last row of the entity.
        let is_unheard = matches!(self.lane.waiting.get(&id), Some(State::OutOfSight(_)));
        self.lane.put(id, State::Described);
        if !is_unheard {
            self.in_sight_since.insert(id, tick);
        }
    }

    fn lose(&mut self, id: u32, state: State) {
        self.lane.put(id, state);
    }

    /// Sends one step of the world on lane 0, as a server does.
    pub(crate) fn tell(&mut self, tick: u32, interest_grid: &InterestGrid, is_round: bool) {
        let sees = |interest_set: &InterestSet, section: Option<SectionId>| {
            section.is_some_and(|at| interest_set.sees(at))
        };
        self.interest_set.add_created(&interest_grid.created());
        for moved in interest_grid.relocations() {
            match (sees(&self.interest_set, moved.from), sees(&self.interest_set, moved.to)) {
                (false, true) => self.show(moved.id, tick),
                (true, false) if interest_grid.entities().any(|(placed, _)| placed.id == moved.id) => {
                    self.lose(moved.id, State::OutOfSight(tick));
                }
                (true, false) => self.lose(moved.id, State::Gone),
                _ => {}
            }
        }
        if !is_round {
            return;
        }
        let look = self.interest_set.refresh(interest_grid.grid_snapshot(), Some(self.eye), 25);
        for section in look.left {
            interest_grid.members(section).iter().for_each(|id| self.lose(*id, State::OutOfSight(tick)));
        }
        for section in look.entered {
            interest_grid.members(section).iter().for_each(|id| self.show(*id, tick));
        }
    }

    pub(crate) fn round(&mut self, history: &History) {
        self.viewer.set_interest(&self.interest_set, &self.rates, 2 * ROUND_STEPS);
        self.viewer.begin_round(history.frames(), None);
    }

    pub(crate) fn send(&mut self, step: u32, history: &History, loss: u32, chance: &mut Chance) {
        while self.viewer.has_more() {
            let mut payload = Vec::new();
            self.last_packet += 1;
            self.viewer.fill(history.frames(), self.last_packet, 1_000, &mut payload);
            // A payload that has no room for any group waits for the next round.
            if payload.is_empty() {
                break;
            }
            let delay = if chance.happens(loss) { LOST } else { chance.below(9) };
            self.packets.push_back((step + delay, self.last_packet, payload));
        }
    }

    pub(crate) fn receive(&mut self, step: u32, link: &Link, chance: &mut Chance) {
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
        // The server learns of a lost packet some steps later.
        while self.packets.front().is_some_and(|(at, ..)| *at >= LOST && at - LOST + 12 < step) {
            let (_, number, _) = self.packets.pop_front().unwrap();
            self.viewer.on_outcome(number, false);
        }
        for (id, state) in self.lane.deliver(link.states_percent, chance) {
            match state {
                State::Described => {
                    self.described.insert(id);
                    self.learn(id);
                    self.note(|| json!({ "in_sight": id }));
                }
                State::OutOfSight(tick) => {
                    self.described.remove(&id);
                    self.known.remove(&id);
                    self.replica.hide(id, tick);
                    self.note(|| json!({ "out_of_sight": id, "tick": tick }));
                }
                State::Gone => {
                    self.described.remove(&id);
                    self.known.remove(&id);
                    self.note(|| json!({ "gone": id }));
                }
            }
        }
    }

    fn apply(&mut self, payload: &[u8]) {
        let applied = self.replica.apply(payload).expect("a sender of ours wrote it");
        assert_eq!(
            applied.missing, 0,
            "NOWCAST_SEED={}: client {} has every baseline that frames are encoded against",
            self.seed, self.number
        );
        for id in self.described.clone() {
            self.learn(id);
        }
    }

    /// Stores the position of an entity, if it is in the newest frame of a group.
    fn learn(&mut self, id: u32) {
        if let Some(row) = self.replica.row(id) {
            self.known.insert(id, (row, self.replica.quantization(id)));
        }
    }

    /// Reports arrived packets to the server, in order.
    fn acknowledge(&mut self, step: u32) {
        let (heard, later): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.acknowledgements).into_iter().partition(|(at, _)| *at <= step);
        self.acknowledgements = later;
        heard.into_iter().for_each(|(_, number)| self.viewer.on_outcome(number, true));
    }

    /// For some rounds the client receives only the tick.
    pub(crate) fn lull(&mut self, tick: u32) {
        self.note(|| json!({ "lull": LULL_ROUNDS, "tick": tick, "every": ROUND_STEPS }));
        for round in 1..=LULL_ROUNDS {
            let mut payload = tick.wrapping_add(round * ROUND_STEPS).to_le_bytes().to_vec();
            payload.extend_from_slice(&[0, 0]);
            self.apply(&payload);
        }
    }

    /// The described entities with a known row, each with that row.
    pub(crate) fn shown(&self) -> BTreeMap<u32, Row> {
        self.known.iter().map(|(id, (row, _))| (*id, *row)).collect()
    }

    /// Records the rows that the client shows.
    pub(crate) fn note_shown(&mut self) {
        if self.arrived.is_some() {
            let shown = self.known.iter().map(
                |(id, (row, quantization))| json!({ "id": id, "row": row, "grain": quantization.map(Quantization::to_number) }),
            );
            let shown: Vec<_> = shown.collect();
            self.note(|| json!({ "shown": shown }));
        }
    }

    fn note(&mut self, what: impl FnOnce() -> Value) {
        if let Some(arrived) = &mut self.arrived {
            arrived.push(what());
        }
    }

    /// Returns the rows that the client must show according to the server.
    pub(crate) fn expected(&self, interest_grid: &InterestGrid, history: &History) -> BTreeMap<u32, Row> {
        let is_seen =
            |id: u32| interest_grid.section_of(id).is_some_and(|section| self.interest_set.sees(section));
        history.rows().filter(|(id, _)| is_seen(*id)).map(|(id, row)| (id, *row)).collect()
    }
}

/// The outcome of a sent packet.
#[derive(Clone, Copy)]
pub(crate) struct Link {
    /// Percentage of payloads that are lost.
    pub(crate) loss: u32,
    /// Percentage of the waiting states of lane 0 that arrive in a step.
    pub(crate) states_percent: u32,
    /// Steps within which the server learns of arrived packets.
    pub(crate) ack_steps_max: u32,
}
