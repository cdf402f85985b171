//! The decisions of a bot. It strolls, walks to entities, uses the world's actions on them, carries them, and chats. This module
//! uses no sockets.

use std::collections::{HashMap, HashSet};

use nowcast_wire::Value;
use nowcast_world_protocol::plain::{ClientMessage, Input};

use super::abilities::{Abilities, Ability, Area, Force};

/// Number of decisions a second. Each one is an input, so the rate is well below a server's limit.
pub(super) const THOUGHTS_HZ: u32 = 20;

/// Distance at which a bot has reached a place, in metres.
const ARRIVED: f64 = 1.5;
/// Number of thoughts after which a mood ends, even if its goal is not reached. An obstacle may be in the way.
const PATIENCE: u32 = 8 * THOUGHTS_HZ;
/// Height above a bot's centre from which entities are out of reach, in metres.
const OVERHEAD: f64 = 0.7;
/// Distance of the piles that bots build, as a share of half the ground's width.
const PILES: f64 = 0.46;

/// The state of one bot: its knowledge and its plans.
pub(super) struct Brain {
    random: u64,
    player: u32,
    /// The bot's own entity.
    me: Option<u32>,
    abilities: Abilities,
    places: HashMap<u32, [f64; 3]>,
    entities: HashMap<u32, Known>,
    ground: Area,
    mood: Mood,
    patience: u32,
}

/// A known entity.
struct Known {
    kind: String,
    /// The entities that its attributes hold.
    named: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Mood {
    Stroll {
        to: [f64; 2],
        run: bool,
    },
    /// Walks to an entity and uses an action on it.
    Fetch {
        entity: u32,
    },
    /// Walks to a place and uses an action with the carried entity.
    Drop {
        at: [f64; 2],
        force: Force,
    },
}

impl Brain {
    pub(super) fn new(seed: u64) -> Brain {
        Brain {
            random: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            player: 0,
            me: None,
            abilities: Abilities::default(),
            places: HashMap::new(),
            entities: HashMap::new(),
            ground: Area::default(),
            mood: Mood::Stroll { to: [0.0, 8.0], run: false },
            patience: 0,
        }
    }

    /// Sets the bot's own number.
    pub(super) fn welcomed(&mut self, player: u32) {
        self.player = player;
    }

    /// Sets the abilities.
    pub(super) fn offered(&mut self, abilities: Abilities) {
        self.abilities = abilities;
        self.patience = 0;
    }

    /// Records the avatar of a player.
    pub(super) fn moves(&mut self, player: u32, avatar: Option<u32>) {
        if player == self.player {
            self.me = avatar;
        }
    }

    /// Records an entity, with its `place` if that is known.
    pub(super) fn record_entity(
        &mut self,
        id: u32,
        kind: &str,
        scale: [f64; 3],
        place: Option<[f64; 3]>,
        attributes: &Value,
    ) {
        if let Some(place) = place {
            self.places.insert(id, place);
            if let Some(ground) = self.abilities.ground(kind, scale, place)
                && (self.ground == Area::default() || ground.square_metres() > self.ground.square_metres())
            {
                self.ground = ground;
            }
        }
        let known = Known { kind: kind.to_owned(), named: self.abilities.named(kind, attributes) };
        self.know(id, known);
    }

    /// Records an entity's attributes.
    pub(super) fn notice(&mut self, id: u32, attributes: &Value) {
        let Some(Known { kind, .. }) = self.entities.get(&id) else { return };
        let known = Known { kind: kind.clone(), named: self.abilities.named(kind, attributes) };
        self.know(id, known);
    }

    /// If the bot carries an entity, this determines its next goal.
    fn know(&mut self, id: u32, known: Known) {
        let held = self.held();
        self.entities.insert(id, known);
        if self.held() != held {
            self.patience = 0;
        }
    }

    /// Records the new place of an entity.
    pub(super) fn moved(&mut self, id: u32, place: [f64; 3]) {
        self.places.insert(id, place);
    }

