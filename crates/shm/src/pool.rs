//! The blocks that are free. Only the writer knows them, so a peer cannot corrupt this state.

use crate::layout::{BLOCK_HEADER_WORDS, ClassLayout, LINE_WORDS};
use std::collections::VecDeque;

/// The free blocks of a lane.
#[derive(Debug)]
pub(crate) struct Pool {
    classes: Vec<Class>,
}

/// A block, identified by its first cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Block {
    /// The number of the first cache line, counted from the start of the segment.
    pub(crate) line: u32,
    class: u8,
}

/// The class of a block that is part of a slot. Such a block belongs to no class of the pool, and is managed with its slot.
const OF_SLOT: u8 = u8::MAX;

impl Block {
    /// Returns the block of the slot whose cell is at this word.
    #[inline]
    pub(crate) fn of_slot(cell: usize) -> Block {
        Block { line: (cell / LINE_WORDS) as u32, class: OF_SLOT }
    }

    #[inline]
    pub(crate) fn is_of_slot(self) -> bool {
        self.class == OF_SLOT
    }
}

#[derive(Debug)]
struct Class {
    layout: ClassLayout,
    /// Returned blocks, in the order of their next use.
    free: VecDeque<u32>,
    /// Blocks from this number on have never been used.
    fresh: usize,
}

impl Pool {
    pub(crate) fn new(layouts: &[ClassLayout]) -> Pool {
        let class = |layout: &ClassLayout| Class { layout: layout.clone(), free: VecDeque::new(), fresh: 0 };
        Pool { classes: layouts.iter().map(class).collect() }
    }

    /// Returns a block for a value of this many bytes.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) -> Option<Block> {
        let lines = (BLOCK_HEADER_WORDS + bytes.div_ceil(8)).div_ceil(LINE_WORDS);
        let index = lines.next_power_of_two().trailing_zeros() as usize;
        let class = self.classes.get_mut(index)?;
        let line = match class.free.pop_front() {
            Some(line) => line,
            None if class.fresh < class.layout.blocks => {
                let word = class.layout.start + class.fresh * class.layout.block_words;
                class.fresh += 1;
                (word / LINE_WORDS) as u32
            }
            None => return None,
        };
        Some(Block { line, class: index as u8 })
    }

    /// Takes back a block that the reader never had. The block is still in this side's cache, so it is used first.
    #[inline]
    pub(crate) fn give(&mut self, block: Block) {
        if let Some(class) = self.classes.get_mut(usize::from(block.class)) {
            class.free.push_front(block.line);
        }
    }

    /// Takes back a block that the reader has read. The block is in the other side's cache, so it is used last.
    #[inline]
    pub(crate) fn give_read(&mut self, block: Block) {
        if let Some(class) = self.classes.get_mut(usize::from(block.class)) {
            class.free.push_back(block.line);
        }
    }

    /// Returns the block of the same size that will be used after `distance` other blocks, if that is known.
    #[inline]
    pub(crate) fn upcoming(&self, block: Block, distance: usize) -> Option<u32> {
        self.classes.get(usize::from(block.class))?.free.get(distance).copied()
    }
}
