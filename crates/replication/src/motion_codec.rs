//! The bytes of motion rows (`spec/MOTION.md`, section 4).

use nowcast_wire::delta::Frame;

use crate::motion::{
    ACCELERATION, DECAY, DECAY_MAX, INERTIA, INERTIA_MAX, MOTION_WIDTH, MotionRow, MotionState, ROTATION,
    SPIN, VELOCITY, components,
};
use crate::payload::PayloadError;
use crate::row::Quantization;

/// Bits of the width of the numbers in a vector. The greatest code stands for 32 bits.
const WIDTH_BITS: u32 = 5;
const WIDE: u32 = 31;

/// Bits of the length of an id.
const ID_LENGTH_BITS: u32 = 6;

/// Maximum size of a frame: an id, five vectors of three numbers, the ratios of inertia and the decay.
pub(crate) const BYTES_MAX: usize = (1 + 38 + 5 * (5 + 96) + 3 + 1 + 5 + 64 + 1 + 5 + 32usize).div_ceil(8);

/// Encodes a frame with at most one motion row. The baseline has one, too.
pub(crate) fn encode(frame: &Frame, quantization: Quantization, baseline: Option<&Frame>) -> Box<[u8]> {
    let (Some(&id), Some(row)) = (frame.ids().first(), row_of(frame)) else { return Box::from([]) };
    let guess = Guess::new(frame.tick(), quantization, baseline);
    let mut bits = BitWriter::default();
    if baseline.is_some() {
        bits.put(u32::from(guess.id != id), 1);
    }
    if baseline.is_none() || guess.id != id {
        let length = u32::BITS - id.leading_zeros();
        bits.put(length, ID_LENGTH_BITS);
        bits.put(id, length);
    }
    let off = |first: usize| [0, 1, 2].map(|axis| row[first + axis].wrapping_sub(guess.row[first + axis]));
    bits.vector(&off(0));
    let largest = row[ROTATION] as u32 & 3;
    let is_other = largest != guess.row[ROTATION] as u32;
    bits.put(u32::from(is_other), 1);
    if is_other {
        bits.put(largest, 2);
    }
    let parts = guess.components(largest as usize);
    bits.vector(&[0, 1, 2].map(|part| row[ROTATION + 1 + part].wrapping_sub(parts[part])));
    bits.vector(&off(VELOCITY));
    bits.vector(&off(SPIN));
    bits.vector(&off(ACCELERATION));
    let has_other_inertia = row[INERTIA..DECAY] != guess.row[INERTIA..DECAY];
    bits.put(u32::from(has_other_inertia), 1);
    if has_other_inertia {
        bits.vector(&row[INERTIA..DECAY]);
    }
    let has_other_decay = row[DECAY] != guess.row[DECAY];
    bits.put(u32::from(has_other_decay), 1);
    if has_other_decay {
        bits.vector(&row[DECAY..]);
    }
    bits.finish()
}

/// Inverts [`encode`] for the frame of `tick`.
pub(crate) fn decode(
    tick: u32,
    bytes: &[u8],
    quantization: Quantization,
    baseline: Option<&Frame>,
) -> Result<Frame, PayloadError> {
    if bytes.is_empty() {
        return Ok(Frame::with_capacity(tick, 0, MOTION_WIDTH));
    }
    let guess = Guess::new(tick, quantization, baseline);
    let mut bits = BitReader { bytes, at: 0 };
    let is_same = baseline.is_some() && bits.take(1)? == 0;
    let id = if is_same {
        guess.id
    } else {
        let length = bits.take(ID_LENGTH_BITS)?;
        bits.take(length)?
    };
    let mut row = guess.row;
    let mut add = |bits: &mut BitReader<'_>, first: usize| -> Result<(), PayloadError> {
        for (value, off) in row[first..first + 3].iter_mut().zip(bits.vector::<3>()?) {
            *value = value.wrapping_add(off);
        }
        Ok(())
    };
    add(&mut bits, 0)?;
    let largest = if bits.take(1)? == 0 { guess.row[ROTATION] as u32 } else { bits.take(2)? };
    let parts = guess.components(largest as usize);
    let off = bits.vector::<3>()?;
    add(&mut bits, VELOCITY)?;
    add(&mut bits, SPIN)?;
    add(&mut bits, ACCELERATION)?;
    row[ROTATION] = largest as i32;
    for part in 0..3 {
        row[ROTATION + 1 + part] = parts[part].wrapping_add(off[part]);
    }
    if bits.take(1)? == 1 {
        row[INERTIA..DECAY].copy_from_slice(&bits.vector::<2>()?);
    }
    if bits.take(1)? == 1 {
        row[DECAY..].copy_from_slice(&bits.vector::<1>()?);
    }
    bits.finish()?;
    let component_max = quantization.motion_units().component_max as i32;
    let is_sound = row[ROTATION + 1..VELOCITY].iter().all(|part| (0..=component_max).contains(part))
        && row[INERTIA..DECAY].iter().all(|ratio| (1..=INERTIA_MAX).contains(ratio))
        && (0..=DECAY_MAX).contains(&row[DECAY]);
    if !is_sound {
        return Err(PayloadError::Range("motion row"));
    }
    let mut frame = Frame::with_capacity(tick, 1, MOTION_WIDTH);
    frame.push(id, &row);
    Ok(frame)
}

