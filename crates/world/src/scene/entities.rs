//! Spawning and removing entities, and their data besides the body.

use std::sync::Arc;

use nowcast_wire::Value;
use rapier3d::prelude::Aabb;

use super::stored_bytes::entity_bytes;
use super::{Scene, SceneError};
use crate::body::Motion;
use crate::conform::{self, held_bytes};
use crate::contact::Contact;
use crate::entity::{Entities, EntityRef, Parent, Row, Spawn};
use crate::event::Event;
use crate::id::{EntityId, KindId};
use crate::kind::Kind;
use crate::limits::PARENTS_DEPTH_MAX;
use crate::owner::OwnerClaim;
use crate::physics::BodyState;
use crate::pose::Pose;
use crate::problem::is_name;
use crate::walker::WalkerState;

impl Scene {
    /// All entities, as columns.
    pub fn entities(&self) -> &Entities {
        &self.entities
    }

    /// Returns one entity, if it exists.
    pub fn entity(&self, id: EntityId) -> Option<EntityRef<'_>> {
        self.entities.get(id)
    }

    /// Returns the id of the next entity.
    pub fn next_id(&self) -> EntityId {
        EntityId(self.next_entity)
    }

    /// Spawns an entity. It exists at once; queries and contacts find it from the next step on.
    ///
    /// # Errors
    /// Fails if the world is full or has used all ids, if a number is not finite or outside its bounds, if the owner is unknown,
    /// if a value does not fit its attribute, or if too many bodies overlap at its place. Then nothing is changed.
    ///
    /// # Panics
    /// Panics if the kind belongs to another definition.
    pub fn spawn(&mut self, kind: KindId, spawn: Spawn) -> Result<EntityId, SceneError> {
        self.spawn_with(kind, spawn, Scene::check_crowd)
    }

    /// Spawns an entity if `check` accepts the motion and the bounding box of its body.
    pub(super) fn spawn_with(
        &mut self,
        kind: KindId,
        spawn: Spawn,
        check: fn(&Scene, Motion, Aabb) -> Result<(), SceneError>,
    ) -> Result<EntityId, SceneError> {
        let definition = Arc::clone(&self.definition);
        let of = &definition.kinds[usize::from(kind.0)];
        let entities_max = definition.limits.entities_max;
        if self.entities.len() >= entities_max {
            return Err(SceneError::Full { of: "entities", max: entities_max });
        }
        let next_entity = self.next_entity.checked_add(1).ok_or(SceneError::OutOfIds("entity"))?;
        let pose = spawn.pose.checked().ok_or(SceneError::BadNumber("pose"))?;
        let velocity = super::bodies::checked(spawn.velocity)?;
        let scale = spawn.scale.unwrap_or([1.0; 3]);
        if !scale.iter().all(|v| v.is_finite() && (0.001..=10_000.0).contains(v)) {
            return Err(SceneError::BadNumber("scale"));
        }
        if let Some(owner) = spawn.owner {
            self.player(owner).ok_or(SceneError::UnknownPlayer(owner))?;
        }
        conform::bounded(&spawn.private, definition.limits.value_bytes_max)?;
        let attributes = attributes_of(of, &spawn.attributes)?;
        let built = match &of.body {
            Some(body) => {
                let built = self.physics.build(kind.0.into(), body, scale).map_err(SceneError::BadScale)?;
                check(self, body.motion, built.bounds(&pose))?;
                Some((body, built))
            }
            None => None,
        };
        self.replace_kept(0, entity_bytes(&attributes, &spawn.private))?;
        let id = EntityId(self.next_entity);
        let gravity_scale = of.body.as_ref().map_or(0.0, |body| body.gravity_scale);
        let handles = built.map(|(body, built)| {
            let (layers, reports_contacts) = (of.layers, of.reports_contacts);
            let state = BodyState {
                id,
                pose,
                scale,
                velocity,
                gravity_scale,
                passes: None,
                layers,
                reports_contacts,
            };
            let handles = self.physics.add(body, built, &state);
            self.physics.note_placed(handles);
            handles
        });
        self.next_entity = next_entity;
        if of.walker.is_some() {
            self.walkers.insert(id, WalkerState::new());
        }
        if of.reports_contacts {
            self.reporters.insert(id);
        }
        let mut tags = of.tags.clone();
        tags.sort();
        self.entities.push(Row {
            id,
            kind,
            pose,
            scale,
            velocity,
            handles,
            parent: None,
            owner: spawn.owner,
            tags,
            attributes,
            private: spawn.private,
            gravity_scale,
            passes: None,
            changed_tick: self.next_tick(),
        });
        if spawn.owner.is_some() {
            self.holds.insert(id, OwnerClaim::at(pose.position));
        }
        if of.walker.is_some() {
            // The body of a walker keeps only the yaw of the rotation.
            self.put(self.entities.ids.len() - 1, pose);
        }
        self.push_event(Event::Spawned(id));
        Ok(id)
    }

    /// Removes an entity, its joints and all attached entities.
    ///
    /// # Errors
    /// Fails if the entity is unknown.
    pub fn despawn(&mut self, id: EntityId) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let children = self.attached_to(id);
        let joints = self.joints.iter().filter(|(_, bound)| bound.joint.a == id || bound.joint.b == id);
        for joint in joints.map(|(joint, _)| *joint).collect::<Vec<_>>() {
            self.part(joint)?;
        }
        if let Some(handles) = self.entities.handles[row] {
            self.physics.remove(handles);
        }
        self.release_entity(row);
        self.entities.kill(row);
        self.walkers.remove(&id);
        self.holds.remove(&id);
        self.end_move(id);
        self.reporters.remove(&id);
        let gone: Vec<_> = self.touching.iter().filter(|(a, b)| *a == id || *b == id).copied().collect();
        for (a, b) in gone {
            self.touching.remove(&(a, b));
            self.ended.push(Contact { a, b, is_begin: false, impulse: 0.0 });
        }
        for row in 0..self.entities.ids.len() {
            if self.entities.passes[row] == Some(id) {
                self.restore_collisions(row);
            }
            self.forget_entity(row, id);
        }
        let (seated, children): (Vec<_>, Vec<_>) =
            children.into_iter().partition(|child| self.walkers.contains_key(child));
        for player in self.players.values_mut().filter(|player| player.avatar == Some(id)) {
            let is_theirs = |child: &&EntityId| {
                self.entities.row(**child).is_some_and(|row| self.entities.owners[row] == Some(player.id))
            };
            player.avatar = seated.iter().find(is_theirs).copied();
            self.players_version = Arc::default();
        }
        self.push_event(Event::Despawned(id));
        seated.into_iter().try_for_each(|walker| self.set_parent(walker, None))?;
        children.into_iter().try_for_each(|child| self.despawn(child))
    }

    /// Clears the attributes of a row that hold a removed entity.
    fn forget_entity(&mut self, row: usize, id: EntityId) {
        let next_tick = self.next_tick();
        let Scene { entities, definition, .. } = self;
        for index in definition.kinds[usize::from(entities.kinds[row].0)].attributes.entities() {
            let value = &mut entities.attributes[row][*index];
            if value.as_f64() == Some(f64::from(id.0)) {
                *value = Value::Nil;
                entities.changed_ticks[row] = next_tick;
            }
        }
    }

    /// Returns the entities whose parent is this entity.
    pub(super) fn attached_to(&self, id: EntityId) -> Vec<EntityId> {
        let parent = |child: EntityId| self.entities.parents[self.entities.row(child)?];
        let is_child = |child: &&EntityId| parent(**child).is_some_and(|on| on.id == id);
        self.entities.attached().iter().filter(is_child).copied().collect()
    }

    /// Returns an attribute; `None` if the entity does not exist or its kind has no such attribute.
    pub fn attribute(&self, id: EntityId, name: &str) -> Option<&Value> {
        let row = self.entities.row(id)?;
        let index = self.kind_of(self.entities.kinds[row]).attributes.index(name)?;
        Some(&self.entities.attributes[row][index])
    }

    /// Sets an attribute, quantised as its kind declares. Setting the current value changes nothing and is not
    /// replicated.
    ///
    /// # Errors
    /// Fails if the entity or the attribute is unknown, if the value does not fit it, or if the world holds too many bytes of
    /// values.
    pub fn set_attribute(
        &mut self,
        id: EntityId,
        name: &str,
        value: impl Into<Value>,
    ) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let kind = self.kind_of(self.entities.kinds[row]);
        let index = kind.attributes.index(name).ok_or_else(|| SceneError::UnknownAttribute {
            kind: kind.name.clone(),
            attribute: name.to_owned(),
        })?;
        let value = kind.attributes.conform(index, &value.into())?;
        if self.entities.attributes[row][index] != value {
            self.replace_kept(held_bytes(&self.entities.attributes[row][index]), held_bytes(&value))?;
            self.entities.attributes[row][index] = value;
            self.entities.changed_ticks[row] = self.next_tick();
        }
        Ok(())
    }

    /// Returns the private data of an entity; clients never receive it.
    pub fn private(&self, id: EntityId) -> Option<&Value> {
        self.entities.row(id).map(|row| &self.entities.privates[row])
    }

    /// Sets the private data of an entity.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if the value is too large, or if the world holds too many bytes of values.
    pub fn set_private(&mut self, id: EntityId, value: impl Into<Value>) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let value = value.into();
        conform::bounded(&value, self.definition.limits.value_bytes_max)?;
        self.replace_kept(held_bytes(&self.entities.privates[row]), held_bytes(&value))?;
        self.entities.privates[row] = value;
        Ok(())
    }

    /// Adds or removes a tag of an entity.
    ///
    /// # Errors
    /// Fails if the entity is unknown, if the tag is not a valid name, or if the entity has too many tags.
    pub fn set_tag(&mut self, id: EntityId, tag: &str, is_set: bool) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let tags_max = self.definition.limits.tags_max;
        if change_tag(&mut self.entities.tags[row], tag, is_set, tags_max)? {
            self.entities.changed_ticks[row] = self.next_tick();
        }
        Ok(())
    }

    /// Attaches an entity to a parent, or (`None`) detaches it. The entity keeps its place in the world, and follows its
    /// parent from then on. Dynamic bodies other than walkers need joints instead. Attached entities are removed together with
    /// their parent; walkers are detached.
    ///
    /// # Errors
    /// Fails if an entity is unknown, if the child has a dynamic body and is not a walker, or if the chain of parents would be a cycle or
    /// too long.
    pub fn set_parent(&mut self, id: EntityId, parent: Option<EntityId>) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let is_walker = self.walkers.contains_key(&id);
        if !is_walker
            && self.entities.handles[row].is_some_and(|handles| self.physics.get(handles).is_dynamic())
        {
            return Err(SceneError::DynamicChild(id));
        }
        let parent = match parent {
            None => None,
            Some(parent) => {
                let parent_row = self.row(parent)?;
                // The chain of parents must end without a cycle through this entity. Entities attached to it count,
                // too.
                let above = self.chain_above(parent).filter(|chain| !chain.contains(&id) && parent != id);
                let depth = above.ok_or(SceneError::BadParent(id))?.len() + self.depth_below(id) + 1;
                if depth >= PARENTS_DEPTH_MAX {
                    return Err(SceneError::BadParent(id));
                }
                let local = self.entities.poses[parent_row].inverse().then(&self.entities.poses[row]);
                Some(Parent { id: parent, local })
            }
        };
        if is_walker {
            self.set_passes(id, parent.map(|parent| parent.id))?;
        }
        self.entities.attach(row, parent);
        self.entities.changed_ticks[row] = self.next_tick();
        Ok(())
    }

    /// Seats a walker on another entity, at a place relative to it, in metres. The walker looks where the entity looks, follows
    /// it, and passes through it, until [`Scene::set_parent`] detaches the walker.
    ///
    /// # Errors
    /// Fails if an entity is unknown or the first one is not a walker, if a number is out of bounds, or for the reasons of
    /// [`Scene::set_parent`].
    pub fn seat(&mut self, id: EntityId, on: EntityId, place: [f32; 3]) -> Result<(), SceneError> {
        let row = self.row(id)?;
        if !self.walkers.contains_key(&id) {
            return Err(SceneError::NoBody(id));
        }
        let local = Pose { position: place, ..Pose::IDENTITY };
        let pose = self.pose(on).ok_or(SceneError::UnknownEntity(on))?.then(&local);
        let pose = pose.checked().ok_or(SceneError::BadNumber("seat"))?;
        self.set_parent(id, None)?;
        self.put(row, pose);
        self.set_parent(id, Some(on))
    }

    /// Number of attached entities.
    pub fn attached_count(&self) -> usize {
        self.entities.attached().len()
    }

    /// Disables contacts between two entities, or (`None`) enables all contacts of the first entity again. An entity can
    /// pass through one other entity at a time.
    ///
    /// # Errors
    /// Fails if an entity is unknown, or if the first has no body.
    pub fn set_passes(&mut self, id: EntityId, other: Option<EntityId>) -> Result<(), SceneError> {
        let row = self.row(id)?;
        let handles = self.entities.handles[row].ok_or(SceneError::NoBody(id))?;
        if let Some(other) = other {
            self.row(other)?;
        }
        if self.entities.passes[row] != other {
            self.entities.passes[row] = other;
            self.physics.set_passes(handles, id, other);
        }
        Ok(())
    }

    /// Returns the entity that this one passes through, if any.
    pub fn passes(&self, id: EntityId) -> Option<EntityId> {
        self.entities.passes[self.entities.row(id)?]
    }

    /// A value set now is visible after the current step, or after the next one.
    pub(super) fn next_tick(&self) -> u64 {
        self.tick + 1
    }

    pub(super) fn row(&self, id: EntityId) -> Result<usize, SceneError> {
        self.entities.row(id).ok_or(SceneError::UnknownEntity(id))
    }

    fn restore_collisions(&mut self, row: usize) {
        self.entities.passes[row] = None;
        if let Some(handles) = self.entities.handles[row] {
            self.physics.set_passes(handles, self.entities.ids[row], None);
        }
    }

    /// Returns the parent of an entity and all further ancestors; `None` if the chain is too deep.
    fn chain_above(&self, id: EntityId) -> Option<Vec<EntityId>> {
        let mut chain = Vec::new();
        let mut at = id;
        while let Some(parent) = self.entities.row(at).and_then(|row| self.entities.parents[row]) {
            chain.push(parent.id);
            at = parent.id;
            if chain.len() >= PARENTS_DEPTH_MAX {
                return None;
            }
        }
        Some(chain)
    }

    /// Depth of the deepest entity that is attached below this one.
    fn depth_below(&self, id: EntityId) -> usize {
        let depths = self.entities.attached().iter().filter_map(|attached| {
            let chain = self.chain_above(*attached)?;
            chain.iter().position(|above| *above == id).map(|place| place + 1)
        });
        depths.max().unwrap_or(0)
    }

    /// Moves all attached entities to the poses that follow from their parents.
    pub(crate) fn follow_parents(&mut self) {
        let attached = self.entities.attached().iter();
        for row in attached.filter_map(|id| self.entities.row(*id)).collect::<Vec<_>>() {
            let pose = self.attachment_pose(row);
            if self.entities.poses[row] != pose {
                self.put(row, pose);
            }
        }
    }

    /// Computes the pose of an attached entity relative to its parent's present pose.
    pub(super) fn attach_at_current_pose(&mut self, row: usize) {
        let Some(Parent { id, .. }) = self.entities.parents[row] else { return };
        if let Some(above) = self.entities.row(id) {
            let local = self.attachment_pose(above).inverse().then(&self.entities.poses[row]);
            self.entities.attach(row, Some(Parent { id, local }));
        }
    }

    fn attachment_pose(&self, row: usize) -> Pose {
        let Some(Parent { id, local }) = self.entities.parents[row] else { return self.entities.poses[row] };
        // Chains are limited by `PARENTS_DEPTH_MAX` and have no cycles.
        self.entities.row(id).map_or(local, |parent| self.attachment_pose(parent).then(&local))
    }
}

