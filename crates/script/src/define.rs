//! Declarations of a script while it is loaded: kinds, actions, settings. Every error names the field and the values
//! that it accepts.

mod attributes;
mod body;

use std::collections::BTreeMap;

use mlua::{Table, Value as Luau};
use nowcast_wire::shape::{Field, NumberType, Range, Type};
use nowcast_world::{
    Action, Adjustment, Area, Attributes, Beyond, Definition, EventDeclaration, Interest, Kind, LAYERS_MAX,
    Layers, OwnedBy, OwnerLeaves, OwnerRules, UpdateRate, Value, Walker,
};

pub(crate) use body::{SHAPE_FIELDS, read_motion, read_shape};

use attributes::{read_arguments, read_attributes};
use body::read_body;

use crate::about::About;
use crate::binding::{Targets, read_binding};
use crate::fields::{Declared, Fields};

/// A Luau type that the wire format represents only as a number or a list of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Entity,
    Player,
    Vector,
}

/// The action by which a server brings a player who comes from another room, with the arguments `from` (text) and `data`.
pub const ARRIVE: &str = "@arrive";

/// The action by which players press a panel's button, with the arguments `part` (the button's index), `row` (of a list) and
/// `text` (of an input).
const PRESS: &str = "ui:press";

/// The name of the layer of kinds that declare none.
const DEFAULT_LAYER: &str = "default";

/// Everything declared so far.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) definition: Definition,
    /// The description for visitors.
    pub(crate) about: About,
    /// For each kind, the attributes with a type that the wire format does not have.
    pub(crate) kind_specials: Vec<BTreeMap<String, Special>>,
    /// For each action, the arguments with a type that the wire format does not have.
    pub(crate) action_specials: Vec<BTreeMap<String, Special>>,
    /// The names of the collision layers; the first one has the number 1.
    layers: Vec<String>,
    /// The kinds that bindings name.
    pub(crate) targets: Vec<Targets>,
    /// Whether the modules are loaded. If so, nothing more can be declared.
    pub(crate) is_closed: bool,
}

impl Declarations {
    /// Adds a kind and returns its index.
    pub(crate) fn kind(&mut self, name: &str, table: &Table) -> Declared<usize> {
        self.open("kinds")?;
        let fields = Fields::of(table, name);
        let mut specials = BTreeMap::new();
        let mut kind = Kind::new(name);
        if let Some(walker) = fields.table_in("walker")? {
            kind = Kind::walker(name, read_walker(&walker)?);
        }
        if let Some(body) = fields.table_in("body")? {
            if kind.walker.is_some() {
                return Err(format!("{name}: a walker has a body of its own; leave `body` out"));
            }
            kind.body = Some(read_body(&body)?);
        }
        kind.look = fields.value("look")?;
        kind.tags = fields.texts("tags")?;
        kind.formerly = fields.names_of("formerly")?;
        if let Some(attributes) = fields.table_in("attributes")? {
            (kind.attributes, specials) = read_attributes(&attributes)?;
            let entities = specials.iter().filter(|(_, special)| **special == Special::Entity);
            kind.attributes = entities.fold(kind.attributes, |all, (name, _)| all.with_entity(name));
        }
        if let Some(owner) = fields.table_in("owner")? {
            kind.owner = read_owner(&owner)?;
        }
        if fields.truth("appearance")?.unwrap_or(false) {
            add_appearance(&mut kind)?;
        }
        let walker = kind.walker.unwrap_or_default();
        if walker.is_adjustable {
            add_adjustment(&mut kind)?;
        }
        if walker.shows_pitch {
            add_attribute(&mut kind, "pitch", Field::new(PITCH, pitch_type()))?;
            kind.owner.attributes.push(PITCH.to_owned());
        }
        kind.interest = read_interest(&fields)?;
        kind.update_rates = read_update_rates(&fields)?;
        kind.precision = fields.number("precision")?;
        kind.rotation_precision = fields.number("rotation_precision")?;
        kind.layers = self.read_layers(&fields)?;
        fields.nothing_else(&[
            "walker",
            "appearance",
            "body",
            "look",
            "tags",
            "attributes",
            "owner",
            "formerly",
            "interest",
            "update_rates",
            "precision",
            "rotation_precision",
            "layer",
            "ignores",
        ])?;
        self.definition.kinds.push(kind);
        self.checked(|definition| drop(definition.kinds.pop()))?;
        self.kind_specials.push(specials);
        Ok(self.definition.kinds.len() - 1)
    }

