//! Saves a scene and loads it again.

use std::sync::Arc;

use nowcast_wire::Value;

use super::RestoreError;
use super::saved::{
    Saved, SavedEntity, SavedKind, SavedTimer, checked_move, checked_player, is_claim, is_past_step, is_path,
};
use crate::body;
use crate::contact::Contact;
use crate::definition::Definition;
use crate::entity::Row;
use crate::id::{EntityId, KindId};
use crate::limits::PLACES_REMEMBERED_MAX;
use crate::past::{Past, PastStep, STEPS_REMEMBERED_MAX};
use crate::physics::BodyState;
use crate::planned_move::{PlannedMove, PlannedPath};
use crate::pose::{Pose, Velocity};
use crate::random::Random;
use crate::scene::{PATHS_MAX, Scene};
use crate::timer::Timers;
use crate::walker::WalkerState;

impl Scene {
    pub(super) fn save(&self) -> Saved {
        let kinds = self.definition.kinds.iter().map(|kind| SavedKind {
            name: kind.name.clone(),
            attributes: kind.attributes.fields().iter().map(|field| field.name.clone()).collect(),
        });
        let rows = (0..self.entities.ids.len()).filter(|row| self.entities.is_alive[*row]);
        let timers = self.timers.iter().map(|(due_tick, id, name, data)| SavedTimer {
            due_tick,
            id,
            name: name.to_owned(),
            data: data.clone(),
            repeat: self.timers.repeat_of(id),
        });
        let screens = self.screens().map(|(player, place, value)| (player, place.to_owned(), value.clone()));
        Saved {
            tick: self.tick,
            random: self.random.seed(),
            next_entity: self.next_entity,
            next_joint: self.next_joint,
            next_player: self.next_player,
            next_timer: self.timers.next_id(),
            kinds: kinds.collect(),
            entities: rows.map(|row| self.save_entity(row)).collect(),
            walkers: self.walkers.iter().map(|(id, walker)| (*id, walker.clone())).collect(),
            joints: self.joints().map(|(id, joint)| (id, *joint)).collect(),
            players: self.players().cloned().collect(),
            accounts: self.accounts.iter().map(|(key, data)| (key.clone(), data.clone())).collect(),
            timers: timers.collect(),
            state: self.all_state().map(|(key, value)| (key.to_owned(), value.clone())).collect(),
            screens: screens.collect(),
            touching: self.touching.iter().copied().collect(),
            ended: self.ended.iter().map(|contact| (contact.a, contact.b)).collect(),
            claims: self.holds.iter().map(|(id, claim)| (*id, *claim)).collect(),
            moves: self.moves.iter().map(|(id, plan)| (*id, *plan)).collect(),
            paths: self.paths.iter().map(|(id, path)| (*id, path.clone())).collect(),
            past: self.past.steps().cloned().collect(),
        }
    }

    fn save_entity(&self, row: usize) -> SavedEntity {
        let entities = &self.entities;
        let body = entities.handles[row].map(|handles| self.physics.get(handles));
        SavedEntity {
            id: entities.ids[row],
            kind: entities.kinds[row].0.into(),
            pose: entities.poses[row],
            scale: entities.scales[row],
            velocity: entities.velocities[row],
            force: body.map_or([0.0; 3], |body| body.user_force().to_array()),
            torque: body.map_or([0.0; 3], |body| body.user_torque().to_array()),
            is_asleep: body.is_some_and(|body| body.is_sleeping()),
            still_seconds: body.map_or(0.0, |body| body.activation().time_since_can_sleep),
            gravity_scale: entities.gravity_scales[row],
            passes: entities.passes[row],
            parent: entities.parents[row],
            owner: entities.owners[row],
            tags: entities.tags[row].clone(),
            attributes: entities.attributes[row].to_vec(),
            private: entities.privates[row].clone(),
            changed_tick: entities.changed_ticks[row],
        }
    }

