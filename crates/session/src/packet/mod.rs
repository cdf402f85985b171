//! Packets, byte by byte (`spec/SESSION.md`, sections 2 to 7). This module has no state, and does not apply the effects of a
//! packet.

mod ack;
mod frame;
mod handshake;
mod reader;

pub use ack::{Ack, RANGES_MAX, REMEMBERED, Ranges, unfold_number};
pub(crate) use ack::{Arrival, Received};
pub use frame::{EventHead, EventKind, Frame, Part, StateHead, States, write};
pub(crate) use handshake::{HELLO, REFUSE, WELCOME};
pub use handshake::{HELLO_BYTES_MIN, Hello, Refuse, Resume, VERSION, Welcome};
pub use reader::{Reader, put_bytes, put_varint, varint_length};

use crate::error::Malformed;

const FLAG_ACK: u8 = 0x01;
const FLAG_RANGES: u8 = 0x02;
/// Size of the flags, the number and the time of a data packet.
pub const HEADER_BYTES: usize = 6;

/// Any packet, read and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet<'a> {
    /// Frames for an open session.
    Data(Data<'a>),
    /// Requests a session.
    Hello(Hello),
    /// Accepts the request.
    Welcome(Box<Welcome>),
    /// Refuses the request.
    Refuse(Refuse),
}

impl<'a> Packet<'a> {
    /// Reads a packet.
    ///
    /// # Errors
    /// Fails if the packet is malformed, or of an unknown type.
    pub fn read(packet: &'a [u8]) -> Result<Self, Malformed> {
        match packet.first() {
            None => Err(Malformed { field: "type", offset: 0 }),
            Some(0x00..=0x7F) => Data::read(packet).map(Packet::Data),
            Some(&HELLO) => Hello::read(packet).map(Packet::Hello),
            Some(&WELCOME) => Welcome::read(packet).map(|welcome| Packet::Welcome(Box::new(welcome))),
            Some(&REFUSE) => Refuse::read(packet).map(Packet::Refuse),
            Some(_) => Err(Malformed { field: "type", offset: 0 }),
        }
    }
}

/// A data packet. All its frames were checked, and none has taken effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data<'a> {
    /// Packet number modulo 2^16.
    pub number_low: u16,
    /// The time at which the packet left, in units of 16 µs, modulo 2^24.
    pub time: u32,
    /// The packets that the peer has received.
    pub ack: Option<Ack<'a>>,
    frames: &'a [u8],
    kinds: Kinds,
}

/// The kinds of frames in a packet, stored so that the frames need not be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kinds {
    is_eliciting: bool,
    /// Whether a later packet would replace all contents.
    is_soon_replaced: bool,
    /// One bit for each lane that has a frame other than WINDOW.
    lanes: u16,
    window_lanes: u16,
}

impl Kinds {
    const NONE: Self = Self { is_eliciting: false, is_soon_replaced: true, lanes: 0, window_lanes: 0 };

    fn note(&mut self, frame: &Frame<'_>) {
        self.is_eliciting |= frame.is_eliciting();
        self.is_soon_replaced &= matches!(
            frame,
            Frame::States(_) | Frame::Replication { .. } | Frame::Window { .. } | Frame::Padding
        );
        let lane = frame.lane().map_or(0, |lane| 1 << lane);
        match frame {
            Frame::Window { .. } => self.window_lanes |= lane,
            _ => self.lanes |= lane,
        }
    }
}

impl<'a> Data<'a> {
    /// Reads and checks a data packet as a whole.
    ///
    /// # Errors
    /// Fails if a frame is malformed. In that case no frame has taken effect.
    pub fn read(packet: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(packet);
        let flags = reader.u8("flags")?;
        let bare_ranges = flags & FLAG_RANGES != 0 && flags & FLAG_ACK == 0;
        if flags & !(FLAG_ACK | FLAG_RANGES) != 0 || bare_ranges {
            return Err(Malformed { field: "flags", offset: 0 });
        }
        let number_low = reader.u16("number")?;
        let time = reader.u24("time")?;
        let ack = match flags & FLAG_ACK {
            0 => None,
            _ => Some(Ack::read(&mut reader, flags & FLAG_RANGES != 0)?),
        };
        let frames = reader.rest();
        let mut kinds = Kinds::NONE;
        while !reader.is_empty() {
            kinds.note(&Frame::read(&mut reader)?);
        }
        Ok(Self { number_low, time, ack, frames, kinds })
    }

    /// Whether the receiver must acknowledge the packet.
    pub fn is_eliciting(&self) -> bool {
        self.kinds.is_eliciting
    }

    /// Whether all frames are STATES, REPLICATION, WINDOW or PADDING.
    pub fn is_soon_replaced(&self) -> bool {
        self.kinds.is_soon_replaced
    }

    /// Returns the number of lanes that the frames with content require, and the number that the WINDOW frames require.
    pub(crate) fn lanes(&self) -> (u32, u32) {
        (u16::BITS - self.kinds.lanes.leading_zeros(), u16::BITS - self.kinds.window_lanes.leading_zeros())
    }

    /// Returns the frames, in the order of the packet.
    pub fn frames(&self) -> impl Iterator<Item = Frame<'a>> + use<'a> {
        let mut reader = Reader::new(self.frames);
        std::iter::from_fn(move || if reader.is_empty() { None } else { Frame::read(&mut reader).ok() })
    }
}

/// Appends the header of a data packet. `ack` holds the received numbers, and the time for which the acknowledgement was held.
pub(crate) fn write_header(out: &mut Vec<u8>, number: u64, time: u32, ack: Option<(&Received, u64)>) {
    let flags_at = out.len();
    out.push(0);
    out.extend_from_slice(&(number as u16).to_le_bytes());
    out.extend_from_slice(&time.to_le_bytes()[..3]);
    if let Some((received, delay)) = ack {
        let has_ranges = received.write(delay, out);
        out[flags_at] = if has_ranges { FLAG_ACK | FLAG_RANGES } else { FLAG_ACK };
    }
}
