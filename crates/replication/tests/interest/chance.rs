//! Random numbers for a play.

/// Xorshift, because it is small and gives the same numbers on every machine.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, count: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 33) % u64::from(count.max(1))) as u32
    }

    pub(crate) fn happens(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// From -100 to 100 in steps of 1/8.
    pub(crate) fn coordinate(&mut self) -> f32 {
        self.below(1_600) as f32 / 8.0 - 100.0
    }
}
