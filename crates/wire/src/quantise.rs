//! Quantisers: numbers in steps, unit quaternions by their smallest three components, and angles.
//!
//! All arithmetic uses `f64`, in the order of the specification. So all implementations agree on every bit.

use std::f64::consts::SQRT_2;

use crate::shape::Range;

/// 2π, with the bits that the specification fixes.
const TURN: f64 = std::f64::consts::TAU;

impl Range {
    /// Returns the greatest step number; `None` if the bounds are invalid.
    pub fn max(&self) -> Option<u32> {
        let Self { low, high, step } = *self;
        if !(low.is_finite() && high.is_finite() && step.is_finite() && low < high && step > 0.0) {
            return None;
        }
        let max = ((high - low) / step + 0.5).floor();
        (1.0..=f64::from(u32::MAX)).contains(&max).then_some(max as u32)
    }

    /// Number of bits that the greatest step number needs.
    pub fn bits(&self) -> u32 {
        32 - self.max().unwrap_or(0).leading_zeros()
    }

    /// How many bytes a value takes in plain blocks.
    pub fn width(&self) -> usize {
        self.bits().div_ceil(8) as usize
    }

    /// Returns the step number that is nearest to a value. NaN becomes 0.
    pub fn quantise(&self, value: f64) -> u32 {
        if value.is_nan() {
            return 0;
        }
        let clamped = value.max(self.low).min(self.high);
        let q = ((clamped - self.low) / self.step + 0.5).floor();
        (q as u32).min(self.max().unwrap_or(0))
    }

    /// Returns the value of a step number.
    pub fn dequantise(&self, q: u32) -> f64 {
        self.low + f64::from(q) * self.step
    }
}

/// Converts an angle in radians to a fraction of a turn in `bits` bits. Values that are not finite become 0.
pub fn quantise_angle(radians: f64, bits: u8) -> u16 {
    let steps = f64::from(1u32 << bits);
    let q = (radians / TURN * steps + 0.5).floor().rem_euclid(steps);
    if q.is_finite() { (q as u32 & ((1 << bits) - 1)) as u16 } else { 0 }
}

/// The angle in radians, from 0 up to but not including 2π.
pub fn dequantise_angle(q: u16, bits: u8) -> f64 {
    f64::from(q) * TURN / f64::from(1u32 << bits)
}

/// A unit quaternion, stored by its smallest three components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallestThree {
    /// The index of the omitted component among x, y, z, w.
    pub largest: u8,
    /// The other three components in order, each in 0 ..= 2M.
    pub components: [u16; 3],
}

/// Returns half of the range of a component with `bits` bits. Zero can be represented exactly.
fn half_range(bits: u8) -> u16 {
    (1u16 << (bits - 1)) - 1
}

impl SmallestThree {
    /// Normalises (x, y, z, w), and quantises the result.
    pub fn from_quat(quat: [f64; 4], bits: u8) -> Self {
        let [x, y, z, w] = quat;
        let length = (x * x + y * y + z * z + w * w).sqrt();
        let mut unit =
            if length > 0.0 && length.is_finite() { quat.map(|c| c / length) } else { [0.0, 0.0, 0.0, 1.0] };
        let mut largest = 0;
        for index in 1..4 {
            if unit[index].abs() > unit[largest].abs() {
                largest = index;
            }
        }
        if unit[largest] < 0.0 {
            unit = unit.map(|c| -c);
        }
        let half = f64::from(half_range(bits));
        let quantise = |c: f64| ((c * SQRT_2 * half + 0.5).floor() + half).max(0.0).min(2.0 * half) as u16;
        let mut others = (0..4).filter(|index| *index != largest).map(|index| quantise(unit[index]));
        let components = [(); 3].map(|()| others.next().unwrap_or_default());
        Self { largest: largest as u8, components }
    }

    /// The quaternion (x, y, z, w).
    pub fn to_quat(self, bits: u8) -> [f64; 4] {
        let half = half_range(bits);
        let [a, b, c] =
            self.components.map(|q| (f64::from(q) - f64::from(half)) / (SQRT_2 * f64::from(half)));
        let d = (1.0 - (a * a + b * b + c * c)).max(0.0).sqrt();
        match self.largest {
            0 => [d, a, b, c],
            1 => [a, d, b, c],
            2 => [a, b, d, c],
            _ => [a, b, c, d],
        }
    }

    /// Whether every part is in range.
    pub(crate) fn is_valid(self, bits: u8) -> bool {
        self.largest < 4 && self.components.iter().all(|q| *q <= 2 * half_range(bits))
    }

    /// Packs all four numbers into one, with the index in the lowest two bits.
    pub fn pack(self, bits: u8) -> u64 {
        let [a, b, c] = self.components.map(u64::from);
        u64::from(self.largest) + 4 * (a + ((b + (c << bits)) << bits))
    }

    /// The inverse of [`pack`](Self::pack).
    pub fn unpack(packed: u64, bits: u8) -> Self {
        let mask = (1u64 << bits) - 1;
        let part = |index: u8| (packed >> (2 + index * bits) & mask) as u16;
        Self { largest: (packed & 3) as u8, components: [part(0), part(1), part(2)] }
    }

    /// How many bytes a packed quaternion takes.
    pub fn width(bits: u8) -> usize {
        (2 + 3 * usize::from(bits)).div_ceil(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_its_ends_exactly_and_clamps_beyond() {
        let range = Range { low: -512.0, high: 512.0, step: 0.001 };
        assert_eq!((range.max(), range.bits(), range.width()), (Some(1_024_000), 20, 3));
        assert_eq!(range.quantise(-512.0), 0);
        assert_eq!(range.quantise(1e9), 1_024_000);
        assert_eq!(range.quantise(f64::NAN), 0);
        assert!((range.dequantise(range.quantise(1.2347)) - 1.2347).abs() <= 0.0005);
    }

    #[test]
    fn invalid_bounds_are_refused() {
        for (low, high, step) in
            [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.0, f64::NAN, 1.0), (0.0, 1e300, 1e-300)]
        {
            assert_eq!(Range { low, high, step }.max(), None);
        }
    }

    #[test]
    fn an_angle_wraps_around() {
        assert_eq!(quantise_angle(TURN, 8), 0);
        assert_eq!(quantise_angle(-TURN / 4.0, 8), 192);
        assert_eq!(quantise_angle(f64::INFINITY, 16), 0);
        assert_eq!(dequantise_angle(32_768, 16), std::f64::consts::PI);
    }

    #[test]
    fn the_identity_and_the_axes_survive_exactly() {
        for index in 0..4 {
            let mut quat = [0.0; 4];
            quat[index] = 1.0;
            for bits in 4..=16 {
                let small = SmallestThree::from_quat(quat, bits);
                assert_eq!(small.to_quat(bits), quat);
                assert_eq!(SmallestThree::unpack(small.pack(bits), bits), small);
                assert!(small.is_valid(bits));
            }
        }
    }

    #[test]
    fn a_negated_quaternion_is_the_same_rotation() {
        let quat = [0.1, -0.7, 0.3, 0.64];
        let negated = quat.map(|c: f64| -c);
        assert_eq!(SmallestThree::from_quat(quat, 9), SmallestThree::from_quat(negated, 9));
    }
}
