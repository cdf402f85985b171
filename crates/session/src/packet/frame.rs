//! Frames (`spec/SESSION.md`, section 7), decoded without copying.

use super::reader::{Reader, put_bytes, put_varint};
use crate::error::{CloseCode, Malformed};
use crate::limits::PART_BYTES;

/// Maximum length of the reason in a CLOSE, in bytes.
const CLOSE_REASON_BYTES_MAX: usize = 128;
const STAMP_MAX: u64 = (1 << 62) - 1;
const LANE_MASK: u8 = 0x0F;

/// One frame of a data packet; its bytes stay in the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame<'a> {
    /// Has no effect.
    Padding,
    /// Requests an acknowledgement.
    Ping,
    /// Proves that the initiator receives packets.
    Proof([u8; 8]),
    /// Ends the session.
    Close {
        /// The code of the end.
        code: CloseCode,
        /// The reason, for people.
        reason: &'a str,
    },
    /// The newest values of keys.
    States(States<'a>),
    /// A whole event, command or reply, a barrier, or the placeholder of an expired command.
    Event {
        /// Number, kind and `before`.
        head: EventHead,
        /// Its content.
        payload: &'a [u8],
    },
    /// Part of a large event.
    EventPart {
        /// The head, as in a whole event.
        head: EventHead,
        /// The part, and the size of the whole message.
        part: Part<'a>,
    },
    /// Part of a large value.
    StatePart {
        /// The lane.
        lane: u8,
        /// The interval that the value belongs to.
        interval: u64,
        /// Key, stamp and age of the value.
        state: StateHead,
        /// The part, and the size of the whole message.
        part: Part<'a>,
    },
    /// The progress of the peer's application.
    Window {
        /// The lane.
        lane: u8,
        /// Events below this number are consumed.
        consumed: u64,
    },
    /// Bytes of a replication source.
    Replication {
        /// The lane.
        lane: u8,
        /// The source's own bytes.
        payload: &'a [u8],
    },
}

/// The first fields in every frame that carries an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHead {
    /// The lane.
    pub lane: u8,
    /// The number of the event: 0, 1, 2, … in the order of the puts.
    pub number: u64,
    /// The kind of event.
    pub kind: EventKind,
    /// The sum of the last stamps of all keys in the interval that this event closes.
    pub before: u64,
}

/// The kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A plain event.
    Event,
    /// An event that expects a reply.
    Command,
    /// The answer to the command of this number.
    Reply(u64),
    /// An event that closes an interval and is not shown to the application.
    Barrier,
    /// The placeholder of an event that expired.
    Expired,
}

impl EventKind {
    /// The number of this kind in the specification.
    pub fn number(self) -> u8 {
        match self {
            EventKind::Event => 0,
            EventKind::Command => 1,
            EventKind::Reply(_) => 2,
            EventKind::Barrier => 3,
            EventKind::Expired => 4,
        }
    }

    fn is_empty(self) -> bool {
        matches!(self, EventKind::Barrier | EventKind::Expired)
    }
}

/// Identifies one value of one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateHead {
    /// The key, greater than 0.
    pub key: u64,
    /// The stamp, which is greater for later values.
    pub stamp: u64,
    /// Time from the production of the value to the departure of the packet, in ms.
    pub age_ms: u64,
}

/// One part of a message that is divided into parts of [`PART_BYTES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Size of the whole message.
    pub total: u64,
    /// The index of this part.
    pub index: u64,
    /// The bytes of this part.
    pub bytes: &'a [u8],
}

/// The records of a STATES frame. They were checked when the frame was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct States<'a> {
    /// The lane.
    pub lane: u8,
    /// The interval that all records belong to.
    pub interval: u64,
    /// The stamp to which the records' offsets are added.
    pub stamp: u64,
    records: &'a [u8],
    /// Whether a zero byte ends the frame. Otherwise the frame ends with the packet.
    pub ended: bool,
}

