//! Fields and methods of entities and players.

use std::cell::Cell;

use mlua::{FromLua, Lua, Table, Value as Luau, Vector};
use nowcast_world::limits::PRECISE_POSITION_MAX;
use nowcast_world::{EntityId, Input, KindId, Motion, Pose, Scene, Spawn, Value, Velocity};

use crate::convert::{Purpose, from_luau, with_article};
use crate::define::PITCH;
use crate::fields::{Fields, array as position};
use crate::handle::{Handle, refused, with_scene};
use crate::meter::charge;
use crate::module::queries::{charge_query, teleport};
use crate::namespace::{Name, Namespace};

/// Units of work for making and removing a body, in addition to the cost of its searches.
const UNITS_A_BODY: u64 = 100;

/// Number of items that can be searched for one unit of work.
const ENTITIES_A_UNIT: u64 = 16;
const ROWS_A_UNIT: u64 = 64;
pub(super) const PLAYERS_A_UNIT: u64 = 64;

/// Points, triangles or fields that a comparison of two shapes reads for one work unit.
const PARTS_A_UNIT: usize = 16;

/// Number of points, triangles or fields that a shape can be built from for one unit of work.
const BUILT_A_UNIT: usize = 2;

pub(super) fn add(host: &Namespace<'_>) -> mlua::Result<()> {
    let getters = Namespace::new(host.lua)?;
    add_getters(&getters)?;
    host.table.raw_set("getters", &getters.table)?;
    let setters = Namespace::new(host.lua)?;
    add_setters(&setters)?;
    host.table.raw_set("setters", &setters.table)?;
    let methods = Namespace::new(host.lua)?;
    add_methods(&methods)?;
    host.table.raw_set("methods", &methods.table)?;
    add_making(host)
}

fn vector([x, y, z]: [f32; 3]) -> Vector {
    Vector::new(x, y, z)
}

pub(super) fn gone(handle: Handle) -> mlua::Error {
    match handle {
        Handle::Entity(id) => mlua::Error::runtime(format!("entity {} is gone", id.0)),
        Handle::Player(id) => mlua::Error::runtime(format!("player {} has no avatar, or has left", id.0)),
    }
}

pub(super) fn pose(scene: &Scene, handle: Handle) -> mlua::Result<(EntityId, Pose)> {
    let id = handle.entity(scene)?;
    Ok((id, scene.pose(id).ok_or_else(|| gone(handle))?))
}

/// Returns the pose of an entity; while the world is rewound, the pose that the player saw.
fn seen(scene: &Scene, handle: Handle) -> mlua::Result<Pose> {
    scene.seen_pose(handle.entity(scene)?).ok_or_else(|| gone(handle))
}

/// Returns the rotation of a pose about the upright axis, in radians; 0 looks along -Z.
fn yaw_of(pose: &Pose) -> f32 {
    let [x, y, z, w] = pose.rotation;
    libm::atan2f(2.0 * (w * y + x * z), 1.0 - 2.0 * (x * x + y * y))
}

pub(super) fn turned(yaw: f32) -> [f32; 4] {
    [0.0, libm::sinf(yaw / 2.0), 0.0, libm::cosf(yaw / 2.0)]
}

/// Reads a quaternion of a script.
pub(crate) fn rotation(parts: &Table) -> mlua::Result<[f32; 4]> {
    let read: mlua::Result<Vec<f32>> = parts.sequence_values().take(5).collect();
    let four = read.ok().and_then(|parts| <[f32; 4]>::try_from(parts).ok());
    four.ok_or_else(no_rotation)
}

fn no_rotation() -> mlua::Error {
    mlua::Error::runtime("a rotation is four numbers, { x, y, z, w }, as world.rotation gives them")
}

/// Reads the vector for a field.
fn vector_for(name: &str, given: &Luau) -> mlua::Result<[f32; 3]> {
    match given {
        Luau::Vector(given) => Ok(position(*given)),
        other => Err(mlua::Error::runtime(format!("{name}: {}", no_vector(other)))),
    }
}

