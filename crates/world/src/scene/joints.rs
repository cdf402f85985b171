//! Joints between bodies.

use super::{BoundJoint, Scene, SceneError};
use crate::joint::{Joint, JointId};

impl Scene {
    /// Holds two bodies together. It goes with either of them, or by [`Scene::part`].
    ///
    /// # Errors
    /// Fails if the world has as many joints as it may or has used all ids, if an entity is unknown or has no body, or if a
    /// number of the joint is not finite.
    pub fn join(&mut self, joint: Joint) -> Result<JointId, SceneError> {
        let joints_max = self.definition.limits.joints_max;
        if self.joints.len() >= joints_max {
            return Err(SceneError::Full { of: "joints", max: joints_max });
        }
        if !joint.is_valid() {
            return Err(SceneError::BadNumber("joint"));
        }
        let id = JointId(self.next_joint);
        self.bind(id, joint)?;
        self.next_joint = id.0.checked_add(1).expect("a world lives shorter than four billion joints");
        Ok(id)
    }

    /// Removes a joint.
    ///
    /// # Errors
    /// Fails if the joint is unknown.
    pub fn part(&mut self, id: JointId) -> Result<(), SceneError> {
        let bound = self.joints.remove(&id).ok_or(SceneError::UnknownJoint(id))?;
        self.physics.world.impulse_joints.remove(bound.handle, true);
        Ok(())
    }

    /// Returns a joint, if it exists.
    pub fn joint(&self, id: JointId) -> Option<&Joint> {
        self.joints.get(&id).map(|bound| &bound.joint)
    }

    /// All joints, ordered by id.
    pub fn joints(&self) -> impl Iterator<Item = (JointId, &Joint)> {
        self.joints.iter().map(|(id, bound)| (*id, &bound.joint))
    }

    pub(crate) fn bind(&mut self, id: JointId, joint: Joint) -> Result<(), SceneError> {
        let [a, b] = [joint.a, joint.b].map(|id| {
            self.entities.row(id).and_then(|row| self.entities.handles[row]).ok_or(SceneError::NoBody(id))
        });
        let handle = self.physics.world.impulse_joints.insert(a?.body, b?.body, joint.build(), true);
        self.joints.insert(id, BoundJoint { joint, handle });
        Ok(())
    }
}
