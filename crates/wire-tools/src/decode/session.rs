//! Packets of sessions (`spec/SESSION.md`, sections 4 to 7).

use nowcast_session::packet::{self, Packet};
use nowcast_session::{CloseCode, LANES_MAX, PART_BYTES};

use super::body::{self, Shapes};
use super::fields::{Fault, Fields, as_is, nothing, units};
use super::replication;

const CHECKSUM_BYTES: usize = 4;
const HAS_ACK: u64 = 1;
const HAS_RANGES: u64 = 2;

/// Whether a session could decode the packet.
pub(super) fn is_packet(bytes: &[u8]) -> bool {
    Packet::read(bytes).is_ok()
}

pub(super) fn packet(fields: &mut Fields<'_>, has_checksum: bool, shapes: &mut Shapes) -> Result<(), Fault> {
    let whole = fields.rest();
    let length = whole.len().saturating_sub(if has_checksum { CHECKSUM_BYTES } else { 0 });
    let walked = fields.within(length, |fields| match fields.rest().first() {
        None => fields.fault("type", "an empty packet, which a receiver drops"),
        Some(0x80) => hello(fields),
        Some(0x81) => welcome(fields),
        Some(0x82) => refuse(fields),
        Some(0..=0x7f) => data(fields, shapes),
        Some(other) => fields.fault("type", format_args!("0x{other:02x} is not a packet type")),
    });
    // The session's own decoder decides whether the packet is valid, because it knows every limit.
    walked.and_then(|()| match Packet::read(&whole[..length]) {
        Ok(_) => Ok(()),
        Err(malformed) => Err(Fault {
            field: malformed.field.to_owned(),
            offset: malformed.offset,
            cause: "out of its bounds (spec/SESSION.md)".to_owned(),
        }),
    })?;
    if has_checksum {
        let is_right = packet::open(whole).is_some();
        let verdict = if is_right { "right" } else { "wrong: the packet is dropped" };
        fields.number(CHECKSUM_BYTES, "checksum", |_| format!("CRC-32C, {verdict}"))?;
    }
    Ok(())
}

fn limits(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.title("limits: accepted by the sender");
    fields.inside(|fields| {
        fields.varint("lanes_max", as_is)?;
        fields.varint("window_bytes", as_is)?;
        fields.varint("message_bytes_max", as_is)?;
        fields.varint("packet_bytes_max", as_is)?;
        fields.varint("idle_timeout_ms", as_is)?;
        fields.varint("resume_timeout_ms", as_is).map(drop)
    })
}

fn clock(fields: &mut Fields<'_>, name: &str) -> Result<(), Fault> {
    fields.number(8, name, |micros| format!("{micros} µs of the sender's clock")).map(drop)
}

fn hello(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.number(1, "type", |_| "HELLO: the initiator begins".into())?;
    fields.take(4, "magic", |magic| format!("\"{}\"", String::from_utf8_lossy(magic)))?;
    fields.varint("version_min", as_is)?;
    fields.varint("version_max", as_is)?;
    fields.take(8, "nonce", |_| "random, of this carrier".into())?;
    clock(fields, "clock")?;
    limits(fields)?;
    let resumes = fields.number(1, "resume", |resume| {
        if resume == 0 { "a new session".into() } else { "resumes a session".into() }
    })?;
    if resumes == 1 {
        fields.take(8, "session", nothing)?;
        fields.take(16, "token", |_| "the session's secret".into())?;
        fields.varint("epoch", |epoch| format!("attempt {epoch} to resume"))?;
    }
    let length = fields.rest().len();
    fields.take(length, "padding", |_| format!("{length} zero bytes"))?;
    Ok(())
}

fn welcome(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.number(1, "type", |_| "WELCOME: the acceptor answers".into())?;
    fields.varint("version", as_is)?;
    fields.take(8, "nonce", |_| "as in HELLO".into())?;
    fields.take(8, "proof", |_| "to be shown by the initiator".into())?;
    fields.take(8, "session", |_| "names the session".into())?;
    fields.take(16, "token", |_| "the session's secret, to resume it".into())?;
    fields.varint("epoch", as_is)?;
    clock(fields, "hello_clock")?;
    clock(fields, "clock")?;
    limits(fields)?;
    fields.end("WELCOME")
}