    /// Removes an entity.
    pub(super) fn lose(&mut self, id: u32) {
        self.places.remove(&id);
        self.entities.remove(&id);
    }

    /// Makes one decision, twenty times a second. Returns the input, and sometimes an action.
    pub(super) fn think(&mut self) -> Vec<ClientMessage> {
        let here = self.me.and_then(|me| self.places.get(&me).copied());
        let Some(here) = here else { return Vec::new() };
        let mut says = Vec::new();
        if self.patience == 0 {
            self.change_mood(here);
        }
        self.patience -= 1;
        let (target, near) = match self.mood {
            Mood::Stroll { to, .. } | Mood::Drop { at: to, .. } => (Some(to), ARRIVED),
            Mood::Fetch { entity } => (self.places.get(&entity).map(|p| [p[0], p[2]]), self.reach()),
        };
        let away = target.map_or([0.0; 2], |target| [target[0] - here[0], target[1] - here[2]]);
        let reached = away[0].hypot(away[1]) < near;
        let yaw = (-away[0]).atan2(-away[1]);
        let run = matches!(self.mood, Mood::Stroll { run: true, .. });
        let forward = if reached { 0.0 } else { 1.0 };
        says.push(ClientMessage::Input(Input { forward, right: 0.0, yaw, run, jump: self.chance(200) }));
        if reached {
            if target.is_some() {
                self.act(&mut says);
            }
            // There is one action for each mood. The next messages of the server show whether it succeeded.
            self.patience = 0;
        }
        if self.chance(600) {
            says.push(ClientMessage::Chat { text: self.remark().into() });
        }
        says
    }

    /// Returns the entity that the bot's own avatar carries.
    fn held(&self) -> Option<u32> {
        let named = &self.entities.get(&self.me?)?.named;
        named
            .iter()
            .copied()
            .find(|id| self.entities.get(id).is_some_and(|known| self.abilities.is_some_target(&known.kind)))
    }

    /// Returns the distance at which a bot uses an action on its target.
    fn reach(&self) -> f64 {
        self.fetching().iter().map(Ability::reach).fold(ARRIVED, f64::min)
    }

    /// Returns the actions on entities. If the world has no such action, returns all other actions, which the bot then uses
    /// next to an entity.
    fn fetching(&self) -> &[Ability] {
        let Abilities { targeted, untargeted, .. } = &self.abilities;
        if targeted.is_empty() { untargeted } else { targeted }
    }

    /// Uses an action at the goal.
    fn act(&mut self, says: &mut Vec<ClientMessage>) {
        let (able, target, force): (Vec<Ability>, _, _) = match self.mood {
            Mood::Stroll { .. } => return,
            Mood::Fetch { entity } => {
                let Some(known) = self.entities.get(&entity) else { return };
                let fits = |ability: &&Ability| self.abilities.is_target(ability, &known.kind);
                (self.fetching().iter().filter(fits).cloned().collect(), Some(entity), Force::Full)
            }
            Mood::Drop { force, .. } => {
                // To put an entity down, the bot uses an action without a force. To throw an entity, it uses an action with a
                // force.
                let untargeted = &self.abilities.untargeted;
                let fits = |ability: &&Ability| ability.has_charge() == (force == Force::Full);
                let fitting: Vec<_> = untargeted.iter().filter(fits).cloned().collect();
                (if fitting.is_empty() { untargeted.clone() } else { fitting }, None, force)
            }
        };
        if able.is_empty() {
            return;
        }
        let ability = &able[self.draw(able.len() as u64) as usize];
        let arguments = ability.fill(target, force, |below| self.draw(below)).into();
        says.push(ClientMessage::Act { action: ability.name().to_owned(), arguments, number: None });
    }

