//! Reading a journal: the state that a new owner restores.

use crate::frame::{Batch, Frame, SnapshotRef};
use crate::name::{Epoch, Sequence};

/// A part of a journal stream.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct JournalPage {
    /// The sequence of the first message that the stream still has; one more than the last one if it has none.
    pub first: Sequence,
    /// The last sequence of the stream.
    pub last: Sequence,
    /// The frames after the requested sequence, in order. A page may end before the last sequence.
    pub frames: Vec<(Sequence, Frame)>,
}

/// The reason why a journal cannot be restored. Nothing is written to such a journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum JournalError {
    /// Frames are missing before the oldest one, and no snapshot replaces them.
    #[error(
        "the journal begins at sequence {first} without a snapshot: somebody purged the stream. Restore the stream, or delete the room"
    )]
    Purged {
        /// The first sequence.
        first: Sequence,
    },
    /// A frame is missing.
    #[error("sequence {found} follows sequence {after}: somebody deleted messages of the stream")]
    Hole {
        /// The sequence before the hole.
        after: Sequence,
        /// The sequence after the hole.
        found: Sequence,
    },
    /// A frame has an epoch that does not fit.
    #[error("a frame of epoch {found} stands in epoch {expected}: another program writes into the stream")]
    Epoch {
        /// The epoch of the last head.
        expected: Epoch,
        /// The epoch of the frame.
        found: Epoch,
    },
    /// A batch has a number or a step that does not fit.
    #[error("batch {found} stands where batch {expected} belongs")]
    Batch {
        /// The expected number.
        expected: u64,
        /// The found number.
        found: u64,
    },
}

/// The state of a room as its journal describes it: the newest snapshot, and the batches after it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Recovery {
    /// The last sequence that was read.
    pub last: Sequence,
    /// The newest epoch.
    pub epoch: Epoch,
    /// The newest snapshot.
    pub snapshot: Option<SnapshotRef>,
    /// The batches after the snapshot, in order, each with its sequence.
    pub batches: Vec<(Sequence, Batch)>,
    first: Option<Sequence>,
}

impl Recovery {
    /// Adds the next page. The caller requested the frames after [`last`](Recovery::last).
    ///
    /// # Errors
    /// Fails if the frames do not follow each other.
    pub fn read(&mut self, page: JournalPage) -> Result<(), JournalError> {
        for (sequence, frame) in page.frames {
            let is_first = *self.first.get_or_insert(sequence) == sequence;
            if !is_first && sequence != self.last.next() {
                return Err(JournalError::Hole { after: self.last, found: sequence });
            }
            self.last = sequence;
            self.add(sequence, frame)?;
        }
        Ok(())
    }

    /// Checks the whole journal, after its last frame was added. `page_last` is the last sequence of the stream.
    ///
    /// # Errors
    /// Fails if something is missing before the frames.
    pub fn check(&self, page_last: Sequence) -> Result<(), JournalError> {
        let first = self.first.unwrap_or(page_last.next());
        match self.snapshot {
            Some(snapshot) if snapshot.sequence.next() >= first => {}
            None if first == Sequence(1) => {}
            _ => return Err(JournalError::Purged { first }),
        }
        let expected = self.snapshot.map_or(1, |snapshot| snapshot.batch_number + 1);
        match self.batches.first() {
            Some((_, batch)) if batch.number != expected => {
                Err(JournalError::Batch { expected, found: batch.number })
            }
            _ => Ok(()),
        }
    }

    /// The number of the last batch; 0 if there is none.
    #[must_use]
    pub fn batch_number(&self) -> u64 {
        let in_snapshot = self.snapshot.map_or(0, |snapshot| snapshot.batch_number);
        self.batches.last().map_or(in_snapshot, |(_, batch)| batch.number)
    }

    /// The step at which the last batch ends; 0 if there is none.
    #[must_use]
    pub fn step(&self) -> u64 {
        let in_snapshot = self.snapshot.map_or(0, |snapshot| snapshot.step);
        self.batches.last().map_or(in_snapshot, |(_, batch)| batch.through_step)
    }