    /// Loads the planned moves. The move of an entity that is no longer kinematic is left out.
    fn load_moves(&mut self, moves: Vec<(EntityId, PlannedMove)>) -> Result<(), RestoreError> {
        for (id, plan) in moves {
            let plan = checked_move(plan).ok_or_else(|| invalid("a planned move is invalid"))?;
            if self.can_move_by_plan(id) {
                self.moves.insert(id, plan);
            }
        }
        Ok(())
    }

    /// Loads the paths that entities follow. The path of an entity that is no longer kinematic is left out.
    fn load_paths(&mut self, paths: Vec<(EntityId, PlannedPath)>) -> Result<(), RestoreError> {
        let are_ordered = paths.len() <= PATHS_MAX && paths.is_sorted_by(|(a, _), (b, _)| a < b);
        if !are_ordered || paths.iter().any(|(id, path)| !is_path(path) || self.moves.contains_key(id)) {
            return Err(invalid("a path that an entity follows is invalid"));
        }
        for (id, path) in paths {
            if self.can_move_by_plan(id) {
                self.paths.insert(id, path);
            }
        }
        Ok(())
    }

    fn load_past(&mut self, steps: Vec<PastStep>) -> Result<(), RestoreError> {
        if !self.definition.rewinds {
            return Ok(());
        }
        let places: usize = steps.iter().map(|step| step.before.len()).sum();
        let is_past = steps.is_sorted_by(|a, b| a.tick < b.tick)
            && steps.len() as u64 <= STEPS_REMEMBERED_MAX
            && steps.last().is_none_or(|last| last.tick < self.tick)
            && places <= PLACES_REMEMBERED_MAX
            && steps.iter().all(is_past_step);
        if !is_past {
            return Err(invalid("its recorded past is invalid"));
        }
        self.past = Past::resume(steps, &self.entities);
        Ok(())
    }

    pub(super) fn load(definition: Arc<Definition>, saved: Saved) -> Result<Scene, RestoreError> {
        let mut scene = Scene::new(Arc::clone(&definition), 0);
        scene.state.clear();
        (scene.state_bytes, scene.kept_bytes) = (0, 0);
        scene.tick = saved.tick;
        scene.random = Random::new(saved.random);
        scene.timers = Timers::with_next_id(saved.next_timer);
        check(&saved, &definition)?;
        for player in saved.players {
            let player = checked_player(player)
                .ok_or_else(|| invalid("a player's controls or its account are out of bounds"))?;
            let (id, behind_ms) = (player.id, player.behind_ms);
            scene.players.insert(id, player);
            scene.set_behind(id, behind_ms);
        }
        for (key, data) in saved.accounts {
            if !scene.players().any(|player| player.saved_key() == key) {
                return Err(invalid("saved data has no player"));
            }
            scene.accounts.insert(key, data);
        }
        let motions: Vec<Motion> = saved.entities.iter().map(Motion::of).collect();
        let mut bodies = Vec::new();
        for entity in saved.entities {
            scene.load_entity(&saved.kinds, entity, &mut bodies)?;
        }
        scene.load_bodies(bodies)?;
        for (id, walker) in saved.walkers {
            let state = walker
                .checked()
                .ok_or_else(|| invalid("a walker's controls or grounds are out of bounds"))?;
            let known = scene
                .walkers
                .get_mut(&id)
                .ok_or_else(|| invalid("a walker's state belongs to an entity that is not a walker"))?;
            *known = state;
        }
        for (id, claim) in saved.claims {
            if !is_claim(&claim) {
                return Err(invalid("an owner's target is not a number"));
            }
            let row = scene.entities.row(id).filter(|row| scene.entities.owners[*row].is_some());
            row.ok_or_else(|| invalid("an entity with owner commands has no owner"))?;
            scene.holds.insert(id, claim);
        }
        for (id, joint) in saved.joints {
            let bound = joint.is_valid().then(|| scene.bind(id, joint));
            bound
                .and_then(Result::ok)
                .ok_or_else(|| invalid("a joint names an entity that does not exist"))?;
        }
        for SavedTimer { due_tick, id, name, data, repeat } in saved.timers {
            scene.timers.insert(due_tick, id, name, data);
            match repeat {
                Some(0) => return Err(invalid("a repeating timer is invalid")),
                Some(steps) => scene.timers.repeat(id, steps),
                None => {}
            }
        }
        for (key, value) in saved.state {
            scene.set_state(&key, value).map_err(|error| RestoreError::Invalid(error.to_string()))?;
        }
        scene.screens = saved.screens.into_iter().map(|(to, place, value)| ((to, place), value)).collect();
        scene.touching = saved.touching.into_iter().collect();
        let ended = saved.ended.into_iter();
        scene.ended = ended.map(|(a, b)| Contact { a, b, is_begin: false, impulse: 0.0 }).collect();
        scene.next_entity = saved.next_entity;
        scene.next_joint = saved.next_joint;
        scene.next_player = saved.next_player;
        scene.wake_as_before(&motions);
        scene.load_past(saved.past)?;
        scene.load_moves(saved.moves)?;
        scene.load_paths(saved.paths)?;
        scene.kept_bytes = scene.count_kept();
        Ok(scene)
    }

