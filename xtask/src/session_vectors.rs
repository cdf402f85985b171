//! A second reader of `spec/SESSION.md`, written from that page alone. It decodes the vectors without code of either
//! implementation. So the page alone defines the bytes, not a program.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

/// Checks all vectors below `spec_dir/vectors/session`. Returns the number of vectors.
pub(crate) fn check(spec_dir: &Path) -> anyhow::Result<usize> {
    let read = |name: &str| -> anyhow::Result<Value> {
        let path = spec_dir.join("vectors/session").join(name);
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))
    };
    let packets = read("packets.json")?;
    let mut count = 0;
    for case in list(&packets["valid"])? {
        let decoded =
            packet(&unhex(&case["hex"])?).with_context(|| format!("valid packet {}", case["name"]))?;
        ensure!(decoded == case["packet"], "{}: read as {decoded}", case["name"]);
        count += 1;
    }
    for case in list(&packets["malformed"])? {
        ensure!(packet(&unhex(&case["hex"])?).is_err(), "{} must not be readable", case["name"]);
        count += 1;
    }
    count += numbers(&read("numbers.json")?)?;
    for script in list(&read("release.json")?)? {
        release(script).with_context(|| format!("script {}", script["name"]))?;
        count += 1;
    }
    count += round_trips(&read("rtt.json")?)?;
    Ok(count)
}

/// Section 2: reads fields from the front of a packet.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, length: usize) -> anyhow::Result<&'a [u8]> {
        ensure!(length <= self.0.len(), "cut");
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        Ok(taken)
    }

    fn fixed(&mut self, length: usize) -> anyhow::Result<u64> {
        Ok(self.take(length)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn varint(&mut self) -> anyhow::Result<u64> {
        let mut number = 0u128;
        for index in 0..10 {
            let byte = self.fixed(1)?;
            number |= u128::from(byte & 0x7F) << (7 * index);
            if byte < 0x80 {
                ensure!(byte != 0 || index == 0, "overlong");
                return Ok(u64::try_from(number)?);
            }
        }
        bail!("a varint of more than ten bytes")
    }

    fn between(&mut self, min: u64, max: u64) -> anyhow::Result<u64> {
        let number = self.varint()?;
        ensure!((min..=max).contains(&number), "{number} is out of bounds");
        Ok(number)
    }

    fn bytes(&mut self) -> anyhow::Result<&'a [u8]> {
        let length = self.varint()?;
        self.take(usize::try_from(length)?)
    }

    fn text(&mut self, length_max: usize) -> anyhow::Result<&'a str> {
        let bytes = self.bytes()?;
        ensure!(bytes.len() <= length_max, "too long a text");
        Ok(std::str::from_utf8(bytes)?)
    }

    fn hex(&mut self, length: usize) -> anyhow::Result<String> {
        Ok(hex(self.take(length)?))
    }
}

fn packet(bytes: &[u8]) -> anyhow::Result<Value> {
    let mut fields = Fields(bytes);
    match fields.fixed(1)? {
        flags @ 0x00..=0x7F => data(flags, &mut fields),
        0x80 => hello(bytes.len(), &mut fields),
        0x81 => welcome(&mut fields),
        0x82 => refuse(&mut fields),
        kind => bail!("unknown packet type {kind}"),
    }
}

/// Section 4: HELLO.
fn hello(length: usize, fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    ensure!(fields.take(4)? == b"NOWC", "not the magic");
    let (version_min, version_max) = (fields.varint()?, fields.varint()?);
    ensure!(version_min <= version_max, "versions upside down");
    let (nonce, clock, limits) = (fields.hex(8)?, fields.fixed(8)?, limits(fields)?);
    let resume = match fields.fixed(1)? {
        0 => Value::Null,
        1 => resume(fields)?,
        other => bail!("resume is {other}"),
    };
    ensure!(length >= 160 && fields.0.iter().all(|&byte| byte == 0), "padding");
    Ok(json!({
        "type": "hello", "version_min": number(version_min), "version_max": number(version_max), "nonce": nonce,
        "clock": number(clock), "limits": limits, "resume": resume,
    }))
}

