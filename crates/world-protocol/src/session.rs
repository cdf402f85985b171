//! Messages on sessions (`spec/WORLD.md`, section 3). The bodies are in the wire format (`spec/WIRE.md`).

mod client_message;

use std::ops::Range;

use nowcast_queue::Key;
use nowcast_wire::{Limits, Value, Wire};
use nowcast_world::limits::VELOCITY_MAX;
use nowcast_world::{EntityId, PlayerId, Pose, Velocity};
use serde::{Deserialize, Serialize};

pub use self::client_message::{ClientMessage, ClientMessageError};

/// The version of `spec/WORLD.md`.
pub const PROTOCOL: u32 = 8;

/// Actions, events of the world, and descriptions of its state.
pub const WORLD_LANE: u8 = 0;

/// The limits of a server that reads a message of a client (`spec/WORLD.md`, section 6). A column of equal values takes a few bytes
/// for millions of rows, so the length of a message does not bound the memory that the message needs.
pub const CLIENT_MESSAGE: Limits = Limits { memory_bytes_max: 1 << 20, ..Limits::MESSAGE };

/// Chat.
pub const CHAT_LANE: u8 = 1;

/// Movement of entities.
pub const REPLICATION_LANE: u8 = 2;

/// The key of a client's [`Controls`] on [`WORLD_LANE`].
pub const CONTROLS_KEY: Key = Key::state(1);
/// The key of [`Steps`] on [`WORLD_LANE`], which a client that counts its steps sends instead of [`Controls`].
pub const STEPS_KEY: Key = Key::state(2);
/// Maximum changes in one [`Steps`].
pub const STEPS_MAX: usize = 64;

/// The key of a client's [`View`] on [`WORLD_LANE`].
pub const VIEW_KEY: Key = Key::state(3);
/// The greatest view delay that a client may state, in milliseconds.
pub const VIEW_DELAY_MS_MAX: u16 = 1_000;

/// The key of [`Missed`] on [`CHAT_LANE`].
pub const MISSED_KEY: Key = Key::state(1);

/// The key of [`Owned`] on [`WORLD_LANE`], from client to server, is this number plus the id of the entity.
pub const OWNED_KEYS: u64 = 1 << 32;

/// The first key of players on [`WORLD_LANE`].
const PLAYERS: u64 = 1 << 32;

/// The first key of screens on [`WORLD_LANE`].
const SCREENS: u64 = 1 << 33;

/// The meaning of a key on [`WORLD_LANE`] from the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StateKey {
    /// An entity: its value is an [`Entity`].
    Entity(EntityId),
    /// A player: its value is a [`Player`].
    Player(PlayerId),
    /// A place on screens, by a number that the server chose: its value is a [`Screen`].
    Screen(u32),
}

impl StateKey {
    /// The number of the key in the session.
    pub fn number(self) -> u64 {
        match self {
            Self::Entity(id) => id.0.into(),
            Self::Player(id) => PLAYERS + u64::from(id.0),
            Self::Screen(number) => SCREENS + u64::from(number),
        }
    }

    /// Returns the meaning of a session's key; `None` for one that the specification does not define.
    pub fn of(key: u64) -> Option<Self> {
        let low = key as u32;
        match key >> 32 {
            0 => Some(Self::Entity(EntityId(low))),
            1 => Some(Self::Player(PlayerId(low))),
            2 => Some(Self::Screen(low)),
            _ => None,
        }
    }
}

