//! Grab, carry, put down, throw.
//!
//! A carried block is not fastened to its carrier: each step its velocity is set toward a point before the carrier's
//! chest, with limited force. It still collides with everything else, and whatever it meets pushes back on the block
//! alone, so it is never a lever that moves or launches the carrier.

use nowcast_world::math::{Mat3, Quat, Vec3, facing, shortened, yaw_rotation};
use nowcast_world::{EntityId, Filter, KindId, Motion, STEP_HZ, Scene, SceneError, Value, Velocity};

use super::{AVATAR_HEIGHT, AVATAR_RADIUS};

/// How far the hands reach, from the axis of the body to the surface of a block.
const REACH: f32 = 1.9;
/// A block is "in front" within 60° of where the avatar faces.
const FRONT_COSINE: f32 = 0.5;
/// Air between the chest and a carried block.
const CARRY_GAP: f32 = 0.2;
/// Height of a carried block's centre above the middle of the body.
const CARRY_HEIGHT: f32 = 0.1;
/// What arms can pull, in newtons.
const CARRY_FORCE: f32 = 2400.0;
const CARRY_ACCELERATION_MAX: f32 = 90.0;
const CARRY_SPEED_MAX: f32 = 9.0;
const CARRY_SPIN_MAX: f32 = 8.0;
/// A block this far from where it should be slips out of the hands after [`SLIP_STEPS`].
const SLIP_DISTANCE: f32 = 1.4;
const SLIP_STEPS: u32 = STEP_HZ / 2;
/// Speed of a light block thrown at full power.
const THROW_SPEED: f32 = 15.0;
/// Up to this mass a block flies at full speed; a heavier one gets the same energy.
const THROW_MASS: f32 = 10.0;

/// A block in the hands: what an avatar's private value says.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Hold {
    /// How the block is turned, seen from its carrier.
    grip: Quat,
    /// From the axis of the carrier to the centre of the block.
    distance: f32,
    slipping_steps: u32,
}

impl Hold {
    fn of(scene: &Scene, avatar: EntityId) -> Option<Hold> {
        let Value::List(parts) = scene.private(avatar)? else { return None };
        let parts: Vec<f32> = parts.iter().filter_map(Value::as_f64).map(|part| part as f32).collect();
        let [x, y, z, w, distance, slipping_steps] = *parts.as_slice() else { return None };
        let grip = Quat::from_xyzw(x, y, z, w);
        Some(Hold { grip, distance, slipping_steps: slipping_steps as u32 })
    }

    fn write(&self, scene: &mut Scene, avatar: EntityId) -> Result<(), SceneError> {
        let [x, y, z, w] = self.grip.to_array();
        let parts = [x, y, z, w, self.distance, self.slipping_steps as f32];
        scene.set_private(avatar, parts.map(Value::F32).to_vec())
    }
}

/// What an avatar has in its hands, or who has a block in the hands.
pub(super) fn held(scene: &Scene, id: EntityId) -> Option<EntityId> {
    entity_of(scene.attribute(id, "held")?)
}

/// The entity that a value names.
pub(super) fn entity_of(value: &Value) -> Option<EntityId> {
    match value {
        Value::Int(id) => u32::try_from(*id).ok().map(EntityId),
        _ => None,
    }
}

fn position(scene: &Scene, id: EntityId) -> Option<Vec3> {
    Some(Vec3::from_array(scene.pose(id)?.position))
}

fn linear(scene: &Scene, id: EntityId) -> Option<Vec3> {
    Some(Vec3::from_array(scene.velocity(id)?.linear))
}

