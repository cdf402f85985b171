//! The changes of a world between two ticks, stored as one row of its journal.

use nowcast_wire::{Effort, Limits as WireLimits, Wire};
use nowcast_world::journal::{self, Entry, JournalError};

use crate::account::AccountRecord;
use crate::once::ActionId;

/// Maximum bytes of one batch in the store.
pub const BATCH_BYTES_MAX: usize = 16 << 20;

/// Maximum number of steps in one batch: a day. The limit prevents damaged or hostile bytes from making a reader take
/// endless steps.
pub const BATCH_TICKS_MAX: u64 = 24 * 3_600 * nowcast_world::STEP_HZ as u64;

/// The version of the format, which is the first byte.
const VERSION: u8 = 1;

const LIMITS: WireLimits = WireLimits { memory_bytes_max: 256 << 20, ..WireLimits::MESSAGE };

/// The changes of a world between two ticks.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Batch {
    /// The tick at which the previous batch ended.
    pub from_tick: u64,
    /// The tick at which the batch ends.
    pub through_tick: u64,
    /// The time at which the batch was recorded, in milliseconds since 1970.
    pub time_ms: u64,
    /// The changes, in order.
    pub entries: Vec<Entry>,
    /// The durable actions among the changes, which must not be carried out again.
    pub done: Vec<ActionId>,
    /// The notes of the host for its next start, such as its sessions, in order.
    pub notes: Vec<Note>,
    /// The data of accounts that the changes caused. It has a table of its own.
    pub accounts: Vec<AccountRecord>,
}

/// A note of the host, which the store does not read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// The tick at which the note was recorded.
    pub tick: u64,
    /// The content of the note.
    pub bytes: Vec<u8>,
}

/// The reason why bytes are not a batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// A newer program wrote the bytes.
    #[error("it has version {found}, and this program reads version {VERSION}")]
    Newer {
        /// The version of the bytes.
        found: u8,
    },
    /// The bytes are damaged.
    #[error(transparent)]
    Damaged(#[from] nowcast_wire::Error),
    /// The entries are damaged.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The ticks contradict each other.
    #[error("its ticks are not in order")]
    Ticks,
}

impl Batch {
    /// Whether the batch contains no changes, so that it only records that time passed.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.done.is_empty() && self.notes.is_empty() && self.accounts.is_empty()
    }

    /// Approximate size in memory; [`Batch::to_bytes`] is never longer.
    pub fn memory_bytes(&self) -> usize {
        let entries: usize = self.entries.iter().map(Entry::memory_bytes).sum();
        let notes: usize = self.notes.iter().map(|note| size_of::<Note>() + note.bytes.len()).sum();
        let accounts: usize = self.accounts.iter().map(AccountRecord::memory_bytes).sum();
        size_of::<Batch>() + entries + self.done.len() * size_of::<ActionId>() + notes + accounts
    }

    /// Appends the next batch, which begins where this one ends.
    pub fn extend(&mut self, next: Batch) {
        (self.through_tick, self.time_ms) = (next.through_tick, next.time_ms);
        self.entries.extend(next.entries);
        self.done.extend(next.done);
        self.notes.extend(next.notes);
        self.accounts.extend(next.accounts);
    }

    /// Returns everything except the ticks, the time and the data of accounts, which have their own columns and tables.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries = Vec::new();
        journal::encode(&self.entries, &mut entries);
        let saved = Saved {
            entries,
            done: self.done.clone(),
            notes: self
                .notes
                .iter()
                .map(|note| SavedNote {
                    ticks: note.tick.wrapping_sub(self.from_tick),
                    bytes: note.bytes.clone(),
                })
                .collect(),
        };
        let mut bytes = vec![VERSION];
        nowcast_wire::encode_with(&saved, Effort::Small, &mut bytes);
        bytes
    }

    /// Parses a batch with known ticks and time. The bytes are untrusted.
    pub(crate) fn from_bytes(span: Span, bytes: &[u8]) -> Result<Batch, BatchError> {
        let Span { from_tick, through_tick, time_ms } = span;
        span.check()?;
        let (version, body) = bytes.split_first().unwrap_or((&0, &[]));
        if *version != VERSION {
            return Err(BatchError::Newer { found: *version });
        }
        let saved = nowcast_wire::decode_with::<Saved>(body, &LIMITS)?;
        let entries = journal::decode(&saved.entries)?;
        let notes: Vec<Note> = saved
            .notes
            .into_iter()
            .map(|note| Note { tick: from_tick.saturating_add(note.ticks), bytes: note.bytes })
            .collect();
        let within = |tick: u64| (from_tick..=through_tick).contains(&tick);
        let ordered =
            entries.is_sorted_by_key(|entry| entry.tick) && notes.is_sorted_by_key(|note| note.tick);
        if !ordered || !entries.iter().all(|e| within(e.tick)) || !notes.iter().all(|n| within(n.tick)) {
            return Err(BatchError::Ticks);
        }
        Ok(Batch { from_tick, through_tick, time_ms, entries, done: saved.done, notes, accounts: Vec::new() })
    }

    /// Reads the output of [`Batch::to_bytes`] with the ticks and the time of the batch. The bytes are untrusted.
    ///
    /// # Errors
    /// Fails if the bytes are damaged or of a newer version, or if the ticks are not in order.
    pub fn read(from_tick: u64, through_tick: u64, time_ms: u64, bytes: &[u8]) -> Result<Batch, BatchError> {
        Batch::from_bytes(Span { from_tick, through_tick, time_ms }, bytes)
    }

    /// Checks whether a store can read the batch back, by its ticks and its time.
    ///
    /// # Errors
    /// Fails if the ticks or the time are not in order or too large.
    pub fn check(&self) -> Result<(), BatchError> {
        self.span().check()
    }

    pub(crate) fn span(&self) -> Span {
        Span { from_tick: self.from_tick, through_tick: self.through_tick, time_ms: self.time_ms }
    }
}

