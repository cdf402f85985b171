//! Sections: entities that are near each other and have the same interest policy.

use std::collections::BTreeMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Cells along the radius of interest. Smaller cells fit the circle better; larger cells need fewer updates.
const CELLS_PER_RADIUS: f32 = 4.0;

/// The side of a cell for policies without a radius, in metres.
const PLAIN_CELL_METRES: f32 = 64.0;

/// An entity leaves its cell when its distance from the cell exceeds this fraction of the cell's side.
const MARGIN: f32 = 0.25;

/// An eye that moved less than this fraction of a cell's side on each axis keeps its interest set.
const STIR: f32 = 1.0 / 16.0;

/// Each eye keeps its interest set until it has moved this far on an axis, in metres, even if all cells are small.
const STIR_METRES_MIN: f32 = 0.25;

/// The clients that receive an entity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reach {
    /// All clients.
    Always,
    /// Clients whose eyes are within this radius, in metres (more than 0).
    Within(f32),
    /// Only the player with this number.
    Owner(u32),
    /// No client.
    Never,
}

/// Names a section of an [`crate::InterestGrid`]. The grid never uses an id twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct SectionId(pub u32);

/// Hashes the ids of sections. The grid numbers sections itself, so nobody can choose ids that collide.
pub(crate) type IdHash = BuildHasherDefault<IdHasher>;

/// See [`IdHash`].
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u32(u32::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        // The multiplier of Knuth's multiplicative hashing for 64 bits. It fills the upper bits, which tables use, too.
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// A new section; see [`crate::InterestGrid::created`].
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
    /// Two opposite corners of the section's cell, in metres.
    pub(crate) bounds: [[f32; 3]; 2],
    /// Ordered by id.
    pub(crate) members: Vec<u32>,
    pub(crate) emptied_tick: u32,
}

pub(crate) type Cell = [i32; 3];

/// A [`Reach`] that can be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Policy {
    Always,
    Within { radius_bits: u32 },
    Owner(u32),
}

/// The sections of one policy.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    /// The side of its cells, in metres; `None` if the policy has no cells.
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

    /// Returns the side of the cells for entities with this radius of interest, in metres.
    pub fn cell_metres(radius: f32) -> f32 {
        (radius / CELLS_PER_RADIUS).max(1.0)
    }
}

impl Policy {
    /// The side of the cells, in metres; `None` if the policy has no cells.
    pub(crate) fn side(self) -> Option<f32> {
        match self {
            Self::Always => Some(PLAIN_CELL_METRES),
            Self::Within { .. } => self.radius().map(Reach::cell_metres),
            Self::Owner(_) => None,
        }
    }

    pub(crate) fn radius(self) -> Option<f32> {
        match self {
            Self::Within { radius_bits } => Some(f32::from_bits(radius_bits)),
            Self::Always | Self::Owner(_) => None,
        }
    }
}

impl Layer {
    pub(crate) fn new(policy: Policy) -> Self {
        let side = policy.side();
        Self { side, by_cell: BTreeMap::new() }
    }

    pub(crate) fn bounds(&self, cell: Cell) -> [[f32; 3]; 2] {
        let Some(side) = self.side else { return [[f32::MIN; 3], [f32::MAX; 3]] };
        [-0.5, 0.5].map(|half| cell.map(|at| (at as f32 + half) * side))
    }
}

impl Section {
    /// Number of entities in the section.
    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Distance from a place to the cell, in metres; 0 inside.
    pub(crate) fn distance(&self, from: [f32; 3]) -> f32 {
        distance(self.bounds, from)
    }

    /// Whether a position is in the cell, or so little outside that an entity of the cell stays in it.
    pub(crate) fn nearly_holds(&self, position: [f32; 3]) -> bool {
        let [low, high] = self.bounds;
        (0..3).all(|axis| {
            let margin = MARGIN * (high[axis] - low[axis]).min(f32::MAX);
            (low[axis] - margin..=high[axis] + margin).contains(&position[axis])
        })
    }
}

/// Distance from a place to a box with these corners, in metres; 0 inside.
pub(crate) fn distance([low, high]: [[f32; 3]; 2], from: [f32; 3]) -> f32 {
    let away = (0..3).map(|axis| {
        let metres = from[axis] - from[axis].clamp(low[axis], high[axis]);
        metres * metres
    });
    libm::sqrtf(away.sum())
}

/// The centres of cells are multiples of their side, so a small world around the origin fits into one cell.
pub(crate) fn cell_of(position: [f32; 3], side: f32) -> Cell {
    position.map(|metres| libm::roundf(metres / side) as i32)
}

/// Distance at which a section enters the interest set. It covers every entity within `radius`, even if the entity is
/// outside of its cell by [`MARGIN`] on each axis, or the eye moved a little since the last refresh.
pub(crate) fn enter_metres(radius: f32) -> f32 {
    radius + 1.75 * MARGIN * Reach::cell_metres(radius) + 2.0 * stir_metres(radius)
}

/// The distances at which sections with one radius enter and leave the interest set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranges {
    pub(crate) enter_metres: f32,
    pub(crate) leave_metres: f32,
}

impl Ranges {
    pub(crate) fn of(radius: f32) -> Self {
        Self { enter_metres: enter_metres(radius), leave_metres: leave_metres(radius) }
    }
}

/// An eye that moved less than this on each axis keeps its interest set, in metres.
pub(crate) fn stir_metres(radius: f32) -> f32 {
    (STIR * Reach::cell_metres(radius)).max(STIR_METRES_MIN)
}

/// Distance at which a section leaves the interest set.
fn leave_metres(radius: f32) -> f32 {
    enter_metres(radius) + 0.5 * Reach::cell_metres(radius)
}
