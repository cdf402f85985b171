//! Names of worlds in a store.

use std::fmt;
use std::sync::Arc;

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// The name of a world: 1 to 64 bytes without control characters.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct WorldName(Arc<str>);

/// A text that is not a valid name of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the name of a world has 1 to {NAME_BYTES_MAX} bytes, and no control characters")]
pub struct NameError;

impl WorldName {
    /// Checks a name.
    ///
    /// # Errors
    /// Fails if the name is empty, too long, or has control characters.
    pub fn new(name: &str) -> Result<WorldName, NameError> {
        let is_good = (1..=NAME_BYTES_MAX).contains(&name.len()) && !name.chars().any(char::is_control);
        if is_good { Ok(WorldName(name.into())) } else { Err(NameError) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for WorldName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_and_can_be_printed() {
        assert!(WorldName::new("plaza").is_ok() && WorldName::new(&"x".repeat(64)).is_ok());
        for bad in ["", "a\nb", "\u{1b}[2J", &"x".repeat(65)] {
            assert_eq!(WorldName::new(bad), Err(NameError), "{bad:?}");
        }
    }
}
