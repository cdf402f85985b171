//! The state that the modes learned from earlier frames. It is part of a baseline.

use crate::entropy::expect::Expectation;
use crate::entropy::model::{Node, Numbers};

use super::frame::Layout;

/// The learned state of a mode.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Learnt {
    Fast(Box<Means>),
    Small(Box<Models>),
}

/// The state of the fast mode: mean residuals, for each column and situation.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Means {
    /// Running means of zigzagged residuals in sixteenths.
    pub(super) means: Vec<u32>,
}

pub(super) const SITUATIONS: usize = 32 * 16;

const _: () = assert!(Layout::COLUMNS_MAX * SITUATIONS <= 1 << 16, "16 bits hold every place");

/// The initial state of a column.
static COLUMN: [u32; SITUATIONS] = {
    let mut means = [0; SITUATIONS];
    let mut situation = 0;
    while situation < SITUATIONS {
        // The value for the first half octave of a magnitude, doubled because zigzag doubles numbers.
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

    /// Returns the means at these places to their initial state.
    pub(super) fn restore(&mut self, touched: &[u16]) {
        for place in touched {
            let place = usize::from(*place);
            self.means[place] = COLUMN[place % SITUATIONS];
        }
    }
}

/// State of the small mode.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Models {
    /// Whether rows change. Rows that were unchanged for a long time have separate models.
    pub(super) still: [Node; 32],
    pub(super) moving: [Node; SIZES * 4],
    /// For each column: whether a flag or a largest component equals its guess, and otherwise its value.
    pub(super) choices: Vec<[Node; 2 * CHOICES]>,
    /// For each column, the expected size of residuals.
    pub(super) expectations: Vec<Expectation>,
    /// Number models, for each group of columns.
    pub(super) numbers: Vec<Numbers>,
}

/// Number of magnitudes that contexts distinguish.
pub(super) const SIZES: usize = 24;
/// Number of contexts of a choice.
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
