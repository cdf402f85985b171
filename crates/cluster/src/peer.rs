//! The messages between two servers, as events on one lane of a channel between them: in order, and at most once.

use std::sync::Arc;

use crate::bytes::{Reader, RecordError, put_bytes, put_name, put_names, put_numbers, put_release, put_u64};
use crate::entry::TAGS_MAX;
use crate::frame::{BATCH_BYTES_MAX, SnapshotRef};
use crate::name::{Epoch, Name, Sequence};
use crate::release::Release;

/// The largest bytes of the sessions of a room in a hand-over.
pub const SESSIONS_BYTES_MAX: usize = 16 << 20;

const VERSION: u8 = 1;

/// A message between two servers about a room.
#[derive(Clone, PartialEq, Debug)]
pub struct PeerMessage {
    /// The room.
    pub room: Name,
    /// The content.
    pub body: PeerBody,
}

/// The content of a message between two servers. All but [`Claim`](PeerBody::Claim) belong to the hand-over that has the
/// target's epoch; others of another epoch are ignored.
#[derive(Clone, PartialEq, Debug)]
pub enum PeerBody {
    /// Asks the receiver to claim a room that no server with a valid lease holds. The directory shows the outcome.
    Claim {
        /// The tags that the room requires.
        requires: Arc<[Name]>,
    },
    /// Source to target: begins a hand-over. The target loads the snapshot.
    Offer {
        /// The epoch that the target takes at the commit.
        epoch: Epoch,
        /// The epoch of the source.
        source_epoch: Epoch,
        /// The release of the source's program.
        release: Release,
        /// The snapshot, after which the target replays commands.
        snapshot: SnapshotRef,
    },
    /// Source to target: the commands of some steps, in order and without gaps from the snapshot on.
    Commands {
        /// The target's epoch.
        epoch: Epoch,
        /// The step at which the previous commands ended.
        from_step: u64,
        /// The step at which the commands end.
        through_step: u64,
        /// The commands, which the cluster does not read.
        bytes: Arc<[u8]>,
    },
    /// Target to source: the target has replayed up to this step, at which the world has this hash.
    Replayed {
        /// The target's epoch.
        epoch: Epoch,
        /// The step.
        step: u64,
        /// The hash of the target's world at the step.
        hash: u64,
    },
    /// Source to target: the source stopped at this step. All commands up to it were sent before.
    Stopped {
        /// The target's epoch.
        epoch: Epoch,
        /// The step.
        step: u64,
        /// The hash of the source's world at the step.
        hash: u64,
        /// The sessions of the room's clients: keys, numbers, unacknowledged events, input buffers. The cluster does not read
        /// them.
        sessions: Arc<[u8]>,
    },
    /// Source to target: the journal has everything up to the source's last step, and this is its last sequence. The target may
    /// append its head.
    Flushed {
        /// The target's epoch.
        epoch: Epoch,
        /// The last sequence of the journal.
        sequence: Sequence,
        /// The number of the last batch.
        batch_number: u64,
    },
    /// Target to source: the target's head is in the journal.
    Committed {
        /// The target's epoch.
        epoch: Epoch,
    },
    /// Either side: the hand-over ends without a commit.
    Cancel {
        /// The target's epoch.
        epoch: Epoch,
        /// The reason.
        why: CancelWhy,
    },
}

/// The reason for which a hand-over ends without a commit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CancelWhy {
    /// The target drains, or does not serve.
    #[error("the target takes no rooms")]
    NotServing,
    /// The releases are not neighbours.
    #[error("the releases of source and target are not neighbours")]
    Release,
    /// The target cannot read or restore the snapshot.
    #[error("the target cannot load the snapshot")]
    Snapshot,
    /// The commands have a gap, or cannot be replayed.
    #[error("the target cannot replay the commands")]
    Replay,
    /// The hashes at one step differ.
    #[error("the worlds of source and target differ")]
    Hash,
    /// A phase took longer than its limit.
    #[error("the hand-over took too long")]
    Timeout,
    /// The other side does not answer, or its lease is over.
    #[error("the link between source and target, or a lease, was lost")]
    Lost,
    /// The journal has another frame where the commit should stand.
    #[error("the journal went on without the hand-over")]
    Overtaken,
}

impl CancelWhy {
    const ALL: [CancelWhy; 8] = [
        CancelWhy::NotServing,
        CancelWhy::Release,
        CancelWhy::Snapshot,
        CancelWhy::Replay,
        CancelWhy::Hash,
        CancelWhy::Timeout,
        CancelWhy::Lost,
        CancelWhy::Overtaken,
    ];
}

