//! Saves a scene and loads it again.

use std::collections::BTreeSet;
use std::sync::Arc;

use nowcast_wire::Value;

use super::RestoreError;
use super::saved::{
    Saved, SavedEntity, SavedKind, SavedPair, SavedParent, SavedPast, SavedPath, SavedPlans, SavedRepeat,
    SavedScreen, SavedState, SavedTimer, SavedView, load_claim, load_joint, load_move, load_past_step,
    load_path, load_player, load_walker, save_claim, save_joint, save_move, save_past_step, save_path,
    save_player, save_walker,
};
use crate::body;
use crate::contact::Contact;
use crate::definition::Definition;
use crate::entity::{Parent, Row};
use crate::id::{EntityId, KindId, PlayerId};
use crate::limits::PLACES_REMEMBERED_MAX;
use crate::past::{Past, STEPS_REMEMBERED_MAX};
use crate::physics::BodyState;
use crate::pose::{Pose, Velocity};
use crate::random::Random;
use crate::scene::{PATHS_MAX, Scene};
use crate::timer::{TimerId, Timers};
use crate::walker::WalkerState;

impl Scene {
    pub(super) fn save(&self) -> Saved {
        let kinds = self.definition.kinds.iter().map(|kind| SavedKind {
            name: kind.name.clone(),
            attributes: kind.attributes.fields().iter().map(|field| field.name.clone()).collect(),
        });
        let rows = (0..self.entities.ids.len()).filter(|row| self.entities.is_alive[*row]);
        Saved {
            tick: self.tick,
            random: self.random.seed(),
            next_entity: self.next_entity,
            next_joint: self.next_joint,
            next_player: self.next_player,
            next_timer: self.timers.next_id(),
            kinds: kinds.collect(),
            entities: rows.map(|row| self.save_entity(row)).collect(),
            walkers: self.walkers.iter().map(|(id, walker)| save_walker(*id, walker)).collect(),
            joints: self.joints().map(|(id, joint)| save_joint(id, joint)).collect(),
            players: self.players().map(save_player).collect(),
            timers: self
                .timers
                .iter()
                .map(|(due_tick, id, name, data)| SavedTimer {
                    due_tick,
                    id: id.0,
                    name: name.to_owned(),
                    data: data.clone(),
                })
                .collect(),
            state: self
                .all_state()
                .map(|(key, value)| SavedState { key: key.to_owned(), value: value.clone() })
                .collect(),
            screens: self
                .screens()
                .map(|(player, place, value)| SavedScreen {
                    player: player.map(|player| player.0),
                    place: place.to_owned(),
                    value: value.clone(),
                })
                .collect(),
            touching: self.touching.iter().map(|(a, b)| SavedPair { a: a.0, b: b.0 }).collect(),
            ended: self.ended.iter().map(|contact| SavedPair { a: contact.a.0, b: contact.b.0 }).collect(),
            holds: self.holds.iter().map(|(id, hold)| save_claim(*id, hold)).collect(),
        }
    }

    fn save_entity(&self, row: usize) -> SavedEntity {
        let entities = &self.entities;
        let body = entities.handles[row].map(|handles| self.physics.get(handles));
        let pose = entities.poses[row];
        SavedEntity {
            id: entities.ids[row].0,
            kind: entities.kinds[row].0.into(),
            position: pose.position,
            rotation: pose.rotation,
            scale: entities.scales[row],
            linear: entities.velocities[row].linear,
            angular: entities.velocities[row].angular,
            force: body.map_or([0.0; 3], |body| body.user_force().to_array()),
            torque: body.map_or([0.0; 3], |body| body.user_torque().to_array()),
            is_asleep: body.is_some_and(|body| body.is_sleeping()),
            still_seconds: body.map_or(0.0, |body| body.activation().time_since_can_sleep),
            gravity_scale: entities.gravity_scales[row],
            passes: entities.passes[row].map(|other| other.0),
            parent: entities.parents[row].map(|Parent { id, local }| SavedParent {
                id: id.0,
                position: local.position,
                rotation: local.rotation,
            }),
            owner: entities.owners[row].map(|owner| owner.0),
            tags: entities.tags[row].clone(),
            attributes: entities.attributes[row].to_vec(),
            private: entities.privates[row].clone(),
            changed_tick: entities.changed_ticks[row],
        }
    }

