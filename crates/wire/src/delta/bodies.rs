//! A predictor for rigid bodies that fly, tumble, collide and come to rest.
//!
//! The predictor combines mechanics with learned parts:
//!
//! 1. The motion of a body is extrapolated: velocity and rotation from the last baselines, gravity, and the floor. The weight of
//!    each part is learned for several classes of motion. A class depends on whether the motion was recently free or full of
//!    contacts.
//! 2. Bodies in contact move together. The rigid motion of their group at the baseline is one input of step 1. The group's motion
//!    since the baseline is learned while the frame is decoded. It is an affine field. The first few bodies determine the field
//!    for all other bodies.
//! 3. The remaining error is similar for neighbours, so the nearest bodies that are already decoded correct the guess.
//!
//! The errors of the neighbours also tell the entropy coder how reliable the guess is.

use super::fit::Fit;
use super::frame::Layout;
use super::neighbours::{Left, Neighbours};
use super::orientation::{components, in_frame_of, unpack};
use super::past::Past;
use super::predict::{Guess, Predictor, magnitude};
use super::rigid::{Rigid, Vector, difference, dot, rotation, scaled, sum, turned};

/// The columns and units of a layout that [`Bodies`] uses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyColumns {
    /// The first of three columns with the position.
    pub position: usize,
    /// The first of the four columns of an orientation.
    pub orientation: usize,
    /// The bits of the orientation's components.
    pub orientation_bits: u32,
    /// A flag that is set if a body touches other bodies of its group; `None` if the layout has no such flag. Without such a
    /// flag, every body may be touching others.
    pub touching: Option<usize>,
    /// Gravity, in position steps per tick squared.
    pub gravity: Vector,
    /// The axis along which gravity pulls towards a floor at zero.
    pub up: usize,
    /// The edge length of a typical body, in position steps.
    pub size: f64,
}

/// Predicts rigid bodies as defined in `spec/DELTA.md`, section 10.
#[derive(Debug, Clone)]
pub struct Bodies {
    columns: BodyColumns,
    /// Number of ticks from the baseline to the frame.
    ahead: f64,
    /// The rows that move, in their order.
    motions: Vec<Motion>,
    /// Number of moving rows before the current row.
    passed: usize,
    group: Rigid,
    moves: [Fit<MOVE>; CLASSES],
    turns: [Fit<TURN>; CLASSES],
    /// The group's motion in addition to the extrapolation, for each axis as a function of the position.
    field: Fit<4, 3>,
    spin: Spin,
    known: Neighbours,
    /// The error of rotations in this frame, in sixteenths of an orientation step.
    doubt_turn: f64,
    expected: Expected,
}

const MOVE: usize = 5;
const TURN: usize = 3;
/// Number of classes: four degrees of contact, each for a lone body and for a body in the group.
const CLASSES: usize = 8;
const CLASS_GROUP: usize = 4;

/// Limits of the squared differences between short and long averages, of velocity (steps per tick) and of rotation (orientation
/// steps per tick). Up to the first limit, a motion counts as free; up to the second, as nearly free; up to the third, as
/// disturbed.
const CLASS_LIMITS: [f64; 3] = [0.5, 2.0, 10.0];
/// Maximum squared difference from the group's motion for a body of the group.
const GROUP_LIMIT: f64 = 150.0;
/// Minimum variances of the errors of positions (steps) and rotations (radians).
const NOISE_MOVE: f64 = 20.0;
const NOISE_TURN: f64 = 0.0003;
/// Factor of the noise of rotations for the rules of motion. The rules are learned more slowly than the field of one frame.
const NOISE_TURN_RULES: f64 = 3.0;
/// Maximum number of entities. It is limited because each changed body is a possible neighbour of every other one.
const ENTITIES_MAX: usize = 4_096;

/// The motion of a body at the baseline.
#[derive(Debug, Clone, Copy, Default)]
struct Motion {
    row: usize,
    moving: bool,
    /// The orientation of the body.
    orientation: [f64; 4],
    /// Mean velocities: over the last two baselines, and over all baselines.
    velocity: Vector,
    velocity_long: Vector,
    turning: Vector,
    turning_long: Vector,
    grouped: bool,
    class_move: usize,
    class_turn: usize,
}

/// The rotation of the group in addition to the extrapolation.
#[derive(Debug, Clone, Copy)]
struct Spin {
    turn: Vector,
    weight: f64,
}

