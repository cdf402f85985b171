//! Kinds: the attributes, body and rules that their entities share.

use nowcast_wire::Value;

use crate::attributes::Attributes;
use crate::body::{Body, Motion};
use crate::layers::{LAYERS_MAX, Layers};
use crate::owner::OwnerRules;
use crate::problem::{DefinitionError, Path, Problem, is_name};
use crate::update_rates::{self, UpdateRate};
use crate::walker::{Adjustment, Walker};

/// The declaration that all entities of one kind share.
#[derive(Clone, PartialEq, Debug)]
pub struct Kind {
    /// The name of the kind.
    pub name: String,
    /// Names of the kind in earlier versions. The kind takes over the entities that were saved under these names.
    pub formerly: Vec<String>,
    /// The physical body of the entities; `None` for entities such as marks or zones.
    pub body: Option<Body>,
    /// The look of the entities, for clients. The engine does not read the look.
    pub look: Value,
    /// The walker that follows input; requires a dynamic body.
    pub walker: Option<Walker>,
    /// The attributes that each entity of the kind has.
    pub attributes: Attributes,
    /// The initial tags of a new entity.
    pub tags: Vec<String>,
    /// The players that may own an entity, and its fate when the owner leaves.
    pub owner: OwnerRules,
    /// Whether the behaviour receives the contacts of its entities ([`crate::Behaviour::contact`]).
    pub reports_contacts: bool,
    /// The interest policy of the entities; `None` for [`crate::Definition::interest`].
    pub interest: Option<Interest>,
    /// How often clients receive the movement of the entities, by distance; `None` for
    /// [`crate::Definition::update_rates`].
    pub update_rates: Option<Vec<UpdateRate>>,
    /// Maximum error of replicated positions, in metres, from 0.001 to 1; `None` for the smallest possible error.
    pub precision: Option<f32>,
    /// Maximum error in the three smaller components of replicated quaternions, from 0.0002 to 0.04; `None` for the
    /// smallest possible error.
    pub rotation_precision: Option<f32>,
    /// The collision layer of the entities, and the layers that they pass through.
    pub layers: Layers,
}

impl Kind {
    /// Makes a kind without a body, a look or attributes.
    pub fn new(name: &str) -> Kind {
        Kind {
            name: name.to_owned(),
            formerly: Vec::new(),
            body: None,
            look: Value::Nil,
            walker: None,
            attributes: Attributes::default(),
            tags: Vec::new(),
            owner: OwnerRules::default(),
            reports_contacts: false,
            interest: None,
            update_rates: None,
            precision: None,
            rotation_precision: None,
            layers: Layers::default(),
        }
    }

    /// Sets the collision layer and the layers that the kind ignores.
    pub fn with_layers(self, layers: Layers) -> Kind {
        Kind { layers, ..self }
    }

    /// Adds a body.
    pub fn with_body(self, body: Body) -> Kind {
        Kind { body: Some(body), ..self }
    }

    /// Adds attributes.
    pub fn with_attributes(self, attributes: Attributes) -> Kind {
        Kind { attributes, ..self }
    }

    /// Lets the behaviour receive the contacts of its entities.
    pub fn reporting_contacts(self) -> Kind {
        Kind { reports_contacts: true, ..self }
    }

    /// Makes a person: a capsule 1.8 m high that walks by its input.
    pub fn walker(name: &str, walker: Walker) -> Kind {
        Kind { body: Some(walker.body()), walker: Some(walker), ..Kind::new(name) }
    }

    /// Returns the walker with the factors in an entity's attributes, and whether it is frozen; `None` without a walker.
    pub(crate) fn gait(&self, attributes: &[Value]) -> Option<(Walker, bool)> {
        let walker = self.walker.as_ref()?;
        if !walker.is_adjustable {
            return Some((*walker, false));
        }
        let adjustment = Adjustment::read(|name| attributes.get(self.attributes.index(name)?));
        Some((adjustment.of(walker), adjustment.is_frozen))
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
        if self.layers.layer >= LAYERS_MAX {
            let why = "a world has at most 16 collision layers, the default one included";
            return Err(path.field("layer").error(Problem::Invalid(why)));
        }
        self.attributes.check(&path.field("attributes"))?;
        if let Some(interest) = self.interest {
            interest.check(&path.field("interest"))?;
        }
        if let Some(rates) = &self.update_rates {
            update_rates::check(rates, path)?;
        }
        let is_stated = self.precision.is_some() || self.rotation_precision.is_some();
        if self.walker.is_some() && is_stated {
            let why = "clients predict walkers, which are sent at the highest precision";
            return Err(path.field("precision").error(Problem::Invalid(why)));
        }
        if let Some(metres) = self.precision {
            path.field("precision").within(metres, 0.001, 1.0)?;
        }
        if let Some(part) = self.rotation_precision {
            path.field("rotation_precision").within(part, 0.000_2, 0.04)?;
        }
        let has_attribute = |name: &str| self.attributes.index(name).is_some();
        self.owner.check(&path.field("owner"), self.body.as_ref(), self.walker.is_some(), has_attribute)?;
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

/// The clients that receive an entity. The engine only stores the policy; the server applies it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Interest {
    /// Players whose avatars are near, and players without an avatar.
    Near {
        /// The radius in metres, from 1 to 10,000.
        radius: f32,
    },
    /// All clients.
    Always,
    /// No client.
    Never,
    /// The owner.
    Owner,
}

impl Interest {
    /// Most worlds have at most this diameter.
    pub const DEFAULT: Interest = Interest::Near { radius: 256.0 };

    pub(crate) fn check(self, path: &Path<'_>) -> Result<(), DefinitionError> {
        match self {
            Interest::Near { radius } => path.field("radius").within(radius, 1.0, 10_000.0),
            Interest::Always | Interest::Never | Interest::Owner => Ok(()),
        }
    }
}
