//! Bodies for the collision of walkers: convex solids and surfaces of triangles (`spec/MOVEMENT.md`, section 4).

use std::sync::Arc;

use crate::STEP_SECONDS;
use crate::body::BodyRole;
use crate::exact::{add, cross, dot, scale, sub};

/// Number of iterations that find the nearest points of a body and a walker's axis.
const NEAREST_ROUNDS: u32 = 8;
/// Squared distances below this count as zero.
const DISTANCE2_MIN: f32 = 1e-12;
/// Triangles are skipped if their normal, before normalisation, has a smaller squared length.
const NORMAL2_MIN: f32 = 1e-12;
/// At smaller radii, no direction can be computed.
const RADIUS_MIN: f32 = 1e-6;
/// Half a step, in seconds.
const HALF_STEP_SECONDS: f32 = STEP_SECONDS * 0.5;
/// A triangle cannot touch a walker if its box is farther from the walker's axis than the radius plus this margin, in
/// metres.
const SKIP_MARGIN: f32 = 0.01;
/// A box, cylinder or cone is not measured if it is farther from the walker than this along one of its axes, in metres. All contacts
/// that count are nearer, also after the rounding of the greatest coordinates.
pub(crate) const FAR_MARGIN: f32 = 0.15;

/// The bounding volume of a solid, centred on the solid and aligned with its axes.
#[derive(Clone, PartialEq, Debug)]
pub enum Form {
    /// A box of the half edges `half`.
    Box,
    /// An upright cylinder. `half` has the radius, half the height, and the radius again.
    Cylinder,
    /// An upright cone with its point up. `half` has the radius of the base, half the height, and the radius again.
    Cone,
    /// A convex body: triangles that enclose it, counter-clockwise seen from outside.
    Hull(Arc<[Triangle]>),
    /// A surface without an inside: a mesh or a height field.
    Surface(Arc<[Triangle]>),
}

/// One triangle of a hull or a surface, along the axes of its solid.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Triangle {
    /// The corners of the triangle, in metres.
    pub corners: [[f32; 3]; 3],
    /// The unit normal.
    pub normal: [f32; 3],
}

impl Triangle {
    /// Makes a triangle; `None` if it is almost a line.
    pub fn new(corners: [[f32; 3]; 3]) -> Option<Triangle> {
        let [a, b, c] = corners;
        let (u, v) = (sub(b, a), sub(c, a));
        let across = cross(u, v);
        let length2 = dot(across, across);
        if length2 <= NORMAL2_MIN {
            return None;
        }
        let length = length2.sqrt();
        Some(Triangle { corners, normal: across.map(|part| part / length) })
    }

    /// Returns the point of the triangle that is nearest to `p` (Ericson, Real-Time Collision Detection, 2005, section
    /// 5.1.5).
    fn nearest(&self, p: [f32; 3]) -> [f32; 3] {
        let [a, b, c] = self.corners;
        let (ab, ac) = (sub(b, a), sub(c, a));
        let ap = sub(p, a);
        let (d1, d2) = (dot(ab, ap), dot(ac, ap));
        if d1 <= 0.0 && d2 <= 0.0 {
            return a;
        }
        let bp = sub(p, b);
        let (d3, d4) = (dot(ab, bp), dot(ac, bp));
        if d3 >= 0.0 && d4 <= d3 {
            return b;
        }
        if d1 * d4 - d3 * d2 <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
            return add(a, scale(ab, d1 / (d1 - d3)));
        }
        let cp = sub(p, c);
        let (d5, d6) = (dot(ab, cp), dot(ac, cp));
        if d6 >= 0.0 && d5 <= d6 {
            return c;
        }
        if d5 * d2 - d1 * d6 <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
            return add(a, scale(ac, d2 / (d2 - d6)));
        }
        let (e, g) = (d4 - d3, d5 - d6);
        if d3 * d6 - d5 * d4 <= 0.0 && e >= 0.0 && g >= 0.0 {
            return add(b, scale(sub(c, b), e / (e + g)));
        }
        sub(p, scale(self.normal, dot(ap, self.normal)))
    }

    /// Whether the bounding box of the triangle is too far from the axis of a walker for a contact.
    fn is_beyond(&self, low: [f32; 3], high: [f32; 3]) -> bool {
        let [a, b, c] = self.corners;
        (0..3).any(|axis| {
            let least = a[axis].min(b[axis]).min(c[axis]);
            let most = a[axis].max(b[axis]).max(c[axis]);
            most < low[axis] || least > high[axis]
        })
    }
}

