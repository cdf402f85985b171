//! Shapes of bodies, for physics.

use rapier3d::parry::shape::{HeightFieldFlags, TriMeshFlags};
use rapier3d::parry::utils::Array2;
use rapier3d::prelude::{Pose as RapierPose, Rotation, SharedShape, Vector};

use crate::pose::Pose;
use crate::problem::{DefinitionError, Path, Problem};

/// The smallest extent of a shape, in metres. Physics does not detect thinner bodies.
pub const EXTENT_MIN: f32 = 0.001;
/// The largest extent of a shape, in metres.
pub const EXTENT_MAX: f32 = 10_000.0;
/// Maximum number of points in a convex hull.
pub const HULL_POINTS_MAX: usize = 256;
/// Maximum number of triangles in a mesh.
pub const TRIANGLES_MAX: usize = 65_536;
/// Maximum number of rows, and of columns, in a height field.
pub const HEIGHT_FIELD_SIDE_MAX: usize = 512;
/// Maximum number of parts in a compound.
pub const PARTS_MAX: usize = 32;

/// The form of a body, in metres, around its own origin. Y is up.
#[derive(Clone, PartialEq, Debug)]
pub enum ColliderShape {
    /// A box.
    Box {
        /// Full edge lengths.
        size: [f32; 3],
    },
    /// A sphere.
    Sphere {
        /// The radius of the sphere.
        radius: f32,
    },
    /// A cylinder with two half spheres, upright.
    Capsule {
        /// Radius of cylinder and half spheres.
        radius: f32,
        /// Length from end to end, at least twice the radius.
        height: f32,
    },
    /// An upright cylinder.
    Cylinder {
        /// The radius of the cylinder.
        radius: f32,
        /// Length from end to end.
        height: f32,
    },
    /// An upright cone, its point up. Its origin is the middle of its axis.
    Cone {
        /// Radius of the base.
        radius: f32,
        /// From base to point.
        height: f32,
    },
    /// The smallest convex body around these points.
    ConvexHull {
        /// At least four points that do not lie in one plane.
        points: Vec<[f32; 3]>,
    },
    /// A surface of triangles, without an inside. Dynamic bodies cannot have this shape.
    TriangleMesh {
        /// The corners.
        vertices: Vec<[f32; 3]>,
        /// The triangles, each as the indices of its three corners.
        triangles: Vec<[u32; 3]>,
    },
    /// Ground as heights over a grid. Dynamic bodies cannot have this shape.
    HeightField {
        /// Heights row by row: rows along Z, columns along X.
        heights: Vec<f32>,
        /// Heights in one row; at least 2, and at least 2 rows.
        columns: usize,
        /// Extent along X and Z.
        size: [f32; 2],
    },
    /// Several shapes that form one body. A part cannot be a compound.
    Compound {
        /// The pose of each part in the body, and its shape.
        parts: Vec<(Pose, ColliderShape)>,
    },
}

impl ColliderShape {
    /// Makes a cube.
    pub fn cube(edge: f32) -> ColliderShape {
        ColliderShape::Box { size: [edge; 3] }
    }

    /// Whether the shape has an inside, as required for dynamic bodies.
    pub fn is_solid(&self) -> bool {
        match self {
            ColliderShape::TriangleMesh { .. } | ColliderShape::HeightField { .. } => false,
            ColliderShape::Compound { parts } => parts.iter().all(|(_, part)| part.is_solid()),
            _ => true,
        }
    }

