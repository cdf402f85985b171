//! Queries and constraints: rays, overlaps, tags, joints, paths.

use mlua::{Function, Lua, MultiValue, Table, Value as Luau, Vector};
use nowcast_world::{
    ColliderShape, EntityId, Filter, Hit, Joint, JointId, JointKind, Motion, Motor, Pose, Scene, SceneError,
};

use crate::define::{SHAPE_FIELDS, read_motion, read_shape};
use crate::fields::{Fields, array as position};
use crate::handle::{Handle, refused, with_scene};
use crate::meter::charge;
use crate::namespace::{Name, Namespace};

/// Number of entities with a past pose that a query can examine for one unit of work.
const ELSEWHERE_PER_CHARGE: u64 = 4;

/// Number of tags that can be compared for one unit of work.
const TAGS_A_UNIT: usize = 8;

/// Units of work that a joint costs.
const UNITS_A_JOINT: u64 = 50;

/// Number of points, triangles or heights that a shape can be built from for one unit of work.
const PARTS_A_UNIT: u64 = 2;

/// Charges a query, a spawn or a teleport for the bodies that it examined.
pub(super) fn charge_query(scene: &Scene) -> mlua::Result<()> {
    charge(scene.take_query_cost() / LOOKED_AT_A_UNIT)
}

/// Teleports an entity, and charges for the bodies that are already at that place.
pub(super) fn teleport(scene: &mut Scene, id: EntityId, pose: Pose) -> mlua::Result<()> {
    let placed = scene.set_pose(id, pose);
    charge_query(scene)?;
    placed.map_err(refused)
}

/// Body parts that are examined for one work unit.
const LOOKED_AT_A_UNIT: u64 = 4;

pub(super) fn add(host: &Namespace<'_>) -> mlua::Result<()> {
    host.add("raycast", |lua, (origin, direction, reach, options): (Vector, Vector, f32, Option<Table>)| {
        let wanted = QueryOptions::of(options)?;
        let hit = with_scene(|scene| {
            charge(scene.elsewhere_count() as u64 / ELSEWHERE_PER_CHARGE)?;
            let hit = scene.cast_ray(position(origin), position(direction), reach, wanted.filter());
            charge_query(scene)?;
            hit.map_err(refused)
        })?;
        hit.map(|hit| describe(lua, &hit)).transpose()
    })?;
    host.add(
        "shapecast",
        |lua, (at, shape, direction, reach, options): (Vector, Table, Vector, f32, Option<Table>)| {
            let shape = charged_shape(&shape)?;
            let wanted = QueryOptions::of(options)?;
            let hit = with_scene(|scene| {
                charge(scene.elsewhere_count() as u64 / ELSEWHERE_PER_CHARGE)?;
                let pose = Pose { position: position(at), ..Pose::IDENTITY };
                let hit = scene.cast_shape(&shape, pose, position(direction), reach, wanted.filter());
                charge_query(scene)?;
                hit.map_err(refused)
            })?;
            hit.map(|hit| describe(lua, &hit)).transpose()
        },
    )?;
    host.add("overlap", |_, (at, shape, options): (Vector, Table, Option<Table>)| {
        let shape = charged_shape(&shape)?;
        let wanted = QueryOptions::of(options)?;
        let found = with_scene(|scene| {
            charge(scene.elsewhere_count() as u64 / ELSEWHERE_PER_CHARGE)?;
            let pose = Pose { position: position(at), ..Pose::IDENTITY };
            let found = scene.overlaps(&shape, pose, wanted.filter());
            charge_query(scene)?;
            found.map_err(refused)
        })?;
        charge(found.len() as u64)?;
        Ok(found.into_iter().map(Handle::Entity).collect::<Vec<_>>())
    })?;
    host.add("rewound", |_, (player, work): (Handle, Function)| {
        let player = player.player()?;
        let elsewhere = with_scene(|scene| scene.rewind(player).map_err(no_past))?;
        let done = charge(elsewhere as u64).and_then(|()| work.call::<MultiValue>(()));
        // The view of the past also ends if the function failed.
        with_scene(|scene| {
            scene.end_rewind();
            Ok(())
        })?;
        done
    })?;
    host.add("tagged", |_, tag: Name| {
        with_scene(|scene| {
            let tags: usize = scene.entities().iter().map(|entity| 1 + entity.tags.len()).sum();
            charge((tags / TAGS_A_UNIT) as u64)?;
            let tagged = scene.entities().iter().filter(|entity| entity.tags.contains(&tag.0));
            Ok(tagged.map(|entity| Handle::Entity(entity.id)).collect::<Vec<_>>())
        })
    })?;
    host.add("joint", |_, (a, b, options): (Handle, Handle, Table)| {
        charge(UNITS_A_JOINT)?;
        let joint = read_joint(a.only_entity()?, b.only_entity()?, &options).map_err(mlua::Error::runtime)?;
        with_scene(|scene| Ok(scene.join(joint).map_err(refused)?.0))
    })?;
    host.add("rotation", |_, (yaw, pitch, roll): (f32, Option<f32>, Option<f32>)| {
        Ok(rotation(yaw, pitch.unwrap_or(0.0), roll.unwrap_or(0.0)).to_vec())
    })?;
    host.add("remove_joint", |_, joint: u32| {
        charge(UNITS_A_JOINT)?;
        with_scene(|scene| scene.part(JointId(joint)).map_err(refused))
    })?;
    host.add("path", |lua, (map, from, to): (Table, Luau, Luau)| match (from, to) {
        (Luau::Vector(from), Luau::Vector(to)) => crate::grid::find(lua, &map, from, to),
        (Luau::Table(from), Luau::Table(to)) => crate::path::find(lua, &map, &from, &to),
        _ => {
            Err(mlua::Error::runtime("world.path: `from` and `to` are two cells { x =, z = } or two vectors"))
        }
    })?;
    host.add("grid", |lua, fields: Table| crate::grid::survey(lua, &fields))
}

