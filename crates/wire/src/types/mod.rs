//! Wire forms of the standard types.

mod adapt;
mod collections;
mod numbers;
mod option;
mod scalars;
mod text;
mod tuples;
mod variants;

pub use adapt::{Angle, Each, Quat, RangeOf, RangeSpec, Var};
pub(crate) use adapt::{read_quats, write_quats};
pub use variants::Variants;

pub(crate) use collections::Spans;
pub(crate) use numbers::{Numbers, read_leaf};
pub(crate) use option::{NONE, ranks};
pub(crate) use text::{read_bytes, write_bytes};
pub(crate) use variants::read_indices;

/// Either one value, without an allocation, or many.
#[derive(Debug)]
pub(crate) enum Values<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> Values<T> {
    pub(crate) const fn none() -> Self {
        Self::Many(Vec::new())
    }

    /// Makes the same value for all rows.
    pub(crate) fn repeated(value: T, rows: usize) -> Self
    where
        T: Clone,
    {
        if rows == 1 { Self::One(value) } else { Self::Many(vec![value; rows]) }
    }

    #[inline]
    pub(crate) fn slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }

    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&T> {
        match self {
            Self::One(value) => Some(value),
            Self::Many(values) => values.get(row),
        }
    }
}