/// A body that a walker can collide with. Its surface lies at the distance `radius` outside of its form. For a sphere, the
/// form is a box whose extents are 0; for a capsule, a box with only one extent above 0.
#[derive(Clone, PartialEq, Debug)]
pub struct Solid {
    /// The centre of the form, in metres.
    pub center: [f32; 3],
    /// The three axes of the solid in the world, as unit vectors.
    pub axes: [[f32; 3]; 3],
    /// Half the extents of the form along `axes`, in metres; unused for triangles.
    pub half: [f32; 3],
    /// The distance of the solid's surface from the form, in metres.
    pub radius: f32,
    /// The form that the half extents enclose.
    pub form: Form,
    /// The motion of the solid's body; `None` for a body that stands still.
    pub motion: Option<SolidMotion>,
    /// The effect on walkers. Water stops no walker.
    pub role: BodyRole,
}

/// How a solid's body moved in the step that ended at the present pose.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SolidMotion {
    /// A point of the body, in metres.
    pub pivot: [f32; 3],
    /// The velocity of this point, in metres a second.
    pub linear: [f32; 3],
    /// The rotation about this point, in radians a second.
    pub angular: [f32; 3],
}

impl SolidMotion {
    /// Returns the velocity that carries a point along with the body in the next step. It is the velocity that the point has
    /// half a step later on its arc, so that a point on a turning disc keeps its distance from the centre.
    fn at(&self, point: [f32; 3]) -> [f32; 3] {
        let arm = sub(point, self.pivot);
        let middle = add(arm, scale(cross(self.angular, arm), HALF_STEP_SECONDS));
        add(self.linear, cross(self.angular, middle))
    }
}

/// The upright axis of a walker without its round ends, in the frame of a solid.
#[derive(Clone, Copy)]
struct Axis {
    base: [f32; 3],
    up: [f32; 3],
    length: f32,
}

impl Axis {
    fn at(&self, along: f32) -> [f32; 3] {
        add(self.base, scale(self.up, along))
    }

    /// Returns the point of the axis nearest to a convex body, and the vector from the body to it. `nearest` finds the
    /// body's nearest point.
    fn nearest_to(&self, nearest: impl Fn([f32; 3]) -> [f32; 3]) -> ([f32; 3], [f32; 3]) {
        let mut along = 0.0;
        let mut near = nearest(self.base);
        for _ in 0..NEAREST_ROUNDS {
            let next = dot(sub(near, self.base), self.up);
            let next = if next < 0.0 { 0.0 } else { next };
            let next = if next > self.length { self.length } else { next };
            if next == along {
                break;
            }
            along = next;
            near = nearest(self.at(along));
        }
        let point = self.at(along);
        (point, sub(point, near))
    }
}

/// The surface of a solid that is nearest to a walker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Contact {
    /// Toward the walker, a unit vector.
    pub(crate) normal: [f32; 3],
    /// Distance between the solid and the walker in metres; negative inside.
    pub(crate) gap: f32,
}

