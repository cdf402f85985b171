//! Infers a shape from values, so that values can be written without a declared type.

use std::collections::HashMap;

use crate::any::Value;
use crate::shape::{Definition, DefinitionKind, Field, NumberType, Shape, Type};

/// An object with more keys than this is a map whose keys are data, and not a struct.
const FIELDS_OF_A_STRUCT_MAX: usize = 64;
/// If objects have more distinct keys than this number, and each object has only a few of these keys, the objects are maps.
const FIELDS_OF_SPARSE_STRUCTS_MAX: usize = 12;
/// Values that are nested deeper than this are written as values of any type. A level of a shape takes up to three levels of a
/// file, for a list or a struct and two options, and a file has at most 128.
const DEPTH_MAX: usize = 32;

/// Infers the shape of rows. The resulting type represents every row exactly, except that whole numbers become floats if they
/// occur among fractions.
///
/// ```
/// use nowcast_wire::{Value, infer};
///
/// let hero = Value::Map(vec![("name".into(), "Aveline".into()), ("gold".into(), 18_234.into())]);
/// assert_eq!(infer([&hero]).to_string(), "Root { name: text, gold: u16 }");
/// ```
pub fn infer<'v>(rows: impl IntoIterator<Item = &'v Value>) -> Shape {
    let mut guess = Guess::default();
    for row in rows {
        guess.see(row);
    }
    let mut definitions = Definitions::default();
    let root = definitions.resolve(&guess, "Root", 0);
    Shape { root, definitions: definitions.0 }
}

/// The values seen so far at one place.
#[derive(Debug, Default)]
struct Guess {
    nil: bool,
    kind: Kind,
}

#[derive(Debug, Default)]
enum Kind {
    #[default]
    Nothing,
    Bool,
    /// The least and the greatest integer.
    Integer(i64, u64),
    /// Only 32-bit floats. With other floats or with integers, the kind becomes `F64`.
    F32,
    F64,
    Text,
    Bytes,
    List(Box<Guess>),
    Object(Object),
    /// A map whose keys are not text.
    Map(Box<(Guess, Guess)>),
    Mixed,
}

#[derive(Debug, Default)]
struct Object {
    rows: usize,
    /// The name, the number of occurrences, and the values seen so far.
    fields: Vec<(String, usize, Guess)>,
    /// The index of each name in `fields`.
    indices: HashMap<String, usize>,
}

impl Guess {
    fn see(&mut self, value: &Value) {
        let kind = std::mem::take(&mut self.kind);
        self.kind = match (kind, value) {
            (kind, Value::Nil) => {
                self.nil = true;
                kind
            }
            (Kind::Nothing | Kind::Bool, Value::Bool(_)) => Kind::Bool,
            (Kind::Nothing | Kind::Text, Value::Text(_)) => Kind::Text,
            (Kind::Nothing | Kind::Bytes, Value::Bytes(_)) => Kind::Bytes,
            (kind, Value::Int(_) | Value::Uint(_) | Value::F32(_) | Value::F64(_)) => number(kind, value),
            (Kind::Nothing, Value::List(items)) => list(Box::default(), items),
            (Kind::List(guess), Value::List(items)) => list(guess, items),
            (Kind::Nothing, Value::Map(pairs)) if are_fields(pairs) => object(Object::default(), pairs),
            (Kind::Object(known), Value::Map(pairs)) if are_fields(pairs) => object(known, pairs),
            (Kind::Nothing, Value::Map(pairs)) => map(Box::default(), pairs),
            (Kind::Map(guesses), Value::Map(pairs)) => map(guesses, pairs),
            _ => Kind::Mixed,
        };
    }

    fn merge(&mut self, other: &Self) {
        self.nil |= other.nil;
        let kind = std::mem::take(&mut self.kind);
        self.kind = match (kind, &other.kind) {
            (kind, Kind::Nothing) => kind,
            (Kind::Bool, Kind::Bool) => Kind::Bool,
            (Kind::Text, Kind::Text) => Kind::Text,
            (Kind::Bytes, Kind::Bytes) => Kind::Bytes,
            (Kind::F64, Kind::F64) => Kind::F64,
            (Kind::F32, Kind::F32) => Kind::F32,
            (Kind::Integer(low, high), Kind::Integer(other_low, other_high)) => {
                Kind::Integer(low.min(*other_low), high.max(*other_high))
            }
            _ => Kind::Mixed,
        };
    }
}

fn number(kind: Kind, value: &Value) -> Kind {
    const EXACT: u64 = 1 << 53;
    let exact = |low: i64, high: u64| low >= -(EXACT as i64) && high <= EXACT;
    let (low, high) = match value {
        Value::Int(value) => (*value, u64::try_from(*value).unwrap_or(0)),
        Value::Uint(value) => (0, *value),
        Value::F32(_) => {
            return match kind {
                Kind::Nothing | Kind::F32 => Kind::F32,
                Kind::F64 => Kind::F64,
                Kind::Integer(low, high) if exact(low, high) => Kind::F64,
                _ => Kind::Mixed,
            };
        }
        _ => {
            return match kind {
                Kind::Nothing | Kind::F32 | Kind::F64 => Kind::F64,
                Kind::Integer(low, high) if exact(low, high) => Kind::F64,
                _ => Kind::Mixed,
            };
        }
    };
    match kind {
        Kind::Nothing => Kind::Integer(low, high),
        Kind::Integer(least, greatest) => Kind::Integer(least.min(low), greatest.max(high)),
        Kind::F32 | Kind::F64 if exact(low, high) => Kind::F64,
        _ => Kind::Mixed,
    }
}

