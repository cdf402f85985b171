//! The world: a scene, its rules, and the waiting commands.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::account::{SavedData, is_account};
use crate::behaviour::Behaviour;
use crate::body::Motion;
use crate::command::{Command, Edit, JoinRequest};
use crate::definition::Definition;
use crate::entity::{Entities, EntityRef, Spawn};
use crate::event::{Event, Refusal};
use crate::id::{EntityId, PlayerId};
use crate::input::{CHAT_CHARS_MAX, InputError};
use crate::owner_commands;
use crate::pose::{FreeMotion, Pose};
use crate::problem::DefinitionError;
use crate::scene::{Scene, SceneError};
use crate::stats::Stats;
use crate::text;
use crate::timer::TimerId;
use crate::walker::Pace;

/// The reason why a command was refused.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ApplyError {
    /// The queue of this player, or of all players, is full.
    #[error("{max} commands already wait for the next step, which is the limit")]
    Full {
        /// The limit.
        max: usize,
    },
    /// A number that no correct client sends.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A pose or a velocity that no correct client sends: not finite, or outside the limits of worlds.
    #[error("a pose or a velocity is not finite, or exceeds the limits of a world")]
    Pose,
}

/// A shared world. The documentation of the crate shows the canonical loop.
///
/// Call [`World::apply`] any number of times between two steps. After a step, call [`World::poll_event`] until it
/// returns `None`. Reading never changes anything.
pub struct World {
    pub(crate) scene: Scene,
    pub(crate) behaviour: Box<dyn Behaviour>,
    commands: VecDeque<Command>,
    /// Number of waiting commands of each player.
    waiting: BTreeMap<PlayerId, usize>,
}

impl World {
    /// Checks the definition, makes the world, and lets its behaviour begin.
    ///
    /// # Errors
    /// Fails if the definition has a mistake; see [`Definition::validate`].
    pub fn new(
        definition: Definition,
        seed: u64,
        behaviour: Box<dyn Behaviour>,
    ) -> Result<World, DefinitionError> {
        definition.validate()?;
        let mut world = World::of(Scene::new(Arc::new(definition), seed), behaviour);
        world.behaviour.start(&mut world.scene);
        Ok(world)
    }

    pub(crate) fn of(scene: Scene, behaviour: Box<dyn Behaviour>) -> World {
        World { scene, behaviour, commands: VecDeque::new(), waiting: BTreeMap::new() }
    }

    /// Queues a command for the next step. Commands are applied in the order of these calls. Of consecutive inputs of
    /// one player, only the newest counts. Faults other than invalid numbers are reported by an [`Event::Refused`] in the
    /// next step.
    ///
    /// # Errors
    /// Fails if a number is outside its bounds, or if too many commands wait. Then the command is dropped and counted.
    pub fn apply(&mut self, command: Command) -> Result<(), ApplyError> {
        let command = match command {
            Command::Input { player, input } => {
                let input = input.validate().inspect_err(|_| self.scene.stats.invalid_refused += 1)?;
                if let Some(Command::Input { player: last, input: newest }) = self.commands.back_mut()
                    && *last == player
                {
                    *newest = input;
                    return Ok(());
                }
                Command::Input { player, input }
            }
            Command::CatchUpStep { player, first } => {
                let first = first.validate().inspect_err(|_| self.scene.stats.invalid_refused += 1)?;
                Command::CatchUpStep { player, first }
            }
            other => other.checked().ok_or(ApplyError::Pose).inspect_err(|_| {
                self.scene.stats.invalid_refused += 1;
            })?,
        };
        let limits = self.scene.definition.limits;
        let waiting = self.waiting.entry(command.player()).or_default();
        // A leave is always accepted.
        if !matches!(command, Command::Leave { .. }) {
            let full =
                [(*waiting, limits.commands_per_player_max), (self.commands.len(), limits.commands_max)];
            if let Some((_, max)) = full.into_iter().find(|(count, max)| count >= max) {
                self.scene.stats.commands_dropped += 1;
                return Err(ApplyError::Full { max });
            }
        }
        *waiting += 1;
        self.commands.push_back(command);
        Ok(())
    }

