//! Describes kinds in a definition, with the field names that scripts use to declare bodies, walkers and owners.

use nowcast_wire::Value;
use nowcast_world::{
    Beyond, Body, BodyRole, ColliderShape, Layers, Mass, Motion, OwnedBy, OwnerLeaves, OwnerRules, Pose,
    Walker,
};

use crate::session::Kind;

impl Kind {
    /// Describes a kind of a world in which walkers fall by `gravity`, in metres a second squared.
    pub fn describe(kind: &nowcast_world::Kind, gravity: f32) -> Self {
        Self {
            name: kind.name.clone(),
            body: kind.body.as_ref().map_or(Value::Nil, |body| with_layers(body_words(body), kind.layers)),
            walker: kind
                .walker
                .as_ref()
                .map_or(Value::Nil, |walker| with_layers(walker_words(walker, gravity), kind.layers)),
            look: kind.look.clone(),
            attributes: kind.attributes.shape().to_bytes(),
            owner: owner_words(&kind.owner),
        }
    }
}

/// Adds the collision layers as numbers. Fields that are 0 are left out.
fn with_layers(words: Value, layers: Layers) -> Value {
    let Value::Map(mut words) = words else { return words };
    let numbers = [("layer", u64::from(layers.layer)), ("ignores", u64::from(layers.ignores))];
    words.extend(
        numbers.into_iter().filter(|(_, number)| *number != 0).map(|(name, number)| word(name, number)),
    );
    Value::Map(words)
}

/// Describes a body, with the field names that scripts use.
fn body_words(body: &Body) -> Value {
    let motion = match body.motion {
        Motion::Fixed => "fixed",
        Motion::Dynamic => "dynamic",
        Motion::Kinematic => "kinematic",
        Motion::Sensor => "sensor",
    };
    let mut words = shape_words(&body.shape);
    words.push(word("motion", motion));
    words.push(match body.mass {
        Mass::Density(density) => word("density", density),
        Mass::Kilograms(mass) => word("mass", mass),
    });
    words.push(word("friction", body.friction));
    words.push(word("restitution", body.restitution));
    words.push(word("gravity_scale", body.gravity_scale));
    match body.role {
        BodyRole::Obstacle => {}
        BodyRole::Ladder => words.push(word("role", "ladder")),
        BodyRole::Water => words.push(word("role", "water")),
    }
    Value::Map(words)
}

/// Default fall acceleration of walkers (`spec/MOVEMENT.md`, section 2), in metres a second squared.
pub(crate) const GRAVITY: f32 = 9.81;

/// Describes the movement parameters and the gravity of a walker, with the field names that scripts use.
fn walker_words(walker: &Walker, gravity: f32) -> Value {
    let mut words = vec![
        word("height", walker.height),
        word("radius", walker.radius),
        word("mass", walker.mass),
        word("walk_speed", walker.walk_speed),
        word("run_speed", walker.run_speed),
        word("ground_acceleration", walker.ground_acceleration),
        word("air_acceleration", walker.air_acceleration),
        word("jump_speed", walker.jump_speed),
    ];
    if walker.is_adjustable {
        words.push(word("adjustable", true));
    }
    if walker.shows_pitch {
        words.push(word("pitch", true));
    }
    // Clients know the default gravity, so it is left out.
    if gravity != GRAVITY {
        words.push(word("gravity", gravity));
    }
    Value::Map(words)
}

