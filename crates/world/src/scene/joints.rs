//! Joints between bodies.

use super::{BoundJoint, Scene, SceneError};
use crate::joint::{Joint, JointId};

impl Scene {
    /// Joins two bodies. The joint is removed when either entity is removed, or by [`Scene::part`].
    ///
    /// # Errors
    /// Fails if the world has the maximum of joints or has used all ids, if an entity is unknown or has no body, or if
    /// a number of the joint is not finite.
    pub fn join(&mut self, joint: Joint) -> Result<JointId, SceneError> {
        let joints_max = self.definition.limits.joints_max;
        if self.joints.len() >= joints_max {
            return Err(SceneError::Full { of: "joints", max: joints_max });
        }
        if !joint.is_valid() {
            return Err(SceneError::BadNumber("joint"));
        }
        let id = JointId(self.next_joint);
        let next_joint = id.0.checked_add(1).ok_or(SceneError::OutOfIds("joint"))?;
        self.bind(id, joint)?;
        self.next_joint = next_joint;
        Ok(id)
    }

    /// Removes a joint.
    ///
    /// # Errors
    /// Fails if the joint is unknown.
    pub fn part(&mut self, id: JointId) -> Result<(), SceneError> {
        let bound = self.joints.remove(&id).ok_or(SceneError::UnknownJoint(id))?;
        self.physics.world.impulse_joints.remove(bound.handle, true);
        self.adapt_ends(&bound.joint);
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
        let (a, b) = (a?, b?);
        let handle = self.physics.world.impulse_joints.insert(a.body, b.body, joint.build(), true);
        self.joints.insert(id, BoundJoint { joint, handle });
        self.adapt_ends(&joint);
        Ok(())
    }

    /// Adapts the physics of both ends of a joint that came or went.
    fn adapt_ends(&mut self, joint: &Joint) {
        for id in [joint.a, joint.b] {
            let Some(row) = self.entities.row(id) else { continue };
            let kind = usize::from(self.entities.kinds[row].0);
            if let (Some(handles), Some(body)) =
                (self.entities.handles[row], &self.definition.kinds[kind].body)
            {
                self.physics.adapt_to_joints(handles, body);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        Body, ColliderShape, Definition, EntityId, Joint, JointId, JointKind, Kind, Scene, SceneError, Spawn,
    };

    fn scene() -> Scene {
        let cube = Kind::new("cube").with_body(Body::dynamic(ColliderShape::cube(0.5)));
        Scene::new(Arc::new(Definition { kinds: vec![cube], ..Definition::default() }), 1)
    }

    fn spawn(scene: &mut Scene) -> Result<EntityId, SceneError> {
        let kind = scene.kind("cube").expect("the kind is declared");
        scene.spawn(kind, Spawn::default())
    }

    #[test]
    fn world_that_has_used_all_entity_ids_refuses_to_spawn_and_changes_nothing() {
        let mut scene = scene();
        scene.next_entity = u32::MAX - 1;
        assert_eq!(spawn(&mut scene), Ok(EntityId(u32::MAX - 1)));
        let bodies = scene.physics.world.bodies.len();
        let error = spawn(&mut scene).expect_err("no id is left");
        assert_eq!(error, SceneError::OutOfIds("entity"));
        assert!(error.to_string().starts_with("this world has used all 4294967295 entity ids"), "{error}");
        assert_eq!((scene.entities().len(), scene.physics.world.bodies.len()), (1, bodies));
    }

    #[test]
    fn world_that_has_used_all_joint_ids_refuses_to_join_and_changes_nothing() {
        let mut scene = scene();
        let [a, b] = [(); 2].map(|()| spawn(&mut scene).expect("the world has space for the entity"));
        scene.next_joint = u32::MAX - 1;
        let joint = Joint::new(a, b, JointKind::Fixed);
        assert_eq!(scene.join(joint), Ok(JointId(u32::MAX - 1)));
        assert_eq!(scene.join(joint), Err(SceneError::OutOfIds("joint")));
        assert_eq!((scene.joints().count(), scene.physics.world.impulse_joints.len()), (1, 1));
    }
}