    /// An upper bound for the distance from the shape's origin to its farthest point, in metres, at scale 1.
    pub fn reach(&self) -> f32 {
        let length = |v: [f32; 3]| libm::sqrtf(v.iter().map(|part| part * part).sum());
        let farthest = |points: &[[f32; 3]]| points.iter().map(|point| length(*point)).fold(0.0, f32::max);
        match self {
            ColliderShape::Box { size } => length(*size) / 2.0,
            ColliderShape::Sphere { radius } => *radius,
            ColliderShape::Capsule { height, .. } => height / 2.0,
            ColliderShape::Cylinder { radius, height } | ColliderShape::Cone { radius, height } => {
                length([*radius, height / 2.0, 0.0])
            }
            ColliderShape::ConvexHull { points } => farthest(points),
            ColliderShape::TriangleMesh { vertices, .. } => farthest(vertices),
            ColliderShape::HeightField { heights, size, .. } => {
                let height = heights.iter().map(|height| height.abs()).fold(0.0, f32::max);
                length([size[0] / 2.0, height, size[1] / 2.0])
            }
            ColliderShape::Compound { parts } => {
                parts.iter().map(|(pose, part)| length(pose.position) + part.reach()).fold(0.0, f32::max)
            }
        }
    }

    /// Number of points, triangles, heights or parts of the shape; 1 for a simple shape.
    pub fn part_count(&self) -> usize {
        match self {
            ColliderShape::ConvexHull { points } => points.len(),
            ColliderShape::TriangleMesh { vertices, triangles } => vertices.len() + triangles.len(),
            ColliderShape::HeightField { heights, .. } => heights.len(),
            ColliderShape::Compound { parts } => parts.iter().map(|(_, part)| part.part_count()).sum(),
            _ => 1,
        }
    }

    /// Checks the extents and the number of parts, without building the shape.
    ///
    /// # Errors
    /// [`DefinitionError`] names the field and its bounds.
    pub fn check_fields(&self) -> Result<(), DefinitionError> {
        self.check_parts(&Path::default())
    }

    pub(crate) fn check(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        self.check_parts(path)?;
        // Only the geometry library can detect a hull without volume or a mesh without area.
        self.build([1.0; 3]).map(drop).map_err(|reason| path.error(Problem::Invalid(reason)))
    }