fn resume(fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    Ok(json!({ "session": fields.hex(8)?, "token": fields.hex(16)?, "epoch": number(fields.varint()?) }))
}

fn welcome(fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    let welcome = json!({
        "type": "welcome", "version": number(fields.varint()?), "nonce": fields.hex(8)?, "proof": fields.hex(8)?,
        "resume": resume(fields)?, "hello_clock": number(fields.fixed(8)?), "clock": number(fields.fixed(8)?),
        "limits": limits(fields)?,
    });
    ensure!(fields.0.is_empty(), "goes on");
    Ok(welcome)
}

fn refuse(fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    let refuse = json!({
        "type": "refuse", "nonce": fields.hex(8)?, "code": fields.between(0, u32::MAX.into())?,
        "version_min": number(fields.varint()?), "version_max": number(fields.varint()?), "text": fields.text(64)?,
    });
    ensure!(fields.0.is_empty(), "goes on");
    Ok(refuse)
}

/// Section 9: the limits.
fn limits(fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    let most = u64::from(u32::MAX);
    let lanes_max = fields.between(1, 16)?;
    let window_bytes = fields.between(16_384, most)?;
    Ok(json!({
        "lanes_max": lanes_max, "window_bytes": window_bytes,
        "message_bytes_max": fields.between(1_024, window_bytes / 4)?,
        "packet_bytes_max": fields.between(1_200, u16::MAX.into())?,
        "idle_timeout_ms": fields.between(100, most)?, "resume_timeout_ms": fields.between(0, most)?,
    }))
}

/// Sections 5 and 6: data packets.
fn data(flags: u64, fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    ensure!(matches!(flags, 0 | 1 | 3), "flags");
    let (number_low, time) = (fields.fixed(2)?, fields.fixed(3)?);
    let mut ack = Value::Null;
    if flags & 1 != 0 {
        let (largest_low, delay, first) = (fields.fixed(2)?, fields.varint()?, fields.varint()?);
        let count = if flags & 2 == 0 { 0 } else { fields.between(1, 31)? };
        let mut ranges = Vec::new();
        for _ in 0..count {
            ranges.push(json!([number(fields.varint()?), number(fields.varint()?)]));
        }
        ack = json!({
            "largest_low": largest_low, "delay": number(delay), "first": number(first), "ranges": ranges,
        });
    }
    let mut frames = Vec::new();
    while !fields.0.is_empty() {
        frames.push(frame(fields)?);
    }
    Ok(json!({ "type": "data", "number_low": number_low, "time": time, "ack": ack, "frames": frames }))
}

/// Section 7: frames.
fn frame(fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    let kind = fields.fixed(1)?;
    let lane = kind & 0x0F;
    Ok(match kind {
        0x00 => json!({ "type": "padding" }),
        0x01 => json!({ "type": "ping" }),
        0x02 => json!({ "type": "proof", "proof": fields.hex(8)? }),
        0x03 => {
            json!({ "type": "close", "code": fields.between(0, u32::MAX.into())?, "reason": fields.text(128)? })
        }
        0x10..=0x1F => states(lane, fields)?,
        0x20..=0x2F => {
            let (mut event, _) = event("event", lane, fields)?;
            let payload = fields.bytes()?;
            ensure!(payload.is_empty() || event["kind"].as_u64() < Some(3), "a payload where there is none");
            event["payload"] = hex(payload).into();
            event
        }
        0x30..=0x3F => {
            let (event, kind) = event("event_part", lane, fields)?;
            ensure!(kind < 3, "kinds without parts");
            with_part(event, fields)?
        }
        0x40..=0x4F => {
            let interval = fields.varint()?;
            let stamp = fields.between(1, (1 << 62) - 1)?;
            let key = fields.between(1, u64::MAX)?;
            let state = json!({
                "type": "state_part", "lane": lane, "interval": number(interval), "stamp": number(stamp),
                "key": number(key), "age": number(fields.varint()?),
            });
            with_part(state, fields)?
        }
        0x50..=0x5F => json!({ "type": "window", "lane": lane, "consumed": number(fields.varint()?) }),
        0x60..=0x6F => json!({ "type": "replication", "lane": lane, "payload": hex(fields.bytes()?) }),
        _ => bail!("unknown frame {kind}"),
    })
}

