//! What a bot wants: it strolls, fetches blocks, piles them up, throws some, and says so. No sockets in here.

use std::collections::HashMap;

use nowcast_server::plain::{ClientMessage, Entity, EntityKind, Input, ServerMessage};

/// Thoughts a second; every one is an input, well below what a server allows.
pub(super) const THOUGHTS_HZ: u32 = 20;

/// Half of the ground's width on which bots like to be.
const PLAYGROUND: f64 = 24.0;
/// From here a grab succeeds.
const GRAB_DISTANCE: f64 = 1.5;
/// A mood ends after this many thoughts, reached or not: something may be in the way.
const PATIENCE: u32 = 8 * THOUGHTS_HZ;

/// One bot's mind: what it has seen, and what it is about to do.
pub(super) struct Brain {
    random: u64,
    me: u32,
    places: HashMap<u32, [f64; 3]>,
    /// Blocks that may be carried, and whether somebody does.
    blocks: HashMap<u32, bool>,
    held: Option<u32>,
    mood: Mood,
    patience: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Stroll { to: [f64; 2], run: bool },
    Fetch { block: u32 },
    Pile { at: [f64; 2] },
    Throw { at: [f64; 2] },
}

impl Brain {
    pub(super) fn new(seed: u64) -> Brain {
        Brain {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            me: 0,
            places: HashMap::new(),
            blocks: HashMap::new(),
            held: None,
            mood: Mood::Stroll { to: [0.0, 8.0], run: false },
            patience: 0,
        }
    }

    /// Takes in what the server says.
    pub(super) fn see(&mut self, message: &ServerMessage) {
        match message {
            ServerMessage::Welcome { id, .. } => self.me = *id,
            ServerMessage::Spawn { entities } => entities.iter().for_each(|entity| self.meet(entity)),
            ServerMessage::Despawn { ids } => ids.iter().for_each(|id| {
                self.places.remove(id);
            }),
            ServerMessage::Move { entities, .. } => {
                for moved in entities {
                    self.places.insert(moved.id, [moved.position_x, moved.position_y, moved.position_z]);
                }
            }
            ServerMessage::Hold { avatar, block } => self.notice_hold(*avatar, *block),
            _ => {}
        }
    }

    /// One thought, a twentieth of a second: what the controls say, and now and then a deed.
    pub(super) fn think(&mut self) -> Vec<ClientMessage> {
        let Some(&here) = self.places.get(&self.me) else { return Vec::new() };
        let mut says = Vec::new();
        if self.patience == 0 {
            self.change_mood(here);
        }
        self.patience -= 1;
        let target = match self.mood {
            Mood::Stroll { to, .. } | Mood::Pile { at: to } | Mood::Throw { at: to } => to,
            Mood::Fetch { block } => self.places.get(&block).map_or([here[0], here[2]], |p| [p[0], p[2]]),
        };
        let away = [target[0] - here[0], target[1] - here[2]];
        let distance = away[0].hypot(away[1]);
        let reached = distance < GRAB_DISTANCE;
        let yaw = (-away[0]).atan2(-away[1]);
        let run = matches!(self.mood, Mood::Stroll { run: true, .. });
        let forward = if reached { 0.0 } else { 1.0 };
        says.push(ClientMessage::Input(Input { forward, right: 0.0, yaw, run, jump: self.chance(200) }));
        if reached {
            self.act(&mut says);
        }
        if self.chance(600) {
            says.push(ClientMessage::Chat { text: self.remark().into() });
        }
        says
    }

    fn meet(&mut self, entity: &Entity) {
        if entity.kind != EntityKind::Static {
            self.places.insert(entity.id, entity.p);
        }
        if entity.kind == EntityKind::Block {
            self.blocks.insert(entity.id, false);
        }
    }

    fn notice_hold(&mut self, avatar: u32, block: Option<u32>) {
        if avatar == self.me {
            if let Some(old) = self.held {
                self.blocks.insert(old, false);
            }
            self.held = block;
            self.patience = 0;
        }
        if let Some(block) = block {
            self.blocks.insert(block, true);
        }
    }