/// The prediction of the current row.
#[derive(Debug, Clone, Copy, Default)]
struct Expected {
    row: Option<usize>,
    /// Motion and orientation of the row at the baseline.
    motion: Motion,
    orientation_start: [f64; 4],
    /// The inputs of the fits for each axis, and of the field.
    move_inputs: [[f64; MOVE]; 3],
    turn_inputs: [[f64; TURN]; 3],
    field_inputs: [f64; 4],
    /// The position before and after the correction by neighbours.
    place: Vector,
    place_near: Vector,
    turn: Vector,
    /// The expected error, in sixteenths of a step.
    doubt: f64,
    orientation: [f64; 4],
    /// The guesses of the components, once the largest component is known.
    components: [Guess; 3],
}

impl Bodies {
    /// Creates a predictor for bodies in these columns.
    pub fn new(columns: BodyColumns) -> Self {
        Self {
            columns,
            ahead: 0.0,
            motions: Vec::new(),
            passed: 0,
            group: Rigid::default(),
            moves: start_moves(),
            turns: start_turns(),
            field: start_field(),
            spin: Spin { turn: [0.0; 3], weight: 0.5 },
            known: Neighbours::new(columns.size),
            doubt_turn: 0.0,
            expected: Expected::default(),
        }
    }

    fn place(&self, row: &[i32]) -> Vector {
        let at = self.columns.position;
        [row[at], row[at + 1], row[at + 2]].map(f64::from)
    }

    fn orientation(&self, row: &[i32]) -> [f64; 4] {
        unpack(row, self.columns.orientation, self.columns.orientation_bits)
    }

    /// The motion of a row, if it moved.
    fn motion(&self, past: &Past<'_>, row: usize) -> Option<Motion> {
        let (now, before) = (past.row(0, row)?, past.row(1, row)?);
        let oldest = past.row(2, row).unwrap_or(before);
        if now == before && before == oldest {
            return None;
        }
        let short = ticks(past, 0, 1);
        let long = if past.depth() > 2 { ticks(past, 0, 2) } else { short };
        let [x0, x1, x2] = [now, before, oldest].map(|row| self.place(row));
        let [q0, q1, q2] = [now, before, oldest].map(|row| self.orientation(row));
        let velocity = scaled(difference(x0, x1), 1.0 / short);
        let velocity_long = scaled(difference(x0, x2), 1.0 / long);
        let turning = scaled(rotation(q1, q0), 1.0 / short);
        let turning_long = scaled(rotation(q2, q0), 1.0 / long);
        // In free flight the two means differ by the velocity that gravity adds between the midpoints of their periods.
        let fall = scaled(self.columns.gravity, (long - short) / 2.0);
        let disturbed = difference(difference(velocity, velocity_long), fall);
        let disturbed_turn = scaled(difference(turning, turning_long), self.steps_per_radian());
        Some(Motion {
            row,
            moving: true,
            orientation: q0,
            velocity,
            velocity_long,
            turning,
            turning_long,
            grouped: false,
            class_move: class(dot(disturbed, disturbed)),
            class_turn: class(dot(disturbed_turn, disturbed_turn)),
        })
    }

    fn steps_per_radian(&self) -> f64 {
        // For a small rotation, a quaternion component is half of the angle in radians. Its range √2 has M steps, so one
        // radian is M √2 / 4 steps.
        f64::from((1 << self.columns.orientation_bits) - 1) * 0.353_553_390_593_273_8
    }

    /// Finds the group that moves together, and its members.
    fn find_group(&mut self, past: &Past<'_>) {
        let touching = self.columns.touching;
        let touches = |row: &[i32]| touching.is_none_or(|column| row[column] != 0);
        let place = |motion: &Motion| Some(self.place(past.row(0, motion.row).filter(|row| touches(row))?));
        let bodies: Vec<(Vector, Vector)> =
            self.motions.iter().filter_map(|motion| Some((place(motion)?, motion.velocity_long))).collect();
        let Some(group) = Rigid::of(&bodies) else { return };
        let mut bodies = bodies.into_iter();
        for motion in &mut self.motions {
            if !past.row(0, motion.row).is_some_and(touches) {
                continue;
            }
            let Some((place, velocity)) = bodies.next() else { break };
            let off = difference(velocity, group.velocity_at(place));
            if dot(off, off) < GROUP_LIMIT {
                motion.grouped = true;
                motion.class_move += CLASS_GROUP;
                motion.class_turn += CLASS_GROUP;
            }
        }
        self.group = group;
    }

    fn move_inputs(&self, motion: &Motion, place: Vector) -> [[f64; MOVE]; 3] {
        if !motion.moving {
            return [[0.0; MOVE]; 3];
        }
        let n = self.ahead;
        let group = if motion.grouped { self.group.velocity_at(place) } else { motion.velocity };
        let axis = |axis: usize| {
            let velocity = motion.velocity[axis];
            let fall = n * n / 2.0 * self.columns.gravity[axis];
            let depth = self.columns.size / 2.0 - (place[axis] + n * velocity + fall);
            [
                n * velocity,
                n * (motion.velocity_long[axis] - velocity),
                n * (group[axis] - velocity),
                fall,
                if axis == self.columns.up && depth > 0.0 { depth } else { 0.0 },
            ]
        };
        [axis(0), axis(1), axis(2)]
    }