/// The defaults of a kind with the given values.
fn attributes_of(kind: &Kind, given: &[(String, Value)]) -> Result<Box<[Value]>, SceneError> {
    let mut attributes: Box<[Value]> = kind.attributes.defaults().into();
    for (name, value) in given {
        let index = kind.attributes.index(name).ok_or_else(|| SceneError::UnknownAttribute {
            kind: kind.name.clone(),
            attribute: name.clone(),
        })?;
        attributes[index] = kind.attributes.conform(index, value)?;
    }
    Ok(attributes)
}

/// Returns whether anything changed.
pub(super) fn change_tag(
    tags: &mut Vec<String>,
    tag: &str,
    is_set: bool,
    tags_max: usize,
) -> Result<bool, SceneError> {
    match (tags.binary_search_by(|known| known.as_str().cmp(tag)), is_set) {
        (Ok(_), true) | (Err(_), false) => Ok(false),
        (Ok(at), false) => {
            tags.remove(at);
            Ok(true)
        }
        (Err(_), true) if !is_name(tag) => Err(SceneError::BadName(tag.to_owned())),
        (Err(_), true) if tags.len() >= tags_max => Err(SceneError::Full { of: "tags", max: tags_max }),
        (Err(at), true) => {
            tags.insert(at, tag.to_owned());
            Ok(true)
        }
    }
}
