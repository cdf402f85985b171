//! How entities of a kind are seen by physics.

use crate::problem::{DefinitionError, Path, Problem};
use crate::shape::ColliderShape;

/// The cause of a body's motion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Motion {
    /// Nothing but being put elsewhere: ground, walls.
    Fixed,
    /// Forces, contacts, joints.
    Dynamic,
    /// The velocity that it was given, whatever is in its way: lifts, doors.
    Kinematic,
    /// As fixed, and others pass through it: it only reports whom it overlaps.
    Sensor,
}

/// How heavy a body is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mass {
    /// Kilograms a cubic metre.
    Density(f32),
    /// Kilograms.
    Kilograms(f32),
}

/// How entities of a kind are seen by physics.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// The cause of its motion.
    pub motion: Motion,
    /// Its form.
    pub shape: ColliderShape,
    /// How heavy it is.
    pub mass: Mass,
    /// 0 is ice; averaged with that of what it touches.
    pub friction: f32,
    /// 0 stays where it falls, 1 bounces back as fast as it came; averaged with that of what it touches.
    pub restitution: f32,
    /// How much of the world's gravity it feels.
    pub gravity_scale: f32,
    /// How fast it loses speed by itself, a second.
    pub linear_damping: f32,
    /// How fast it loses spin by itself, a second.
    pub angular_damping: f32,
    /// Whether it never turns.
    pub locks_rotation: bool,
    /// Whether every path is checked for what it would pass through: for small fast things. It costs more.
    pub is_bullet: bool,
}

impl Body {
    /// A body of a shape.
    pub fn new(motion: Motion, shape: ColliderShape) -> Body {
        Body {
            motion,
            shape,
            mass: Mass::Density(100.0),
            friction: 0.5,
            restitution: 0.0,
            gravity_scale: 1.0,
            linear_damping: 0.0,
            angular_damping: 0.0,
            locks_rotation: false,
            is_bullet: false,
        }
    }

    /// One that never moves.
    pub fn fixed(shape: ColliderShape) -> Body {
        Body::new(Motion::Fixed, shape)
    }

    /// One that forces move.
    pub fn dynamic(shape: ColliderShape) -> Body {
        Body::new(Motion::Dynamic, shape)
    }

    /// One that moves by its velocity alone.
    pub fn kinematic(shape: ColliderShape) -> Body {
        Body::new(Motion::Kinematic, shape)
    }

    /// One that others pass through.
    pub fn sensor(shape: ColliderShape) -> Body {
        Body::new(Motion::Sensor, shape)
    }

    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        self.shape.check(&path.field("shape"))?;
        if self.motion == Motion::Dynamic && !self.shape.is_solid() {
            return Err(path
                .field("shape")
                .error(Problem::Invalid("forces move only shapes with an inside")));
        }
        match self.mass {
            Mass::Density(density) => path.field("density").within(density, 0.001, 100_000.0)?,
            Mass::Kilograms(mass) => path.field("mass").within(mass, 0.001, 1_000_000.0)?,
        }
        path.field("friction").within(self.friction, 0.0, 100.0)?;
        path.field("restitution").within(self.restitution, 0.0, 1.0)?;
        path.field("gravity_scale").within(self.gravity_scale, -100.0, 100.0)?;
        path.field("linear_damping").within(self.linear_damping, 0.0, 1_000.0)?;
        path.field("angular_damping").within(self.angular_damping, 0.0, 1_000.0)
    }
}