    fn turn_inputs(&self, motion: &Motion) -> [[f64; TURN]; 3] {
        let n = self.ahead;
        let group = if motion.grouped { self.group.turning } else { motion.turning };
        let axis = |axis: usize| {
            let turning = motion.turning[axis];
            [n * turning, n * (motion.turning_long[axis] - turning), n * (group[axis] - turning)]
        };
        [axis(0), axis(1), axis(2)]
    }

    fn field_inputs(&self, place: Vector) -> [f64; 4] {
        let from = scaled(difference(place, self.group.centre), 1.0 / (4.0 * self.columns.size));
        [1.0, from[0], from[1], from[2]]
    }

    /// Predicts a row from its own motion, the group's motion and its neighbours.
    fn expect(&mut self, row: usize, base: &[i32]) {
        while self.motions.get(self.passed).is_some_and(|motion| motion.row < row) {
            self.passed += 1;
        }
        let motion = self.motions.get(self.passed).filter(|motion| motion.row == row);
        let motion = motion.copied().unwrap_or_default();
        let start = self.place(base);
        let orientation_start = if motion.moving { motion.orientation } else { self.orientation(base) };
        let move_inputs = self.move_inputs(&motion, start);
        let turn_inputs = self.turn_inputs(&motion);
        let field_inputs = self.field_inputs(start);
        let moves = &self.moves[motion.class_move];
        let turns = &self.turns[motion.class_turn];
        let [mut place, mut turn] = [[0.0; 3]; 2];
        for axis in 0..3 {
            place[axis] = start[axis] + moves.predict(&move_inputs[axis])[0];
            turn[axis] = turns.predict(&turn_inputs[axis])[0];
        }
        if motion.grouped {
            place = sum(place, self.field.predict(&field_inputs));
            turn = sum(turn, self.spin.turn);
        }
        let near = self.known.near(start);
        self.expected = Expected {
            row: Some(row),
            motion,
            orientation_start,
            move_inputs,
            turn_inputs,
            field_inputs,
            place,
            place_near: sum(place, near.place),
            turn,
            doubt: near.size * 8.0,
            orientation: turned(orientation_start, sum(turn, near.turn)),
            components: [Guess::default(); 3],
        };
    }

    /// Guesses the components of the current row, given that `largest` is the component that is left out.
    fn guess_components(&mut self, base: &[i32], largest: i32) {
        let BodyColumns { orientation, orientation_bits: bits, .. } = self.columns;
        let values = components(self.expected.orientation, bits, (largest & 3) as usize);
        let from = in_frame_of(base, orientation, bits, largest);
        let doubt = self.doubt_turn;
        for at in 0..3 {
            self.expected.components[at] = rounded(values[at], doubt, from[at]);
        }
    }
}

/// The expected error of rotations at the start of a frame, in sixteenths of a step.
const DOUBT_TURN_START: f64 = 32.0;

impl Predictor for Bodies {
    fn start(&mut self, _: &Layout, past: &Past<'_>, memory: &[f64]) {
        self.ahead = f64::from(past.age(0).min(255));
        self.known.clear();
        self.expected.row = None;
        self.doubt_turn = DOUBT_TURN_START;
        self.spin = Spin { turn: [0.0; 3], weight: 0.5 };
        self.field = start_field();
        self.moves = start_moves();
        self.turns = start_turns();
        let mut rest = memory;
        for fit in &mut self.moves {
            rest = fit.restore(rest);
        }
        for fit in &mut self.turns {
            rest = fit.restore(rest);
        }
        self.motions.clear();
        self.passed = 0;
        for row in (0..past.rows()).filter(|&row| past.changed(row)) {
            self.motions.extend(self.motion(past, row));
        }
        self.group = Rigid::default();
        self.find_group(past);
    }

    fn guess(&mut self, past: &Past<'_>, row: usize, column: usize, known: &[i32]) -> Guess {
        let Some(base) = past.row(0, row) else { return Guess::default() };
        if self.expected.row != Some(row) {
            self.expect(row, base);
        }
        let BodyColumns { position, orientation, .. } = self.columns;
        if (position..position + 3).contains(&column) {
            return rounded(self.expected.place_near[column - position], self.expected.doubt, base[column]);
        }
        if column == orientation {
            return largest(self.expected.orientation);
        }
        if (orientation..orientation + 4).contains(&column) {
            let at = column - orientation - 1;
            if at == 0 {
                self.guess_components(base, known[orientation]);
            }
            return self.expected.components[at];
        }
        Guess { value: base[column], ..Guess::default() }
    }

