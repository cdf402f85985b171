//! Motion that the engine computes in a step.

use std::collections::BTreeMap;

use super::Scene;
use crate::contact::Contact;
use crate::id::EntityId;
use crate::math::yaw_rotation;
use crate::pose::{Velocity, public_pose};

impl Scene {
    /// Computes the velocity of walkers from their input.
    pub(crate) fn steer_walkers(&mut self) {
        let Scene { walkers, entities, physics, definition, .. } = self;
        for (id, state) in walkers {
            let Some(row) = entities.row(*id) else { continue };
            let kind = &definition.kinds[usize::from(entities.kinds[row].0)];
            let gait = kind.gait(&entities.attributes[row]);
            let is_seated = entities.parents[row].is_some();
            if let (Some((walker, is_frozen)), Some(handles)) = (gait, entities.handles[row]) {
                state.steer(&walker, is_frozen || is_seated, handles, physics);
            }
        }
    }

    /// Steps physics and copies the results into the columns.
    pub(crate) fn move_bodies(&mut self) {
        self.physics.step();
        self.settle_walkers();
        self.note_moved();
    }

    /// Copies poses and velocities from physics.
    pub(crate) fn note_moved(&mut self) {
        let Scene { physics, entities, .. } = self;
        physics.drain_moved(|id, body| {
            let Some(row) = entities.row(id) else { return };
            entities.poses[row] = public_pose(body.position());
            entities.velocities[row] =
                Velocity { linear: body.linvel().to_array(), angular: body.angvel().to_array() };
        });
        // A walker's body never turns; the walker faces the yaw of its input.
        for (id, state) in &self.walkers {
            if let Some(row) = self.entities.row(*id) {
                self.entities.poses[row].rotation = yaw_rotation(state.input.yaw).to_array();
            }
        }
    }

    fn settle_walkers(&mut self) {
        let Scene { walkers, entities, physics, definition, .. } = self;
        for (id, state) in walkers {
            let Some(row) = entities.row(*id) else { continue };
            let kind = &definition.kinds[usize::from(entities.kinds[row].0)];
            let gait = kind.gait(&entities.attributes[row]);
            let is_seated = entities.parents[row].is_some();
            if let (Some((walker, is_frozen)), Some(handles)) = (gait, entities.handles[row]) {
                state.settle(&walker, is_frozen || is_seated, handles, physics);
            }
        }
    }

    /// Returns the contacts that began or ended in this step and that a kind reports, ordered by ids.
    pub(crate) fn take_contacts(&mut self) -> Vec<Contact> {
        let mut now: BTreeMap<(EntityId, EntityId), f32> = BTreeMap::new();
        for &id in &self.reporters {
            let Some(handles) = self.entities.row(id).and_then(|row| self.entities.handles[row]) else {
                continue;
            };
            self.physics.touched(handles, |other, impulse| {
                let pair = if id < other { (id, other) } else { (other, id) };
                let known = now.entry(pair).or_default();
                *known = known.max(impulse);
            });
        }
        let mut contacts = std::mem::take(&mut self.ended);
        for (&(a, b), &impulse) in &now {
            if !self.touching.contains(&(a, b)) {
                contacts.push(Contact { a, b, is_begin: true, impulse });
            }
        }
        for &(a, b) in &self.touching {
            if !now.contains_key(&(a, b)) {
                contacts.push(Contact { a, b, is_begin: false, impulse: 0.0 });
            }
        }
        self.touching = now.into_keys().collect();
        contacts.sort_by_key(|contact| (contact.a, contact.b, contact.is_begin));
        contacts
    }
}
