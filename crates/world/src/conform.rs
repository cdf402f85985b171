//! Converts dynamic values to a type: checked, bounded, and quantised as every reader receives them.

use nowcast_wire::quantise::{SmallestThree, dequantise_angle, quantise_angle};
use nowcast_wire::shape::{DefinitionKind, NumberType, Type};
use nowcast_wire::{Shape, Value};

use crate::limits::VALUE_DEPTH_MAX;

/// A value that does not fit its type. The caller that passed the value is at fault.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{expected} is expected, not {found}", if .field.is_empty() { String::new() } else { format!("{field}: ") })]
pub struct MisfitError {
    /// The path of the field, as in `target.x`; empty for the value itself.
    pub field: String,
    /// The type that would fit.
    pub expected: String,
    /// The value that was found.
    pub found: String,
}

impl MisfitError {
    pub(crate) fn new(expected: impl Into<String>, found: impl Into<String>) -> MisfitError {
        MisfitError { field: String::new(), expected: expected.into(), found: found.into() }
    }

    pub(crate) fn inside(self, outer: &str) -> MisfitError {
        let field = if self.field.is_empty() { outer.to_owned() } else { format!("{outer}.{}", self.field) };
        MisfitError { field, ..self }
    }
}

/// The treatment of a number outside its range.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OutOfRange {
    /// Takes the nearest value in the range.
    #[default]
    Clamp,
    /// Returns an error.
    Refuse,
}

/// Converts `value` to its stored form of type `ty`.
pub(crate) fn conform(
    shape: &Shape,
    ty: &Type,
    out_of_range: OutOfRange,
    bytes_max: usize,
    value: &Value,
) -> Result<Value, MisfitError> {
    Conform { shape, out_of_range, bytes_left: bytes_max }.value(ty, value, 0)
}

/// Checks a dynamic value of any type against the limits of depth and size.
pub(crate) fn bounded(value: &Value, bytes_max: usize) -> Result<(), MisfitError> {
    if !is_shallow(value, VALUE_DEPTH_MAX) {
        return Err(MisfitError::new(format!("a value at most {VALUE_DEPTH_MAX} deep"), "a deeper one"));
    }
    // Most values are small, and this estimate is enough for them.
    if bytes_at_most(value) <= bytes_max {
        return Ok(());
    }
    let bytes = nowcast_wire::any::to_vec(value).len();
    if bytes > bytes_max {
        return Err(MisfitError::new(format!("at most {bytes_max} bytes"), format!("{bytes}")));
    }
    Ok(())
}

/// An upper bound of the MessagePack size, because headers are counted with their maximum length.
fn bytes_at_most(value: &Value) -> usize {
    match value {
        Value::Nil | Value::Bool(_) => 1,
        Value::F32(_) => 5,
        Value::Int(_) | Value::Uint(_) | Value::F64(_) => 9,
        Value::Text(text) => 5 + text.len(),
        Value::Bytes(bytes) => 5 + bytes.len(),
        Value::List(items) => 5 + items.iter().map(bytes_at_most).sum::<usize>(),
        Value::Map(pairs) => {
            5 + pairs.iter().map(|(key, value)| bytes_at_most(key) + bytes_at_most(value)).sum::<usize>()
        }
        Value::Time(..) => 15,
        Value::Ext(_, bytes) => 6 + bytes.len(),
    }
}

/// Heap memory of a value, in bytes.
pub(crate) fn held_bytes(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) | Value::Ext(_, bytes) => bytes.len(),
        Value::List(list) => list.iter().map(|value| size_of::<Value>() + held_bytes(value)).sum(),
        Value::Map(pairs) => pairs
            .iter()
            .map(|(key, value)| size_of::<(Value, Value)>() + held_bytes(key) + held_bytes(value))
            .sum(),
        _ => 0,
    }
}

/// Whether a value has at most this many levels.
pub fn is_shallow(value: &Value, depth_left: usize) -> bool {
    let Some(left) = depth_left.checked_sub(1) else { return false };
    match value {
        Value::List(items) => items.iter().all(|item| is_shallow(item, left)),
        Value::Map(pairs) => {
            pairs.iter().all(|(key, value)| is_shallow(key, left) && is_shallow(value, left))
        }
        _ => true,
    }
}

/// Returns the default value of a type. If the type has more parts than a value may have bytes, the result exceeds that
/// limit.
pub(crate) fn zero(shape: &Shape, ty: &Type) -> Value {
    let mut zero = Zero { shape, parts_left: crate::Limits::DEFAULT.value_bytes_max };
    zero.of(ty, VALUE_DEPTH_MAX)
}

/// A short declaration of nested arrays can make a huge value, so parts are counted.
struct Zero<'a> {
    shape: &'a Shape,
    parts_left: usize,
}