fn no_vector(given: &Luau) -> String {
    let numbers: Option<Vec<f64>> = match given {
        Luau::Table(parts) => parts.sequence_values().take(4).collect::<mlua::Result<_>>().ok(),
        _ => None,
    };
    let meant = match numbers.as_deref() {
        Some([x, y, z]) => format!("vector.create({x}, {y}, {z})"),
        _ => "vector.create(x, y, z)".to_owned(),
    };
    format!("a vector is expected, as in {meant}, not {}", with_article(given))
}

/// A vector that is an argument of a method.
pub(super) struct Place(pub(super) [f32; 3]);

impl FromLua for Place {
    fn from_lua(given: Luau, _: &Lua) -> mlua::Result<Place> {
        match given {
            Luau::Vector(given) => Ok(Place(position(given))),
            other => Err(mlua::Error::runtime(no_vector(&other))),
        }
    }
}

/// The index of a kind. A call with a dot passes another value in the place of the kind, which has no index.
struct Index(u16);

impl FromLua for Index {
    fn from_lua(given: Luau, lua: &Lua) -> mlua::Result<Index> {
        let called = "a kind is expected: its functions are called with a colon, as in Kind:spawn { … }";
        u16::from_lua(given, lua).map(Index).map_err(|_| mlua::Error::runtime(called))
    }
}

fn facing(pose: &Pose) -> [f32; 3] {
    let yaw = yaw_of(pose);
    [-libm::sinf(yaw), 0.0, -libm::cosf(yaw)]
}

fn add_getters(get: &Namespace<'_>) -> mlua::Result<()> {
    add_places(get)?;
    add_belongings(get)?;
    add_walking(get)?;
    get.add("id", |_, handle: Handle| {
        Ok(match handle {
            Handle::Entity(id) => id.0,
            Handle::Player(id) => id.0,
        })
    })?;
    get.add("alive", |_, handle: Handle| {
        with_scene(|scene| {
            Ok(match handle {
                Handle::Entity(id) => scene.pose(id).is_some(),
                Handle::Player(id) => scene.player(id).is_some(),
            })
        })
    })?;
    get.add("name", |_, handle: Handle| {
        with_scene(|scene| {
            let player = scene.player(handle.player()?).ok_or_else(|| gone(handle))?;
            Ok(player.name.clone())
        })
    })?;
    get.add("tags", |_, handle: Handle| {
        with_scene(|scene| {
            Ok(match handle {
                Handle::Entity(id) => scene.entity(id).ok_or_else(|| gone(handle))?.tags.to_vec(),
                Handle::Player(id) => {
                    let player = scene.player(id).ok_or_else(|| gone(handle))?;
                    player.own_tags().map(str::to_owned).collect()
                }
            })
        })
    })?;
    get.add("roles", |_, handle: Handle| {
        with_scene(|scene| {
            let player = scene.player(handle.player()?).ok_or_else(|| gone(handle))?;
            Ok(player.roles().map(str::to_owned).collect::<Vec<_>>())
        })
    })?;
    get.add("account", |_, handle: Handle| {
        with_scene(|scene| {
            let player = scene.player(handle.player()?).ok_or_else(|| gone(handle))?;
            Ok(player.account.clone())
        })
    })?;
    get.add("input", |lua, handle: Handle| {
        let input = with_scene(|scene| match handle {
            Handle::Player(id) => Ok(scene.player(id).ok_or_else(|| gone(handle))?.input),
            Handle::Entity(id) => scene.input(id).ok_or_else(|| gone(handle)),
        })?;
        let table = lua.create_table_with_capacity(0, 5)?;
        table.raw_set("forward", input.forward)?;
        table.raw_set("right", input.right)?;
        table.raw_set("yaw", input.yaw)?;
        table.raw_set("run", input.run)?;
        table.raw_set("jump", input.jump)?;
        Ok(table)
    })
}