/// Events of a client.
#[derive(Wire, Clone, Debug, PartialEq)]
pub enum ToWorld {
    /// The first message: the client joins.
    Join {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The requested name. The world may give the player another name.
        name: String,
        /// Rounds of movement a second; 0 leaves the number to the server.
        network_hz: u32,
        /// The client's secret, 16 random bytes, which identifies the client when it returns. Empty if the client does not
        /// return.
        key: Vec<u8>,
    },
    /// Carries out an action that the world declares.
    Act {
        /// The name of the action.
        action: String,
        /// The arguments: a map, or nil.
        arguments: Value,
        /// The number that the answer repeats, if the client expects one. Durable actions are counted: 1, 2, and so on.
        number: Option<u32>,
        /// The step of the client in which the action was triggered, if the client counts steps. The server takes the steps up
        /// to this one before the action.
        step: Option<u16>,
        /// The moment of the world, in steps, at which the client showed other entities when the action was triggered, if the
        /// client knows it.
        shown: Option<f64>,
    },
    /// Requests another name.
    Rename {
        /// The name.
        name: String,
    },
    /// Asks for another rate of movement.
    Rate {
        /// Rounds a second.
        network_hz: u32,
    },
    /// The client lost its replication state and requests all movement again.
    Forget,
    /// Sent instead of [`ToWorld::Join`] by a program.
    JoinProgram {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The requested name of the program.
        name: String,
        /// Rounds of movement a second; 0 leaves the number to the server.
        network_hz: u32,
        /// Like the key of `Join`.
        key: Vec<u8>,
    },
    /// Asks for an entity.
    Own {
        /// The entity.
        entity: u32,
        /// The number that identifies the answer.
        number: u32,
    },
    /// Gives an entity back, or passes it on.
    Release {
        /// The entity.
        entity: u32,
        /// The new owner; none for the server.
        to: Option<u32>,
    },
    /// Sets attributes of an entity that the client owns.
    Set {
        /// The entity.
        entity: u32,
        /// A map of names and values.
        attributes: Value,
    },
    /// Makes an entity that the client owns.
    Spawn {
        /// The number that identifies the answer.
        number: u32,
        /// The name of its kind.
        kind: String,
        /// The pose of the new entity.
        place: Place,
        /// The attributes that differ from their defaults: a map, or nil.
        attributes: Value,
    },
    /// Removes an entity that the client owns.
    Despawn {
        /// The entity.
        entity: u32,
    },
    /// Sent before [`ToWorld::Join`] by a client with an identity: it proves that the client has a private key.
    Identify {
        /// The public key: a point of the curve P-256, uncompressed, 65 bytes (SEC 1, section 2.3.3).
        key: Vec<u8>,
        /// The signature of [`identity_text`] by ECDSA with SHA-256: r and s, 32 bytes each.
        signature: Vec<u8>,
    },
}

/// Returns the text that a client signs in [`ToWorld::Identify`]. The accepting side chose the number of the session at
/// random, so a signature is valid for one session.
#[must_use]
pub fn identity_text(session: [u8; 8]) -> Vec<u8> {
    let digits: String = session.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("nowcast identity 1\n{digits}").into_bytes()
}

/// Returns the place of the secret in an encoded event of a client: the key with which a player returns.
#[must_use]
pub fn secret_in(event: &[u8]) -> Option<Range<usize>> {
    match nowcast_wire::decode_with(event, &CLIENT_MESSAGE).ok()? {
        ToWorld::Join { key, .. } | ToWorld::JoinProgram { key, .. } if !key.is_empty() => {
            let at = event.windows(key.len()).position(|part| part == key)?;
            Some(at..at + key.len())
        }
        _ => None,
    }
}

/// The target pose of an entity from its owner: the state of [`OWNED_KEYS`] and the entity's id, from client to server.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
pub struct Owned {
    /// In metres.
    pub position: [f32; 3],
    /// A unit quaternion: x, y, z, w.
    pub rotation: [f32; 4],
    /// The velocity of the target, if the client knows it.
    pub velocity: Option<Moving>,
}

/// A velocity and an angular velocity.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
pub struct Moving {
    /// In metres a second.
    pub linear: [f32; 3],
    /// The axis of rotation; its length is the speed in radians a second.
    pub angular: [f32; 3],
}

/// The newest input: the state of [`CONTROLS_KEY`].
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub struct Controls {
    /// Grows by one, modulo 2^16, with each state that differs from the preceding state.
    pub number: u16,
    /// −1 (back) to 1 (forward), in the direction that `yaw` faces.
    pub forward: f32,
    /// −1 (left) to 1 (right).
    pub right: f32,
    /// Radians, counter-clockwise seen from above; 0 faces −Z.
    pub yaw: f32,
    /// Whether to run.
    pub run: bool,
    /// Whether to jump.
    pub jump: bool,
}

/// The newest controls of a client that predicts and counts its steps: the state of [`STEPS_KEY`].
#[derive(Wire, Clone, Debug, Default, PartialEq)]
pub struct Steps {
    /// The number of the client's step, modulo 2^16. A step takes 1/60 s.
    pub number: u16,
    /// The changes of the input, the newest first; 1 to 64.
    pub steps: Vec<Step>,
}