    fn check_parts(&self, path: &Path<'_>) -> Result<(), DefinitionError> {
        let extent = |field: &str, value: f32| path.field(field).within(value, EXTENT_MIN, EXTENT_MAX);
        match self {
            ColliderShape::Box { size } => size.iter().try_for_each(|edge| extent("size", *edge))?,
            ColliderShape::Sphere { radius } => extent("radius", *radius)?,
            ColliderShape::Capsule { radius, height } => {
                extent("radius", *radius)?;
                path.field("height").within(*height, 2.0 * radius, EXTENT_MAX)?;
            }
            ColliderShape::Cylinder { radius, height } | ColliderShape::Cone { radius, height } => {
                extent("radius", *radius)?;
                extent("height", *height)?;
            }
            ColliderShape::ConvexHull { points } => {
                path.field("points").count(points.len(), 4, HULL_POINTS_MAX)?;
                points.iter().flatten().try_for_each(|v| coordinate(path, "points", *v))?;
            }
            ColliderShape::TriangleMesh { vertices, triangles } => {
                path.field("triangles").count(triangles.len(), 1, TRIANGLES_MAX)?;
                path.field("vertices").count(vertices.len(), 3, 3 * TRIANGLES_MAX)?;
                vertices.iter().flatten().try_for_each(|v| coordinate(path, "vertices", *v))?;
                let last = (vertices.len() - 1) as f32;
                triangles
                    .iter()
                    .flatten()
                    .try_for_each(|corner| path.field("triangles").within(*corner as f32, 0.0, last))?;
            }
            ColliderShape::HeightField { heights, columns, size } => {
                path.field("columns").count(*columns, 2, HEIGHT_FIELD_SIDE_MAX)?;
                let rows = heights.len() / columns;
                path.field("heights").count(rows, 2, HEIGHT_FIELD_SIDE_MAX)?;
                if rows * columns != heights.len() {
                    return Err(path.field("heights").error(Problem::Invalid("the last row is not full")));
                }
                heights.iter().try_for_each(|v| coordinate(path, "heights", *v))?;
                size.iter().try_for_each(|side| extent("size", *side))?;
            }
            ColliderShape::Compound { parts } => {
                path.field("parts").count(parts.len(), 1, PARTS_MAX)?;
                for (index, (pose, part)) in parts.iter().enumerate() {
                    let path = path.index("parts", index);
                    if matches!(part, ColliderShape::Compound { .. }) {
                        return Err(path.error(Problem::Invalid("a part is a compound itself")));
                    }
                    if pose.checked().is_none() {
                        return Err(path.error(Problem::Invalid(
                            "the pose of a part is not finite, or its rotation is not a unit quaternion",
                        )));
                    }
                    part.check_parts(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Builds the shape for physics, scaled along its own axes. The error states why the shape cannot be scaled like this,
    /// or that it has no volume.
    pub(crate) fn build(&self, scale: [f32; 3]) -> Result<SharedShape, &'static str> {
        let [x, y, z] = scale;
        let scaled = |points: &[[f32; 3]]| -> Vec<Vector> {
            points.iter().map(|point| Vector::from_array(*point) * Vector::from_array(scale)).collect()
        };
        let is_uniform = x == y && y == z;
        let is_round =
            |radius: f32| (x == z).then_some(radius * x).ok_or("a round shape needs one scale for X and Z");
        Ok(match self {
            ColliderShape::Box { size } => {
                let half = Vector::from_array(*size) * Vector::from_array(scale) / 2.0;
                SharedShape::cuboid(half.x, half.y, half.z)
            }
            ColliderShape::Sphere { .. } | ColliderShape::Capsule { .. } if !is_uniform => {
                return Err("a sphere or capsule needs one scale for all axes");
            }
            ColliderShape::Sphere { radius } => SharedShape::ball(radius * x),
            ColliderShape::Capsule { radius, height } => {
                SharedShape::capsule_y((height / 2.0 - radius) * x, radius * x)
            }
            ColliderShape::Cylinder { radius, height } => {
                SharedShape::cylinder(height / 2.0 * y, is_round(*radius)?)
            }
            ColliderShape::Cone { radius, height } => SharedShape::cone(height / 2.0 * y, is_round(*radius)?),
            ColliderShape::ConvexHull { points } => SharedShape::convex_hull(&scaled(points))
                .ok_or("the points have no convex hull with a volume")?,
            ColliderShape::TriangleMesh { vertices, triangles } => {
                let flags = TriMeshFlags::FIX_INTERNAL_EDGES_TWO_SIDED;
                SharedShape::trimesh_with_flags(scaled(vertices), triangles.clone(), flags)
                    .map_err(|_| "the triangles are not a mesh")?
            }
            ColliderShape::HeightField { heights, columns, size } => {
                let rows = heights.len() / columns;
                let grid = Array2::new(rows, *columns, by_columns(heights, *columns));
                let size = Vector::new(size[0] * x, y, size[1] * z);
                SharedShape::heightfield_with_flags(grid, size, HeightFieldFlags::FIX_INTERNAL_EDGES)
            }
            ColliderShape::Compound { .. } if !is_uniform => {
                return Err("a compound needs one scale for all axes");
            }
            ColliderShape::Compound { parts } => {
                let parts = parts.iter().map(|(pose, part)| {
                    let at = RapierPose::from_parts(
                        Vector::from_array(pose.position) * x,
                        Rotation::from_array(pose.rotation),
                    );
                    Ok((at, part.build(scale)?))
                });
                SharedShape::compound(parts.collect::<Result<_, &'static str>>()?)
            }
        })
    }
}

/// The geometry library stores matrices column by column.
fn by_columns(heights: &[f32], columns: usize) -> Vec<f32> {
    (0..columns).flat_map(|column| heights.iter().skip(column).step_by(columns).copied()).collect()
}

fn coordinate(path: &Path<'_>, field: &str, value: f32) -> Result<(), DefinitionError> {
    path.field(field).within(value, -EXTENT_MAX, EXTENT_MAX)
}
