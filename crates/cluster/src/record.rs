//! Records as bytes: a byte with the version, and the body of one value (`spec/WIRE.md`, section 4.1).

use nowcast_wire::{Limits, ReadOwned};

/// The version of the records and of the requests between servers.
const VERSION: u8 = 3;

/// The reason why bytes are not a record of this crate.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum RecordError {
    /// A newer or older program wrote the record.
    #[error(
        "it has version {found}, and this program reads version {VERSION}: run one release, or begin a new cluster"
    )]
    Version {
        /// The version of the record.
        found: u8,
    },
    /// The first byte of the record is the version of no format. A program other than Nowcast wrote it.
    #[error("it is not a record of Nowcast: another program wrote into this bucket or stream")]
    Foreign,
    /// The bytes do not have the record's shape.
    #[error("it is damaged: {0}")]
    Damaged(#[from] nowcast_wire::Error),
    /// A field has a value that no program writes.
    #[error("its field {field} is invalid")]
    Invalid {
        /// The field.
        field: &'static str,
    },
}

/// A record of the directory or of a journal, or a request between servers.
pub trait Record: ReadOwned {
    /// Checks the rules that the types of the fields do not express.
    ///
    /// # Errors
    /// Returns the field that breaks a rule.
    fn check(&self) -> Result<(), &'static str>;

    /// The bytes of the record.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        nowcast_wire::encode(self, &mut bytes);
        bytes
    }

    /// Reads a record. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault.
    fn from_bytes(bytes: &[u8]) -> Result<Self, RecordError> {
        match bytes.split_first() {
            None | Some((0, _)) => Err(RecordError::Foreign),
            Some((&VERSION, body)) => {
                let record: Self = nowcast_wire::decode_with(body, &Limits::MESSAGE)?;
                record.check().map_err(|field| RecordError::Invalid { field })?;
                Ok(record)
            }
            Some((&found, _)) => Err(RecordError::Version { found }),
        }
    }
}

/// Returns the field if its value is not valid.
pub(crate) fn require(is_valid: bool, field: &'static str) -> Result<(), &'static str> {
    if is_valid { Ok(()) } else { Err(field) }
}
