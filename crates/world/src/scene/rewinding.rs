//! Queries on the past, as a player saw the world.

use std::collections::BTreeMap;

use rapier3d::prelude::{Collider, Pose as RapierPose};

use super::{Scene, SceneError};
use crate::id::{EntityId, PlayerId};
use crate::limits::REWIND_MS_MAX;
use crate::physics::id_of;
use crate::pose::{Pose, rapier_pose};

impl Scene {
    /// Rewinds queries ([`cast_ray`](Self::cast_ray), [`cast_shape`](Self::cast_shape), [`overlaps`](Self::overlaps),
    /// [`distance`](Self::distance)) and [`seen_pose`](Self::seen_pose) to the
    /// poses that a player saw, by its last [`crate::Command::SetViewDelay`]. The player's own avatar and the entities
    /// attached to it keep their current poses, because a player sees itself without delay. Nothing else changes.
    /// Returns the number of entities whose past pose differs from their present one.
    ///
    /// [`end_rewind`](Self::end_rewind) must follow before the hook returns. Removed entities are not found. Entities that
    /// did not exist yet at that time are found at their first poses. A second rewind is refused, and so is a rewind if the
    /// definition does not record the past ([`crate::Definition::rewinds`]).
    ///
    /// The idea is lag compensation (Bernier, Latency Compensating Methods in Client/Server In-game Protocol Design and
    /// Optimization, 2001).
    ///
    /// # Errors
    /// Fails if the player is unknown, if the scene is already rewound, or if the definition does not enable rewinding.
    pub fn rewind(&mut self, player: PlayerId) -> Result<usize, SceneError> {
        if self.view.is_some() {
            return Err(SceneError::Rewound);
        }
        if !self.definition.rewinds {
            return Err(SceneError::NoPast);
        }
        let known = self.players.get(&player).ok_or(SceneError::UnknownPlayer(player))?;
        let (avatar, behind_ms) = (known.avatar, known.behind_ms);
        let mut places = self.past.places(self.tick, behind_ms, &self.entities);
        if let Some(avatar) = avatar {
            places.retain(|id, _| !self.is_attached_to(*id, avatar));
        }
        let count = places.len();
        self.view = Some(places);
        Ok(count)
    }

    /// Ends the rewind: queries see the present again.
    pub fn end_rewind(&mut self) {
        self.view = None;
    }

    /// Returns the pose of an entity; in a rewound scene, the pose that the player saw.
    pub fn seen_pose(&self, id: EntityId) -> Option<Pose> {
        let pose = self.pose(id)?;
        Some(self.view.as_ref().and_then(|view| view.get(&id)).copied().unwrap_or(pose))
    }

    /// Number of entities whose past pose differs from the present one. It is the additional cost of a query.
    pub fn elsewhere_count(&self) -> usize {
        self.view.as_ref().map_or(0, BTreeMap::len)
    }

    /// Sets the age of the world that a player sees.
    pub(crate) fn set_behind(&mut self, id: PlayerId, behind_ms: u16) {
        if let Some(player) = self.players.get_mut(&id) {
            player.behind_ms = behind_ms.min(REWIND_MS_MAX);
        }
    }

    /// Records past poses after a step.
    pub(crate) fn remember_places(&mut self) {
        // If a hook left the scene rewound, the next hook must not be affected.
        self.view = None;
        if self.definition.rewinds && self.past.remember(self.tick, &self.entities) {
            self.stats.past_shortened += 1;
        }
    }

    /// Whether a collider has its present pose in the rewound scene. If so, the index finds it.
    pub(super) fn is_here(&self, collider: &Collider) -> bool {
        self.view.as_ref().is_none_or(|view| !view.contains_key(&id_of(collider.user_data)))
    }

    /// Returns the colliders whose past pose differs from the present one, with their past poses.
    pub(super) fn elsewhere(&self) -> impl Iterator<Item = (&Collider, RapierPose)> {
        let view: Option<&BTreeMap<EntityId, Pose>> = self.view.as_ref();
        view.into_iter().flatten().filter_map(|(id, pose)| {
            let handles = self.entities.handles[self.entities.row(*id)?]?;
            Some((self.physics.collider(handles), rapier_pose(pose)))
        })
    }

    /// Returns the pose of a body in the present or rewound scene.
    pub(super) fn place_of(&self, collider: &Collider) -> RapierPose {
        let seen = self.view.as_ref().and_then(|view| view.get(&id_of(collider.user_data)));
        seen.map_or(*collider.position(), rapier_pose)
    }

    fn is_attached_to(&self, id: EntityId, other: EntityId) -> bool {
        let mut at = Some(id);
        while let Some(id) = at {
            if id == other {
                return true;
            }
            at = self.entities.row(id).and_then(|row| self.entities.parents[row]).map(|parent| parent.id);
        }
        false
    }
}