/// Adds the fields `is_on_ground` and `look` of walkers and players.
fn add_walking(get: &Namespace<'_>) -> mlua::Result<()> {
    get.add("is_on_ground", |_, handle: Handle| {
        with_scene(|scene| Ok(scene.is_on_ground(handle.entity(scene)?).unwrap_or(false)))
    })?;
    get.add("look", |lua, handle: Handle| {
        let (yaw, pitch) = with_scene(|scene| look(scene, handle))?;
        let flat = libm::cosf(pitch);
        let direction = Vector::new(-libm::sinf(yaw) * flat, libm::sinf(pitch), -libm::cosf(yaw) * flat);
        let table = lua.create_table_with_capacity(0, 3)?;
        table.raw_set("yaw", yaw)?;
        table.raw_set("pitch", pitch)?;
        table.raw_set("direction", direction)?;
        Ok(table)
    })
}

/// Returns the yaw and the pitch with which a player or an entity looks, in radians.
fn look(scene: &Scene, handle: Handle) -> mlua::Result<(f32, f32)> {
    let (yaw, avatar) = match handle {
        Handle::Player(id) => {
            let player = scene.player(id).ok_or_else(|| gone(handle))?;
            (player.input.yaw, player.avatar)
        }
        Handle::Entity(id) => (yaw_of(&pose(scene, handle)?.1), Some(id)),
    };
    let pitch = avatar.and_then(|id| scene.attribute(id, PITCH)).and_then(Value::as_f64);
    Ok((yaw, pitch.unwrap_or(0.0) as f32))
}

/// Adds position, rotation and movement.
fn add_places(get: &Namespace<'_>) -> mlua::Result<()> {
    get.add("position", |_, handle: Handle| with_scene(|scene| Ok(vector(seen(scene, handle)?.position))))?;
    get.add("yaw", |_, handle: Handle| with_scene(|scene| Ok(yaw_of(&seen(scene, handle)?))))?;
    get.add("facing", |_, handle: Handle| with_scene(|scene| Ok(vector(facing(&seen(scene, handle)?)))))?;
    get.add("rotation", |_, handle: Handle| with_scene(|scene| Ok(seen(scene, handle)?.rotation.to_vec())))?;
    get.add("velocity", |_, handle: Handle| {
        with_scene(|scene| Ok(vector(velocity(scene, handle)?.1.linear)))
    })?;
    get.add("spin", |_, handle: Handle| with_scene(|scene| Ok(vector(velocity(scene, handle)?.1.angular))))?;
    get.add("mass", |_, handle: Handle| with_scene(|scene| Ok(scene.mass(handle.entity(scene)?))))?;
    get.add("asleep", |_, handle: Handle| with_scene(|scene| Ok(scene.is_asleep(handle.entity(scene)?))))?;
    get.add("scale", |_, handle: Handle| {
        with_scene(|scene| {
            let id = handle.entity(scene)?;
            Ok(vector(scene.entity(id).ok_or_else(|| gone(handle))?.scale))
        })
    })
}

/// Adds ownership, parents and avatars.
fn add_belongings(get: &Namespace<'_>) -> mlua::Result<()> {
    get.add("owner", |_, handle: Handle| {
        with_scene(|scene| {
            let id = handle.only_entity()?;
            Ok(scene.entity(id).ok_or_else(|| gone(handle))?.owner.map(Handle::Player))
        })
    })?;
    get.add("parent", |_, handle: Handle| {
        with_scene(|scene| {
            let id = handle.only_entity()?;
            Ok(scene.entity(id).ok_or_else(|| gone(handle))?.parent.map(Handle::Entity))
        })
    })?;
    get.add("player", |_, handle: Handle| {
        with_scene(|scene| {
            let Handle::Entity(id) = handle else { return Ok(Some(handle)) };
            charge(scene.players().len() as u64 / PLAYERS_A_UNIT)?;
            Ok(scene
                .players()
                .find(|player| player.avatar == Some(id))
                .map(|player| Handle::Player(player.id)))
        })
    })?;
    get.add("is_program", |_, handle: Handle| {
        with_scene(|scene| Ok(scene.player(handle.player()?).ok_or_else(|| gone(handle))?.is_program))
    })?;
    get.add("avatar", |_, handle: Handle| {
        with_scene(|scene| {
            let player = scene.player(handle.player()?).ok_or_else(|| gone(handle))?;
            Ok(player.avatar.map(Handle::Entity))
        })
    })
}