fn states(lane: u64, fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    let (interval, base) = (fields.varint()?, fields.varint()?);
    let (mut records, mut ended) = (Vec::new(), false);
    while !fields.0.is_empty() && !ended {
        let key = fields.varint()?;
        if key == 0 {
            ended = true;
            continue;
        }
        let stamp = base.checked_add(fields.varint()?).context("a stamp beyond its bound")?;
        ensure!((1..1 << 62).contains(&stamp), "a stamp out of bounds");
        let age = number(fields.varint()?);
        records.push(json!({
            "key": number(key), "stamp": number(stamp), "age": age, "value": hex(fields.bytes()?),
        }));
    }
    ensure!(!records.is_empty(), "no records");
    Ok(json!({
        "type": "states", "lane": lane, "interval": number(interval), "stamp": number(base), "records": records,
        "ended": ended,
    }))
}

fn event(name: &str, lane: u64, fields: &mut Fields<'_>) -> anyhow::Result<(Value, u64)> {
    let (count, kind, before) = (fields.varint()?, fields.fixed(1)?, fields.varint()?);
    ensure!(kind <= 4, "unknown kind of event");
    let mut event = json!({
        "type": name, "lane": lane, "number": number(count), "kind": kind, "before": number(before),
    });
    if kind == 2 {
        event["answers"] = number(fields.varint()?);
    }
    Ok((event, kind))
}

fn with_part(mut frame: Value, fields: &mut Fields<'_>) -> anyhow::Result<Value> {
    let total = fields.between(1_025, u32::MAX.into())?;
    let index = fields.between(0, total.div_ceil(1_024) - 1)?;
    let part = fields.take((total - 1_024 * index).min(1_024) as usize)?;
    frame["total"] = number(total);
    frame["index"] = number(index);
    frame["part"] = hex(part).into();
    Ok(frame)
}

/// Checks `numbers.json`.
fn numbers(file: &Value) -> anyhow::Result<usize> {
    let mut count = 0;
    for case in list(&file["packet_numbers"])? {
        let (low, expected) = (whole(&case["low"])?, case["largest_received"].as_u64().map_or(0, |n| n + 1));
        let candidates =
            (0..3).filter_map(|turn| ((expected >> 16) + turn).checked_sub(1).map(|high| high << 16 | low));
        // If two numbers are equally near, the larger one counts. So the order is by distance, and then downwards.
        let nearest =
            candidates.min_by_key(|&n| (n.abs_diff(expected), u64::MAX - n)).context("a candidate")?;
        ensure!(Some(nearest) == case["number"].as_u64(), "{case}: {nearest}");
        count += 1;
    }
    for case in list(&file["acknowledgements"])? {
        let ack = &packet(&unhex(&case["hex"])?)?["ack"];
        let ranges = resolve(ack, case["largest_sent"].as_u64())?;
        ensure!(ranges.map_or(Value::Null, |ranges| json!(ranges)) == case["ranges"], "{case}");
        count += 1;
    }
    for case in list(&file["varints"])? {
        let bytes = unhex(&case["hex"])?;
        ensure!(number(Fields(&bytes).varint()?) == case["value"], "{case}");
        count += 1;
    }
    Ok(count)
}