/// The block that a grab means: the asked one if it is in reach, else the nearest in front.
pub(super) fn find(
    scene: &Scene,
    avatar: EntityId,
    asked: Option<EntityId>,
    blocks: KindId,
) -> Option<EntityId> {
    let chest = position(scene, avatar)?;
    let ahead = facing(scene.input(avatar)?.yaw);
    let reachable = scene.entities().of_kind(blocks).filter_map(|block| {
        let centre = Vec3::from_array(block.pose.position);
        // A cheap test first: most blocks are far away.
        if (centre - chest).length()
            > REACH + Vec3::from_array(block.scale).length() / 2.0 + AVATAR_HEIGHT / 2.0
            || held(scene, block.id).is_some()
        {
            return None;
        }
        // Arms reach from the hips to above the head, so the distance is measured from the body's axis.
        let height = (centre.y - chest.y).clamp(-AVATAR_HEIGHT / 2.0, AVATAR_HEIGHT / 3.0);
        let shoulder = chest + Vec3::Y * height;
        let surface = Vec3::from_array(scene.nearest_point(block.id, shoulder.to_array()).ok()?);
        let distance = (surface - shoulder).length();
        if distance > REACH || is_walled_off(scene, chest, surface) {
            return None;
        }
        let toward = Vec3::new(centre.x - chest.x, 0.0, centre.z - chest.z);
        let in_front = toward.dot(ahead) >= FRONT_COSINE * toward.length();
        match asked {
            Some(id) => (id == block.id).then_some((0.0, block.id)),
            None => in_front.then_some((distance, block.id)),
        }
    });
    reachable.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, id)| id)
}

fn is_walled_off(scene: &Scene, from: Vec3, to: Vec3) -> bool {
    let way = to - from;
    let walls = Filter { motion: Some(Motion::Fixed), ..Filter::default() };
    let hit = scene.cast_ray(from.to_array(), way.to_array(), way.length() * 0.99, walls);
    hit.is_ok_and(|hit| hit.is_some())
}

/// Takes a block into the hands.
pub(super) fn take(scene: &mut Scene, avatar: EntityId, block: EntityId) -> Result<(), SceneError> {
    let (Some(entity), Some(input)) = (scene.entity(block), scene.input(avatar)) else { return Ok(()) };
    let grip = nearest_upright(yaw_rotation(input.yaw).inverse() * Quat::from_array(entity.pose.rotation));
    let half = Vec3::from_array(entity.scale) / 2.0;
    let depth = (grip * Vec3::X).z.abs() * half.x
        + (grip * Vec3::Y).z.abs() * half.y
        + (grip * Vec3::Z).z.abs() * half.z;
    let hold = Hold { grip, distance: AVATAR_RADIUS + CARRY_GAP + depth, slipping_steps: 0 };
    hold.write(scene, avatar)?;
    scene.set_attribute(avatar, "held", block.0)?;
    scene.set_attribute(block, "held", avatar.0)?;
    scene.set_passes(block, Some(avatar))?;
    scene.set_gravity_scale(block, 0.0)
}

/// Moves a carried block one step; false when it slipped out of the hands.
pub(super) fn carry(scene: &mut Scene, avatar: EntityId, block: EntityId) -> Result<bool, SceneError> {
    let (Some(mut hold), Some(input)) = (Hold::of(scene, avatar), scene.input(avatar)) else {
        return Ok(false);
    };
    let (Some(carrier), Some(carrier_velocity)) = (position(scene, avatar), linear(scene, avatar)) else {
        return Ok(false);
    };
    let (Some(pose), Some(velocity)) = (scene.pose(block), linear(scene, block)) else { return Ok(false) };
    let at = Vec3::from_array(pose.position);
    let ahead = facing(input.yaw);
    let away = carrier + ahead * hold.distance + Vec3::Y * CARRY_HEIGHT - at;
    let slipping_steps = if away.length() > SLIP_DISTANCE { hold.slipping_steps + 1 } else { 0 };
    if slipping_steps > SLIP_STEPS {
        return Ok(false);
    }
    if slipping_steps != hold.slipping_steps {
        hold.slipping_steps = slipping_steps;
        hold.write(scene, avatar)?;
    }
    let wanted = shortened(away * 14.0, CARRY_SPEED_MAX) + carrier_velocity;
    let acceleration = (CARRY_FORCE / scene.mass(block).unwrap_or(0.0).max(0.1)).min(CARRY_ACCELERATION_MAX);
    let change = shortened(wanted - velocity, acceleration / STEP_HZ as f32);
    let turn = turn_between(Quat::from_array(pose.rotation), yaw_rotation(input.yaw) * hold.grip);
    let angular = shortened(turn * 12.0, CARRY_SPIN_MAX);
    scene.set_velocity(
        block,
        Velocity { linear: (velocity + change).to_array(), angular: angular.to_array() },
    )?;
    // The carrier waits for a block that lags behind because something is in its way.
    let lag = hold.distance - (at - carrier).dot(ahead);
    scene.set_freedom_ahead(avatar, 1.0 - (lag - 0.15) / 0.25)?;
    Ok(true)
}

