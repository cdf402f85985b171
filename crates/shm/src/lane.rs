//! The protocol of one lane: a ring of cells, each naming the block that holds an entry's value.
//!
//! **Cells.** An entry's position counts entries from the first ever; it stands in cell `position % cells`. A cell is one
//! word: what it is, the low half of its position, and the place of its block. The writer makes an entry by storing its
//! word (append) and replaces a value by preparing a new block and exchanging the word for one that names it (replace).
//! The reader takes a state by exchanging the word for a taken one: so who comes first, the newer value or the reader, is
//! decided by one atomic step. Events are never replaced, so the reader only reads their cells.
//!
//! **Blocks** belong to exactly one side at any time. The writer owns a block until a cell names it, and again after the
//! exchange that replaced it, or once the reader's `head` has passed its entry. The reader owns it between. Nobody ever
//! reads a block that is being written, so there is nothing to retry: both sides are wait-free.
//!
//! **Death.** A writer that dies before its exchange leaves the older value in the queue, one that dies after it the newer
//! one. A reader that dies takes at most the one entry with it that it was reading.
//!
//! Synchronisation, each release with the acquire that pairs with it:
//!
//! | release | acquire | hands over |
//! | --- | --- | --- |
//! | APPEND: writer swaps a cell | reader loads the cell | the block |
//! | REPLACE: writer exchanges a cell | reader swaps the cell (TAKE) | the newer block |
//! | TAKE: reader swaps a cell | writer's failed exchange | that the entry is gone |
//! | RELEASE: reader swaps `head` | writer loads `head` | blocks back, and room |

use crate::layout::{BLOCK_HEADER_BYTES, Checksum, LINE_WORDS, LaneLayout};
use crate::memory::Memory;
use crate::pool::{Block, Pool};
use crate::sync::{Ordering, order_swap_before_load, step};
use nowcast_queue::{Bounds, Counters, Key, KeyMap, Put, Refusal};

const KIND_MASK: u64 = 3;
const STATE: u64 = 1;
const EVENT: u64 = 2;
const TAKEN: u64 = 3;

/// The word of the cell at a position.
#[inline]
fn cell_word(kind: u64, position: u64, line: u32) -> u64 {
    (position << 32) | (u64::from(line) << 2) | kind
}

/// The writing side of a lane.
#[derive(Debug)]
pub(crate) struct LaneWriter<M> {
    memory: M,
    layout: LaneLayout,
    pool: Pool,
    /// The entries between `head` and `tail`, each in the place of its cell.
    records: Box<[Record]>,
    /// The position of the newest entry of each key; those before `barrier` or already taken don't count.
    places: KeyMap<u64>,
    /// The position of the next entry.
    tail: u64,
    /// Entries before it were delivered and their blocks are free again.
    head: u64,
    /// The last `head` that the reader is known to have published.
    head_published: u64,
    /// Entries before it stand before the last event.
    barrier: u64,
    /// Bytes of the values between `head` and `tail`.
    bytes: usize,
    /// Refusals are counted by the end, which knows whether the caller heard of them.
    counters: Counters,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    key: Key,
    word: u64,
    block: Block,
    bytes: usize,
}

impl<M: Memory> LaneWriter<M> {
    pub(crate) fn new(memory: M, layout: LaneLayout) -> Self {
        LaneWriter {
            pool: Pool::new(&layout.classes),
            records: vec![Record::default(); layout.cells_mask as usize + 1].into(),
            places: KeyMap::default(),
            tail: 0,
            head: 0,
            head_published: 0,
            barrier: 0,
            bytes: 0,
            counters: Counters::default(),
            memory,
            layout,
        }
    }

    pub(crate) fn counters(&self) -> Counters {
        Counters { delivered: self.head_published, ..self.counters }
    }

