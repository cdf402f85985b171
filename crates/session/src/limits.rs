//! The limits of each side. They are exchanged in the handshake and enforced afterwards.

use std::time::Duration;

use crate::error::Malformed;
use crate::packet::{Reader, put_varint};

/// The limits that one side sets for the other (`spec/SESSION.md`, section 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Number of lanes, 1 to 16.
    pub lanes_max: u8,
    /// Maximum cost of a lane's unconsumed messages, in bytes; at least 16,384.
    pub window_bytes: u32,
    /// Maximum payload of a message, in bytes; at least 1,024 and at most a quarter of the window.
    pub message_bytes_max: u32,
    /// Size of one packet, at least 1,200.
    pub packet_bytes_max: u16,
    /// Silence after which the carrier is regarded as dead; at least 100 ms.
    pub idle_timeout: Duration,
    /// Time for which a session without a carrier waits for a new one.
    pub resume_timeout: Duration,
}

/// A lane number fits into four bits.
pub const LANES_MAX: u8 = 16;
/// Every carrier moves packets of at least this size.
pub const PACKET_BYTES_MIN: u16 = 1_200;
/// The cost of a message in addition to its payload.
pub const MESSAGE_COST: u64 = 64;
/// Size of a message's parts, except the last one.
pub const PART_BYTES: usize = 1_024;

const WINDOW_BYTES_MIN: u32 = 16_384;
const MESSAGE_BYTES_MIN: u32 = 1_024;
const IDLE_TIMEOUT_MIN: Duration = Duration::from_millis(100);

const _: () = assert!(MESSAGE_BYTES_MIN <= WINDOW_BYTES_MIN / 4);
const _: () = assert!(PART_BYTES + 128 <= PACKET_BYTES_MIN as usize);

impl Default for Limits {
    fn default() -> Self {
        Self {
            lanes_max: 8,
            window_bytes: 1 << 20,
            message_bytes_max: 1 << 18,
            packet_bytes_max: PACKET_BYTES_MIN,
            idle_timeout: Duration::from_secs(10),
            resume_timeout: Duration::from_secs(60),
        }
    }
}

impl Limits {
    /// Checks all limits against the bounds of the specification.
    ///
    /// # Errors
    /// Returns the name of the first limit that is out of bounds.
    pub fn check(&self) -> Result<(), &'static str> {
        let bounds = [
            ("lanes_max", (1..=LANES_MAX).contains(&self.lanes_max)),
            ("window_bytes", self.window_bytes >= WINDOW_BYTES_MIN),
            (
                "message_bytes_max",
                (MESSAGE_BYTES_MIN..=self.window_bytes / 4).contains(&self.message_bytes_max),
            ),
            ("packet_bytes_max", self.packet_bytes_max >= PACKET_BYTES_MIN),
            ("idle_timeout_ms", self.idle_timeout >= IDLE_TIMEOUT_MIN),
        ];
        bounds.iter().find(|(_, holds)| !holds).map_or(Ok(()), |(name, _)| Err(name))
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let start = *reader;
        let limits = Self {
            lanes_max: reader.varint_max(LANES_MAX.into(), "lanes_max")? as u8,
            window_bytes: reader.varint_max(u32::MAX.into(), "window_bytes")? as u32,
            message_bytes_max: reader.varint_max(u32::MAX.into(), "message_bytes_max")? as u32,
            packet_bytes_max: reader.varint_max(u16::MAX.into(), "packet_bytes_max")? as u16,
            idle_timeout: read_millis(reader, "idle_timeout_ms")?,
            resume_timeout: read_millis(reader, "resume_timeout_ms")?,
        };
        limits.check().map_err(|field| start.malformed(field))?;
        Ok(limits)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        put_varint(out, self.lanes_max.into());
        put_varint(out, self.window_bytes.into());
        put_varint(out, self.message_bytes_max.into());
        put_varint(out, self.packet_bytes_max.into());
        put_varint(out, self.idle_timeout.as_millis() as u64);
        put_varint(out, self.resume_timeout.as_millis() as u64);
    }
}

fn read_millis(reader: &mut Reader<'_>, field: &'static str) -> Result<Duration, Malformed> {
    reader.varint_max(u32::MAX.into(), field).map(Duration::from_millis)
}
