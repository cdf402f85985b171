//! The messages of the plain protocol, as values.

use std::collections::BTreeMap;

use nowcast_wire::Value;
use nowcast_world::limits::{NAME_BYTES_MAX, POSITION_MAX, VELOCITY_MAX};
use serde::{Deserialize, Serialize};

use super::OutOfBounds;
use crate::session::{Asset, Outcome};

/// A message from the server (section 3.2 of the specification).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerMessage {
    /// The first message: the client's number, and the room that it joined.
    Welcome {
        /// The version of the plain protocol.
        protocol: u32,
        /// The client's own number.
        player: u32,
        /// The room that was joined.
        room: String,
        /// The world that the room shows.
        world: String,
        /// Steps of the world a second.
        step_hz: u32,
        /// Snapshots a second that this client gets.
        network_hz: u32,
        /// Number of steps taken so far.
        tick: u64,
        /// Whether the client continues as the player of an earlier connection.
        resumed: bool,
    },
    /// The definition that applies from now on.
    Define {
        /// Version of the rules.
        version: u64,
        /// The kinds of entities.
        kinds: Vec<Kind>,
        /// The actions of players.
        actions: Vec<Action>,
        /// The events whose payload has a known shape.
        events: Vec<Declared>,
        /// The files that looks and sounds refer to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        assets: Vec<Asset>,
    },
    /// Entities that are new to the client, or whose whole description is sent again.
    Spawn {
        /// The entities, ordered by id.
        entities: Vec<Entity>,
    },
    /// Attributes of an entity that changed.
    Attributes {
        /// The entity.
        id: u32,
        /// The names and values of these attributes.
        set: Value,
    },
    /// Entities that left the world.
    Despawn {
        /// Their ids.
        ids: Vec<u32>,
    },
    /// The entities that moved since the last `move`. This message is the only state of the server; all its other messages
    /// are events.
    Move {
        /// The step at which the entities had these poses.
        tick: u64,
        /// The entities, ordered by id; empty when nothing moved.
        entities: Vec<Moved>,
    },
    /// A player joined, or its name or avatar changed.
    Player {
        /// The number of the player.
        id: u32,
        /// The name of the player.
        name: String,
        /// The entity that the player moves.
        avatar: Option<u32>,
        /// Whether the player joined as a program.
        program: bool,
    },
    /// A player left.
    Left {
        /// The number of the player.
        id: u32,
    },
    /// A place on the screen.
    Screen {
        /// The place.
        place: String,
        /// Whether the value is for this client alone. Such a value takes precedence over a value for all clients.
        personal: bool,
        /// The value at the place; nil if the place is empty.
        value: Value,
    },
    /// An event that the rules emitted.
    Event {
        /// The name of the event.
        name: String,
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
        #[serde(skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
    },
    /// A numbered action of this client was carried out. If the server stores worlds, the result is stored.
    Done {
        /// The number of the action.
        number: u32,
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
    /// The outcome of a version of the rules, for editors only.
    Report {
        /// The outcome.
        outcome: Outcome,
        /// The version.
        version: u64,
        /// File, line and cause.
        text: String,
    },
    /// A line of chat.
    Chat {
        /// The player who spoke.
        from: u32,
        /// The name of the player at that time.
        name: String,
        /// The line.
        text: String,
    },
    /// A line of chat of this client was not passed on.
    Unsaid {
        /// The line.
        text: String,
        /// The cause.
        reason: String,
    },
    /// Answers a `ping`.
    Pong {
        /// The time as the client sent it.
        time: f64,
    },
    /// Answers a `rate`.
    Rate {
        /// Snapshots a second, from now on.
        hz: u32,
    },
    /// A message of the server to people.
    Notice {
        /// One sentence.
        text: String,
    },
    /// Lines of chat were dropped, because the client had not read earlier lines.
    Missed {
        /// Number of lines.
        lines: u64,
    },
}

/// The declaration of a kind, with the field names that world folders use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Kind {
    /// The name of the kind.
    pub name: String,
    /// The body; missing if the kind has no physics.
    #[serde(default, skip_serializing_if = "is_nil")]
    pub body: Value,
    /// The walker; missing if input does not move the kind.
    #[serde(default, skip_serializing_if = "is_nil")]
    pub walker: Value,
    /// The look, as its author wrote it.
    #[serde(default, skip_serializing_if = "is_nil")]
    pub look: Value,
    /// The types of its attributes in schema notation, by name.
    pub attributes: Fields,
    /// The ownership rules; missing if no player can own an entity of the kind.
    #[serde(default, skip_serializing_if = "is_nil")]
    pub owner: Value,
}

/// Names with their types in schema notation.
pub type Fields = BTreeMap<String, String>;

/// An action that players can carry out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Action {
    /// The name of the action.
    pub name: String,
    /// The types of its arguments.
    pub arguments: Fields,
    /// The binding, as its author wrote it.
    #[serde(default, skip_serializing_if = "is_nil")]
    pub hint: Value,
    /// Whether the action is durable and happens once: clients number such actions.
    #[serde(default, skip_serializing_if = "is_false")]
    pub durable: bool,
}

/// An event with a payload of a known shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Declared {
    /// The name of the event.
    pub name: String,
    /// The types of the payload's fields.
    pub payload: Fields,
}

fn is_false(value: &bool) -> bool {
    !value
}

fn is_nil(value: &Value) -> bool {
    *value == Value::Nil
}

/// An entity as `spawn` describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// The id, unique in its room while the room exists.
    pub id: u32,
    /// The name of its kind.
    pub kind: String,
    /// Factors that multiply the kind's shape along its own axes; missing for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<[f64; 3]>,
    /// The parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<u32>,
    /// Position in metres.
    pub p: [f64; 3],
    /// Euler angles in radians, intrinsic XYZ.
    pub r: [f64; 3],
    /// The attributes of the entity by name.
    pub attributes: Value,
    /// The player that owns the entity; missing for the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<u32>,
}

