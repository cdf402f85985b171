//! A row of the journal, and its checksum.

use crate::batch::Span;
use crate::store::MarkKind;

/// One batch with its position in the journal.
pub(super) struct Row<'a> {
    pub(super) world: i64,
    pub(super) number: i64,
    pub(super) span: Span,
    pub(super) body: &'a [u8],
}

impl Row<'_> {
    /// CRC-32 of the whole row, so that a row in the wrong place is detected, too.
    pub(super) fn checksum(&self) -> u32 {
        let Span { from_tick, through_tick, time_ms } = self.span;
        let mut crc = crc32fast::Hasher::new();
        for number in [self.world as u64, self.number as u64, from_tick, through_tick, time_ms] {
            crc.update(&number.to_le_bytes());
        }
        crc.update(self.body);
        crc.finalize()
    }
}

/// Returns the number that stands for a kind of mark in the database.
pub(super) fn kind_number(kind: MarkKind) -> i64 {
    match kind {
        MarkKind::TokenUsed => 1,
        MarkKind::Ban => 2,
    }
}