fn refuse(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.number(1, "type", |_| "REFUSE: there is no session".into())?;
    fields.take(8, "nonce", |_| "as in HELLO".into())?;
    fields.varint("code", code)?;
    fields.varint("version_min", as_is)?;
    fields.varint("version_max", as_is)?;
    text(fields, "text")?;
    fields.end("REFUSE")
}

fn code(code: u64) -> String {
    u32::try_from(code).map_or_else(|_| format!("{code}, too large"), |code| CloseCode(code).to_string())
}

fn text(fields: &mut Fields<'_>, name: &str) -> Result<(), Fault> {
    let length = fields.length(&format!("{name} length"))?;
    if let Err(error) = std::str::from_utf8(&fields.rest()[..length]) {
        return fields.fault(name, error);
    }
    fields.take(length, name, |bytes| format!("\"{}\"", String::from_utf8_lossy(bytes))).map(drop)
}

fn data(fields: &mut Fields<'_>, shapes: &mut Shapes) -> Result<(), Fault> {
    let flags = fields.number(1, "flags", |flags| match flags {
        0 => "a data packet without an acknowledgement".into(),
        HAS_ACK => "a data packet with an acknowledgement".into(),
        3 => "a data packet with an acknowledgement of several ranges".into(),
        _ => "not allowed".into(),
    })?;
    fields.number(2, "number", |number| format!("packet {number} (modulo 65,536)"))?;
    fields.number(3, "time", |time| format!("left at {} (modulo 268 s)", units(time)))?;
    if flags & HAS_ACK != 0 {
        fields.title("acknowledgement");
        fields.inside(|fields| ack(fields, flags))?;
    }
    while !fields.is_empty() {
        frame(fields, shapes)?;
    }
    Ok(())
}

fn ack(fields: &mut Fields<'_>, flags: u64) -> Result<(), Fault> {
    fields.number(2, "largest", |largest| format!("packet {largest} arrived"))?;
    fields.varint("delay", |delay| format!("{} before this one left", units(delay)))?;
    fields.varint("first", |first| format!("and the {first} packets before it"))?;
    if flags & HAS_RANGES != 0 {
        let count = fields.varint("count", |count| format!("{count} further ranges"))?;
        for _ in 0..count {
            fields.varint("gap", |gap| format!("{} did not arrive", gap.saturating_add(1)))?;
            fields.varint("length", |length| format!("{} did", length.saturating_add(1)))?;
        }
    }
    Ok(())
}

fn frame(fields: &mut Fields<'_>, shapes: &mut Shapes) -> Result<(), Fault> {
    let first = fields.rest()[0];
    let lane = first & (LANES_MAX - 1);
    let name = match first {
        0x00 => "PADDING".to_owned(),
        0x01 => "PING: asks for an acknowledgement".to_owned(),
        0x02 => "PROOF: the initiator receives packets sent to it".to_owned(),
        0x03 => "CLOSE: the session is over".to_owned(),
        0x10..=0x1f => format!("STATES on lane {lane}"),
        0x20..=0x2f => format!("EVENT on lane {lane}"),
        0x30..=0x3f => format!("EVENT_PART on lane {lane}"),
        0x40..=0x4f => format!("STATE_PART on lane {lane}"),
        0x50..=0x5f => format!("WINDOW of lane {lane}"),
        0x60..=0x6f => format!("REPLICATION on lane {lane}"),
        other => return fields.fault("frame type", format_args!("0x{other:02x} is not a frame type")),
    };
    fields.number(1, "frame", |_| name)?;
    fields.inside(|fields| match first >> 4 {
        0 => control(fields, first),
        1 => states(fields, lane, shapes),
        2 => event(fields, lane, shapes),
        3 => {
            event_head(fields)?;
            part(fields)
        }
        4 => {
            fields.varint("interval", as_is)?;
            fields.varint("stamp", as_is)?;
            fields.varint("key", as_is)?;
            fields.varint("age", |age| format!("{age} ms"))?;
            part(fields)
        }
        5 => fields.varint("consumed", |consumed| format!("the events below {consumed}")).map(drop),
        _ => {
            let length = fields.length("payload length")?;
            fields.within(length, replication_or_bytes)
        }
    })
}

