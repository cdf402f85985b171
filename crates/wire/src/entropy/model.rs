//! Adaptive probabilities for single decisions, and numbers that are coded as a few such decisions.

use super::EntropyError;
use super::arith::{Coder, ONE, PROBABILITY_MIN};

/// The learned probability of one decision, and the number of cases from which it was learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    set: u16,
    seen: u16,
}

impl Default for Node {
    fn default() -> Self {
        Self { set: 1 << 15, seen: 0 }
    }
}

impl Node {
    /// Number of cases after which the learning rate stays constant. Earlier cases have more weight, and old cases fade with
    /// about this number of steps.
    const SEEN_MAX: u16 = 120;

    /// Codes one bit, and learns from it.
    ///
    /// # Errors
    /// The errors of the coder.
    #[inline]
    pub fn code<C: Coder>(&mut self, coder: &mut C, bit: bool) -> Result<bool, EntropyError> {
        let set = u32::from(self.set);
        let bit = coder.bit(bit, set)?;
        // The probability always stays between these two values.
        let target = if bit { ONE - PROBABILITY_MIN } else { PROBABILITY_MIN };
        let step = ((target as i32 - set as i32) * RATES[usize::from(self.seen & 127)]) >> 15;
        self.set = (set as i32 + step) as u16;
        self.seen += u16::from(self.seen < Self::SEEN_MAX);
        Ok(bit)
    }
}

/// Number of classes of expected sizes. Each class is a half octave, of sizes in sixteenths.
pub const CLASSES: usize = 36;

/// Codes whole numbers of an expected size.
///
/// A number is coded as three parts: its number of bits beyond the expected number, the highest of its remaining bits, and its
/// sign. All other bits are noise and are written unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    classes: [[Node; NODES]; CLASSES],
}

/// All numbers of bits above this one share a node.
const BITS_MAX: u32 = 11;
const NODE_BELOW: usize = BITS_MAX as usize + 1;
const NODE_SIGN: usize = NODE_BELOW + 6;
const NODES: usize = NODE_SIGN + 6;

impl Default for Numbers {
    fn default() -> Self {
        Self { classes: [[Node::default(); NODES]; CLASSES] }
    }
}

impl Numbers {
    /// Codes `value`. `class` is its expected size, and `lean` (-1, 0, 1) is the likely side of zero.
    ///
    /// # Errors
    /// The errors of the coder, and [`EntropyError::Range`] if the number does not fit into 32 bits.
    #[inline]
    pub fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        value: i32,
        class: usize,
        lean: i32,
    ) -> Result<i32, EntropyError> {
        let nodes = &mut self.classes[class];
        let size = value.unsigned_abs();
        let noise = (class as u32).div_ceil(2).saturating_sub(4);
        let target = 32 - (size >> noise).leading_zeros();
        let mut bits = 0;
        while bits < 32 - noise && nodes[bits.min(BITS_MAX) as usize].code(coder, target > bits)? {
            bits += 1;
        }
        let (mut out, mut left) = if bits == 0 { (0, noise) } else { (1, noise + bits - 1) };
        if left > 0 {
            left -= 1;
            let node = &mut nodes[NODE_BELOW + bits.min(3) as usize];
            out = (out << 1) | u32::from(node.code(coder, (size >> left) & 1 == 1)?);
        }
        if bits > 1 && left > 0 {
            left -= 1;
            let node = &mut nodes[NODE_BELOW + 4 + (out & 1) as usize];
            out = (out << 1) | u32::from(node.code(coder, (size >> left) & 1 == 1)?);
        }
        if left > 0 {
            out = (out << left) | coder.raw(size, left)?;
        }
        if out == 0 {
            return Ok(0);
        }
        let sign = NODE_SIGN + 2 * (lean + 1) as usize + bits.min(1) as usize;
        let negative = nodes[sign].code(coder, value < 0)?;
        let number = if negative { -i64::from(out) } else { i64::from(out) };
        i32::try_from(number).map_err(|_| EntropyError::Range)
    }
}

/// `RATES[n]` is 1 / (n + 1.5), in units of 1/32,768. It is the share of an error that a node corrects after `n` cases.
const RATES: [i32; 128] = {
    let mut rates = [0; 128];
    let mut n = 0;
    while n < rates.len() {
        rates[n] = 65_536 / (2 * n as i32 + 3);
        n += 1;
    }
    rates
};
