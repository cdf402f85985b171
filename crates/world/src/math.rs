//! The engine's arithmetic, with the same bits on every machine: vectors and rotations.
//!
//! A method of these types gives the same bits on every machine only if it uses no operations other than `+ − × ÷ √`. For
//! sines and similar functions use the functions here, or the `libm` crate.

pub use rapier3d::prelude::{Matrix as Mat3, Rotation as Quat, Vector as Vec3};

/// A turn about the vertical, in radians, counter-clockwise seen from above.
pub fn yaw_rotation(yaw: f32) -> Quat {
    let (sin, cos) = libm::sincosf(yaw / 2.0);
    Quat::from_xyzw(0.0, sin, 0.0, cos)
}

/// Returns `vector`, shortened to `length_max` if it is longer.
pub fn shortened(vector: Vec3, length_max: f32) -> Vec3 {
    let length = vector.length();
    if length > length_max { vector * (length_max / length) } else { vector }
}
