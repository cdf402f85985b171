//! A world whose entities spawn, despawn and move, and clients whose eyes move.

use std::collections::BTreeMap;

use nowcast_replication::{
    History, InterestGrid, Moving, Placed, Quantization, RatesId, Reach, Row, Transform,
};

use crate::chance::Chance;
use crate::client::{Client, LOST, LULL_ROUNDS, Link, RADIUS, ROUND_STEPS};

const ENTITIES_MAX: usize = 90;
const CLIENTS: usize = 3;
/// Steps between two changes of an entity's precision.
const PRECISION_STEPS: u32 = 150;
/// Maximum position errors of the entities.
const PRECISIONS_METRES: [Option<f32>; 3] = [None, Some(0.03), Some(0.3)];

/// Steps at the end in which nothing is lost and nothing moves.
const QUIET_STEPS: u32 = 240;

const BEFORE_LULL_STEPS: u32 = 30;

/// A position out of range of every section that has a radius.
const NOWHERE: [f32; 3] = [9_000.0, 0.0, 9_000.0];

/// One entity of the world.
#[derive(Clone, Copy)]
struct Body {
    position: [f32; 3],
    velocity: [f32; 3],
    reach: Reach,
    quantization: Quantization,
}

pub(crate) struct Play {
    chance: Chance,
    tick: u32,
    bodies: BTreeMap<u32, Body>,
    last_id: u32,
    interest_grid: InterestGrid,
    history: History,
    pub(crate) clients: Vec<Client>,
    /// The position of each entity at each step.
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
            interest_grid: InterestGrid::default(),
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
        let quantization = PRECISIONS_METRES[self.last_id as usize % PRECISIONS_METRES.len()];
        let quantization = Quantization::within(quantization, quantization);
        self.bodies.insert(self.last_id, Body { position, velocity, reach, quantization });
    }

    /// Entities spawn, despawn, move, jump and change owners; eyes move and jump.
    fn live(&mut self) {
        if self.bodies.len() < ENTITIES_MAX && self.chance.happens(15) {
            self.appear();
        }
        let chance = &mut self.chance;
        let ids: Vec<u32> = self.bodies.keys().copied().collect();
        if chance.happens(10) {
            self.bodies.remove(&ids[chance.below(ids.len() as u32) as usize]);
        }
        for (id, body) in &mut self.bodies {
            if chance.happens(1) {
                body.position = [chance.coordinate(), 0.0, chance.coordinate()];
            }
            if chance.happens(2) {
                body.velocity = [chance.coordinate() / 60.0, 0.0, chance.coordinate() / 60.0];
            }
            if self.tick.wrapping_add(*id).is_multiple_of(PRECISION_STEPS) {
                // The precision of its kind changes.
                let quantization =
                    PRECISIONS_METRES[(self.tick / PRECISION_STEPS) as usize % PRECISIONS_METRES.len()];
                body.quantization = Quantization::within(quantization, quantization);
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

    /// Moves the eyes of some clients away for a long time, and then back. They may have forgotten the entities, and their
    /// earlier acknowledgements may arrive only now.
    fn lull(&mut self, step: u32) {
        let eyes: Vec<[f32; 3]> = self.clients.iter().map(|client| client.eye).collect();
        for client in &mut self.clients {
            if self.chance.happens(70) {
                client.eye = NOWHERE;
            }
        }
        // Runs until nothing is left to send, because a real server would send until then, too.
        let link = Link { loss: 0, states_percent: 100, ..self.link };
        let link = std::mem::replace(&mut self.link, link);
        for more in 0..BEFORE_LULL_STEPS {
            self.step(step + more);
        }
        for client in &mut self.clients {
            // Packets in flight arrive in the meantime.
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
            quantization: body.quantization,
            rates: RatesId::default(),
        });
        self.interest_grid.update(self.tick, placed);
        let is_round = |client: &Client| (step + client.number).is_multiple_of(ROUND_STEPS);
        for client in &mut self.clients {
            let is_round = is_round(client);
            client.tell(self.tick, &self.interest_grid, is_round);
        }
        let moving = self.bodies.iter().zip(self.interest_grid.entities()).filter_map(
            |((id, body), (placed, section))| {
                let transform = Transform { position: body.position, rotation: [0.0, 0.0, 0.0, 1.0] };
                Some(Moving {
                    id: *id,
                    transform,
                    section: section?,
                    size: 1.0,
                    quantization: placed.quantization,
                    rates: placed.rates,
                    flight: None,
                })
            },
        );
        self.history.publish(self.tick, moving);
        for (id, body) in &self.bodies {
            let transform = Transform { position: body.position, rotation: [0.0, 0.0, 0.0, 1.0] };
            let row = body.quantization.row_of(&transform);
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

    /// Checks that no entity is shown at a row that is older than its entry into the interest set.
    fn check_past(&self, seed: u64) {
        for client in &self.clients {
            for (id, row) in client.shown() {
                let Some(since) = client.in_sight_since.get(&id) else { continue };
                // If the newest state of an entity has not arrived, the entity may have been in the client's interest set
                // for longer.
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

/// Plays a seed with random spawns, moves and losses. Returns the play and a digest of all results. `is_noted` records
/// the messages that arrive.
pub(crate) fn play(seed: u64, steps: u32, is_noted: bool) -> (Play, u64) {
    let mut play = Play::new(seed);
    if is_noted {
        play.clients.iter_mut().for_each(|client| client.arrived = Some(Vec::new()));
    }
    let in_sight = |play: &Play| -> usize {
        play.clients.iter().map(|client| client.expected(&play.interest_grid, &play.history).len()).sum()
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
    // From here on nothing moves. Lost values are sent again until all clients have them.
    for more in 0..QUIET_STEPS {
        if more == QUIET_STEPS / 2 {
            play.link.loss = 0;
        }
        play.step(step + more);
    }
    for client in &mut play.clients {
        let due = client.expected(&play.interest_grid, &play.history);
        assert_eq!(client.shown(), due, "NOWCAST_SEED={seed}: client {}", client.number);
        client.note_shown();
    }
    (play, changes)
}
