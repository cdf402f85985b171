//! Converts between types and bytes. It is as easy as MessagePack, and as small as a hand-written packet.
//!
//! The one invariant: **reading has two steps.** First all columns of a body are opened and checked: every length, every code,
//! every character. Then values are read from the columns, and this step cannot fail.
//!
//! ```
//! use nowcast_wire::Wire;
//!
//! #[derive(Wire, Debug, PartialEq)]
//! struct Move {
//!     id: u32,
//!     position: [f64; 3],
//!     euler: [u8; 3],
//! }
//!
//! let moved = Move { id: 7, position: [1.0, 0.0, -3.25], euler: [0, 64, 0] };
//! let mut body = Vec::new();
//! nowcast_wire::encode(&moved, &mut body);
//! assert_eq!(body.len(), 4 + 3 * 8 + 3);
//! assert_eq!(nowcast_wire::decode::<Move>(&body)?, moved);
//! # Ok::<(), nowcast_wire::Error>(())
//! ```
//!
//! | to | use |
//! | --- | --- |
//! | write and read one known type | [`encode`], [`decode`] |
//! | send many types that other versions read | [`Sender`], [`Receiver`] |
//! | read the output of a known other version | [`Reader`] |
//! | handle values whose type is known only at run time | [`Value`], [`infer`](infer()), [`encode_value`], [`decode_value`] |
//! | describe types in a text | [`schema`] |
//! | save and load files | [`save`] |
//! | exchange values with any program | [`any`]: plain MessagePack |
//!
//! `spec/WIRE.md` specifies the format. The vectors in `spec/vectors/wire` bind this crate and every other implementation.

pub mod any;
mod column;
pub mod delta;
mod dynamic;
mod error;
mod input;
pub mod limits;
mod output;
mod plan;
pub mod quantise;
pub mod save;
pub mod schema;
mod scope;
pub mod shape;
mod types;
mod wire;

pub use any::Value;
pub use dynamic::{LeafSize, decode_value, decode_value_with, encode_value, infer};
pub use error::{Error, ErrorKind, Party, Result};
pub use limits::Limits;
pub use nowcast_wire_derive::Wire;
pub use output::Effort;
pub use scope::{Receiver, Sender};
pub use shape::{Shape, fnv1a};
pub use wire::{Read, ReadOwned, Wire};

use input::Input;
use output::Writer;
use plan::Resolution;
use wire::Column;

/// Items for derived code. They are not stable and must not be used elsewhere.
#[doc(hidden)]
pub mod derive {
    pub use crate::error::{Error, ErrorKind, Result};
    pub use crate::input::Input;
    pub use crate::output::Writer;
    pub use crate::plan::{PayloadPlan, Plan, Step, VariantStep};
    pub use crate::shape::{Field, Range, ShapeBuilder, Type, Variant};
    pub use crate::types::{Angle, Each, Quat, RangeOf, RangeSpec, Var, Variants};
    pub use crate::wire::{Adapt, Column, PayloadColumn, Read, ReadAdapt, Rows, Wire, open_payload};
}

/// Appends the body of a value.
///
/// # Panics
/// If the value is nested more than 128 deep.
pub fn encode<T: Wire>(value: &T, out: &mut Vec<u8>) {
    encode_with(value, Effort::Fast, out);
}

/// Appends the body of a value, with a choice between speed and size.
pub fn encode_with<T: Wire>(value: &T, effort: Effort, out: &mut Vec<u8>) {
    let flat = T::FLAT.then_some(T::TEXTS);
    Writer::new(out, effort)
        .body(flat, 1, T::BITS, |writer| T::write(std::slice::from_ref(value).iter(), writer));
}

/// The body of a value.
pub fn encode_to_vec<T: Wire>(value: &T) -> Vec<u8> {
    let mut out = Vec::new();
    encode(value, &mut out);
    out
}

