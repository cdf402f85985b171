//! The engine's entities and events in the words of version 1 of `spec/WORLD.md`.

use nowcast_world::text::sanitize;
use nowcast_world::{CHAT_CHARS_MAX, EntityId, PlayerId, Pose, Scene, Value};

use super::rules::{AVATAR, STATIC};
use super::{AVATAR_HEIGHT, AVATAR_RADIUS, hold};

/// What an entity is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A box that never moves.
    Static,
    /// A box that can be pushed, carried and thrown.
    Block,
    /// A person: an upright capsule.
    Avatar,
}

/// One entity as it is now.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EntityRef<'a> {
    /// Its name in this world.
    pub id: EntityId,
    /// What it is.
    pub kind: Kind,
    /// Where its centre is, and how it is turned.
    pub pose: Pose,
    /// Full edge lengths of the box around it, in metres, before rotation.
    pub size: [f32; 3],
    /// 0xRRGGBB.
    pub color: u32,
    /// The name of an avatar; `None` for everything else.
    pub name: Option<&'a str>,
    /// The block that an avatar carries, or the avatar that carries a block.
    pub held: Option<EntityId>,
}

/// Something that every observer should hear about exactly once, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// An entity came into the world.
    Spawned(EntityId),
    /// An entity left the world; its id is never used again.
    Despawned(EntityId),
    /// An avatar took a block, or let go of the one it had.
    Held {
        /// Who.
        avatar: EntityId,
        /// What; `None` when the hands are empty again.
        block: Option<EntityId>,
    },
    /// An avatar chose a new name.
    Renamed {
        /// Who.
        id: EntityId,
        /// The new name, sanitised.
        name: String,
    },
    /// An avatar spoke.
    Chat {
        /// Who.
        from: EntityId,
        /// The name at that time.
        name: String,
        /// What was said, sanitised; markup is passed on as it came.
        text: String,
    },
    /// An entity fell off the edge and was put back: its pose jumped, and nobody should interpolate across the jump.
    Returned(EntityId),
}

/// Something that an avatar does once. Event: done in order, at the next step.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    /// Takes a block and carries it; nothing happens when none is in reach or the hands are full.
    Grab {
        /// This one, or the nearest in front.
        block: Option<EntityId>,
    },
    /// Lets go of the carried block.
    Throw {
        /// 0 puts it down, 1 throws it hard.
        power: f32,
        /// Radians above the horizon, −1.5..1.5.
        pitch: f32,
    },
    /// Says something.
    Chat {
        /// Sanitised before anybody hears it; dropped when nothing is left.
        text: String,
    },
    /// Takes another name.
    Rename {
        /// Sanitised; when nothing is left the avatar becomes a guest.
        name: String,
    },
}

impl Action {
    /// Takes the nearest block in front.
    pub fn grab() -> Action {
        Action::Grab { block: None }
    }

    /// Lets go of the carried block.
    pub fn throw(power: f32, pitch: f32) -> Action {
        Action::Throw { power, pitch }
    }

    /// Says something.
    pub fn chat(text: &str) -> Action {
        Action::Chat { text: sanitize(text, CHAT_CHARS_MAX) }
    }
}

/// Why nobody could join.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JoinError {
    /// As many avatars as the configuration allows are in the world.
    #[error("the world is full: {avatars_max} avatars are in it")]
    Full {
        /// The limit.
        avatars_max: usize,
    },
}

/// An event of the engine, if the protocol has a word for it.
pub(super) fn event_of(event: nowcast_world::Event) -> Option<Event> {
    use nowcast_world::Event as Engine;
    Some(match event {
        Engine::Spawned(id) => Event::Spawned(id),
        Engine::Despawned(id) => Event::Despawned(id),
        Engine::Teleported(id) => Event::Returned(id),
        Engine::Renamed { player, name } => Event::Renamed { id: EntityId(player.0), name },
        Engine::Said { player, name, text } => Event::Chat { from: EntityId(player.0), name, text },
        Engine::Emitted { payload: Value::List(pair), .. } => match pair.as_slice() {
            [avatar, block] => {
                Event::Held { avatar: hold::entity_of(avatar)?, block: hold::entity_of(block) }
            }
            _ => return None,
        },
        Engine::Emitted { .. }
        | Engine::Joined(_)
        | Engine::Left(_)
        | Engine::Screen { .. }
        | Engine::Refused { .. } => return None,
    })
}

/// An entity of the engine.
pub(super) fn describe<'a>(scene: &'a Scene, entity: &nowcast_world::EntityRef<'a>) -> EntityRef<'a> {
    let kind = match entity.kind {
        STATIC => Kind::Static,
        AVATAR => Kind::Avatar,
        _ => Kind::Block,
    };
    let is_avatar = kind == Kind::Avatar;
    let color = entity.attributes.first().and_then(Value::as_f64).map_or(0, |color| color as u32);
    let player = scene.player(PlayerId(entity.id.0)).filter(|_| is_avatar);
    EntityRef {
        id: entity.id,
        kind,
        pose: entity.pose,
        size: if is_avatar {
            [AVATAR_RADIUS * 2.0, AVATAR_HEIGHT, AVATAR_RADIUS * 2.0]
        } else {
            entity.scale
        },
        color,
        name: player.map(|player| player.name.as_str()),
        held: entity.attributes.get(1).and_then(hold::entity_of),
    }
}