/// Lets go. With a power of 0 the block falls where it is, otherwise it flies.
pub(super) fn release(
    scene: &mut Scene,
    avatar: EntityId,
    block: EntityId,
    power: f32,
    pitch: f32,
) -> Result<(), SceneError> {
    scene.set_attribute(avatar, "held", Value::Nil)?;
    scene.set_attribute(block, "held", Value::Nil)?;
    scene.set_private(avatar, Value::Nil)?;
    scene.set_freedom_ahead(avatar, 1.0)?;
    let carrier_velocity = linear(scene, avatar).unwrap_or(Vec3::ZERO);
    let ahead = facing(scene.input(avatar).unwrap_or_default().yaw);
    let (sin, cos) = libm::sincosf(pitch);
    let direction = ahead * cos + Vec3::Y * sin;
    let mass = scene.mass(block).unwrap_or(0.0).max(THROW_MASS);
    let speed = THROW_SPEED * power * (THROW_MASS / mass).sqrt();
    scene.set_gravity_scale(block, 1.0)?;
    let linear = carrier_velocity + direction * speed;
    let angular = ahead.cross(Vec3::Y) * (-3.0 * power);
    scene.set_velocity(block, Velocity { linear: linear.to_array(), angular: angular.to_array() })
}

/// A block that was let go touches its former carrier again as soon as the two have parted.
pub(super) fn end_passing(scene: &mut Scene, blocks: KindId) -> Result<(), SceneError> {
    const MARGIN: f32 = 0.02;
    let passing: Vec<(EntityId, EntityId)> = scene
        .entities()
        .of_kind(blocks)
        .filter_map(|block| Some((block.id, scene.passes(block.id)?)))
        .filter(|(block, _)| held(scene, *block).is_none())
        .collect();
    for (block, avatar) in passing {
        if scene.distance(block, avatar)? >= MARGIN {
            scene.set_passes(block, None)?;
        }
    }
    Ok(())
}

/// The turn of a right angle or a multiple of it that is nearest to `rotation`: people carry things straight.
fn nearest_upright(rotation: Quat) -> Quat {
    let [x, y, _] = [Vec3::X, Vec3::Y, Vec3::Z].map(|axis| (rotation * axis).to_array());
    let largest = |v: [f32; 3], except: Option<usize>| {
        let axes = (0..3).filter(|axis| Some(*axis) != except);
        axes.max_by(|a, b| v[*a].abs().total_cmp(&v[*b].abs())).unwrap_or(0)
    };
    let unit = |axis: usize, v: [f32; 3]| {
        let mut unit = [0.0; 3];
        unit[axis] = if v[axis] < 0.0 { -1.0 } else { 1.0 };
        Vec3::from_array(unit)
    };
    let x_axis = largest(x, None);
    let (right, up) = (unit(x_axis, x), unit(largest(y, Some(x_axis)), y));
    Quat::from_mat3(&Mat3::from_cols(right, up, right.cross(up))).normalize()
}

/// The rotation vector that turns `from` into `to` the short way. The sine of half the angle stands for half the angle:
/// this is a gain, not a measurement.
fn turn_between(from: Quat, to: Quat) -> Vec3 {
    let turn = to * from.inverse();
    let sign = if turn.w < 0.0 { -2.0 } else { 2.0 };
    Vec3::new(turn.x, turn.y, turn.z) * sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crooked_block_is_carried_straight() {
        let crooked = Quat::from_rotation_y(0.4) * Quat::from_rotation_x(1.3);
        let straight = nearest_upright(crooked);
        let columns = Mat3::from_quat(straight).to_cols_array();
        assert!(columns.iter().all(|v| v.abs() < 1e-5 || (v.abs() - 1.0).abs() < 1e-5), "{columns:?}");
        assert!(turn_between(crooked, straight).length() < 1.0);
    }
}
