//! Obstacles of a walker: resting bodies as boxes with rounded edges.

use crate::exact::{dot, scale, sub};

/// How often the nearest points of a body and a walker's axis are looked for, each from the other.
const NEAREST_ROUNDS: u32 = 8;
/// Squares of distances below this are none.
const DISTANCE2_MIN: f32 = 1e-12;

/// A box whose surface lies `radius` outside of it: a box has the radius 0, a sphere no half edges, a capsule one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Solid {
    /// Its middle, in metres.
    pub center: [f32; 3],
    /// Its own three axes in the world, each of length 1.
    pub axes: [[f32; 3]; 3],
    /// Half its edges along these axes, in metres.
    pub half: [f32; 3],
    /// How far its surface lies outside, in metres.
    pub radius: f32,
}

/// The surface of a solid that is nearest to a walker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Contact {
    /// Toward the walker, of length 1.
    pub(crate) normal: [f32; 3],
    /// Metres between the two; negative inside.
    pub(crate) gap: f32,
}

impl Solid {
    /// A body in the world, turned by a unit quaternion x, y, z, w.
    pub fn new(center: [f32; 3], rotation: [f32; 4], half: [f32; 3], radius: f32) -> Solid {
        let [x, y, z, w] = rotation;
        let axes = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
            [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
            [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
        ];
        Solid { center, axes, half, radius }
    }

    /// How a walker of these measures, whose middle is at `position`, stands to it.
    pub(crate) fn contact(&self, position: [f32; 3], radius: f32, height: f32) -> Contact {
        // The axis of a walker is the upright line through its middle, without the round ends.
        let reach = height * 0.5 - radius;
        let foot = sub([position[0], position[1] - reach, position[2]], self.center);
        let [a, b, c] = self.axes;
        let base = [dot(foot, a), dot(foot, b), dot(foot, c)];
        let up = [a[1], b[1], c[1]];
        let length = 2.0 * reach;
        let mut along = 0.0;
        let mut near = self.inside(base);
        for _ in 0..NEAREST_ROUNDS {
            let next = dot(sub(near, base), up);
            let next = if next < 0.0 { 0.0 } else { next };
            let next = if next > length { length } else { next };
            if next == along {
                break;
            }
            along = next;
            near = self.inside(on_axis(base, up, along));
        }
        let point = on_axis(base, up, along);
        let between = sub(point, near);
        let distance2 = dot(between, between);
        let (local, distance) = if distance2 > DISTANCE2_MIN {
            let distance = distance2.sqrt();
            ([between[0] / distance, between[1] / distance, between[2] / distance], distance)
        } else {
            self.nearest_face(point)
        };
        let normal = [
            a[0] * local[0] + b[0] * local[1] + c[0] * local[2],
            a[1] * local[0] + b[1] * local[1] + c[1] * local[2],
            a[2] * local[0] + b[2] * local[1] + c[2] * local[2],
        ];
        Contact { normal, gap: distance - (radius + self.radius) }
    }

    /// The point of the box without its round edges that is nearest to a point, as seen from its middle.
    fn inside(&self, point: [f32; 3]) -> [f32; 3] {
        let mut near = point;
        for (value, half) in near.iter_mut().zip(self.half) {
            if *value > half {
                *value = half;
            } else if *value < -half {
                *value = -half;
            }
        }
        near
    }

    /// The way out of the box for a point in it: direction, and how far it is outside (never positive).
    fn nearest_face(&self, point: [f32; 3]) -> ([f32; 3], f32) {
        let mut best = ([0.0, 1.0, 0.0], f32::NEG_INFINITY);
        for axis in 0..3 {
            let outside = if point[axis] < 0.0 { -point[axis] } else { point[axis] } - self.half[axis];
            if outside > best.1 {
                let mut face = [0.0; 3];
                face[axis] = if point[axis] < 0.0 { -1.0 } else { 1.0 };
                best = (face, outside);
            }
        }
        best
    }
}

fn on_axis(base: [f32; 3], up: [f32; 3], along: f32) -> [f32; 3] {
    let way = scale(up, along);
    [base[0] + way[0], base[1] + way[1], base[2] + way[2]]
}
