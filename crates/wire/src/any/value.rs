//! A value whose type is known only at run time.

/// A value of any type that MessagePack has.
///
/// Every integer has only one form, so that equal numbers are equal values: all integers up to `i64::MAX` are [`Int`](Self::Int).
/// Floats are equal if their bits are equal.
///
/// ```
/// use nowcast_wire::{any, Value};
///
/// let value = Value::Map(vec![("hp".into(), 87.into()), ("name".into(), "Aveline".into())]);
/// let bytes = any::to_vec(&value);
/// assert_eq!(any::from_slice(&bytes)?, value);
/// assert_eq!(value.get("hp"), Some(&Value::Int(87)));
/// # Ok::<(), nowcast_wire::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Nothing.
    #[default]
    Nil,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// An integer beyond `i64::MAX`.
    Uint(u64),
    /// A float of 32 bits.
    F32(f32),
    /// A float of 64 bits.
    F64(f64),
    /// Text.
    Text(String),
    /// Raw bytes.
    Bytes(Vec<u8>),
    /// A list.
    List(Vec<Value>),
    /// Pairs of key and value, in order. Keys may occur several times.
    Map(Vec<(Value, Value)>),
    /// A time: seconds since 1970, and nanoseconds below 10^9.
    Time(i64, u32),
    /// An application's own type and its bytes.
    Ext(i8, Vec<u8>),
}

impl Value {
    /// The first value under a text key of a map.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(pairs) => pairs
                .iter()
                .find(|(known, _)| matches!(known, Self::Text(known) if known == key))
                .map(|(_, value)| value),
            _ => None,
        }
    }

    /// Returns the text, if the value is a text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the number, possibly rounded, if the value is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Uint(value) => Some(*value as f64),
            Self::F32(value) => Some(f64::from(*value)),
            Self::F64(value) => Some(*value),
            _ => None,
        }
    }

    /// The kind of the value, for messages to people.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) => "integer",
            Self::F32(_) | Self::F64(_) => "float",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Time(..) => "time",
            Self::Ext(..) => "extension",
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Nil, Self::Nil) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Uint(a), Self::Uint(b)) => a == b,
            (Self::F32(a), Self::F32(b)) => a.to_bits() == b.to_bits(),
            (Self::F64(a), Self::F64(b)) => a.to_bits() == b.to_bits(),
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Map(a), Self::Map(b)) => a == b,
            (Self::Time(a, b), Self::Time(c, d)) => (a, b) == (c, d),
            (Self::Ext(a, b), Self::Ext(c, d)) => (a, b) == (c, d),
            _ => false,
        }
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Self::Uint(value), Self::Int)
    }
}

macro_rules! from {
    ($($type:ty => $variant:ident;)*) => {$(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool => Bool;
    u8 => Int;
    u16 => Int;
    u32 => Int;
    i8 => Int;
    i16 => Int;
    i32 => Int;
    i64 => Int;
    f32 => F32;
    f64 => F64;
    &str => Text;
    String => Text;
    Vec<u8> => Bytes;
    Vec<Value> => List;
    Vec<(Value, Value)> => Map;
}
