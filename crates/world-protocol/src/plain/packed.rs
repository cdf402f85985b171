//! Movement as packed records (section 3.3 of the specification) and the packed input (section 4).

use std::f64::consts::TAU;

use super::DecodeError;
use super::message::{Input, Moved, ServerMessage};

const TYPE_MOVE: u16 = 1;
const TYPE_INPUT: u16 = 2;
const MOVE_HEADER_BYTES: usize = 6;
const INPUT_BYTES: usize = 7;
const BUTTON_RUN: u8 = 1;
const BUTTON_JUMP: u8 = 2;

/// Packs an angle in radians into `bits` bits: round(angle / 2π · 2ⁿ) mod 2ⁿ.
pub fn angle_to_bits(angle: f64, bits: u32) -> u32 {
    let steps = f64::from(1u32 << bits);
    // The result is a whole number in 0..2ⁿ. A value that is not finite becomes 0.
    (angle / TAU * steps).round().rem_euclid(steps) as u32
}

/// The angle in radians, 0..2π, that was packed into `bits` bits.
pub fn angle_from_bits(packed: u32, bits: u32) -> f64 {
    f64::from(packed) * TAU / f64::from(1u32 << bits)
}

/// The layout of one movement record.
pub(super) trait Record {
    const BYTES: usize;
    fn write(out: &mut Vec<u8>, position: [f64; 3], euler: [f64; 3]);
    /// Reads the rest of the record after the id; `bytes` holds `BYTES - 4` bytes.
    fn read(bytes: &[u8]) -> ([f64; 3], [f64; 3]);
}

/// `custom`: three `f64` and three angles of 8 bits.
pub(super) struct Wide;

impl Record for Wide {
    const BYTES: usize = 4 + 3 * 8 + 3;

    fn write(out: &mut Vec<u8>, position: [f64; 3], euler: [f64; 3]) {
        for coordinate in position {
            out.extend_from_slice(&coordinate.to_le_bytes());
        }
        out.extend(euler.map(|angle| angle_to_bits(angle, 8) as u8));
    }

    fn read(bytes: &[u8]) -> ([f64; 3], [f64; 3]) {
        let position = [0, 8, 16].map(|at| f64::from_le_bytes(array(bytes, at)));
        let euler = [24, 25, 26].map(|at| angle_from_bits(u32::from(bytes[at]), 8));
        (position, euler)
    }
}

/// `custom16`: three `f32` and three angles of 16 bits.
pub(super) struct Narrow;

impl Record for Narrow {
    const BYTES: usize = 4 + 3 * 4 + 3 * 2;

    fn write(out: &mut Vec<u8>, position: [f64; 3], euler: [f64; 3]) {
        for coordinate in position {
            out.extend_from_slice(&(coordinate as f32).to_le_bytes());
        }
        for angle in euler {
            out.extend_from_slice(&(angle_to_bits(angle, 16) as u16).to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> ([f64; 3], [f64; 3]) {
        let position = [0, 4, 8].map(|at| f64::from(f32::from_le_bytes(array(bytes, at))));
        let euler =
            [12, 14, 16].map(|at| angle_from_bits(u32::from(u16::from_le_bytes(array(bytes, at))), 16));
        (position, euler)
    }
}

pub(super) fn encode_move<R: Record>(tick: u64, entities: &[Moved]) -> Vec<u8> {
    let mut out = Vec::with_capacity(MOVE_HEADER_BYTES + R::BYTES * entities.len());
    out.extend_from_slice(&TYPE_MOVE.to_le_bytes());
    // At 60 steps a second, the packed tick wraps only after two years.
    out.extend_from_slice(&(tick as u32).to_le_bytes());
    for entity in entities {
        out.extend_from_slice(&entity.id.to_le_bytes());
        let position = [entity.position_x, entity.position_y, entity.position_z];
        R::write(&mut out, position, [entity.euler_x, entity.euler_y, entity.euler_z]);
    }
    out
}

pub(super) fn decode_move<R: Record>(bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
    if bytes.len() < MOVE_HEADER_BYTES {
        return Err(DecodeError::PackedLength {
            field: "move",
            found: bytes.len(),
            expected: MOVE_HEADER_BYTES,
        });
    }
    expect_type(bytes, TYPE_MOVE)?;
    let tick = u32::from_le_bytes(array(bytes, 2));
    let records = bytes[MOVE_HEADER_BYTES..].chunks_exact(R::BYTES);
    if !records.remainder().is_empty() {
        let found = records.remainder().len();
        return Err(DecodeError::PackedLength { field: "last record", found, expected: R::BYTES });
    }
    let entities = records
        .map(|record| {
            let id = u32::from_le_bytes(array(record, 0));
            let ([position_x, position_y, position_z], [euler_x, euler_y, euler_z]) = R::read(&record[4..]);
            Moved { id, position_x, position_y, position_z, euler_x, euler_y, euler_z }
        })
        .collect();
    Ok(ServerMessage::Move { tick: u64::from(tick), entities })
}

pub(super) fn encode_input(input: &Input) -> [u8; INPUT_BYTES] {
    let axis = |value: f64| (value.clamp(-1.0, 1.0) * 127.0).round() as i8;
    let mut out = [0; INPUT_BYTES];
    out[0..2].copy_from_slice(&TYPE_INPUT.to_le_bytes());
    out[2] = axis(input.forward) as u8;
    out[3] = axis(input.right) as u8;
    out[4..6].copy_from_slice(&(angle_to_bits(input.yaw, 16) as u16).to_le_bytes());
    out[6] = if input.run { BUTTON_RUN } else { 0 } | if input.jump { BUTTON_JUMP } else { 0 };
    out
}

pub(super) fn decode_input(bytes: &[u8]) -> Result<Input, DecodeError> {
    if bytes.len() != INPUT_BYTES {
        return Err(DecodeError::PackedLength { field: "input", found: bytes.len(), expected: INPUT_BYTES });
    }
    expect_type(bytes, TYPE_INPUT)?;
    let buttons = bytes[6];
    if buttons & !(BUTTON_RUN | BUTTON_JUMP) != 0 {
        return Err(DecodeError::PackedButtons(buttons & !(BUTTON_RUN | BUTTON_JUMP)));
    }
    let axis = |byte: u8| f64::from((byte as i8).max(-127)) / 127.0;
    Ok(Input {
        forward: axis(bytes[2]),
        right: axis(bytes[3]),
        yaw: angle_from_bits(u32::from(u16::from_le_bytes(array(bytes, 4))), 16),
        run: buttons & BUTTON_RUN != 0,
        jump: buttons & BUTTON_JUMP != 0,
    })
}

fn expect_type(bytes: &[u8], expected: u16) -> Result<(), DecodeError> {
    let found = u16::from_le_bytes(array(bytes, 0));
    if found == expected { Ok(()) } else { Err(DecodeError::PackedType { found, expected }) }
}

/// Copies `N` bytes; the caller has checked that they exist.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}
