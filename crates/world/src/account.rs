//! Accounts: who a player is on every visit, and the data that follows an account.

use nowcast_wire::{Value, Wire};

use crate::conform::held_bytes;

/// Maximum bytes of an account's name.
pub const ACCOUNT_BYTES_MAX: usize = 96;

/// Maximum bytes of an account's data, as MessagePack.
pub const SAVED_BYTES_MAX: usize = 64 << 10;

/// The data of an account in one world. It follows the account through visits and rooms.
///
/// A host passes the stored data with [`crate::Command::Join`], and stores the data that
/// [`crate::World::take_saved`] returns.
#[derive(Clone, PartialEq, Debug, Default, Wire)]
pub struct SavedData {
    /// The version of the data's format, as the rules declare it.
    pub version: u32,
    /// Grows by one with each change; 0 before the first.
    pub revision: u64,
    /// The data.
    pub value: Value,
}

impl SavedData {
    /// Approximate size in memory; an upper bound of the bytes that a store writes.
    pub fn memory_bytes(&self) -> usize {
        size_of::<SavedData>() + held_bytes(&self.value)
    }
}

/// Whether a text can be the name of an account: 1 to [`ACCOUNT_BYTES_MAX`] bytes without control characters, and no `#` at
/// its beginning.
pub fn is_account(name: &str) -> bool {
    (1..=ACCOUNT_BYTES_MAX).contains(&name.len())
        && !name.starts_with('#')
        && !name.chars().any(char::is_control)
}