impl Zero<'_> {
    fn of(&mut self, ty: &Type, depth_left: usize) -> Value {
        let Some(left) = depth_left.checked_sub(1) else { return Value::Nil };
        match ty {
            Type::Unit | Type::Any | Type::Option(_) => Value::Nil,
            Type::Bool => Value::Bool(false),
            Type::Number(NumberType::F32) => Value::F32(0.0),
            Type::Number(NumberType::F64) | Type::Angle(_) => Value::F64(0.0),
            Type::Number(_) | Type::Uvar | Type::Ivar => Value::Int(0),
            Type::Text => Value::Text(String::new()),
            Type::Bytes => Value::Bytes(Vec::new()),
            Type::List(_) => Value::List(Vec::new()),
            Type::Array(count, inner) => {
                if !self.takes(*count as usize) {
                    return Value::Nil;
                }
                Value::List((0..*count).map(|_| self.of(inner, left)).collect())
            }
            Type::Map(..) => Value::Map(Vec::new()),
            Type::Range(range) => Value::F64(range.dequantise(range.quantise(0.0))),
            Type::Quat(_) => Value::List([0.0, 0.0, 0.0, 1.0].map(Value::F64).to_vec()),
            Type::Ref(index) => match &self.shape.definition(*index).kind {
                DefinitionKind::Struct(fields) => {
                    if !self.takes(fields.len()) {
                        return Value::Nil;
                    }
                    let field = |field: &nowcast_wire::shape::Field| {
                        let value = field.default.clone().unwrap_or_else(|| self.of(&field.ty, left));
                        (Value::Text(field.name.clone()), value)
                    };
                    Value::Map(fields.iter().map(field).collect())
                }
                DefinitionKind::Enum(variants) => {
                    variants.first().map_or(Value::Nil, |variant| Value::Text(variant.name.clone()))
                }
            },
        }
    }

    fn takes(&mut self, parts: usize) -> bool {
        let left = self.parts_left.checked_sub(parts);
        self.parts_left = left.unwrap_or(0);
        left.is_some()
    }
}

struct Conform<'a> {
    shape: &'a Shape,
    out_of_range: OutOfRange,
    bytes_left: usize,
}

