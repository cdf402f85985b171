//! Random numbers that depend only on a seed.

/// SplitMix64 (Steele, Lea and Flood 2014). The seed is its whole state, and the sequence of a seed never changes.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// Makes the sequence of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 to `end - 1`; `end` must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.number() % end
    }

    /// Returns a number that is evenly distributed in 0..1.
    pub fn share(&mut self) -> f64 {
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true `percent` times in a hundred.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