fn velocity(scene: &Scene, handle: Handle) -> mlua::Result<(EntityId, Velocity)> {
    let id = handle.entity(scene)?;
    Ok((id, scene.velocity(id).ok_or_else(|| gone(handle))?))
}

fn add_setters(set: &Namespace<'_>) -> mlua::Result<()> {
    set.add("position", |_, (handle, to): (Handle, Luau)| {
        let position = vector_for("position", &to)?;
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            teleport(scene, id, Pose { position, ..pose })
        })
    })?;
    set.add("yaw", |lua, (handle, yaw): (Handle, Luau)| {
        let expected = || format!("yaw: a number of radians is expected, not {}", with_article(&yaw));
        let yaw = f32::from_lua(yaw.clone(), lua).map_err(|_| mlua::Error::runtime(expected()))?;
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            teleport(scene, id, Pose { rotation: turned(yaw), ..pose })
        })
    })?;
    set.add("rotation", |_, (handle, parts): (Handle, Luau)| {
        let Luau::Table(parts) = &parts else { return Err(no_rotation()) };
        let rotation = rotation(parts)?;
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            teleport(scene, id, Pose { rotation, ..pose })
        })
    })?;
    set.add("velocity", |_, (handle, to): (Handle, Luau)| {
        let linear = vector_for("velocity", &to)?;
        with_scene(|scene| {
            let (id, velocity) = velocity(scene, handle)?;
            scene.set_velocity(id, Velocity { linear, ..velocity }).map_err(refused)
        })
    })?;
    set.add("spin", |_, (handle, to): (Handle, Luau)| {
        let angular = vector_for("spin", &to)?;
        with_scene(|scene| {
            let (id, velocity) = velocity(scene, handle)?;
            scene.set_velocity(id, Velocity { angular, ..velocity }).map_err(refused)
        })
    })?;
    set.add("owner", |_, (handle, owner): (Handle, Option<Handle>)| {
        let owner = owner.map(Handle::player).transpose()?;
        with_scene(|scene| scene.set_owner(handle.only_entity()?, owner).map_err(refused))
    })?;
    set.add("parent", |_, (handle, parent): (Handle, Option<Handle>)| {
        let parent = parent.map(Handle::only_entity).transpose()?;
        with_scene(|scene| {
            charge(scene.attached_count() as u64)?;
            scene.set_parent(handle.only_entity()?, parent).map_err(refused)
        })
    })?;
    set.add("input", |_, (handle, table): (Handle, Table)| {
        let input = Fields::of(&table, "input").input().map_err(mlua::Error::runtime)?;
        with_scene(|scene| scene.set_input(handle.entity(scene)?, input).map_err(refused))
    })
}

