//! The bytes in a batch of a journal. A cluster does not read them (`nowcast_cluster::Batch`).

use nowcast_store::AccountRecord;
use nowcast_wire::{Effort, Limits, Wire};
use nowcast_world::SavedData;

/// The version of the format, which is the first byte.
const VERSION: u8 = 1;

const LIMITS: Limits = Limits { memory_bytes_max: 256 << 20, ..Limits::MESSAGE };

/// Bytes before the body: the version, and a CRC-32 of the body.
const HEAD_BYTES: usize = 5;

/// The changes of a world between two steps.
#[derive(Wire, Clone, Debug, PartialEq)]
pub(crate) struct Envelope {
    /// The time at which the changes were recorded, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The output of [`nowcast_store::Batch::to_bytes`]; empty if only time has passed.
    pub(crate) bytes: Vec<u8>,
    /// The data of accounts that the changes caused.
    pub(crate) accounts: Vec<SavedAccount>,
}

/// The data of an account.
#[derive(Wire, Clone, Debug, PartialEq)]
pub(crate) struct SavedAccount {
    pub(crate) world: String,
    pub(crate) account: String,
    pub(crate) version: u32,
    pub(crate) revision: u64,
    /// The output of [`AccountRecord::value_bytes`].
    pub(crate) body: Vec<u8>,
}

impl SavedAccount {
    pub(crate) fn of(record: &AccountRecord) -> SavedAccount {
        SavedAccount {
            world: record.world.clone(),
            account: record.account.clone(),
            version: record.saved.version,
            revision: record.saved.revision,
            body: record.value_bytes(),
        }
    }

    /// Decodes the data. The error names the fault.
    pub(crate) fn read(&self) -> Result<SavedData, String> {
        let value = AccountRecord::read_value(&self.body)?;
        Ok(SavedData { version: self.version, revision: self.revision, value })
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        nowcast_wire::encode_with(self, Effort::Small, &mut bytes);
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<SavedAccount, String> {
        nowcast_wire::decode_with(bytes, &LIMITS).map_err(|error| error.to_string())
    }
}

impl Envelope {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION, 0, 0, 0, 0];
        nowcast_wire::encode_with(self, Effort::Small, &mut bytes);
        let checksum = crc32fast::hash(&bytes[HEAD_BYTES..]).to_le_bytes();
        bytes[1..HEAD_BYTES].copy_from_slice(&checksum);
        bytes
    }

    /// Decodes a batch. The error names the fault.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Envelope, String> {
        let Some((head, body)) = bytes.split_at_checked(HEAD_BYTES) else {
            return Err("it is cut off".to_owned());
        };
        if head[0] != VERSION {
            return Err(format!("it has version {}, and this program reads version {VERSION}", head[0]));
        }
        if head[1..] != crc32fast::hash(body).to_le_bytes() {
            return Err("its checksum is wrong".to_owned());
        }
        nowcast_wire::decode_with::<Envelope>(body, &LIMITS).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_read_back_and_damage_and_other_versions_are_named() {
        let account = SavedAccount {
            world: "park".into(),
            account: "ada".into(),
            version: 1,
            revision: 7,
            body: vec![1, 2],
        };
        let envelope = Envelope { time_ms: 1_700_000_000_000, bytes: vec![5; 40], accounts: vec![account] };
        let bytes = envelope.to_bytes();
        assert_eq!(Envelope::from_bytes(&bytes), Ok(envelope));
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 1;
            assert!(Envelope::from_bytes(&damaged).is_err(), "byte {place}");
            assert!(Envelope::from_bytes(&bytes[..place]).is_err(), "cut off after {place} bytes");
        }
        let newer = [&[9], &bytes[1..]].concat();
        assert!(Envelope::from_bytes(&newer).is_err_and(|error| error.contains("version 9")));
    }
}