    fn change_mood(&mut self, here: [f64; 3]) {
        self.patience = PATIENCE;
        let dice = self.draw(10);
        self.mood = match (self.held(), dice) {
            // Bots whose numbers are equal modulo eight build a pile together.
            (Some(_), 0..=5) => {
                let angle = f64::from(self.player % 8) * std::f64::consts::TAU / 8.0;
                let Area { centre, half } = self.ground;
                let at =
                    [centre[0] + PILES * half[0] * angle.sin(), centre[1] + PILES * half[1] * angle.cos()];
                Mood::Drop { at, force: Force::Gentle }
            }
            (Some(_), _) => Mood::Drop { at: self.random_place(), force: Force::Full },
            (None, 0..=4) => match self.nearest(here) {
                Some(entity) => Mood::Fetch { entity },
                // No target is left, and no action of the world needs a target.
                None if self.abilities.targeted.is_empty() => {
                    Mood::Drop { at: self.random_place(), force: Force::Full }
                }
                None => Mood::Stroll { to: self.random_place(), run: true },
            },
            (None, _) => Mood::Stroll { to: self.random_place(), run: dice > 7 },
        };
    }

    /// Returns the nearest target that is not carried and low enough to reach.
    fn nearest(&self, here: [f64; 3]) -> Option<u32> {
        let carried: HashSet<u32> = self.entities.values().flat_map(|known| &known.named).copied().collect();
        let able = self.fetching();
        let fits = |known: &Known| able.iter().any(|ability| self.abilities.is_target(ability, &known.kind));
        let free = self
            .entities
            .iter()
            .filter(|(id, known)| Some(**id) != self.me && !carried.contains(id) && fits(known));
        let near = free.filter_map(|(id, _)| {
            let place = self.places.get(id).filter(|place| place[1] < here[1] + OVERHEAD)?;
            Some(((place[0] - here[0]).hypot(place[2] - here[2]), *id))
        });
        near.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))).map(|(_, id)| id)
    }

    fn random_place(&mut self) -> [f64; 2] {
        let Area { centre, half } = self.ground;
        let mut coordinate = |axis: usize| centre[axis] + (self.draw(1000) as f64 / 500.0 - 1.0) * half[axis];
        [coordinate(0), coordinate(1)]
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

    /// Returns a random number below `below`, by Xorshift (Marsaglia 2003). The quality of these numbers suffices for decisions
    /// of bots.
    fn draw(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) % below
    }
}

#[cfg(test)]
mod tests {
    use nowcast_world::Attributes;

    use super::super::abilities::{ActionOffer, KindOffer};
    use super::*;

