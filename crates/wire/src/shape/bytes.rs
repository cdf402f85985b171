//! Encodes shapes as bytes, as defined in section 3 of the specification.

use super::{Definition, DefinitionKind, Field, NumberType, Range, Shape, Type, Variant, check};
use crate::any;
use crate::error::{ErrorKind, Result};
use crate::input::Input;
use crate::limits::{
    DEFINITIONS_MAX, DEPTH_MAX, FIELDS_MAX, Limits, NAME_BYTES_MAX, SHAPE_BYTES_MAX, VARIANTS_MAX,
};
use crate::output::put_varint;

/// The byte values that stand for types and definitions.
pub(crate) mod tag {
    pub(crate) const UNIT: u8 = 0x00;
    pub(crate) const BOOL: u8 = 0x01;
    pub(crate) const U8: u8 = 0x02;
    pub(crate) const F64: u8 = 0x0b;
    pub(crate) const UVAR: u8 = 0x0c;
    pub(crate) const IVAR: u8 = 0x0d;
    pub(crate) const TEXT: u8 = 0x0e;
    pub(crate) const BYTES: u8 = 0x0f;
    pub(crate) const ANY: u8 = 0x10;
    pub(crate) const OPTION: u8 = 0x18;
    pub(crate) const LIST: u8 = 0x19;
    pub(crate) const ARRAY: u8 = 0x1a;
    pub(crate) const MAP: u8 = 0x1b;
    pub(crate) const REF: u8 = 0x1c;
    pub(crate) const RANGE: u8 = 0x20;
    pub(crate) const QUAT: u8 = 0x21;
    pub(crate) const ANGLE: u8 = 0x22;
    pub(crate) const STRUCT: u8 = 0x30;
    pub(crate) const ENUM: u8 = 0x31;
}

/// Number types in the order of their byte values.
const NUMBERS: [NumberType; 10] = [
    NumberType::U8,
    NumberType::U16,
    NumberType::U32,
    NumberType::U64,
    NumberType::I8,
    NumberType::I16,
    NumberType::I32,
    NumberType::I64,
    NumberType::F32,
    NumberType::F64,
];

impl Shape {
    /// Returns the bytes that are announced and hashed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        put_type(&self.root, &mut out);
        put_varint(&mut out, self.definitions.len() as u64);
        for definition in &self.definitions {
            put_definition(definition, &mut out);
        }
        out
    }

    /// Reads and checks a shape from untrusted bytes.
    ///
    /// # Errors
    /// Fails if the bytes are not a shape, or if the shape exceeds the limits of shapes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut input = Input::new(bytes, 0, &Limits::MESSAGE);
        if bytes.len() > SHAPE_BYTES_MAX {
            return Err(input.error(ErrorKind::TooMany { what: "bytes in a shape", max: SHAPE_BYTES_MAX }));
        }
        let root = take_type(&mut input, 0)?;
        let count = take_count(&mut input, "definitions in a shape", DEFINITIONS_MAX)?;
        let definitions: Result<Vec<Definition>> = (0..count).map(|_| take_definition(&mut input)).collect();
        let shape = Self { root, definitions: definitions? };
        input.end()?;
        check::check(&shape).map_err(|kind| input.error(kind))?;
        Ok(shape)
    }
}

fn put_name(name: &str, out: &mut Vec<u8>) {
    put_varint(out, name.len() as u64);
    out.extend_from_slice(name.as_bytes());
}

fn put_definition(definition: &Definition, out: &mut Vec<u8>) {
    let tag = match definition.kind {
        DefinitionKind::Struct(_) => tag::STRUCT,
        DefinitionKind::Enum(_) => tag::ENUM,
    };
    out.push(tag);
    put_name(&definition.name, out);
    match &definition.kind {
        DefinitionKind::Struct(fields) => put_fields(fields, out),
        DefinitionKind::Enum(variants) => {
            put_varint(out, variants.len() as u64);
            for variant in variants {
                put_name(&variant.name, out);
                put_fields(&variant.fields, out);
            }
        }
    }
}

fn put_fields(fields: &[Field], out: &mut Vec<u8>) {
    put_varint(out, fields.len() as u64);
    for field in fields {
        put_name(&field.name, out);
        put_type(&field.ty, out);
        let default = field.default.as_ref().map(any::to_vec).unwrap_or_default();
        put_varint(out, default.len() as u64);
        out.extend_from_slice(&default);
    }
}

