//! Finds the bodies whose bounding boxes overlap a box, at their present poses.
//!
//! The engine's index has the poses at the end of the last physics step. Walkers were corrected after it, by a distance that is
//! recorded. Bodies that were added or teleported since then are in a separate index.

use rapier3d::parry::bounding_volume::BoundingVolume;
use rapier3d::prelude::*;

use super::{Built, Handles, Physics, id_of};
use crate::id::EntityId;
use crate::pose::{Pose as PublicPose, rapier_pose};

impl Built {
    /// The bounding box at a pose.
    pub(crate) fn bounds(&self, pose: &PublicPose) -> Aabb {
        self.shape.compute_aabb(&rapier_pose(pose))
    }
}

impl Physics {
    /// The bounding box of a body at a pose.
    pub(crate) fn bounds(&self, handles: Handles, pose: &PublicPose) -> Aabb {
        self.collider(handles).shape().compute_aabb(&rapier_pose(pose))
    }

    /// Records that a body was added or teleported.
    pub(crate) fn note_placed(&mut self, handles: Handles) {
        let bounds = self.collider(handles).shape().compute_aabb(self.get(handles).position());
        self.placed.insert(bounds, index_of(handles.collider));
        self.note_fixed(handles);
    }

    /// Forgets a body that is removed.
    pub(super) fn forget_placed(&mut self, handles: Handles) {
        self.placed.remove(index_of(handles.collider));
        self.forget_fixed(handles);
    }

    /// Returns the bodies whose bounding boxes overlap a box, with their boxes. Which bodies are returned depends only on
    /// the present poses; their order depends on the history.
    pub(crate) fn overlapping(&self, bounds: Aabb) -> Vec<(EntityId, Aabb)> {
        let with_bounds = |(collider, body): (&Collider, &RigidBody)| {
            (id_of(collider.user_data), collider.shape().compute_aabb(body.position()))
        };
        self.present(&bounds).map(with_bounds).collect()
    }

    /// The colliders whose bounding boxes, at the present poses of their bodies, overlap a box.
    pub(super) fn present<'a>(
        &'a self,
        bounds: &'a Aabb,
    ) -> impl Iterator<Item = (&'a Collider, &'a RigidBody)> {
        let old = bounds.loosened(self.corrected_by_max);
        let old = self.world.intersect_aabb_conservative(old, QueryFilter::default());
        let old = old.filter(|(handle, _)| self.placed.leaf_node(index_of(*handle)).is_none());
        let placed = self.placed.intersect_aabb(bounds);
        let placed = placed.filter_map(|index| self.world.colliders.get_unknown_gen(index));
        old.map(|(_, collider)| collider).chain(placed.map(|(collider, _)| collider)).filter_map(|collider| {
            let body = self.world.bodies.get(collider.parent()?)?;
            collider.shape().compute_aabb(body.position()).intersects(bounds).then_some((collider, body))
        })
    }
}

/// The index of a collider in the trees of bounding boxes.
pub(super) fn index_of(collider: ColliderHandle) -> u32 {
    collider.0.into_raw_parts().0
}
