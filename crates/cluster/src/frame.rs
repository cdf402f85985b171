//! The frames of a room's journal stream. One message of the stream is one frame.

use std::sync::Arc;

use crate::bytes::{Reader, RecordError, put_bytes, put_release, put_server, put_u64, put_version};
use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::release::Release;

/// The largest frame, in bytes. It fits into the default `max_payload` of nats-server (1 MiB) with its headers. A room whose
/// changes do not fit writes a snapshot instead.
pub const FRAME_BYTES_MAX: usize = 1_000_000;
/// The largest batch of changes in a frame, in bytes.
pub const BATCH_BYTES_MAX: usize = FRAME_BYTES_MAX - 100;
/// The largest snapshot, in bytes.
pub const SNAPSHOT_BYTES_MAX: u64 = 1 << 30;

/// A frame of a room's journal.
///
/// # Order
/// A stream is a sequence of epochs. Each begins with a [`Head`], of a greater epoch than all before it, and all frames up to
/// the next head have its epoch. [`Batch`]es have consecutive numbers over all epochs, and each begins at the step at which the
/// last one ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Frame {
    /// The first frame of an owner.
    Head(Head),
    /// The changes of a room between two steps.
    Batch(Batch),
    /// A snapshot is stored and verified.
    Snapshot(SnapshotRef),
}

/// The first frame of an owner: the fence. After it, no append of an earlier owner has the expected last sequence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head {
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The owner.
    pub owner: ServerId,
    /// The release of the owner's program.
    pub release: Release,
}

/// The changes of a room between two steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The number of the batch, from 1 over all epochs of the room.
    pub number: u64,
    /// The step at which the previous batch ended.
    pub from_step: u64,
    /// The step at which the batch ends.
    pub through_step: u64,
    /// The changes, which the cluster does not read.
    pub bytes: Arc<[u8]>,
}

/// A stored snapshot, from which a reader can begin. The object in the object store has the name [`SnapshotRef::object`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SnapshotRef {
    /// The epoch of the owner that wrote the snapshot.
    pub epoch: Epoch,
    /// The last sequence whose changes the snapshot contains. Frames up to it may be purged.
    pub sequence: Sequence,
    /// The number of the last batch that the snapshot contains.
    pub batch_number: u64,
    /// The step of the snapshot.
    pub step: u64,
    /// The hash of the world at this step.
    pub hash: u64,
    /// The SHA-256 of the object.
    pub digest: [u8; 32],
    /// The length of the object, in bytes.
    pub bytes: u64,
}

