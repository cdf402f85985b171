//! Vectors, rotations, and the common motion of a group of bodies.

pub(super) type Vector = [f64; 3];

pub(super) fn difference(a: Vector, b: Vector) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn sum(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn scaled(a: Vector, factor: f64) -> Vector {
    [a[0] * factor, a[1] * factor, a[2] * factor]
}

pub(super) fn dot(a: Vector, b: Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// The product of two quaternions (x, y, z, w).
fn product(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    [
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
        a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    ]
}

/// The rotation vector from one orientation to another; in radians for small angles.
pub(super) fn rotation(from: [f64; 4], to: [f64; 4]) -> Vector {
    let turn = product(to, [-from[0], -from[1], -from[2], from[3]]);
    if turn[3] == 0.0 {
        return [0.0; 3];
    }
    scaled([turn[0], turn[1], turn[2]], 2.0 / turn[3])
}

/// The inverse of [`rotation`]: rotates an orientation, whose length stays the same.
pub(super) fn turned(orientation: [f64; 4], by: Vector) -> [f64; 4] {
    let half = scaled(by, 0.5);
    let length = (1.0 + dot(half, half)).sqrt();
    product([half[0] / length, half[1] / length, half[2] / length, 1.0 / length], orientation)
}

/// The motion of a rigid body: a velocity and a rotation around a centre.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rigid {
    pub(super) centre: Vector,
    velocity: Vector,
    pub(super) turning: Vector,
}

/// Minimum number of bodies of a group.
const GROUP_MIN: usize = 8;
/// Number of times that the fit is repeated. Bodies that deviate get less weight each time.
const PASSES: usize = 3;

impl Rigid {
    /// The velocity of a point that moves with the group.
    pub(super) fn velocity_at(&self, point: Vector) -> Vector {
        sum(self.velocity, cross(self.turning, difference(point, self.centre)))
    }

    /// Returns the motion that most of these bodies (positions and velocities) share; `None` if there are too few bodies.
    pub(super) fn of(bodies: &[(Vector, Vector)]) -> Option<Self> {
        if bodies.len() < GROUP_MIN {
            return None;
        }
        let mut rigid = Self::default();
        for (place, _) in bodies {
            rigid.centre = sum(rigid.centre, *place);
        }
        rigid.centre = scaled(rigid.centre, 1.0 / bodies.len() as f64);
        for pass in 0..PASSES {
            rigid.fit(bodies, pass > 0);
        }
        Some(rigid)
    }

    /// Fits velocity and rotation by least squares. If `weighted`, bodies that deviate from the last result have less weight.
    fn fit(&mut self, bodies: &[(Vector, Vector)], weighted: bool) {
        let mut total = 0.0;
        let mut arm = [0.0; 3];
        let mut momentum = [0.0; 3];
        let mut angular = [0.0; 3];
        let mut inertia = [[0.0; 3]; 3];
        for &(place, velocity) in bodies {
            let from = difference(place, self.centre);
            let weight = if weighted {
                let off = difference(velocity, self.velocity_at(place));
                1.0 / (1.0 + dot(off, off))
            } else {
                1.0
            };
            total += weight;
            arm = sum(arm, scaled(from, weight));
            momentum = sum(momentum, scaled(velocity, weight));
            angular = sum(angular, scaled(cross(from, velocity), weight));
            add_inertia(&mut inertia, from, weight);
        }
        // All positions are moved to the weighted centre, about which velocity and rotation are independent.
        let mean = scaled(arm, 1.0 / total);
        add_inertia(&mut inertia, mean, -total);
        self.turning = solve(inertia, difference(angular, cross(mean, momentum)));
        self.velocity = difference(scaled(momentum, 1.0 / total), cross(self.turning, mean));
    }
}

fn add_inertia(inertia: &mut [Vector; 3], from: Vector, weight: f64) {
    let square = dot(from, from);
    for row in 0..3 {
        for column in 0..3 {
            inertia[row][column] -= weight * from[row] * from[column];
        }
        inertia[row][row] += weight * square;
    }
}

/// Solves a symmetric system of three equations; zero if it is singular.
fn solve(matrix: [Vector; 3], right: Vector) -> Vector {
    let (first, second, third) =
        (cross(matrix[1], matrix[2]), cross(matrix[2], matrix[0]), cross(matrix[0], matrix[1]));
    let determinant = dot(matrix[0], first);
    if determinant <= 1.0 {
        return [0.0; 3];
    }
    let sum = sum(sum(scaled(first, right[0]), scaled(second, right[1])), scaled(third, right[2]));
    scaled(sum, 1.0 / determinant)
}