fn add_methods(method: &Namespace<'_>) -> mlua::Result<()> {
    method.add("apply_impulse", |_, (handle, impulse, at): (Handle, Place, Option<Place>)| {
        with_scene(|scene| {
            let id = handle.entity(scene)?;
            scene.apply_impulse(id, impulse.0, at.map(|at| at.0)).map_err(refused)
        })
    })?;
    method.add("apply_angular_impulse", |_, (handle, impulse): (Handle, Place)| {
        with_scene(|scene| {
            let id = handle.entity(scene)?;
            scene.apply_torque_impulse(id, impulse.0).map_err(refused)
        })
    })?;
    method.add("apply_force", |_, (handle, force, torque): (Handle, Place, Option<Place>)| {
        with_scene(|scene| {
            let id = handle.entity(scene)?;
            scene.push(id, force.0, torque.map(|torque| torque.0).unwrap_or_default()).map_err(refused)
        })
    })?;
    method.add("launch", |_, (handle, velocity): (Handle, Place)| {
        with_scene(|scene| scene.launch(handle.entity(scene)?, velocity.0).map_err(refused))
    })?;
    method.add("walk", |_, (handle, direction, run): (Handle, Place, Option<bool>)| {
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            let [x, _, z] = direction.0;
            let length = (x * x + z * z).sqrt().min(1.0);
            let yaw = if length > 1e-6 { libm::atan2f(-x, -z) } else { yaw_of(&pose) };
            let input = Input::new(length, 0.0, yaw, run.unwrap_or(false), false);
            let input = input.map_err(|error| mlua::Error::runtime(format!("direction: {error}")))?;
            scene.set_input(id, input).map_err(refused)
        })
    })?;
    method.add("touching", |_, handle: Handle| {
        with_scene(|scene| {
            let found = scene.touching(handle.entity(scene)?).map_err(refused)?;
            charge(found.len() as u64)?;
            Ok(found.into_iter().map(Handle::Entity).collect::<Vec<_>>())
        })
    })?;
    method.add("distance", |_, (handle, other): (Handle, Handle)| {
        with_scene(|scene| {
            let (one, other) = (handle.entity(scene)?, other.entity(scene)?);
            let parts = |id| scene.shape_parts(id).div_ceil(PARTS_A_UNIT) as u64;
            // Each part of one shape is compared with each part of the other shape.
            charge(parts(one).saturating_mul(parts(other)))?;
            scene.distance(one, other).map_err(refused)
        })
    })?;
    method.add("tag", |_, (handle, tag): (Handle, Name)| set_tag(handle, &tag, true))?;
    method.add("untag", |_, (handle, tag): (Handle, Name)| set_tag(handle, &tag, false))?;
    method.add("has_tag", |_, (handle, tag): (Handle, Name)| {
        with_scene(|scene| {
            let tags = match handle {
                Handle::Entity(id) => scene.entity(id).map(|entity| entity.tags),
                Handle::Player(id) => scene.player(id).map(|player| player.tags.as_slice()),
            };
            let is_role = tag.starts_with('@') && matches!(handle, Handle::Player(_));
            Ok(!is_role && tags.is_some_and(|tags| tags.contains(&tag.0)))
        })
    })?;
    method.add("pass_through", |_, (handle, other): (Handle, Option<Handle>)| {
        let other = other.map(Handle::only_entity).transpose()?;
        with_scene(|scene| scene.set_passes(handle.entity(scene)?, other).map_err(refused))
    })?;
    method.add("set_gravity", |_, (handle, scale): (Handle, f32)| {
        with_scene(|scene| scene.set_gravity_scale(handle.entity(scene)?, scale).map_err(refused))
    })
}

fn set_tag(handle: Handle, tag: &str, is_set: bool) -> mlua::Result<()> {
    with_scene(|scene| match handle {
        Handle::Entity(id) => scene.set_tag(id, tag, is_set).map_err(refused),
        Handle::Player(id) => scene.set_player_tag(id, tag, is_set).map_err(refused),
    })
}

