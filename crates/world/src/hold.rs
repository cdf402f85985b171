//! Grab, carry, put down, throw.
//!
//! A carried block is not fastened to its carrier: each step its velocity is set toward a point before the carrier's
//! chest, with limited force. It still collides with everything else, and whatever it meets pushes back on the block
//! alone, so it is never a lever that moves or launches the carrier.

use rapier3d::prelude::*;

use crate::avatar::{AVATAR_HEIGHT, AVATAR_RADIUS, Avatar, shortened};
use crate::entity::EntityId;
use crate::physics::{Body, Physics, facing, yaw_rotation};
use crate::{STEP_HZ, STEP_SECONDS};

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

/// One that can be carried.
pub(crate) struct Block {
    pub(crate) id: EntityId,
    pub(crate) body: Body,
    pub(crate) size: Vector,
    pub(crate) color: u32,
    /// Where it stood at the beginning, and goes when it falls off the edge.
    pub(crate) home: Pose,
    pub(crate) holder: Option<EntityId>,
    /// The one who let go of it and still overlaps it.
    pub(crate) passing: Option<EntityId>,
}

/// A block in the hands.
pub(crate) struct Hold {
    pub(crate) block: EntityId,
    body: Body,
    /// How the block is turned, seen from its carrier.
    grip: Rotation,
    /// From the axis of the carrier to the centre of the block.
    distance: f32,
    slipping_steps: u32,
}

impl Hold {
    /// How freely the carrier may walk on, 0..1: less when the block lags behind because something is in its way.
    pub(crate) fn room_ahead(&self, avatar: &Avatar, physics: &Physics) -> f32 {
        let block = physics.get(self.body).translation();
        let carrier = physics.get(avatar.body).translation();
        let lag = self.distance - (block - carrier).dot(facing(avatar.input.yaw));
        (1.0 - (lag - 0.15) / 0.25).clamp(0.0, 1.0)
    }
}

/// The block that a grab means: the asked one if it is in reach, else the nearest in front.
pub(crate) fn find(
    avatar: &Avatar,
    asked: Option<EntityId>,
    blocks: &[Block],
    physics: &Physics,
) -> Option<usize> {
    let chest = physics.get(avatar.body).translation();
    let ahead = facing(avatar.input.yaw);
    let candidates = blocks.iter().enumerate().filter(|(_, block)| block.holder.is_none());
    let reachable = candidates.filter_map(|(index, block)| {
        let centre = physics.get(block.body).translation();
        // A cheap test first: most blocks are far away.
        if (centre - chest).length() > REACH + block.size.length() / 2.0 + AVATAR_HEIGHT / 2.0 {
            return None;
        }
        // Arms reach from the hips to above the head, so the distance is measured from the body's axis.
        let height = (centre.y - chest.y).clamp(-AVATAR_HEIGHT / 2.0, AVATAR_HEIGHT / 3.0);
        let shoulder = chest + Vector::Y * height;
        let surface = physics.nearest_point(block.body, shoulder);
        let distance = (surface - shoulder).length();
        if distance > REACH || physics.is_walled_off(chest, surface) {
            return None;
        }
        let toward = Vector::new(centre.x - chest.x, 0.0, centre.z - chest.z);
        let in_front = toward.dot(ahead) >= FRONT_COSINE * toward.length();
        match asked {
            Some(id) => (id == block.id).then_some((0.0, index)),
            None => in_front.then_some((distance, index)),
        }
    });
    reachable.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, index)| index)
}

/// Takes a block into the hands.
pub(crate) fn take(avatar: &mut Avatar, block: &mut Block, physics: &mut Physics) {
    let turned = physics.get(block.body).rotation();
    let grip = nearest_upright(yaw_rotation(avatar.input.yaw).inverse() * *turned);
    let half = block.size / 2.0;
    let depth = (grip * Vector::X).z.abs() * half.x
        + (grip * Vector::Y).z.abs() * half.y
        + (grip * Vector::Z).z.abs() * half.z;
    avatar.hold = Some(Hold {
        block: block.id,
        body: block.body,
        grip,
        distance: AVATAR_RADIUS + CARRY_GAP + depth,
        slipping_steps: 0,
    });
    block.holder = Some(avatar.id);
    block.passing = None;
    physics.set_passing(block.body, block.id, Some(avatar.id));
    physics.get_mut(block.body).set_gravity_scale(0.0, true);
}

