//! A client's view of its world, with the same types for both protocols.

use std::collections::BTreeMap;

use nowcast_wire::{Shape, Value};
use nowcast_world_client::{EntityView, Welcome};
use nowcast_world_protocol::plain::ServerMessage;
use nowcast_world_protocol::session::{self, FromWorld, Outcome, Player};
use serde_json::Value as Json;

/// The state that a client received.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The name of the world in the room.
    pub world: String,
    pub version: u64,
    /// The names of the kinds, in the order of the definition.
    pub kinds: Vec<String>,
    /// The names of actions, with the names of their arguments.
    pub actions: BTreeMap<String, Vec<String>>,
    pub declared: Vec<String>,
    /// Hashes of files, by their names.
    pub assets: BTreeMap<String, String>,
    pub entities: BTreeMap<u32, Seen>,
    pub players: BTreeMap<u32, Player>,
    /// The values on screens, by slot and by whether the value is for this client alone. Cleared values are absent.
    pub screens: BTreeMap<(String, bool), Json>,
    pub happened: Vec<(String, Json)>,
    pub refused: Vec<(String, String)>,
    /// The numbers of confirmed actions.
    pub done: Vec<u32>,
    pub undone: Vec<u32>,
    /// Whether the client resumed its earlier player.
    pub resumed: bool,
    /// Entities that the client owns, with the numbers of its requests.
    pub granted: Vec<(u32, u32)>,
    /// Refused requests of the client as an owner: request, entity, reason.
    pub denied: Vec<(String, u32, String)>,
    pub reports: Vec<(Outcome, u64, String)>,
    pub notices: Vec<String>,
    /// Chat lines of this client that were dropped, with the reasons.
    pub unsaid: Vec<(String, String)>,
    pub said: Vec<(u32, String, String)>,
    /// The newest received step.
    pub tick: u64,
    screens_by_number: BTreeMap<u32, (String, bool)>,
}

/// An entity, without its current position.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub kind: String,
    pub scale: [f64; 3],
    pub parent: Option<u32>,
    pub owner: Option<u32>,
    pub attributes: Json,
    /// The position in the entity's description. On sessions, movable entities have their position in rows only.
    pub place: Option<[f64; 3]>,
}

impl View {
    /// Returns the avatar of a player, if the player has one.
    pub fn avatar(&self, player: u32) -> Option<u32> {
        self.players.get(&player)?.avatar
    }

