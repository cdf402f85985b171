//! Faults of a definition, with their places.

use std::fmt;

use crate::limits::NAME_BYTES_MAX;

/// A fault of a definition. The author of the world is at fault.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct DefinitionError {
    /// The path of the field, as in `kinds.ball.body.shape.radius`.
    pub path: String,
    /// The fault.
    pub problem: Problem,
}

impl DefinitionError {
    /// Prefixes the path of an error with its container.
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
        /// The minimum.
        min: f32,
        /// The maximum.
        max: f32,
    },
    /// Too few or too many elements.
    #[error("there are {count}, but between {min} and {max} are allowed")]
    Count {
        /// The number of elements.
        count: usize,
        /// The minimum.
        min: usize,
        /// The maximum.
        max: usize,
    },
    /// Any other fault.
    #[error("{0}")]
    Invalid(&'static str),
    /// The fault that the wire format found in a shape.
    #[error("{0}")]
    Shape(String),
}

/// A path in a definition. It is formatted only for an error.
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

/// Whether a text is a valid name.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control)
}
