//! Adaptive probabilities: several contexts each have an opinion of the next bit, and a mixer learns whom to trust.

use super::EntropyError;
use super::arith::{Coder, ONE, PROBABILITY_MIN};

/// How many contexts have a say in each bit of a number.
pub const VOICES: usize = 4;

/// Nodes of the decision tree by which a [`Numbers`] codes one number.
pub const NODES: usize = 40;

/// What one context has learnt about one decision: how likely the bit is set, and from how many cases.
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
    /// The first cases count most; from then on, old cases fade with this many steps.
    const SEEN_MAX: u16 = 120;

    #[inline]
    fn learn(&mut self, bit: bool) {
        let target = if bit { 0xffff } else { 0 };
        let step = ((target - i32::from(self.set)) * RATES[usize::from(self.seen)]) >> 15;
        self.set = (i32::from(self.set) + step) as u16;
        self.seen = (self.seen + 1).min(Self::SEEN_MAX);
    }
}

/// Weights of the voices for one kind of decision, as 16.16 fixed point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mixer {
    weights: [i32; VOICES],
}

impl Default for Mixer {
    fn default() -> Self {
        Self { weights: [WEIGHT_START; VOICES] }
    }
}

const WEIGHT_START: i32 = 18_000;
/// Keeps the sum of four products below 2^31.
const WEIGHT_MAX: i32 = (1 << 18) - 1;
const LEARN_SHIFT: u32 = 14;

/// Codes one bit by the mixed opinion of the nodes, and lets them learn from it.
#[inline]
pub fn mixed<C: Coder>(
    coder: &mut C,
    bit: bool,
    nodes: [&mut Node; VOICES],
    mixer: &mut Mixer,
) -> Result<bool, EntropyError> {
    let mut stretched = [0i32; VOICES];
    let mut sum = 0i32;
    for voice in 0..VOICES {
        stretched[voice] = i32::from(TABLES.stretch[usize::from(nodes[voice].set >> 4)]);
        sum += mixer.weights[voice] * stretched[voice];
    }
    let set = i32::from(TABLES.squash[((sum >> 16).clamp(-2047, 2047) + 2048) as usize]);
    let bit = coder.bit(bit, set as u32)?;
    let error = (if bit { 0xffff } else { 0 }) - set;
    for (weight, stretched) in mixer.weights.iter_mut().zip(stretched) {
        let step = (stretched * error + (1 << (LEARN_SHIFT - 1))) >> LEARN_SHIFT;
        *weight = (*weight + step).clamp(-WEIGHT_MAX, WEIGHT_MAX);
    }
    for node in nodes {
        node.learn(bit);
    }
    Ok(bit)
}

/// Codes one bit by the opinion of one node, and lets it learn from it.
#[inline]
fn single<C: Coder>(coder: &mut C, bit: bool, node: &mut Node) -> Result<bool, EntropyError> {
    let bit = coder.bit(bit, u32::from(node.set).clamp(PROBABILITY_MIN, ONE - PROBABILITY_MIN))?;
    node.learn(bit);
    Ok(bit)
}

/// Contexts and mixers for whole numbers.
///
/// A number is coded as: its width (how many bits its distance from zero has), its sign, and the two highest of those bits below
/// the leading one. The rest is noise and is written as it is. The width is told by steps away from an expected one,
/// upwards or downwards, so that large numbers take no more decisions than small ones where they are expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Numbers {
    voices: [Vec<[Node; NODES]>; VOICES],
    mixers: Vec<[Mixer; NODES]>,
}

/// Widths from here on share their nodes.
const WIDTHS: usize = 12;
const NODE_UP: usize = 0;
const NODE_DOWN: usize = NODE_UP + WIDTHS;
const NODE_SIGN: usize = NODE_DOWN + WIDTHS;
const NODE_FIRST: usize = NODE_SIGN + 1;
const NODE_SECOND: usize = NODE_FIRST + 5;
const _: () = assert!(NODE_SECOND + 10 == NODES);

impl Numbers {
    /// `contexts` says how many contexts each voice tells apart, `kinds` how many sets of weights there are.
    pub fn new(contexts: [usize; VOICES], kinds: usize) -> Self {
        Self {
            voices: contexts.map(|count| vec![[Node::default(); NODES]; count]),
            mixers: vec![[Mixer::default(); NODES]; kinds],
        }
    }