impl PeerMessage {
    /// Appends the bytes of the message.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(VERSION);
        put_name(out, self.room);
        match &self.body {
            PeerBody::Claim { requires } => {
                out.push(0);
                put_names(out, requires);
            }
            PeerBody::Offer { epoch, source_epoch, release, snapshot } => {
                out.push(1);
                put_numbers(out, [epoch.0, source_epoch.0]);
                put_release(out, *release);
                snapshot.encode(out);
            }
            PeerBody::Commands { epoch, from_step, through_step, bytes } => {
                out.push(2);
                put_numbers(out, [epoch.0, *from_step, *through_step]);
                put_bytes(out, bytes);
            }
            PeerBody::Replayed { epoch, step, hash } => {
                out.push(3);
                put_numbers(out, [epoch.0, *step, *hash]);
            }
            PeerBody::Stopped { epoch, step, hash, sessions } => {
                out.push(4);
                put_numbers(out, [epoch.0, *step, *hash]);
                put_bytes(out, sessions);
            }
            PeerBody::Flushed { epoch, sequence, batch_number } => {
                out.push(5);
                put_numbers(out, [epoch.0, sequence.0, *batch_number]);
            }
            PeerBody::Committed { epoch } => {
                out.push(6);
                put_u64(out, epoch.0);
            }
            PeerBody::Cancel { epoch, why } => {
                out.push(7);
                put_u64(out, epoch.0);
                out.push(*why as u8);
            }
        }
    }

    /// Reads a message. The bytes are untrusted.
    ///
    /// # Errors
    /// Names the fault, and the field that has it.
    pub fn decode(bytes: &[u8]) -> Result<PeerMessage, RecordError> {
        let mut reader = Reader::new(bytes, VERSION)?;
        let room = reader.name("room")?;
        let body = match reader.u8("kind")? {
            0 => PeerBody::Claim { requires: reader.names("requires", TAGS_MAX)?.into() },
            1 => PeerBody::Offer {
                epoch: reader.epoch()?,
                source_epoch: reader.epoch()?,
                release: reader.release()?,
                snapshot: SnapshotRef::read(&mut reader)?,
            },
            2 => PeerBody::Commands {
                epoch: reader.epoch()?,
                from_step: reader.u64("from_step")?,
                through_step: reader.u64("through_step")?,
                bytes: reader.bytes("bytes", BATCH_BYTES_MAX)?.into(),
            },
            3 => PeerBody::Replayed {
                epoch: reader.epoch()?,
                step: reader.u64("step")?,
                hash: reader.u64("hash")?,
            },
            4 => PeerBody::Stopped {
                epoch: reader.epoch()?,
                step: reader.u64("step")?,
                hash: reader.u64("hash")?,
                sessions: reader.bytes("sessions", SESSIONS_BYTES_MAX)?.into(),
            },
            5 => PeerBody::Flushed {
                epoch: reader.epoch()?,
                sequence: reader.sequence()?,
                batch_number: reader.u64("batch_number")?,
            },
            6 => PeerBody::Committed { epoch: reader.epoch()? },
            7 => {
                let epoch = reader.epoch()?;
                let why = CancelWhy::ALL.get(usize::from(reader.u8("why")?));
                PeerBody::Cancel { epoch, why: *why.ok_or(RecordError::Invalid { field: "why" })? }
            }
            _ => return Err(RecordError::Invalid { field: "kind" }),
        };
        reader.end()?;
        Ok(PeerMessage { room, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages() -> Vec<PeerMessage> {
        let epoch = Epoch(5);
        let snapshot = SnapshotRef {
            epoch: Epoch(4),
            sequence: Sequence(2),
            batch_number: 1,
            step: 60,
            hash: 3,
            digest: [1; 32],
            bytes: 10,
        };
        let bytes: Arc<[u8]> = b"bytes".as_slice().into();
        let mut bodies = vec![
            PeerBody::Claim { requires: [Name::new("eu").unwrap()].into() },
            PeerBody::Offer { epoch, source_epoch: Epoch(4), release: Release::CURRENT, snapshot },
            PeerBody::Commands { epoch, from_step: 60, through_step: 62, bytes: bytes.clone() },
            PeerBody::Replayed { epoch, step: 62, hash: 8 },
            PeerBody::Stopped { epoch, step: 70, hash: 9, sessions: bytes },
            PeerBody::Flushed { epoch, sequence: Sequence(7), batch_number: 6 },
            PeerBody::Committed { epoch },
        ];
        bodies.extend(CancelWhy::ALL.map(|why| PeerBody::Cancel { epoch, why }));
        let room = Name::new("plaza").unwrap();
        bodies.into_iter().map(|body| PeerMessage { room, body }).collect()
    }

    #[test]
    fn messages_are_read_back_unchanged_and_damaged_ones_are_refused() {
        for message in messages() {
            let mut bytes = Vec::new();
            message.encode(&mut bytes);
            assert_eq!(PeerMessage::decode(&bytes), Ok(message.clone()));
            for cut in 1..bytes.len() {
                assert!(PeerMessage::decode(&bytes[..cut]).is_err(), "{message:?} {cut}");
            }
            bytes.push(0);
            assert_eq!(PeerMessage::decode(&bytes), Err(RecordError::Trailing { bytes: 1 }));
        }
    }
}
