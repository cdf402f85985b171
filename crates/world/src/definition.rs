//! The definition of a world: its kinds, actions, events and limits.

use nowcast_wire::Value;

use crate::attributes::Attributes;
use crate::conform;
use crate::event::Refusal;
use crate::kind::{Interest, Kind};
use crate::limits::{ACTIONS_MAX, EVENTS_MAX, KINDS_MAX, Limits};
use crate::problem::{DefinitionError, Path, Problem, is_name};
use crate::update_rates::{self, UpdateRate};

/// A world's definition. [`crate::World::new`] checks it; [`Definition::validate`] does so without making a world.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    /// The kinds of entities, by name.
    pub kinds: Vec<Kind>,
    /// The actions of players, by name.
    pub actions: Vec<Action>,
    /// The declared events with the shapes of their payloads. Other events may be emitted with any payload.
    pub events: Vec<EventDeclaration>,
    /// The initial state of a new world: a map.
    pub state: Value,
    /// The author's version number of the rules. [`crate::Behaviour::upgrade`] receives the previous one.
    pub version: u32,
    /// Gravity, in metres a second squared.
    pub gravity: [f32; 3],
    /// The limits of the world.
    pub limits: Limits,
    /// The interest policy of kinds that declare none.
    pub interest: Interest,
    /// The update rates of kinds that declare none. `None`: near entities in every update round, and entities beyond
    /// half the radius of [`Definition::interest`] in every second round.
    pub update_rates: Option<Vec<UpdateRate>>,
    /// Whether the world records the last half second, so that rules can judge by a player's view
    /// ([`crate::Scene::rewind`]).
    pub rewinds: bool,
    /// Whether the rules save data of accounts ([`crate::Scene::set_saved`]). A host then lets an account into one room of the
    /// world at a time.
    pub saves: bool,
}

impl Default for Definition {
    fn default() -> Definition {
        Definition {
            kinds: Vec::new(),
            actions: Vec::new(),
            events: Vec::new(),
            state: Value::Map(Vec::new()),
            version: 0,
            gravity: [0.0, -9.81, 0.0],
            limits: Limits::DEFAULT,
            interest: Interest::DEFAULT,
            update_rates: None,
            rewinds: false,
            saves: false,
        }
    }
}

/// An action of players.
#[derive(Clone, PartialEq, Debug)]
pub struct Action {
    /// The name of the action.
    pub name: String,
    /// The arguments of the action.
    pub arguments: Attributes,
    /// The binding for clients: a key, a label. The engine does not read it. Nil for none.
    pub hint: Value,
    /// Whether the action is durable. The engine marks the events that the action causes ([`crate::Event::Emitted`]); the
    /// host stores and confirms the action.
    pub durable: bool,
}

/// A declared event with its payload.
#[derive(Clone, PartialEq, Debug)]
pub struct EventDeclaration {
    /// The name of the event.
    pub name: String,
    /// The payload of the event.
    pub payload: Attributes,
}

impl EventDeclaration {
    /// Makes an event with a payload in the notation of [`Attributes::parse`].
    ///
    /// # Errors
    /// Fails if the payload is malformed; see [`Attributes::parse`].
    pub fn new(name: &str, payload: &str) -> Result<EventDeclaration, DefinitionError> {
        let payload = Attributes::parse(payload).map_err(|error| error.within("events", name))?;
        Ok(EventDeclaration { name: name.to_owned(), payload })
    }
}

impl Action {
    /// Makes an action with arguments in the notation of [`Attributes::parse`].
    ///
    /// # Errors
    /// Fails if the arguments are malformed; see [`Attributes::parse`].
    pub fn new(name: &str, arguments: &str) -> Result<Action, DefinitionError> {
        let arguments = Attributes::parse(arguments).map_err(|error| error.within("actions", name))?;
        Ok(Action { name: name.to_owned(), arguments, hint: Value::Nil, durable: false })
    }
}

