//! What the modes have learnt from the frames before, as numbers: it belongs to a baseline.

use crate::entropy::expect::Expectation;
use crate::entropy::model::{Node, Numbers};

use super::frame::Layout;

/// What a mode has learnt up to a frame.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Learnt {
    Fast(Box<Means>),
    Small(Box<Models>),
    /// Nothing, so that the models start anew.
    Nothing,
}

/// How large residuals were, for every column and situation: what the fast mode has learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Means {
    /// Running means of zigzagged residuals in sixteenths.
    pub(super) means: Vec<u32>,
}

pub(super) const SITUATIONS: usize = 32 * 16;

/// What is assumed of a column at first.
static COLUMN: [u32; SITUATIONS] = {
    let mut means = [0; SITUATIONS];
    let mut situation = 0;
    while situation < SITUATIONS {
        // What the first half octave of a magnitude stands for, twice, since zigzag doubles.
        let own = (situation / 16) as u32;
        means[situation] = if own < 4 { own * 2 } else { (2 + (own & 1)) << (own / 2) };
        situation += 1;
    }
    means
};

impl Means {
    pub(super) fn new(layout: &Layout) -> Self {
        Self { means: COLUMN.repeat(layout.width()) }
    }
}

/// Everything the small mode has learnt.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Models {
    /// Whether rows change that have not changed for long, and others.
    pub(super) still: [Node; 32],
    pub(super) moving: [Node; SIZES * 4],
    /// For every column: whether a flag or a largest component is as guessed, and if not, which it is.
    pub(super) choices: Vec<[Node; 2 * CHOICES]>,
    /// For every column, how large its residuals will be.
    pub(super) expectations: Vec<Expectation>,
    /// For every group of columns.
    pub(super) numbers: Vec<Numbers>,
}

/// How many magnitudes contexts tell apart.
pub(super) const SIZES: usize = 24;
/// How many contexts a choice has.
pub(super) const CHOICES: usize = 32;

impl Models {
    pub(super) fn new(layout: &Layout) -> Self {
        let groups = layout.groups().last().map_or(0, |last| last + 1);
        Self {
            still: [Node::default(); 32],
            moving: [Node::default(); SIZES * 4],
            choices: vec![[Node::default(); 2 * CHOICES]; layout.width()],
            expectations: vec![Expectation::default(); layout.width()],
            numbers: vec![Numbers::default(); groups],
        }
    }
}