/// The ticks and the time of a batch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) from_tick: u64,
    pub(crate) through_tick: u64,
    pub(crate) time_ms: u64,
}

impl Span {
    /// Checks whether a store accepts a batch with this span, and whether a reader can replay it.
    pub(crate) fn check(&self) -> Result<(), BatchError> {
        let fits = self.through_tick <= TICK_MAX && self.time_ms <= TICK_MAX;
        if fits && may_follow(self.from_tick, self.through_tick) { Ok(()) } else { Err(BatchError::Ticks) }
    }
}

/// Whether a tick may follow another one in a record. Time without changes is not recorded, but a snapshot follows much sooner than
/// after [`BATCH_TICKS_MAX`]. A greater distance is damage, and its replay might never end.
pub(crate) fn may_follow(before: u64, tick: u64) -> bool {
    tick.checked_sub(before).is_some_and(|ticks| ticks <= BATCH_TICKS_MAX)
}

/// The largest tick that the database can store. Its integers have 64 bits with a sign.
pub(crate) const TICK_MAX: u64 = i64::MAX as u64;

#[derive(Wire)]
struct Saved {
    entries: Vec<u8>,
    done: Vec<ActionId>,
    notes: Vec<SavedNote>,
}

#[derive(Wire)]
struct SavedNote {
    /// Ticks since the batch's first tick.
    #[wire(var)]
    ticks: u64,
    bytes: Vec<u8>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast_world::journal::Record;
    use nowcast_world::{Command, PlayerId};
    use proptest::prelude::*;

    fn batch() -> Batch {
        let leave =
            |tick| Entry { tick, record: Record::Command(Command::Leave { player: PlayerId(tick as u32) }) };
        Batch {
            from_tick: 100,
            through_tick: 103,
            time_ms: 1_700_000_000_000,
            entries: vec![leave(100), leave(102), Entry { tick: 103, record: Record::Settled }],
            done: vec![ActionId { client: [3; 16], number: 9 }],
            notes: vec![Note { tick: 101, bytes: b"session 4".to_vec() }],
            accounts: Vec::new(),
        }
    }

    #[test]
    fn the_specification_states_the_structs_of_a_batch() {
        let page = include_str!("../../../spec/STORE.md").split_whitespace().collect::<Vec<_>>().join(" ");
        for shape in [
            nowcast_wire::Shape::of::<Saved>(),
            nowcast_wire::Shape::of::<ActionId>(),
            nowcast_wire::Shape::of::<SavedNote>(),
        ] {
            assert!(page.contains(&format!("struct {shape}")), "{shape}");
        }
    }

    #[test]
    fn a_batch_is_read_back_unchanged() {
        let batch = batch();
        assert_eq!(Batch::from_bytes(batch.span(), &batch.to_bytes()).unwrap(), batch);
        let empty = Batch { entries: Vec::new(), done: Vec::new(), notes: Vec::new(), ..batch };
        assert_eq!(Batch::from_bytes(empty.span(), &empty.to_bytes()).unwrap(), empty);
    }

    #[test]
    fn a_batch_that_is_not_of_its_stretch_is_refused() {
        let bytes = batch().to_bytes();
        for (from_tick, through_tick) in
            [(101, 103), (100, 102), (104, 103), (0, u64::MAX), (0, BATCH_TICKS_MAX + 1)]
        {
            let span = Span { from_tick, through_tick, time_ms: 0 };
            assert!(matches!(Batch::from_bytes(span, &bytes), Err(BatchError::Ticks)), "{span:?}");
        }
    }

    proptest! {
        #[test]
        fn a_damaged_batch_never_panics(place in any::<prop::sample::Index>(), bit in 0..8u8, cut in any::<bool>()) {
            let batch = batch();
            let mut bytes = batch.to_bytes();
            let place = place.index(bytes.len());
            if cut { bytes.truncate(place) } else { bytes[place] ^= 1 << bit }
            let _ = Batch::from_bytes(batch.span(), &bytes);
        }
    }
}
