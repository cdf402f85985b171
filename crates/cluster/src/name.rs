//! Names of rooms, servers and tags, and numbers that only grow.

use std::fmt;

use nowcast_wire::Wire;

/// The longest name, in bytes.
pub const NAME_BYTES_MAX: usize = 32;

/// The name of a room, a server or a tag: 1 to 32 of the characters `a` to `z`, `0` to `9`, `-` and `_`. These are also the
/// names of rooms in the world protocol, and they need no escape in subjects of NATS.
/// Zeros follow a shorter name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Wire)]
pub struct Name([u8; NAME_BYTES_MAX]);

/// A text that is not a valid name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a name has 1 to {NAME_BYTES_MAX} of the characters a-z, 0-9, '-' and '_'")]
pub struct NameError;

impl Name {
    /// Checks a name.
    ///
    /// # Errors
    /// Fails if the name is empty, too long, or has other characters.
    pub fn new(name: &str) -> Result<Name, NameError> {
        let is_valid = (1..=NAME_BYTES_MAX).contains(&name.len())
            && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'));
        if !is_valid {
            return Err(NameError);
        }
        let mut bytes = [0; NAME_BYTES_MAX];
        bytes[..name.len()].copy_from_slice(name.as_bytes());
        Ok(Name(bytes))
    }

    /// Whether the bytes that were read are a name.
    pub(crate) fn is_valid(&self) -> bool {
        Name::new(self.as_str()) == Ok(*self)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        let text = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        str::from_utf8(text).unwrap_or_default()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One run of a server: its name, and the number of its starts under this name. Each start takes the next number in the
/// directory by compare-and-set, so an ID never names two processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Wire)]
pub struct ServerId {
    /// The name that the operator gave.
    pub name: Name,
    /// The number of the start, from 1.
    pub incarnation: u64,
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.name, self.incarnation)
    }
}

impl fmt::Debug for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Wire)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl $name {
            /// The number after this one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }
    )*};
}

numbers! {
    /// The number of an ownership of a room. Each claim and each hand-over takes the next number, which no other owner ever
    /// gets.
    Epoch;
    /// The revision of an entry in a key-value bucket. An update states the revision that it replaces. The revision 0 is that
    /// of an entry that does not exist.
    Revision;
    /// The sequence of a message in a room's journal stream. An append states the last sequence of the stream. The sequence 0
    /// is that of an empty stream.
    Sequence;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn server(name: &str, incarnation: u64) -> ServerId {
        ServerId { name: Name::new(name).unwrap(), incarnation }
    }

    #[test]
    fn a_name_is_short_and_has_few_characters() {
        for name in ["plaza", "park-2", "a_b", &"x".repeat(NAME_BYTES_MAX)] {
            assert_eq!(Name::new(name).unwrap().as_str(), name);
        }
        for name in ["", "Plaza", "plaza.5", "a b", "é", "a*", "a>", &"x".repeat(NAME_BYTES_MAX + 1)] {
            assert_eq!(Name::new(name), Err(NameError), "{name}");
        }
    }
}
