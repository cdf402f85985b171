//! Position and rotation of an entity.

/// A position and a rotation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transform {
    /// Position of the centre, in metres.
    pub position: [f32; 3],
    /// A unit quaternion: x, y, z, w.
    pub rotation: [f32; 4],
}
