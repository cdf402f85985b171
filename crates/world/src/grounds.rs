//! The solids of a body's shape, for the exact step of walkers (`spec/MOVEMENT.md`, section 2).

use std::sync::Arc;

use rapier3d::parry::bounding_volume::Aabb;
use rapier3d::parry::shape::{HeightField, TriMesh};
use rapier3d::parry::transformation::try_convex_hull;
use rapier3d::prelude::{Pose as RapierPose, SharedShape, Vector};

use crate::pose::{Pose, rapier_pose};
use crate::shape::ColliderShape;
use crate::solid::{Form, Solid, Triangle};

/// Maximum triangles of one surface that a walker's step examines.
const TRIANGLES_NEAR_MAX: usize = 1_024;

/// The scaled faces of each hull in a shape, in the order of the shape's parts. They are stored separately, because the
/// geometry library merges faces.
pub(crate) type Hulls = Vec<Arc<[Triangle]>>;

impl ColliderShape {
    /// Returns the triangles that enclose the points of a hull, counter-clockwise seen from outside; empty for points
    /// without a volume.
    pub fn hull_triangles(points: &[[f32; 3]]) -> Vec<[u32; 3]> {
        let vectors: Vec<Vector> = points.iter().map(|point| Vector::from_array(*point)).collect();
        let Ok((vertices, triangles)) = try_convex_hull(&vectors) else { return Vec::new() };
        let count = vertices.len().max(1) as f32;
        let middle = vertices.iter().fold(Vector::ZERO, |sum, vertex| sum + *vertex / count);
        let number = |vertex: Vector| vectors.iter().position(|point| *point == vertex).unwrap_or(0) as u32;
        let outward = |[a, b, c]: [u32; 3]| {
            let [p, q, r] = [a, b, c].map(|corner| vertices[corner as usize]);
            let is_inward = (q - p).cross(r - p).dot(p - middle) < 0.0;
            let corners = if is_inward { [p, r, q] } else { [p, q, r] };
            corners.map(number)
        };
        triangles.into_iter().map(outward).collect()
    }