impl<'a> States<'a> {
    /// The values, in the order of the packet.
    pub fn records(&self) -> impl Iterator<Item = (StateHead, &'a [u8])> + use<'a> {
        let mut reader = Reader::new(self.records);
        let stamp = self.stamp;
        std::iter::from_fn(move || read_record(&mut reader, stamp).ok().flatten())
    }
}

/// Reads one record. Returns `None` at the end of the frame.
fn read_record<'a>(reader: &mut Reader<'a>, stamp: u64) -> Result<Option<(StateHead, &'a [u8])>, Malformed> {
    if reader.is_empty() {
        return Ok(None);
    }
    let key = reader.varint("key")?;
    if key == 0 {
        return Ok(None);
    }
    let at_offset = *reader;
    let offset = reader.varint("offset")?;
    let stamp = stamp
        .checked_add(offset)
        .filter(|stamp| (1..=STAMP_MAX).contains(stamp))
        .ok_or_else(|| at_offset.malformed("offset"))?;
    let age_ms = reader.varint("age")?;
    let value = reader.bytes("value")?;
    Ok(Some((StateHead { key, stamp, age_ms }, value)))
}

impl<'a> Frame<'a> {
    /// Whether the receiver must acknowledge a packet with this frame.
    pub fn is_eliciting(&self) -> bool {
        !matches!(self, Frame::Padding | Frame::Close { .. })
    }

    /// The lane of the frame, if it belongs to one.
    pub fn lane(&self) -> Option<u8> {
        match self {
            Frame::States(states) => Some(states.lane),
            Frame::Event { head, .. } | Frame::EventPart { head, .. } => Some(head.lane),
            Frame::StatePart { lane, .. } | Frame::Window { lane, .. } | Frame::Replication { lane, .. } => {
                Some(*lane)
            }
            Frame::Padding | Frame::Ping | Frame::Proof(_) | Frame::Close { .. } => None,
        }
    }

    pub(crate) fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let start = *reader;
        let kind = reader.u8("frame type")?;
        let lane = kind & LANE_MASK;
        match kind {
            0x00 => Ok(Frame::Padding),
            0x01 => Ok(Frame::Ping),
            0x02 => Ok(Frame::Proof(reader.array("proof")?)),
            0x03 => Ok(Frame::Close {
                code: CloseCode(reader.varint_max(u32::MAX.into(), "code")? as u32),
                reason: reader.text(CLOSE_REASON_BYTES_MAX, "reason")?,
            }),
            0x10..=0x1F => read_states(reader, lane),
            0x20..=0x2F => read_event(reader, lane),
            0x30..=0x3F => {
                let at_kind = *reader;
                let head = read_head(reader, lane)?;
                if head.kind.is_empty() {
                    return Err(at_kind.malformed("kind"));
                }
                Ok(Frame::EventPart { head, part: read_part(reader)? })
            }
            0x40..=0x4F => read_state_part(reader, lane),
            0x50..=0x5F => Ok(Frame::Window { lane, consumed: reader.varint("consumed")? }),
            0x60..=0x6F => Ok(Frame::Replication { lane, payload: reader.bytes("payload")? }),
            _ => Err(start.malformed("frame type")),
        }
    }
}

fn read_states<'a>(reader: &mut Reader<'a>, lane: u8) -> Result<Frame<'a>, Malformed> {
    let interval = reader.varint("interval")?;
    let stamp = reader.varint_max(STAMP_MAX, "stamp")?;
    let start = *reader;
    let mut records = 0;
    let mut ended = false;
    while !reader.is_empty() && !ended {
        match read_record(reader, stamp)? {
            Some(_) => records += 1,
            None => ended = true,
        }
    }
    if records == 0 {
        return Err(start.malformed("records"));
    }
    let used = start.rest().len() - reader.rest().len();
    Ok(Frame::States(States { lane, interval, stamp, records: &start.rest()[..used], ended }))
}

fn read_event<'a>(reader: &mut Reader<'a>, lane: u8) -> Result<Frame<'a>, Malformed> {
    let head = read_head(reader, lane)?;
    let at_payload = *reader;
    let payload = reader.bytes("payload")?;
    if head.kind.is_empty() && !payload.is_empty() {
        return Err(at_payload.malformed("payload"));
    }
    Ok(Frame::Event { head, payload })
}

fn read_head(reader: &mut Reader<'_>, lane: u8) -> Result<EventHead, Malformed> {
    let number = reader.varint("number")?;
    let at_kind = *reader;
    let kind = reader.u8("kind")?;
    let before = reader.varint("before")?;
    let kind = match kind {
        0 => EventKind::Event,
        1 => EventKind::Command,
        2 => EventKind::Reply(reader.varint("answers")?),
        3 => EventKind::Barrier,
        4 => EventKind::Expired,
        _ => return Err(at_kind.malformed("kind")),
    };
    Ok(EventHead { lane, number, kind, before })
}