    /// Saves the recorded past; `None` where the world records none.
    pub(super) fn save_past(&self) -> Option<SavedPast> {
        let views = self.players().filter(|player| player.behind_ms != 0);
        self.definition.rewinds.then(|| SavedPast {
            steps: self.past.steps().map(save_past_step).collect(),
            views: views
                .map(|player| SavedView { player: player.id.0, behind_ms: player.behind_ms })
                .collect(),
        })
    }

    /// Saves the repeating timers and the planned moves.
    pub(super) fn save_plans(&self) -> SavedPlans {
        let repeats = self.timers.repeats().map(|(timer, steps)| SavedRepeat { timer: timer.0, steps });
        let moves = self.moves.iter().map(|(id, plan)| save_move(*id, plan));
        SavedPlans { repeats: repeats.collect(), moves: moves.collect() }
    }

    /// Loads the repeating timers and the planned moves. The move of an entity that is no longer kinematic is left out.
    pub(super) fn load_plans(&mut self, saved: SavedPlans) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        let waiting: BTreeSet<u64> = self.timers.iter().map(|(_, id, ..)| id.0).collect();
        for SavedRepeat { timer, steps } in saved.repeats {
            if !waiting.contains(&timer) || steps == 0 {
                return Err(invalid("a repeating timer is invalid"));
            }
            self.timers.repeat(TimerId(timer), steps);
        }
        for saved in saved.moves {
            let (id, plan) = load_move(saved).ok_or_else(|| invalid("a planned move is invalid"))?;
            if self.can_move_by_plan(id) {
                self.moves.insert(id, plan);
            }
        }
        Ok(())
    }

    /// Saves the paths that entities follow.
    pub(super) fn save_paths(&self) -> Vec<SavedPath> {
        self.paths.iter().map(|(id, path)| save_path(*id, path)).collect()
    }

    /// Loads the paths that entities follow. The path of an entity that is no longer kinematic is left out.
    pub(super) fn load_paths(&mut self, saved: Vec<SavedPath>) -> Result<(), RestoreError> {
        let invalid = || RestoreError::Invalid("a path that an entity follows is invalid".to_owned());
        if saved.len() > PATHS_MAX || !saved.is_sorted_by(|a, b| a.id < b.id) {
            return Err(invalid());
        }
        for saved in saved {
            let (id, path) = load_path(saved).ok_or_else(invalid)?;
            if self.moves.contains_key(&id) {
                return Err(invalid());
            }
            if self.can_move_by_plan(id) {
                self.paths.insert(id, path);
            }
        }
        Ok(())
    }

    /// Loads the recorded past of a snapshot.
    pub(super) fn load_past(&mut self, saved: SavedPast) -> Result<(), RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        if !self.definition.rewinds {
            return Ok(());
        }
        let places: usize = saved.steps.iter().map(|step| step.places.len()).sum();
        let is_past = saved.steps.is_sorted_by(|a, b| a.tick < b.tick)
            && saved.steps.len() as u64 <= STEPS_REMEMBERED_MAX
            && saved.steps.last().is_none_or(|last| last.tick < self.tick)
            && places <= PLACES_REMEMBERED_MAX;
        let steps = saved.steps.into_iter().map(load_past_step).collect::<Option<Vec<_>>>();
        let steps = steps.filter(|_| is_past).ok_or_else(|| invalid("its recorded past is invalid"))?;
        self.past = Past::resume(steps, &self.entities);
        for SavedView { player, behind_ms } in saved.views {
            self.set_behind(PlayerId(player), behind_ms);
        }
        Ok(())
    }

    pub(super) fn load(definition: Arc<Definition>, saved: Saved) -> Result<Scene, RestoreError> {
        let invalid = |what: &str| RestoreError::Invalid(what.to_owned());
        let mut scene = Scene::new(Arc::clone(&definition), 0);
        scene.state.clear();
        (scene.state_bytes, scene.kept_bytes) = (0, 0);
        scene.tick = saved.tick;
        scene.random = Random::new(saved.random);
        scene.timers = Timers::with_next_id(saved.next_timer);
        check(&saved, &definition)?;
        for player in saved.players {
            let player =
                load_player(player).ok_or_else(|| invalid("a player's controls are out of bounds"))?;
            scene.players.insert(player.id, player);
        }
        let motions: Vec<Motion> = saved.entities.iter().map(Motion::of).collect();
        let mut bodies = Vec::new();
        for entity in saved.entities {
            scene.load_entity(&saved.kinds, entity, &mut bodies)?;
        }
        scene.load_bodies(bodies)?;
        for walker in saved.walkers {
            let id = EntityId(walker.id);
            let state =
                load_walker(walker).ok_or_else(|| invalid("a walker's controls are out of bounds"))?;
            let known = scene
                .walkers
                .get_mut(&id)
                .ok_or_else(|| invalid("a walker's state belongs to an entity that is not a walker"))?;
            *known = state;
        }
        for hold in saved.holds {
            let (id, hold) = load_claim(hold).ok_or_else(|| invalid("an owner's target is not a number"))?;
            let row = scene.entities.row(id).filter(|row| scene.entities.owners[*row].is_some());
            row.ok_or_else(|| invalid("an entity with owner commands has no owner"))?;
            scene.holds.insert(id, hold);
        }
        for joint in saved.joints {
            let (id, joint) = load_joint(joint);
            let bound = joint.is_valid().then(|| scene.bind(id, joint));
            bound
                .and_then(Result::ok)
                .ok_or_else(|| invalid("a joint names an entity that does not exist"))?;
        }
        for timer in saved.timers {
            scene.timers.insert(timer.due_tick, TimerId(timer.id), timer.name, timer.data);
        }
        for SavedState { key, value } in saved.state {
            scene.set_state(&key, value).map_err(|error| RestoreError::Invalid(error.to_string()))?;
        }
        for screen in saved.screens {
            scene.screens.insert((screen.player.map(PlayerId), screen.place), screen.value);
        }
        let pair = |pair: SavedPair| (EntityId(pair.a), EntityId(pair.b));
        scene.touching = saved.touching.into_iter().map(pair).collect();
        let ended = saved.ended.into_iter().map(pair);
        scene.ended = ended.map(|(a, b)| Contact { a, b, is_begin: false, impulse: 0.0 }).collect();
        scene.next_entity = saved.next_entity;
        scene.next_joint = saved.next_joint;
        scene.next_player = saved.next_player;
        scene.wake_as_before(&motions);
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
        let invalid = |what: &str| RestoreError::Invalid(format!("entity {}: {what}", saved.id));
        let written = kinds.get(saved.kind as usize).ok_or_else(|| invalid("its kind is not described"))?;
        let definition = Arc::clone(&self.definition);
        let kind = definition.kind_of_written(&written.name).ok_or_else(|| invalid("its kind is unknown"))?;
        let of = &definition.kinds[kind];
        let kind = KindId(kind as u16);
        let pose = Pose { position: saved.position, rotation: saved.rotation };
        let velocity = Velocity { linear: saved.linear, angular: saved.angular };
        let numbers = saved.linear.iter().chain(&saved.angular).chain(&saved.force).chain(&saved.torque);
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
        let id = EntityId(saved.id);
        let passes = saved.passes.map(EntityId);
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
            parent: saved.parent.map(|parent| Parent {
                id: EntityId(parent.id),
                local: Pose { position: parent.position, rotation: parent.rotation },
            }),
            owner: saved.owner.map(PlayerId),
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

/// Validates ids and counts.
fn check(saved: &Saved, definition: &Definition) -> Result<(), RestoreError> {
    if !saved.entities.is_sorted_by(|a, b| a.id < b.id)
        || saved.entities.last().is_some_and(|last| last.id >= saved.next_entity)
        || saved.joints.iter().any(|joint| joint.id >= saved.next_joint)
        || saved.players.iter().any(|player| player.id >= saved.next_player && saved.next_player != u32::MAX)
        || saved.timers.iter().any(|timer| timer.id >= saved.next_timer)
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
    let counts = [
        (saved.entities.len(), limits.entities_max, "entities"),
        (saved.joints.len(), limits.joints_max, "joints"),
        (saved.players.len(), limits.players_max, "players"),
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
            velocity: Velocity { linear: saved.linear, angular: saved.angular },
            force: saved.force,
            torque: saved.torque,
            is_asleep: saved.is_asleep,
            still_seconds: saved.still_seconds,
        }
    }
}
