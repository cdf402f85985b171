//! Faults of a definition, with their places.

use std::fmt;

use crate::limits::NAME_BYTES_MAX;

/// A mistake in a definition. It is the fault of whoever wrote the world.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct DefinitionError {
    /// Where, as in `kinds.ball.body.shape.radius`.
    pub path: String,
    /// The fault.
    pub problem: Problem,
}

impl DefinitionError {
    /// The same mistake, found inside of something.
    pub(crate) fn within(self, list: &str, name: &str) -> DefinitionError {
        DefinitionError { path: format!("{list}.{name}.{}", self.path), ..self }
    }
}

/// A fault of a definition.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum Problem {
    /// NaN or infinite.
    #[error("it is not a finite number")]
    NotFinite,
    /// A number outside of its bounds.
    #[error("{value} is outside {min}..{max}")]
    OutOfBounds {
        /// The refused value.
        value: f32,
        /// The least.
        min: f32,
        /// The greatest.
        max: f32,
    },
    /// Too few or too many of something.
    #[error("there are {count}, and there may be {min} to {max}")]
    Count {
        /// How many.
        count: usize,
        /// The fewest.
        min: usize,
        /// The most.
        max: usize,
    },
    /// Anything else.
    #[error("{0}")]
    Invalid(&'static str),
    /// The fault that the wire format found in a shape.
    #[error("{0}")]
    Shape(String),
}

/// Where in a definition something is, written down only when it is wrong.
#[derive(Clone, Copy, Default)]
pub(crate) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    name: &'a str,
    index: Option<usize>,
}

impl Path<'_> {
    pub(crate) fn field<'a>(&'a self, name: &'a str) -> Path<'a> {
        Path { parent: Some(self), name, index: None }
    }

    pub(crate) fn index<'a>(&'a self, name: &'a str, index: usize) -> Path<'a> {
        Path { parent: Some(self), name, index: Some(index) }
    }

    pub(crate) fn error(&self, problem: Problem) -> DefinitionError {
        DefinitionError { path: self.to_string(), problem }
    }

    pub(crate) fn within(&self, value: f32, min: f32, max: f32) -> Result<(), DefinitionError> {
        if !value.is_finite() {
            return Err(self.error(Problem::NotFinite));
        }
        if value < min || value > max {
            return Err(self.error(Problem::OutOfBounds { value, min, max }));
        }
        Ok(())
    }

    pub(crate) fn count(&self, count: usize, min: usize, max: usize) -> Result<(), DefinitionError> {
        if count < min || count > max {
            return Err(self.error(Problem::Count { count, min, max }));
        }
        Ok(())
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent.filter(|parent| parent.parent.is_some()) {
            write!(f, "{parent}.")?;
        }
        f.write_str(self.name)?;
        self.index.map_or(Ok(()), |index| write!(f, "[{index}]"))
    }
}

/// Whether something can be called so.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}