/// A client's input, from one of the client's steps on.
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub struct Step {
    /// Number of steps since the change.
    pub ago: u16,
    /// Like the field of [`Controls`].
    pub forward: f32,
    /// Like the field of [`Controls`].
    pub right: f32,
    /// Like the field of [`Controls`].
    pub yaw: f32,
    /// Whether to run.
    pub run: bool,
    /// Whether to jump.
    pub jump: bool,
}

/// The age at which a client shows other entities, without the network's delay: the state of [`VIEW_KEY`].
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// The view delay: the time between the arrival of a state and its display, in milliseconds; 1,000 at most.
    pub delay_ms: u16,
}

/// A line of chat from the client that sends it.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Line {
    /// The line.
    pub text: String,
}

/// Events of the world for a client.
#[derive(Wire, Clone, Debug, PartialEq)]
pub enum FromWorld {
    /// The first message: the client's number, and the room that it joined.
    Welcome {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The client's number.
        player: u32,
        /// The room.
        room: String,
        /// The world that the room shows.
        world: String,
        /// Steps of the world a second.
        step_hz: u32,
        /// Rounds of movement a second.
        network_hz: u32,
        /// Number of steps so far.
        tick: u64,
        /// Whether the client continues as the player of an earlier session.
        resumed: bool,
    },
    /// The definition that applies from now on.
    Define {
        /// The whole definition.
        definition: Definition,
    },
    /// An event that the rules emitted.
    Happened {
        /// The name of the event.
        event: String,
        /// The payload of the event.
        payload: Value,
    },
    /// An action of this client was not carried out, or its result cannot be stored.
    Refused {
        /// The action.
        action: String,
        /// The cause.
        reason: String,
        /// The number that the client gave the action.
        number: Option<u32>,
    },
    /// The rounds of movement a second, from now on.
    Rate {
        /// Rounds a second.
        network_hz: u32,
    },
    /// One sentence for people.
    Notice {
        /// The sentence.
        text: String,
    },
    /// The outcome of a version of the rules, for editors only.
    Report {
        /// The outcome.
        outcome: Outcome,
        /// The version.
        version: u64,
        /// File, line and cause; empty if there is no text.
        text: String,
    },
    /// The client owns an entity that it asked for, or made.
    Granted {
        /// The entity.
        entity: u32,
        /// The number of the request.
        number: u32,
    },
    /// A request of this client as an owner was not carried out.
    Denied {
        /// `own`, `release`, `move`, `set`, `spawn` or `despawn`.
        request: String,
        /// The entity; 0 if it was to be made.
        entity: u32,
        /// The number of the request; 0 if it has none.
        number: u32,
        /// The cause.
        reason: String,
    },
    /// A numbered action of this client was carried out. If the server stores worlds, the result is stored.
    Done {
        /// The number of the action.
        number: u32,
    },
    /// A line of chat of this client was not passed on.
    Unsaid {
        /// The line.
        text: String,
        /// The cause.
        reason: String,
    },
}

/// The definition of a world.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Definition {
    /// Version of the rules. Each version that was tried in this room got the next number, from 1 on.
    pub version: u64,
    /// The kinds. An entity refers to its kind by the index in this list.
    pub kinds: Vec<Kind>,
    /// The actions of players.
    pub actions: Vec<Action>,
    /// The events whose payload has a known shape.
    pub events: Vec<Declared>,
    /// The files that looks and sounds refer to, ordered by name.
    pub assets: Vec<Asset>,
}

/// The declaration of a kind.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Kind {
    /// The name of the kind.
    pub name: String,
    /// The body: a map with the field names that world folders use, or nil.
    pub body: Value,
    /// The walker: a map with the field names that world folders use, or nil.
    pub walker: Value,
    /// The look, as its author wrote it.
    pub look: Value,
    /// The shape of the kind's attributes (`spec/WIRE.md`, section 3).
    pub attributes: Vec<u8>,
    /// The ownership rules: a map with the field names that world folders use, or nil if no player can own an entity of the
    /// kind.
    pub owner: Value,
}

/// An action that players can carry out.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Action {
    /// The name of the action.
    pub name: String,
    /// The shape of its arguments.
    pub arguments: Vec<u8>,
    /// The binding, as its author wrote it.
    pub hint: Value,
    /// Whether the action is durable and happens once: clients number such actions.
    pub durable: bool,
}

/// An event with a payload of a known shape.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name of the event.
    pub name: String,
    /// The shape of its payload.
    pub payload: Vec<u8>,
}