/// Section 6: returns the acknowledged numbers, or nothing if they were never sent.
fn resolve(ack: &Value, sent: Option<u64>) -> anyhow::Result<Option<Vec<(u64, u64)>>> {
    let Some(sent) = sent else { return Ok(None) };
    let low = whole(&ack["largest_low"])?;
    let Some(largest) = (sent.saturating_sub(65_535)..=sent).rev().find(|n| n % 65_536 == low) else {
        return Ok(None);
    };
    let mut at = i128::from(largest) - i128::from(whole(&ack["first"])?);
    let mut ranges = vec![(at, i128::from(largest))];
    for range in list(&ack["ranges"])? {
        let high = at - i128::from(whole(&range[0])?) - 2;
        at = high - i128::from(whole(&range[1])?);
        ranges.push((at, high));
    }
    let all =
        ranges.into_iter().map(|(low, high)| Some((u64::try_from(low).ok()?, u64::try_from(high).ok()?)));
    Ok(all.collect())
}

/// Section 8: a receiving lane.
#[derive(Default)]
struct Lane {
    next: u64,
    stamps: BTreeMap<(u64, u64), u64>,
    held: Vec<(u64, u64, String)>,
    events: BTreeMap<u64, (u64, u64, String)>,
    parts: BTreeMap<(u64, u64), (u64, BTreeMap<u64, String>)>,
    shown: Vec<Value>,
    late: u64,
}

impl Lane {
    fn state(&mut self, interval: u64, key: u64, stamp: u64, value: String) {
        if interval < self.next || self.stamps.get(&(interval, key)).is_some_and(|&kept| kept >= stamp) {
            self.late += 1;
            return;
        }
        self.stamps.insert((interval, key), stamp);
        match self.held.iter_mut().find(|held| (held.0, held.1) == (interval, key)) {
            Some(held) => held.2 = value,
            None => self.held.push((interval, key, value)),
        }
        self.release();
    }

    fn event(&mut self, count: u64, kind: u64, before: u64, payload: String) {
        if count < self.next || self.events.contains_key(&count) {
            self.late += 1;
            return;
        }
        self.events.insert(count, (kind, before, payload));
        self.release();
    }

    fn release(&mut self) {
        loop {
            let next = self.next;
            let (open, later): (Vec<_>, Vec<_>) = self.held.drain(..).partition(|held| held.0 == next);
            self.held = later;
            for (_, key, value) in open {
                self.show_state(key, value);
            }
            let sum: u64 =
                self.stamps.iter().filter(|((interval, _), _)| *interval == next).map(|(_, s)| s).sum();
            let Some((kind, before, payload)) = self.events.get(&next) else { return };
            if *before != sum {
                return;
            }
            if *kind < 3 {
                self.shown.push(json!({ "event": number(next), "kind": kind, "payload": payload }));
            }
            self.next += 1;
        }
    }

    /// Unconsumed values are replaced in place, back to the last event that was shown.
    fn show_state(&mut self, key: u64, value: String) {
        let since = self.shown.iter().rposition(|shown| shown["value"].is_null()).map_or(0, |at| at + 1);
        let state = json!({ "key": number(key), "value": value });
        match self.shown[since..].iter_mut().find(|shown| shown["key"] == state["key"]) {
            Some(shown) => *shown = state,
            None => self.shown.push(state),
        }
    }