    /// Reads the collision layer of a kind and the layers that it ignores.
    fn read_layers(&mut self, fields: &Fields<'_>) -> Declared<Layers> {
        let layer = match fields.text("layer")? {
            Some(name) => self.layer(&name)?,
            None => 0,
        };
        let mut ignores = 0;
        for name in fields.texts("ignores")? {
            ignores |= 1 << self.layer(&name)?;
        }
        Ok(Layers { layer, ignores })
    }

    /// Returns the number of a layer. The first use of a name declares it.
    fn layer(&mut self, name: &str) -> Declared<u8> {
        if name == DEFAULT_LAYER {
            return Ok(0);
        }
        let known = self.layers.iter().position(|known| known == name);
        let index = known.unwrap_or(self.layers.len());
        let max = usize::from(LAYERS_MAX) - 1;
        if index >= max {
            return Err(format!(
                "layer {name:?} is one too many: a world has at most {max} besides \"default\""
            ));
        }
        if known.is_none() {
            self.layers.push(name.to_owned());
        }
        Ok(index as u8 + 1)
    }

    /// Makes the world report the contacts of a kind's entities.
    pub(crate) fn report_contacts(&mut self, kind: usize) -> Declared<()> {
        self.open("handlers of contacts")?;
        let kind = self.definition.kinds.get_mut(kind).ok_or("the kind does not exist")?;
        kind.reports_contacts = true;
        Ok(())
    }

    pub(crate) fn action(
        &mut self,
        name: &str,
        shape: &Table,
        binding: Option<&Table>,
        place: Option<(String, u32)>,
    ) -> Declared<usize> {
        self.open("actions")?;
        if name.starts_with('@') {
            return Err(format!("action {name:?}: names that begin with `@` are reserved for the server"));
        }
        let (arguments, specials) = read_arguments(&Fields::of(shape, name))?;
        let binding = binding
            .map(|binding| read_binding(&Fields::of(binding, name), name, &arguments, place))
            .transpose()?;
        let (hint, targets, durable) = binding
            .map_or((Value::Nil, None, false), |(hint, targets, durable)| (hint, Some(targets), durable));
        self.definition.actions.push(Action { name: name.to_owned(), arguments, hint, durable });
        self.checked(|definition| drop(definition.actions.pop()))?;
        self.targets.extend(targets);
        self.action_specials.push(specials);
        Ok(self.definition.actions.len() - 1)
    }

    /// Declares a chat command. It is an action, so that programs can send it with typed arguments; its hint is
    /// `{ command = { usage, help } }`.
    pub(crate) fn command(&mut self, name: &str, shape: &Table, usage: String, help: String) -> Declared<()> {
        self.open("commands")?;
        let (arguments, specials) = read_arguments(&Fields::of(shape, name))?;
        let text = |key: &str| Value::Text(key.to_owned());
        let described =
            Value::Map(vec![(text("help"), Value::Text(help)), (text("usage"), Value::Text(usage))]);
        let hint = Value::Map(vec![(text("command"), described)]);
        self.definition.actions.push(Action { name: name.to_owned(), arguments, hint, durable: false });
        self.checked(|definition| drop(definition.actions.pop()))?;
        self.action_specials.push(specials);
        Ok(())
    }

    /// Declares the action [`ARRIVE`], which the server gives for a player that comes from another room.
    pub(crate) fn arrivals(&mut self) -> Declared<()> {
        self.open("handlers")?;
        let fields = vec![Field::new("from", Type::Text), Field::new("data", Type::Any)];
        let arguments = Attributes::from_fields(fields).map_err(|error| error.to_string())?;
        let action = Action { name: ARRIVE.to_owned(), arguments, hint: Value::Nil, durable: false };
        self.definition.actions.push(action);
        self.checked(|definition| drop(definition.actions.pop()))?;
        self.action_specials.push(BTreeMap::new());
        Ok(())
    }

    /// Declares a panel. The panels are the hint of the action [`PRESS`], which presses their buttons.
    pub(crate) fn panel(&mut self, described: Value) -> Declared<()> {
        self.open("panels")?;
        let known = self.definition.actions.iter_mut().find(|action| action.name == PRESS);
        if let Some(Action { hint: Value::Map(fields), .. }) = known {
            if let Some((_, Value::List(panels))) = fields.first_mut() {
                panels.push(described);
            }
            return self.checked(|_| ());
        }
        let row = Type::Option(Box::new(Type::Number(NumberType::U8)));
        let text = Type::Option(Box::new(Type::Text));
        let fields = vec![Field::new("part", Type::Text), Field::new("row", row), Field::new("text", text)];
        let arguments = Attributes::from_fields(fields).map_err(|error| error.to_string())?;
        let hint = Value::Map(vec![(Value::Text("ui".to_owned()), Value::List(vec![described]))]);
        self.definition.actions.push(Action { name: PRESS.to_owned(), arguments, hint, durable: false });
        self.checked(|definition| drop(definition.actions.pop()))?;
        self.action_specials.push(BTreeMap::new());
        Ok(())
    }