impl Conform<'_> {
    fn value(&mut self, ty: &Type, value: &Value, depth: usize) -> Result<Value, MisfitError> {
        let misfit = || MisfitError::new(self.expected(ty), found(value));
        if depth > VALUE_DEPTH_MAX {
            return Err(MisfitError::new(format!("a value at most {VALUE_DEPTH_MAX} deep"), "a deeper one"));
        }
        Ok(match (ty, value) {
            (Type::Unit, Value::Nil) | (Type::Option(_), Value::Nil) => Value::Nil,
            (Type::Option(inner), value) => {
                return self.value(inner, value, depth + 1).map_err(|error| {
                    let or_nil = if error.field.is_empty() { " or nil" } else { "" };
                    MisfitError { expected: format!("{}{or_nil}", error.expected), ..error }
                });
            }
            (Type::Bool, Value::Bool(value)) => Value::Bool(*value),
            (Type::Number(number), value) => number_of(*number, value).ok_or_else(misfit)?,
            (Type::Uvar, value) => number_of(NumberType::U64, value).ok_or_else(misfit)?,
            (Type::Ivar, value) => number_of(NumberType::I64, value).ok_or_else(misfit)?,
            (Type::Text, Value::Text(text)) => {
                self.spend(text.len())?;
                Value::Text(text.clone())
            }
            (Type::Bytes, Value::Bytes(bytes)) => {
                self.spend(bytes.len())?;
                Value::Bytes(bytes.clone())
            }
            (Type::Any, value) => {
                bounded(value, self.bytes_left)?;
                self.spend(nowcast_wire::any::to_vec(value).len())?;
                value.clone()
            }
            (Type::Range(range), value) => {
                let number = value.as_f64().filter(|number| !number.is_nan()).ok_or_else(misfit)?;
                let kept = range.dequantise(range.quantise(number));
                // The last step may lie a little above the range. A value that was rounded to the last step must be accepted
                // again.
                let fits = (range.low..=range.high).contains(&number) || number == kept;
                if self.out_of_range == OutOfRange::Refuse && !fits {
                    return Err(MisfitError::new(self.expected(ty), number.to_string()));
                }
                Value::F64(kept)
            }
            (Type::Angle(bits), value) => {
                let radians = value.as_f64().filter(|number| number.is_finite()).ok_or_else(misfit)?;
                Value::F64(dequantise_angle(quantise_angle(radians, *bits), *bits))
            }
            (Type::Quat(bits), Value::List(items)) => {
                let parts: Vec<f64> =
                    items.iter().filter_map(Value::as_f64).filter(|part| part.is_finite()).collect();
                let quat =
                    <[f64; 4]>::try_from(parts).ok().filter(|_| items.len() == 4).ok_or_else(misfit)?;
                let quat = SmallestThree::from_quat(quat, *bits).to_quat(*bits);
                Value::List(quat.map(Value::F64).to_vec())
            }
            (Type::List(inner), Value::List(items)) => self.items(inner, items, depth)?,
            (Type::Array(count, inner), Value::List(items)) if items.len() == *count as usize => {
                self.items(inner, items, depth)?
            }
            (Type::Map(key, inner), Value::Map(pairs)) => {
                self.spend(pairs.len())?;
                let pairs = pairs.iter().map(|(name, value)| {
                    Ok((self.value(key, name, depth + 1)?, self.value(inner, value, depth + 1)?))
                });
                Value::Map(pairs.collect::<Result<_, MisfitError>>()?)
            }
            (Type::Ref(index), value) => return self.reference(*index, ty, value, depth),
            _ => return Err(misfit()),
        })
    }

    /// Describes a type for authors, with the bounds of numbers.
    fn expected(&self, ty: &Type) -> String {
        match ty {
            Type::Number(NumberType::F32 | NumberType::F64) => "a number that is finite".to_owned(),
            Type::Number(number) => {
                let (low, high) = bounds(*number);
                format!("a whole number from {low} to {high} ({})", number.name())
            }
            Type::Range(range) => format!("a number from {} to {}", range.low, range.high),
            Type::Bool => "true or false".to_owned(),
            Type::Text => "a text".to_owned(),
            Type::Array(3, inner) if **inner == Type::Number(NumberType::F32) => "a vector".to_owned(),
            other => self.shape.type_name(other),
        }
    }

    fn items(&mut self, inner: &Type, items: &[Value], depth: usize) -> Result<Value, MisfitError> {
        self.spend(items.len())?;
        let items = items.iter().enumerate().map(|(at, item)| {
            self.value(inner, item, depth + 1).map_err(|error| error.inside(&at.to_string()))
        });
        Ok(Value::List(items.collect::<Result<_, _>>()?))
    }

    fn reference(
        &mut self,
        index: u32,
        ty: &Type,
        value: &Value,
        depth: usize,
    ) -> Result<Value, MisfitError> {
        let shape = self.shape;
        let misfit = || MisfitError::new(shape.type_name(ty), found(value));
        match (&shape.definition(index).kind, value) {
            (DefinitionKind::Struct(fields), Value::Map(_)) => {
                self.spend(fields.len())?;
                let pairs = fields.iter().map(|field| {
                    let given = value.get(&field.name);
                    let value = match given.or(field.default.as_ref()) {
                        Some(value) => self.value(&field.ty, value, depth + 1),
                        None => self.value(&field.ty, &zero(shape, &field.ty), depth + 1),
                    };
                    Ok((Value::Text(field.name.clone()), value.map_err(|error| error.inside(&field.name))?))
                });
                Ok(Value::Map(pairs.collect::<Result<_, MisfitError>>()?))
            }
            (DefinitionKind::Enum(variants), Value::Text(name)) => variants
                .iter()
                .any(|variant| variant.name == *name && variant.fields.is_empty())
                .then(|| value.clone())
                .ok_or_else(misfit),
            _ => Err(misfit()),
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), MisfitError> {
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left =
            left.ok_or_else(|| MisfitError::new("a smaller value", "more bytes than one may have"))?;
        Ok(())
    }
}

fn number_of(number: NumberType, value: &Value) -> Option<Value> {
    match number {
        NumberType::F32 => value.as_f64().map(|v| v as f32).filter(|v| v.is_finite()).map(Value::F32),
        NumberType::F64 => value.as_f64().filter(|v| v.is_finite()).map(Value::F64),
        whole_number => {
            let (low, high) = bounds(whole_number);
            let whole = integer(value).filter(|whole| (low..=high).contains(whole))?;
            Some(i64::try_from(whole).map_or_else(|_| Value::Uint(whole as u64), Value::Int))
        }
    }
}

/// The minimum and maximum of an integer type.
fn bounds(number: NumberType) -> (i128, i128) {
    match number {
        NumberType::U8 => (0, u8::MAX.into()),
        NumberType::U16 => (0, u16::MAX.into()),
        NumberType::U32 => (0, u32::MAX.into()),
        NumberType::I8 => (i8::MIN.into(), i8::MAX.into()),
        NumberType::I16 => (i16::MIN.into(), i16::MAX.into()),
        NumberType::I32 => (i32::MIN.into(), i32::MAX.into()),
        NumberType::I64 => (i64::MIN.into(), i64::MAX.into()),
        NumberType::U64 | NumberType::F32 | NumberType::F64 => (0, u64::MAX.into()),
    }
}

