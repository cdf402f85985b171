//! What a script declares while it is loaded: kinds, actions, settings. Every mistake names the field and what may stand there.

use std::collections::BTreeMap;

use mlua::{Table, Value as Luau};
use nowcast_world::{
    Action, Area, Attributes, Beyond, Body, ColliderShape, Definition, EventDeclaration, Interest, Kind,
    Mass, Motion, OwnedBy, OwnerLeaves, OwnerRules, Pose, Value, Walker,
};

use crate::fields::{Declared, Fields};
use crate::hint::{Targets, read_hint};

/// What a value is for Luau, where the wire format knows only numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Special {
    Entity,
    Player,
    Vector,
}

/// Everything declared so far.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) definition: Definition,
    /// Of each kind, the attributes that Luau has types for and the wire has not.
    pub(crate) kind_specials: Vec<BTreeMap<String, Special>>,
    /// The same of each action's arguments.
    pub(crate) action_specials: Vec<BTreeMap<String, Special>>,
    /// The kinds that hints name.
    pub(crate) targets: Vec<Targets>,
    /// Once the modules are loaded, nothing more can be declared.
    pub(crate) is_closed: bool,
}

impl Declarations {
    /// Adds a kind and returns its place.
    pub(crate) fn kind(&mut self, name: &str, table: &Table) -> Declared<usize> {
        self.open("kinds")?;
        let fields = Fields::of(table, name);
        let mut specials = BTreeMap::new();
        let mut kind = Kind::new(name);
        if let Some(walker) = fields.table_in("walker")? {
            kind = Kind { ..Kind::walker(name, read_walker(&walker)?) };
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
        }
        if let Some(owner) = fields.table_in("owner")? {
            kind.owner = read_owner(&owner)?;
        }
        kind.interest = read_interest(&fields)?;
        fields.nothing_else(&[
            "walker",
            "body",
            "look",
            "tags",
            "attributes",
            "owner",
            "formerly",
            "interest",
        ])?;
        self.definition.kinds.push(kind);
        self.checked(|definition| drop(definition.kinds.pop()))?;
        self.kind_specials.push(specials);
        Ok(self.definition.kinds.len() - 1)
    }

    /// Lets the world report what the entities of a kind touch.
    pub(crate) fn report_contacts(&mut self, kind: usize) -> Declared<()> {
        self.open("handlers of contacts")?;
        let kind = self.definition.kinds.get_mut(kind).ok_or("there is no such kind")?;
        kind.reports_contacts = true;
        Ok(())
    }

    pub(crate) fn action(
        &mut self,
        name: &str,
        shape: &Table,
        hint: Option<&Table>,
        place: Option<(String, u32)>,
    ) -> Declared<usize> {
        self.open("actions")?;
        let (arguments, specials) = read_attributes(&Fields::of(shape, name))?;
        let hint =
            hint.map(|hint| read_hint(&Fields::of(hint, name), name, &arguments, place)).transpose()?;
        let (hint, targets, durable) =
            hint.map_or((Value::Nil, None, false), |(hint, targets, durable)| (hint, Some(targets), durable));
        self.definition.actions.push(Action { name: name.to_owned(), arguments, hint, durable });
        self.checked(|definition| drop(definition.actions.pop()))?;
        self.targets.extend(targets);
        self.action_specials.push(specials);
        Ok(self.definition.actions.len() - 1)
    }

    /// Declares what is told with an event.
    pub(crate) fn event(&mut self, name: &str, shape: &Table) -> Declared<()> {
        self.open("events")?;
        let (payload, _) = read_attributes(&Fields::of(shape, name))?;
        self.definition.events.push(EventDeclaration { name: name.to_owned(), payload });
        self.checked(|definition| drop(definition.events.pop()))
    }

    /// What an action's arguments are for Luau.
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
        if let Some(version) = fields.double("version")? {
            let is_version = version.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&version);
            if !is_version {
                return Err(fields.expected("version", "a whole number from 0 on", &version.to_string()));
            }
            self.definition.version = version as u32;
        }
        fields.nothing_else(&["gravity", "players_max", "entities_max", "version", "interest"])?;
        self.checked(|_| ())
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

/// Who may own the entities of a kind, and what an owner may do.
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

/// Which clients are told of the entities of a kind.
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
    let known = known.into_iter().collect::<Declared<Vec<_>>>()?;
    fields.nothing_else(&known)?;
    Ok(walker)
}