fn add_making(host: &Namespace<'_>) -> mlua::Result<()> {
    let has_warned = Cell::new(false);
    host.add("spawn", move |lua, (Index(kind), player, fields): (Index, Option<Handle>, Table)| {
        charge(UNITS_A_BODY)?;
        let spawn = read_spawn(&fields)?;
        let tags = Fields::of(&fields, "spawn").texts("tags").map_err(mlua::Error::runtime)?;
        let place = spawn.pose.position;
        let entity = with_scene(|scene| {
            charge((scene.parts_to_build(KindId(kind), spawn.scale) / BUILT_A_UNIT) as u64)?;
            let id = match player {
                Some(player) => scene.spawn_avatar(player.player()?, KindId(kind), spawn),
                None => scene.spawn(KindId(kind), spawn),
            };
            charge_query(scene)?;
            let id = id.map_err(refused)?;
            tags.iter().try_for_each(|tag| scene.set_tag(id, tag, true)).map_err(refused)?;
            Ok(Handle::Entity(id))
        })?;
        let is_forced = |scene: &mut Scene| {
            let body = scene.kind_of(KindId(kind)).body.as_ref();
            Ok(body.is_some_and(|body| body.motion == Motion::Dynamic))
        };
        let is_far = place.iter().any(|part| part.abs() > PRECISE_POSITION_MAX);
        if is_far && !has_warned.get() && with_scene(is_forced)? {
            has_warned.set(true);
            let text = format!(
                "warning: {entity} is more than {PRECISE_POSITION_MAX} m from the origin, where forces and walkers are not exact"
            );
            lua.globals().get::<mlua::Function>("print")?.call::<()>(text)?;
        }
        Ok(entity)
    })?;
    host.add("despawn", |_, handle: Handle| {
        with_scene(|scene| {
            charge(UNITS_A_BODY + scene.entities().len() as u64 / ROWS_A_UNIT)?;
            scene.despawn(handle.only_entity()?).map_err(refused)
        })
    })?;
    host.add("entities", |_, Index(kind): Index| {
        with_scene(|scene| {
            charge(scene.entities().len() as u64 / ENTITIES_A_UNIT)?;
            let of_kind = scene.entities().iter().filter(|entity| entity.kind == KindId(kind));
            Ok(of_kind.map(|entity| Handle::Entity(entity.id)).collect::<Vec<_>>())
        })
    })?;
    host.add("count", |_, Index(kind): Index| {
        with_scene(|scene| {
            charge(scene.entities().len() as u64 / ENTITIES_A_UNIT)?;
            Ok(scene.entities().iter().filter(|entity| entity.kind == KindId(kind)).count())
        })
    })?;
    host.add("kindOf", |_, handle: Handle| {
        with_scene(|scene| {
            let id = handle.entity(scene)?;
            Ok(scene.entity(id).ok_or_else(|| gone(handle))?.kind.0)
        })
    })?;
    host.add("describe", |_, handle: Handle| Ok(handle.to_string()))
}

fn read_spawn(table: &Table) -> mlua::Result<Spawn> {
    let fields = Fields::of(table, "spawn");
    let mut spawn = Spawn::default();
    let mut owner = None;
    let read = |spawn: &mut Spawn, owner: &mut Option<Luau>| -> Result<(), String> {
        spawn.pose.position = fields.vector("at")?.unwrap_or_default();
        spawn.pose.rotation = match (fields.number("yaw")?, fields.luau("rotation")?) {
            (yaw, Luau::Nil) => turned(yaw.unwrap_or(0.0)),
            (None, Luau::Table(parts)) => {
                rotation(&parts).map_err(|error| format!("spawn.rotation: {error}"))?
            }
            (Some(_), _) => return Err("spawn: say `yaw` or `rotation`, not both".into()),
            (None, other) => return Err(fields.expected("rotation", "{ x, y, z, w }", other.type_name())),
        };
        spawn.velocity.linear = fields.vector("velocity")?.unwrap_or_default();
        spawn.velocity.angular = fields.vector("spin")?.unwrap_or_default();
        spawn.scale = fields.scale("scale")?;
        *owner = Some(fields.luau("owner")?);
        for name in fields.names()? {
            if !["at", "yaw", "rotation", "velocity", "spin", "scale", "owner", "private", "tags"]
                .contains(&name.as_str())
            {
                let value = from_luau(&fields.luau(&name)?, Purpose::Tell, &name)?;
                spawn.attributes.push((name, value));
            }
        }
        spawn.attributes.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(())
    };
    read(&mut spawn, &mut owner).map_err(mlua::Error::runtime)?;
    spawn.owner = match owner {
        Some(Luau::LightUserData(light)) => Handle::from_light(light).map(Handle::player).transpose()?,
        _ => None,
    };
    Ok(spawn)
}
