//! Reads records.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;

use super::RecordedPacket;
use super::pcapng::{
    BYTE_ORDER, DISSECTOR, INTERFACE_BLOCK, LINK_TYPE, OPTION_END, OPTION_FLAGS, PACKET_BLOCK, PORT_UDP,
    RECEIVED, SECTION_BLOCK, TAG_DISSECTOR, TAG_END, TAG_PORT_TYPE, TAG_SOURCE_PORT, TAG_TARGET_PORT,
};
use nowcast_engine::carrier::CarrierKind;

/// Maximum length of a block. A packet has at most 16 KiB.
const BLOCK_BYTES_MAX: u32 = 1 << 20;

/// The reason why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The file cannot be read.
    #[error("the record cannot be read")]
    Io(#[from] std::io::Error),
    /// The file is not a record of packets, or it is damaged.
    #[error("the file is not a packet capture: {0}")]
    Malformed(&'static str),
}

/// A record of packets. A record that was cut off in a packet ends before that packet.
#[derive(Debug)]
pub struct Recording<R = BufReader<File>> {
    source: R,
}

impl Recording {
    /// Opens a record.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is not in the format of a record.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        Self::read(BufReader::new(File::open(path)?))
    }
}

impl<R: Read> Recording<R> {
    /// Reads a record from a source.
    ///
    /// # Errors
    /// Fails if the source cannot be read, or is not in the format of a record.
    pub fn read(source: R) -> Result<Self, RecordingError> {
        let mut recording = Self { source };
        match recording.block()? {
            Some((SECTION_BLOCK, body)) if body.starts_with(&BYTE_ORDER.to_le_bytes()) => Ok(recording),
            _ => Err(RecordingError::Malformed("it does not begin as a file of pcapng from nowcast")),
        }
    }

    /// Returns the packets, in order.
    pub fn packets(mut self) -> impl Iterator<Item = Result<RecordedPacket, RecordingError>> {
        std::iter::from_fn(move || self.next_packet().transpose())
    }

    fn next_packet(&mut self) -> Result<Option<RecordedPacket>, RecordingError> {
        loop {
            match self.block()? {
                None => return Ok(None),
                Some((INTERFACE_BLOCK, body)) if !body.starts_with(&LINK_TYPE.to_le_bytes()) => {
                    return Err(RecordingError::Malformed("its packets are not exported PDUs"));
                }
                Some((PACKET_BLOCK, body)) => {
                    let packet = packet(&body).ok_or(RecordingError::Malformed("a packet is malformed"))?;
                    return Ok(Some(packet));
                }
                Some(_) => {}
            }
        }
    }

    /// Returns the type and the body of the next block; `None` at the end.
    fn block(&mut self) -> Result<Option<(u32, Vec<u8>)>, RecordingError> {
        let mut head = [0; 8];
        if !self.fill(&mut head)? {
            return Ok(None);
        }
        let [kind, length] =
            [0, 4].map(|at| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
        if !(12..=BLOCK_BYTES_MAX).contains(&length) || !length.is_multiple_of(4) {
            return Err(RecordingError::Malformed("the length of a block is wrong"));
        }
        let mut body = vec![0; length as usize - 8];
        if !self.fill(&mut body)? {
            return Ok(None);
        }
        body.truncate(body.len() - 4);
        Ok(Some((kind, body)))
    }

    /// Returns whether the source had enough bytes.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<bool, RecordingError> {
        match self.source.read_exact(bytes) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

fn packet(body: &[u8]) -> Option<RecordedPacket> {
    let word = |at: usize| Some(u32::from_le_bytes(body.get(at..at + 4)?.try_into().ok()?));
    let micros = u64::from(word(4)?) << 32 | u64::from(word(8)?);
    let length = word(12)? as usize;
    let data = body.get(20..)?.get(..length)?;
    let is_received = flags(body.get(20 + length.next_multiple_of(4)..)?)? & 3 == RECEIVED;
    let (mut rest, mut carrier, mut port_type) = (data, None, 0);
    let mut is_ours = false;
    loop {
        let (tag, value, after) = field(rest, u16::from_be_bytes, 1)?;
        rest = after;
        let number = || Some(u32::from_be_bytes(value.try_into().ok()?));
        match tag {
            TAG_END => break,
            TAG_DISSECTOR => is_ours = value == DISSECTOR,
            TAG_SOURCE_PORT if is_received => carrier = number(),
            TAG_TARGET_PORT if !is_received => carrier = number(),
            TAG_PORT_TYPE => port_type = number()?,
            _ => {}
        }
    }
    Some(RecordedPacket {
        time: Duration::from_micros(micros),
        carrier: carrier.filter(|_| is_ours)?,
        kind: if port_type == PORT_UDP { CarrierKind::WebTransport } else { CarrierKind::WebSocket },
        is_received,
        bytes: Bytes::copy_from_slice(rest),
    })
}

/// Returns the flags of a packet.
fn flags(mut options: &[u8]) -> Option<u32> {
    loop {
        let (code, value, after) = field(options, u16::from_le_bytes, 4)?;
        match code {
            OPTION_END => return None,
            OPTION_FLAGS => return Some(u32::from_le_bytes(value.try_into().ok()?)),
            _ => options = after,
        }
    }
}

/// Reads a number, a length and a value that is filled up to a multiple of `align` bytes. Returns the bytes after them.
fn field(bytes: &[u8], number: fn([u8; 2]) -> u16, align: usize) -> Option<(u16, &[u8], &[u8])> {
    let (code, rest) = bytes.split_first_chunk::<2>()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let length = usize::from(number(*length));
    Some((number(*code), rest.get(..length)?, rest.get(length.next_multiple_of(align)..)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::pcapng;

    fn packets() -> Vec<RecordedPacket> {
        let packet = |number: u32, kind, bytes: &'static [u8]| RecordedPacket {
            time: Duration::from_micros(1_800_000_000_000_000 + u64::from(number)),
            carrier: number,
            kind,
            is_received: number.is_multiple_of(2),
            bytes: Bytes::from_static(bytes),
        };
        vec![
            packet(1, CarrierKind::WebTransport, b"abc"),
            packet(2, CarrierKind::WebSocket, b"12345678"),
            packet(70_000, CarrierKind::WebSocket, b""),
        ]
    }

    fn file() -> Vec<u8> {
        let mut file = pcapng::head();
        packets().iter().for_each(|packet| pcapng::write_packet(packet, &mut file));
        file
    }

    fn read(file: &[u8]) -> Result<Vec<RecordedPacket>, RecordingError> {
        Recording::read(file)?.packets().collect()
    }

    #[test]
    fn written_packets_are_read_back() {
        assert_eq!(read(&file()).expect("the record is valid"), packets());
    }

    #[test]
    fn a_cut_record_ends_before_the_cut_and_other_bytes_are_refused() {
        let file = file();
        for end in 0..file.len() {
            match read(&file[..end]) {
                Ok(found) => assert!(packets().starts_with(&found), "{end}"),
                Err(error) => assert!(end < pcapng::head().len(), "{end}: {error}"),
            }
        }
        for at in 0..file.len() {
            let mut damaged = file.clone();
            damaged[at] ^= 0xFF;
            // Damage is either an error or other bytes; it must not panic.
            let _ = read(&damaged);
        }
        assert!(matches!(read(b"no record"), Err(RecordingError::Malformed(_))));
    }
}