fn list(mut guess: Box<Guess>, items: &[Value]) -> Kind {
    items.iter().for_each(|item| guess.see(item));
    Kind::List(guess)
}

fn map(mut guesses: Box<(Guess, Guess)>, pairs: &[(Value, Value)]) -> Kind {
    for (key, value) in pairs {
        guesses.0.see(key);
        guesses.1.see(value);
    }
    Kind::Map(guesses)
}

/// Whether all keys can be names of fields. Such a key is a text, has an allowed length, and occurs only once.
fn are_fields(pairs: &[(Value, Value)]) -> bool {
    let mut names = std::collections::BTreeSet::new();
    pairs.iter().all(|(key, _)| {
        key.as_text().is_some_and(|name| name.len() <= crate::limits::NAME_BYTES_MAX && names.insert(name))
    })
}

fn object(mut object: Object, pairs: &[(Value, Value)]) -> Kind {
    object.rows += 1;
    for (index, (key, value)) in pairs.iter().enumerate() {
        let name = key.as_text().unwrap_or_default();
        let known = match object.fields.get(index) {
            Some((known, ..)) if known == name => Some(index),
            _ => object.indices.get(name).copied(),
        };
        let index = known.unwrap_or_else(|| {
            object.indices.insert(name.to_owned(), object.fields.len());
            object.fields.push((name.to_owned(), 0, Guess::default()));
            object.fields.len() - 1
        });
        let (_, seen, guess) = &mut object.fields[index];
        *seen += 1;
        guess.see(value);
    }
    Kind::Object(object)
}

impl Object {
    /// Whether the keys are data, and not names of fields.
    fn is_map(&self) -> bool {
        let seen: usize = self.fields.iter().map(|(_, seen, _)| seen).sum();
        let sparse = seen * 4 < self.fields.len() * self.rows;
        self.fields.len() > FIELDS_OF_A_STRUCT_MAX
            || sparse && self.fields.len() > FIELDS_OF_SPARSE_STRUCTS_MAX
    }
}

#[derive(Default)]
struct Definitions(Vec<Definition>);

impl Definitions {
    fn resolve(&mut self, guess: &Guess, name: &str, depth: usize) -> Type {
        let mut below = |guess: &Guess| Box::new(self.resolve(guess, name, depth + 1));
        let ty = match &guess.kind {
            // Only nil was seen. The unit is read back as nil.
            Kind::Nothing => return Type::Unit,
            // Nil is a value of MessagePack, so no option is needed.
            Kind::Mixed => return Type::Any,
            Kind::List(_) | Kind::Map(_) | Kind::Object(_) if depth == DEPTH_MAX => return Type::Any,
            Kind::Bool => Type::Bool,
            Kind::Integer(low, high) => integer_type(*low, *high),
            Kind::F32 => Type::Number(NumberType::F32),
            Kind::F64 => Type::Number(NumberType::F64),
            Kind::Text => Type::Text,
            Kind::Bytes => Type::Bytes,
            Kind::List(guess) => Type::List(below(guess)),
            Kind::Map(guesses) => Type::Map(below(&guesses.0), below(&guesses.1)),
            Kind::Object(object) if object.is_map() => {
                let mut all = Guess::default();
                object.fields.iter().for_each(|(_, _, guess)| all.merge(guess));
                Type::Map(Box::new(Type::Text), below(&all))
            }
            Kind::Object(object) => self.define(object, name, depth),
        };
        if guess.nil { Type::Option(Box::new(ty)) } else { ty }
    }

    fn define(&mut self, object: &Object, name: &str, depth: usize) -> Type {
        let index = self.0.len();
        let placeholder = Definition { name: type_name(name), kind: DefinitionKind::Struct(Vec::new()) };
        self.0.push(placeholder);
        let mut fields = Vec::with_capacity(object.fields.len());
        for (name, seen, guess) in &object.fields {
            let mut ty = self.resolve(guess, name, depth + 1);
            if *seen < object.rows {
                // A missing key differs from a key whose value is nil, so the field needs a second option.
                if !matches!(ty, Type::Option(_)) {
                    ty = Type::Option(Box::new(ty));
                }
                ty = Type::Option(Box::new(ty));
            }
            fields.push(Field::new(name, ty));
        }
        self.0[index].kind = DefinitionKind::Struct(fields);
        Type::Ref(index as u32)
    }
}

fn integer_type(low: i64, high: u64) -> Type {
    let unsigned = [NumberType::U8, NumberType::U16, NumberType::U32, NumberType::U64];
    let signed = [NumberType::I8, NumberType::I16, NumberType::I32, NumberType::I64];
    let fits = |bits: u32| if low >= 0 { high >> (bits - 1) >> 1 == 0 } else { fits_signed(low, high, bits) };
    let number = match (0..4).find(|index| fits(8 << index)) {
        Some(index) if low >= 0 => unsigned[index],
        Some(index) => signed[index],
        None => return Type::Any,
    };
    Type::Number(number)
}

fn fits_signed(low: i64, high: u64, bits: u32) -> bool {
    let limit = 1u64 << (bits - 1);
    low.unsigned_abs() <= limit && high < limit
}

/// Makes the name of a type, such as `LightColor` from `light_color`.
fn type_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    let mut name: String = words.map(capital).collect();
    while name.len() > crate::limits::NAME_BYTES_MAX {
        name.pop();
    }
    // An empty name would make the struct a tuple.
    if name.is_empty() { "Object".to_owned() } else { name }
}