impl SnapshotRef {
    /// The name of the object.
    #[must_use]
    pub fn object(&self, room: Name) -> String {
        format!("{room}/{}-{}", self.epoch, self.step)
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for number in [self.epoch.0, self.sequence.0, self.batch_number, self.step, self.hash, self.bytes] {
            put_u64(out, number);
        }
        out.extend_from_slice(&self.digest);
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<SnapshotRef, RecordError> {
        let snapshot = SnapshotRef {
            epoch: reader.epoch()?,
            sequence: reader.sequence()?,
            batch_number: reader.u64("batch_number")?,
            step: reader.u64("step")?,
            hash: reader.u64("hash")?,
            bytes: reader.u64("bytes")?,
            digest: reader.array("digest")?,
        };
        if snapshot.bytes > SNAPSHOT_BYTES_MAX {
            return Err(RecordError::Invalid { field: "bytes" });
        }
        Ok(snapshot)
    }
}

impl Frame {
    /// The epoch of the frame's owner.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        match self {
            Frame::Head(head) => head.epoch,
            Frame::Batch(batch) => batch.epoch,
            Frame::Snapshot(snapshot) => snapshot.epoch,
        }
    }

    /// Appends the bytes of the frame.
    pub fn encode(&self, out: &mut Vec<u8>) {
        put_version(out);
        match self {
            Frame::Head(head) => {
                out.push(0);
                put_u64(out, head.epoch.0);
                put_server(out, head.owner);
                put_release(out, head.release);
            }
            Frame::Batch(batch) => {
                out.push(1);
                for number in [batch.epoch.0, batch.number, batch.from_step, batch.through_step] {
                    put_u64(out, number);
                }
                put_bytes(out, &batch.bytes);
            }
            Frame::Snapshot(snapshot) => {
                out.push(2);
                snapshot.encode(out);
            }
        }
    }

    /// Reads a frame. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault, and the field that has it.
    pub fn decode(bytes: &[u8]) -> Result<Frame, RecordError> {
        let mut reader = Reader::new(bytes)?;
        let frame = match reader.u8("kind")? {
            0 => Frame::Head(Head {
                epoch: reader.epoch()?,
                owner: reader.server("owner")?,
                release: reader.release()?,
            }),
            1 => {
                let (epoch, number) = (reader.epoch()?, reader.u64("number")?);
                let (from_step, through_step) = (reader.u64("from_step")?, reader.u64("through_step")?);
                if from_step > through_step {
                    return Err(RecordError::Invalid { field: "through_step" });
                }
                let bytes = reader.bytes("bytes", BATCH_BYTES_MAX)?.into();
                Frame::Batch(Batch { epoch, number, from_step, through_step, bytes })
            }
            2 => Frame::Snapshot(SnapshotRef::read(&mut reader)?),
            _ => return Err(RecordError::Invalid { field: "kind" }),
        };
        reader.end()?;
        Ok(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> Vec<Frame> {
        let owner = ServerId { name: Name::new("b").unwrap(), incarnation: 3 };
        let head = Head { epoch: Epoch(3), owner, release: Release::CURRENT };
        let snapshot = SnapshotRef {
            epoch: Epoch(3),
            sequence: Sequence(12),
            batch_number: 9,
            step: 590,
            hash: 5,
            digest: [9; 32],
            bytes: 1_234,
        };
        vec![
            Frame::Head(head),
            Frame::Batch(Batch {
                epoch: Epoch(3),
                number: 10,
                from_step: 600,
                through_step: 603,
                bytes: b"changes".as_slice().into(),
            }),
            Frame::Snapshot(snapshot),
        ]
    }

    fn bytes_of(frame: &Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        bytes
    }

    #[test]
    fn frames_are_read_back_unchanged() {
        for frame in frames() {
            assert_eq!(Frame::decode(&bytes_of(&frame)), Ok(frame));
        }
    }

    #[test]
    fn the_largest_batch_fits_into_a_frame() {
        let bytes = vec![1; BATCH_BYTES_MAX].into();
        let batch = Batch { epoch: Epoch(u64::MAX), number: 1, from_step: 0, through_step: 9, bytes };
        assert!(bytes_of(&Frame::Batch(batch)).len() <= FRAME_BYTES_MAX);
    }

    #[test]
    fn hostile_frames_are_refused_by_name() {
        for frame in frames() {
            let bytes = bytes_of(&frame);
            for cut in 1..bytes.len() {
                assert!(
                    matches!(Frame::decode(&bytes[..cut]), Err(RecordError::Short { .. })),
                    "{frame:?} {cut}"
                );
            }
            let longer = [bytes.as_slice(), &[0]].concat();
            assert_eq!(Frame::decode(&longer), Err(RecordError::Trailing { bytes: 1 }));
        }
        assert_eq!(Frame::decode(&[2, 3]), Err(RecordError::Invalid { field: "kind" }));
        assert_eq!(Frame::decode(&[1, 0]), Err(RecordError::Version { found: 1 }));
        assert_eq!(
            Frame::decode(&[2, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            Err(RecordError::Invalid { field: "epoch" })
        );
        let mut long = bytes_of(&frames()[1]);
        long[34..38].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(Frame::decode(&long), Err(RecordError::TooLong { field: "bytes", max: BATCH_BYTES_MAX }));
    }

    proptest! {
        #[test]
        fn damaged_frames_never_panic(which in 0..3usize, place in any::<prop::sample::Index>(), bit in 0..8u8) {
            let mut bytes = bytes_of(&frames()[which]);
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            let _ = Frame::decode(&bytes);
        }
    }
}
