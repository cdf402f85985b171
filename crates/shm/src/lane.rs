//! A lane's protocol: a ring of slots, each with a cell and a block for an entry's value.
//!
//! **Cells.** An entry's position counts entries from the first ever; the entry is in slot `position % slots`. The
//! slot's cell is one word: its kind, the low half of its position, and the place of its block. The writer creates an
//! entry by storing its word (append). It replaces a value by preparing a new block and exchanging the word for one
//! that refers to it (replace). The reader takes a state by exchanging the word for a taken one. One atomic step
//! therefore decides which comes first, the newer value or the reader. Events are never replaced, so the reader only
//! reads their cells.
//!
//! **Blocks** belong to exactly one side at any time. The writer owns a block until a cell refers to the block. The writer owns
//! the block again after the exchange that replaced its value, or once the reader's `head` has passed its entry. In the
//! meantime the reader owns the block. Neither side ever reads a block that is being written, so there are no retries: both
//! sides are wait-free. An appended value is beside its cell if it fits there, so that a reader that polls for the next entry
//! already requests the whole value. A value that replaces another, or is larger, is in a separate block.
//!
//! **Death.** A writer that dies before its exchange leaves the older value in the queue. A writer that dies after its exchange
//! leaves the newer value. A reader that dies loses at most the one entry that it was reading.
//!
//! Synchronisation, each release with the acquire that pairs with it:
//!
//! | release | acquire | hands over |
//! | --- | --- | --- |
//! | APPEND: writer stores a cell | reader loads the cell | the block |
//! | REPLACE: writer exchanges a cell | reader swaps the cell (TAKE) | the newer block |
//! | TAKE: reader swaps a cell | writer loads the cell, or its exchange fails | that the entry is gone |
//! | RELEASE: reader stores `head` | writer loads `head` | blocks back, and room |

use crate::layout::{
    BLOCK_HEADER_WORDS, Checksum, KEY, LENGTH, LINE_WORDS, LaneLayout, SLOT_VALUE_MAX, SLOT_WORDS,
};
use crate::memory::Memory;
use crate::pool::{Block, Pool};
use crate::sync::{Ordering, step};
use nowcast_queue::{Bounds, Counters, Key, KeyMap, Put, Refusal};

const KIND_MASK: u64 = 3;
const STATE: u64 = 1;
const EVENT: u64 = 2;
const TAKEN: u64 = 3;

/// Number of entries ahead for which both sides prefetch cache lines of the other side.
const AHEAD: u64 = 16;

/// Number of pauses before a reader polls an emptied queue again, if the writer is faster. Together they take about one round
/// trip of a cache line to the other core. The reader then gets fewer values, but each value is as new as without the pauses.
/// The writer is interrupted less often and puts several times as many values.
const PAUSES: u32 = 32;

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
    /// The position of the newest entry of each key. Positions before `barrier`, and those of entries that were already taken,
    /// are obsolete.
    places: KeyMap<u64>,
    /// The position of the next entry.
    tail: u64,
    /// Entries before this position were delivered, and their blocks are free again.
    head: u64,
    /// The newest `head` that the writer has seen from the reader.
    head_published: u64,
    /// Entries before this position precede the last event.
    barrier: u64,
    /// Bytes of the values between `head` and `tail`.
    bytes: usize,
    /// Whether the entry that the last put wanted to replace was still waiting. The next entry to replace is assumed to be in
    /// the same state.
    ahead: bool,
    /// The counters of this lane. The end of the queue counts refusals, because only the end knows whether the caller received a
    /// refusal.
    counters: Counters,
}

#[derive(Debug, Clone, Copy, Default)]
struct Record {
    key: Key,
    word: u64,
    block: Block,
    bytes: usize,
}

/// A block with a value to which no cell refers yet.
#[derive(Debug, Clone, Copy)]
struct Prepared {
    block: Block,
    bytes: usize,
    sum: Checksum,
}

