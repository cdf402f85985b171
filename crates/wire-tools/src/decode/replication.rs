//! Decodes movement of a world (`spec/WORLD.md`, section 5) and deltas (`spec/DELTA.md`).

use nowcast_replication::Quantization;
use nowcast_wire::delta::{Codec, Linear, Mode};

use super::fields::{Fault, Fields, as_is, nothing};

/// Maximum number of rows of a frame that are shown.
const ROWS_SHOWN_MAX: usize = 20;

/// Decodes a payload of REPLICATION.
pub(super) fn payload(fields: &mut Fields<'_>) -> Result<(), Fault> {
    head_and_groups(fields).map(drop)
}

/// Summarises a payload in one line; `None` if the bytes are not a payload.
pub(super) fn summary(bytes: &[u8]) -> Option<String> {
    let (tick, controls, groups) = head_and_groups(&mut Fields::new(bytes)).ok()?;
    Some(format!("movement at step {tick}, controls {controls}, {groups} groups"))
}

/// Decodes the tick, the number of the input, and the number of groups.
fn head_and_groups(fields: &mut Fields<'_>) -> Result<(u64, u64, usize), Fault> {
    let tick = fields.number(4, "tick", |tick| format!("step {tick} of the world"))?;
    let controls = fields.number(2, "controls", |number| match number {
        0 => "no input of this client was in force yet".into(),
        number => format!("input {number} was in force"),
    })?;
    let mut groups = 0;
    while !fields.is_empty() {
        let first = fields.varint("group and depth", |first| {
            let alike = if first & 4 == 0 { "" } else { ", with the ages of the previous record" };
            let motion = if first & 8 == 0 { "" } else { ", a motion row" };
            format!("group {}, encoded against {} frames{motion}{alike}", first >> 4, first & 3)
        })?;
        fields.inside(|fields| record(fields, first & 3, first & 4 != 0, first & 8 != 0))?;
        groups += 1;
    }
    Ok((tick, controls, groups))
}

fn record(fields: &mut Fields<'_>, depth: u64, is_alike: bool, is_motion: bool) -> Result<(), Fault> {
    if !is_alike {
        fields.varint("age", |age| format!("the frame is {age} steps older than the payload"))?;
    }
    let quantization = if is_alike && !is_motion { None } else { times(fields, depth, is_motion)? };
    let length = fields.length("delta length")?;
    if is_motion {
        return fields.within(length, |fields| fields.take(length, "motion row", nothing).map(drop));
    }
    fields.within(length, |fields| delta(fields, quantization))
}

/// Decodes the ages of the baselines of a record. If the record has no baselines, decodes its quantization.
fn times(fields: &mut Fields<'_>, depth: u64, is_motion: bool) -> Result<Option<Quantization>, Fault> {
    for _ in 0..depth {
        fields.varint("baseline age", |age| format!("encoded against the frame {age} steps before it"))?;
    }
    let mut quantization = None;
    if depth > 0 && is_motion {
        return Ok(None);
    }
    if depth > 0 {
        fields.varint("unchanged ticks", |ticks| {
            format!("nothing changed for {ticks} steps after the first baseline")
        })?;
    } else {
        let number = fields.varint("quantization", |number| {
            let bits = number & 15;
            format!("positions in 1/{} m, orientations of {bits} bits", 1u64 << (number >> 4 & 15))
        })?;
        quantization = u32::try_from(number).ok().and_then(Quantization::of_number);
        if quantization.is_none() {
            return fields.fault("quantization", "outside the range of quantizations");
        }
    }
    Ok(quantization)
}

/// Decodes the header of a packet of `spec/DELTA.md`. Also decodes its rows if the layout is that of a world and the packet has
/// no baselines.
pub(super) fn delta(fields: &mut Fields<'_>, quantization: Option<Quantization>) -> Result<(), Fault> {
    let whole = fields.rest();
    if whole.first().is_some_and(|header| !matches!(header & !0b110, 0 | 0b1001)) {
        return fields.fault("header", "neither the fast nor the small mode of version 2");
    }
    let header = fields.number(1, "header", |header| {
        let mode = if header & 1 == 1 { "small" } else { "fast" };
        format!("{mode} mode, encoded against {} baselines", header >> 1 & 3)
    })?;
    let length = fields.rest().len();
    if header >> 1 & 3 > 0 {
        let why = "ids and rows, which cannot be decoded without the baselines";
        return fields.take(length, "rows", |_| why.into()).map(drop);
    }
    let Some(quantization) = quantization else {
        let why = "ids and rows, in a layout that both ends agreed on beforehand";
        return fields.take(length, "rows", |_| why.into()).map(drop);
    };
    let layout = quantization.layout();
    let width = layout.width();
    let read = Codec::new(layout, Mode::Fast, Linear::default()).decode(0, whole, &[]);
    let baseline = match read {
        Ok(baseline) => baseline,
        Err(error) => return fields.fault("rows", error),
    };
    fields.take(length, "rows", nothing)?;
    let frame = baseline.frame();
    fields.inside(|fields| {
        for (id, row) in frame.ids().iter().zip(frame.values().chunks(width)).take(ROWS_SHOWN_MAX) {
            let [x, y, z] = [row[0], row[1], row[2]]
                .map(|step| f64::from(step) / f64::from(quantization.steps_per_metre()));
            fields.title(format_args!("entity {id}: at {x:.3} {y:.3} {z:.3} m, orientation {:?}", &row[3..]));
        }
        if frame.ids().len() > ROWS_SHOWN_MAX {
            fields.title(format_args!("and {} more", as_is((frame.ids().len() - ROWS_SHOWN_MAX) as u64)));
        }
        Ok(())
    })
}
