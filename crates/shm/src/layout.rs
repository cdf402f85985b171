//! The layout of a segment. Both ends compute it from a few numbers in the header.
//!
//! ```text
//! word 0    magic, version, length, lanes, bounds of each lane, checksum    written once, before the segment is shared
//! word 32   reader's gate     a line of its own each, because they are written by different sides
//! word 48   writer's gate
//! word 64   writer closed
//! word 80   reader closed
//! word 96   lane 0: head | slots of 128 bytes | blocks of 64 bytes | blocks of 128 bytes | ...
//!           lane 1: ...
//!
//! slot      cell | block of its own: key | length, checksum | value of up to 104 bytes
//! block     unused                 : key | length, checksum | value
//! ```

use nowcast_queue::Bounds;

/// `NOWCAST` and a zero byte, read as a little-endian number.
pub(crate) const MAGIC: u64 = u64::from_le_bytes(*b"NOWCAST\0");
/// The version of this layout and of the protocol. Every change of either increments it.
pub(crate) const VERSION: u64 = 2;
/// Number of words of the header. The last word is the checksum.
pub(crate) const HEADER_WORDS: usize = 32;
/// The word in which the reader announces that it sleeps.
pub(crate) const READER_GATE: usize = 32;
/// The word in which the writer announces that it sleeps.
pub(crate) const WRITER_GATE: usize = 48;
/// The word that is not zero once the writer has closed.
pub(crate) const WRITER_CLOSED: usize = 64;
/// The word that is not zero once the reader has closed.
pub(crate) const READER_CLOSED: usize = 80;
const LANES_START: usize = 96;

/// Number of words in a cache line.
pub(crate) const LINE_WORDS: usize = 8;
/// Maximum number of lanes in one direction.
pub const LANES_MAX: usize = 8;
/// Maximum number of entries in a lane.
pub const ENTRIES_MAX: usize = 1 << 24;
/// Maximum size of a segment, in bytes. Only pages that were ever used take memory.
pub const SEGMENT_BYTES_MAX: usize = 1 << 36;
/// Number of words of a slot: two cache lines, because processors prefer to fetch lines in pairs.
pub(crate) const SLOT_WORDS: usize = 2 * LINE_WORDS;
/// Number of words before each value in its block. In the block of a slot, the first of them is the cell.
pub(crate) const BLOCK_HEADER_WORDS: usize = 3;
/// The word of a block that holds its key.
pub(crate) const KEY: usize = 1;
/// The word of a block that holds the value's length and checksum.
pub(crate) const LENGTH: usize = 2;
/// The largest value that fits into a slot.
pub(crate) const SLOT_VALUE_MAX: usize = value_max(SLOT_WORDS);

/// The largest value that fits into a block of `words` words.
const fn value_max(block_words: usize) -> usize {
    (block_words - BLOCK_HEADER_WORDS) * 8
}

// A cell holds the place of a block in 30 bits, counted in cache lines.
const _: () = assert!(SEGMENT_BYTES_MAX / 64 <= 1 << 30);
// A cell holds the low 32 bits of its position. These bits must distinguish the position from the positions of earlier laps.
const _: () = assert!(ENTRIES_MAX < 1 << 31);
const _: () = assert!(4 + 2 * LANES_MAX < HEADER_WORDS);

/// The offsets of one lane.
#[derive(Debug, Clone)]
pub(crate) struct LaneLayout {
    pub(crate) bounds: Bounds,
    /// The word that counts delivered entries.
    pub(crate) head: usize,
    /// The first word of the slots.
    pub(crate) slots: usize,
    /// The number of slots minus one. The number of slots is a power of two.
    pub(crate) slots_mask: u64,
    pub(crate) classes: Vec<ClassLayout>,
    /// The first word after the lane.
    pub(crate) end: usize,
}

/// The offsets of the blocks of one size.
#[derive(Debug, Clone)]
pub(crate) struct ClassLayout {
    pub(crate) start: usize,
    pub(crate) block_words: usize,
    pub(crate) blocks: usize,
}

impl LaneLayout {
    /// Computes the layout of a lane that begins at word `start`. Returns `None` if the bounds exceed the size of a segment.
    ///
    /// A value outside its slot is in a block whose size is a power of two. For each size, the number of blocks is the maximum
    /// number of waiting values of that size within the bounds, plus one for the value that is being written. So a put within the
    /// bounds always finds a block, and no pattern of sizes can fragment the memory. Blocks that were never used cost address
    /// space, but no memory.
    pub(crate) fn new(start: usize, bounds: Bounds) -> Option<LaneLayout> {
        let Bounds { entries_max, bytes_max } = bounds;
        if !(1..=ENTRIES_MAX).contains(&entries_max) || bytes_max > SEGMENT_BYTES_MAX / 4 {
            return None;
        }
        let slots_count = entries_max.next_power_of_two();
        let slots = start + 2 * LINE_WORDS;
        let mut end = slots + slots_count * SLOT_WORDS;
        let mut classes = Vec::new();
        let mut value_min = 0;
        let mut block_words = LINE_WORDS;
        loop {
            let fitting = bytes_max.checked_div(value_min).unwrap_or(entries_max);
            let blocks = entries_max.min(fitting) + 1;
            classes.push(ClassLayout { start: end, block_words, blocks });
            end += blocks * block_words;
            if value_max(block_words) >= bytes_max {
                break;
            }
            (value_min, block_words) = (value_max(block_words) + 1, block_words * 2);
        }
        Some(LaneLayout { bounds, head: start, slots, slots_mask: slots_count as u64 - 1, classes, end })
    }
}

/// Computes the layout of a segment's lanes, and its length in words.
pub(crate) fn lanes(bounds: &[Bounds]) -> Option<(Vec<LaneLayout>, usize)> {
    if !(1..=LANES_MAX).contains(&bounds.len()) {
        return None;
    }
    let mut end = LANES_START;
    let mut lanes = Vec::with_capacity(bounds.len());
    for &bounds in bounds {
        let lane = LaneLayout::new(end, bounds)?;
        end = lane.end.next_multiple_of(2 * LINE_WORDS);
        lanes.push(lane);
    }
    let words = end.next_multiple_of(512);
    (words * 8 <= SEGMENT_BYTES_MAX).then_some((lanes, words))
}

/// A checksum of words in order. It detects a change of any single word.
///
/// Every word is multiplied by a different odd number. So the products are independent, and a processor computes several at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Checksum {
    sum: u64,
    factor: u64,
}

impl Checksum {
    pub(crate) fn new(seed: u64) -> Checksum {
        Checksum { sum: seed, factor: 0x9E37_79B9_7F4A_7C15 }
    }

    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        self.sum = self.sum.wrapping_add((word ^ (word >> 29)).wrapping_mul(self.factor));
        self.factor = self.factor.wrapping_add(0x6A09_E667_F3BC_C908);
    }

    /// Returns the sum, mixed with one more number.
    #[inline]
    pub(crate) fn finish(self, number: u64) -> u32 {
        let sum = self.sum ^ number.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
        let mixed = (sum ^ (sum >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
        (mixed ^ (mixed >> 32)) as u32
    }
}