/// The error of `world.rewound`: a world records its past only if its settings say so.
fn no_past(error: SceneError) -> mlua::Error {
    match error {
        SceneError::NoPast => mlua::Error::runtime(
            "world.rewound needs the recent past, and this world does not record it: add `rewind = true` to world.settings { … }",
        ),
        error => refused(error),
    }
}

/// Returns a quaternion: turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`. The axes are Y, X and
/// -Z; each rotation is about an axis that the preceding rotations have turned.
fn rotation(yaw: f32, pitch: f32, roll: f32) -> [f32; 4] {
    let half = |angle: f32| (libm::sinf(angle / 2.0), libm::cosf(angle / 2.0));
    let ((sy, cy), (sx, cx), (sz, cz)) = (half(yaw), half(pitch), half(-roll));
    [
        cy * sx * cz + sy * cx * sz,
        sy * cx * cz - cy * sx * sz,
        cy * cx * sz - sy * sx * cz,
        cy * cx * cz + sy * sx * sz,
    ]
}

/// The options of a query.
#[derive(Default)]
struct QueryOptions {
    except: Option<EntityId>,
    tag: Option<String>,
    motion: Option<Motion>,
}

impl QueryOptions {
    fn of(options: Option<Table>) -> mlua::Result<QueryOptions> {
        let Some(options) = options else { return Ok(QueryOptions::default()) };
        let fields = Fields::of(&options, "options");
        let read = || -> Result<_, String> {
            fields.nothing_else(&["except", "tag", "motion"])?;
            Ok((fields.text("tag")?, read_motion(&fields)?))
        };
        let (tag, motion) = read().map_err(mlua::Error::runtime)?;
        let except: Option<Handle> = options.raw_get("except")?;
        let except = except.map(|handle| with_scene(|scene| handle.entity(scene))).transpose()?;
        Ok(QueryOptions { except, tag, motion })
    }

    fn filter(&self) -> Filter<'_> {
        Filter { except: self.except, tag: self.tag.as_deref(), motion: self.motion }
    }
}

/// Reads the shape of a query, and charges for its parts.
fn charged_shape(table: &Table) -> mlua::Result<ColliderShape> {
    let fields = Fields::of(table, "shape");
    let read = fields.nothing_else(&SHAPE_FIELDS).and_then(|()| read_shape(&fields));
    let shape = read.map_err(mlua::Error::runtime)?;
    charge(shape.part_count() as u64 / PARTS_A_UNIT)?;
    if shape.part_count() > 1 {
        shape.check_fields().map_err(|error| mlua::Error::runtime(error.to_string()))?;
    }
    Ok(shape)
}

fn describe(lua: &Lua, hit: &Hit) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 4)?;
    let vector = |[x, y, z]: [f32; 3]| Luau::Vector(Vector::new(x, y, z));
    table.raw_set("entity", Handle::Entity(hit.entity))?;
    table.raw_set("distance", hit.distance)?;
    table.raw_set("point", vector(hit.point))?;
    table.raw_set("normal", vector(hit.normal))?;
    Ok(table)
}

fn read_joint(a: EntityId, b: EntityId, options: &Table) -> Result<Joint, String> {
    let fields = Fields::of(options, "joint");
    let axis = fields.vector("axis")?.unwrap_or([0.0, 1.0, 0.0]);
    let limits = match (fields.number("min")?, fields.number("max")?) {
        (Some(min), Some(max)) => Some([min, max]),
        (None, None) => None,
        _ => return Err("joint: `min` and `max` go together".into()),
    };
    let motor = match (fields.number("speed")?, fields.number("strength")?) {
        (Some(speed), Some(strength)) => Some(Motor { velocity: speed, force_max: strength }),
        (None, None) => None,
        _ => return Err("joint: `speed` and `strength` go together".into()),
    };
    let number = |name: &str, otherwise: f32| Ok::<_, String>(fields.number(name)?.unwrap_or(otherwise));
    let kind = match fields.text("type")?.as_deref() {
        None | Some("fixed") => JointKind::Fixed,
        Some("ball") => JointKind::Ball,
        Some("hinge") => JointKind::Hinge { axis, limits, motor },
        Some("slider") => JointKind::Slider { axis, limits, motor },
        Some("rope") => JointKind::Rope { length: number("length", 1.0)? },
        Some("spring") => JointKind::Spring {
            length: number("length", 1.0)?,
            stiffness: number("stiffness", 100.0)?,
            damping: number("damping", 1.0)?,
        },
        Some(other) => {
            return Err(format!(
                "joint.type: expected \"fixed\", \"ball\", \"hinge\", \"slider\", \"rope\" or \"spring\", got {other}"
            ));
        }
    };
    fields.nothing_else(&[
        "type",
        "axis",
        "min",
        "max",
        "speed",
        "strength",
        "length",
        "stiffness",
        "damping",
        "anchor_a",
        "anchor_b",
        "collides",
    ])?;
    Ok(Joint {
        a,
        b,
        anchor_a: fields.vector("anchor_a")?.unwrap_or_default(),
        anchor_b: fields.vector("anchor_b")?.unwrap_or_default(),
        kind,
        collides: fields.truth("collides")?.unwrap_or(false),
    })
}