    fn part(&mut self, frame: &Value) -> anyhow::Result<()> {
        let is_state = frame["type"] == "state_part";
        let (place, key, stamp) = if is_state {
            (whole(&frame["interval"])?, whole(&frame["key"])?, whole(&frame["stamp"])?)
        } else {
            (whole(&frame["number"])?, 0, 0)
        };
        let is_done = if is_state {
            self.stamps.get(&(place, key)).is_some_and(|&kept| kept >= stamp)
        } else {
            self.events.contains_key(&place)
        };
        let assembly = self.parts.entry((place, key)).or_default();
        if place < self.next || is_done || assembly.0 > stamp {
            self.late += 1;
            return Ok(());
        }
        if assembly.0 < stamp {
            *assembly = (stamp, BTreeMap::new());
        }
        assembly.1.insert(whole(&frame["index"])?, frame["part"].as_str().context("a part")?.to_owned());
        if assembly.1.len() as u64 == whole(&frame["total"])?.div_ceil(1_024) {
            let payload: String = assembly.1.values().map(String::as_str).collect();
            self.parts.remove(&(place, key));
            if is_state {
                self.state(place, key, stamp, payload);
            } else {
                self.event(place, whole(&frame["kind"])?, whole(&frame["before"])?, payload);
            }
        }
        Ok(())
    }
}

fn release(script: &Value) -> anyhow::Result<()> {
    let mut lane = Lane::default();
    for step in list(&script["steps"])? {
        let Some(bytes) = step.get("frame") else {
            let shown = std::mem::take(&mut lane.shown);
            ensure!(json!(shown) == step["consume"], "shown {shown:?}");
            continue;
        };
        let frame = frame(&mut Fields(&unhex(bytes)?))?;
        match frame["type"].as_str() {
            Some("states") => {
                for record in list(&frame["records"])? {
                    let (key, stamp) = (whole(&record["key"])?, whole(&record["stamp"])?);
                    let value = record["value"].as_str().context("a value")?.to_owned();
                    lane.state(whole(&frame["interval"])?, key, stamp, value);
                }
            }
            Some("event") => {
                let payload = frame["payload"].as_str().context("a payload")?.to_owned();
                let kind = whole(&frame["kind"])?;
                lane.event(whole(&frame["number"])?, kind, whole(&frame["before"])?, payload);
            }
            _ => lane.part(&frame)?,
        }
    }
    ensure!(Some(lane.late) == script["late"].as_u64(), "{} were late", lane.late);
    Ok(())
}

/// Section 14: the round-trip estimation after RFC 9002.
fn round_trips(file: &Value) -> anyhow::Result<usize> {
    let (mut smoothed, mut variation, mut minimum) = (0, 0, u64::MAX);
    let steps = list(file)?;
    for step in steps {
        let (sample, delay) = (whole(&step["sample"])?, whole(&step["ack_delay"])?);
        minimum = minimum.min(sample);
        if smoothed == 0 {
            (smoothed, variation) = (sample, sample / 2);
        } else {
            let adjusted = sample.checked_sub(delay).filter(|&without| without >= minimum).unwrap_or(sample);
            variation = (3 * variation + smoothed.abs_diff(adjusted)) / 4;
            smoothed = (7 * smoothed + adjusted) / 8;
        }
        let found = json!([smoothed, variation, minimum]);
        ensure!(found == json!([step["smoothed"], step["variation"], step["minimum"]]), "{step}: {found}");
    }
    Ok(steps.len())
}

fn list(value: &Value) -> anyhow::Result<&Vec<Value>> {
    value.as_array().context("a list is missing")
}

/// Reads a number. A number is text if JavaScript cannot represent it.
fn whole(value: &Value) -> anyhow::Result<u64> {
    match value.as_str() {
        Some(text) => Ok(text.parse()?),
        None => value.as_u64().with_context(|| format!("{value} is not a number")),
    }
}

fn number(number: u64) -> Value {
    if number <= 1 << 53 { json!(number) } else { json!(number.to_string()) }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(value: &Value) -> anyhow::Result<Vec<u8>> {
    let text = value.as_str().context("hexadecimal text is missing")?;
    ensure!(text.len() % 2 == 0 && text.is_ascii(), "not hexadecimal");
    (0..text.len()).step_by(2).map(|at| Ok(u8::from_str_radix(&text[at..at + 2], 16)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_written_from_the_page_alone_reads_the_vectors() {
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../spec");
        assert!(check(&spec).unwrap() > 80);
    }
}