    /// Returns the solids with which a walker collides on a body of this shape.
    ///
    /// # Errors
    ///
    /// Returns the reason if the shape cannot be scaled like this, or has no volume.
    pub fn solids(&self, scale: [f32; 3], pose: &Pose) -> Result<Vec<Solid>, &'static str> {
        let shape = self.build(scale)?;
        let mut solids = Vec::new();
        let is_known =
            push_solids(&shape, &self.hulls(scale), &rapier_pose(pose), None, &mut solids).is_some();
        if is_known { Ok(solids) } else { Err("walkers cannot collide with such a shape") }
    }

    /// Returns the faces of the hulls in the shape.
    pub(crate) fn hulls(&self, scale: [f32; 3]) -> Hulls {
        match self {
            ColliderShape::ConvexHull { points } => {
                let corner = |number: u32| {
                    let point = points[number as usize];
                    [point[0] * scale[0], point[1] * scale[1], point[2] * scale[2]]
                };
                let triangles = ColliderShape::hull_triangles(points);
                vec![triangles.iter().filter_map(|corners| Triangle::new(corners.map(corner))).collect()]
            }
            ColliderShape::Compound { parts } => {
                parts.iter().flat_map(|(_, part)| part.hulls(scale)).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Adds the solids of a shape that a walker may collide with. Of a surface, it adds only the triangles inside the box
/// `reach`, in world coordinates. Returns `None` if there are too many triangles, or if the shape does not come from a
/// [`ColliderShape`].
pub(crate) fn push_solids(
    shape: &SharedShape,
    hulls: &[Arc<[Triangle]>],
    pose: &RapierPose,
    reach: Option<&Aabb>,
    solids: &mut Vec<Solid>,
) -> Option<()> {
    let (center, rotation) = (pose.translation.to_array(), pose.rotation.to_array());
    let solid = |half, radius| Solid::new(center, rotation, half, radius);
    if let Some(compound) = shape.as_compound() {
        let mut hulls = hulls.iter();
        for (at, part) in compound.shapes() {
            let own: Hulls =
                part.as_convex_polyhedron().and_then(|_| hulls.next().cloned()).into_iter().collect();
            push_solids(part, &own, &part_pose(pose, at), reach, solids)?;
        }
        return Some(());
    }
    let local = || reach.map(|reach| reach.transform_by(&pose.inverse()));
    solids.push(if let Some(cuboid) = shape.as_cuboid() {
        solid(cuboid.half_extents.to_array(), 0.0)
    } else if let Some(ball) = shape.as_ball() {
        solid([0.0; 3], ball.radius)
    } else if let Some(capsule) = shape.as_capsule() {
        solid([0.0, capsule.half_height(), 0.0], capsule.radius)
    } else if let Some(cylinder) = shape.as_cylinder() {
        solid([cylinder.radius, cylinder.half_height, cylinder.radius], 0.0).with_form(Form::Cylinder)
    } else if let Some(cone) = shape.as_cone() {
        solid([cone.radius, cone.half_height, cone.radius], 0.0).with_form(Form::Cone)
    } else if shape.as_convex_polyhedron().is_some() {
        solid([0.0; 3], 0.0).with_form(Form::Hull(hulls.first()?.clone()))
    } else if let Some(mesh) = shape.as_trimesh() {
        solid([0.0; 3], 0.0).with_form(Form::Surface(mesh_triangles(mesh, local().as_ref())?))
    } else {
        let field = shape.as_heightfield()?;
        solid([0.0; 3], 0.0).with_form(Form::Surface(field_triangles(field, local().as_ref())?))
    });
    Some(())
}

/// Returns the pose of a part of a compound, by single operations in a stated order: `spec/MOVEMENT.md`, section 2.
fn part_pose(body: &RapierPose, part: &RapierPose) -> RapierPose {
    let [x1, y1, z1, w1] = body.rotation.to_array();
    let [x2, y2, z2, w2] = part.rotation.to_array();
    let rotation = [
        w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
        w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
        w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
        w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
    ];
    let [a, b, c] = Solid::new([0.0; 3], [x1, y1, z1, w1], [0.0; 3], 0.0).axes;
    let [x, y, z] = part.translation.to_array();
    let center = body.translation.to_array();
    let position = [0, 1, 2].map(|axis| center[axis] + (a[axis] * x + b[axis] * y + c[axis] * z));
    RapierPose::from_parts(Vector::from_array(position), rapier3d::prelude::Rotation::from_array(rotation))
}

fn mesh_triangles(mesh: &TriMesh, reach: Option<&Aabb>) -> Option<Arc<[Triangle]>> {
    let mut numbers: Vec<u32> = match reach {
        Some(reach) => mesh.bvh().intersect_aabb(reach).take(TRIANGLES_NEAR_MAX + 1).collect(),
        None => (0..mesh.indices().len() as u32).collect(),
    };
    if reach.is_some() && numbers.len() > TRIANGLES_NEAR_MAX {
        return None;
    }
    numbers.sort_unstable();
    let corner = |number: u32| mesh.vertices()[number as usize].to_array();
    let triangle = |number: u32| Triangle::new(mesh.indices()[number as usize].map(corner));
    Some(numbers.into_iter().filter_map(triangle).collect())
}

/// Two triangles for each cell, row after row.
fn field_triangles(field: &HeightField, reach: Option<&Aabb>) -> Option<Arc<[Triangle]>> {
    let heights = field.heights();
    let [width, high, depth] = field.scale().to_array();
    let (rows, columns) = (heights.nrows(), heights.ncols());
    let place = |number: usize, count: usize, size: f32| (number as f32 / (count - 1) as f32 - 0.5) * size;
    let corner = |row: usize, column: usize| {
        [place(column, columns, width), heights[(row, column)] * high, place(row, rows, depth)]
    };
    let (mut row_range, mut column_range) = (0..rows - 1, 0..columns - 1);
    if let Some(reach) = reach {
        row_range = cells(reach.mins.z, reach.maxs.z, rows - 1, depth);
        column_range = cells(reach.mins.x, reach.maxs.x, columns - 1, width);
        if 2 * row_range.len() * column_range.len() > TRIANGLES_NEAR_MAX {
            return None;
        }
    }
    let mut triangles = Vec::with_capacity(2 * row_range.len() * column_range.len());
    for row in row_range {
        for column in column_range.clone() {
            let [a, b] = [corner(row, column), corner(row + 1, column)];
            let [c, d] = [corner(row, column + 1), corner(row + 1, column + 1)];
            triangles.extend(Triangle::new([a, b, c]));
            triangles.extend(Triangle::new([c, b, d]));
        }
    }
    Some(triangles.into())
}

/// Returns the range of cells that an interval along one side can touch, and one more cell at each end.
fn cells(low: f32, high: f32, count: usize, size: f32) -> std::ops::Range<usize> {
    let cell = |at: f32| (at / size + 0.5) * count as f32;
    let first = (cell(low) - 1.0).floor().clamp(0.0, count as f32) as usize;
    let last = (cell(high) + 2.0).floor().clamp(0.0, count as f32) as usize;
    first..last.max(first)
}
