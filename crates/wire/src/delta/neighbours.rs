//! The prediction errors of the bodies that are already decoded in a frame. These errors give a correction for other bodies
//! nearby.

use super::rigid::{Vector, difference, dot, scaled};

/// Squared distance, in body sizes, within which neighbours count. The weight of a neighbour decreases from a distance of half
/// a body size on.
const NEAR_LIMIT: f64 = 16.0;
const NEAR_SOFT: f64 = 0.25;
/// The weight of the assumption that the error is zero.
const NEAR_PRIOR: f64 = 1.0;
/// Expected error of a body without known neighbours, in steps.
const SIZE_UNKNOWN: f64 = 4.0;
/// Number of bodies processed at once.
const LANES: usize = 8;

/// The prediction error of one body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// Error of the position, in steps, and of the rotation.
    pub(super) place: Vector,
    pub(super) turn: Vector,
    /// Magnitude of the position error, summed over the three axes.
    pub(super) size: f64,
}

impl Left {
    /// Returns all components in one array. The last component is 1, so its weighted sum is the sum of the weights.
    fn parts(&self) -> Parts {
        let Self { place, turn, size } = *self;
        [place[0], place[1], place[2], turn[0], turn[1], turn[2], size, 1.0]
    }
}

type Parts = [f64; 8];

/// The bodies decoded so far. All sums are computed in their order.
#[derive(Debug, Clone)]
pub(super) struct Neighbours {
    /// The inverse square of a body's size.
    unit: f64,
    /// Positions along each axis.
    places: [Vec<f64>; 3],
    left: Vec<Parts>,
}

impl Neighbours {
    /// Creates an empty table for bodies of this size, in steps.
    pub(super) fn new(size: f64) -> Self {
        Self { unit: 1.0 / (size * size), places: [const { Vec::new() }; 3], left: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.places.iter_mut().for_each(Vec::clear);
        self.left.clear();
    }

    pub(super) fn add(&mut self, place: Vector, left: Left) {
        for (all, part) in self.places.iter_mut().zip(place) {
            all.push(part);
        }
        self.left.push(left.parts());
    }

    /// Returns the weighted means around a position. The weights are computed without branches, several at a time. Most of them
    /// are zero.
    pub(super) fn near(&self, place: Vector) -> Left {
        let mut sums: Parts = [0.0; 8];
        let [(x, x_rest), (y, y_rest), (z, z_rest)] =
            self.places.each_ref().map(|all| all.as_chunks::<LANES>());
        let (blocks, rest) = self.left.as_chunks::<LANES>();
        for (((x, y), z), left) in x.iter().zip(y).zip(z).zip(blocks) {
            let mut weights = [0.0; LANES];
            for at in 0..LANES {
                weights[at] = self.weight([x[at], y[at], z[at]], place);
            }
            for (&weight, left) in weights.iter().zip(left) {
                add(&mut sums, left, weight);
            }
        }
        for (((&x, &y), &z), left) in x_rest.iter().zip(y_rest).zip(z_rest).zip(rest) {
            add(&mut sums, left, self.weight([x, y, z], place));
        }
        mean(sums)
    }

    /// Returns the weight of a body at a position. The weight is zero outside of the range.
    #[inline]
    fn weight(&self, known: Vector, place: Vector) -> f64 {
        let from = difference(known, place);
        let distance = dot(from, from) * self.unit;
        let weight = 1.0 / (NEAR_SOFT + distance * distance);
        if distance < NEAR_LIMIT { weight } else { 0.0 }
    }
}

#[inline]
fn add(sums: &mut Parts, left: &Parts, weight: f64) {
    if weight != 0.0 {
        for (sum, part) in sums.iter_mut().zip(left) {
            *sum += part * weight;
        }
    }
}

fn mean([x, y, z, turn_x, turn_y, turn_z, size, total]: Parts) -> Left {
    let share = 1.0 / (total + NEAR_PRIOR);
    Left {
        place: scaled([x, y, z], share),
        turn: scaled([turn_x, turn_y, turn_z], share),
        size: if total > 0.0 { size / total } else { SIZE_UNKNOWN },
    }
}