/// Reads a body that exactly this type wrote. The value may borrow text and bytes from it.
///
/// # Errors
/// Fails if the bytes are not a body of this type, if bytes follow it, or if it exceeds the default limits.
pub fn decode<'de, T: Read<'de>>(body: &'de [u8]) -> Result<T> {
    decode_resolved(None, body, 0, &Limits::MESSAGE)
}

/// Reads a body that exactly this type wrote, within given limits.
///
/// # Errors
/// Fails if the bytes are not a body of this type, if bytes follow it, or if it exceeds the limits.
pub fn decode_with<'de, T: Read<'de>>(body: &'de [u8], limits: &Limits) -> Result<T> {
    decode_resolved(None, body, 0, limits)
}

/// Reads values that another version of the type wrote.
///
/// ```
/// use nowcast_wire::{Reader, Shape, Wire};
///
/// mod v1 {
///     #[derive(nowcast_wire::Wire)]
///     pub struct Player { pub name: String, pub level: u8, pub guild: String }
/// }
/// #[derive(Wire, Debug, PartialEq)]
/// struct Player { level: u32, name: String, gold: u64 }
///
/// let old = v1::Player { name: "Aveline".into(), level: 23, guild: "Foxes".into() };
/// let body = nowcast_wire::encode_to_vec(&old);
/// let reader = Reader::<Player>::new(Shape::of::<v1::Player>())?;
/// assert_eq!(reader.decode(&body)?, Player { level: 23, name: "Aveline".into(), gold: 0 });
/// # Ok::<(), nowcast_wire::Error>(())
/// ```
pub struct Reader<T> {
    resolution: Resolution,
    target: std::marker::PhantomData<fn() -> T>,
}

impl<T> std::fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").field("type", &std::any::type_name::<T>()).finish_non_exhaustive()
    }
}

impl<T: Wire> Reader<T> {
    /// Resolves the type against a writer's shape.
    ///
    /// # Errors
    /// Fails if types are incompatible, and names the first such field.
    pub fn new(writer: Shape) -> Result<Self> {
        let resolution = Resolution::new(writer, &Shape::of::<T>())?;
        Ok(Self { resolution, target: std::marker::PhantomData })
    }

    /// Reads a body of the writer's shape.
    ///
    /// # Errors
    /// Fails if the body does not have the writer's shape, or exceeds the default limits.
    pub fn decode<'de>(&self, body: &'de [u8]) -> Result<T>
    where
        T: Read<'de>,
    {
        decode_resolved(Some(&self.resolution), body, 0, &Limits::MESSAGE)
    }

    /// Reads a body of the writer's shape within given limits.
    ///
    /// # Errors
    /// Fails if the body does not have the writer's shape, or exceeds the limits.
    pub fn decode_with<'de>(&self, body: &'de [u8], limits: &Limits) -> Result<T>
    where
        T: Read<'de>,
    {
        decode_resolved(Some(&self.resolution), body, 0, limits)
    }
}

/// Reads a body whose first byte is at `origin` of the message.
pub(crate) fn decode_resolved<'de, T: Read<'de>>(
    resolution: Option<&Resolution>,
    body: &'de [u8],
    origin: usize,
    limits: &Limits,
) -> Result<T> {
    let plan = resolution.and_then(Resolution::plan);
    let (flat, texts, bits) = match resolution {
        None => (T::FLAT, T::TEXTS, T::BITS),
        Some(resolution) => {
            let census = resolution.layout.census(&resolution.layout.shape.root);
            (census.flat, census.texts, census.bits)
        }
    };
    let mut input = Input::new(body, origin, limits);
    if flat {
        input.begin_flat(texts);
        let column = input.block(1, bits, size_of::<T>(), |input| T::Column::open(plan, 1, input))?;
        let text = input.end_flat(texts)?;
        return Ok(column.get(0, text));
    }
    let text = input.begin_body()?;
    let column = input.block(1, bits, size_of::<T>(), |input| T::Column::open(plan, 1, input))?;
    input.end()?;
    Ok(column.get(0, text))
}