/// Describes a value in an error: a number by itself, every other value by its type.
fn found(value: &Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::F32(value) => value.to_string(),
        Value::F64(value) => value.to_string(),
        Value::Bool(value) => value.to_string(),
        other => other.kind().to_owned(),
    }
}

/// Converts a value to an integer. Accepts floats without a fraction, because scripts have no other numbers.
fn integer(value: &Value) -> Option<i128> {
    match value {
        Value::Int(value) => Some((*value).into()),
        Value::Uint(value) => Some((*value).into()),
        Value::F32(_) | Value::F64(_) => {
            let number = value.as_f64()?;
            (number.is_finite() && number.abs() < 1e19 && number == libm::trunc(number))
                .then_some(number as i128)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::attributes::Attributes;

    #[test]
    fn values_of_the_wrong_type_are_refused_by_field_and_type() {
        let attributes = Attributes::parse("team: u8, at: [f32; 3], name: text, mood: u32?").unwrap();
        let refused = |index: usize, value: Value| attributes.conform(index, &value).unwrap_err().to_string();
        assert_eq!(
            refused(0, Value::Int(256)),
            "team: a whole number from 0 to 255 (u8) is expected, not 256"
        );
        assert_eq!(
            refused(0, Value::F64(1.5)),
            "team: a whole number from 0 to 255 (u8) is expected, not 1.5"
        );
        assert_eq!(
            refused(1, Value::List(vec![Value::F64(f64::NAN); 3])),
            "at.0: a number that is finite is expected, not NaN"
        );
        assert_eq!(refused(1, Value::List(vec![])), "at: a vector is expected, not list");
        assert!(refused(2, Value::Text("x".repeat(20_000))).contains("a smaller value"));
        assert_eq!(attributes.conform(0, &Value::F64(7.0)), Ok(Value::Int(7)));
        assert_eq!(attributes.conform(3, &Value::Nil), Ok(Value::Nil));
    }

    #[test]
    fn a_number_outside_its_range_is_clamped_or_refused_as_the_kind_declares() {
        let clamps = Attributes::parse("power: range(0, 1, 0.01)").unwrap();
        let refuses = clamps.clone().with_out_of_range(OutOfRange::Refuse);
        assert_eq!(clamps.conform(0, &Value::F64(9.0)), Ok(Value::F64(1.0)));
        assert!(refuses.conform(0, &Value::F64(9.0)).is_err());
        assert!(clamps.conform(0, &Value::F64(f64::NAN)).is_err(), "no number is near to that");
    }

    #[test]
    fn values_clamped_to_a_range_fit_again() {
        let refuses = Attributes::parse("power: range(0, 1, 0.10000001)").unwrap();
        let refuses = refuses.with_out_of_range(OutOfRange::Refuse);
        let kept = refuses.conform(0, &Value::F64(1.0)).unwrap();
        assert!(kept.as_f64().is_some_and(|kept| kept > 1.0), "ten steps end behind the range");
        assert_eq!(refuses.conform(0, &kept), Ok(kept));
    }

    #[test]
    fn arrays_of_arrays_that_no_value_can_hold_are_refused() {
        let nested = |depth: usize| "[".repeat(depth) + "u8" + &"; 60000]".repeat(depth);
        for depth in 1..=4 {
            assert!(Attributes::parse(&format!("all: {}", nested(depth))).is_err(), "{depth} deep");
        }
        assert!(Attributes::parse("all: [[u8; 100]; 100]").is_ok());
    }

    proptest! {
        #[test]
        fn stored_values_equal_those_read_from_the_wire(
            heat in -2.0f64..2.0, angle in -9.0f64..9.0, team in any::<u8>(), name in "\\PC{0,12}",
        ) {
            let attributes =
                Attributes::parse("heat: range(-1, 1, 0.01), angle: angle(16), team: u8, name: text").unwrap();
            let given = [
                Value::F64(heat),
                Value::F64(angle),
                Value::from(team),
                Value::Text(name),
            ];
            let names = ["heat", "angle", "team", "name"].map(Value::from);
            let kept = attributes.conform_map(&Value::Map(names.into_iter().zip(given).collect())).unwrap();
            let mut bytes = Vec::new();
            nowcast_wire::encode_value(attributes.shape(), &kept, nowcast_wire::Effort::Fast, &mut bytes).unwrap();
            prop_assert_eq!(nowcast_wire::decode_value(attributes.shape(), &bytes).unwrap(), kept.clone());
            prop_assert_eq!(attributes.conform_map(&kept).unwrap(), kept);
        }
    }
}
