//! What the bodies that are already known in a frame were off by, and what that says about those near them.

use super::rigid::{Vector, difference, dot, scaled};

/// Neighbours count up to this squared distance, in body sizes, with a weight that falls beyond half a size.
const NEAR_LIMIT: f64 = 16.0;
const NEAR_SOFT: f64 = 0.25;
/// The weight of the assumption that nothing is left.
const NEAR_PRIOR: f64 = 1.0;
/// How far off a body is expected to be if none nearby is known, in steps.
const SIZE_UNKNOWN: f64 = 4.0;
/// So many bodies are looked at at once.
const LANES: usize = 8;

/// What a body was off by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// Of its place, in steps, and of its rotation.
    pub(super) place: Vector,
    pub(super) turn: Vector,
    /// How much that was of the place, in all three axes.
    pub(super) size: f64,
}

impl Left {
    /// In one piece, with a last part of which the weighted sum is the sum of the weights.
    fn parts(&self) -> Parts {
        let Self { place, turn, size } = *self;
        [place[0], place[1], place[2], turn[0], turn[1], turn[2], size, 1.0]
    }
}

type Parts = [f64; 8];

/// The bodies that are known, in the order in which they became so, which is the order of all sums.
#[derive(Debug, Clone)]
pub(super) struct Neighbours {
    /// One over the square of a body's size.
    unit: f64,
    /// Along each axis.
    places: [Vec<f64>; 3],
    left: Vec<Parts>,
}

impl Neighbours {
    /// For bodies of a size in steps.
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

    /// The means around a place. Weights are worked out without a branch, many at a time, and most are nothing.
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

    /// What a body at a place counts; nothing if it is too far away.
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
