//! Worlds as JSON.

use std::collections::BTreeMap;

use nowcast_script::{ValueName, Watched, Writer};
use nowcast_world::{EntityId, EntityRef, JointKind, Kind, Motion, Player, Pose, Value, World};
use serde_json::{Map, Value as Json, json};

use super::StudioError;
use super::listing::describe_row;
use super::values::{numbers, to_json};

/// Maximum entries in a list of differences.
const DIFFERENCES_MAX: usize = 1_000;

fn describe_pose(pose: Pose) -> Json {
    json!({ "position": numbers(&pose.position), "rotation": numbers(&pose.rotation) })
}

fn motion_of(kind: &Kind) -> Option<&'static str> {
    match &kind.body {
        _ if kind.walker.is_some() => Some("walker"),
        Some(body) => Some(match body.motion {
            Motion::Fixed => "fixed",
            Motion::Dynamic => "dynamic",
            Motion::Kinematic => "kinematic",
            Motion::Sensor => "sensor",
        }),
        None => None,
    }
}

/// Describes a world: its kinds and its counts.
pub(crate) fn describe_room(world: &World) -> Map<String, Json> {
    let scene = world.scene();
    let kinds = &scene.definition().kinds;
    let mut counts = vec![0usize; kinds.len()];
    for id in world.entities().kinds() {
        counts[usize::from(id.0)] += 1;
    }
    let kinds: Vec<Json> = kinds
        .iter()
        .zip(counts)
        .enumerate()
        .map(|(id, (kind, count))| {
            let defaults = kind.attributes.fields().iter().zip(kind.attributes.defaults());
            let attributes: Vec<Json> = defaults
                .map(|(field, default)| {
                    json!({ "name": field.name, "type": kind.attributes.shape().type_name(&field.ty), "default": to_json(default) })
                })
                .collect();
            json!({ "id": id, "name": kind.name, "count": count, "body": motion_of(kind), "attributes": attributes })
        })
        .collect();
    let described = json!({
        "tick": world.tick(),
        "entities": world.entities().len(),
        "players": scene.players().len(),
        "awake": world.awake(),
        "kinds": kinds,
    });
    match described {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

/// Describes all data of an entity.
pub(crate) fn describe_entity(world: &World, id: u32) -> Result<Json, StudioError> {
    let id = EntityId(id);
    let scene = world.scene();
    let Some(entity) = world.entity(id) else {
        return Err(StudioError::NotFound(format!("there is no entity {}", id.0)));
    };
    let kind = scene.kind_of(entity.kind);
    let body = motion_of(kind).map(|motion| {
        json!({
            "motion": motion,
            "asleep": scene.is_asleep(id),
            "mass": scene.mass(id),
            "parts": scene.shape_parts(id),
            "onGround": scene.is_on_ground(id),
        })
    });
    let contacts: Vec<u32> =
        scene.touching(id).map(|ids| ids.iter().map(|id| id.0).collect()).unwrap_or_default();
    let joints: Vec<Json> = scene
        .joints()
        .filter(|(_, joint)| joint.a == id || joint.b == id)
        .map(|(joint_id, joint)| {
            let other = if joint.a == id { joint.b } else { joint.a };
            json!({ "id": joint_id.0, "kind": joint_name(&joint.kind), "other": other.0 })
        })
        .collect();
    let children: Vec<u32> =
        world.entities().iter().filter(|child| child.parent == Some(id)).map(|child| child.id.0).collect();
    let player = scene.players().find(|player| player.avatar == Some(id)).map(|player| player.id.0);
    Ok(json!({
        "tick": world.tick(),
        "id": id.0,
        "kind": kind.name,
        "pose": describe_pose(entity.pose),
        "scale": numbers(&entity.scale),
        "velocity": {
            "linear": numbers(&entity.velocity.linear),
            "angular": numbers(&entity.velocity.angular),
        },
        "parent": entity.parent.map(|parent| parent.0),
        "owner": entity.owner.map(|owner| owner.0),
        "tags": entity.tags,
        "attributes": attributes_of(&entity, kind),
        "private": scene.private(id).map_or(Json::Null, to_json),
        "changedTick": entity.changed_tick,
        "body": body,
        "contacts": contacts,
        "joints": joints,
        "children": children,
        "player": player,
    }))
}

fn joint_name(kind: &JointKind) -> &'static str {
    match kind {
        JointKind::Fixed => "fixed",
        JointKind::Ball => "ball",
        JointKind::Hinge { .. } => "hinge",
        JointKind::Slider { .. } => "slider",
        JointKind::Rope { .. } => "rope",
        JointKind::Spring { .. } => "spring",
    }
}

fn attributes_of(entity: &EntityRef<'_>, kind: &Kind) -> Map<String, Json> {
    let fields = kind.attributes.fields().iter().zip(entity.attributes);
    fields.map(|(field, value)| (field.name.clone(), to_json(value))).collect()
}

/// Describes the state of a world and its players.
pub(crate) fn describe_state(world: &World) -> Json {
    let scene = world.scene();
    let state: Map<String, Json> =
        scene.all_state().map(|(key, value)| (key.to_owned(), to_json(value))).collect();
    let players: Vec<Json> = scene.players().map(|player| describe_player(world, player)).collect();
    json!({
        "tick": world.tick(),
        "state": state,
        "players": players,
        "timers": scene.timers_waiting(),
        "keptBytes": scene.kept_bytes(),
    })
}

fn describe_player(world: &World, player: &Player) -> Json {
    let saved = world.scene().saved(player.id);
    json!({
        "id": player.id.0,
        "name": player.name,
        "program": player.is_program,
        "avatar": player.avatar.map(|avatar| avatar.0),
        "tags": player.own_tags().collect::<Vec<_>>(),
        "roles": player.roles().collect::<Vec<_>>(),
        "private": to_json(&player.private),
        "saved": saved.map(|saved| json!({ "version": saved.version, "value": to_json(&saved.value) })),
        "account": player.account,
        "behindMs": player.behind_ms,
    })
}

/// Describes the newest writers of the values of an entity or the state.
pub(crate) fn describe_writers(watched: Watched, writers: Vec<(ValueName, Writer)>) -> Json {
    let (mut private, mut named) = (Json::Null, Map::new());
    for (name, Writer { tick, hook, name: event, player, place }) in writers {
        let (file, line) = place.unzip();
        let writer = json!({ "tick": tick, "hook": hook, "name": event, "player": player, "file": file, "line": line });
        match name {
            Some(name) => drop(named.insert(name, writer)),
            None => private = writer,
        }
    }
    match watched {
        Watched::State => Json::Object(named),
        Watched::Entity(_) => json!({ "attributes": named, "private": private }),
    }
}

/// A copy of the data of a world, for comparison on another thread.
pub(crate) struct Capture {
    entities: BTreeMap<u32, CapturedEntity>,
    state: BTreeMap<String, Value>,
    players: BTreeMap<u32, String>,
}

struct CapturedEntity {
    kind: String,
    row: Json,
    members: Vec<(String, Value)>,
}

impl Capture {
    pub(crate) fn of(world: &World) -> Capture {
        let scene = world.scene();
        let capture = |entity: EntityRef<'_>| {
            let kind = scene.kind_of(entity.kind);
            let list = |numbers: &[f32]| Value::List(numbers.iter().map(|part| Value::F32(*part)).collect());
            let id = |id: Option<u32>| id.map_or(Value::Nil, |id| Value::Int(id.into()));
            let mut members = vec![
                ("position".to_owned(), list(&entity.pose.position)),
                ("rotation".to_owned(), list(&entity.pose.rotation)),
                ("scale".to_owned(), list(&entity.scale)),
                ("owner".to_owned(), id(entity.owner.map(|owner| owner.0))),
                ("parent".to_owned(), id(entity.parent.map(|parent| parent.0))),
                (
                    "tags".to_owned(),
                    Value::List(entity.tags.iter().map(|tag| Value::from(tag.as_str())).collect()),
                ),
                ("private".to_owned(), scene.private(entity.id).cloned().unwrap_or(Value::Nil)),
            ];
            let fields = kind.attributes.fields().iter().zip(entity.attributes);
            members
                .extend(fields.map(|(field, value)| (format!("attributes.{}", field.name), value.clone())));
            let row = describe_row(&entity, kind);
            (entity.id.0, CapturedEntity { kind: kind.name.clone(), row, members })
        };
        Capture {
            entities: world.entities().iter().map(capture).collect(),
            state: scene.all_state().map(|(key, value)| (key.to_owned(), value.clone())).collect(),
            players: scene.players().map(|player| (player.id.0, player.name.clone())).collect(),
        }
    }
}

