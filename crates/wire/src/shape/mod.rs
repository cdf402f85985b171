//! Shapes: the layout of a type's rows, as data that can be sent.

mod build;
mod bytes;
mod check;

use std::fmt;

pub use build::ShapeBuilder;
pub(crate) use check::is_tuple;

use crate::any::Value;

/// The layout of a type: a root type, and the structs and enums that it refers to.
///
/// ```
/// use nowcast_wire::{Shape, Wire};
///
/// #[derive(Wire)]
/// struct Chat { text: String, num: u8 }
///
/// let shape = Shape::of::<Chat>();
/// let received = Shape::from_bytes(&shape.to_bytes())?;
/// assert_eq!(shape, received);
/// assert_eq!(shape.to_string(), "Chat { text: text, num: u8 }");
/// # Ok::<(), nowcast_wire::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// The type of a message with this shape.
    pub root: Type,
    /// The structs and enums that `root` refers to, in the order of a depth-first walk.
    pub definitions: Vec<Definition>,
}

/// A type of values.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// A type with a single, empty value.
    Unit,
    /// A truth value.
    Bool,
    /// A number of fixed width.
    Number(NumberType),
    /// An unsigned number that takes fewer bytes when it is small.
    Uvar,
    /// A signed number that takes fewer bytes when it is near zero.
    Ivar,
    /// UTF-8 text.
    Text,
    /// Raw bytes.
    Bytes,
    /// One MessagePack value.
    Any,
    /// A value, or no value.
    Option(Box<Type>),
    /// Any number of values.
    List(Box<Type>),
    /// Exactly this number of values.
    Array(u32, Box<Type>),
    /// Pairs of key and value.
    Map(Box<Type>, Box<Type>),
    /// A struct or enum, as an index into the shape's definitions.
    Ref(u32),
    /// A number in steps.
    Range(Range),
    /// A unit quaternion, with this number of bits for each component.
    Quat(u8),
    /// An angle in radians, of 8 or 16 bits.
    Angle(u8),
}

/// A number of fixed width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum NumberType {
    U8,
    U16,
    U32,
    U64,
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

/// A number between two bounds, in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least value.
    pub low: f64,
    /// The greatest value.
    pub high: f64,
    /// The distance between neighbouring values.
    pub step: f64,
}

/// A struct or an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    /// The name, for people; empty for a tuple.
    pub name: String,
    /// A struct or an enum.
    pub kind: DefinitionKind,
}

/// The content of a definition.
#[derive(Clone, Debug, PartialEq)]
pub enum DefinitionKind {
    /// Fields in order.
    Struct(Vec<Field>),
    /// Variants in order.
    Enum(Vec<Variant>),
}

/// A field of a struct or variant.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name. Readers match fields by it.
    pub name: String,
    /// The type of its values.
    pub ty: Type,
    /// The default for generated readers if the field is missing; `None` if no default is stated.
    pub default: Option<Value>,
    /// Former names, by which a reader finds the field in values of earlier versions. The bytes of a shape do not have them.
    pub was: Vec<String>,
}

/// A variant of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The name. Readers match variants by it.
    pub name: String,
    /// The fields of its payload; empty for a plain name.
    pub fields: Vec<Field>,
}

impl Shape {
    /// Returns the hash by which two ends compare shapes. Equal hashes mean equal layouts.
    pub fn hash(&self) -> u64 {
        fnv1a(&self.to_bytes())
    }

    /// The fields of the root, if it is a struct.
    pub fn fields(&self) -> Option<&[Field]> {
        match &self.root {
            Type::Ref(index) => match &self.definitions[*index as usize].kind {
                DefinitionKind::Struct(fields) => Some(fields),
                DefinitionKind::Enum(_) => None,
            },
            _ => None,
        }
    }

    /// The definition that a type refers to.
    pub fn definition(&self, index: u32) -> &Definition {
        &self.definitions[index as usize]
    }

    /// Returns the type in schema notation.
    pub fn type_name(&self, ty: &Type) -> String {
        TypeName { shape: self, ty, nested: 0 }.to_string()
    }

    /// Returns the leaves of the flattened type, and whether the type is flat.
    pub(crate) fn census(&self, ty: &Type) -> Census {
        check::census(self, ty)
    }
}

/// The properties of a type that a block needs before its first leaf is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    pub(crate) leaves: usize,
    pub(crate) bits: usize,
    pub(crate) texts: usize,
    pub(crate) flat: bool,
}

/// Returns a hash of bytes: FNV-1a, 64 bits (Fowler, Noll, Vo). It does not resist deliberate collisions.
pub fn fnv1a<'b>(bytes: impl IntoIterator<Item = &'b u8>) -> u64 {
    bytes
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl NumberType {
    /// How many bytes a value takes.
    pub fn width(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// The name, as in the specification.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TypeName { shape: self, ty: &self.root, nested: 1 }.fmt(f)
    }
}

/// Writes the name of a type. Structs of the first `nested` levels are written with their fields, deeper ones by their names.
struct TypeName<'s> {
    shape: &'s Shape,
    ty: &'s Type,
    nested: usize,
}

impl fmt::Display for TypeName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = |ty| TypeName { shape: self.shape, ty, nested: self.nested };
        match self.ty {
            Type::Unit => f.write_str("unit"),
            Type::Bool => f.write_str("bool"),
            Type::Number(number) => f.write_str(number.name()),
            Type::Uvar => f.write_str("uvar"),
            Type::Ivar => f.write_str("ivar"),
            Type::Text => f.write_str("text"),
            Type::Bytes => f.write_str("bytes"),
            Type::Any => f.write_str("any"),
            Type::Option(ty) => write!(f, "{}?", inner(ty)),
            Type::List(ty) => write!(f, "[{}]", inner(ty)),
            Type::Array(count, ty) => write!(f, "[{}; {count}]", inner(ty)),
            Type::Map(key, value) => write!(f, "{{{}: {}}}", inner(key), inner(value)),
            Type::Range(Range { low, high, step }) => write!(f, "range({low}, {high}, {step})"),
            Type::Quat(bits) => write!(f, "quat({bits})"),
            Type::Angle(bits) => write!(f, "angle({bits})"),
            Type::Ref(index) => self.definition(f, self.shape.definition(*index)),
        }
    }
}

impl TypeName<'_> {
    fn definition(&self, f: &mut fmt::Formatter<'_>, definition: &Definition) -> fmt::Result {
        let tuple = definition.name.is_empty();
        match &definition.kind {
            _ if self.nested == 0 && !tuple => f.write_str(&definition.name),
            DefinitionKind::Struct(fields) => {
                if !tuple {
                    write!(f, "{} ", definition.name)?;
                }
                self.fields(f, fields)
            }
            DefinitionKind::Enum(variants) => {
                for (index, variant) in variants.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " | " })?;
                    f.write_str(&variant.name)?;
                    if !variant.fields.is_empty() {
                        f.write_str(" ")?;
                        self.fields(f, &variant.fields)?;
                    }
                }
                Ok(())
            }
        }
    }

    fn fields(&self, f: &mut fmt::Formatter<'_>, fields: &[Field]) -> fmt::Result {
        f.write_str("{")?;
        for (index, field) in fields.iter().enumerate() {
            let ty = TypeName { shape: self.shape, ty: &field.ty, nested: self.nested.saturating_sub(1) };
            write!(f, "{} {}: {ty}", if index == 0 { "" } else { "," }, field.name)?;
        }
        f.write_str(" }")
    }
}