/// Describes the owner rules of a kind, with the field names that scripts use.
fn owner_words(rules: &OwnerRules) -> Value {
    let Some(by) = rules.by else { return Value::Nil };
    let by = match by {
        OwnedBy::Player => "player",
        OwnedBy::Program => "program",
        OwnedBy::Anyone => "anyone",
    };
    let beyond = match rules.beyond {
        Beyond::Clamp => "clamp",
        Beyond::Refuse => "refuse",
    };
    let leave = match rules.leave {
        OwnerLeaves::Release => "release",
        OwnerLeaves::Keep => "keep",
        OwnerLeaves::Despawn => "despawn",
    };
    let mut words = vec![word("by", by), word("speed", rules.speed), word("turn", rules.turn)];
    words.extend(rules.reach.map(|reach| word("reach", reach)));
    words.extend(rules.area.map(|area| {
        let area = Value::Map(vec![word("at", numbers(&area.at)), word("size", numbers(&area.size))]);
        word("area", area)
    }));
    words.push(word("beyond", beyond));
    words.push(word("attributes", list(&rules.attributes, |name| name.as_str().into())));
    words.push(word("spawns", u64::from(rules.spawns_max)));
    words.push(word("leave", leave));
    Value::Map(words)
}

fn shape_words(shape: &ColliderShape) -> Vec<(Value, Value)> {
    match shape {
        ColliderShape::Box { size } => vec![word("shape", "box"), word("size", numbers(size))],
        ColliderShape::Sphere { radius } => vec![word("shape", "sphere"), word("radius", *radius)],
        ColliderShape::Capsule { radius, height } => round("capsule", *radius, *height),
        ColliderShape::Cylinder { radius, height } => round("cylinder", *radius, *height),
        ColliderShape::Cone { radius, height } => round("cone", *radius, *height),
        ColliderShape::ConvexHull { points } => vec![
            word("shape", "hull"),
            word("points", list(points, |point| numbers(point))),
            // Clients predict walkers on exactly these faces (`spec/MOVEMENT.md`, section 2).
            word("triangles", corners(&ColliderShape::hull_triangles(points))),
        ],
        ColliderShape::TriangleMesh { vertices, triangles } => vec![
            word("shape", "mesh"),
            word("vertices", list(vertices, |vertex| numbers(vertex))),
            word("triangles", corners(triangles)),
        ],
        ColliderShape::HeightField { heights, columns, size } => vec![
            word("shape", "heights"),
            word("heights", list(heights, |height| (*height).into())),
            word("columns", *columns as u64),
            word("size", numbers(&[size[0], 0.0, size[1]])),
        ],
        ColliderShape::Compound { parts } => {
            vec![word("shape", "compound"), word("parts", list(parts, part_words))]
        }
    }
}

/// In scripts, corners are numbered from 1.
fn corners(triangles: &[[u32; 3]]) -> Value {
    list(triangles.as_flattened(), |corner| (corner + 1).into())
}

fn round(shape: &str, radius: f32, height: f32) -> Vec<(Value, Value)> {
    vec![word("shape", shape), word("radius", radius), word("height", height)]
}

fn part_words((pose, shape): &(Pose, ColliderShape)) -> Value {
    let mut words = shape_words(shape);
    words.push(word("at", numbers(&pose.position)));
    if pose.rotation != Pose::IDENTITY.rotation {
        words.push(word("rotation", numbers(&pose.rotation)));
    }
    Value::Map(words)
}

fn word(name: &str, value: impl Into<Value>) -> (Value, Value) {
    (name.into(), value.into())
}

fn numbers(numbers: &[f32]) -> Value {
    list(numbers, |number| (*number).into())
}

fn list<T>(items: &[T], value: impl Fn(&T) -> Value) -> Value {
    Value::List(items.iter().map(value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_described_by_the_names_that_scripts_use() {
        let part = ColliderShape::Sphere { radius: 0.5 };
        let at = Pose { position: [0.0, 1.0, 0.0], ..Pose::IDENTITY };
        let body = Body::fixed(ColliderShape::Compound { parts: vec![(at, part)] });
        let words = body_words(&body);
        assert_eq!(words.get("motion").and_then(Value::as_text), Some("fixed"));
        assert_eq!(words.get("shape").and_then(Value::as_text), Some("compound"));
        let Some(Value::List(parts)) = words.get("parts") else { panic!("{words:?}") };
        assert_eq!(parts[0].get("radius"), Some(&Value::F32(0.5)));
        assert_eq!(parts[0].get("at"), Some(&numbers(&[0.0, 1.0, 0.0])));
    }
}