impl Solid {
    /// Makes a box, rotated by a unit quaternion x, y, z, w, with a surface `radius` outside of it.
    pub fn new(center: [f32; 3], rotation: [f32; 4], half: [f32; 3], radius: f32) -> Solid {
        let [x, y, z, w] = rotation;
        let axes = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)],
            [2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)],
            [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)],
        ];
        Solid { center, axes, half, radius, form: Form::Box, motion: None, role: BodyRole::Obstacle }
    }

    /// Replaces the form.
    #[must_use]
    pub fn with_form(self, form: Form) -> Solid {
        Solid { form, ..self }
    }

    /// Sets the effect on walkers.
    #[must_use]
    pub fn with_role(self, role: BodyRole) -> Solid {
        Solid { role, ..self }
    }

    /// Sets the motion of the solid's body.
    #[must_use]
    pub fn with_motion(self, motion: SolidMotion) -> Solid {
        Solid { motion: Some(motion), ..self }
    }

    /// Returns the velocity with which the solid carries along a walker at this place.
    pub(crate) fn velocity_at(&self, position: [f32; 3]) -> [f32; 3] {
        self.motion.map_or([0.0; 3], |motion| motion.at(position))
    }

    /// Whether a point is inside of the solid.
    pub(crate) fn contains(&self, point: [f32; 3]) -> bool {
        self.measure(&self.axis(point, 0.0, 0.0), 0.0).gap < 0.0
    }

    /// Returns the contact with a walker of this size whose centre is at `position`. Water is infinitely far away, and so is a solid
    /// that is clearly out of reach.
    pub(crate) fn contact(&self, position: [f32; 3], radius: f32, height: f32) -> Contact {
        if self.role == BodyRole::Water {
            return Contact { normal: [0.0, 1.0, 0.0], gap: f32::INFINITY };
        }
        let axis = self.axis(position, radius, height);
        if self.is_far(&axis, radius) {
            return Contact { normal: [0.0, 1.0, 0.0], gap: f32::INFINITY };
        }
        self.measure(&axis, radius)
    }

    /// Returns the axis of a walker: the upright line through its centre, without the round ends.
    fn axis(&self, position: [f32; 3], radius: f32, height: f32) -> Axis {
        let reach = height * 0.5 - radius;
        let foot = sub([position[0], position[1] - reach, position[2]], self.center);
        let [a, b, c] = self.axes;
        Axis { base: [dot(foot, a), dot(foot, b), dot(foot, c)], up: [a[1], b[1], c[1]], length: 2.0 * reach }
    }

    fn measure(&self, axis: &Axis, radius: f32) -> Contact {
        let [a, b, c] = self.axes;
        let (local, distance) = match &self.form {
            Form::Box => convex(axis, |point| self.in_box(point), |point| self.out_of_box(point)),
            Form::Cylinder => {
                convex(axis, |point| self.in_cylinder(point), |point| self.out_of_cylinder(point))
            }
            Form::Cone => convex(axis, |point| self.in_cone(point), |point| self.out_of_cone(point)),
            Form::Hull(faces) => hull(axis, faces),
            Form::Surface(triangles) => surface(axis, triangles, radius),
        };
        let normal = [
            a[0] * local[0] + b[0] * local[1] + c[0] * local[2],
            a[1] * local[0] + b[1] * local[1] + c[1] * local[2],
            a[2] * local[0] + b[2] * local[1] + c[2] * local[2],
        ];
        Contact { normal, gap: distance - (radius + self.radius) }
    }

    /// Whether the half extents, which triangles do not have, are too far from the axis of a walker for a contact.
    fn is_far(&self, axis: &Axis, radius: f32) -> bool {
        if matches!(self.form, Form::Hull(_) | Form::Surface(_)) {
            return false;
        }
        let head = axis.at(axis.length);
        (0..3).any(|side| {
            let reach = self.half[side] + self.radius + radius + FAR_MARGIN;
            axis.base[side].min(head[side]) > reach || axis.base[side].max(head[side]) < -reach
        })
    }

    fn in_box(&self, point: [f32; 3]) -> [f32; 3] {
        let mut near = point;
        for (value, half) in near.iter_mut().zip(self.half) {
            *value = between(*value, half);
        }
        near
    }

    /// Returns the shortest way out of a box for a point inside: direction and distance (never positive).
    fn out_of_box(&self, point: [f32; 3]) -> Out {
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

    fn in_cylinder(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [radius, half, _] = self.half;
        let y = between(y, half);
        let across = (x * x + z * z).sqrt();
        if across <= radius {
            return [x, y, z];
        }
        let share = radius / across;
        [x * share, y, z * share]
    }

    fn out_of_cylinder(&self, [x, y, z]: [f32; 3]) -> Out {
        let [radius, half, _] = self.half;
        let across = (x * x + z * z).sqrt();
        let side = across - radius;
        let cap = if y < 0.0 { -y } else { y } - half;
        if side <= cap {
            return ([0.0, if y < 0.0 { -1.0 } else { 1.0 }, 0.0], cap);
        }
        if across > RADIUS_MIN { ([x / across, 0.0, z / across], side) } else { ([1.0, 0.0, 0.0], side) }
    }

    fn in_cone(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let [radius, half, _] = self.half;
        let across = (x * x + z * z).sqrt();
        if y < -half {
            let share = if across <= radius { 1.0 } else { radius / across };
            return [x * share, -half, z * share];
        }
        let (beside, above, height) = (across - radius, y + half, 2.0 * half);
        if beside * height + above * radius <= 0.0 {
            return [x, y, z];
        }
        let along = (above * height - beside * radius) / (radius * radius + height * height);
        let along = if along < 0.0 { 0.0 } else { along };
        let along = if along > 1.0 { 1.0 } else { along };
        let share = if across > RADIUS_MIN { (radius - radius * along) / across } else { 0.0 };
        [x * share, height * along - half, z * share]
    }

    fn out_of_cone(&self, [x, y, z]: [f32; 3]) -> Out {
        let [radius, half, _] = self.half;
        let across = (x * x + z * z).sqrt();
        let (beside, above, height) = (across - radius, y + half, 2.0 * half);
        let slant = (radius * radius + height * height).sqrt();
        let side = (beside * height + above * radius) / slant;
        let base = -half - y;
        if side <= base {
            return ([0.0, -1.0, 0.0], base);
        }
        if across <= RADIUS_MIN {
            return ([0.0, 1.0, 0.0], side);
        }
        let outward = height / slant;
        ([x / across * outward, radius / slant, z / across * outward], side)
    }
}

