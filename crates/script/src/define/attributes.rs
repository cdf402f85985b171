//! Declarations of attributes, action arguments and event fields.

use std::collections::BTreeMap;

use mlua::Value as Luau;
use nowcast_wire::shape::{Field, NumberType, Range, Type};
use nowcast_world::{Attributes, Value};

use super::Special;
use crate::fields::{Declared, Fields};

/// Names of fields that every entity has.
const RESERVED: [&str; 24] = [
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
    "is_on_ground",
    "look",
    "camera",
];

const TYPES: &str = "\"bool\", \"text\", \"entity\", \"vector\", \"u8\" to \"i64\", \"f32\", \"f64\", \"any\", each followed by `?` if it may be nil, or { \"f32\", min =, max =, step =, default = }";

/// Reads the attributes of a kind. Also returns those types that only Luau has. Attributes are fields of entities, so their
/// names must differ from the fields that every entity has.
pub(super) fn read_attributes(fields: &Fields<'_>) -> Declared<(Attributes, BTreeMap<String, Special>)> {
    match fields.names()?.into_iter().filter(|name| RESERVED.contains(&name.as_str())).min() {
        Some(name) => Err(format!("{}: every entity has `{name}`; choose another name", fields.path)),
        None => read_arguments(fields),
    }
}

/// Reads the arguments of an action or the fields of an event. Also returns those types that only Luau has.
pub(super) fn read_arguments(fields: &Fields<'_>) -> Declared<(Attributes, BTreeMap<String, Special>)> {
    let mut names = fields.names()?;
    // Tables do not preserve the order in which fields are written, but clients receive the fields in an order. So the
    // fields are sorted by name.
    names.sort_unstable();
    let mut types = Vec::new();
    let mut defaults = Vec::new();
    let mut specials = BTreeMap::new();
    let mut formerly = Vec::new();
    for name in &names {
        let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !is_word || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(format!(
                "{}: `{name}` is not a valid name: use letters, digits and `_`",
                fields.path
            ));
        }
        let AttributeType { ty, default, special, formerly: former } = read_type(fields, name)?;
        specials.extend(special.map(|special| (name.clone(), special)));
        types.push(Field::new(name, ty));
        defaults.extend(default.map(|default| (name.clone(), default)));
        formerly.extend(former.into_iter().map(|former| (name.clone(), former)));
    }
    let place = |error: nowcast_world::DefinitionError| format!("{}: {error}", fields.path);
    let mut attributes = Attributes::from_fields(types).map_err(place)?;
    for (name, default) in defaults {
        attributes = attributes.with_default(&name, default).map_err(place)?;
    }
    for (name, former) in formerly {
        attributes = attributes.with_former_name(&name, &former).map_err(place)?;
    }
    Ok((attributes, specials))
}

/// The declaration of one attribute.
struct AttributeType {
    ty: Type,
    default: Option<Value>,
    special: Option<Special>,
    /// The names of the attribute in earlier versions.
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
            // TypeScript has no tables with both an order and names, so the type may also have a name.
            let first: Luau = table.raw_get(1).map_err(|error| error.to_string())?;
            let ty = if first.is_nil() { inner.luau("type")? } else { first };
            let ty = ty.as_string().map(|text| text.to_string_lossy());
            let ty = ty.ok_or_else(|| wrong("a table that does not begin with a type"))?;
            let mut written = type_of(&ty).ok_or_else(|| wrong(&format!("\"{ty}\"")))?;
            if let Some(range) = read_range(&inner, &written, &ty)? {
                written = match written {
                    Type::Option(_) => Type::Option(Box::new(Type::Range(range))),
                    _ => Type::Range(range),
                };
            }
            inner.nothing_else(&["type", "min", "max", "step", "default", "formerly"])?;
            let default = Some(inner.value("default")?).filter(|default| !matches!(default, Value::Nil));
            let formerly = inner.names_of("formerly")?;
            Ok(AttributeType { ty: written, default, special: special_of(&ty), formerly })
        }
        other => Err(wrong(other.type_name())),
    }
}

/// Reads the bounds of a number, if it has any. Integers have whole numbers unless the bounds name another step.
fn read_range(fields: &Fields<'_>, written: &Type, name: &str) -> Declared<Option<Range>> {
    let (low, high, step) = match (fields.double("min")?, fields.double("max")?, fields.double("step")?) {
        (None, None, None) => return Ok(None),
        (Some(min), Some(max), step) => (min, max, step),
        _ => return Err(format!("{}: `min` and `max` go together, with `step`", fields.path)),
    };
    let number = match written {
        Type::Option(inner) => inner,
        other => other,
    };
    let default_step = match number {
        Type::Number(number) if special_of(name).is_none() => match number {
            NumberType::F32 | NumberType::F64 => {
                default_step(low, high, fields.double("default")?.unwrap_or(low))
            }
            _ => 1.0,
        },
        _ => return Err(format!("{}: only numbers have `min` and `max`, not \"{name}\"", fields.path)),
    };
    let step = step.unwrap_or(default_step);
    let makes_sense = low < high && step > 0.0 && step <= high - low && (high - low) / step < 4.2e9;
    if !makes_sense {
        return Err(format!(
            "{}: `min` is less than `max`, and `step` is more than 0 and fits between them; here they are {low}, {high} \
             and {step}",
            fields.path
        ));
    }
    Ok(Some(Range { low, high, step }))
}

/// Returns a step for a range without a step. A number then takes two bytes, and the upper end and the default are as near to a
/// step as two bytes allow. The lower end is always exact.
fn default_step(min: f64, max: f64, default: f64) -> f64 {
    const STEPS_MAX: u32 = 65_535;
    let step = |count: u32| (max - min) / f64::from(count);
    let error = |count: &u32| {
        let range = Range { low: min, high: max, step: step(*count) };
        let error = |value: f64| (range.dequantise(range.quantise(value)) - value).abs();
        error(max).max(error(default))
    };
    let counts = (STEPS_MAX / 2..=STEPS_MAX).rev();
    step(counts.min_by(|a, b| error(a).total_cmp(&error(b))).unwrap_or(STEPS_MAX))
}

fn type_of(text: &str) -> Option<Type> {
    if let Some(plain) = text.strip_suffix('?') {
        return Some(Type::Option(Box::new(plain_type_of(plain)?)));
    }
    plain_type_of(text)
}

fn plain_type_of(text: &str) -> Option<Type> {
    use NumberType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let numbers = [U8, U16, U32, U64, I8, I16, I32, I64, F32, F64];
    Some(match text {
        "bool" | "boolean" => Type::Bool,
        "text" | "string" => Type::Text,
        "any" => Type::Any,
        "number" => Type::Number(F64),
        "entity" | "player" => Type::Number(U32),
        "vector" => Type::Array(3, Box::new(Type::Number(F32))),
        _ => Type::Number(numbers.into_iter().find(|number| number.name() == text)?),
    })
}

fn special_of(text: &str) -> Option<Special> {
    match text.trim_end_matches('?') {
        "entity" => Some(Special::Entity),
        "player" => Some(Special::Player),
        "vector" => Some(Special::Vector),
        _ => None,
    }
}
