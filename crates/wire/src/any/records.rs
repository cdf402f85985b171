//! The record extension of msgpackr. The names of a record's keys are written once, and its values by position.
//!
//! `d4 72 id` (or `d5 72 id high`) and a list of names define a record. The values of the first record follow. Afterwards the
//! bytes 40 to 7f, which would otherwise be small integers, refer to a record by its id.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Value;

/// The extension type of a definition: the letter r.
pub(super) const DEFINITION: u8 = 0x72;

/// Maximum bytes of repeated names for each input byte, in addition to a constant. A reference of a few bytes
/// repeats all names of its record. Without this limit, a small input could therefore fill the allowed memory.
const NAMES_PER_BYTE_MAX: usize = 64;
const NAMES_BESIDES_MAX: usize = 64 * 1024;

/// The definitions read so far.
#[derive(Debug)]
pub(super) struct Records {
    known: BTreeMap<i32, Record>,
    /// The remaining memory for repeated names.
    names_left: usize,
    names_max: usize,
}

/// The names of a record's keys.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) names: Rc<[Value]>,
    /// Whether references to this id have a second byte.
    pub(super) two_bytes: bool,
}

impl Records {
    /// Makes an empty table, for an input of this length.
    pub(super) fn new(input_bytes: usize) -> Self {
        let names_max = input_bytes.saturating_mul(NAMES_PER_BYTE_MAX).saturating_add(NAMES_BESIDES_MAX);
        Self { known: BTreeMap::new(), names_left: names_max, names_max }
    }

    pub(super) fn get(&self, id: i32) -> Option<Record> {
        self.known.get(&id).cloned()
    }

    pub(super) fn define(&mut self, id: i32, record: Record) {
        self.known.insert(id, record);
    }

    /// Charges the limit for a repeated name. If the limit is exceeded, returns the maximum number of bytes as an error.
    pub(super) fn repeat(&mut self, bytes: usize) -> Result<(), usize> {
        self.names_left = self.names_left.checked_sub(bytes).ok_or(self.names_max)?;
        Ok(())
    }
}

/// Returns the id that the two bytes of a definition or reference stand for.
pub(super) fn wide_id(first: i32, high: u8) -> i32 {
    let id = first + (i32::from(high) << 5);
    if high == 0 || first >= 32 { id } else { -id }
}
