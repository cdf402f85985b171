//! Keys. Two messages with the same key are values of the same state.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// Identifies a piece of state. The newest value of a key replaces an undelivered older one.
///
/// Key 0 is special, as in the paper. It marks an event, which replaces nothing and is never replaced.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Key(u64);

impl Key {
    /// The key of events and commands.
    pub const EVENT: Key = Key(0);

    /// Makes the key of a piece of state.
    ///
    /// # Panics
    /// If `key` is 0, which marks events. Such a key is the program's mistake, not the input's. For untrusted
    /// numbers use [`Key::from_raw`].
    #[must_use]
    pub const fn state(key: u64) -> Key {
        assert!(key != 0, "key 0 marks events; a state needs a key of at least 1");
        Key(key)
    }

    /// Makes the key with this number; 0 is [`Key::EVENT`].
    #[must_use]
    pub const fn from_raw(key: u64) -> Key {
        Key(key)
    }

    /// Returns the number of this key.
    #[must_use]
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// Whether this key marks an event.
    #[must_use]
    pub const fn is_event(self) -> bool {
        self.0 == 0
    }
}

impl From<u64> for Key {
    fn from(key: u64) -> Self {
        Key::from_raw(key)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("event"),
            key => write!(f, "state {key}"),
        }
    }
}

/// A map by key, with a hash function that costs one multiplication.
///
/// The hash does not resist keys that were chosen to collide. Use the map only for keys that your own program chooses, such as
/// keys in its outgoing queue.
pub type KeyMap<T> = HashMap<Key, T, BuildHasherDefault<KeyHasher>>;

/// The hash function of [`KeyMap`].
#[derive(Default)]
pub struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        // Both halves of the product are mixed, because the map uses the low bits for its bucket and the high bits for its tag.
        let product = u128::from(self.0 ^ number) * 0x9E37_79B9_7F4A_7C15_u128;
        self.0 = (product as u64) ^ ((product >> 64) as u64);
    }
}
