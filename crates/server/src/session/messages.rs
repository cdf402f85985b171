//! What is said on sessions (`spec/WORLD.md`, section 3). The bodies are in the wire format (`spec/WIRE.md`).

use nowcast::Key;
use nowcast_wire::Wire;
use nowcast_world::{Input, InputError};

use crate::plain::ClientMessage;
use crate::playground::{EntityRef, Kind as WorldKind};

/// The version of `spec/WORLD.md`.
pub const PROTOCOL: u32 = 1;

/// Actions, events of the world, and what things are.
pub const WORLD_LANE: u8 = 0;

/// Chat.
pub const CHAT_LANE: u8 = 1;

/// Where things are.
pub const REPLICATION_LANE: u8 = 2;

/// The key of a client's [`Controls`] on [`WORLD_LANE`].
pub const CONTROLS_KEY: Key = Key::state(1);

/// The key of [`Missed`] on [`CHAT_LANE`].
pub const MISSED_KEY: Key = Key::state(1);

/// What a client tells the world, as events.
#[derive(Wire, Clone, Debug, PartialEq)]
pub enum ToWorld {
    /// The first of all: who comes.
    Join {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The name of the avatar; the world decides what becomes of it.
        name: String,
        /// Rounds of movement a second; 0 leaves it to the server.
        network_hz: u32,
    },
    /// Takes a block: this one, or the nearest in front.
    Grab {
        /// Which.
        block: Option<u32>,
    },
    /// Lets go of the block in hand.
    Throw {
        /// 0 puts it down, 1 throws it hard.
        power: f32,
        /// Radians above the horizon.
        pitch: f32,
    },
    /// Takes another name.
    Rename {
        /// The name.
        name: String,
    },
    /// Asks for other rounds of movement.
    Rate {
        /// A second.
        network_hz: u32,
    },
    /// The client lost what it knew of movement and is to be told all of it again.
    Forget,
}

/// What the controls say now: the state of [`CONTROLS_KEY`].
#[derive(Wire, Clone, Copy, Debug, Default, PartialEq)]
pub struct Controls {
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

/// A line of chat, as its speaker sends it.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Line {
    /// What to say.
    pub text: String,
}

/// What the world tells a client, as events.
#[derive(Wire, Clone, Debug, PartialEq)]
pub enum FromWorld {
    /// The first of all: who and where the client is.
    Welcome {
        /// [`PROTOCOL`].
        protocol: u32,
        /// The client's avatar.
        id: u32,
        /// The room.
        room: String,
        /// Steps of the world a second.
        step_hz: u32,
        /// Rounds of movement a second.
        network_hz: u32,
        /// Steps so far.
        tick: u64,
    },
    /// The rounds of movement a second, from now on.
    Rate {
        /// A second.
        network_hz: u32,
    },
    /// One sentence for people.
    Notice {
        /// The sentence.
        text: String,
    },
}

/// What a thing is: the state of its id. An empty value says that it is gone.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Thing {
    /// What kind of thing.
    pub kind: Kind,
    /// 0xRRGGBB.
    pub color: u32,
    /// Full edge lengths of the box around it, in metres.
    pub size: [f32; 3],
    /// The name of an avatar; empty for everything else.
    pub name: String,
    /// The block that an avatar carries.
    pub held: Option<u32>,
    /// Where it is, if it never moves.
    pub place: Option<Place>,
}

/// What kind of thing it is.
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A box that never moves.
    Static,
    /// A box that physics and people move.
    Block,
    /// A person or a bot: an upright capsule.
    Avatar,
}

/// Where something is for good.
#[derive(Wire, Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Of the centre, in metres.
    pub position: [f32; 3],
    /// A unit quaternion: x, y, z, w.
    pub rotation: [f32; 4],
}

/// A line of chat, as everybody hears it.
#[derive(Wire, Clone, Debug, PartialEq)]
pub struct Said {
    /// The avatar that spoke.
    pub from: u32,
    /// Its name at that time.
    pub name: String,
    /// What it said.
    pub text: String,
}

/// Lines of chat that a client was not sent, because it had not read those before: the state of [`MISSED_KEY`].
#[derive(Wire, Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missed {
    /// How many since it joined.
    pub lines: u32,
}

impl Thing {
    /// What an entity is.
    pub fn of(entity: &EntityRef<'_>) -> Self {
        let is_static = entity.kind == WorldKind::Static;
        let (position, rotation) = (entity.pose.position, entity.pose.rotation);
        Self {
            kind: match entity.kind {
                WorldKind::Static => Kind::Static,
                WorldKind::Block => Kind::Block,
                WorldKind::Avatar => Kind::Avatar,
            },
            color: entity.color,
            size: entity.size,
            name: entity.name.unwrap_or_default().to_owned(),
            // The world knows of a carried block who carries it; here the carrier says so.
            held: entity.held.filter(|_| entity.kind == WorldKind::Avatar).map(|id| id.0),
            place: is_static.then_some(Place { position, rotation }),
        }
    }
}

impl ToWorld {
    /// The same in the words of the plain protocol, whose bounds and rates hold here too. What concerns the session alone
    /// has none.
    pub(crate) fn into_plain(self) -> Option<ClientMessage> {
        Some(match self {
            Self::Join { .. } | Self::Forget => return None,
            Self::Grab { block } => ClientMessage::Grab { block },
            Self::Throw { power, pitch } => ClientMessage::Throw { power: power.into(), pitch: pitch.into() },
            Self::Rename { name } => ClientMessage::Name { name },
            Self::Rate { network_hz } => ClientMessage::Rate { hz: network_hz },
        })
    }
}

impl Controls {
    /// As the world takes them.
    pub(crate) fn to_input(self) -> Result<Input, InputError> {
        Input::new(self.forward, self.right, self.yaw, self.run, self.jump)
    }
}

#[cfg(test)]
mod tests {
    use nowcast_wire::Shape;
    use nowcast_wire_tools::schema;

    use super::*;

    #[test]
    fn the_types_are_those_of_the_schema_from_which_the_other_implementation_is_made() {
        let text = include_str!("../../../../packages/nowcast/src/world/session/messages.schema");
        let written: Vec<String> = schema::parse(text).unwrap().iter().map(Shape::to_string).collect();
        let ours = [
            Shape::of::<ToWorld>(),
            Shape::of::<Controls>(),
            Shape::of::<Line>(),
            Shape::of::<FromWorld>(),
            Shape::of::<Kind>(),
            Shape::of::<Place>(),
            Shape::of::<Thing>(),
            Shape::of::<Said>(),
            Shape::of::<Missed>(),
        ];
        assert_eq!(ours.map(|shape| shape.to_string()).to_vec(), written);
    }
}
