//! Reads and writes the bytes of entries, frames and messages. Integers are little-endian; texts and byte strings have their
//! length before them; a byte with the version of the format begins each record.

use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::release::Release;

/// The version of the records and of the requests between servers.
const VERSION: u8 = 2;

/// The reason why bytes are not a record of this crate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
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
    /// The record ends inside of a field.
    #[error("it ends inside of the field {field}")]
    Short {
        /// The field.
        field: &'static str,
    },
    /// A field has a value that no program writes.
    #[error("its field {field} is invalid")]
    Invalid {
        /// The field.
        field: &'static str,
    },
    /// A field exceeds its maximum.
    #[error("its field {field} is longer than {max} bytes or entries")]
    TooLong {
        /// The field.
        field: &'static str,
        /// The maximum.
        max: usize,
    },
    /// Bytes follow the record.
    #[error("{bytes} bytes follow it")]
    Trailing {
        /// Number of these bytes.
        bytes: usize,
    },
}

/// Reads the fields of one record in order. It never reads past the record, and never allocates more than the record holds.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Begins a record.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, RecordError> {
        match bytes.split_first() {
            None | Some((0, _)) => Err(RecordError::Foreign),
            Some((&VERSION, rest)) => Ok(Self { rest }),
            Some((&found, _)) => Err(RecordError::Version { found }),
        }
    }

    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], RecordError> {
        let (taken, rest) = self.rest.split_first_chunk::<N>().ok_or(RecordError::Short { field })?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self, field: &'static str) -> Result<u8, RecordError> {
        self.take::<1>(field).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, field: &'static str) -> Result<u16, RecordError> {
        self.take(field).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, RecordError> {
        self.take(field).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, RecordError> {
        self.take(field).map(u64::from_le_bytes)
    }

    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], RecordError> {
        self.take(field)
    }

    pub(crate) fn bool(&mut self, field: &'static str) -> Result<bool, RecordError> {
        match self.u8(field)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(RecordError::Invalid { field }),
        }
    }

    pub(crate) fn bytes(&mut self, field: &'static str, max: usize) -> Result<&'a [u8], RecordError> {
        let length = self.u32(field)? as usize;
        if length > max {
            return Err(RecordError::TooLong { field, max });
        }
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(RecordError::Short { field })?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn text(&mut self, field: &'static str, max: usize) -> Result<&'a str, RecordError> {
        str::from_utf8(self.bytes(field, max)?).map_err(|_| RecordError::Invalid { field })
    }

    pub(crate) fn name(&mut self, field: &'static str) -> Result<Name, RecordError> {
        let text = self.text(field, crate::name::NAME_BYTES_MAX)?;
        Name::new(text).map_err(|_| RecordError::Invalid { field })
    }

    pub(crate) fn names(&mut self, field: &'static str, max: usize) -> Result<Vec<Name>, RecordError> {
        let count = usize::from(self.u8(field)?);
        if count > max {
            return Err(RecordError::TooLong { field, max });
        }
        (0..count).map(|_| self.name(field)).collect()
    }

    pub(crate) fn server(&mut self, field: &'static str) -> Result<ServerId, RecordError> {
        Ok(ServerId { name: self.name(field)?, incarnation: self.u64(field)? })
    }

    pub(crate) fn epoch(&mut self) -> Result<Epoch, RecordError> {
        match self.u64("epoch")? {
            0 => Err(RecordError::Invalid { field: "epoch" }),
            epoch => Ok(Epoch(epoch)),
        }
    }

    pub(crate) fn sequence(&mut self) -> Result<Sequence, RecordError> {
        self.u64("sequence").map(Sequence)
    }

    pub(crate) fn release(&mut self) -> Result<Release, RecordError> {
        Ok(Release { major: self.u16("release")?, minor: self.u16("release")?, patch: self.u16("release")? })
    }

    pub(crate) fn end(self) -> Result<(), RecordError> {
        match self.rest.len() {
            0 => Ok(()),
            bytes => Err(RecordError::Trailing { bytes }),
        }
    }
}

/// Begins a record.
pub(crate) fn put_version(out: &mut Vec<u8>) {
    out.push(VERSION);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(bytes);
}

pub(crate) fn put_name(out: &mut Vec<u8>, name: Name) {
    put_bytes(out, name.as_str().as_bytes());
}

pub(crate) fn put_names(out: &mut Vec<u8>, names: &[Name]) {
    out.push(names.len() as u8);
    names.iter().for_each(|name| put_name(out, *name));
}

pub(crate) fn put_server(out: &mut Vec<u8>, server: ServerId) {
    put_name(out, server.name);
    put_u64(out, server.incarnation);
}

pub(crate) fn put_u64(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn put_numbers<const N: usize>(out: &mut Vec<u8>, numbers: [u64; N]) {
    numbers.iter().for_each(|number| put_u64(out, *number));
}

pub(crate) fn put_u32(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

pub(crate) fn put_release(out: &mut Vec<u8>, release: Release) {
    for number in [release.major, release.minor, release.patch] {
        out.extend_from_slice(&number.to_le_bytes());
    }
}
