//! Motion that the engine computes in a step.

use std::collections::BTreeMap;

use super::Scene;
use crate::STEP_HZ;
use crate::contact::Contact;
use crate::id::EntityId;
use crate::math::yaw_rotation;
use crate::pose::{Velocity, public_pose};

/// A step that is longer than this many grains along an axis needs no correction ([`advanced`]).
const GRAINS_MAX: f64 = 65_536.0;

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
        self.advance_kinematic();
        self.settle_walkers();
        self.note_moved();
    }

    /// Corrects the positions of kinematic bodies that do not turn, where physics rounded them.
    fn advance_kinematic(&mut self) {
        let Scene { physics, entities, tick, .. } = self;
        let moved = physics.kinematic_moved().filter_map(|(id, body)| {
            let row = entities.row(id)?;
            let (from, to) = (entities.poses[row].position, body.translation().to_array());
            let velocity = body.linvel().to_array();
            let exact = [0, 1, 2].map(|axis| advanced(from[axis], velocity[axis], *tick).unwrap_or(to[axis]));
            Some((entities.handles[row]?, exact, velocity))
        });
        let moved: Vec<_> = moved.collect();
        for (handles, position, velocity) in moved {
            physics.place(handles, position, velocity);
        }
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

/// Returns a coordinate after one more step at this velocity, if the step is so short that rounding matters. A coordinate is a
/// multiple of its grain, the distance to the next number. Far from the origin, a step is a few grains long or less, so the
/// fractions of the steps are added up.
fn advanced(from: f32, velocity: f32, tick: u64) -> Option<f32> {
    let way = f64::from(velocity) / f64::from(STEP_HZ);
    let to = f64::from(from) + way;
    let size = to.abs() as f32;
    let grain = f64::from(size.next_up()) - f64::from(size);
    let grains = way / grain;
    if grains.abs() > GRAINS_MAX {
        return None;
    }
    // This sum over many steps has no error, because each term cancels a part of the one before it.
    let tick = tick as f64;
    let taken = ((tick + 1.0) * grains).floor() - (tick * grains).floor();
    Some((f64::from(from) + taken * grain) as f32)
}
