//! Types of values, as far as a module's text shows them.

use nowcast_script::{instead, names_of};
use nowcast_world::Definition;

/// The type of a value, if the text shows it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Type {
    Unknown,
    World,
    Test,
    /// A module of the standard library, by its name after `@nowcast/`.
    Module(&'static str),
    /// `world.state`
    State,
    /// A kind, by its place in the definition.
    Kind(Option<usize>),
    /// An entity of a known or unknown kind.
    Entity(Option<usize>),
    Player,
    /// A library of Luau, by its global name.
    Library(String),
    List(Box<Type>),
    /// The arguments of an action, by its name.
    Arguments(String),
    /// The result of `world.raycast` and `world.shapecast`.
    Hit,
    /// The controls of a player.
    Input,
    /// A function of the API: the type to which it belongs, and its name.
    Function(Box<Type>, String),
}

const HIT_FIELDS: [&str; 4] = ["entity", "distance", "point", "normal"];
const INPUT_FIELDS: [&str; 5] = ["forward", "right", "yaw", "run", "jump"];

/// A mistake in the use of a field. It is an error if the line can never work, and otherwise a warning.
pub(crate) struct NoField {
    pub(crate) message: String,
    pub(crate) is_error: bool,
}

impl Type {
    /// The type of the API that has the functions of this value.
    pub(crate) fn api_name(&self) -> Option<&'static str> {
        match self {
            Type::World => Some("World"),
            Type::Test => Some("Test"),
            Type::Module(name) => Some(name),
            Type::Kind(_) => Some("Kind"),
            Type::Entity(_) | Type::Player => Some("Entity"),
            _ => None,
        }
    }

    /// The type of a field that is read, called or set.
    pub(crate) fn field(&self, name: &str, definition: &Definition) -> Result<Type, NoField> {
        let among = |what: &str, known: &[&str]| {
            if known.contains(&name) {
                return Ok(Type::Function(Box::new(self.clone()), name.to_owned()));
            }
            Err(NoField {
                message: format!("{what} has no `{name}`; {}", instead(name, known)),
                is_error: true,
            })
        };
        match self {
            Type::World if name == "state" => Ok(Type::State),
            Type::World => among("`world`", &names_of("World")),
            Type::Test => among("`test`", &names_of("Test")),
            Type::Module("headset") if matches!(name, "Head" | "Hand") => {
                let kinds = &definition.kinds;
                Ok(Type::Kind(kinds.iter().position(|kind| kind.name.eq_ignore_ascii_case(name))))
            }
            Type::Module(module) => among(&format!("`{module}`"), &names_of(module)),
            Type::Kind(_) => among("a kind", &[names_of("Kind"), vec!["index"]].concat()),
            Type::Player | Type::Entity(_) => self.field_of_entity(name, definition),
            Type::Hit => among("a hit", &HIT_FIELDS).map(|_| match name {
                "entity" => Type::Entity(None),
                _ => Type::Unknown,
            }),
            Type::Input => among("`input`", &INPUT_FIELDS).map(|_| Type::Unknown).map_err(reads_as_nil),
            Type::Arguments(action) => {
                let declared = definition.action(action).map(|action| &action.arguments);
                let Some(arguments) = declared else { return Ok(Type::Unknown) };
                let known: Vec<&str> = arguments.fields().iter().map(|field| field.name.as_str()).collect();
                let what = format!("action `{action}`");
                among(&what, &known).map(|_| Type::Unknown).map_err(reads_as_nil)
            }
            _ => Ok(Type::Unknown),
        }
    }

    fn field_of_entity(&self, name: &str, definition: &Definition) -> Result<Type, NoField> {
        let known = names_of("Entity");
        if known.contains(&name) {
            return Ok(match name {
                "kind" => Type::Kind(None),
                "player" | "owner" => Type::Player,
                "avatar" | "parent" => Type::Entity(None),
                "input" => Type::Input,
                _ => Type::Function(Box::new(self.clone()), name.to_owned()),
            });
        }
        let declared: Vec<&str> = match self {
            Type::Player => Vec::new(),
            Type::Entity(Some(kind)) => definition.kinds.get(*kind).map(attributes).unwrap_or_default(),
            _ => definition.kinds.iter().flat_map(attributes).collect(),
        };
        if declared.contains(&name) {
            return Ok(Type::Unknown);
        }
        let all = [declared.as_slice(), known.as_slice()].concat();
        let meant = nowcast_script::closest(name, &all).map(|meant| format!("; did you mean `{meant}`?"));
        let message = match (self, meant) {
            (Type::Player, meant) => format!(
                "a player has no field `{name}`{}",
                meant.unwrap_or_else(|| {
                    "; values that your world stores for a player belong in `player.private`".into()
                })
            ),
            (Type::Entity(Some(kind)), meant) => format!(
                "kind `{}` has no attribute `{name}`{}",
                definition.kinds.get(*kind).map_or("", |kind| kind.name.as_str()),
                meant.unwrap_or_else(|| "; declare it in the kind's `attributes`".into())
            ),
            (_, meant) => format!(
                "no kind has an attribute `{name}`{}",
                meant.unwrap_or_else(|| "; declare it in a kind's `attributes`".into())
            ),
        };
        Err(NoField { message, is_error: true })
    }

    /// The type of the result of a call. `first` is the type of the first argument after the subject.
    pub(crate) fn returned(&self, first: &Type) -> Type {
        let (subject, name) = match self {
            Type::Function(subject, name) => (subject, name),
            // `world.state { … }` sets first values, and returns `world.state`.
            Type::State => return Type::State,
            _ => return Type::Unknown,
        };
        match (subject.as_ref(), name.as_str()) {
            (Type::World, "players" | "programs") => Type::List(Box::new(Type::Player)),
            (Type::World, "tagged" | "overlap") => Type::List(Box::new(Type::Entity(None))),
            (Type::World, "raycast" | "shapecast") => Type::Hit,
            (Type::Test, "join" | "join_program") => Type::Player,
            (Type::Module("teams"), "members") => Type::List(Box::new(Type::Player)),
            (Type::Kind(kind), "spawn") => Type::Entity(*kind),
            (Type::Kind(kind), "all") => Type::List(Box::new(Type::Entity(*kind))),
            (Type::Player, "spawn_avatar") => match first {
                Type::Kind(kind) => Type::Entity(*kind),
                _ => Type::Entity(None),
            },
            (Type::Entity(_) | Type::Player, "touching") => Type::List(Box::new(Type::Entity(None))),
            (Type::Library(library), "pairs" | "ipairs") if library.is_empty() => first.clone(),
            _ => Type::Unknown,
        }
    }

    /// The types of the parameters of a function that is passed to this call; `text` is the first argument, if it is a
    /// text.
    pub(crate) fn parameters(&self, text: Option<&str>) -> Vec<Type> {
        let Type::Function(subject, name) = self else { return Vec::new() };
        match (subject.as_ref(), name.as_str(), text) {
            (
                Type::World,
                "on",
                Some("join" | "arrive" | "leave" | "program_join" | "program_leave" | "message"),
            ) => {
                vec![Type::Player]
            }
            (Type::World, "action", Some(action)) => vec![Type::Player, Type::Arguments(action.to_owned())],
            (Type::World, "action", None) | (Type::World, "command", _) => vec![Type::Player],
            (Type::Kind(kind), "on", Some("step")) => vec![Type::Entity(*kind)],
            (Type::Kind(kind), "on", Some("contact" | "contact_end")) => {
                vec![Type::Entity(*kind), Type::Entity(None)]
            }
            (Type::Kind(kind), "on", Some("own" | "release")) => vec![Type::Entity(*kind), Type::Player],
            _ => Vec::new(),
        }
    }
}

fn attributes(kind: &nowcast_world::Kind) -> Vec<&str> {
    kind.attributes.fields().iter().map(|field| field.name.as_str()).collect()
}

fn reads_as_nil(wrong: NoField) -> NoField {
    NoField { is_error: false, ..wrong }
}
