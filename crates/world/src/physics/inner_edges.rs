//! Contacts with inner edges, where several bodies form the ground.
//!
//! Flush boxes form one surface, but physics finds each box's contacts separately, so a body that slides over a seam hits the
//! hidden side of the next box. Such contacts are removed. The body keeps its contacts with the box that covers the side. The
//! hook of the engine that removes them makes all contacts with the body dearer, so it is enabled only while another body covers
//! a side. In meshes and height fields, the geometry library corrects the contacts ([`crate::ColliderShape`]).

use rapier3d::parry::bounding_volume::{Aabb, BoundingVolume};
use rapier3d::parry::partitioning::Bvh;
use rapier3d::prelude::*;

use super::crowd::index_of;
use super::{Handles, INNER_EDGES_TAG, Physics, hooks, passes_each_other};

/// A body's side is covered if another body reaches this far, in metres, beyond the side and below its edges.
const DEPTH: f32 = 0.01;
/// Smallest component of a contact's normal that counts as a push by a side.
const PUSH_MIN: f32 = 1e-3;
/// A contact with an edge, this near to the edge, in metres, is doubled if another contact is within `DOUBLE_REACH`.
const EDGE_REACH: f32 = 1e-4;
const DOUBLE_REACH: f32 = 0.05;

impl Physics {
    /// Records the place of a fixed obstacle.
    pub(super) fn note_fixed(&mut self, handles: Handles) {
        if !self.get(handles).is_fixed() || self.collider(handles).is_sensor() {
            return;
        }
        self.forget_fixed(handles);
        let (collider, place) = self.placed_collider(handles);
        let bounds = collider.shape().compute_aabb(place);
        let mut is_covered = is_covered_by(self.placed_collider(handles), None);
        for near in self.fixed_near(&bounds) {
            let (own, other) = (self.placed_collider(handles), self.placed_collider(near));
            is_covered |= is_covered_by(own, Some(other));
            if is_covered_by(other, Some(own)) {
                self.set_covered(near, true);
            }
        }
        self.set_covered(handles, is_covered);
        self.fixed.insert(bounds, index_of(handles.collider));
    }

    /// Forgets a fixed obstacle that is removed or placed elsewhere.
    pub(super) fn forget_fixed(&mut self, handles: Handles) {
        let index = index_of(handles.collider);
        let Some(bounds) = self.fixed.leaf_node(index).map(|leaf| leaf.aabb()) else { return };
        self.fixed.remove(index);
        for near in self.fixed_near(&bounds) {
            let own = self.placed_collider(near);
            // A floor without covered sides needs no search among all the bodies on it.
            if own.0.user_data & INNER_EDGES_TAG == 0 {
                continue;
            }
            let mut others = self.fixed_near(&own.0.shape().compute_aabb(own.1)).into_iter();
            let is_covered = is_covered_by(own, None)
                || others.any(|other| other != near && is_covered_by(own, Some(self.placed_collider(other))));
            self.set_covered(near, is_covered);
        }
    }

    /// A collider, and the present pose of its body.
    fn placed_collider(&self, handles: Handles) -> (&Collider, &Pose) {
        (self.collider(handles), self.get(handles).position())
    }

    /// The fixed obstacles that touch a box.
    fn fixed_near(&self, bounds: &Aabb) -> Vec<Handles> {
        let bounds = bounds.loosened(DEPTH);
        let found = self.fixed.intersect_aabb(&bounds);
        found
            .filter_map(|index| {
                let (collider, handle) = self.world.colliders.get_unknown_gen(index)?;
                Some(Handles { body: collider.parent()?, collider: handle })
            })
            .collect()
    }

    fn set_covered(&mut self, handles: Handles, is_covered: bool) {
        let tag = self.collider(handles).user_data;
        if (tag & INNER_EDGES_TAG != 0) != is_covered {
            let collider = &mut self.world.colliders[handles.collider];
            collider.user_data = tag ^ INNER_EDGES_TAG;
            collider.set_active_hooks(hooks(collider.user_data));
        }
    }
}

/// Whether another body, or another part of the same body, may cover an edge of one of a body's sides. A body in the middle of a
/// floor covers none of the floor's edges. The test may also succeed for bodies that are only near.
fn is_covered_by((own, at): (&Collider, &Pose), other: Option<(&Collider, &Pose)>) -> bool {
    let parts = own.shape().as_compound().map(Compound::shapes);
    let Some((other, place)) = other else { return parts.is_some_and(|parts| parts.len() > 1) };
    let covers = |pose: &Pose, part: &dyn Shape| {
        let Some(cuboid) = part.as_cuboid() else { return part.as_convex_polyhedron().is_some() };
        let Aabb { mins, maxs } = other.shape().compute_aabb(&(pose.inverse() * *place));
        let half = cuboid.half_extents;
        let depth = DEPTH.min(half.min_element());
        let holds = |axis: usize, value: f32| mins[axis] < value && value < maxs[axis];
        let overlaps = |axis: usize| mins[axis] < half[axis] && -half[axis] < maxs[axis];
        (0..3).any(|side| {
            let (a, b) = ((side + 1) % 3, (side + 2) % 3);
            let is_beside =
                [half[side] + 0.5 * depth, -half[side] - 0.5 * depth].map(|beyond| holds(side, beyond));
            let at_edge = |axis: usize| holds(axis, half[axis] - depth) || holds(axis, depth - half[axis]);
            is_beside.contains(&true) && (at_edge(a) && overlaps(b) || at_edge(b) && overlaps(a))
        })
    };
    match parts {
        None => covers(at, own.shape()),
        Some(parts) => parts.iter().any(|(in_body, part)| covers(&(*at * *in_body), &**part)),
    }
}