    /// Loads an entity, and collects the initial state of its body, if it has one.
    fn load_entity(
        &mut self,
        kinds: &[SavedKind],
        saved: SavedEntity,
        bodies: &mut Vec<BodyState>,
    ) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(format!("entity {}: {what}", saved.id.0));
        let written = kinds.get(saved.kind as usize).ok_or_else(|| invalid("its kind is not described"))?;
        let definition = Arc::clone(&self.definition);
        let kind = definition.kind_of_written(&written.name).ok_or_else(|| invalid("its kind is unknown"))?;
        let of = &definition.kinds[kind];
        let kind = KindId(kind as u16);
        let (id, pose, velocity, passes) = (saved.id, saved.pose, saved.velocity, saved.passes);
        let numbers =
            velocity.linear.iter().chain(&velocity.angular).chain(&saved.force).chain(&saved.torque);
        if pose.checked() != Some(pose)
            || !numbers.chain([&saved.still_seconds, &saved.gravity_scale]).all(|v| v.is_finite())
        {
            return Err(invalid("its position or velocity is not finite"));
        }
        let mut attributes: Box<[Value]> = of.attributes.defaults().into();
        for (name, value) in written.attributes.iter().zip(&saved.attributes) {
            let Some(index) = of.attributes.index_of_written(name) else { continue };
            match of.attributes.conform(index, value) {
                Ok(value) => attributes[index] = value,
                Err(_) => self.stats.attributes_defaulted += 1,
            }
        }
        if of.body.is_some() {
            // The body of a walker never turns.
            let rotation = if of.walker.is_some() { Pose::IDENTITY.rotation } else { pose.rotation };
            bodies.push(BodyState {
                id,
                pose: Pose { rotation, ..pose },
                scale: saved.scale,
                velocity,
                gravity_scale: saved.gravity_scale,
                passes,
                layers: of.layers,
                reports_contacts: of.reports_contacts,
            });
        }
        if of.walker.is_some() {
            self.walkers.insert(id, WalkerState::new());
        }
        if of.reports_contacts {
            self.reporters.insert(id);
        }
        self.entities.push(Row {
            id,
            kind,
            pose,
            scale: saved.scale,
            velocity,
            handles: None,
            parent: saved.parent,
            owner: saved.owner,
            tags: saved.tags,
            attributes,
            private: saved.private,
            gravity_scale: saved.gravity_scale,
            passes,
            changed_tick: saved.changed_tick,
        });
        Ok(())
    }

    /// Adds the bodies of entities. Fixed bodies are added last. To find the contact of two bodies, physics searches the
    /// contacts of the body that was added first. Ground has a contact with each body on it, so it is added last.
    fn load_bodies(&mut self, bodies: Vec<BodyState>) -> Result<(), RestoreError> {
        let definition = Arc::clone(&self.definition);
        self.physics.expect_bodies();
        for is_fixed in [false, true] {
            for state in &bodies {
                let Some(row) = self.entities.row(state.id) else { continue };
                let kind = self.entities.kinds[row];
                let Some(body) = &definition.kinds[usize::from(kind.0)].body else { continue };
                if matches!(body.motion, body::Motion::Fixed | body::Motion::Sensor) != is_fixed {
                    continue;
                }
                let invalid = |what| RestoreError::Invalid(format!("entity {}: {what}", state.id.0));
                let built = self.physics.build(kind.0.into(), body, state.scale).map_err(invalid)?;
                self.entities.handles[row] = Some(self.physics.add(body, built, state));
            }
        }
        Ok(())
    }

    /// Lets physics find the contacts of its new bodies, and puts the bodies to sleep that slept when the world was saved.
    fn wake_as_before(&mut self, motions: &[Motion]) {
        let handles: Vec<_> = self.entities.handles.iter().zip(motions).collect();
        let pinned: Vec<_> = handles
            .iter()
            .filter(|(_, motion)| motion.is_asleep)
            .filter_map(|(handles, _)| **handles)
            .collect();
        self.physics.find_contacts(&pinned);
        for (handles, motion) in handles {
            if let Some(handles) = *handles
                && !motion.is_asleep
            {
                self.physics.resume(
                    handles,
                    motion.velocity,
                    motion.still_seconds,
                    motion.force,
                    motion.torque,
                );
            }
        }
        self.note_moved();
    }
}