fn read_body(fields: &Fields<'_>) -> Declared<Body> {
    fields.nothing_else(&[SHAPE_FIELDS.as_slice(), &BODY_FIELDS].concat())?;
    let motion = match fields.text("motion")?.as_deref() {
        None | Some("dynamic") => Motion::Dynamic,
        Some("fixed") => Motion::Fixed,
        Some("kinematic") => Motion::Kinematic,
        Some("sensor") => Motion::Sensor,
        Some(other) => {
            return Err(fields.expected(
                "motion",
                "\"dynamic\", \"fixed\", \"kinematic\" or \"sensor\"",
                other,
            ));
        }
    };
    let mut body = Body::new(motion, read_shape(fields)?);
    match (fields.number("mass")?, fields.number("density")?) {
        (Some(_), Some(_)) => return Err(format!("{}: say `mass` or `density`, not both", fields.path)),
        (Some(mass), None) => body.mass = Mass::Kilograms(mass),
        (None, Some(density)) => body.mass = Mass::Density(density),
        (None, None) => {}
    }
    let numbers: [(&str, &mut f32); 5] = [
        ("friction", &mut body.friction),
        ("restitution", &mut body.restitution),
        ("gravity_scale", &mut body.gravity_scale),
        ("linear_damping", &mut body.linear_damping),
        ("angular_damping", &mut body.angular_damping),
    ];
    for (name, place) in numbers {
        if let Some(value) = fields.number(name)? {
            *place = value;
        }
    }
    body.locks_rotation = fields.truth("locks_rotation")?.unwrap_or(false);
    body.is_bullet = fields.truth("bullet")?.unwrap_or(false);
    Ok(body)
}

/// Fields of a shape.
pub(crate) const SHAPE_FIELDS: [&str; 10] =
    ["shape", "size", "radius", "height", "points", "vertices", "triangles", "heights", "columns", "parts"];

/// Fields of a body beside those of its shape.
const BODY_FIELDS: [&str; 10] = [
    "motion",
    "mass",
    "density",
    "friction",
    "restitution",
    "gravity_scale",
    "linear_damping",
    "angular_damping",
    "locks_rotation",
    "bullet",
];

const SHAPES: &str = "\"box\", \"sphere\", \"capsule\", \"cylinder\", \"cone\", \"hull\", \"mesh\", \"heights\" or \"compound\"";

/// A shape: `shape` says which, the fields beside it how large.
pub(crate) fn read_shape(fields: &Fields<'_>) -> Declared<ColliderShape> {
    let shape = fields.text("shape")?.ok_or_else(|| format!("{}.shape is missing: {SHAPES}", fields.path))?;
    let number = |name: &str| {
        fields.number(name)?.ok_or_else(|| format!("{}.{name} is missing: a {shape} needs it", fields.path))
    };
    Ok(match shape.as_str() {
        "box" => ColliderShape::Box {
            size: fields
                .vector("size")?
                .ok_or_else(|| format!("{}.size is missing: a vector", fields.path))?,
        },
        "sphere" => ColliderShape::Sphere { radius: number("radius")? },
        "capsule" => ColliderShape::Capsule { radius: number("radius")?, height: number("height")? },
        "cylinder" => ColliderShape::Cylinder { radius: number("radius")?, height: number("height")? },
        "cone" => ColliderShape::Cone { radius: number("radius")?, height: number("height")? },
        "hull" => ColliderShape::ConvexHull { points: fields.vectors("points")? },
        "mesh" => {
            let corners = fields.numbers("triangles")?;
            if !corners.len().is_multiple_of(3)
                || corners.iter().any(|corner| corner.fract() != 0.0 || *corner < 1.0)
            {
                return Err(format!("{}.triangles: three numbers of vertices each, from 1 on", fields.path));
            }
            let corner = |corner: f32| corner as u32 - 1;
            let triangles =
                corners.chunks(3).map(|three| [corner(three[0]), corner(three[1]), corner(three[2])]);
            ColliderShape::TriangleMesh {
                vertices: fields.vectors("vertices")?,
                triangles: triangles.collect(),
            }
        }
        "heights" => {
            let size =
                fields.vector("size")?.ok_or_else(|| format!("{}.size is missing: a vector", fields.path))?;
            let columns = number("columns")? as usize;
            ColliderShape::HeightField {
                heights: fields.numbers("heights")?,
                columns,
                size: [size[0], size[2]],
            }
        }
        "compound" => {
            let mut parts = Vec::new();
            for part in fields.tables("parts")? {
                part.nothing_else(&[SHAPE_FIELDS.as_slice(), &["at"]].concat())?;
                let position = part.vector("at")?.unwrap_or_default();
                parts.push((Pose { position, ..Pose::IDENTITY }, read_shape(&part)?));
            }
            ColliderShape::Compound { parts }
        }
        other => return Err(fields.expected("shape", SHAPES, other)),
    })
}

/// Names that entities have anyway.
const RESERVED: [&str; 21] = [
    "id",
    "kind",
    "position",
    "velocity",
    "spin",
    "yaw",
    "facing",
    "rotation",
    "owner",
    "parent",
    "private",
    "avatar",
    "name",
    "input",
    "alive",
    "player",
    "mass",
    "scale",
    "asleep",
    "tags",
    "is_program",
];