    fn add(&mut self, sequence: Sequence, frame: Frame) -> Result<(), JournalError> {
        let found = frame.epoch();
        let fits = match &frame {
            Frame::Head(_) => found > self.epoch,
            // The head of the first remaining frames may be purged.
            _ => found == self.epoch || self.epoch == Epoch(0),
        };
        if !fits {
            return Err(JournalError::Epoch { expected: self.epoch, found });
        }
        self.epoch = found;
        match frame {
            Frame::Head(_) | Frame::Resume(_) => {}
            Frame::Batch(batch) => {
                if let Some((_, last)) = self.batches.last()
                    && (last.number + 1, last.through_step) != (batch.number, batch.from_step)
                {
                    return Err(JournalError::Batch { expected: last.number + 1, found: batch.number });
                }
                self.batches.push((sequence, batch));
            }
            Frame::Snapshot(snapshot) => {
                self.batches.retain(|(_, batch)| batch.number > snapshot.batch_number);
                self.snapshot = Some(snapshot);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Head;
    use crate::name::tests::server;
    use crate::release::Release;

    fn head(epoch: u64) -> Frame {
        let owner = server("a", epoch);
        Frame::Head(Head { epoch: Epoch(epoch), owner, release: Release::CURRENT, hand_over: None })
    }

    fn batch(epoch: u64, number: u64) -> Frame {
        let (from_step, through_step) = ((number - 1) * 3, number * 3);
        Frame::Batch(Batch { epoch: Epoch(epoch), number, from_step, through_step, bytes: [].into() })
    }

    fn snapshot(epoch: u64, sequence: u64, batch_number: u64) -> Frame {
        Frame::Snapshot(SnapshotRef {
            epoch: Epoch(epoch),
            sequence: Sequence(sequence),
            batch_number,
            step: batch_number * 3,
            hash: 0,
            digest: [0; 32],
            bytes: 0,
        })
    }

    fn recover(first: u64, frames: Vec<Frame>) -> Result<Recovery, JournalError> {
        let last = Sequence(first + frames.len() as u64 - 1);
        let frames = (first..).map(Sequence).zip(frames).collect();
        let mut recovery = Recovery::default();
        recovery.read(JournalPage { first: Sequence(first), last, frames })?;
        recovery.check(last)?;
        Ok(recovery)
    }

    #[test]
    fn a_purged_journal_is_restored_from_its_snapshot() {
        let frames =
            vec![head(1), batch(1, 1), batch(1, 2), batch(1, 3), snapshot(1, 3, 2), head(2), batch(2, 4)];
        let whole = recover(1, frames.clone()).unwrap();
        let purged = recover(4, frames[3..].to_vec()).unwrap();
        for recovery in [whole, purged] {
            assert_eq!((recovery.epoch, recovery.last), (Epoch(2), Sequence(7)));
            assert_eq!((recovery.batch_number(), recovery.step()), (4, 12));
            assert_eq!(recovery.batches.iter().map(|(_, batch)| batch.number).collect::<Vec<_>>(), [3, 4]);
        }
    }

    #[test]
    fn a_journal_that_somebody_purged_or_wrote_into_is_refused_by_name() {
        assert_eq!(recover(3, vec![batch(1, 2)]), Err(JournalError::Purged { first: Sequence(3) }));
        assert_eq!(recover(5, vec![]), Err(JournalError::Purged { first: Sequence(5) }));
        let late = recover(5, vec![batch(1, 4), snapshot(1, 3, 2)]);
        assert_eq!(late, Err(JournalError::Purged { first: Sequence(5) }));
        let stale = recover(1, vec![head(2), head(2)]);
        assert_eq!(stale, Err(JournalError::Epoch { expected: Epoch(2), found: Epoch(2) }));
        let foreign = recover(1, vec![head(2), batch(1, 1)]);
        assert_eq!(foreign, Err(JournalError::Epoch { expected: Epoch(2), found: Epoch(1) }));
        let skipped = recover(1, vec![head(1), batch(1, 1), batch(1, 3)]);
        assert_eq!(skipped, Err(JournalError::Batch { expected: 2, found: 3 }));
        let mut recovery = Recovery::default();
        let frames = vec![(Sequence(1), head(1)), (Sequence(3), batch(1, 1))];
        let hole = recovery.read(JournalPage { first: Sequence(1), last: Sequence(3), frames });
        assert_eq!(hole, Err(JournalError::Hole { after: Sequence(1), found: Sequence(3) }));
    }
}