    fn learn(&mut self, past: &Past<'_>, row: usize, values: &[i32]) {
        let Some(base) = past.row(0, row) else { return };
        if self.expected.row != Some(row) {
            self.expect(row, base);
        }
        let Expected { motion, move_inputs, turn_inputs, .. } = self.expected;
        let (place, orientation) = (self.place(values), self.orientation(values));
        let left = difference(place, self.expected.place);
        // A body with a large error had a collision. Its error gives little information about other bodies.
        let noise = NOISE_MOVE + dot(left, left);
        let moved = rotation(self.expected.orientation_start, orientation);
        let left_turn = difference(moved, self.expected.turn);
        let noise_turn = NOISE_TURN + dot(left_turn, left_turn);
        if motion.grouped {
            self.field.learn(&self.expected.field_inputs, left, noise);
        }
        for axis in 0..3 {
            self.moves[motion.class_move].learn(&move_inputs[axis], [left[axis]], noise);
            let noise = noise_turn * NOISE_TURN_RULES;
            self.turns[motion.class_turn].learn(&turn_inputs[axis], [left_turn[axis]], noise);
        }
        if motion.grouped {
            let weight = NOISE_TURN / noise_turn;
            self.spin.weight += weight;
            self.spin.turn = sum(self.spin.turn, scaled(left_turn, weight / self.spin.weight));
        }
        let size_turn = left_turn[0].abs() + left_turn[1].abs() + left_turn[2].abs();
        if motion.moving {
            let sixteenths = size_turn * self.steps_per_radian() * 16.0 / 3.0;
            self.doubt_turn += (sixteenths - self.doubt_turn) / 8.0;
        }
        let size = left[0].abs() + left[1].abs() + left[2].abs();
        self.known.add(self.place(base), Left { place: left, turn: left_turn, size });
        self.expected.row = None;
    }

    fn entities_max(&self) -> usize {
        ENTITIES_MAX
    }

    fn memory(&self) -> Vec<f64> {
        let mut memory = Vec::with_capacity(CLASSES * (Fit::<MOVE>::STORED + Fit::<TURN>::STORED));
        for fit in &self.moves {
            fit.store(&mut memory);
        }
        for fit in &self.turns {
            fit.store(&mut memory);
        }
        memory
    }
}

/// At the start, a lone body is assumed to fly, and a body in a group is assumed to be carried by the group.
fn start_moves() -> [Fit<MOVE>; CLASSES] {
    let alone = Fit::new([1.0, 0.2, 0.0, 1.0, 1.0], [0.01, 0.1, 0.1, 0.1, 0.1]);
    let grouped = Fit::new([1.0, 0.2, 0.3, 0.0, 0.0], [0.01, 0.1, 0.1, 0.01, 0.01]);
    [alone, alone, alone, alone, grouped, grouped, grouped, grouped]
}

fn start_turns() -> [Fit<TURN>; CLASSES] {
    [Fit::new([1.0, 0.3, 0.5], [0.01, 0.1, 0.1]); CLASSES]
}

fn start_field() -> Fit<4, 3> {
    Fit::new([0.0; 4], [1_000.0; 4])
}

fn ticks(past: &Past<'_>, from: usize, to: usize) -> f64 {
    f64::from(past.age(to).wrapping_sub(past.age(from)).clamp(1, 255))
}

fn class(disturbed: f64) -> usize {
    CLASS_LIMITS.iter().filter(|&&limit| disturbed >= limit).count()
}

/// Guesses which component is left out. The uncertainty is derived from the margin by which this component is the largest.
fn largest(orientation: [f64; 4]) -> Guess {
    let sizes = orientation.map(f64::abs);
    let mut best = 0;
    for at in 1..4 {
        if sizes[at] > sizes[best] {
            best = at;
        }
    }
    let mut second = 0.0;
    for (at, &size) in sizes.iter().enumerate() {
        if at != best && size > second {
            second = size;
        }
    }
    let margin = (sizes[best] - second) / 2.0;
    Guess { value: best as i32, lean: 0, doubt: magnitude(margin as u32), moved: 0 }
}

fn rounded(value: f64, doubt: f64, from: i32) -> Guess {
    // Outside of this range a guess is useless. Within it, whole numbers stay exact.
    let value = value.clamp(-1e9, 1e9);
    let whole = (value + 0.5).floor();
    let rest = value - whole;
    let lean = i8::from(rest > 1.0 / 6.0) - i8::from(rest < -1.0 / 6.0);
    let whole = whole as i32;
    Guess {
        value: whole,
        lean,
        doubt: magnitude(doubt.clamp(0.0, 1e6) as u32),
        moved: whole.wrapping_sub(from),
    }
}