    /// At the goal.
    fn act(&mut self, says: &mut Vec<ClientMessage>) {
        match self.mood {
            Mood::Fetch { block } => says.push(ClientMessage::Grab { block: Some(block) }),
            Mood::Pile { .. } => says.push(ClientMessage::Throw { power: 0.0, pitch: 0.0 }),
            Mood::Throw { .. } => says.push(ClientMessage::Throw { power: 1.0, pitch: 0.4 }),
            Mood::Stroll { .. } => {}
        }
        // One deed a mood; whether it succeeded shows in what the server says next.
        self.patience = 0;
    }

    fn change_mood(&mut self, here: [f64; 3]) {
        self.patience = PATIENCE;
        let dice = self.draw(10);
        self.mood = match (self.held, dice) {
            // Bots with the same number modulo eight build one pile together.
            (Some(_), 0..=5) => {
                let angle = f64::from(self.me % 8) * std::f64::consts::TAU / 8.0;
                Mood::Pile { at: [11.0 * angle.sin(), 11.0 * angle.cos()] }
            }
            (Some(_), _) => Mood::Throw { at: self.somewhere() },
            (None, 0..=4) => match self.nearest_block(here) {
                Some(block) => Mood::Fetch { block },
                None => Mood::Stroll { to: self.somewhere(), run: true },
            },
            (None, _) => Mood::Stroll { to: self.somewhere(), run: dice > 7 },
        };
    }

    /// The nearest block that nobody carries and that lies low enough.
    fn nearest_block(&self, here: [f64; 3]) -> Option<u32> {
        let free = self.blocks.iter().filter(|(_, carried)| !**carried);
        let near = free.filter_map(|(id, _)| {
            let place = self.places.get(id).filter(|place| place[1] < 1.6)?;
            Some(((place[0] - here[0]).hypot(place[2] - here[2]), *id))
        });
        near.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, id)| id)
    }

    fn somewhere(&mut self) -> [f64; 2] {
        let mut coordinate = || (self.draw(1000) as f64 / 500.0 - 1.0) * PLAYGROUND;
        [coordinate(), coordinate()]
    }

    fn remark(&mut self) -> &'static str {
        const REMARKS: [&str; 6] = [
            "hello!",
            "nice tower",
            "mind your head",
            "who built this?",
            "one more on top",
            "it was like that when I came",
        ];
        REMARKS[self.draw(REMARKS.len() as u64) as usize]
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.draw(one_in) == 0
    }

    /// Xorshift (Marsaglia 2003), good enough for whims.
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(id: u32, kind: EntityKind, p: [f64; 3]) -> Entity {
        Entity { id, kind, name: None, size: None, color: 0, p, r: [0.0; 3] }
    }

    #[test]
    fn a_bot_that_sees_a_block_sooner_or_later_takes_it_and_lets_go_of_it() {
        let mut brain = Brain::new(3);
        let welcome = ServerMessage::Welcome {
            protocol: 1,
            id: 9,
            room: "x".into(),
            step_hz: 60,
            network_hz: 10,
            tick: 0,
        };
        brain.see(&welcome);
        assert!(brain.think().is_empty(), "it knows not where it is");
        let me = entity(9, EntityKind::Avatar, [0.0, 0.9, 0.0]);
        let block = entity(4, EntityKind::Block, [1.0, 0.25, 0.0]);
        brain.see(&ServerMessage::Spawn { entities: vec![block, me] });
        let (mut grabs, mut throws) = (0, 0);
        for _ in 0..20_000 {
            for said in brain.think() {
                assert_eq!(said.check(), Ok(()), "{said:?}");
                match said {
                    ClientMessage::Grab { block } => {
                        assert_eq!(block, Some(4));
                        grabs += 1;
                        brain.see(&ServerMessage::Hold { avatar: 9, block: Some(4) });
                    }
                    ClientMessage::Throw { .. } => {
                        throws += 1;
                        brain.see(&ServerMessage::Hold { avatar: 9, block: None });
                    }
                    // The bot gets where it looks, at once.
                    ClientMessage::Input(input) if input.forward > 0.0 => {
                        let here = brain.places.get_mut(&9).unwrap();
                        here[0] -= input.yaw.sin();
                        here[2] -= input.yaw.cos();
                    }
                    _ => {}
                }
            }
        }
        assert!(grabs > 20 && throws > 20, "{grabs} grabs and {throws} throws");
    }
}