    /// Returns the entities of one kind.
    pub fn of_kind<'v>(&'v self, kind: &'v str) -> impl Iterator<Item = (u32, &'v Seen)> {
        self.entities.iter().filter(move |(_, seen)| seen.kind == kind).map(|(id, seen)| (*id, seen))
    }

    /// Returns the value in a screen slot. A value for this client alone has priority over a value for all.
    pub fn screen(&self, place: &str) -> Option<&Json> {
        [true, false].iter().find_map(|personal| self.screens.get(&(place.to_owned(), *personal)))
    }

    /// Returns the payloads of the events with one name.
    pub fn heard<'v>(&'v self, name: &'v str) -> impl Iterator<Item = &'v Json> {
        self.happened.iter().filter(move |(event, _)| event == name).map(|(_, payload)| payload)
    }

    /// Checks that steps arrive in order, even after a rollback of the world.
    pub fn take_tick(&mut self, tick: u64) {
        assert!(tick >= self.tick, "step {tick} arrives after step {}", self.tick);
        self.tick = tick;
    }

    /// Applies a message of the plain protocol.
    pub fn take_plain(&mut self, message: &ServerMessage) {
        match message {
            ServerMessage::Welcome { world, tick, resumed, .. } => {
                self.resumed = *resumed;
                self.world.clone_from(world);
                self.take_tick(*tick);
            }
            ServerMessage::Define { version, kinds, actions, events, assets } => {
                self.version = *version;
                self.kinds = kinds.iter().map(|kind| kind.name.clone()).collect();
                let actions = actions.iter();
                self.actions = actions
                    .map(|action| (action.name.clone(), action.arguments.keys().cloned().collect()))
                    .collect();
                self.declared = events.iter().map(|event| event.name.clone()).collect();
                let assets = assets.iter();
                self.assets = assets.map(|asset| (asset.name.clone(), asset.hash.clone())).collect();
            }
            ServerMessage::Spawn { entities } => {
                for entity in entities {
                    let seen = Seen {
                        kind: entity.kind.clone(),
                        scale: entity.scale.unwrap_or([1.0; 3]),
                        parent: entity.parent,
                        owner: entity.owner,
                        attributes: json(&entity.attributes),
                        place: Some(entity.p),
                    };
                    assert!(self.kinds.contains(&seen.kind), "{} is not defined", seen.kind);
                    self.entities.insert(entity.id, seen);
                }
            }
            ServerMessage::Attributes { id, set } => {
                self.entities.get_mut(id).expect("the entity was described").attributes = json(set);
            }
            ServerMessage::Despawn { ids } => {
                ids.iter().for_each(|id| assert!(self.entities.remove(id).is_some(), "{id} is not there"));
            }
            ServerMessage::Move { tick, entities } => {
                self.take_tick(*tick);
                for moved in entities {
                    let seen = self.entities.get_mut(&moved.id);
                    seen.expect("a moving entity was described").place =
                        Some([moved.position_x, moved.position_y, moved.position_z]);
                }
            }
            ServerMessage::Player { id, name, avatar, program } => {
                let player = Player { name: name.clone(), avatar: *avatar, program: *program };
                self.players.insert(*id, player);
            }
            ServerMessage::Left { id } => {
                self.players.remove(id).expect("the player existed");
            }
            ServerMessage::Screen { place, personal, value } => {
                self.show(place.clone(), *personal, value);
            }
            ServerMessage::Event { name, payload } => self.happened.push((name.clone(), json(payload))),
            ServerMessage::Refused { action, reason, number } => {
                self.refused.push((action.clone(), reason.clone()));
                self.undone.extend(*number);
            }
            ServerMessage::Done { number } => self.done.push(*number),
            ServerMessage::Granted { entity, number } => self.granted.push((*entity, *number)),
            ServerMessage::Denied { request, entity, reason, .. } => {
                self.denied.push((request.clone(), *entity, reason.clone()));
            }
            ServerMessage::Report { outcome, version, text } => {
                self.reports.push((*outcome, *version, text.clone()));
            }
            ServerMessage::Chat { from, name, text } => self.said.push((*from, name.clone(), text.clone())),
            ServerMessage::Notice { text } => self.notices.push(text.clone()),
            ServerMessage::Unsaid { text, reason } => self.unsaid.push((text.clone(), reason.clone())),
            ServerMessage::Pong { .. } | ServerMessage::Rate { .. } | ServerMessage::Missed { .. } => {}
        }
    }

    /// Handles the welcome of a session.
    pub fn take_welcome(&mut self, welcome: &Welcome) {
        self.resumed = welcome.resumed;
        self.world.clone_from(&welcome.world);
        self.take_tick(welcome.tick);
    }

    /// Handles the definition of a session.
    pub fn take_definition(&mut self, definition: &session::Definition) {
        self.version = definition.version;
        self.kinds = definition.kinds.iter().map(|kind| kind.name.clone()).collect();
        let actions = definition.actions.iter();
        self.actions = actions.map(|action| (action.name.clone(), fields(&action.arguments))).collect();
        self.declared = definition.events.iter().map(|event| event.name.clone()).collect();
        let assets = definition.assets.iter();
        self.assets = assets.map(|asset| (asset.name.clone(), asset.hash.clone())).collect();
    }

    /// Applies an event of a session.
    pub fn take_event(&mut self, event: FromWorld) {
        match event {
            FromWorld::Happened { event, payload } => self.happened.push((event, json(&payload))),
            FromWorld::Refused { action, reason, number } => {
                self.refused.push((action, reason));
                self.undone.extend(number);
            }
            FromWorld::Done { number } => self.done.push(number),
            FromWorld::Granted { entity, number } => self.granted.push((entity, number)),
            FromWorld::Denied { request, entity, reason, .. } => {
                self.denied.push((request, entity, reason));
            }
            FromWorld::Report { outcome, version, text } => {
                self.reports.push((outcome, version, text));
            }
            FromWorld::Notice { text } => self.notices.push(text),
            FromWorld::Unsaid { text, reason } => self.unsaid.push((text, reason)),
            FromWorld::Welcome { .. } | FromWorld::Define { .. } | FromWorld::Rate { .. } => {}
        }
    }

    /// Handles the description of an entity of a kind.
    pub fn take_entity(&mut self, id: u32, kind: &str, EntityView { entity, attributes }: &EntityView) {
        let seen = Seen {
            kind: kind.to_owned(),
            scale: entity.scale.map(f64::from),
            parent: entity.parent,
            owner: entity.owner,
            attributes: json(attributes),
            place: entity.place.map(|place| place.position.map(f64::from)),
        };
        self.entities.insert(id, seen);
    }

    /// Handles a player that joined or changed.
    pub fn take_player(&mut self, id: u32, player: &Player) {
        self.players.insert(id, player.clone());
    }

    /// Handles the value of a screen slot.
    pub fn take_screen(&mut self, number: u32, screen: &session::Screen) {
        let slot = (screen.place.clone(), screen.personal);
        // If a number now names another slot, the earlier slot is cleared.
        if let Some(before) = self.screens_by_number.insert(number, slot) {
            self.screens.remove(&before);
        }
        self.show(screen.place.clone(), screen.personal, &screen.value);
    }

    fn show(&mut self, place: String, personal: bool, value: &Value) {
        match value {
            Value::Nil => self.screens.remove(&(place, personal)),
            value => self.screens.insert((place, personal), json(value)),
        };
    }

    /// Returns the start of the view as text, for the message of a failed test.
    pub fn beginning(&self) -> String {
        format!("{self:?}").chars().take(4_000).collect()
    }

    /// Returns everything except positions, for comparison with another client.
    pub fn without_places(&self) -> impl PartialEq + std::fmt::Debug + use<> {
        let entities = self.entities.clone().into_iter().map(|(id, seen)| (id, Seen { place: None, ..seen }));
        let common = self.screens.clone().into_iter().filter(|((_, personal), _)| !personal);
        (
            (self.version, self.kinds.clone(), self.actions.clone(), self.declared.clone()),
            entities.collect::<Vec<_>>(),
            self.players.clone(),
            common.collect::<Vec<_>>(),
        )
    }
}

/// Converts a value to JSON, with all whole numbers in one form.
pub fn json(value: &Value) -> Json {
    let json = serde_json::to_value(value).expect("every value has a JSON form");
    even(json)
}

/// Converts numbers to `f64`, because JSON does not distinguish whole numbers from floats.
fn even(json: Json) -> Json {
    match json {
        Json::Number(number) => number.as_f64().map_or(Json::Null, Json::from),
        Json::Array(items) => items.into_iter().map(even).collect(),
        Json::Object(pairs) => pairs.into_iter().map(|(key, value)| (key, even(value))).collect(),
        other => other,
    }
}

fn fields(shape: &[u8]) -> Vec<String> {
    let shape = Shape::from_bytes(shape).expect("the bytes are a shape");
    let mut names: Vec<String> = shape
        .fields()
        .expect("the root of a shape is a struct")
        .iter()
        .map(|field| field.name.clone())
        .collect();
    names.sort();
    names
}