fn control(fields: &mut Fields<'_>, first: u8) -> Result<(), Fault> {
    match first {
        0x02 => fields.take(8, "proof", |_| "as in WELCOME".into()).map(drop),
        0x03 => {
            fields.varint("code", code)?;
            text(fields, "reason")
        }
        _ => Ok(()),
    }
}

fn states(fields: &mut Fields<'_>, lane: u8, shapes: &mut Shapes) -> Result<(), Fault> {
    fields.varint("interval", |interval| {
        format!("after event {}, before event {interval}", interval as i64 - 1)
    })?;
    fields.varint("stamp", |stamp| format!("{stamp}, from which offsets count"))?;
    while !fields.is_empty() {
        if fields.rest()[0] == 0 {
            fields.number(1, "key", |_| "0: no further record".into())?;
            return Ok(());
        }
        let key = fields.varint("key", as_is)?;
        fields.varint("offset", |offset| format!("{offset} beyond the frame's stamp"))?;
        fields.varint("age", |age| format!("{age} ms"))?;
        let length = fields.length("value length")?;
        value(fields, "value", length, messages_of_a_key(lane, key), shapes)?;
    }
    Ok(())
}

fn event_head(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.varint("number", as_is)?;
    let kind = fields.number(1, "kind", |kind| match kind {
        0 => "an event".into(),
        1 => "a command".into(),
        2 => "a reply".into(),
        3 => "a barrier".into(),
        4 => "expired".into(),
        _ => "not allowed".into(),
    })?;
    fields.varint("before", |before| format!("{before}: sum of the last stamps of its interval"))?;
    if kind == 2 {
        fields.varint("answers", |command| format!("command {command}"))?;
    }
    Ok(())
}

fn event(fields: &mut Fields<'_>, lane: u8, shapes: &mut Shapes) -> Result<(), Fault> {
    event_head(fields)?;
    let length = fields.length("payload length")?;
    value(fields, "payload", length, events_of_a_lane(lane), shapes)
}

fn part(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let total = fields.varint("total", |total| format!("{total} bytes in all parts"))?;
    let index = fields.varint("index", as_is)?;
    let part = PART_BYTES as u64;
    let Some(left) = part.checked_mul(index).and_then(|before| total.checked_sub(before)) else {
        return fields.fault("index", "the index is beyond the last part");
    };
    fields.take(left.min(part) as usize, "part", nothing).map(drop)
}

/// Returns the shapes of the events that a world receives or sends on a lane (`spec/WORLD.md`, section 2).
pub(super) fn events_of_a_lane(lane: u8) -> &'static [&'static str] {
    match lane {
        0 => &["ToWorld", "FromWorld"],
        1 => &["Line", "Said"],
        _ => &[],
    }
}

/// Returns the shapes of the states that a world receives or sends under a key (`spec/WORLD.md`, section 2).
pub(super) fn messages_of_a_key(lane: u8, key: u64) -> &'static [&'static str] {
    match (lane, key >> 32) {
        (0, 0) if key == 1 => &["Controls", "Entity"],
        (0, 0) if key == 2 => &["Steps", "Entity"],
        (0, 0) => &["Entity"],
        (0, 1) => &["Player"],
        (0, 2) => &["Screen"],
        (1, 0) if key == 1 => &["Missed"],
        _ => &[],
    }
}

/// Decodes a value of an application. It may be one of the `expected` messages of a world.
fn value(
    fields: &mut Fields<'_>,
    name: &str,
    length: usize,
    expected: &[&str],
    shapes: &mut Shapes,
) -> Result<(), Fault> {
    let bytes = &fields.rest()[..length];
    fields.take(length, name, body::text_or_nothing)?;
    if length == 0 {
        return Ok(());
    }
    let readings = shapes.readings_on_a_lane(bytes, expected);
    fields.inside(|fields| readings.into_iter().try_for_each(|reading| reading.note(fields)))
}

/// Decodes the movement of a world if possible. Otherwise shows the bytes as an application's own.
fn replication_or_bytes(fields: &mut Fields<'_>) -> Result<(), Fault> {
    if replication::payload(&mut Fields::new(fields.rest())).is_ok() {
        return replication::payload(fields);
    }
    let length = fields.rest().len();
    fields.take(length, "payload", nothing).map(drop)
}
