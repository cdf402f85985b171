//! The messages of the plain protocol, as values.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{NETWORK_HZ, OutOfBounds};

/// What a server says (section 3.1 of the specification).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ServerMessage {
    /// The first message: who and where the client is.
    Welcome {
        /// The version of the plain protocol.
        protocol: u32,
        /// The client's own avatar.
        id: u32,
        /// The room that was joined.
        room: String,
        /// Steps of the world a second.
        step_hz: u32,
        /// Snapshots a second that this client gets.
        network_hz: u32,
        /// Steps taken so far.
        tick: u64,
    },
    /// Entities that are new to the client.
    Spawn {
        /// The entities, ordered by id.
        entities: Vec<Entity>,
    },
    /// Entities that left the world.
    Despawn {
        /// Their ids.
        ids: Vec<u32>,
    },
    /// The entities that moved since the last `move`. This is the only state; all others are events.
    Move {
        /// The step at which the world looked like this.
        tick: u64,
        /// The entities, ordered by id; empty when nothing moved.
        entities: Vec<Moved>,
    },
    /// Somebody spoke.
    Chat {
        /// The avatar that spoke.
        from: u32,
        /// Its name at that time.
        name: String,
        /// What it said.
        text: String,
    },
    /// Somebody grabbed a block or let go of it.
    Hold {
        /// The avatar.
        avatar: u32,
        /// The block it holds now.
        block: Option<u32>,
    },
    /// Somebody chose a new name.
    Rename {
        /// The avatar.
        id: u32,
        /// Its new name.
        name: String,
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
    /// Something the server has to say to people.
    Notice {
        /// One sentence.
        text: String,
    },
    /// Lines of chat that were left out here, because the client had not read those before.
    Missed {
        /// How many.
        lines: u64,
    },
}

/// An entity as `spawn` describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entity {
    /// Its id, unique in its room for as long as the room lives.
    pub id: u32,
    /// What it is.
    pub kind: EntityKind,
    /// The name of an avatar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The full edge lengths of a box in metres; avatars have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<[f64; 3]>,
    /// 0xRRGGBB.
    pub color: u32,
    /// Position in metres.
    pub p: [f64; 3],
    /// Euler angles in radians, intrinsic XYZ.
    pub r: [f64; 3],
}

/// What an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntityKind {
    /// A box that never moves.
    Static,
    /// A box that physics and people move.
    Block,
    /// A person or a bot: an upright capsule.
    Avatar,
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

/// What a client says (section 4 of the specification).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ClientMessage {
    /// What the controls say now. This is the only state; all others are events.
    Input(Input),
    /// Takes a block: the named one, or the nearest within reach.
    Grab {
        /// The block to take.
        #[serde(skip_serializing_if = "Option::is_none")]
        block: Option<u32>,
    },
    /// Lets go of the block that is held.
    Throw {
        /// 0 puts it down, 1 throws it hard.
        power: f64,
        /// Radians above the horizon.
        pitch: f64,
    },
    /// Speaks to everybody in the room.
    Chat {
        /// What to say.
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
        /// Comes back as it was sent; any finite number.
        time: f64,
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
    pub fn check(&self) -> Result<(), OutOfBounds> {
        match *self {
            Self::Input(input) => {
                within("forward", input.forward, -1.0, 1.0)?;
                within("right", input.right, -1.0, 1.0)?;
                finite("yaw", input.yaw)
            }
            Self::Throw { power, pitch } => {
                within("power", power, 0.0, 1.0)?;
                within("pitch", pitch, -1.5, 1.5)
            }
            Self::Rate { hz } => {
                within("hz", f64::from(hz), f64::from(*NETWORK_HZ.start()), f64::from(*NETWORK_HZ.end()))
            }
            Self::Ping { time } => finite("time", time),
            Self::Grab { .. } | Self::Chat { .. } | Self::Name { .. } => Ok(()),
        }
    }
}

fn within(field: &'static str, value: f64, low: f64, high: f64) -> Result<(), OutOfBounds> {
    // A NaN is in no range, so it is refused here as well.
    if (low..=high).contains(&value) { Ok(()) } else { Err(OutOfBounds::Range { field, value, low, high }) }
}

fn finite(field: &'static str, value: f64) -> Result<(), OutOfBounds> {
    if value.is_finite() { Ok(()) } else { Err(OutOfBounds::NotFinite { field, value }) }
}

/// A message that comes as an object with a `type`. The type is read in a first pass and the fields in a second one,
/// because a tagged enum would copy every field into a buffer of dynamic values before it looks at them.
pub(super) trait Object: Sized {
    /// Reads the fields of the type named `tag` with `fields`, or returns `None` when there is no such type.
    fn read<R: ReadFields>(tag: &str, fields: &R) -> Result<Option<Self>, R::Error>;
}

/// Something that can read the whole payload as a given type.
pub(super) trait ReadFields {
    type Error;
    fn fields<T: DeserializeOwned>(&self) -> Result<T, Self::Error>;
}

/// The `type` of a message; every other key is skipped.
#[derive(Deserialize)]
pub(super) struct Tag {
    #[serde(rename = "type")]
    pub(super) name: String,
}

/// Declares a plain struct for each variant, reads it, and turns it into the variant.
macro_rules! read_variant {
    ($fields:expr, $variant:path { $($name:ident: $type:ty),+ }) => {{
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Fields { $($name: $type),+ }
        let Fields { $($name),+ } = $fields.fields()?;
        $variant { $($name),+ }
    }};
}

impl Object for ServerMessage {
    fn read<R: ReadFields>(tag: &str, fields: &R) -> Result<Option<Self>, R::Error> {
        Ok(Some(match tag {
            "welcome" => read_variant!(
                fields,
                Self::Welcome {
                    protocol: u32,
                    id: u32,
                    room: String,
                    step_hz: u32,
                    network_hz: u32,
                    tick: u64
                }
            ),
            "spawn" => read_variant!(fields, Self::Spawn { entities: Vec<Entity> }),
            "despawn" => read_variant!(fields, Self::Despawn { ids: Vec<u32> }),
            "move" => read_variant!(fields, Self::Move { tick: u64, entities: Vec<Moved> }),
            "chat" => read_variant!(fields, Self::Chat { from: u32, name: String, text: String }),
            "hold" => read_variant!(fields, Self::Hold { avatar: u32, block: Option<u32> }),
            "rename" => read_variant!(fields, Self::Rename { id: u32, name: String }),
            "pong" => read_variant!(fields, Self::Pong { time: f64 }),
            "rate" => read_variant!(fields, Self::Rate { hz: u32 }),
            "notice" => read_variant!(fields, Self::Notice { text: String }),
            "missed" => read_variant!(fields, Self::Missed { lines: u64 }),
            _ => return Ok(None),
        }))
    }
}

impl Object for ClientMessage {
    fn read<R: ReadFields>(tag: &str, fields: &R) -> Result<Option<Self>, R::Error> {
        Ok(Some(match tag {
            "input" => Self::Input(fields.fields()?),
            "grab" => read_variant!(fields, Self::Grab { block: Option<u32> }),
            "throw" => read_variant!(fields, Self::Throw { power: f64, pitch: f64 }),
            "chat" => read_variant!(fields, Self::Chat { text: String }),
            "name" => read_variant!(fields, Self::Name { name: String }),
            "rate" => read_variant!(fields, Self::Rate { hz: u32 }),
            "ping" => read_variant!(fields, Self::Ping { time: f64 }),
            _ => return Ok(None),
        }))
    }
}