/// Moves a carried block one step; false when it slipped out of the hands.
pub(crate) fn carry(avatar: &mut Avatar, physics: &mut Physics) -> bool {
    let Some(hold) = &mut avatar.hold else {
        return true;
    };
    let carrier = physics.get(avatar.body);
    let yaw = avatar.input.yaw;
    let place = carrier.translation() + facing(yaw) * hold.distance + Vector::Y * CARRY_HEIGHT;
    let carrier_velocity = carrier.linvel();

    let block = physics.get_mut(hold.body);
    let away = place - block.translation();
    hold.slipping_steps = if away.length() > SLIP_DISTANCE { hold.slipping_steps + 1 } else { 0 };
    if hold.slipping_steps > SLIP_STEPS {
        return false;
    }
    let wanted = shortened(away * 14.0, CARRY_SPEED_MAX) + carrier_velocity;
    let acceleration = (CARRY_FORCE / block.mass().max(0.1)).min(CARRY_ACCELERATION_MAX);
    let velocity = block.linvel();
    let change = shortened(wanted - velocity, acceleration * STEP_SECONDS);
    let spin =
        shortened(turn_between(*block.rotation(), yaw_rotation(yaw) * hold.grip) * 12.0, CARRY_SPIN_MAX);
    block.set_linvel(velocity + change, true);
    block.set_angvel(spin, true);
    true
}

/// Lets go. With a power of 0 the block falls where it is, otherwise it flies.
pub(crate) fn release(avatar: &mut Avatar, block: &mut Block, power: f32, pitch: f32, physics: &mut Physics) {
    avatar.hold = None;
    block.holder = None;
    block.passing = Some(avatar.id);
    let carrier_velocity = physics.get(avatar.body).linvel();
    let body = physics.get_mut(block.body);
    let (sin, cos) = libm::sincosf(pitch);
    let direction = facing(avatar.input.yaw) * cos + Vector::Y * sin;
    let speed = THROW_SPEED * power * (THROW_MASS / body.mass().max(THROW_MASS)).sqrt();
    body.set_gravity_scale(1.0, true);
    body.set_linvel(carrier_velocity + direction * speed, true);
    body.set_angvel(facing(avatar.input.yaw).cross(Vector::Y) * (-3.0 * power), true);
}

/// The turn of a right angle or a multiple of it that is nearest to `rotation`: people carry things straight.
fn nearest_upright(rotation: Rotation) -> Rotation {
    let [x, y, _] = [Vector::X, Vector::Y, Vector::Z].map(|axis| (rotation * axis).to_array());
    let largest = |v: [f32; 3], except: Option<usize>| {
        let axes = (0..3).filter(|axis| Some(*axis) != except);
        axes.max_by(|a, b| v[*a].abs().total_cmp(&v[*b].abs())).unwrap_or(0)
    };
    let unit = |axis: usize, v: [f32; 3]| {
        let mut unit = [0.0; 3];
        unit[axis] = if v[axis] < 0.0 { -1.0 } else { 1.0 };
        Vector::from_array(unit)
    };
    let x_axis = largest(x, None);
    let (right, up) = (unit(x_axis, x), unit(largest(y, Some(x_axis)), y));
    Rotation::from_mat3(&Matrix::from_cols(right, up, right.cross(up))).normalize()
}

/// The rotation vector that turns `from` into `to` the short way. The sine of half the angle stands for half the angle:
/// this is a gain, not a measurement.
fn turn_between(from: Rotation, to: Rotation) -> Vector {
    let turn = to * from.inverse();
    let sign = if turn.w < 0.0 { -2.0 } else { 2.0 };
    Vector::new(turn.x, turn.y, turn.z) * sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crooked_block_is_carried_straight() {
        let crooked = Rotation::from_rotation_y(0.4) * Rotation::from_rotation_x(1.3);
        let straight = nearest_upright(crooked);
        let columns = Matrix::from_quat(straight).to_cols_array();
        assert!(columns.iter().all(|v| v.abs() < 1e-5 || (v.abs() - 1.0).abs() < 1e-5), "{columns:?}");
        assert!(turn_between(crooked, straight).length() < 1.0);
    }
}