const TYPES: &str = "\"bool\", \"text\", \"entity\", \"vector\", \"u8\" to \"i64\", \"f32\", \"f64\", \"any\", each with `?` behind it when it may be nil, or { \"f32\", min =, max =, step =, default = }";

fn read_attributes(fields: &Fields<'_>) -> Declared<(Attributes, BTreeMap<String, Special>)> {
    let mut names = fields.names();
    // The order in which a table is visited is none that an author wrote, and clients are told the order.
    names.sort_unstable();
    let mut schema = String::new();
    let mut defaults = Vec::new();
    let mut specials = BTreeMap::new();
    let mut formerly = Vec::new();
    for name in &names {
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!("{}: `{name}` is no name: letters, digits and `_`", fields.path));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(format!("{}: every entity has `{name}`; choose another name", fields.path));
        }
        let AttributeType { ty, default, special, formerly: former } = read_type(fields, name)?;
        specials.extend(special.map(|special| (name.clone(), special)));
        schema.push_str(&format!("{name}: {ty}, "));
        defaults.extend(default.map(|default| (name.clone(), default)));
        formerly.extend(former.into_iter().map(|former| (name.clone(), former)));
    }
    let place = |error: nowcast_world::DefinitionError| format!("{}: {error}", fields.path);
    let mut attributes = Attributes::parse(&schema).map_err(place)?;
    for (name, default) in defaults {
        attributes = attributes.with_default(&name, default).map_err(place)?;
    }
    for (name, former) in formerly {
        attributes = attributes.with_former_name(&name, &former).map_err(place)?;
    }
    Ok((attributes, specials))
}

/// What is declared of one attribute.
struct AttributeType {
    /// As the wire format's schemas write it.
    ty: String,
    default: Option<Value>,
    special: Option<Special>,
    /// What it was called in earlier versions.
    formerly: Vec<String>,
}

fn read_type(fields: &Fields<'_>, name: &str) -> Declared<AttributeType> {
    let wrong = |found: &str| fields.expected(name, TYPES, found);
    match fields.luau(name)? {
        Luau::String(text) => {
            let text = text.to_string_lossy();
            let ty = type_of(&text).ok_or_else(|| wrong(&format!("\"{text}\"")))?;
            Ok(AttributeType { ty, default: None, special: special_of(&text), formerly: Vec::new() })
        }
        Luau::Table(table) => {
            let inner = Fields::of(&table, &format!("{}.{name}", fields.path));
            let ty: String =
                table.raw_get(1).map_err(|_| wrong("a table that does not begin with a type"))?;
            let mut written = type_of(&ty).ok_or_else(|| wrong(&format!("\"{ty}\"")))?;
            let bounds = (inner.double("min")?, inner.double("max")?, inner.double("step")?);
            if let (Some(min), Some(max), step) = bounds {
                let step = step.unwrap_or((max - min) / 65_535.0);
                let makes_sense = min < max && step > 0.0 && step <= max - min && (max - min) / step < 4.2e9;
                if !makes_sense {
                    return Err(format!(
                        "{}: `min` is less than `max`, and `step` is more than 0 and fits between them; here they are {min}, \
                         {max} and {step}",
                        inner.path
                    ));
                }
                written = format!("range({min}, {max}, {step})");
            } else if bounds.0.is_some() || bounds.1.is_some() || bounds.2.is_some() {
                return Err(format!("{}: `min` and `max` go together, `step` beside them", inner.path));
            }
            inner.nothing_else(&["min", "max", "step", "default", "formerly"])?;
            let default = Some(inner.value("default")?).filter(|default| !matches!(default, Value::Nil));
            let formerly = inner.names_of("formerly")?;
            Ok(AttributeType { ty: written, default, special: special_of(&ty), formerly })
        }
        other => Err(wrong(other.type_name())),
    }
}

fn type_of(text: &str) -> Option<String> {
    let (plain, optional) = text.strip_suffix('?').map_or((text, ""), |plain| (plain, "?"));
    let written = match plain {
        "bool" | "u8" | "u16" | "u32" | "u64" | "i8" | "i16" | "i32" | "i64" | "f32" | "f64" | "text"
        | "any" => plain,
        "string" => "text",
        "number" => "f64",
        "boolean" => "bool",
        "entity" | "player" => "u32",
        "vector" => "[f32; 3]",
        _ => return None,
    };
    Some(format!("{written}{optional}"))
}

fn special_of(text: &str) -> Option<Special> {
    match text.trim_end_matches('?') {
        "entity" => Some(Special::Entity),
        "player" => Some(Special::Player),
        "vector" => Some(Special::Vector),
        _ => None,
    }
}