fn put_type(ty: &Type, out: &mut Vec<u8>) {
    match ty {
        Type::Unit => out.push(tag::UNIT),
        Type::Bool => out.push(tag::BOOL),
        Type::Number(number) => out.push(tag::U8 + *number as u8),
        Type::Uvar => out.push(tag::UVAR),
        Type::Ivar => out.push(tag::IVAR),
        Type::Text => out.push(tag::TEXT),
        Type::Bytes => out.push(tag::BYTES),
        Type::Any => out.push(tag::ANY),
        Type::Option(ty) => {
            out.push(tag::OPTION);
            put_type(ty, out);
        }
        Type::List(ty) => {
            out.push(tag::LIST);
            put_type(ty, out);
        }
        Type::Array(count, ty) => {
            out.push(tag::ARRAY);
            put_varint(out, u64::from(*count));
            put_type(ty, out);
        }
        Type::Map(key, value) => {
            out.push(tag::MAP);
            put_type(key, out);
            put_type(value, out);
        }
        Type::Ref(index) => {
            out.push(tag::REF);
            put_varint(out, u64::from(*index));
        }
        Type::Range(range) => {
            out.push(tag::RANGE);
            for bound in [range.low, range.high, range.step] {
                out.extend_from_slice(&bound.to_le_bytes());
            }
        }
        Type::Quat(bits) => out.extend([tag::QUAT, *bits]),
        Type::Angle(bits) => out.extend([tag::ANGLE, *bits]),
    }
}

fn take_count(input: &mut Input<'_>, what: &'static str, max: usize) -> Result<usize> {
    match input.count()? {
        count if count <= max => Ok(count),
        _ => Err(input.error(ErrorKind::TooMany { what, max })),
    }
}

fn take_name(input: &mut Input<'_>) -> Result<String> {
    let length = take_count(input, "bytes in a name", NAME_BYTES_MAX)?;
    let bytes = input.take(length)?;
    match std::str::from_utf8(bytes) {
        Ok(name) => Ok(name.to_owned()),
        Err(_) => Err(input.error(ErrorKind::Utf8)),
    }
}

fn take_definition(input: &mut Input<'_>) -> Result<Definition> {
    let byte = input.byte()?;
    let name = take_name(input)?;
    let kind = match byte {
        tag::STRUCT => DefinitionKind::Struct(take_fields(input)?),
        tag::ENUM => {
            let count = take_count(input, "variants in an enum", VARIANTS_MAX)?;
            if count == 0 {
                return Err(input.error(ErrorKind::Shape("an enum without variants")));
            }
            let variant =
                |input: &mut Input<'_>| Ok(Variant { name: take_name(input)?, fields: take_fields(input)? });
            DefinitionKind::Enum((0..count).map(|_| variant(input)).collect::<Result<_>>()?)
        }
        other => return Err(input.error(ErrorKind::ShapeType(other))),
    };
    Ok(Definition { name, kind })
}

fn take_fields(input: &mut Input<'_>) -> Result<Vec<Field>> {
    let count = take_count(input, "fields in a struct", FIELDS_MAX)?;
    (0..count).map(|_| take_field(input)).collect()
}

fn take_field(input: &mut Input<'_>) -> Result<Field> {
    let name = take_name(input)?;
    let ty = take_type(input, 0)?;
    let length = input.count()?;
    let bytes = input.take(length)?;
    let default = if length == 0 { None } else { Some(any::from_slice(bytes)?) };
    Ok(Field { name, ty, default, was: Vec::new() })
}

fn take_type(input: &mut Input<'_>, depth: usize) -> Result<Type> {
    if depth == DEPTH_MAX {
        return Err(input.error(ErrorKind::Depth { max: DEPTH_MAX }));
    }
    let boxed = |input: &mut Input<'_>| take_type(input, depth + 1).map(Box::new);
    Ok(match input.byte()? {
        tag::UNIT => Type::Unit,
        tag::BOOL => Type::Bool,
        byte @ tag::U8..=tag::F64 => Type::Number(NUMBERS[usize::from(byte - tag::U8)]),
        tag::UVAR => Type::Uvar,
        tag::IVAR => Type::Ivar,
        tag::TEXT => Type::Text,
        tag::BYTES => Type::Bytes,
        tag::ANY => Type::Any,
        tag::OPTION => Type::Option(boxed(input)?),
        tag::LIST => Type::List(boxed(input)?),
        tag::ARRAY => Type::Array(input.count()? as u32, boxed(input)?),
        tag::MAP => Type::Map(boxed(input)?, boxed(input)?),
        tag::REF => Type::Ref(input.count()? as u32),
        tag::RANGE => {
            let mut bound = || input.array::<8>().map(f64::from_le_bytes);
            Type::Range(Range { low: bound()?, high: bound()?, step: bound()? })
        }
        tag::QUAT => Type::Quat(input.byte()?),
        tag::ANGLE => Type::Angle(input.byte()?),
        other => return Err(input.error(ErrorKind::ShapeType(other))),
    })
}