impl<M: Memory> LaneWriter<M> {
    pub(crate) fn new(memory: M, layout: LaneLayout) -> Self {
        LaneWriter {
            pool: Pool::new(&layout.classes),
            records: vec![Record::default(); layout.slots_mask as usize + 1].into(),
            places: KeyMap::default(),
            tail: 0,
            head: 0,
            head_published: 0,
            barrier: 0,
            bytes: 0,
            ahead: false,
            counters: Counters::default(),
            memory,
            layout,
        }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.layout.bounds
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
        let Some(position) = self.replaceable(key, bytes)? else {
            self.make_room(bytes)?;
            let block = self.block_at_tail(bytes)?;
            let prepared = self.prepare(block, key, value);
            self.append(key, prepared);
            return Ok(Put::Queued);
        };
        // Checking whether the reader has taken the entry takes as long as the transfer of the cell. Meanwhile the value is
        // written to its probable place.
        self.memory.will_write(self.cell(position), 1);
        let block = if self.ahead { self.block_elsewhere(bytes)? } else { self.block_at_tail(bytes)? };
        let mut prepared = self.prepare(block, key, value);
        self.ahead = !self.is_taken(position);
        if self.ahead {
            if block.is_of_slot() {
                let block = self.block_elsewhere(bytes)?;
                prepared = self.prepare(block, key, value);
            }
            if self.replace(position, prepared)? {
                return Ok(Put::Replaced);
            }
        }
        // The reader took the entry first, so the new value becomes a new entry.
        if let Err(refusal) = self.make_room(bytes) {
            self.pool.give(prepared.block);
            return Err(refusal);
        }
        self.append(key, prepared);
        Ok(Put::Queued)
    }

    /// Returns the position of the entry that a value of this key would replace, according to the writer's knowledge.
    #[inline]
    fn replaceable(&mut self, key: Key, bytes: usize) -> Result<Option<u64>, Refusal> {
        if key.is_event() {
            return Ok(None);
        }
        let Some(&position) = self.places.get(&key) else {
            return Ok(None);
        };
        if position < self.barrier {
            return Ok(None);
        }
        while position >= self.head
            && self.bytes - self.record(position).bytes + bytes > self.layout.bounds.bytes_max
        {
            if !self.reclaim_one()? {
                return Err(Refusal::Full);
            }
        }
        Ok((position >= self.head_published).then_some(position))
    }

    /// Checks that an entry of this many bytes may be added, and makes room for the entry.
    #[inline]
    fn make_room(&mut self, bytes: usize) -> Result<(), Refusal> {
        let Bounds { entries_max, bytes_max } = self.layout.bounds;
        while self.tail - self.head >= entries_max as u64 || self.bytes + bytes > bytes_max {
            if !self.reclaim_one()? {
                return Err(Refusal::Full);
            }
        }
        Ok(())
    }

    /// Whether the reader has already taken an entry that the writer assumed to wait at this position.
    #[inline]
    fn is_taken(&self, position: u64) -> bool {
        let taken = cell_word(TAKEN, position, 0);
        position < self.head || self.memory.words()[self.cell(position)].load(Ordering::Acquire) == taken
    }

    /// Writes a value into a block that the reader does not know yet.
    #[inline]
    fn prepare(&mut self, block: Block, key: Key, value: &[u8]) -> Prepared {
        let sum = self.write_block(block, key, value);
        Prepared { block, bytes: value.len(), sum }
    }

    /// Exchanges the value at a position for a newer one. Returns `false` if the reader has taken the entry.
    #[inline]
    fn replace(&mut self, position: u64, prepared: Prepared) -> Result<bool, Refusal> {
        // The search for a block may have shown that the reader has already taken the entry.
        if position < self.head {
            return Ok(false);
        }
        self.seal(position, prepared);
        let Record { word: old_word, block: old_block, bytes: old_bytes, .. } = *self.record(position);
        let word = cell_word(STATE, position, prepared.block.line);
        step("replace: value prepared");
        let cell = &self.memory.words()[self.cell(position)];
        let exchanged = cell.compare_exchange(old_word, word, Ordering::AcqRel, Ordering::Acquire); // REPLACE
        step("replace: value exchanged");
        match exchanged {
            Ok(_) => {
                self.bytes = self.bytes - old_bytes + prepared.bytes;
                self.pool.give(old_block);
                let record = self.record_mut(position);
                (record.word, record.block, record.bytes) = (word, prepared.block, prepared.bytes);
                Ok(true)
            }
            Err(found) if found == cell_word(TAKEN, position, 0) => Ok(false),
            Err(_) => Err(Refusal::Corrupt("a waiting entry's cell was overwritten")),
        }
    }