impl Definition {
    /// Validates the definition.
    ///
    /// # Errors
    /// Returns the first mistake, with its path: an invalid or repeated name, an exceeded maximum, or a number outside
    /// its bounds.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        let path = Path::default();
        path.field("kinds").count(self.kinds.len(), 0, KINDS_MAX)?;
        path.field("actions").count(self.actions.len(), 0, ACTIONS_MAX)?;
        unique(&path.field("actions"), self.actions.iter().map(|action| action.name.as_str()))?;
        path.field("events").count(self.events.len(), 0, EVENTS_MAX)?;
        unique(&path.field("events"), self.events.iter().map(|event| event.name.as_str()))?;
        let names = self.kinds.iter().map(|kind| &kind.name);
        let formerly = self.kinds.iter().flat_map(|kind| &kind.formerly);
        unique(&path.field("kinds"), names.chain(formerly).map(String::as_str))?;
        for kind in &self.kinds {
            kind.check(&path.field("kinds").field(&kind.name))?;
        }
        for action in &self.actions {
            let path = path.field("actions");
            let path = path.field(&action.name);
            action.arguments.check(&path)?;
            let hint = conform::bounded(&action.hint, self.limits.value_bytes_max);
            hint.map_err(|error| path.field("hint").error(Problem::Shape(error.to_string())))?;
        }
        for event in &self.events {
            event.payload.check(&path.field("events").field(&event.name))?;
        }
        let gravity = path.field("gravity");
        self.gravity.iter().try_for_each(|value| gravity.within(*value, -1_000.0, 1_000.0))?;
        self.interest.check(&path.field("interest"))?;
        if let Some(rates) = &self.update_rates {
            update_rates::check(rates, &path)?;
        }
        let Value::Map(state) = &self.state else {
            return Err(path.field("state").error(Problem::Invalid("it is not a map")));
        };
        if state.iter().any(|(key, _)| key.as_text().is_none()) {
            return Err(path.field("state").error(Problem::Invalid("a key is not a text")));
        }
        let bytes = nowcast_wire::any::to_vec(&self.state).len();
        path.field("state").count(bytes, 0, self.limits.state_bytes_max)
    }

    /// Returns the interest policy of a kind.
    pub fn interest_of(&self, kind: &Kind) -> Interest {
        kind.interest.unwrap_or(self.interest)
    }

    /// Returns the index of the kind that takes over entities saved under this name.
    pub fn kind_of_written(&self, name: &str) -> Option<usize> {
        let named = self.kinds.iter().position(|kind| kind.name == name);
        let was_named = |kind: &Kind| kind.formerly.iter().any(|former| former == name);
        named.or_else(|| self.kinds.iter().position(was_named))
    }

    /// Whether bodies that rest under one definition may move under the other definition, because gravity or a body differs.
    pub fn may_move_bodies(&self, before: &Definition) -> bool {
        let is_other = |kind: &Kind| {
            let now = self.kind_of_written(&kind.name).map(|index| &self.kinds[index]);
            now.is_some_and(|now| now.body != kind.body || now.layers != kind.layers)
        };
        self.gravity != before.gravity || before.kinds.iter().any(is_other)
    }

    /// Returns the declaration of an event.
    pub fn event(&self, name: &str) -> Option<&EventDeclaration> {
        self.events.iter().find(|event| event.name == name)
    }

    /// Checks whether the world would accept an action with these arguments.
    ///
    /// # Errors
    /// [`Refusal::UnknownAction`] and [`Refusal::Arguments`], like in an [`crate::Event::Refused`].
    pub fn judge(&self, name: &str, arguments: &Value) -> Result<(), Refusal> {
        let action = self.action(name).ok_or_else(|| Refusal::UnknownAction(name.to_owned()))?;
        let conformed = action.arguments.conform_map(arguments);
        conformed.map(drop).map_err(|misfit| Refusal::Arguments { action: name.to_owned(), misfit })
    }

    /// Returns the action of this name.
    pub fn action(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name)
    }
}

fn unique<'a>(path: &Path<'_>, names: impl Iterator<Item = &'a str>) -> Result<(), DefinitionError> {
    let mut known = std::collections::BTreeSet::new();
    for name in names {
        let path = path.field(name);
        if !is_name(name) {
            return Err(path.error(Problem::Invalid("a name has 1 to 64 bytes, and no control characters")));
        }
        if !known.insert(name) {
            return Err(path.error(Problem::Invalid("two of these have the same name")));
        }
    }
    Ok(())
}