fn invalid(what: &str) -> RestoreError {
    RestoreError::Invalid(what.to_owned())
}

/// Validates ids and counts.
fn check(saved: &Saved, definition: &Definition) -> Result<(), RestoreError> {
    if !saved.entities.is_sorted_by(|a, b| a.id < b.id)
        || saved.entities.last().is_some_and(|last| last.id.0 >= saved.next_entity)
        || saved.joints.iter().any(|(id, _)| id.0 >= saved.next_joint)
        || saved
            .players
            .iter()
            .any(|player| player.id.0 >= saved.next_player && saved.next_player != u32::MAX)
        || saved.timers.iter().any(|timer| timer.id.0 >= saved.next_timer)
    {
        return Err(RestoreError::Invalid("ids are not in order".to_owned()));
    }
    for (index, kind) in saved.kinds.iter().enumerate() {
        let count = saved.entities.iter().filter(|entity| entity.kind as usize == index).count();
        if count > 0 && definition.kind_of_written(&kind.name).is_none() {
            return Err(RestoreError::UnknownKind { kind: kind.name.clone(), count });
        }
    }
    let limits = definition.limits;
    let programs = saved.players.iter().filter(|player| player.is_program).count();
    let counts = [
        (saved.entities.len(), limits.entities_max, "entities"),
        (saved.joints.len(), limits.joints_max, "joints"),
        (saved.players.len() - programs, limits.players_max, "people"),
        (programs, limits.players_max, "programs"),
        (saved.timers.len(), limits.timers_max, "timers"),
        (saved.screens.len(), limits.screens_max, "values on screens"),
    ];
    match counts.into_iter().find(|(count, max, _)| count > max) {
        Some((count, max, what)) => {
            Err(RestoreError::Invalid(format!("{count} {what}, and the maximum is {max}")))
        }
        None => Ok(()),
    }
}

/// The motion of a body when it was saved.
struct Motion {
    velocity: Velocity,
    force: [f32; 3],
    torque: [f32; 3],
    is_asleep: bool,
    still_seconds: f32,
}

impl Motion {
    fn of(saved: &SavedEntity) -> Motion {
        Motion {
            velocity: saved.velocity,
            force: saved.force,
            torque: saved.torque,
            is_asleep: saved.is_asleep,
            still_seconds: saved.still_seconds,
        }
    }
}