fn read_state_part<'a>(reader: &mut Reader<'a>, lane: u8) -> Result<Frame<'a>, Malformed> {
    let interval = reader.varint("interval")?;
    let at_stamp = *reader;
    let stamp = reader.varint_max(STAMP_MAX, "stamp")?;
    if stamp == 0 {
        return Err(at_stamp.malformed("stamp"));
    }
    let at_key = *reader;
    let key = reader.varint("key")?;
    if key == 0 {
        return Err(at_key.malformed("key"));
    }
    let age_ms = reader.varint("age")?;
    let part = read_part(reader)?;
    Ok(Frame::StatePart { lane, interval, state: StateHead { key, stamp, age_ms }, part })
}

fn read_part<'a>(reader: &mut Reader<'a>) -> Result<Part<'a>, Malformed> {
    let at_total = *reader;
    let total = reader.varint_max(u32::MAX.into(), "total")?;
    if total <= PART_BYTES as u64 {
        return Err(at_total.malformed("total"));
    }
    let last = (total - 1) / PART_BYTES as u64;
    let index = reader.varint_max(last, "index")?;
    let length = (total - index * PART_BYTES as u64).min(PART_BYTES as u64);
    let bytes = reader.take(length as usize, "part")?;
    Ok(Part { total, index, bytes })
}

/// Functions that append frames to a packet, one for each kind.
pub mod write {
    use super::{EventHead, EventKind, Part, StateHead, put_bytes, put_varint};
    use crate::error::CloseCode;

    /// Appends PING.
    pub fn ping(out: &mut Vec<u8>) {
        out.push(0x01);
    }

    /// Appends PROOF.
    pub fn proof(out: &mut Vec<u8>, proof: &[u8; 8]) {
        out.push(0x02);
        out.extend_from_slice(proof);
    }

    /// Appends CLOSE. A reason that is too long is shortened.
    pub fn close(out: &mut Vec<u8>, code: CloseCode, reason: &str) {
        out.push(0x03);
        put_varint(out, code.0.into());
        let length = reason.floor_char_boundary(super::CLOSE_REASON_BYTES_MAX);
        put_bytes(out, &reason.as_bytes()[..length]);
    }

    /// Appends the beginning of STATES. The records follow.
    pub fn states(out: &mut Vec<u8>, lane: u8, interval: u64, stamp: u64) {
        out.push(0x10 | lane);
        put_varint(out, interval);
        put_varint(out, stamp);
    }

    /// Appends a record of STATES. The frame began with the stamp `base`.
    pub fn record(out: &mut Vec<u8>, base: u64, state: StateHead, value: &[u8]) {
        put_varint(out, state.key);
        put_varint(out, state.stamp - base);
        put_varint(out, state.age_ms);
        put_bytes(out, value);
    }

    /// Appends the end of STATES. This end is needed if another frame follows.
    pub fn states_end(out: &mut Vec<u8>) {
        out.push(0);
    }

    fn head(out: &mut Vec<u8>, kind: u8, head: EventHead) {
        out.push(kind | head.lane);
        put_varint(out, head.number);
        out.push(head.kind.number());
        put_varint(out, head.before);
        if let EventKind::Reply(command) = head.kind {
            put_varint(out, command);
        }
    }

    /// Appends EVENT.
    pub fn event(out: &mut Vec<u8>, event: EventHead, payload: &[u8]) {
        head(out, 0x20, event);
        put_bytes(out, payload);
    }

    /// Appends EVENT_PART.
    pub fn event_part(out: &mut Vec<u8>, event: EventHead, part: Part<'_>) {
        head(out, 0x30, event);
        put_varint(out, part.total);
        put_varint(out, part.index);
        out.extend_from_slice(part.bytes);
    }

    /// Appends STATE_PART.
    pub fn state_part(out: &mut Vec<u8>, lane: u8, interval: u64, state: StateHead, part: Part<'_>) {
        out.push(0x40 | lane);
        put_varint(out, interval);
        put_varint(out, state.stamp);
        put_varint(out, state.key);
        put_varint(out, state.age_ms);
        put_varint(out, part.total);
        put_varint(out, part.index);
        out.extend_from_slice(part.bytes);
    }

    /// Appends WINDOW.
    pub fn window(out: &mut Vec<u8>, lane: u8, consumed: u64) {
        out.push(0x50 | lane);
        put_varint(out, consumed);
    }

    /// Appends the head of REPLICATION, whose payload has `length` bytes.
    pub fn replication_head(out: &mut Vec<u8>, lane: u8, length: usize) {
        out.push(0x60 | lane);
        put_varint(out, length as u64);
    }
}