/// Returns the motion row of a frame; `None` for a frame without entities.
pub(crate) fn row_of(frame: &Frame) -> Option<&MotionRow> {
    frame.values().first_chunk()
}

/// The row that is expected from the baseline.
struct Guess {
    id: u32,
    row: MotionRow,
    state: Option<MotionState>,
    component_max: f64,
}

impl Guess {
    fn new(tick: u32, quantization: Quantization, baseline: Option<&Frame>) -> Self {
        let component_max = quantization.motion_units().component_max;
        let known = baseline.and_then(|frame| Some((frame.tick(), *frame.ids().first()?, row_of(frame)?)));
        let Some((since, id, row)) = known else {
            return Self { id: 0, row: [0; MOTION_WIDTH], state: None, component_max };
        };
        let mut state = MotionState::of(row, quantization.motion_units());
        state.advance(tick.wrapping_sub(since));
        Self { id, row: state.row(quantization.motion_units()), state: Some(state), component_max }
    }

    fn components(&self, largest: usize) -> [i32; 3] {
        self.state.map_or([0; 3], |state| components(&state.rotation, largest, self.component_max))
    }
}

/// Packs bits into bytes, lowest first.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl BitWriter {
    fn put(&mut self, value: u32, bits: u32) {
        self.held |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.held as u8);
            self.held >>= 8;
            self.count -= 8;
        }
    }

    /// Writes signed numbers with the width of the largest.
    fn vector(&mut self, values: &[i32]) {
        let width = |value: &i32| if *value == 0 { 0 } else { 33 - (value ^ value >> 31).leading_zeros() };
        let code = values.iter().map(width).max().unwrap_or(0).min(WIDE);
        self.put(code, WIDTH_BITS);
        let bits = if code == WIDE { u32::BITS } else { code };
        for value in values {
            self.put(*value as u32 & (u64::from(u32::MAX) >> (u32::BITS - bits)) as u32, bits);
        }
    }

    fn finish(mut self) -> Box<[u8]> {
        if self.count > 0 {
            self.bytes.push(self.held as u8);
        }
        self.bytes.into_boxed_slice()
    }
}

struct BitReader<'a> {
    bytes: &'a [u8],
    /// Number of bits that were read.
    at: usize,
}