/// A file that clients may fetch from `/assets/` and its hash.
#[derive(Wire, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asset {
    /// The name by which looks and sounds refer to the file: its path in the world's folder.
    pub name: String,
    /// SHA-256 of its content, as 64 hexadecimal digits in lower case.
    pub hash: String,
    /// The size.
    pub bytes: u32,
    /// The media type of the file.
    #[wire(rename = "type")]
    #[serde(rename = "type")]
    pub media_type: String,
}

/// The result of loading or running a version of the rules.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The version runs.
    Runs,
    /// The version did not load; the preceding version continues.
    Refused,
    /// The version failed in its first steps: the previous rules and state are restored.
    RolledBack,
    /// The version raised an error, and continues.
    Failed,
    /// The version printed a line.
    Printed,
}

/// The state under the key of an entity's id, for one client.
#[derive(Clone, Debug, PartialEq)]
pub enum EntityState {
    /// The entity is in the interest set; this is its description.
    InSight(Entity),
    /// The entity left the client's interest set at this step of the world, modulo 2^32.
    OutOfSight(u32),
    /// The entity is no longer in the world.
    Gone,
}

impl EntityState {
    /// Reads the value of a state.
    ///
    /// # Errors
    /// Errors of [`nowcast_wire::decode`] for an [`Entity`].
    pub fn read(value: &[u8]) -> nowcast_wire::Result<Self> {
        // The encoding of an entity is longer than four bytes.
        match <[u8; 4]>::try_from(value) {
            _ if value.is_empty() => Ok(Self::Gone),
            Ok(tick) => Ok(Self::OutOfSight(u32::from_le_bytes(tick))),
            Err(_) => nowcast_wire::decode(value).map(Self::InSight),
        }
    }
}

/// An entity's description: the state whose key is the entity's id, while the entity is visible. See [`EntityState`].
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Entity {
    /// An index into [`Definition::kinds`].
    pub kind: u32,
    /// Factors that multiply the kind's shape along its own axes.
    pub scale: [f32; 3],
    /// The parent.
    pub parent: Option<u32>,
    /// The pose, if the entity has no rows in the replication.
    pub place: Option<Place>,
    /// The attributes, encoded in the wire format with the shape of the kind.
    pub attributes: Vec<u8>,
    /// The player that owns the entity; none for the server.
    pub owner: Option<u32>,
}

/// The pose of an entity that moves only when the rules set its position.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// In metres.
    pub position: [f32; 3],
    /// A unit quaternion: x, y, z, w.
    pub rotation: [f32; 4],
}

/// A player. An empty value states that the player has left.
#[derive(Wire, Clone, Debug, PartialEq, Eq)]
pub struct Player {
    /// The name.
    pub name: String,
    /// The entity that the player moves.
    pub avatar: Option<u32>,
    /// Whether the player joined as a program.
    pub program: bool,
}

impl From<&nowcast_world::Player> for Player {
    fn from(player: &nowcast_world::Player) -> Self {
        Self { name: player.name.clone(), avatar: player.avatar.map(|id| id.0), program: player.is_program }
    }
}

/// The value at a place on the client's screen.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Screen {
    /// The place.
    pub place: String,
    /// Whether the value is for this client alone. Such a value takes precedence over a value for all clients.
    pub personal: bool,
    /// The value; nil for nothing.
    pub value: Value,
}

/// A line of chat, as all clients in the room receive it.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Said {
    /// The player who spoke.
    pub from: u32,
    /// The name of the player at that time.
    pub name: String,
    /// The line.
    pub text: String,
}

/// The number of chat lines that were not sent to a client, because it had not read earlier lines: the state of
/// [`MISSED_KEY`].
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// Number of lines since the client joined.
    pub lines: u32,
}

impl Owned {
    /// Returns the pose and the velocity for the world; `None` if a number is outside the bounds of worlds.
    pub fn checked(self) -> Option<(Pose, Option<Velocity>)> {
        let pose = Pose { position: self.position, rotation: self.rotation }.checked()?;
        let velocity = self.velocity.map(|Moving { linear, angular }| Velocity { linear, angular });
        let is_motion = |v: &Velocity| {
            v.linear.iter().chain(&v.angular).all(|part| part.is_finite() && part.abs() <= VELOCITY_MAX)
        };
        velocity.as_ref().is_none_or(is_motion).then_some((pose, velocity))
    }
}

#[cfg(test)]
mod tests;
