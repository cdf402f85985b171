//! Converts between frames and bytes (`spec/CARRIERS.md`, section 5). Numbers are little-endian and of fixed length.

use nowcast_queue::{Bounds, Key};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::{BYTES_MAX, ENTRIES_MAX, LANES_MAX, OpenError};

const MAGIC: [u8; 8] = *b"nowcast\x0c";
const VERSION: u32 = 1;

const MESSAGE: u8 = 1;
const RECEIPT: u8 = 2;
const SENDER_CLOSED: u8 = 3;
const RECEIVER_CLOSED: u8 = 4;

/// The greeting of each side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    pub(crate) pid: u32,
    /// The bounds of the lanes on which the sender of the greeting puts messages.
    pub(crate) bounds: Vec<Bounds>,
}

/// The counters of a lane at the receiving side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Receipt {
    /// Number of messages that the receiving program took.
    pub(crate) delivered: u32,
    /// Number of messages that a newer message replaced after they had arrived.
    pub(crate) replaced: u32,
    /// Number of bytes of all these messages.
    pub(crate) bytes: u64,
}

/// All frames after the greeting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Frame {
    Message { lane: usize, key: Key, value: Vec<u8> },
    Receipt { lane: usize, receipt: Receipt },
    SenderClosed,
    ReceiverClosed,
}

/// The reason why no frame could be read.
#[derive(Debug)]
pub(crate) enum Unread {
    /// The connection ended, gracefully or not.
    Gone,
    /// The peer broke the protocol.
    Broken(&'static str),
}

impl From<std::io::Error> for Unread {
    fn from(_: std::io::Error) -> Self {
        Unread::Gone
    }
}

impl Hello {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.pid.to_le_bytes());
        bytes.push(self.bounds.len() as u8);
        for lane in &self.bounds {
            bytes.extend_from_slice(&(lane.entries_max as u32).to_le_bytes());
            bytes.extend_from_slice(&(lane.bytes_max as u64).to_le_bytes());
        }
        bytes
    }

    pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin)) -> Result<Hello, OpenError> {
        let hung_up = |_| OpenError::Handshake("the peer closed the connection");
        let mut magic = [0; MAGIC.len()];
        from.read_exact(&mut magic).await.map_err(hung_up)?;
        if magic != MAGIC {
            return Err(OpenError::Handshake("the greeting is not one of Nowcast"));
        }
        let version = from.read_u32_le().await.map_err(hung_up)?;
        if version != VERSION {
            return Err(OpenError::Version { theirs: version, ours: VERSION });
        }
        let pid = from.read_u32_le().await.map_err(hung_up)?;
        let lanes = usize::from(from.read_u8().await.map_err(hung_up)?);
        let mut bounds = Vec::new();
        for _ in 0..lanes.min(LANES_MAX + 1) {
            let entries_max = from.read_u32_le().await.map_err(hung_up)?;
            let bytes_max = from.read_u64_le().await.map_err(hung_up)?;
            let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
            bounds.push(Bounds { entries_max: entries_max as usize, bytes_max });
        }
        if !are_possible(&bounds) {
            return Err(OpenError::Handshake("the bounds exceed the capacity of a channel"));
        }
        Ok(Hello { pid, bounds })
    }
}

/// Whether a direction can have lanes with these bounds.
pub(crate) fn are_possible(bounds: &[Bounds]) -> bool {
    let fits = |lane: &Bounds| {
        (1..=ENTRIES_MAX).contains(&lane.entries_max) && (1..=BYTES_MAX).contains(&lane.bytes_max)
    };
    (1..=LANES_MAX).contains(&bounds.len()) && bounds.iter().all(fits)
}

pub(crate) fn write_message(lane: usize, key: Key, value: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&[MESSAGE, lane as u8]);
    into.extend_from_slice(&key.raw().to_le_bytes());
    into.extend_from_slice(&(value.len() as u32).to_le_bytes());
    into.extend_from_slice(value);
}

pub(crate) fn write_receipt(lane: usize, receipt: Receipt, into: &mut Vec<u8>) {
    into.extend_from_slice(&[RECEIPT, lane as u8]);
    into.extend_from_slice(&receipt.delivered.to_le_bytes());
    into.extend_from_slice(&receipt.replaced.to_le_bytes());
    into.extend_from_slice(&receipt.bytes.to_le_bytes());
}

pub(crate) fn write_sender_closed(into: &mut Vec<u8>) {
    into.push(SENDER_CLOSED);
}

pub(crate) fn write_receiver_closed(into: &mut Vec<u8>) {
    into.push(RECEIVER_CLOSED);
}

/// Reads one frame. `bounds` are the bounds of the peer's lanes. The reader allocates no more memory than they allow, and no more
/// than the bytes that really arrive.
pub(crate) async fn read(from: &mut (impl AsyncRead + Unpin), bounds: &[Bounds]) -> Result<Frame, Unread> {
    match from.read_u8().await? {
        MESSAGE => {
            let lane = usize::from(from.read_u8().await?);
            let key = Key::from_raw(from.read_u64_le().await?);
            let length = from.read_u32_le().await? as usize;
            let Some(bounds) = bounds.get(lane) else {
                return Err(Unread::Broken("a message on a lane that does not exist"));
            };
            if length > bounds.bytes_max {
                return Err(Unread::Broken("a message larger than its lane"));
            }
            let mut value = Vec::new();
            from.take(length as u64).read_to_end(&mut value).await?;
            if value.len() < length { Err(Unread::Gone) } else { Ok(Frame::Message { lane, key, value }) }
        }
        RECEIPT => {
            let lane = usize::from(from.read_u8().await?);
            let delivered = from.read_u32_le().await?;
            let replaced = from.read_u32_le().await?;
            let bytes = from.read_u64_le().await?;
            Ok(Frame::Receipt { lane, receipt: Receipt { delivered, replaced, bytes } })
        }
        SENDER_CLOSED => Ok(Frame::SenderClosed),
        RECEIVER_CLOSED => Ok(Frame::ReceiverClosed),
        _ => Err(Unread::Broken("a frame of an unknown kind")),
    }
}