/// The pose of one entity as `move` describes it, with the field names of "A wire protocol".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Moved {
    /// The entity.
    pub id: u32,
    /// Metres to the right.
    pub position_x: f64,
    /// Metres up.
    pub position_y: f64,
    /// Metres toward the viewer.
    pub position_z: f64,
    /// First angle in radians, intrinsic XYZ.
    pub euler_x: f64,
    /// Second angle in radians.
    pub euler_y: f64,
    /// Third angle in radians.
    pub euler_z: f64,
}

/// A message from a client (section 4 of the specification).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ClientMessage {
    /// The newest input. Only `input` and `move` are states; all other messages of a client are events.
    Input(Input),
    /// Carries out an action that the world declares.
    Act {
        /// The name of the action.
        action: String,
        /// The arguments: a map, or nil.
        #[serde(skip_serializing_if = "is_nil")]
        arguments: Value,
        /// The number of a durable action of this client: 1, 2, and so on.
        #[serde(skip_serializing_if = "Option::is_none")]
        number: Option<u32>,
    },
    /// Sends a line to everybody in the room.
    Chat {
        /// The line.
        text: String,
    },
    /// Chooses a new name.
    Name {
        /// The name.
        name: String,
    },
    /// Asks for another snapshot rate.
    Rate {
        /// Snapshots a second.
        hz: u32,
    },
    /// Asks for a `pong`.
    Ping {
        /// Any finite number; the `pong` repeats it.
        time: f64,
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
        /// The new owner; missing for the server.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<u32>,
    },
    /// The target pose of an entity that the client owns. This is a state, as `input` is.
    Move {
        /// The entity.
        entity: u32,
        /// Metres.
        position: [f64; 3],
        /// A unit quaternion: x, y, z, w.
        rotation: [f64; 4],
        /// Metres a second; missing if the client does not know the velocity.
        #[serde(skip_serializing_if = "Option::is_none")]
        velocity: Option<[f64; 3]>,
        /// The axis of rotation; its length is the speed in radians a second.
        #[serde(skip_serializing_if = "Option::is_none")]
        spin: Option<[f64; 3]>,
    },
    /// Sets attributes of an entity that the client owns.
    Set {
        /// The entity.
        entity: u32,
        /// Names and values.
        attributes: Value,
    },
    /// Makes an entity that the client owns.
    Spawn {
        /// The number that identifies the answer.
        number: u32,
        /// The name of its kind.
        kind: String,
        /// Metres.
        position: [f64; 3],
        /// A unit quaternion: x, y, z, w.
        rotation: [f64; 4],
        /// The attributes that differ from their defaults.
        #[serde(skip_serializing_if = "is_nil")]
        attributes: Value,
    },
    /// Removes an entity that the client owns.
    Despawn {
        /// The entity.
        entity: u32,
    },
}

/// The controls of an avatar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Input {
    /// −1 (back) to 1 (forward), in the direction that `yaw` faces.
    pub forward: f64,
    /// −1 (left) to 1 (right).
    pub right: f64,
    /// Radians, counter-clockwise seen from above; 0 faces −Z.
    pub yaw: f64,
    /// Whether to run.
    pub run: bool,
    /// Whether to jump.
    pub jump: bool,
}

impl ClientMessage {
    /// Checks every field against the bounds of section 4.
    ///
    /// # Errors
    /// Returns the first field that is out of bounds, with its name.
    pub fn check(&self) -> Result<(), OutOfBounds> {
        match *self {
            Self::Input(input) => {
                OutOfBounds::check("forward", input.forward, -1.0, 1.0)?;
                OutOfBounds::check("right", input.right, -1.0, 1.0)?;
                finite("yaw", input.yaw)
            }
            Self::Rate { hz } => OutOfBounds::check_network_hz("hz", hz),
            Self::Ping { time } => finite("time", time),
            Self::Act { ref action, number, .. } => {
                OutOfBounds::check("length of action", action.len() as f64, 0.0, NAME_BYTES_MAX as f64)?;
                number.map_or(Ok(()), |number| {
                    OutOfBounds::check("number", number.into(), 1.0, u32::MAX.into())
                })
            }
            Self::Move { position, rotation, velocity, spin, .. } => {
                pose(position, rotation)?;
                let parts = velocity.iter().chain(&spin).flatten();
                let most = f64::from(VELOCITY_MAX);
                parts.into_iter().try_for_each(|part| OutOfBounds::check("velocity", *part, -most, most))
            }
            Self::Spawn { ref kind, position, rotation, .. } => {
                OutOfBounds::check("length of kind", kind.len() as f64, 0.0, NAME_BYTES_MAX as f64)?;
                pose(position, rotation)
            }
            Self::Chat { .. }
            | Self::Name { .. }
            | Self::Own { .. }
            | Self::Release { .. }
            | Self::Set { .. }
            | Self::Despawn { .. } => Ok(()),
        }
    }
}

/// Checks a position within the bounds of a world, and a rotation.
fn pose(position: [f64; 3], rotation: [f64; 4]) -> Result<(), OutOfBounds> {
    let most = f64::from(POSITION_MAX);
    position.iter().try_for_each(|part| OutOfBounds::check("position", *part, -most, most))?;
    let squared: f64 = rotation.iter().map(|part| part * part).sum();
    OutOfBounds::check("length of rotation, squared", squared, 1e-3, 1e3)
}

fn finite(field: &'static str, value: f64) -> Result<(), OutOfBounds> {
    if value.is_finite() { Ok(()) } else { Err(OutOfBounds::NotFinite { field, value }) }
}
