//! Which blocks are free. Known to the writer alone, so nothing a peer does can confuse it.

use crate::layout::{BLOCK_HEADER_WORDS, ClassLayout, LINE_WORDS};
use std::collections::VecDeque;

/// The free blocks of a lane.
#[derive(Debug)]
pub(crate) struct Pool {
    classes: Vec<Class>,
}

/// A block: where it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Block {
    /// Counted in cache lines from the start of the segment.
    pub(crate) line: u32,
    class: u8,
}

/// Not one of the classes: such a block is part of a slot, and is managed with it.
const OF_SLOT: u8 = u8::MAX;

impl Block {
    /// The block of the slot whose cell is at this word.
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
    /// Blocks given back, next first.
    free: VecDeque<u32>,
    /// Blocks from here on have never been used.
    fresh: usize,
}

impl Pool {
    pub(crate) fn new(layouts: &[ClassLayout]) -> Pool {
        let class = |layout: &ClassLayout| Class { layout: layout.clone(), free: VecDeque::new(), fresh: 0 };
        Pool { classes: layouts.iter().map(class).collect() }
    }

    /// A block for a value of this many bytes.
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

    /// Returns a block that the reader never had. It is still in this side's cache, so it is used next.
    #[inline]
    pub(crate) fn give(&mut self, block: Block) {
        if let Some(class) = self.classes.get_mut(usize::from(block.class)) {
            class.free.push_front(block.line);
        }
    }

    /// Returns a block that the reader has read. It is in the other side's cache, so it is used last.
    #[inline]
    pub(crate) fn give_read(&mut self, block: Block) {
        if let Some(class) = self.classes.get_mut(usize::from(block.class)) {
            class.free.push_back(block.line);
        }
    }

    /// The block of the same size that will be used after `distance` others, if that is known.
    #[inline]
    pub(crate) fn upcoming(&self, block: Block, distance: usize) -> Option<u32> {
        self.classes.get(usize::from(block.class))?.free.get(distance).copied()
    }
}
