//! Reads of payloads for inspection.

use crate::frames::Frames;
use crate::payload::{PayloadError, PayloadReader};

impl Frames {
    /// Calls `each` with the entities of each group in a payload, and with the bytes of that group. The payload must have been
    /// filled from these frames.
    ///
    /// # Errors
    /// Fails if the payload is malformed.
    pub fn groups_in(&self, payload: &[u8], mut each: impl FnMut(&[u32], usize)) -> Result<(), PayloadError> {
        let mut reader = PayloadReader::new(payload)?;
        while let Some((head, delta)) = reader.record()? {
            if let Some(newest) = self.group(head.group).and_then(|group| group.newest()) {
                each(newest.frame.ids(), delta.len());
            }
        }
        Ok(())
    }
}

/// Returns a payload's step, the number of the client's newest applied input, and the group count.
///
/// # Errors
/// Fails if the payload is malformed.
pub fn summary(payload: &[u8]) -> Result<(u32, u16, usize), PayloadError> {
    let mut reader = PayloadReader::new(payload)?;
    let mut groups = 0;
    while reader.record()?.is_some() {
        groups += 1;
    }
    Ok((reader.tick, reader.controls, groups))
}
