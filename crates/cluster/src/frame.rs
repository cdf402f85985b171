//! The frames of a room's journal stream. One message of the stream is one frame.

use std::sync::Arc;

use nowcast_wire::Wire;

use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::record::{Record, require};
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
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub enum Frame {
    /// The first frame of an owner.
    Head(Head),
    /// The changes of a room between two steps.
    Batch(Batch),
    /// A snapshot is stored and verified.
    Snapshot(SnapshotRef),
}

/// The first frame of an owner: the fence. After it, no append of an earlier owner has the expected last sequence.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
pub struct Head {
    /// The owner's epoch.
    pub epoch: Epoch,
    /// The owner.
    pub owner: ServerId,
    /// The release of the owner's program.
    pub release: Release,
}

/// The changes of a room between two steps.
#[derive(Clone, PartialEq, Eq, Debug, Wire)]
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
    pub bytes: Arc<Vec<u8>>,
}

/// A stored snapshot, from which a reader can begin. The object in the object store has the name [`SnapshotRef::object`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Wire)]
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
}

impl Record for Frame {
    fn check(&self) -> Result<(), &'static str> {
        require(self.epoch() > Epoch(0), "epoch")?;
        match self {
            Frame::Head(head) => require(head.owner.name.is_valid(), "owner"),
            Frame::Batch(batch) => {
                require(batch.from_step <= batch.through_step, "through_step")?;
                require(batch.bytes.len() <= BATCH_BYTES_MAX, "bytes")
            }
            Frame::Snapshot(snapshot) => require(snapshot.bytes <= SNAPSHOT_BYTES_MAX, "bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordError;
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
                bytes: b"changes".to_vec().into(),
            }),
            Frame::Snapshot(snapshot),
        ]
    }

    #[test]
    fn frames_are_read_back_unchanged() {
        for frame in frames() {
            assert_eq!(Frame::from_bytes(&frame.to_bytes()), Ok(frame));
        }
    }

    #[test]
    fn the_largest_batch_fits_into_a_frame() {
        let bytes = vec![1; BATCH_BYTES_MAX].into();
        let (epoch, number) = (Epoch(u64::MAX), u64::MAX);
        let batch = Frame::Batch(Batch { epoch, number, from_step: 0, through_step: u64::MAX, bytes });
        assert!(batch.to_bytes().len() <= FRAME_BYTES_MAX);
        assert_eq!(Frame::from_bytes(&batch.to_bytes()), Ok(batch));
    }

    #[test]
    fn hostile_frames_are_refused_by_name() {
        for frame in frames() {
            let bytes = frame.to_bytes();
            for cut in 1..bytes.len() {
                let read = Frame::from_bytes(&bytes[..cut]);
                assert!(matches!(read, Err(RecordError::Damaged(_))), "{frame:?} {cut}");
            }
            let longer = [bytes.as_slice(), &[0]].concat();
            assert!(matches!(Frame::from_bytes(&longer), Err(RecordError::Damaged(_))));
        }
        assert_eq!(Frame::from_bytes(&[2, 0]), Err(RecordError::Version { found: 2 }));
        let long = Batch {
            epoch: Epoch(1),
            number: 1,
            from_step: 0,
            through_step: 1,
            bytes: vec![0; BATCH_BYTES_MAX + 1].into(),
        };
        let long = Frame::from_bytes(&Frame::Batch(long).to_bytes());
        assert_eq!(long, Err(RecordError::Invalid { field: "bytes" }));
    }

    proptest! {
        #[test]
        fn damaged_frames_never_panic(which in 0..3usize, place in any::<prop::sample::Index>(), bit in 0..8u8) {
            let mut bytes = frames()[which].to_bytes();
            let place = place.index(bytes.len());
            bytes[place] ^= 1 << bit;
            let _ = Frame::from_bytes(&bytes);
        }
    }
}