    /// Declares the fields of an event.
    pub(crate) fn event(&mut self, name: &str, shape: &Table) -> Declared<()> {
        self.open("events")?;
        let (payload, _) = read_arguments(&Fields::of(shape, name))?;
        self.definition.events.push(EventDeclaration { name: name.to_owned(), payload });
        self.checked(|definition| drop(definition.events.pop()))
    }

    /// Returns the Luau types of an action's arguments.
    pub(crate) fn action_specials(&self, name: &str) -> Option<&BTreeMap<String, Special>> {
        let place = self.definition.actions.iter().position(|action| action.name == name)?;
        self.action_specials.get(place)
    }

    pub(crate) fn settings(&mut self, table: &Table) -> Declared<()> {
        self.open("settings")?;
        let fields = Fields::of(table, "settings");
        if let Some(gravity) = fields.vector("gravity")? {
            self.definition.gravity = gravity;
        }
        if let Some(players_max) = fields.number("players_max")? {
            self.definition.limits.players_max = players_max.clamp(1.0, 100_000.0) as usize;
        }
        if let Some(entities_max) = fields.number("entities_max")? {
            self.definition.limits.entities_max = entities_max.clamp(1.0, 131_072.0) as usize;
        }
        if let Some(interest) = read_interest(&fields)? {
            self.definition.interest = interest;
        }
        if let Some(rates) = read_update_rates(&fields)? {
            self.definition.update_rates = Some(rates);
        }
        if let Some(version) = fields.double("version")? {
            let is_version = version.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&version);
            if !is_version {
                return Err(fields.expected("version", "a whole number of at least 0", &version.to_string()));
            }
            self.definition.version = version as u32;
        }
        if let Some(rewind) = fields.truth("rewind")? {
            self.definition.rewinds = rewind;
        }
        fields.nothing_else(&[
            "gravity",
            "players_max",
            "entities_max",
            "version",
            "interest",
            "update_rates",
            "rewind",
        ])?;
        self.checked(|_| ())
    }

    /// Declares the description for visitors.
    pub(crate) fn about(&mut self, table: &Table) -> Declared<()> {
        self.open("descriptions")?;
        self.about = About::read(table)?;
        Ok(())
    }

    pub(crate) fn open(&self, what: &str) -> Declared<()> {
        if self.is_closed {
            return Err(format!("{what} are declared while the modules are loaded, not later"));
        }
        Ok(())
    }

    fn checked(&mut self, undo: impl FnOnce(&mut Definition)) -> Declared<()> {
        self.definition.validate().map_err(|error| {
            undo(&mut self.definition);
            error.to_string()
        })
    }
}

/// Reads the ownership rules of a kind.
fn read_owner(fields: &Fields<'_>) -> Declared<OwnerRules> {
    let mut rules = OwnerRules::default();
    rules.by = match fields.text("by")?.as_deref() {
        None => None,
        Some("player") => Some(OwnedBy::Player),
        Some("program") => Some(OwnedBy::Program),
        Some("anyone") => Some(OwnedBy::Anyone),
        Some(other) => {
            return Err(fields.expected("by", "\"player\", \"program\" or \"anyone\"", other));
        }
    };
    rules.speed = fields.number("speed")?.unwrap_or(rules.speed);
    rules.turn = fields.number("turn")?.unwrap_or(rules.turn);
    rules.reach = fields.number("reach")?;
    if let Some(area) = fields.table_in("area")? {
        let size = area.vector("size")?.ok_or_else(|| format!("{}.size is missing: a vector", area.path))?;
        rules.area = Some(Area { at: area.vector("at")?.unwrap_or_default(), size });
        area.nothing_else(&["at", "size"])?;
    }
    rules.beyond = match fields.text("beyond")?.as_deref() {
        None | Some("clamp") => Beyond::Clamp,
        Some("refuse") => Beyond::Refuse,
        Some(other) => return Err(fields.expected("beyond", "\"clamp\" or \"refuse\"", other)),
    };
    rules.attributes = fields.texts("attributes")?;
    rules.spawns_max = fields.number("spawns")?.map_or(0, |spawns| spawns.clamp(0.0, 1e6) as u32);
    rules.leave = match fields.text("leave")?.as_deref() {
        None | Some("release") => OwnerLeaves::Release,
        Some("keep") => OwnerLeaves::Keep,
        Some("despawn") => OwnerLeaves::Despawn,
        Some(other) => {
            return Err(fields.expected("leave", "\"release\", \"keep\" or \"despawn\"", other));
        }
    };
    fields.nothing_else(&[
        "by",
        "speed",
        "turn",
        "reach",
        "area",
        "beyond",
        "attributes",
        "spawns",
        "leave",
    ])?;
    Ok(rules)
}

