//! What the bodies that are already known in a frame were off by, and what that says about those near them.

use super::rigid::{Vector, difference, dot, scaled, sum};

/// Neighbours count up to this squared distance, in body sizes, with a weight that falls beyond half a size.
const NEAR_LIMIT: f64 = 16.0;
const NEAR_SOFT: f64 = 0.25;
/// The weight of the assumption that nothing is left.
const NEAR_PRIOR: f64 = 1.0;
/// How far off a body is expected to be if none nearby is known, in steps.
const SIZE_UNKNOWN: f64 = 4.0;
/// So many bodies are looked at at once.
const LANES: usize = 32;

/// What a body was off by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Left {
    /// Of its place, in steps, and of its rotation.
    pub(super) place: Vector,
    pub(super) turn: Vector,
    /// How much that was of the place, in all three axes.
    pub(super) size: f64,
}

/// The bodies that are known, in the order in which they became so, which is the order of all sums.
#[derive(Debug, Clone)]
pub(super) struct Neighbours {
    unit: f64,
    /// Nobody counts as near who is further away along one axis, in steps.
    reach: Reach,
    places: [Vec<i32>; 3],
    left: Vec<Left>,
}

impl Neighbours {
    /// For bodies of a size in steps.
    pub(super) fn new(size: f64) -> Self {
        let reach = Reach::of(NEAR_LIMIT.sqrt() * size.abs());
        Self { unit: 1.0 / (size * size), reach, places: [const { Vec::new() }; 3], left: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.places.iter_mut().for_each(Vec::clear);
        self.left.clear();
    }

    pub(super) fn add(&mut self, place: [i32; 3], left: Left) {
        for (all, part) in self.places.iter_mut().zip(place) {
            all.push(part);
        }
        self.left.push(left);
    }

    /// The means around a place. Most bodies are found to be too far away by whole numbers, many at a time.
    pub(super) fn near(&self, place: [i32; 3]) -> Left {
        let mut means = Means::default();
        let [(x, x_rest), (y, y_rest), (z, _)] = self.places.each_ref().map(|all| all.as_chunks::<LANES>());
        for (block, ((x, y), z)) in x.iter().zip(y).zip(z).enumerate() {
            let mut close = [0u8; LANES];
            for at in 0..LANES {
                close[at] = u8::from(self.reach.holds(x[at], place[0]))
                    & u8::from(self.reach.holds(y[at], place[1]))
                    & u8::from(self.reach.holds(z[at], place[2]));
            }
            for (word, eight) in close.as_chunks::<8>().0.iter().enumerate() {
                let mut bits = u64::from_le_bytes(*eight);
                while bits != 0 {
                    self.weigh(
                        block * LANES + word * 8 + bits.trailing_zeros() as usize / 8,
                        place,
                        &mut means,
                    );
                    bits &= bits - 1;
                }
            }
        }
        debug_assert_eq!(x_rest.len(), y_rest.len());
        for at in self.left.len() - x_rest.len()..self.left.len() {
            self.weigh(at, place, &mut means);
        }
        means.finish()
    }

    #[inline]
    fn weigh(&self, at: usize, place: [i32; 3], means: &mut Means) {
        let known = self.places.each_ref().map(|all| f64::from(all[at]));
        let from = difference(known, place.map(f64::from));
        let distance = dot(from, from) * self.unit;
        if distance < NEAR_LIMIT {
            means.add(1.0 / (NEAR_SOFT + distance * distance), &self.left[at]);
        }
    }
}

/// A distance along one axis, so that one comparison of unsigned numbers tells who is within it.
#[derive(Debug, Clone, Copy)]
struct Reach {
    back: i32,
    width: u32,
}

impl Reach {
    fn of(steps: f64) -> Self {
        // Rounded up generously; where differences could wrap, everybody is looked at closely.
        if steps < f64::from(1 << 29) {
            let back = steps.ceil() as i32 + 1;
            Self { back, width: 2 * back.unsigned_abs() }
        } else {
            Self { back: 0, width: u32::MAX }
        }
    }

    #[inline]
    fn holds(self, known: i32, place: i32) -> bool {
        known.wrapping_sub(place).wrapping_add(self.back) as u32 <= self.width
    }
}

#[derive(Default)]
struct Means {
    total: f64,
    place: Vector,
    turn: Vector,
    size: f64,
}

impl Means {
    #[inline]
    fn add(&mut self, weight: f64, left: &Left) {
        self.total += weight;
        self.place = sum(self.place, scaled(left.place, weight));
        self.turn = sum(self.turn, scaled(left.turn, weight));
        self.size += weight * left.size;
    }

    fn finish(self) -> Left {
        let share = 1.0 / (self.total + NEAR_PRIOR);
        Left {
            place: scaled(self.place, share),
            turn: scaled(self.turn, share),
            size: if self.total > 0.0 { self.size / self.total } else { SIZE_UNKNOWN },
        }
    }
}
