//! The methods that move kinematic bodies: in a step, to a pose, and along a path.

use mlua::{FromLua, Table, Value as Luau};
use nowcast_world::{Easing, PATH_PLACES_MAX, PathOptions, Pose};

use super::entities::{Place, pose, rotation, turned};
use crate::fields::Fields;
use crate::handle::{Handle, refused, with_scene};
use crate::meter::charge;
use crate::namespace::Namespace;

/// Places of a path that are read for one work unit.
const PLACES_A_UNIT: usize = 4;

/// Adds the methods of moves to those of entities.
pub(super) fn add(host: &Namespace<'_>) -> mlua::Result<()> {
    let method = Namespace { lua: host.lua, table: host.table.raw_get("methods")? };
    method.add("glide_to", |lua, (handle, to, turn): (Handle, Place, Luau)| {
        let turn = match turn {
            Luau::Nil => None,
            Luau::Table(parts) => Some(rotation(&parts)?),
            yaw => Some(turned(f32::from_lua(yaw, lua)?)),
        };
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            let rotation = turn.unwrap_or(pose.rotation);
            scene.move_to(id, Pose { position: to.0, rotation }).map_err(refused)
        })
    })?;
    method.add("move_to", |_, (handle, to, options): (Handle, Place, Option<Table>)| {
        let plan = options.map_or(Ok(MovePlan::default()), |options| read_plan(&options));
        let plan = plan.map_err(mlua::Error::runtime)?;
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            let to = Pose { position: to.0, rotation: plan.rotation.unwrap_or(pose.rotation) };
            scene.start_move(id, to, plan.seconds, plan.easing).map_err(refused)
        })
    })?;
    method.add("turn_to", |lua, (handle, turn, options): (Handle, Luau, Option<Table>)| {
        let plan = options.map_or(Ok(MovePlan::default()), |options| read_plan(&options));
        let plan = plan.map_err(mlua::Error::runtime)?;
        if plan.rotation.is_some() {
            return Err(mlua::Error::runtime("options: `turn` is the first argument of turn_to"));
        }
        let rotation = match turn {
            Luau::Table(parts) => rotation(&parts)?,
            yaw => turned(f32::from_lua(yaw, lua)?),
        };
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            scene.start_move(id, Pose { rotation, ..pose }, plan.seconds, plan.easing).map_err(refused)
        })
    })?;
    method.add("follow", |_, (handle, places, options): (Handle, Table, Option<Table>)| {
        charge(places.raw_len().min(PATH_PLACES_MAX).div_ceil(PLACES_A_UNIT) as u64)?;
        let places = read_places(&places).map_err(mlua::Error::runtime)?;
        let options = options.map_or(Ok(PathPlan::default()), |options| read_path_plan(&options));
        let plan = options.map_err(mlua::Error::runtime)?;
        with_scene(|scene| {
            let (id, pose) = pose(scene, handle)?;
            let seconds =
                plan.seconds.unwrap_or_else(|| length(pose.position, &places, plan.loops) / plan.speed);
            let PathPlan { easing, loops, faces, .. } = plan;
            let options = PathOptions { seconds, easing, loops, faces };
            scene.follow(id, &places, options).map_err(refused)
        })
    })
}

/// The options of `move_to`.
struct MovePlan {
    seconds: f64,
    easing: Easing,
    rotation: Option<[f32; 4]>,
}

impl Default for MovePlan {
    fn default() -> MovePlan {
        MovePlan { seconds: 1.0, easing: Easing::InOut, rotation: None }
    }
}

fn read_easing(fields: &Fields<'_>) -> Result<Option<Easing>, String> {
    Ok(Some(match fields.text("easing")?.as_deref() {
        None => return Ok(None),
        Some("in_out") => Easing::InOut,
        Some("linear") => Easing::Linear,
        Some("in") => Easing::In,
        Some("out") => Easing::Out,
        Some(other) => {
            return Err(fields.expected("easing", "\"in_out\", \"linear\", \"in\" or \"out\"", other));
        }
    }))
}

fn read_plan(options: &Table) -> Result<MovePlan, String> {
    let fields = Fields::of(options, "options");
    fields.nothing_else(&["seconds", "easing", "turn"])?;
    let plan = MovePlan::default();
    let easing = read_easing(&fields)?.unwrap_or(plan.easing);
    let rotation = match fields.luau("turn")? {
        Luau::Nil => None,
        Luau::Table(parts) => Some(rotation(&parts).map_err(|error| format!("options.turn: {error}"))?),
        _ => fields.number("turn")?.map(turned),
    };
    Ok(MovePlan { seconds: fields.double("seconds")?.unwrap_or(plan.seconds), easing, rotation })
}

/// The options of `follow`.
struct PathPlan {
    seconds: Option<f64>,
    /// Metres a second, if `seconds` is not set.
    speed: f64,
    easing: Easing,
    loops: bool,
    faces: bool,
}

impl Default for PathPlan {
    fn default() -> PathPlan {
        PathPlan { seconds: None, speed: 2.0, easing: Easing::Linear, loops: false, faces: false }
    }
}

fn read_path_plan(options: &Table) -> Result<PathPlan, String> {
    let fields = Fields::of(options, "options");
    fields.nothing_else(&["seconds", "speed", "easing", "loop", "face"])?;
    let default = PathPlan::default();
    let (seconds, speed) = (fields.double("seconds")?, fields.double("speed")?);
    if seconds.is_some() && speed.is_some() {
        return Err("options: a path has `seconds` or a `speed`, not both".to_owned());
    }
    if let Some(speed) = speed.filter(|speed| speed.is_nan() || *speed <= 0.0) {
        return Err(fields.expected("speed", "a number above 0", &speed.to_string()));
    }
    Ok(PathPlan {
        seconds,
        speed: speed.unwrap_or(default.speed),
        easing: read_easing(&fields)?.unwrap_or(default.easing),
        loops: fields.truth("loop")?.unwrap_or(default.loops),
        faces: fields.truth("face")?.unwrap_or(default.faces),
    })
}

/// Reads the places of a path, which is a list of 1 to [`PATH_PLACES_MAX`] vectors.
fn read_places(list: &Table) -> Result<Vec<[f32; 3]>, String> {
    let count = list.raw_len();
    if !(1..=PATH_PLACES_MAX).contains(&count) {
        return Err(format!(
            "path: expected a list of 1 to {PATH_PLACES_MAX} places, and this one has {count}"
        ));
    }
    let place = |at: usize| match list.raw_get(at) {
        Ok(Luau::Vector(place)) => Ok([place.x(), place.y(), place.z()]),
        _ => Err(format!("path[{at}]: expected vector.create(x, y, z)")),
    };
    (1..=count).map(place).collect()
}

/// Returns the length in metres of a path that begins at `from`.
fn length(from: [f32; 3], places: &[[f32; 3]], loops: bool) -> f64 {
    let mut at = from;
    let mut sum = 0.0;
    for place in places.iter().copied().chain(loops.then_some(from)) {
        let squared: f32 = (0..3).map(|axis| place[axis] - at[axis]).map(|way| way * way).sum();
        sum += f64::from(squared.sqrt());
        at = place;
    }
    sum
}