    fn map(pairs: &[(&str, Value)]) -> Value {
        Value::Map(pairs.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    }

    fn kind(name: &str, body: Value, walker: Value, attributes: &str) -> KindOffer {
        let attributes = Attributes::parse(attributes).unwrap().fields().to_vec();
        KindOffer { name: name.into(), body, walker, attributes }
    }

    fn action(name: &str, arguments: &str, hint: Value) -> ActionOffer {
        let arguments = Attributes::parse(arguments).unwrap().fields().to_vec();
        ActionOffer { name: name.into(), arguments, hint }
    }

    /// Returns the kinds of people, and of boxes that people can push.
    fn kinds() -> Vec<KindOffer> {
        vec![
            kind("person", Value::Nil, map(&[]), "color: text, holding: u32?"),
            kind("block", map(&[("motion", "dynamic".into())]), Value::Nil, "holder: u32?"),
        ]
    }

    /// Makes a bot as player 2 and entity 9, next to entity 4, with these actions.
    fn bot_beside_a_block(actions: &[ActionOffer]) -> Brain {
        let mut brain = Brain::new(3);
        brain.welcomed(2);
        brain.offered(Abilities::new(kinds(), actions));
        assert!(brain.think().is_empty(), "its position is unknown");
        brain.record_entity(4, "block", [1.0; 3], Some([1.0, 0.25, 0.0]), &map(&[("holder", Value::Nil)]));
        brain.record_entity(9, "person", [1.0; 3], Some([0.0, 0.9, 0.0]), &holding(Value::Nil));
        brain.moves(2, Some(9));
        brain
    }

    fn holding(what: Value) -> Value {
        map(&[("color", "#ff0000".into()), ("holding", what)])
    }

    /// Runs the bot for a while. The bot reaches each target at once. `acted` receives the actions of the bot.
    fn live(brain: &mut Brain, mut acted: impl FnMut(&mut Brain, &str, &Value)) {
        for _ in 0..20_000 {
            for said in brain.think() {
                assert_eq!(said.check(), Ok(()), "{said:?}");
                match said {
                    ClientMessage::Act { action, arguments, .. } => acted(brain, &action, &arguments.0),
                    ClientMessage::Input(input) if input.forward > 0.0 => {
                        let here = brain.places.get_mut(&9).unwrap();
                        here[0] -= input.yaw.sin();
                        here[2] -= input.yaw.cos();
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn a_bot_that_sees_a_block_eventually_takes_and_releases_it() {
        let grab_hint = map(&[("target", "block".into()), ("of", "block".into()), ("reach", 1.9.into())]);
        let throw_hint = map(&[("charge", "power".into()), ("pitch", "pitch".into())]);
        let mut brain = bot_beside_a_block(&[
            action("grab", "block: u32?", grab_hint),
            action("throw", "power: range(0, 1, 0.01), pitch: range(-1.5, 1.5, 0.01)", throw_hint),
            action("put_down", "", Value::Nil),
        ]);
        let mut deeds: HashMap<String, u32> = HashMap::new();
        live(&mut brain, |brain, action, arguments| {
            *deeds.entry(action.to_owned()).or_default() += 1;
            match action {
                "grab" => {
                    assert_eq!(brain.held(), None);
                    assert_eq!(arguments, &map(&[("block", 4.into())]));
                    brain.notice(9, &holding(4.into()));
                    assert_eq!(brain.held(), Some(4));
                }
                "throw" => {
                    assert_eq!(arguments, &map(&[("power", 1.0.into()), ("pitch", 0.4.into())]));
                    brain.notice(9, &holding(Value::Nil));
                }
                _ => brain.notice(9, &holding(Value::Nil)),
            }
        });
        assert!(["grab", "throw", "put_down"].iter().all(|deed| deeds[*deed] > 20), "{deeds:?}");
    }

    #[test]
    fn entities_carried_by_other_players_are_left_alone() {
        let hint = map(&[("target", "block".into()), ("of", "block".into())]);
        let mut brain = bot_beside_a_block(&[action("grab", "block: u32?", hint)]);
        brain.record_entity(10, "person", [1.0; 3], None, &holding(4.into()));
        live(&mut brain, |_, action, arguments| panic!("{action} {arguments:?}"));
        brain.lose(10);
        let mut grabs = 0;
        live(&mut brain, |_, _, _| grabs += 1);
        assert!(grabs > 20, "{grabs} grabs");
    }

    #[test]
    fn without_actions_on_entities_bots_act_next_to_pushable_ones() {
        let mut brain = bot_beside_a_block(&[action("kick", "power: range(0, 1, 0.01)", Value::Nil)]);
        let mut kicks = 0;
        live(&mut brain, |brain, action, arguments| {
            assert_eq!(action, "kick");
            assert!((0.0..=1.0).contains(&arguments.get("power").and_then(Value::as_f64).unwrap()));
            let ([x, _, z], block) = (brain.places[&9], brain.places[&4]);
            assert!((x - block[0]).hypot(z - block[2]) < ARRIVED, "the bot is near");
            kicks += 1;
        });
        assert!(kicks > 20, "{kicks} kicks");
    }

    #[test]
    fn in_a_world_without_actions_bots_stroll() {
        let mut brain = bot_beside_a_block(&[]);
        live(&mut brain, |_, action, _| panic!("there is no {action}"));
        brain.lose(9);
        assert!(brain.think().is_empty(), "the bot has no body");
    }
}
