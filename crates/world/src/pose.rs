//! Poses and velocities.

use nowcast_wire::Wire;
use rapier3d::prelude::{Pose as RapierPose, Rotation, Vector};

/// A position and a rotation.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub struct Pose {
    /// Position of the centre, in metres.
    pub position: [f32; 3],
    /// A unit quaternion: x, y, z, w.
    pub rotation: [f32; 4],
}

/// How a dynamic body moves after a step, if nothing touches it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FreeMotion {
    /// The velocity of the body's origin, in metres a second.
    pub velocity: [f32; 3],
    /// The angular velocity in the directions of the world, in radians a second.
    pub spin: [f32; 3],
    /// The moments of inertia about the body's axes y and z, divided by that about x. Both are 1 if the body's principal
    /// axes are others.
    pub inertia: [f32; 2],
}

impl Default for Pose {
    fn default() -> Pose {
        Pose::IDENTITY
    }
}

impl Pose {
    /// The pose at the origin, without rotation.
    pub const IDENTITY: Pose = Pose { position: [0.0; 3], rotation: [0.0, 0.0, 0.0, 1.0] };

    /// Normalises the rotation. Returns `None` if a number is not finite, if the position is too far away, or if the
    /// rotation has length 0.
    pub fn checked(&self) -> Option<Pose> {
        let is_place = self.position.iter().all(|v| v.is_finite() && v.abs() <= crate::limits::POSITION_MAX);
        let squared: f32 = self.rotation.iter().map(|v| v * v).sum();
        if !is_place || !squared.is_finite() || squared < 1e-6 {
            return None;
        }
        // A nearly normalised rotation keeps its bits. So setting a pose to the value that was just read changes nothing.
        if (squared - 1.0).abs() < 1e-5 {
            return Some(*self);
        }
        let length = libm::sqrtf(squared);
        Some(Pose { position: self.position, rotation: self.rotation.map(|v| v / length) })
    }

    /// Composes two poses: `local` is relative to this pose, and the result is relative to the frame of this pose.
    pub fn then(&self, local: &Pose) -> Pose {
        public_pose(&(rapier_pose(self) * rapier_pose(local)))
    }

    /// Returns the inverse of this pose.
    pub fn inverse(&self) -> Pose {
        public_pose(&rapier_pose(self).inverse())
    }

    /// The direction that the pose faces, in radians: 0 is −Z, growing counter-clockwise seen from above.
    pub fn yaw(&self) -> f32 {
        let [x, y, z, w] = self.rotation;
        libm::atan2f(2.0 * (x * z + w * y), 1.0 - 2.0 * (x * x + y * y))
    }

    /// The rotation as three angles in radians, intrinsic XYZ: R = Rx · Ry · Rz, the order that three.js calls `'XYZ'`.
    ///
    /// At the poles (Y at ±π/2) Z is 0 and X carries the whole remaining rotation.
    pub fn euler_xyz(&self) -> [f32; 3] {
        let [x, y, z, w] = self.rotation.map(f64::from);
        let m13 = 2.0 * (x * z + w * y);
        let pitch = libm::asin(m13.clamp(-1.0, 1.0));
        let (roll, yaw) = if m13.abs() < 0.999_999_9 {
            let m23 = 2.0 * (y * z - w * x);
            let m33 = 1.0 - 2.0 * (x * x + y * y);
            let m12 = 2.0 * (x * y - w * z);
            let m11 = 1.0 - 2.0 * (y * y + z * z);
            (libm::atan2(-m23, m33), libm::atan2(-m12, m11))
        } else {
            let m32 = 2.0 * (y * z + w * x);
            let m22 = 1.0 - 2.0 * (x * x + z * z);
            (libm::atan2(m32, m22), 0.0)
        };
        [roll as f32, pitch as f32, yaw as f32]
    }
}

/// Linear and angular velocity.
#[derive(Clone, Copy, PartialEq, Debug, Default, Wire)]
pub struct Velocity {
    /// Velocity of the centre of mass, in metres a second.
    pub linear: [f32; 3],
    /// Axis of rotation; its length is the speed in radians a second.
    pub angular: [f32; 3],
}

/// Converts a pose of the physics engine.
pub(crate) fn public_pose(pose: &RapierPose) -> Pose {
    Pose { position: pose.translation.to_array(), rotation: pose.rotation.to_array() }
}

/// Converts a pose for the physics engine.
pub(crate) fn rapier_pose(pose: &Pose) -> RapierPose {
    RapierPose::from_parts(Vector::from_array(pose.position), Rotation::from_array(pose.rotation))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn from_euler_xyz([x, y, z]: [f32; 3]) -> [f64; 4] {
        let half = |angle: f32| (f64::from(angle) / 2.0).sin_cos();
        let ((sx, cx), (sy, cy), (sz, cz)) = (half(x), half(y), half(z));
        [
            sx * cy * cz + cx * sy * sz,
            cx * sy * cz - sx * cy * sz,
            cx * cy * sz + sx * sy * cz,
            cx * cy * cz - sx * sy * sz,
        ]
    }

    proptest! {
        #[test]
        fn three_angles_and_the_quaternion_mean_the_same_rotation(raw in proptest::array::uniform4(-1.0f64..1.0)) {
            let length = raw.iter().map(|v| v * v).sum::<f64>().sqrt();
            prop_assume!(length > 0.1);
            let rotation = raw.map(|v| (v / length) as f32);
            let back = from_euler_xyz(Pose { position: [0.0; 3], rotation }.euler_xyz());
            let dot: f64 = back.iter().zip(rotation).map(|(a, b)| a * f64::from(b)).sum();
            prop_assert!(dot.abs() > 1.0 - 1e-6, "dot {}", dot);
        }
    }

    #[test]
    fn looking_straight_up_has_a_defined_answer() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let euler = Pose { position: [0.0; 3], rotation: [0.0, half, 0.0, half] }.euler_xyz();
        assert!((euler[1] - std::f32::consts::FRAC_PI_2).abs() < 1e-3 && euler[2].abs() < 1e-3);
    }
}
