//! The physical body of a kind's entities.

use crate::problem::{DefinitionError, Path, Problem};
use crate::shape::ColliderShape;

/// The cause of a body's motion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Motion {
    /// Does not move unless the rules set its position: ground, walls.
    Fixed,
    /// Moved by forces, contacts and joints.
    Dynamic,
    /// Moves by its own velocity, regardless of obstacles: lifts, doors.
    Kinematic,
    /// A fixed body that other bodies pass through. It only reports overlaps.
    Sensor,
}

/// The effect of a body on walkers, besides stopping them (`spec/MOVEMENT.md`, section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BodyRole {
    /// Stops walkers.
    #[default]
    Obstacle,
    /// A fixed body that walkers climb.
    Ladder,
    /// A sensor in which walkers swim.
    Water,
}

/// The mass of a body.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mass {
    /// Kilograms a cubic metre.
    Density(f32),
    /// Kilograms.
    Kilograms(f32),
}

/// The physical body of a kind's entities.
#[derive(Clone, PartialEq, Debug)]
pub struct Body {
    /// The cause of the body's motion.
    pub motion: Motion,
    /// The shape of the body.
    pub shape: ColliderShape,
    /// The mass of the body.
    pub mass: Mass,
    /// Friction; 0 slides like ice. The friction of two touching bodies is averaged.
    pub friction: f32,
    /// Restitution: 0 does not bounce, and 1 bounces back at the same speed. The restitution of two touching bodies is
    /// averaged.
    pub restitution: f32,
    /// Factor by which the world's gravity acts on the body.
    pub gravity_scale: f32,
    /// Share of its speed that the body loses in one second.
    pub linear_damping: f32,
    /// Share of its angular velocity that the body loses in one second.
    pub angular_damping: f32,
    /// Whether the rotation of the body is locked.
    pub locks_rotation: bool,
    /// Whether collisions are checked along the whole path of the body. Small, fast bodies need this check, which costs
    /// more.
    pub is_bullet: bool,
    /// The effect of the body on walkers.
    pub role: BodyRole,
}

impl Body {
    /// Makes a body of a shape.
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
            role: BodyRole::Obstacle,
        }
    }

    /// Makes a body that never moves.
    pub fn fixed(shape: ColliderShape) -> Body {
        Body::new(Motion::Fixed, shape)
    }

    /// Makes a body that is moved by forces.
    pub fn dynamic(shape: ColliderShape) -> Body {
        Body::new(Motion::Dynamic, shape)
    }

    /// Makes a body that moves only by its own velocity.
    pub fn kinematic(shape: ColliderShape) -> Body {
        Body::new(Motion::Kinematic, shape)
    }

    /// Makes a body that other bodies pass through.
    pub fn sensor(shape: ColliderShape) -> Body {
        Body::new(Motion::Sensor, shape)
    }

    /// Lets walkers climb the body, or swim in it. A ladder is a fixed body, and water is a sensor.
    #[must_use]
    pub fn with_role(self, role: BodyRole) -> Body {
        Body { role, ..self }
    }

    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        self.shape.check(&path.field("shape"))?;
        if self.motion == Motion::Dynamic && !self.shape.is_solid() {
            return Err(path.field("shape").error(Problem::Invalid(
                "a dynamic body needs a shape with an inside, not a mesh or heights",
            )));
        }
        let is_role_possible = match self.role {
            BodyRole::Obstacle => Ok(()),
            BodyRole::Ladder if self.motion == Motion::Fixed => Ok(()),
            BodyRole::Ladder => Err("a ladder needs the motion \"fixed\""),
            BodyRole::Water if self.motion != Motion::Sensor => Err("water needs the motion \"sensor\""),
            BodyRole::Water if !self.shape.is_solid() => {
                Err("water needs a shape with an inside, not a mesh or heights")
            }
            BodyRole::Water => Ok(()),
        };
        is_role_possible.map_err(|why| path.field("role").error(Problem::Invalid(why)))?;
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