/// Describes the differences between two worlds.
pub(crate) fn compare(a: &Capture, b: &Capture) -> Json {
    let mut total = 0;
    let mut push = |list: &mut Vec<Json>, entry: Json| {
        total += 1;
        if list.len() < DIFFERENCES_MAX {
            list.push(entry);
        }
    };
    let (mut spawned, mut despawned, mut changed) = (Vec::new(), Vec::new(), Vec::new());
    let (mut state, mut players) = (Vec::new(), Vec::new());
    for (id, before) in &a.entities {
        match b.entities.get(id) {
            None => push(&mut despawned, before.row.clone()),
            Some(after) => {
                let members = changed_members(before, after);
                if !members.is_empty() {
                    push(&mut changed, json!({ "id": id, "kind": after.kind, "members": members }));
                }
            }
        }
    }
    for (_, after) in b.entities.iter().filter(|(id, _)| !a.entities.contains_key(id)) {
        push(&mut spawned, after.row.clone());
    }
    let keys: std::collections::BTreeSet<_> = a.state.keys().chain(b.state.keys()).collect();
    for key in keys {
        let (before, after) = (a.state.get(key), b.state.get(key));
        if before != after {
            push(&mut state, json!({ "key": key, "a": before.map(to_json), "b": after.map(to_json) }));
        }
    }
    for (only, there, other) in [("a", &a.players, &b.players), ("b", &b.players, &a.players)] {
        for (id, name) in there.iter().filter(|(id, _)| !other.contains_key(id)) {
            push(&mut players, json!({ "id": id, "name": name, "in": only }));
        }
    }
    json!({
        "spawned": spawned,
        "despawned": despawned,
        "changed": changed,
        "state": state,
        "players": players,
        "total": total,
    })
}

fn changed_members(before: &CapturedEntity, after: &CapturedEntity) -> Vec<Json> {
    let find = |entity: &CapturedEntity, name: &str| {
        entity.members.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let gone = before.members.iter().filter(|(name, _)| find(after, name).is_none());
    let names = after.members.iter().chain(gone).map(|(name, _)| name);
    names
        .filter_map(|name| {
            let (a, b) = (find(before, name), find(after, name));
            (a != b)
                .then(|| json!({ "name": name, "a": a.as_ref().map(to_json), "b": b.as_ref().map(to_json) }))
        })
        .collect()
}