    pub(crate) fn put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let put = self.replace_or_append(key, value);
        match put {
            Ok(Put::Queued) => self.counters.queued += 1,
            Ok(Put::Replaced) => self.counters.replaced += 1,
            Err(_) => {}
        }
        put
    }

    fn replace_or_append(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal> {
        let (bytes, bytes_max) = (value.len(), self.layout.bounds.bytes_max);
        if bytes > bytes_max {
            return Err(Refusal::TooLarge { bytes, bytes_max });
        }
        if !key.is_event()
            && let Some(&position) = self.places.get(&key)
            && position >= self.barrier
            && self.replace(position, key, value)?
        {
            return Ok(Put::Replaced);
        }
        while self.tail - self.head >= self.layout.bounds.entries_max as u64 || self.bytes + bytes > bytes_max
        {
            if !self.reclaim_one()? {
                return Err(Refusal::Full);
            }
        }
        let block = self.block_for(bytes)?;
        self.append(key, value, block);
        Ok(Put::Queued)
    }

    /// Replaces the value at a position, unless the reader has taken it.
    fn replace(&mut self, position: u64, key: Key, value: &[u8]) -> Result<bool, Refusal> {
        while position >= self.head {
            let bytes_after = self.bytes - self.record(position).bytes + value.len();
            if bytes_after <= self.layout.bounds.bytes_max {
                break;
            }
            if !self.reclaim_one()? {
                return Err(Refusal::Full);
            }
        }
        if position < self.head_published {
            return Ok(false);
        }
        let block = self.block_for(value.len())?;
        // Getting room for the block may have shown that the reader has moved on.
        if position < self.head {
            self.pool.give(block);
            return Ok(false);
        }
        self.write_block(block, position, key, value);
        let old = self.record(position);
        let word = cell_word(STATE, position, block.line);
        step("replace: value prepared");
        let cell = &self.memory.words()[self.cell(position)];
        let exchanged = cell.compare_exchange(old.word, word, Ordering::SeqCst, Ordering::Acquire); // REPLACE
        step("replace: value exchanged");
        match exchanged {
            Ok(_) => {
                self.bytes = self.bytes - old.bytes + value.len();
                self.pool.give(old.block);
                *self.record_mut(position) = Record { word, block, bytes: value.len(), ..old };
                Ok(true)
            }
            Err(found) => {
                self.pool.give(block);
                if found == cell_word(TAKEN, position, 0) {
                    Ok(false)
                } else {
                    Err(Refusal::Corrupt("a waiting entry's cell was overwritten"))
                }
            }
        }
    }

    fn append(&mut self, key: Key, value: &[u8], block: Block) {
        let position = self.tail;
        self.write_block(block, position, key, value);
        let kind = if key.is_event() { EVENT } else { STATE };
        let word = cell_word(kind, position, block.line);
        step("append: value prepared");
        self.memory.words()[self.cell(position)].swap(word, Ordering::SeqCst); // APPEND
        order_swap_before_load();
        step("append: entry visible");
        *self.record_mut(position) = Record { key, word, block, bytes: value.len() };
        self.bytes += value.len();
        self.tail += 1;
        if key.is_event() {
            self.barrier = self.tail;
        } else {
            self.places.insert(key, position);
        }
        // Takes back what the reader is known to have left, two for every one that is added: so the work of it never piles
        // up, and the reader's cache line is not asked for.
        for _ in 0..2 {
            if self.head < self.head_published {
                self.retire_one();
            }
        }
    }

    /// A block for a value within bounds. There always is one once everything delivered has been taken back.
    fn block_for(&mut self, bytes: usize) -> Result<Block, Refusal> {
        loop {
            if let Some(block) = self.pool.take(bytes) {
                return Ok(block);
            }
            if !self.reclaim_one()? {
                return Err(Refusal::Full);
            }
        }
    }

    /// Takes back the oldest entry, if the reader has left it.
    fn reclaim_one(&mut self) -> Result<bool, Refusal> {
        if self.head == self.head_published {
            let head = self.memory.words()[self.layout.head].load(Ordering::SeqCst); // pairs with RELEASE
            if !(self.head..=self.tail).contains(&head) {
                return Err(Refusal::Corrupt("the reader's head is not where a head can be"));
            }
            self.head_published = head;
        }
        let any = self.head < self.head_published;
        if any {
            self.retire_one();
        }
        Ok(any)
    }

    fn retire_one(&mut self) {
        let record = self.record(self.head);
        if self.places.get(&record.key) == Some(&self.head) {
            self.places.remove(&record.key);
        }
        self.pool.give(record.block);
        self.bytes -= record.bytes;
        self.head += 1;
    }

    #[inline]
    fn write_block(&self, block: Block, position: u64, key: Key, value: &[u8]) {
        let start = block.line as usize * LINE_WORDS;
        let words = &self.memory.words()[start..];
        let mut sum = block_checksum(position, key, value.len());
        let data = words[2..].iter();
        let (whole, rest) = value.as_chunks::<8>();
        let mut data = data;
        for (bytes, word) in whole.iter().zip(&mut data) {
            let content = u64::from_le_bytes(*bytes);
            sum.add(content);
            word.store(content, Ordering::Relaxed);
        }
        if !rest.is_empty()
            && let Some(word) = data.next()
        {
            let mut bytes = [0; 8];
            bytes[..rest.len()].copy_from_slice(rest);
            let content = u64::from_le_bytes(bytes);
            sum.add(content);
            word.store(content, Ordering::Relaxed);
        }
        step("value half written");
        words[0].store(key.raw(), Ordering::Relaxed);
        words[1].store(value.len() as u64 | (u64::from(sum.finish()) << 32), Ordering::Relaxed);
    }

    #[inline]
    fn cell(&self, position: u64) -> usize {
        self.layout.cells + (position & self.layout.cells_mask) as usize
    }

    #[inline]
    fn record(&self, position: u64) -> Record {
        self.records[(position & self.layout.cells_mask) as usize]
    }

    #[inline]
    fn record_mut(&mut self, position: u64) -> &mut Record {
        &mut self.records[(position & self.layout.cells_mask) as usize]
    }
}

