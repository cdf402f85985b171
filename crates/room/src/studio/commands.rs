//! Commands that edit a world.

use nowcast_world::{Edit, EntityId, PlayerId, Pose, Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use crate::recorded_world::RecordedWorld;

/// Maximum commands in one request.
pub const COMMANDS_MAX: usize = 64;

/// A command as JSON.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum StudioCommand {
    /// Sets an attribute of an entity.
    SetAttribute {
        /// The entity.
        entity: u32,
        /// The name of the attribute.
        name: String,
        /// The value.
        value: Json,
    },
    /// Sets the private data of an entity.
    SetPrivate {
        /// The entity.
        entity: u32,
        /// A map, or null for an empty one.
        value: Json,
    },
    /// Sets a key of the world's state.
    SetState {
        /// The key.
        key: String,
        /// The value; null removes the key.
        value: Json,
    },
    /// Sets the saved data of a player.
    SetSaved {
        /// The player.
        player: u32,
        /// The data: a map.
        value: Json,
    },
    /// Spawns an entity.
    Spawn {
        /// The kind.
        kind: String,
        /// The initial pose.
        pose: PoseJson,
    },
    /// Removes an entity.
    Despawn {
        /// The entity.
        entity: u32,
    },
    /// Moves an entity to a pose, at rest.
    Move {
        /// The entity.
        entity: u32,
        /// The pose.
        pose: PoseJson,
    },
}

/// A pose as JSON.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoseJson {
    /// In metres.
    position: [f32; 3],
    /// A quaternion; upright if it is omitted.
    rotation: Option<[f32; 4]>,
}

impl PoseJson {
    /// Returns the pose with a rotation of length 1, or `None` if a number is outside the limits of worlds.
    fn checked(self) -> Option<Pose> {
        let rotation = self.rotation.unwrap_or(Pose::IDENTITY.rotation);
        let length = rotation.iter().map(|part| part * part).sum::<f32>().sqrt();
        let max = nowcast_world::limits::POSITION_MAX;
        let is_place = self.position.iter().all(|part| part.is_finite() && part.abs() <= max);
        (is_place && length.is_finite() && length > 1e-6)
            .then(|| Pose { position: self.position, rotation: rotation.map(|part| part / length) })
    }
}

impl StudioCommand {
    /// Returns the edit of the world. The error message names the mistake.
    fn edit(self) -> Result<Edit, String> {
        let pose = |pose: PoseJson| pose.checked().ok_or_else(|| "the pose is not valid".to_owned());
        Ok(match self {
            Self::SetAttribute { entity, name, value } => {
                Edit::Attribute(EntityId(entity), name, value_of(value)?)
            }
            Self::SetPrivate { entity, value } => Edit::Private(EntityId(entity), map_of(value)?),
            Self::SetState { key, value } => Edit::State(key, value_of(value)?),
            Self::SetSaved { player, value } => Edit::Saved(PlayerId(player), map_of(value)?),
            Self::Spawn { kind, pose: at } => Edit::Spawn { kind, pose: pose(at)? },
            Self::Despawn { entity } => Edit::Despawn(EntityId(entity)),
            Self::Move { entity, pose: at } => Edit::Place(EntityId(entity), pose(at)?),
        })
    }

    /// Applies the command to a world, and records it. Returns the entry of the answer.
    pub(crate) fn apply(self, world: &mut RecordedWorld) -> Json {
        let spawned = matches!(self, Self::Spawn { .. }).then(|| world.world().scene().next_id().0);
        match self.edit().and_then(|edit| world.edit(edit)) {
            Err(message) => json!({ "ok": false, "message": message }),
            Ok(()) => match spawned {
                Some(id) => json!({ "ok": true, "id": id }),
                None => json!({ "ok": true }),
            },
        }
    }
}

/// Converts JSON to a value of a world.
fn value_of(json: Json) -> Result<Value, String> {
    serde_json::from_value(json).map_err(|error| format!("the value: {error}"))
}

/// Converts JSON to a map. Null becomes an empty map.
pub(crate) fn map_of(json: Json) -> Result<Value, String> {
    match value_of(json)? {
        Value::Nil => Ok(Value::Map(Vec::new())),
        map @ Value::Map(_) => Ok(map),
        _ => Err("the value must be a map".to_owned()),
    }
}