impl BitReader<'_> {
    fn take(&mut self, bits: u32) -> Result<u32, PayloadError> {
        if bits > u32::BITS {
            return Err(PayloadError::Range("motion row"));
        }
        let end = self.at + bits as usize;
        if end > self.bytes.len() * 8 {
            return Err(PayloadError::Short("motion row"));
        }
        let first = self.at / 8;
        let mut window = [0; 8];
        let count = (self.bytes.len() - first).min(8);
        window[..count].copy_from_slice(&self.bytes[first..first + count]);
        let held = u64::from_le_bytes(window) >> (self.at % 8);
        self.at = end;
        Ok((held & ((1 << bits) - 1)) as u32)
    }

    fn vector<const N: usize>(&mut self) -> Result<[i32; N], PayloadError> {
        let code = self.take(WIDTH_BITS)?;
        let bits = if code == WIDE { u32::BITS } else { code };
        let mut values = [0; N];
        for value in &mut values {
            let raw = u64::from(self.take(bits)?);
            // The highest of the bits is the sign.
            *value = if bits == 0 { 0 } else { (raw << (64 - bits)) as i64 >> (64 - bits) } as i32;
        }
        Ok(values)
    }

    /// Refuses unread bytes and non-zero filling.
    fn finish(self) -> Result<(), PayloadError> {
        let rest = self.bytes.len() * 8 - self.at;
        let filling = self.bytes.last().map_or(0, |last| u32::from(*last) >> (8 - rest.min(8)));
        let is_full = rest < 8 && filling == 0;
        is_full.then_some(()).ok_or(PayloadError::Range("motion row"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn frame_of(tick: u32, id: u32, row: &MotionRow) -> Frame {
        let mut frame = Frame::with_capacity(tick, 1, MOTION_WIDTH);
        frame.push(id, row);
        frame
    }

    fn rows(quantization: Quantization) -> impl Strategy<Value = MotionRow> {
        let component_max = quantization.motion_units().component_max as i32;
        let numbers = proptest::array::uniform12(prop_oneof![any::<i32>(), -30_000..30_000]);
        let parts = proptest::array::uniform3(0..=component_max);
        let inertia = proptest::array::uniform2(1..=INERTIA_MAX);
        (numbers, 0..4, parts, inertia, 0..=DECAY_MAX).prop_map(
            |(numbers, largest, parts, inertia, decay)| {
                let mut row = [0; MOTION_WIDTH];
                row[..ROTATION].copy_from_slice(&numbers[..3]);
                row[ROTATION] = largest;
                row[ROTATION + 1..VELOCITY].copy_from_slice(&parts);
                row[VELOCITY..INERTIA].copy_from_slice(&numbers[3..]);
                row[INERTIA..DECAY].copy_from_slice(&inertia);
                row[DECAY] = decay;
                row
            },
        )
    }

    fn quantization() -> Quantization {
        Quantization::within(Some(0.01), Some(0.001)).motion()
    }

    proptest! {
        #[test]
        fn rows_survive_encoding_against_any_baseline(
            row in rows(quantization()),
            before in rows(quantization()),
            ids: [u32; 2],
            tick: u32,
            age in 1u32..2_000,
            is_same: bool,
        ) {
            let id = if is_same { ids[1] } else { ids[0] };
            let frame = frame_of(tick, id, &row);
            let baseline = frame_of(tick.wrapping_sub(age), ids[1], &before);
            for baseline in [None, Some(&baseline)] {
                let bytes = encode(&frame, quantization(), baseline);
                prop_assert!(bytes.len() <= BYTES_MAX, "{} bytes", bytes.len());
                prop_assert_eq!(decode(tick, &bytes, quantization(), baseline), Ok(frame.clone()));
                for cut in 1..bytes.len() {
                    prop_assert!(decode(tick, &bytes[..cut], quantization(), baseline).is_err(), "cut at {}", cut);
                }
            }
        }

        #[test]
        fn arbitrary_bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..90),
            before in rows(quantization()),
            age: u32,
        ) {
            let baseline = frame_of(0u32.wrapping_sub(age), 7, &before);
            for baseline in [None, Some(&baseline)] {
                let Ok(frame) = decode(0, &bytes, quantization(), baseline) else { continue };
                let Some(row) = row_of(&frame) else { continue };
                let mut state = MotionState::of(row, quantization().motion_units());
                state.advance(1_000);
                let transform = state.transform();
                prop_assert!(transform.position.iter().chain(&transform.rotation).all(|part| part.is_finite()));
            }
        }
    }

    fn bits_of(values: &[f64]) -> Vec<String> {
        values.iter().map(|value| format!("{:016x}", value.to_bits())).collect()
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// `spec/vectors/world/motion.json`: integrated rows with all intermediate values, and encoded rows.
    #[test]
    fn vectors_of_integration_and_encoding() {
        let fast =
            [512, -20, 7_000, 3, 2_900, 2_100, 1_500, 900, -2_048, 77, 8_192, -4_000, 12_345, 40, -5_023, 0];
        let rows: Vec<(Quantization, MotionRow)> =
            [([65_536, 65_536], 0), ([91_000, 79_000], 192), ([1_200, 65_000], DECAY_MAX)]
                .into_iter()
                .flat_map(|(inertia, decay)| {
                    [quantization(), Quantization::default().motion()].map(|quantization| {
                        let mut row = [0; MOTION_WIDTH];
                        row[..INERTIA].copy_from_slice(&fast);
                        row[INERTIA..DECAY].copy_from_slice(&inertia);
                        row[DECAY] = decay;
                        (quantization, row)
                    })
                })
                .collect();
        let integrated = rows.iter().map(|(quantization, row)| {
            let mut state = MotionState::of(row, quantization.motion_units());
            let mut done = 0;
            let after = [0, 1, 2, 60, 600].map(|steps| {
                state.advance(steps - done);
                done = steps;
                json!({
                    "steps": steps,
                    "position": bits_of(&state.position),
                    "rotation": bits_of(&state.rotation),
                    "velocity": bits_of(&state.velocity),
                    "spin": bits_of(&state.spin),
                    "acceleration": bits_of(&state.acceleration),
                    "row": state.row(quantization.motion_units()).to_vec(),
                })
            });
            json!({ "grain": quantization.to_number(), "row": row.to_vec(), "after": after })
        });
        let tick = 3u32;
        let encoded = rows.iter().zip(rows.iter().skip(2)).enumerate().flat_map(|(at, (before, (quantization, row)))| {
            let frame = frame_of(tick, 70_000 + at as u32, row);
            let baseline = frame_of(tick.wrapping_sub(40), 70_000 + (at as u32 & 2), &before.1);
            [None, Some(baseline)].map(|baseline| {
                let bytes = encode(&frame, *quantization, baseline.as_ref());
                assert_eq!(decode(tick, &bytes, *quantization, baseline.as_ref()), Ok(frame.clone()));
                let told = |frame: &Frame| json!({ "tick": frame.tick(), "id": frame.ids()[0], "row": frame.values() });
                json!({
                    "grain": quantization.to_number(),
                    "baseline": baseline.as_ref().map(told),
                    "frame": told(&frame),
                    "bytes": hex(&bytes),
                })
            })
        });
        let vector = json!({
            "about": "Motion rows: integrated, with the bits of binary64 numbers in hexadecimal, and encoded.",
            "integrated": integrated.collect::<Vec<_>>(),
            "encoded": encoded.collect::<Vec<_>>(),
        });
        let path =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/world/motion.json");
        if std::env::var_os("NOWCAST_BLESS").is_some() {
            std::fs::write(&path, format!("{vector}\n")).unwrap();
        }
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(kept, vector);
    }
}