    /// Codes `value` in the given context of each voice, where its width is expected to be near `expected`.
    ///
    /// # Errors
    /// Those of the coder, and [`EntropyError::Range`] if the number does not fit 32 bits.
    pub fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        value: i32,
        contexts: [usize; VOICES],
        kind: usize,
        expected: u32,
    ) -> Result<i32, EntropyError> {
        let [a, b, c, d] = &mut self.voices;
        let [a, b, c, d] =
            [&mut a[contexts[0]], &mut b[contexts[1]], &mut c[contexts[2]], &mut d[contexts[3]]];
        let mixers = &mut self.mixers[kind];
        let mut decide = |coder: &mut C, node: usize, bit: bool| {
            mixed(coder, bit, [&mut a[node], &mut b[node], &mut c[node], &mut d[node]], &mut mixers[node])
        };
        let shared = |width: u32| (width as usize).min(WIDTHS - 1);
        let size = value.unsigned_abs();
        let target = 32 - size.leading_zeros();
        let mut width = expected;
        if decide(coder, NODE_UP + shared(width), target > width)? {
            width += 1;
            while width < 32 && decide(coder, NODE_UP + shared(width), target > width)? {
                width += 1;
            }
        } else {
            while width > 0 && decide(coder, NODE_DOWN + shared(width), target < width)? {
                width -= 1;
            }
        }
        if width == 0 {
            return Ok(0);
        }
        let negative = decide(coder, NODE_SIGN, value < 0)?;
        let mut out = 1u32;
        let mut left = width - 1;
        let level = (left as usize).min(5).wrapping_sub(1);
        if left > 0 {
            left -= 1;
            out = (out << 1) | u32::from(single(coder, (size >> left) & 1 == 1, &mut a[NODE_FIRST + level])?);
        }
        if left > 0 {
            left -= 1;
            let node = NODE_SECOND + 2 * level + (out & 1) as usize;
            out = (out << 1) | u32::from(single(coder, (size >> left) & 1 == 1, &mut a[node])?);
        }
        if left > 0 {
            out = (out << left) | coder.raw(size, left)?;
        }
        let number = if negative { -i64::from(out) } else { i64::from(out) };
        i32::try_from(number).map_err(|_| EntropyError::Range)
    }
}

/// Contexts and mixers for single bits and for choices among a few.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags {
    voices: [Vec<Node>; VOICES],
    mixers: Vec<Mixer>,
}

impl Flags {
    /// As [`Numbers::new`].
    pub fn new(contexts: [usize; VOICES], kinds: usize) -> Self {
        Self {
            voices: contexts.map(|count| vec![Node::default(); count]),
            mixers: vec![Mixer::default(); kinds],
        }
    }

    /// Codes one bit in the given context of each voice.
    #[inline]
    pub fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        bit: bool,
        contexts: [usize; VOICES],
        kind: usize,
    ) -> Result<bool, EntropyError> {
        let [a, b, c, d] = &mut self.voices;
        let nodes = [&mut a[contexts[0]], &mut b[contexts[1]], &mut c[contexts[2]], &mut d[contexts[3]]];
        mixed(coder, bit, nodes, &mut self.mixers[kind])
    }
}

/// Single bits that are so predictable that one context does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Switches {
    nodes: Vec<Node>,
}

impl Switches {
    /// As many contexts.
    pub fn new(contexts: usize) -> Self {
        Self { nodes: vec![Node::default(); contexts] }
    }

    /// Codes one bit in the given context.
    ///
    /// # Errors
    /// Those of the coder.
    #[inline]
    pub fn code<C: Coder>(&mut self, coder: &mut C, bit: bool, context: usize) -> Result<bool, EntropyError> {
        single(coder, bit, &mut self.nodes[context])
    }
}

/// `RATES[n]` is 1 / (n + 1.5) in 1/32,768: the share of an error that a node corrects after `n` cases.
const RATES: [i32; Node::SEEN_MAX as usize + 1] = {
    let mut rates = [0; Node::SEEN_MAX as usize + 1];
    let mut n = 0;
    while n < rates.len() {
        rates[n] = 65_536 / (2 * n as i32 + 3);
        n += 1;
    }
    rates
};

/// 65,536 / (1 + exp(-x / 2)) at x = -16, -15, … 16. Between them, lines are straight.
const LOGISTIC: [i32; 33] = [
    22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793,
    47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514,
];

struct Tables {
    /// From the logistic domain (in 1/256, plus 2,048) to a probability.
    squash: [u16; 4096],
    /// From a probability (its upper twelve bits) to the logistic domain.
    stretch: [i16; 4096],
}

static TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables { squash: [0; 4096], stretch: [0; 4096] };
    let mut at = 0;
    while at < 4096 {
        let (from, share) = (at >> 7, (at & 127) as i32);
        let value = (LOGISTIC[from] * (128 - share) + LOGISTIC[from + 1] * share) >> 7;
        let (low, high) = (PROBABILITY_MIN as i32, (ONE - PROBABILITY_MIN) as i32);
        tables.squash[at] = (if value < low {
            low
        } else if value > high {
            high
        } else {
            value
        }) as u16;
        at += 1;
    }
    // The inverse is the first place at which the curve has reached the middle of a step.
    let mut place = 0;
    let mut step = 0;
    while step < 4096 {
        while place < 4095 && (tables.squash[place] as i32) < step * 16 + 8 {
            place += 1;
        }
        tables.stretch[step as usize] = (place as i32 - 2048) as i16;
        step += 1;
    }
    tables
}
