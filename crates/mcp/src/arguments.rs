//! The arguments of the tools. Their descriptions are part of the schemas that assistants read.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A room of the server.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Room {
    /// The name of the room, from the tool `rooms`.
    pub(crate) room: String,
}

/// A client of a room.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Client {
    /// The name of the room.
    pub(crate) room: String,
    /// The number of the player, from the tool `clients`.
    pub(crate) player: u64,
}

/// A world of the server: a folder with rules.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct World {
    /// The name of the world, from the tool `rooms`.
    pub(crate) world: String,
}

/// A live room, or a moment: a paused copy of a room at an earlier step.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Scene {
    /// The name of a live room. Give either `room` or `moment`.
    pub(crate) room: Option<String>,
    /// The id of a moment, from the tool `open_moment`.
    pub(crate) moment: Option<String>,
}

/// The entities to list.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Entities {
    #[serde(flatten)]
    pub(crate) scene: Scene,
    /// Text in the kind, a tag or the label; or `#ID`.
    pub(crate) search: Option<String>,
    /// The exact name of a kind.
    pub(crate) kind: Option<String>,
    /// A tag.
    pub(crate) tag: Option<String>,
    /// `NAME`, or `NAME=VALUE`: entities with this attribute, or with this value of it.
    pub(crate) attribute: Option<String>,
    /// `x,y,z,radius` in metres: entities within the radius.
    pub(crate) near: Option<String>,
    /// The member `next` of the previous page.
    pub(crate) after: Option<u64>,
    /// Maximum number of rows, 1 to 1,000; 50 by default.
    pub(crate) limit: Option<u16>,
}

/// One entity.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Entity {
    #[serde(flatten)]
    pub(crate) scene: Scene,
    /// The id of the entity.
    pub(crate) entity: u64,
}

/// A place and an orientation.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Pose {
    /// In metres; y is up.
    pub(crate) position: [f64; 3],
    /// A quaternion `[x, y, z, w]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rotation: Option<[f64; 4]>,
}

/// A change of a room.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Command {
    /// Sets an attribute of an entity.
    SetAttribute {
        /// The id of the entity.
        entity: u64,
        /// The declared name of the attribute.
        name: String,
        /// The value, of the attribute's type.
        value: Value,
    },
    /// Replaces the private value of an entity.
    SetPrivate {
        /// The id of the entity.
        entity: u64,
        /// A map, or null.
        value: Value,
    },
    /// Sets a key of `world.state`.
    SetState {
        /// The key.
        key: String,
        /// The value; null removes the key.
        value: Value,
    },
    /// Replaces the saved data of a player.
    SetSaved {
        /// The id of the player.
        player: u64,
        /// The data.
        value: Value,
    },
    /// Adds an entity.
    Spawn {
        /// The kind.
        kind: String,
        /// The pose.
        pose: Pose,
    },
    /// Removes an entity.
    Despawn {
        /// The id of the entity.
        entity: u64,
    },
    /// Moves an entity, which is at rest afterwards.
    Move {
        /// The id of the entity.
        entity: u64,
        /// The new pose.
        pose: Pose,
    },
}

/// Changes of a room.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Commands {
    /// The name of the room.
    pub(crate) room: String,
    /// 1 to 64 changes, applied in order between two steps.
    pub(crate) commands: Vec<Command>,
}

/// A file of a world.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct File {
    /// The name of the world.
    pub(crate) world: String,
    /// The path in the folder of the world, such as `world.luau` or `tests/score.luau`.
    pub(crate) path: String,
}

/// A new text of a file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewText {
    /// The name of the world.
    pub(crate) world: String,
    /// The path in the folder of the world.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
    /// The `revision` from `read_file`. Leave it out for a new file.
    pub(crate) revision: Option<String>,
}

/// New texts of several files.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct NewTexts {
    /// The name of the world.
    pub(crate) world: String,
    /// 1 to 64 files.
    pub(crate) files: Vec<NewFile>,
}

/// A new text of one of several files.
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct NewFile {
    /// The path in the folder of the world.
    pub(crate) path: String,
    /// The whole text.
    pub(crate) text: String,
    /// The `revision` from `read_file`. Leave it out for a new file.
    pub(crate) revision: Option<String>,
}

/// Replacements in a file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Edits {
    /// The name of the world.
    pub(crate) world: String,
    /// The path in the folder of the world.
    pub(crate) path: String,
    /// The replacements, in order.
    pub(crate) edits: Vec<Edit>,
}

/// A replacement of a part of a file.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Edit {
    /// The present text of the part, with its line breaks and indentation. It must occur exactly once.
    pub(crate) old: String,
    /// The new text of the part.
    pub(crate) new: String,
}

/// Types to read.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Types {
    /// The name of the world.
    pub(crate) world: String,
    /// Only the declarations that contain this text, with their documentation, such as `raycast`.
    pub(crate) search: Option<String>,
}

/// Texts to check.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Check {
    /// The name of the world.
    pub(crate) world: String,
    /// Texts by path, which replace those of the folder for the check; may be empty.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
}

/// Tests to run.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Tests {
    /// The name of the world.
    pub(crate) world: String,
    /// Run only the cases whose names contain this text.
    pub(crate) only: Option<String>,
    /// Texts by path that are not saved, which replace those of the folder for the run.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, String>,
}

/// Lines of a log.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Log {
    /// The name of the room.
    pub(crate) room: String,
    /// The member `next` of an earlier answer: only later lines.
    pub(crate) after: Option<u64>,
}

/// Steps to show.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Profile {
    /// The name of the room.
    pub(crate) room: String,
    /// Number of steps, 1 to 600; 120 by default.
    pub(crate) steps: Option<u16>,
}

/// An earlier step of a room.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct OpenMoment {
    /// The name of the room.
    pub(crate) room: String,
    /// The step, from the tool `history`. Give either `step` or `seconds_ago`.
    pub(crate) step: Option<u64>,
    /// The time before now, in seconds.
    pub(crate) seconds_ago: Option<f64>,
}

/// A moment.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Moment {
    /// The id of the moment.
    pub(crate) moment: String,
}

/// Steps of a moment.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct StepMoment {
    /// The id of the moment.
    pub(crate) moment: String,
    /// Number of steps, -3,600 to 3,600; 60 steps are a second.
    pub(crate) steps: i32,
}

/// Two moments.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct TwoMoments {
    /// The id of one moment.
    pub(crate) a: String,
    /// The id of the other.
    pub(crate) b: String,
}

/// The rules of a replay.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rules {
    /// The rules in the folder now.
    Current,
    /// The rules that were recorded with the step.
    Recorded,
}

/// A replay.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Replay {
    /// The id of the moment from which the replay starts.
    pub(crate) moment: String,
    /// The rules of the replay.
    pub(crate) rules: Rules,
    /// The last step, at most 18,000 after the moment.
    pub(crate) until: u64,
}

/// A test made of a moment.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct SaveTest {
    /// The id of the moment.
    pub(crate) moment: String,
    /// The name of the test: 1 to 48 of a-z, 0-9, - and _.
    pub(crate) name: String,
}