    #[inline]
    fn append(&mut self, key: Key, prepared: Prepared) {
        let position = self.tail;
        self.seal(position, prepared);
        let Prepared { block, bytes, .. } = prepared;
        let kind = if key.is_event() { EVENT } else { STATE };
        let word = cell_word(kind, position, block.line);
        step("append: value prepared");
        self.memory.words()[self.cell(position)].store(word, Ordering::Release); // APPEND
        step("append: entry visible");
        // In a smaller ring this slot may be the one that the reader reads next.
        if self.layout.slots_mask > 2 * AHEAD {
            self.memory.will_write(self.cell(position + AHEAD), 2);
        }
        *self.record_mut(position) = Record { key, word, block, bytes };
        self.bytes += bytes;
        self.tail += 1;
        if key.is_event() {
            self.barrier = self.tail;
        } else {
            self.places.insert(key, position);
        }
        // Reclaims blocks that the reader has finished reading, two for each added block. So the work never accumulates, and the
        // reader's cache line is not requested.
        for _ in 0..2 {
            if self.head < self.head_published {
                self.retire_one();
            }
        }
    }

    /// Returns the block in the slot at `tail` if that slot is free and large enough, or else a separate block.
    #[inline]
    fn block_at_tail(&mut self, bytes: usize) -> Result<Block, Refusal> {
        let is_free = self.tail - self.head <= self.layout.slots_mask;
        if is_free && bytes <= SLOT_VALUE_MAX {
            Ok(Block::of_slot(self.cell(self.tail)))
        } else {
            self.block_elsewhere(bytes)
        }
    }

    /// Returns a block of the pool for a value within the bounds. There always is one once all delivered blocks have been
    /// reclaimed.
    fn block_elsewhere(&mut self, bytes: usize) -> Result<Block, Refusal> {
        loop {
            if let Some(block) = self.pool.take(bytes) {
                if let Some(line) = self.pool.upcoming(block, AHEAD as usize) {
                    self.memory.will_write(line as usize * LINE_WORDS, 2);
                }
                return Ok(block);
            }
            if !self.reclaim_one()? {
                return Err(Refusal::Full);
            }
        }
    }

    /// Takes back the oldest entry if the reader has finished reading it.
    fn reclaim_one(&mut self) -> Result<bool, Refusal> {
        if self.head == self.head_published {
            let head = self.memory.words()[self.layout.head].load(Ordering::Acquire); // pairs with RELEASE
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
        let record = *self.record(self.head);
        if self.places.get(&record.key) == Some(&self.head) {
            self.places.remove(&record.key);
        }
        self.pool.give_read(record.block);
        self.bytes -= record.bytes;
        self.head += 1;
    }

    /// Writes the value and returns its checksum, which still lacks the position.
    #[inline]
    fn write_block(&self, block: Block, key: Key, value: &[u8]) -> Checksum {
        let mut sum = block_checksum(key, value.len());
        let words = &self.memory.words()[block.line as usize * LINE_WORDS..];
        let mut data = words[BLOCK_HEADER_WORDS..].iter();
        let (whole, rest) = value.as_chunks::<8>();
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
        words[KEY].store(key.raw(), Ordering::Relaxed);
        sum
    }

    /// Completes a block's header for its position.
    #[inline]
    fn seal(&self, position: u64, Prepared { block, bytes, sum }: Prepared) {
        let header = bytes as u64 | (u64::from(sum.finish(position)) << 32);
        self.memory.words()[block.line as usize * LINE_WORDS + LENGTH].store(header, Ordering::Relaxed);
    }

    #[inline]
    fn cell(&self, position: u64) -> usize {
        self.layout.slots + (position & self.layout.slots_mask) as usize * SLOT_WORDS
    }

    #[inline]
    fn record(&self, position: u64) -> &Record {
        &self.records[(position & self.layout.slots_mask) as usize]
    }

    #[inline]
    fn record_mut(&mut self, position: u64) -> &mut Record {
        &mut self.records[(position & self.layout.slots_mask) as usize]
    }
}

/// The reading side of a lane.
#[derive(Debug)]
pub(crate) struct LaneReader<M> {
    memory: M,
    bounds: Bounds,
    head_word: usize,
    slots: usize,
    slots_mask: u64,
    /// The position of the next entry.
    head: u64,
    /// The number of consecutive polls that found an entry. If it is high, more entries are likely.
    run: u64,
    /// Whether the value of the last entry was not beside its cell. The value had then probably replaced another value, so the
    /// writer is faster than the reader.
    behind: bool,
}

impl<M: Memory> LaneReader<M> {
    pub(crate) fn new(memory: M, layout: &LaneLayout) -> Self {
        LaneReader {
            memory,
            bounds: layout.bounds,
            head_word: layout.head,
            slots: layout.slots,
            slots_mask: layout.slots_mask,
            head: 0,
            run: 0,
            behind: false,
        }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// Whether no entry waits. Takes no entry.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        let word = self.memory.words()[self.cell(self.head)].load(Ordering::Acquire);
        self.is_old(word)
    }