/// A unit direction, and the distance of a point in this direction, positive outside.
type Out = ([f32; 3], f32);

fn convex(axis: &Axis, nearest: impl Fn([f32; 3]) -> [f32; 3], out: impl Fn([f32; 3]) -> Out) -> Out {
    let (point, between) = axis.nearest_to(nearest);
    outward(between).unwrap_or_else(|| out(point))
}

/// Returns `None` for points that coincide.
fn outward(between: [f32; 3]) -> Option<Out> {
    let distance2 = dot(between, between);
    if distance2 > DISTANCE2_MIN {
        let distance = distance2.sqrt();
        return Some(([between[0] / distance, between[1] / distance, between[2] / distance], distance));
    }
    None
}

/// Returns the nearest face or, if the axis is inside, the face with the shortest way out.
fn hull(axis: &Axis, faces: &[Triangle]) -> Out {
    let mut best: Option<Out> = None;
    let mut is_outside = true;
    for face in faces {
        let (point, between) = axis.nearest_to(|point| face.nearest(point));
        let Some(found) = outward(between) else {
            is_outside = false;
            break;
        };
        if best.is_none_or(|(_, least)| found.1 < least) {
            best = Some(found);
            is_outside = faces.iter().any(|face| dot(sub(point, face.corners[0]), face.normal) > 0.0);
        }
    }
    if is_outside {
        return best.unwrap_or(([0.0, 1.0, 0.0], f32::INFINITY));
    }
    let head = axis.at(axis.length);
    let mut best = ([0.0, 1.0, 0.0], f32::NEG_INFINITY);
    for face in faces {
        let foot_out = dot(sub(axis.base, face.corners[0]), face.normal);
        let head_out = dot(sub(head, face.corners[0]), face.normal);
        let out = if head_out < foot_out { head_out } else { foot_out };
        if out > best.1 {
            best = (face.normal, out);
        }
    }
    best
}

/// Returns the nearest triangle. A triangle that the axis crosses pushes the walker to the side on which the centre of the
/// axis lies.
fn surface(axis: &Axis, triangles: &[Triangle], radius: f32) -> Out {
    let head = axis.at(axis.length);
    let margin = radius + SKIP_MARGIN;
    let low = [0, 1, 2].map(|part| axis.base[part].min(head[part]) - margin);
    let high = [0, 1, 2].map(|part| axis.base[part].max(head[part]) + margin);
    let mut best = ([0.0, 1.0, 0.0], f32::INFINITY);
    for triangle in triangles {
        if triangle.is_beyond(low, high) {
            continue;
        }
        let (_, between) = axis.nearest_to(|point| triangle.nearest(point));
        let found = outward(between).unwrap_or_else(|| {
            let middle = axis.at(axis.length * 0.5);
            let is_above = dot(sub(middle, triangle.corners[0]), triangle.normal) >= 0.0;
            (if is_above { triangle.normal } else { scale(triangle.normal, -1.0) }, 0.0)
        });
        if found.1 < best.1 {
            best = found;
        }
    }
    best
}

fn between(value: f32, half: f32) -> f32 {
    if value > half {
        half
    } else if value < -half {
        -half
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::POSITION_MAX;

    proptest! {
        #[test]
        fn solids_that_are_not_measured_are_too_far_for_a_contact(
            turn in [-1.0f32..1.0, -1.0..1.0, -1.0..1.0, 0.1..1.0],
            half in [0.01f32..4.0, 0.01..4.0, 0.01..4.0],
            offset in [-6.0f32..6.0, -6.0..6.0, -6.0..6.0],
            (radius, form, is_remote) in (0.0f32..0.5, 0usize..3, any::<bool>()),
        ) {
            let length = turn.iter().map(|part| part * part).sum::<f32>().sqrt();
            let form = [Form::Box, Form::Cylinder, Form::Cone][form].clone();
            let half = if form == Form::Box { half } else { [half[0], half[1], half[0]] };
            let center = if is_remote { [POSITION_MAX, -POSITION_MAX, POSITION_MAX] } else { [0.0; 3] };
            let solid = Solid::new(center, turn.map(|part| part / length), half, radius).with_form(form);
            let axis = solid.axis(add(center, offset), 0.35, 1.8);
            if solid.is_far(&axis, 0.35) {
                prop_assert!(solid.measure(&axis, 0.35).gap > 0.14);
            }
        }
    }
}
