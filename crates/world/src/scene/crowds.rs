//! Bounds the bodies that overlap one new or teleported body.
//!
//! Physics examines each pair of bodies whose bounding boxes overlap, so n bodies at one point cost n² in every step.
//! The check depends only on the present poses, so a replay and a restored world refuse the same calls.

use rapier3d::prelude::{Aabb, Real};

use super::{Scene, SceneError};
use crate::body::Motion;
use crate::id::EntityId;
use crate::pose::Pose;

/// Bodies that are shorter than this share of a new body count only if they cover the centre of the new body. So a platform
/// can be placed where many small bodies are, while each new small body counts the platform.
const PART_MIN: Real = 0.125;

impl Scene {
    /// Checks that a new body would not overlap too many other bodies.
    pub(super) fn check_crowd(&self, motion: Motion, bounds: Aabb) -> Result<(), SceneError> {
        self.check_others(None, motion, bounds)
    }

    /// Checks that the body of a row would not overlap too many other bodies at a pose. Avatars of players are exempt.
    pub(super) fn check_teleport(&self, row: usize, pose: &Pose) -> Result<(), SceneError> {
        let Some(handles) = self.entities.handles[row].filter(|_| !self.is_avatar(row)) else {
            return Ok(());
        };
        let Some(motion) = self.motion_of(row) else { return Ok(()) };
        self.check_others(Some(self.entities.ids[row]), motion, self.physics.bounds(handles, pose))
    }

    fn check_others(&self, own: Option<EntityId>, motion: Motion, bounds: Aabb) -> Result<(), SceneError> {
        let max = self.definition.limits.overlaps_max;
        let near = self.physics.overlapping(bounds);
        self.looked_at.set(self.looked_at.get() + near.len() as u64);
        if near.len() <= max {
            return Ok(());
        }
        let counts = |(id, other): &(EntityId, Aabb)| {
            let Some(row) = self.entities.row(*id).filter(|row| own != Some(*id) && !self.is_avatar(*row))
            else {
                return false;
            };
            let is_small = longest(other) < longest(&bounds) * PART_MIN;
            self.motion_of(row).is_some_and(|of_other| are_paired(motion, of_other))
                && (!is_small || other.contains_local_point(bounds.center()))
        };
        let count = near.iter().filter(|found| counts(found)).count();
        if count > max { Err(SceneError::Crowded { max }) } else { Ok(()) }
    }

    /// Whether the entity of a row is the avatar of a player.
    fn is_avatar(&self, row: usize) -> bool {
        let owner = self.entities.owners[row].and_then(|owner| self.players.get(&owner));
        owner.is_some_and(|player| player.avatar == Some(self.entities.ids[row]))
    }
}

/// Whether physics examines pairs of bodies with these motions.
fn are_paired(a: Motion, b: Motion) -> bool {
    use Motion::{Dynamic, Fixed, Kinematic, Sensor};
    match (a, b) {
        (Sensor, _) | (_, Sensor) | (Dynamic, _) | (_, Dynamic) => true,
        (Fixed | Kinematic, Fixed | Kinematic) => false,
    }
}

fn longest(bounds: &Aabb) -> Real {
    bounds.extents().max_element()
}