    /// Takes the next entry. Returns its key, and writes its value into `value`.
    #[inline]
    pub(crate) fn get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        let cell = self.cell(self.head);
        // While nothing waits, the whole slot is requested repeatedly, so that cell and value are transferred together.
        if self.run == 0 {
            self.memory.will_write(cell, 1);
            self.memory.will_read(cell + LINE_WORDS, 1);
        }
        let mut word = self.memory.words()[cell].load(Ordering::Acquire); // pairs with APPEND and REPLACE
        if self.is_old(word) {
            self.run = 0;
            if !std::mem::take(&mut self.behind) {
                return Ok(None);
            }
            // Each read takes the cache line away from the writer, so the reader pauses.
            (0..PAUSES).for_each(|_| std::hint::spin_loop());
            word = self.memory.words()[cell].load(Ordering::Acquire); // as above
            if self.is_old(word) {
                return Ok(None);
            }
        }
        self.behind = line_of(word) != cell / LINE_WORDS;
        if self.behind {
            self.memory.will_read(line_of(word) * LINE_WORDS, 2);
        }
        if self.run > AHEAD {
            self.memory.will_read(self.cell(self.head + AHEAD), 2);
        }
        self.run += 1;
        if word == cell_word(STATE, self.head, line_of(word) as u32) {
            step("get: entry seen");
            word = self.memory.words()[cell].swap(cell_word(TAKEN, self.head, 0), Ordering::AcqRel); // TAKE
            step("get: entry taken");
        }
        let kind = word & KIND_MASK;
        if (kind != STATE && kind != EVENT) || word != cell_word(kind, self.head, line_of(word) as u32) {
            return Err(Refusal::Corrupt("a cell has no entry for its position"));
        }
        let key = self.read_block(line_of(word) * LINE_WORDS, value)?;
        if key.is_event() != (kind == EVENT) {
            return Err(Refusal::Corrupt("a cell and its block disagree about being an event"));
        }
        self.head += 1;
        step("get: value copied");
        let head = &self.memory.words()[self.head_word];
        if head.load(Ordering::Relaxed) != self.head - 1 {
            return Err(Refusal::Corrupt("the head was overwritten"));
        }
        head.store(self.head, Ordering::Release); // RELEASE
        step("get: entry released");
        Ok(Some(key))
    }

    /// Whether the cell at `head` still has its content from the previous lap. Besides an entry, no other content is valid.
    #[inline]
    fn is_old(&self, word: u64) -> bool {
        let Some(before) = self.head.checked_sub(self.slots_mask + 1) else {
            return word == 0;
        };
        word == cell_word(TAKEN, before, 0) || word == cell_word(EVENT, before, line_of(word) as u32)
    }

    #[inline]
    fn read_block(&self, start: usize, value: &mut Vec<u8>) -> Result<Key, Refusal> {
        const OUTSIDE: Refusal = Refusal::Corrupt("a block reaches beyond the segment");
        let words = self.memory.words().get(start..).ok_or(OUTSIDE)?;
        let (header, data) = words.split_at_checked(BLOCK_HEADER_WORDS).ok_or(OUTSIDE)?;
        let key = Key::from_raw(header[KEY].load(Ordering::Relaxed));
        let length = header[LENGTH].load(Ordering::Relaxed);
        let (bytes, sum) = (length as u32 as usize, (length >> 32) as u32);
        if bytes > self.bounds.bytes_max {
            return Err(Refusal::Corrupt("a value is larger than the bounds allow"));
        }
        let data = data.get(..bytes.div_ceil(8)).ok_or(OUTSIDE)?;
        let mut check = block_checksum(key, bytes);
        // The buffer is overwritten completely, so only a change of its size costs time.
        value.resize(data.len() * 8, 0);
        let (chunks, _) = value.as_chunks_mut::<8>();
        for (chunk, word) in chunks.iter_mut().zip(data) {
            let content = word.load(Ordering::Relaxed);
            check.add(content);
            *chunk = content.to_le_bytes();
        }
        value.truncate(bytes);
        if check.finish(self.head) != sum {
            value.clear();
            return Err(Refusal::Corrupt("a value does not match its checksum"));
        }
        Ok(key)
    }

    #[inline]
    fn cell(&self, position: u64) -> usize {
        self.slots + (position & self.slots_mask) as usize * SLOT_WORDS
    }
}

#[inline]
fn line_of(word: u64) -> usize {
    ((word as u32) >> 2) as usize
}

#[inline]
fn block_checksum(key: Key, bytes: usize) -> Checksum {
    let mut sum = Checksum::new(bytes as u64);
    sum.add(key.raw());
    sum
}