/// Removes the contacts of a manifold in which a covered side of a fixed body pushes.
pub(super) fn remove(context: &mut ContactModificationContext<'_>, fixed: &Bvh) {
    let colliders = context.colliders;
    let pair = [context.collider1, context.collider2].map(|handle| &colliders[handle]);
    let Some(rigid) = context.rigid_mut() else { return };
    let parts = [rigid.manifold.subshape1, rigid.manifold.subshape2];
    for (at, sign) in [(0, 1.0), (1, -1.0)] {
        let (own, other) = (pair[at], pair[1 - at]);
        let Some((pose, shape)) = fixed_part(own, parts[at]) else { continue };
        let depth = DEPTH.min(shape.compute_local_aabb().half_extents().min_element());
        let normal = pose.rotation.inverse() * (*rigid.normal * sign);
        let local = |contact: &SolverContact| {
            pose.inverse_transform_point(if at == 0 { contact.anchor1 } else { contact.anchor2 })
        };
        // Physics joins contacts of several parts of a compound under one part if their normals are almost equal.
        let is_compound = own.shape().as_compound().is_some();
        let joined: Vec<_> = rigid.solver_contacts.iter().filter(|_| is_compound).map(local).collect();
        rigid.solver_contacts.retain(|contact| {
            let point = local(contact);
            let is_double = joined.iter().any(|other| (1e-12..DOUBLE_REACH).contains(&other.distance(point)));
            !probes(shape, point, normal, depth, is_double)
                .any(|probe| Covered { point: pose * probe, depth, own, other }.holds(colliders, fixed))
        });
    }
}

/// Returns the part of a fixed body with flat sides, and its pose in the world.
fn fixed_part(collider: &Collider, part: u32) -> Option<(Pose, &dyn Shape)> {
    if collider.user_data & INNER_EDGES_TAG == 0 {
        return None;
    }
    match collider.shape().as_compound() {
        None => Some((*collider.position(), collider.shape())),
        Some(compound) => {
            let (at, shape) = compound.shapes().get(part as usize)?;
            Some((*collider.position() * *at, &**shape))
        }
    }
}

/// Returns the normal of each flat side, and its distance from the origin.
fn sides(shape: &dyn Shape) -> impl Iterator<Item = (Vector, f32)> {
    let of_box = shape.as_cuboid().into_iter().flat_map(|cuboid| {
        [Vector::X, Vector::Y, Vector::Z].into_iter().flat_map(|axis| {
            let distance = axis.dot(cuboid.half_extents);
            [(axis, distance), (-axis, distance)]
        })
    });
    let of_hull = shape.as_convex_polyhedron().into_iter().flat_map(|hull| {
        hull.faces().iter().map(|face| {
            let corner = hull.vertices_adj_to_face()[face.first_vertex_or_edge as usize];
            (face.normal, face.normal.dot(hull.points()[corner as usize]))
        })
    });
    of_box.chain(of_hull)
}

/// Returns, for each side at a contact that pushes along `normal`, the point outside of the side that is nearest to the contact and
/// below the edges of the side. For a doubled contact, the other sides at the contact count, too.
fn probes(
    shape: &dyn Shape,
    point: Vector,
    normal: Vector,
    depth: f32,
    is_double: bool,
) -> impl Iterator<Item = Vector> {
    let gap = move |(side, distance): (Vector, f32)| distance - side.dot(point);
    let below = sides(shape).fold(point, |below, side| below - side.0 * (depth - gap(side)).max(0.0));
    let pushing = sides(shape).filter(move |side| {
        side.0.dot(normal) > PUSH_MIN && gap(*side) < depth || is_double && gap(*side).abs() < EDGE_REACH
    });
    pushing.map(move |(side, distance)| below + side * (distance + depth - side.dot(below)))
}

/// A point beyond a side of the body `own`, which touches the body `other`.
struct Covered<'a> {
    point: Vector,
    depth: f32,
    own: &'a Collider,
    other: &'a Collider,
}

impl Covered<'_> {
    /// Whether the point is well inside of a fixed body that also stops the other body of the contact.
    fn holds(&self, colliders: &ColliderSet, fixed: &Bvh) -> bool {
        let Covered { point, depth, own, other } = *self;
        let is_inside = |pose: &Pose, shape: &dyn Shape| {
            let near = shape.project_point(pose, point, false);
            near.is_inside && near.point.distance(point) > 0.5 * depth
        };
        fixed.intersect_aabb(&Aabb::new(point, point)).any(|index| {
            let Some((collider, _)) = colliders.get_unknown_gen(index) else { return false };
            let pose = collider.position();
            let covers = match collider.shape().as_compound() {
                None => !std::ptr::eq(collider, own) && is_inside(pose, collider.shape()),
                Some(all) => all.shapes().iter().any(|(at, part)| is_inside(&(*pose * *at), &**part)),
            };
            covers
                && other.collision_groups().test(collider.collision_groups())
                && !passes_each_other([collider, other])
        })
    }
}
