//! Entities, and the columns that store them.

use std::collections::BTreeSet;

use nowcast_wire::{Value, Wire};

use crate::id::{EntityId, KindId, PlayerId};
use crate::physics::Handles;
use crate::pose::{Pose, Velocity};

/// The initial state of a new entity. Omitted values come from the kind.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spawn {
    /// The position and rotation of the entity.
    pub pose: Pose,
    /// Scale factors of its kind's shape along its own axes; `None` for 1.
    pub scale: Option<[f32; 3]>,
    /// The velocity of the entity.
    pub velocity: Velocity,
    /// Attributes that differ from their defaults.
    pub attributes: Vec<(String, Value)>,
    /// The owner; `None` for the server.
    pub owner: Option<PlayerId>,
    /// Data of the behaviour that clients never receive.
    pub private: Value,
}

impl Spawn {
    /// Makes an entity at rest at this place, upright.
    pub fn at(position: [f32; 3]) -> Spawn {
        Spawn { pose: Pose { position, ..Pose::IDENTITY }, ..Spawn::default() }
    }

    /// Adds an attribute.
    pub fn with(mut self, attribute: &str, value: impl Into<Value>) -> Spawn {
        self.attributes.push((attribute.to_owned(), value.into()));
        self
    }
}

/// The current state of one entity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EntityRef<'a> {
    /// The id of the entity.
    pub id: EntityId,
    /// The kind of the entity.
    pub kind: KindId,
    /// The pose of its origin.
    pub pose: Pose,
    /// Scale factors of its kind's shape.
    pub scale: [f32; 3],
    /// The velocity of the entity.
    pub velocity: Velocity,
    /// The entity that this one is attached to.
    pub parent: Option<EntityId>,
    /// The owner; `None` for the server.
    pub owner: Option<PlayerId>,
    /// The tags of the entity, sorted.
    pub tags: &'a [String],
    /// The attributes of the entity, in the order of its kind.
    pub attributes: &'a [Value],
    /// The step after which the entity was spawned or last changed: its attributes, tags, scale, parent or owner.
    pub changed_tick: u64,
}

/// A world's entities, as columns of equal length, ordered by id.
///
/// Row `n` of each column belongs to the entity `ids()[n]`. Row numbers change at the end of a step, when the rows of
/// removed entities are deleted.
#[derive(Default)]
pub struct Entities {
    pub(crate) ids: Vec<EntityId>,
    pub(crate) is_alive: Vec<bool>,
    pub(crate) kinds: Vec<KindId>,
    pub(crate) poses: Vec<Pose>,
    pub(crate) scales: Vec<[f32; 3]>,
    pub(crate) velocities: Vec<Velocity>,
    pub(crate) handles: Vec<Option<Handles>>,
    pub(crate) parents: Vec<Option<Parent>>,
    pub(crate) owners: Vec<Option<PlayerId>>,
    pub(crate) tags: Vec<Vec<String>>,
    pub(crate) attributes: Vec<Box<[Value]>>,
    pub(crate) privates: Vec<Value>,
    pub(crate) gravity_scales: Vec<f32>,
    pub(crate) passes: Vec<Option<EntityId>>,
    pub(crate) changed_ticks: Vec<u64>,
    /// Entities with a parent. There are few of them, so this list avoids a search of all rows in each step.
    attached: BTreeSet<EntityId>,
    dead: usize,
}

/// The parent of an entity, and the pose relative to it.
#[derive(Clone, Copy, PartialEq, Debug, Wire)]
pub(crate) struct Parent {
    pub(crate) id: EntityId,
    pub(crate) local: Pose,
}

/// One new row.
pub(crate) struct Row {
    pub(crate) id: EntityId,
    pub(crate) kind: KindId,
    pub(crate) pose: Pose,
    pub(crate) scale: [f32; 3],
    pub(crate) velocity: Velocity,
    pub(crate) handles: Option<Handles>,
    pub(crate) parent: Option<Parent>,
    pub(crate) owner: Option<PlayerId>,
    pub(crate) tags: Vec<String>,
    pub(crate) attributes: Box<[Value]>,
    pub(crate) private: Value,
    pub(crate) gravity_scale: f32,
    pub(crate) passes: Option<EntityId>,
    pub(crate) changed_tick: u64,
}

impl Entities {
    /// Number of entities.
    pub fn len(&self) -> usize {
        self.ids.len() - self.dead
    }

    /// Whether there are no entities.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of ids, ascending. Between two steps every row is alive.
    pub fn ids(&self) -> &[EntityId] {
        &self.ids
    }

    /// The column of kinds.
    pub fn kinds(&self) -> &[KindId] {
        &self.kinds
    }

    /// The column of poses.
    pub fn poses(&self) -> &[Pose] {
        &self.poses
    }

    /// The column of velocities.
    pub fn velocities(&self) -> &[Velocity] {
        &self.velocities
    }

    /// The column of attributes: each entity's values in the order of its kind's attributes.
    pub fn attributes(&self) -> &[Box<[Value]>] {
        &self.attributes
    }

    /// The column of owners; `None` for the server.
    pub fn owners(&self) -> &[Option<PlayerId>] {
        &self.owners
    }

    /// The column of steps after which each entity was spawned or last changed, apart from its pose and velocity.
    pub fn changed_ticks(&self) -> &[u64] {
        &self.changed_ticks
    }

    /// Returns the row of an entity, if it exists.
    pub fn row(&self, id: EntityId) -> Option<usize> {
        // As long as no entity was removed, the row follows from the id.
        let first = self.ids.first()?.0;
        let guess = (id.0.checked_sub(first)? as usize).min(self.ids.len() - 1);
        let row = if self.ids[guess] == id { guess } else { self.ids[..guess].binary_search(&id).ok()? };
        self.is_alive[row].then_some(row)
    }

