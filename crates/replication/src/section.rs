//! Sections: what is near together and seen by the same policy, and from where it is seen.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Cells along the radius of an interest: smaller cells fit the circle better, larger ones cost less to tell.
const CELLS_PER_RADIUS: f32 = 4.0;

/// The side of a cell where the radius does not say it, in metres.
const PLAIN_CELL_METRES: f32 = 64.0;

/// An entity leaves its cell when it is this share of the cell's side outside of it.
const MARGIN: f32 = 0.25;

/// An eye that moved less than this on each axis sees what it saw.
pub(crate) const STIR_METRES: f32 = 0.25;

/// Which clients are told of an entity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reach {
    /// Everybody.
    Always,
    /// Visible to clients whose eyes are within this radius, in metres (more than 0).
    Within(f32),
    /// The player of this number alone.
    Owner(u32),
    /// Nobody.
    Never,
}

/// Names a section of an [`crate::InterestGrid`]. No other section of the same atlas ever has the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SectionId(pub u32);

/// A section that came to be; see [`crate::InterestGrid::created`].
#[derive(Clone, Debug)]
pub struct NewSection {
    pub(crate) id: SectionId,
    pub(crate) section: Arc<Section>,
}

/// Entities that are near each other and have the same policy.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    pub(crate) policy: Policy,
    pub(crate) cell: Cell,
    /// Two opposite corners of its cell, in metres.
    pub(crate) bounds: [[f32; 3]; 2],
    /// Ordered by id.
    pub(crate) members: Vec<u32>,
    pub(crate) emptied_tick: u32,
}

pub(crate) type Cell = [i32; 3];

/// A [`Reach`] that can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Policy {
    Always,
    Within { radius_bits: u32 },
    Owner(u32),
}

/// The sections of one policy.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) policy: Policy,
    /// The side of its cells, in metres; `None` if it is not divided.
    pub(crate) side: Option<f32>,
    pub(crate) by_cell: BTreeMap<Cell, SectionId>,
}

impl Reach {
    pub(crate) fn policy(self) -> Option<Policy> {
        match self {
            Self::Always => Some(Policy::Always),
            Self::Within(radius) => Some(Policy::Within { radius_bits: radius.to_bits() }),
            Self::Owner(player) => Some(Policy::Owner(player)),
            Self::Never => None,
        }
    }

    /// The side of the cells into which space is divided for what is told within `radius` metres.
    pub fn cell_metres(radius: f32) -> f32 {
        (radius / CELLS_PER_RADIUS).max(1.0)
    }
}

impl Policy {
    pub(crate) fn radius(self) -> Option<f32> {
        match self {
            Self::Within { radius_bits } => Some(f32::from_bits(radius_bits)),
            Self::Always | Self::Owner(_) => None,
        }
    }
}

impl Layer {
    pub(crate) fn new(policy: Policy) -> Self {
        let side = match policy {
            Policy::Always => Some(PLAIN_CELL_METRES),
            Policy::Within { .. } => policy.radius().map(Reach::cell_metres),
            Policy::Owner(_) => None,
        };
        Self { policy, side, by_cell: BTreeMap::new() }
    }

    pub(crate) fn bounds(&self, cell: Cell) -> [[f32; 3]; 2] {
        let Some(side) = self.side else { return [[f32::MIN; 3], [f32::MAX; 3]] };
        [-0.5, 0.5].map(|half| cell.map(|at| (at as f32 + half) * side))
    }
}

impl Section {
    /// How many entities are in it.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Metres from a place to its cell; 0 inside.
    pub(crate) fn distance(&self, from: [f32; 3]) -> f32 {
        let [low, high] = self.bounds;
        let away = (0..3).map(|axis| {
            let metres = from[axis] - from[axis].clamp(low[axis], high[axis]);
            metres * metres
        });
        libm::sqrtf(away.sum())
    }

    /// Whether a place is in its cell, or so little outside that who was inside stays.
    pub(crate) fn nearly_holds(&self, position: [f32; 3]) -> bool {
        let [low, high] = self.bounds;
        (0..3).all(|axis| {
            let margin = MARGIN * (high[axis] - low[axis]).min(f32::MAX);
            (low[axis] - margin..=high[axis] + margin).contains(&position[axis])
        })
    }
}

/// Cells are around the multiples of their side, so that a small world about the origin is one cell.
pub(crate) fn cell_of(position: [f32; 3], side: f32) -> Cell {
    position.map(|metres| libm::roundf(metres / side) as i32)
}

/// From where on a section is seen: so near that whatever is within `radius` is in sight, also what is a little outside of its
/// cell, by [`MARGIN`] on each axis, and when the eye moved a little since it looked.
pub(crate) fn enter_metres(radius: f32) -> f32 {
    radius + 1.75 * MARGIN * Reach::cell_metres(radius) + 2.0 * STIR_METRES
}

/// From where on a section is not seen any more.
pub(crate) fn leave_metres(radius: f32) -> f32 {
    enter_metres(radius) + 0.5 * Reach::cell_metres(radius)
}
