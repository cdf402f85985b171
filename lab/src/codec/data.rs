//! The input data: stored in the program in compressed form, and checked when it is read.

use std::path::Path;

use nowcast_wire::delta::{Field, Frame, Layout};

use super::{CodecError, Result};

const CUBES: Kept = Kept {
    name: "cubes.i32",
    packed: include_bytes!("../../data/cubes.i32.zst"),
    bytes: 8_649_600,
    crc: 0xfa3f_8ef6,
};
const MOVES: Kept = Kept {
    name: "moves.f64",
    packed: include_bytes!("../../data/moves.f64.zst"),
    bytes: 2_888_016,
    crc: 0x3285_7996,
};
const SAVE: Kept = Kept {
    name: "game-save.json",
    packed: include_bytes!("../../data/game-save.json.zst"),
    bytes: 2_524_904,
    crc: 0xa021_7f80,
};

/// Number of cubes in a frame of `cubes.i32`.
pub(super) const CUBES_PER_FRAME: usize = 901;

struct Kept {
    name: &'static str,
    packed: &'static [u8],
    bytes: usize,
    crc: u32,
}

impl Kept {
    fn open(&self) -> Result<Vec<u8>> {
        let damaged = || CodecError::Data {
            name: self.name.into(),
            reason: "the copy in this program is damaged".into(),
        };
        let bytes = zstd::bulk::decompress(self.packed, self.bytes).map_err(|_| damaged())?;
        if bytes.len() == self.bytes && crc32(&bytes) == self.crc { Ok(bytes) } else { Err(damaged()) }
    }
}

/// Returns the game save as JSON text.
pub(super) fn save() -> Result<Vec<u8>> {
    SAVE.open()
}

/// Positions of entities: first the ids, then six numbers for each frame and entity.
pub(super) struct Moves {
    pub(super) ids: Vec<u32>,
    pub(super) frames: Vec<Vec<[f64; 6]>>,
}

/// Opens the stored `moves.f64`, or a file with that layout.
pub(super) fn moves(input: Option<&Path>) -> Result<Moves> {
    let bytes = input.map_or_else(|| MOVES.open(), read)?;
    let numbers: Vec<f64> = bytes
        .chunks_exact(8)
        .map(|chunk| f64::from_le_bytes(chunk.try_into().expect("eight bytes")))
        .collect();
    let wrong = |reason: &str| CodecError::Data { name: "moves.f64".into(), reason: reason.into() };
    let (&[entities, frames], rest) = numbers.split_first_chunk().ok_or_else(|| wrong("it is too short"))?;
    if !(1.0..=1e6).contains(&entities) || !(1.0..=1e6).contains(&frames) {
        return Err(wrong("the numbers of entities and frames are out of range"));
    }
    let (entities, frames) = (entities as usize, frames as usize);
    if rest.len() != entities + frames * entities * 6 {
        return Err(wrong("its length does not fit its numbers of entities and frames"));
    }
    let (ids, rows) = rest.split_at(entities);
    let rows: Vec<[f64; 6]> = rows.chunks_exact(6).map(|row| row.try_into().expect("six numbers")).collect();
    Ok(Moves {
        ids: ids.iter().map(|&id| id as u32).collect(),
        frames: rows.chunks_exact(entities).map(<[_]>::to_vec).collect(),
    })
}

impl Moves {
    /// Returns the layout with positions in millimetres and angles in 65,536ths of a turn.
    pub(super) fn layout() -> Layout {
        Layout::new(&[Field::Number; 6]).expect("a sound layout")
    }

    pub(super) fn quantised(&self) -> Vec<Frame> {
        let mut order: Vec<usize> = (0..self.ids.len()).collect();
        order.sort_by_key(|&at| self.ids[at]);
        let mut frames: Vec<Frame> = Vec::new();
        for (tick, rows) in self.frames.iter().enumerate() {
            let mut frame = Frame::with_capacity(tick as u32, order.len(), 6);
            for (place, &at) in order.iter().enumerate() {
                let [x, y, z, a, b, c] = rows[at];
                let metres = |value: f64| (value * 1_000.0).round() as i32;
                // An angle continues where it was, so a full turn is no jump.
                let turns = |value: f64, column: usize| {
                    let turns = (value / std::f64::consts::TAU * 65_536.0).round() as i32;
                    let before = frames.last().map_or(0, |frame| frame.values()[place * 6 + column]);
                    before.wrapping_add(i32::from(turns.wrapping_sub(before) as i16))
                };
                let row = [metres(x), metres(y), metres(z), turns(a, 3), turns(b, 4), turns(c, 5)];
                frame.push(self.ids[at], &row);
            }
            frames.push(frame);
        }
        frames
    }
}

/// Returns the layout of position, orientation, interacting. Positions come first, because bodies are hit before they spin.
pub(super) fn cubes_layout() -> Layout {
    let orientation = Field::Orientation { bits: 9 };
    let fields = [Field::Number, Field::Number, Field::Number, orientation, Field::Number];
    Layout::new(&fields).expect("a sound layout")
}

/// Opens the stored `cubes.i32`, or a file with that layout.
pub(super) fn cubes(input: Option<&Path>) -> Result<Vec<Frame>> {
    let bytes = input.map_or_else(|| CUBES.open(), read)?;
    let numbers: Vec<i32> = bytes
        .chunks_exact(4)
        .map(|chunk| i32::from_le_bytes(chunk.try_into().expect("four bytes")))
        .collect();
    if bytes.is_empty() || bytes.len() % (CUBES_PER_FRAME * 8 * 4) != 0 {
        return Err(CodecError::Data {
            name: "cubes.i32".into(),
            reason: "it does not consist of whole frames of 901 cubes".into(),
        });
    }
    let frames = numbers.chunks_exact(CUBES_PER_FRAME * 8).enumerate().map(|(tick, rows)| {
        let mut frame = Frame::with_capacity(tick as u32, CUBES_PER_FRAME, 8);
        for (id, row) in (0..).zip(rows.chunks_exact(8)) {
            let &[largest, a, b, c, x, y, z, interacting] = row else { unreachable!("rows of eight") };
            frame.push(id, &[x, y, z, largest, a, b, c, interacting]);
        }
        frame
    });
    Ok(frames.collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|error| CodecError::Data { name: path.display().to_string(), reason: error.to_string() })
}

fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_data_is_complete() {
        assert_eq!(cubes(None).unwrap().len(), 300);
        let moves = moves(None).unwrap();
        assert_eq!((moves.ids.len(), moves.frames.len()), (1_000, 60));
        assert_eq!(moves.quantised().len(), 60);
        assert!(save().unwrap().starts_with(b"{\"version\":7"));
    }
}