    /// Returns one entity, if it exists.
    pub fn get(&self, id: EntityId) -> Option<EntityRef<'_>> {
        self.row(id).map(|row| self.at(row))
    }

    /// Iterates over all entities, ordered by id.
    pub fn iter(&self) -> impl Iterator<Item = EntityRef<'_>> {
        (0..self.ids.len()).filter(|row| self.is_alive[*row]).map(|row| self.at(row))
    }

    /// Iterates over the entities with this id or a greater one, ordered by id.
    pub fn iter_from(&self, id: EntityId) -> impl Iterator<Item = EntityRef<'_>> {
        let first = self.ids.partition_point(|known| *known < id);
        (first..self.ids.len()).filter(|row| self.is_alive[*row]).map(|row| self.at(row))
    }

    /// The entities of one kind, ordered by id.
    pub fn of_kind(&self, kind: KindId) -> impl Iterator<Item = EntityRef<'_>> {
        (0..self.ids.len())
            .filter(move |row| self.kinds[*row] == kind && self.is_alive[*row])
            .map(|row| self.at(row))
    }

    /// Returns the entity of a row.
    ///
    /// # Panics
    /// Panics if there is no such row.
    pub fn at(&self, row: usize) -> EntityRef<'_> {
        EntityRef {
            id: self.ids[row],
            kind: self.kinds[row],
            pose: self.poses[row],
            scale: self.scales[row],
            velocity: self.velocities[row],
            parent: self.parents[row].map(|parent| parent.id),
            owner: self.owners[row],
            tags: &self.tags[row],
            attributes: &self.attributes[row],
            changed_tick: self.changed_ticks[row],
        }
    }

    /// Adds a row. Its id is greater than all earlier ids.
    pub(crate) fn push(&mut self, row: Row) {
        debug_assert!(self.ids.last().is_none_or(|last| *last < row.id), "ids grow");
        if row.parent.is_some() {
            self.attached.insert(row.id);
        }
        self.ids.push(row.id);
        self.is_alive.push(true);
        self.kinds.push(row.kind);
        self.poses.push(row.pose);
        self.scales.push(row.scale);
        self.velocities.push(row.velocity);
        self.handles.push(row.handles);
        self.parents.push(row.parent);
        self.owners.push(row.owner);
        self.tags.push(row.tags);
        self.attributes.push(row.attributes);
        self.privates.push(row.private);
        self.gravity_scales.push(row.gravity_scale);
        self.passes.push(row.passes);
        self.changed_ticks.push(row.changed_tick);
    }

    /// Marks a row as removed; [`Entities::sweep`] deletes it.
    pub(crate) fn kill(&mut self, row: usize) {
        self.is_alive[row] = false;
        self.handles[row] = None;
        self.attached.remove(&self.ids[row]);
        self.dead += 1;
    }

    /// Attaches the entity of a row to a parent, or detaches it.
    pub(crate) fn attach(&mut self, row: usize, parent: Option<Parent>) {
        self.parents[row] = parent;
        if parent.is_some() {
            self.attached.insert(self.ids[row]);
        } else {
            self.attached.remove(&self.ids[row]);
        }
    }

    /// All attached entities, ordered by id.
    pub(crate) fn attached(&self) -> &BTreeSet<EntityId> {
        &self.attached
    }

    /// Deletes the rows of removed entities.
    pub(crate) fn sweep(&mut self) {
        if self.dead == 0 {
            return;
        }
        let is_alive = std::mem::take(&mut self.is_alive);
        macro_rules! keep {
            ($($column:ident),*) => {$(
                let mut alive = is_alive.iter();
                self.$column.retain(|_| *alive.next().expect("columns are of equal length"));
            )*};
        }
        keep!(ids, kinds, poses, scales, velocities, handles, parents, owners, tags, attributes, privates);
        keep!(gravity_scales, passes, changed_ticks);
        self.is_alive = vec![true; self.ids.len()];
        self.dead = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn row(id: u32) -> Row {
        Row {
            id: EntityId(id),
            kind: KindId(0),
            pose: Pose::IDENTITY,
            scale: [1.0; 3],
            velocity: Velocity::default(),
            handles: None,
            parent: None,
            owner: None,
            tags: Vec::new(),
            attributes: Box::default(),
            private: Value::Int(id.into()),
            gravity_scale: 1.0,
            passes: None,
            changed_tick: 0,
        }
    }

    proptest! {
        #[test]
        fn a_row_is_found_while_its_entity_exists(steps in prop::collection::vec((any::<u8>(), any::<bool>()), 1..200)) {
            let (mut entities, mut model, mut next) = (Entities::default(), BTreeSet::new(), 5);
            for (choice, sweeps) in steps {
                if choice % 3 != 0 {
                    entities.push(row(next));
                    model.insert(next);
                    next += u32::from(choice % 2) + 1;
                } else if let Some(id) = model.iter().nth(usize::from(choice) % model.len().max(1)).copied() {
                    entities.kill(entities.row(EntityId(id)).unwrap());
                    model.remove(&id);
                }
                if sweeps {
                    entities.sweep();
                }
                prop_assert_eq!(entities.len(), model.len());
                for id in 0..next + 3 {
                    let found = entities.row(EntityId(id)).map(|row| entities.privates[row].clone());
                    prop_assert_eq!(found, model.contains(&id).then(|| Value::Int(id.into())));
                }
                prop_assert!(entities.iter().map(|entity| entity.id.0).eq(model.iter().copied()));
            }
        }
    }
}
