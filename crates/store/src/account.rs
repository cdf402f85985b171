//! The stored data of accounts.

use nowcast_wire::{Effort, Limits as WireLimits, Value};
use nowcast_world::{SAVED_BYTES_MAX, SavedData};

/// Maximum number of stored accounts. The data of further accounts is lost, and counted.
pub const ACCOUNTS_MAX: u64 = 1 << 20;

/// The version of the format, which is the first byte.
const VERSION: u8 = 1;

const LIMITS: WireLimits = WireLimits { memory_bytes_max: 64 * SAVED_BYTES_MAX, ..WireLimits::MESSAGE };

/// The data of an account, stored in one transaction with the changes that caused it.
#[derive(Clone, PartialEq, Debug)]
pub struct AccountRecord {
    /// The world by its folder: rooms of one world share the data of accounts.
    pub world: String,
    /// The name of the account.
    pub account: String,
    /// The data.
    pub saved: SavedData,
}

impl AccountRecord {
    /// Returns the encoded value, without the version of the rules and the revision.
    pub fn value_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        nowcast_wire::encode_with(&self.saved.value, Effort::Small, &mut bytes);
        bytes
    }

    /// Reads the output of [`AccountRecord::value_bytes`]. The bytes are untrusted.
    ///
    /// # Errors
    /// Returns the fault of the bytes.
    pub fn read_value(bytes: &[u8]) -> Result<Value, String> {
        match bytes.split_first() {
            Some((&VERSION, body)) => {
                nowcast_wire::decode_with(body, &LIMITS).map_err(|error| error.to_string())
            }
            Some((version, _)) => {
                Err(format!("it has version {version}, and this program reads version {VERSION}"))
            }
            None => Err("it is empty".to_owned()),
        }
    }

    /// Returns the approximate size in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<AccountRecord>() + self.world.len() + self.account.len() + self.saved.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> AccountRecord {
        let items = Value::List(vec!["hat".into(), Value::Nil]);
        let value = Value::Map(vec![("coins".into(), 7.into()), ("items".into(), items)]);
        let saved = SavedData { value, ..SavedData::default() };
        AccountRecord { world: "park".into(), account: "ada".into(), saved }
    }

    #[test]
    fn a_value_is_read_back_unchanged_and_another_version_is_refused() {
        let mut bytes = record().value_bytes();
        assert_eq!(AccountRecord::read_value(&bytes), Ok(record().saved.value));
        bytes[0] = 9;
        assert!(AccountRecord::read_value(&bytes).is_err_and(|error| error.contains("version 9")));
        assert!(AccountRecord::read_value(&[]).is_err());
    }

    proptest! {
        #[test]
        fn a_damaged_value_never_panics(place in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<bool>()) {
            let mut bytes = record().value_bytes();
            let place = place.index(bytes.len());
            if cut { bytes.truncate(place) } else { bytes[place] ^= 1 << bit }
            let _ = AccountRecord::read_value(&bytes);
        }
    }
}
