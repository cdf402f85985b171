//! Kinds: what an entity has and how it behaves as a body.

use nowcast_wire::Value;

use crate::attributes::Attributes;
use crate::definition::{DefinitionError, Path, Problem, is_name};
use crate::shape::ColliderShape;
use crate::walker::Walker;

/// Names one kind of one definition: its place in [`crate::Definition::kinds`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct KindId(pub u16);

/// What the entities of one kind have in common.
#[derive(Clone, PartialEq, Debug)]
pub struct Kind {
    /// What it is called.
    pub name: String,
    /// How it is seen by physics; `None` for what is only somewhere: a mark, a zone, a rule.
    pub body: Option<Body>,
    /// How it looks: nothing that the engine reads. Clients are told.
    pub look: Value,
    /// What moves it by controls; needs a dynamic body.
    pub walker: Option<Walker>,
    /// What each of its entities has.
    pub attributes: Attributes,
    /// The tags that a new one begins with.
    pub tags: Vec<String>,
    /// Who may own one, and what becomes of it when the owner leaves.
    pub owner: OwnerPolicy,
    /// Whether the behaviour is told whom its entities touch ([`crate::Behaviour::contact`]).
    pub reports_contacts: bool,
}

impl Kind {
    /// A kind without a body, a look or attributes.
    pub fn new(name: &str) -> Kind {
        Kind {
            name: name.to_owned(),
            body: None,
            look: Value::Nil,
            walker: None,
            attributes: Attributes::default(),
            tags: Vec::new(),
            owner: OwnerPolicy::default(),
            reports_contacts: false,
        }
    }

    /// The same with a body.
    pub fn with_body(self, body: Body) -> Kind {
        Kind { body: Some(body), ..self }
    }

    /// The same with attributes.
    pub fn with_attributes(self, attributes: Attributes) -> Kind {
        Kind { attributes, ..self }
    }

    /// The same, and the behaviour is told whom its entities touch.
    pub fn reporting_contacts(self) -> Kind {
        Kind { reports_contacts: true, ..self }
    }

    /// A person: a capsule 1.8 m high that walks as its controls say.
    pub fn walker(name: &str, walker: Walker) -> Kind {
        Kind { body: Some(walker.body()), walker: Some(walker), ..Kind::new(name) }
    }

    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        if let Some(body) = &self.body {
            body.check(&path.field("body"))?;
        }
        if let Some(walker) = &self.walker {
            walker.check(&path.field("walker"))?;
            if self.body.as_ref().is_none_or(|body| body.motion != Motion::Dynamic) {
                return Err(path.field("walker").error(Problem::Invalid("a walker needs a dynamic body")));
            }
        }
        self.attributes.check(&path.field("attributes"))?;
        path.field("tags").count(self.tags.len(), 0, crate::Limits::DEFAULT.tags_max)?;
        for tag in &self.tags {
            if !is_name(tag) {
                return Err(path
                    .field("tags")
                    .error(Problem::Invalid("a tag has 1 to 64 bytes, and no control characters")));
            }
        }
        Ok(())
    }
}

/// What becomes of an entity when its owner leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OwnerPolicy {
    /// It stays, and the server owns it.
    #[default]
    Stays,
    /// It goes too.
    GoesToo,
}

/// What moves a body.
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
    /// What moves it.
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

    fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
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