    /// Applies the waiting commands now instead of at the beginning of the next step. The world continues identically, but
    /// the effects of the commands are visible earlier.
    pub fn apply_waiting(&mut self) {
        self.waiting.clear();
        while let Some(command) = self.commands.pop_front() {
            let player = command.player();
            if let Err(refusal) = self.carry_out(command) {
                self.scene.stats.commands_refused += 1;
                self.scene.push_event(Event::Refused { player, refusal });
            }
        }
    }

    /// Advances the world by 1/60 s. A step does the following, in this order:
    pub fn step(&mut self) {
        self.scene.emitted_bytes = 0;
        self.apply_waiting();
        self.fire_timers();
        self.behaviour.step(&mut self.scene);
        self.scene.steer_walkers();
        self.scene.follow_owners();
        self.scene.advance_moves();
        self.scene.move_bodies();
        self.scene.follow_parents();
        self.report_contacts();
        self.scene.entities.sweep();
        self.scene.remember_places();
        self.scene.tick += 1;
        self.scene.jumps.sweep(self.scene.tick);
    }

    /// The next event, oldest first.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.scene.take_event()
    }

    /// Takes the data of accounts that changed since the last call, by account. A host calls this after each step, and
    /// stores the data together with the commands that changed it.
    pub fn take_saved(&mut self) -> BTreeMap<String, SavedData> {
        std::mem::take(&mut self.scene.unsaved)
    }

    /// Lets [`World::take_saved`] return the data of all accounts in the world. A host calls this after it replaced the world
    /// by an earlier state.
    pub fn save_again(&mut self) {
        let Scene { accounts, unsaved, .. } = &mut self.scene;
        let of_accounts = accounts.iter().filter(|(key, _)| is_account(key));
        unsaved.extend(of_accounts.map(|(key, data)| (key.clone(), data.clone())));
    }

    /// Returns everything in the world except its rules.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// Number of steps so far.
    pub fn tick(&self) -> u64 {
        self.scene.tick
    }

    /// Everything in the world, as columns ordered by id.
    pub fn entities(&self) -> &Entities {
        &self.scene.entities
    }

    /// One entity, if it is in the world.
    pub fn entity(&self, id: EntityId) -> Option<EntityRef<'_>> {
        self.scene.entities.get(id)
    }

    /// The poses of everything that can move, ordered by id.
    pub fn poses(&self) -> impl Iterator<Item = (EntityId, Pose)> {
        let Entities { ids, poses, .. } = &self.scene.entities;
        self.moving_rows().map(move |row| (ids[row], poses[row]))
    }

    /// The rows of everything that can move.
    fn moving_rows(&self) -> impl Iterator<Item = usize> {
        let Scene { entities, definition, .. } = &self.scene;
        let can_move = |row: &usize| {
            let body = definition.kinds[usize::from(entities.kinds[*row].0)].body.as_ref();
            let is_put = body.is_some_and(|body| matches!(body.motion, Motion::Fixed | Motion::Sensor));
            entities.is_alive[*row] && (!is_put || entities.parents[*row].is_some())
        };
        (0..entities.ids.len()).filter(can_move)
    }

    /// The poses of everything that can move, ordered by id, each with its free motion: `None` for walkers, for bodies that
    /// are asleep, and for everything that is not a dynamic body.
    pub fn movements(&self) -> impl Iterator<Item = (EntityId, Pose, Option<FreeMotion>)> {
        self.moving_rows().map(move |row| {
            let Entities { ids, poses, .. } = &self.scene.entities;
            (ids[row], poses[row], self.scene.free_motion(row))
        })
    }

    /// Number of bodies that were awake after the last step.
    pub fn awake(&self) -> usize {
        self.scene.awake()
    }

    /// Returns the counters of refused and repaired values.
    pub fn stats(&self) -> Stats {
        self.scene.stats
    }

    /// Wakes all sleeping bodies. The call changes the course of the world, so it is only for tests and load measurements.
    pub fn wake_all(&mut self) {
        self.scene.physics.wake_all();
    }

    /// Informs the behaviour that the world had other rules until now ([`Behaviour::upgrade`]), and wakes resting bodies
    /// whose body changed. The call changes the course of the world, so begin a new journal afterwards.
    pub fn upgrade(&mut self, before: Option<&Definition>) {
        if before.is_none_or(|before| self.scene.definition.may_move_bodies(before)) {
            self.scene.physics.wake_all();
        }
        self.behaviour.upgrade(&mut self.scene, before.map(|before| before.version));
    }

    fn carry_out(&mut self, command: Command) -> Result<(), Refusal> {
        let World { scene, behaviour, .. } = self;
        let player = command.player();
        let is_known = scene.players.contains_key(&player);
        let is_outside = player == Edit::OUTSIDE && matches!(command, Command::Edit { .. });
        if !is_known && !is_outside && !matches!(command, Command::Join { .. }) {
            return Err(Refusal::UnknownPlayer(player.0));
        }
        match command {
            Command::Join { request: JoinRequest { name, is_program, roles, account, saved }, .. } => {
                scene.add_player(player, &name, is_program)?;
                scene.set_roles(player, &roles);
                if let Some(account) = account {
                    scene.enter_account(player, account, saved);
                }
                behaviour.join(scene, player);
            }
            Command::Leave { .. } => {
                behaviour.leave(scene, player);
                for entity in scene.owned_by(player) {
                    if scene.check_owned(player, entity).is_ok() {
                        behaviour.release(scene, entity, player);
                    }
                }
                scene.remove_player(player);
            }
            Command::Input { input, .. } => expect_known(scene.set_player_input(player, input)),
            Command::StallStep { .. } => scene.set_pace(player, Pace::Stalls),
            Command::CatchUpStep { first, .. } => scene.set_pace(player, Pace::CatchesUp(first)),
            Command::SetViewDelay { behind_ms, .. } => scene.set_behind(player, behind_ms),
            Command::Rename { name, .. } => expect_known(scene.rename_player(player, &name)),
            Command::Action { name, arguments, .. } => {
                let definition = Arc::clone(&scene.definition);
                let action = definition.action(&name).ok_or_else(|| Refusal::UnknownAction(name.clone()))?;
                let arguments = action
                    .arguments
                    .conform_map(&arguments)
                    .map_err(|misfit| Refusal::Arguments { action: name.clone(), misfit })?;
                scene.acts_durably = action.durable;
                let is_done = behaviour.action(scene, player, &name, &arguments);
                scene.acts_durably = false;
                if !is_done {
                    return Err(Refusal::NoWorkLeft { action: name });
                }
            }
            Command::Message { text, .. } => {
                let text = text::sanitize(&text, CHAT_CHARS_MAX);
                if !text.is_empty() && behaviour.message(scene, player, &text) {
                    let name =
                        scene.players.get(&player).map_or_else(String::new, |player| player.name.clone());
                    let text = text::as_said(&text).to_owned();
                    scene.push_event(Event::Said { player, name, text });
                }
            }
            Command::Edit { edit, .. } => {
                let noted = edit.clone();
                make_edit(scene, edit).map_err(|error| Refusal::Edit(error.to_string()))?;
                behaviour.edited(scene, &noted);
            }
            command => owner_commands::carry_out(scene, behaviour.as_mut(), command)?,
        }
        Ok(())
    }

    fn fire_timers(&mut self) {
        let before = TimerId(self.scene.timers.next_id());
        while let Some(timer) = self.scene.take_due_timer(before) {
            self.behaviour.timer(&mut self.scene, &timer);
        }
    }

    fn report_contacts(&mut self) {
        for contact in self.scene.take_contacts() {
            self.behaviour.contact(&mut self.scene, &contact);
        }
    }
}

fn expect_known(done: Result<(), SceneError>) {
    done.expect("the player is in the world");
}

fn make_edit(scene: &mut Scene, edit: Edit) -> Result<(), SceneError> {
    match edit {
        Edit::Spawn { kind, pose } => {
            let kind = scene.kind(&kind).ok_or(SceneError::UnknownKind(kind))?;
            scene.spawn(kind, Spawn { pose, ..Spawn::default() }).map(drop)
        }
        Edit::Despawn(id) => scene.despawn(id),
        Edit::Place(id, pose) => {
            scene.set_pose(id, pose)?;
            // A fixed body rests in any case.
            let _ = scene.set_velocity(id, crate::Velocity::default());
            Ok(())
        }
        Edit::Attribute(id, name, value) => scene.set_attribute(id, &name, value),
        Edit::Private(id, value) => scene.set_private(id, value),
        Edit::State(key, value) => scene.set_state(&key, value),
        Edit::Saved(player, value) => {
            let version = scene.saved(player).map_or(1, |saved| saved.version);
            scene.set_saved(player, version, value)
        }
    }
}