/// Reads which clients see the entities of a kind.
fn read_interest(fields: &Fields<'_>) -> Declared<Option<Interest>> {
    let expected = "{ radius = metres }, \"always\", \"never\" or \"owner\"";
    Ok(Some(match fields.luau("interest")? {
        Luau::Nil => return Ok(None),
        Luau::Table(table) => {
            let inner = Fields::of(&table, &format!("{}.interest", fields.path));
            inner.nothing_else(&["radius"])?;
            let radius = inner.number("radius")?;
            Interest::Near {
                radius: radius.ok_or_else(|| fields.expected("interest", expected, "no radius"))?,
            }
        }
        Luau::String(word) => match word.to_string_lossy().as_ref() {
            "always" => Interest::Always,
            "never" => Interest::Never,
            "owner" => Interest::Owner,
            other => return Err(fields.expected("interest", expected, other)),
        },
        other => return Err(fields.expected("interest", expected, other.type_name())),
    }))
}

/// Reads how often clients receive the movement of entities, by distance.
fn read_update_rates(fields: &Fields<'_>) -> Declared<Option<Vec<UpdateRate>>> {
    if fields.table_in("update_rates")?.is_none() {
        return Ok(None);
    }
    let read = |class: &Fields<'_>| {
        class.nothing_else(&["within", "hz"])?;
        let hz = class.number("hz")?.ok_or_else(|| class.expected("hz", "updates a second", "none"))?;
        Ok(UpdateRate { within: class.number("within")?, hz })
    };
    fields.tables("update_rates")?.iter().map(read).collect::<Declared<_>>().map(Some)
}

/// Attributes of a kind with `appearance = true`, which its player may set: see "Walkers" in `docs/how-to/bodies.md`.
const APPEARANCE: [(&str, NumberType); 2] = [("outfit", NumberType::U32), ("emote", NumberType::U16)];

fn add_appearance(kind: &mut Kind) -> Declared<()> {
    if kind.walker.is_none() {
        return Err(format!("{}: `appearance` needs a `walker`", kind.name));
    }
    for (name, number) in APPEARANCE {
        add_attribute(kind, "appearance", Field::new(name, Type::Number(number)))?;
        kind.owner.attributes.push(name.to_owned());
    }
    Ok(())
}

/// The attribute of a walker with `pitch = true`, which its player's page sets: how far up the player looks, in radians.
pub(crate) const PITCH: &str = "pitch";

fn pitch_type() -> Type {
    Type::Range(Range { low: -1.6, high: 1.6, step: 0.0125 })
}

/// Adds the attributes with which the rules change the gait of each walker.
fn add_adjustment(kind: &mut Kind) -> Declared<()> {
    for (field, default) in Adjustment::fields() {
        let name = field.name.clone();
        add_attribute(kind, "adjustable", field)?;
        let defaulted = std::mem::take(&mut kind.attributes).with_default(&name, default);
        kind.attributes = defaulted.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Adds an attribute that the field `cause` of a kind brings.
fn add_attribute(kind: &mut Kind, cause: &str, field: Field) -> Declared<()> {
    let name = field.name.clone();
    let wider = std::mem::take(&mut kind.attributes).with_field(field);
    kind.attributes = wider.map_err(|error| format!("{}: `{cause}` adds `{name}`: {error}", kind.name))?;
    Ok(())
}

fn read_walker(fields: &Fields<'_>) -> Declared<Walker> {
    let mut walker = Walker::default();
    let numbers: [(&str, &mut f32); 8] = [
        ("height", &mut walker.height),
        ("radius", &mut walker.radius),
        ("mass", &mut walker.mass),
        ("walk_speed", &mut walker.walk_speed),
        ("run_speed", &mut walker.run_speed),
        ("ground_acceleration", &mut walker.ground_acceleration),
        ("air_acceleration", &mut walker.air_acceleration),
        ("jump_speed", &mut walker.jump_speed),
    ];
    let known = numbers.map(|(name, place)| {
        fields.number(name).map(|value| {
            if let Some(value) = value {
                *place = value;
            }
            name
        })
    });
    walker.is_adjustable = fields.truth("adjustable")?.unwrap_or(false);
    walker.shows_pitch = fields.truth("pitch")?.unwrap_or(false);
    let mut known = known.into_iter().collect::<Declared<Vec<_>>>()?;
    known.extend(["adjustable", "pitch"]);
    fields.nothing_else(&known)?;
    Ok(walker)
}