/// The reading side of a lane.
#[derive(Debug)]
pub(crate) struct LaneReader<M> {
    memory: M,
    bounds: Bounds,
    head_word: usize,
    cells: usize,
    cells_mask: u64,
    /// The position of the next entry.
    head: u64,
}

impl<M: Memory> LaneReader<M> {
    pub(crate) fn new(memory: M, layout: &LaneLayout) -> Self {
        LaneReader {
            memory,
            bounds: layout.bounds,
            head_word: layout.head,
            cells: layout.cells,
            cells_mask: layout.cells_mask,
            head: 0,
        }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Whether nothing waits, without taking it.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let word = self.memory.words()[self.cell()].load(Ordering::SeqCst);
        self.is_old(word)
    }

    /// Takes the next entry: its key, and its value in place of what `value` held.
    #[inline]
    pub(crate) fn get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        let cell = self.cell();
        let mut word = self.memory.words()[cell].load(Ordering::SeqCst); // pairs with APPEND
        if self.is_old(word) {
            return Ok(None);
        }
        self.memory.prefetch(line_of(word) * LINE_WORDS, 2);
        if word == cell_word(STATE, self.head, line_of(word) as u32) {
            step("get: entry seen");
            word = self.memory.words()[cell].swap(cell_word(TAKEN, self.head, 0), Ordering::SeqCst); // TAKE
            step("get: entry taken");
        }
        let kind = word & KIND_MASK;
        if (kind != STATE && kind != EVENT) || word != cell_word(kind, self.head, line_of(word) as u32) {
            return Err(Refusal::Corrupt("a cell holds no entry of this place"));
        }
        let key = self.read_block(line_of(word) * LINE_WORDS, value)?;
        if key.is_event() != (kind == EVENT) {
            return Err(Refusal::Corrupt("a cell and its block disagree about being an event"));
        }
        self.head += 1;
        step("get: value copied");
        let before = self.memory.words()[self.head_word].swap(self.head, Ordering::SeqCst); // RELEASE
        order_swap_before_load();
        step("get: entry released");
        if before != self.head - 1 {
            return Err(Refusal::Corrupt("the head was overwritten"));
        }
        Ok(Some(key))
    }

    /// Whether the cell at `head` still holds what the lap before left in it, which is the one thing but an entry that it
    /// may hold.
    #[inline]
    fn is_old(&self, word: u64) -> bool {
        let Some(before) = self.head.checked_sub(self.cells_mask + 1) else {
            return word == 0;
        };
        word == cell_word(TAKEN, before, 0) || word == cell_word(EVENT, before, line_of(word) as u32)
    }

    #[inline]
    fn read_block(&self, start: usize, value: &mut Vec<u8>) -> Result<Key, Refusal> {
        const OUTSIDE: Refusal = Refusal::Corrupt("a block reaches beyond the segment");
        let words = self.memory.words().get(start..).ok_or(OUTSIDE)?;
        let [key, length, data @ ..] = words else {
            return Err(OUTSIDE);
        };
        let key = Key::from_raw(key.load(Ordering::Relaxed));
        let length = length.load(Ordering::Relaxed);
        let (bytes, sum) = (length as u32 as usize, (length >> 32) as u32);
        if bytes > self.bounds.bytes_max {
            return Err(Refusal::Corrupt("a value is larger than the bounds allow"));
        }
        let data = data.get(..bytes.div_ceil(8)).ok_or(OUTSIDE)?;
        let mut check = block_checksum(self.head, key, bytes);
        value.clear();
        value.resize(data.len() * 8, 0);
        let (chunks, _) = value.as_chunks_mut::<8>();
        for (chunk, word) in chunks.iter_mut().zip(data) {
            let content = word.load(Ordering::Relaxed);
            check.add(content);
            *chunk = content.to_le_bytes();
        }
        value.truncate(bytes);
        if check.finish() != sum {
            value.clear();
            return Err(Refusal::Corrupt("a value does not match its checksum"));
        }
        Ok(key)
    }

    #[inline]
    fn cell(&self) -> usize {
        self.cells + (self.head & self.cells_mask) as usize
    }
}

#[inline]
fn line_of(word: u64) -> usize {
    ((word as u32) >> 2) as usize
}

#[inline]
fn block_checksum(position: u64, key: Key, bytes: usize) -> Checksum {
    let mut sum = Checksum::new(position.wrapping_mul(0xFF51_AFD7_ED55_8CCD));
    sum.add(key.raw());
    sum.add(bytes as u64);
    sum
}

// A block's header is its first two words.
const _: () = assert!(BLOCK_HEADER_BYTES == 16);
