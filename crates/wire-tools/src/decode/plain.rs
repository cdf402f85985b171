//! Messages of the plain protocol (`spec/PLAIN.md`).

use serde_json::Value;

use super::fields::{Fault, Fields, as_is};

/// Maximum number of records and entities of one message that are shown.
const RECORDS_SHOWN_MAX: usize = 32;
const MOVE: u64 = 1;
const INPUT: u64 = 2;
const INPUT_BYTES: usize = 7;
const HEAD_BYTES: usize = 6;
/// For `custom16` and for `custom`: the sizes of a record, a coordinate and an angle, in bytes.
const RECORDS: [(usize, usize, usize); 2] = [(22, 4, 2), (31, 8, 1)];

pub(super) fn message(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let bytes = fields.rest();
    if bytes.trim_ascii_start().starts_with(b"{") {
        return object(fields);
    }
    let kind = bytes.first_chunk().map_or(0, |kind| u64::from(u16::from_le_bytes(*kind)));
    match kind {
        MOVE => movement(fields),
        INPUT if bytes.len() == INPUT_BYTES => input(fields),
        INPUT => fields.fault("input", format_args!("an input has {INPUT_BYTES} bytes, not {}", bytes.len())),
        other => fields.fault("type", format_args!("{other} is neither a move nor an input")),
    }
}

fn object(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let bytes = fields.rest();
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(error) => return fields.fault("message", error),
    };
    let Some(kind) = value.get("type").and_then(Value::as_str) else {
        return fields.fault("type", "every message has a text `type`");
    };
    fields.take(bytes.len(), "message", |_| format!("{kind}, an object of the plain protocol"))?;
    fields.inside(|fields| {
        for (key, value) in value.as_object().into_iter().flatten() {
            match value.as_array().filter(|items| items.iter().any(Value::is_object)) {
                None => fields.title(format_args!("{key}: {value}")),
                Some(items) => {
                    fields.title(format_args!("{key}: {}", items.len()));
                    list(fields, items)?;
                }
            }
        }
        Ok(())
    })
}

/// Adds a line for each kind, action and entity.
fn list(fields: &mut Fields<'_>, items: &[Value]) -> Result<(), Fault> {
    fields.inside(|fields| {
        items.iter().take(RECORDS_SHOWN_MAX).for_each(|item| fields.title(item));
        if items.len() > RECORDS_SHOWN_MAX {
            fields.title(format_args!("and {} more", items.len() - RECORDS_SHOWN_MAX));
        }
        Ok(())
    })
}

fn movement(fields: &mut Fields<'_>) -> Result<(), Fault> {
    let length = fields.rest().len().saturating_sub(HEAD_BYTES);
    let Some((record, coordinate, angle)) =
        RECORDS.into_iter().find(|(record, ..)| length.is_multiple_of(*record))
    else {
        return fields
            .fault("record", format_args!("{length} bytes do not consist of records of 22 or of 31 bytes"));
    };
    fields.number(2, "type", |_| "move".into())?;
    fields.number(4, "tick", |tick| format!("step {tick} of the world"))?;
    for _ in 0..(length / record).min(RECORDS_SHOWN_MAX) {
        fields.number(4, "id", as_is)?;
        fields.inside(|fields| {
            for name in ["x", "y", "z"] {
                fields.take(coordinate, name, |bytes| format!("{} m", float(bytes)))?;
            }
            for name in ["eulerX", "eulerY", "eulerZ"] {
                let turn = (1_u64 << (8 * angle)) as f64;
                fields.number(angle, name, |part| {
                    format!("{:.4} rad", part as f64 / turn * std::f64::consts::TAU)
                })?;
            }
            Ok(())
        })?;
    }
    let rest = fields.rest().len();
    if rest > 0 {
        fields.take(rest, "records", |_| format!("{} more", rest / record))?;
    }
    Ok(())
}

fn float(bytes: &[u8]) -> f64 {
    match bytes.try_into() {
        Ok(bytes) => f64::from_le_bytes(bytes),
        Err(_) => bytes.try_into().map_or(f64::NAN, |bytes| f32::from_le_bytes(bytes).into()),
    }
}

fn input(fields: &mut Fields<'_>) -> Result<(), Fault> {
    fields.number(2, "type", |_| "input".into())?;
    let control = |part: u64| format!("{:.3}", f64::from((part as u8).cast_signed().max(-127)) / 127.0);
    fields.number(1, "forward", control)?;
    fields.number(1, "right", control)?;
    fields.number(2, "yaw", |yaw| format!("{:.4} rad", yaw as f64 / 65_536.0 * std::f64::consts::TAU))?;
    fields.number(1, "buttons", |buttons| format!("run {}, jump {}", buttons & 1, buttons >> 1 & 1))?;
    Ok(())
}
