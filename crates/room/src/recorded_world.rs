//! A room's world, with rules in Rust or Luau, which may be stored.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nowcast_script::{Clock, HookTime, Live, Report, Sources, ValueName, Watched, Writer};
use nowcast_store::{ActionId, Completion, Once};
use nowcast_world::journal::{self, Entry, ReplayError};
use nowcast_world::{ApplyError, Command, Edit, Event, PlayerId, SavedData, World};

use crate::client_key::ClientKey;
use crate::persistence::Recording;

/// A world whose rules are a program or a script. A room uses it in the same way for both. All commands pass through it, so
/// the recording is complete.
pub(crate) struct RecordedWorld {
    engine: Engine,
    /// The recording for the store, if worlds are stored.
    recording: Option<Recording>,
    /// The durable actions that were done, if the world is not recorded.
    once: Once,
}

/// A world and its rules.
pub(crate) enum Engine {
    /// Rules in Rust, which never change.
    Program(Box<World>),
    /// Rules in Luau, which may change while players are in the world.
    Script(Box<Live>),
}

impl Engine {
    /// The present world.
    pub(crate) fn world(&self) -> &World {
        match self {
            Self::Program(world) => world,
            Self::Script(live) => live.world(),
        }
    }

    /// The current rules, if they are a script.
    pub(crate) fn sources(&self) -> Option<&Sources> {
        match self {
            Self::Program(_) => None,
            Self::Script(live) => Some(live.sources()),
        }
    }

    /// The recorded world, and the rules that are stored with it.
    fn parts(&mut self) -> (&mut World, Option<&Sources>) {
        match self {
            Self::Program(world) => (world, None),
            Self::Script(live) => {
                let (world, sources) = live.parts();
                (world, Some(sources))
            }
        }
    }

    /// Replays further entries of a resumed world's journal, and steps the world until the tick `through`.
    pub(crate) fn replay_on(
        &mut self,
        entries: impl IntoIterator<Item = Entry>,
        through: u64,
    ) -> Result<(), ReplayError> {
        match self {
            Self::Program(world) => journal::replay(world, entries, through),
            Self::Script(live) => live.replay(entries, through),
        }
    }

    fn is_on_probation(&self) -> bool {
        matches!(self, Self::Script(live) if live.is_on_probation())
    }

    /// Notes a command that the world took, for a rollback of rules.
    fn note(&mut self, command: &Command) {
        if let Self::Script(live) = self {
            live.note(command);
        }
    }
}

impl RecordedWorld {
    pub(crate) fn new(engine: Engine, recording: Option<Recording>) -> Self {
        Self { engine, recording, once: Once::default() }
    }

    /// The present world.
    pub(crate) fn world(&self) -> &World {
        self.engine.world()
    }

    /// See [`World::apply`].
    pub(crate) fn apply(&mut self, command: Command) -> Result<(), ApplyError> {
        let Self { engine, recording, .. } = self;
        let noted = (recording.is_some() || engine.is_on_probation()).then(|| command.clone());
        engine.parts().0.apply(command)?;
        if let Some(command) = noted {
            engine.note(&command);
            if let Some(recording) = recording {
                recording.took(engine.world(), command);
            }
        }
        Ok(())
    }

    /// Applies the edit of an editor outside of the world at once, and records it. The error message has the reason of a
    /// refusal. The events of the edit are dropped, because hosts find its changes by comparison.
    pub(crate) fn edit(&mut self, edit: Edit) -> Result<(), String> {
        self.apply(Command::Edit { player: Edit::OUTSIDE, edit }).map_err(|error| error.to_string())?;
        let (world, _) = self.engine.parts();
        world.apply_waiting();
        let mut refused = None;
        while let Some(event) = world.poll_event() {
            if let Event::Refused { player: Edit::OUTSIDE, refusal } = event {
                refused = Some(refusal.to_string());
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Takes a snapshot, which changes the course of the world. The world must not be recorded.
    pub(crate) fn snapshot(&mut self) -> Vec<u8> {
        self.engine.parts().0.snapshot()
    }

    /// Replaces this world by another world, which is not recorded.
    pub(crate) fn replace(&mut self, engine: Engine) {
        self.engine = engine;
    }

    /// Applies the journal's entries that precede the next step.
    pub(crate) fn take_entries(
        &mut self,
        entries: impl IntoIterator<Item = Entry>,
    ) -> Result<(), ReplayError> {
        let (world, _) = self.engine.parts();
        let tick = world.tick();
        journal::replay(world, entries, tick)
    }

    /// Whether the world is recorded.
    pub(crate) fn is_recorded(&self) -> bool {
        self.recording.is_some()
    }

    /// Records the key of a player who joins.
    pub(crate) fn seat(&mut self, player: PlayerId, key: ClientKey) {
        if let Some(recording) = &mut self.recording {
            recording.seat(self.engine.world(), player, key);
        }
    }

    /// The durable actions that were carried out.
    pub(crate) fn once(&self) -> &Once {
        self.recording.as_ref().map_or(&self.once, Recording::once)
    }

    /// Applies a durable action that was not done before to the world. See [`World::apply`].
    pub(crate) fn apply_once(&mut self, id: ActionId, command: Command) -> Result<(), ApplyError> {
        let Self { engine, recording, once } = self;
        engine.parts().0.apply(command.clone())?;
        engine.note(&command);
        match recording {
            Some(recording) => recording.took_once(engine.world(), id, command),
            None => drop(once.insert(id, engine.world().tick())),
        }
        Ok(())
    }

    /// Takes back a durable action that the last step refused, so that the client may retry it.
    pub(crate) fn take_back(&mut self, id: ActionId) {
        match &mut self.recording {
            Some(recording) => recording.take_back(id),
            None => self.once.take_back(id),
        }
    }

    /// Calls a completion when all events so far are stored. Calls it at once if nothing is stored.
    pub(crate) fn when_kept(&mut self, then: Completion) {
        match &mut self.recording {
            Some(recording) => recording.when_kept(then),
            None => then(Ok(())),
        }
    }

    /// Advances the world by one step. Scripts that fail in their first steps are rolled back together with the world.
    pub(crate) fn step(&mut self) {
        let version = self.version();
        match &mut self.engine {
            Engine::Program(world) => world.step(),
            Engine::Script(live) => live.step(),
        }
        if self.version() != version {
            // A rollback restored earlier data.
            self.engine.parts().0.save_again();
            self.begin_anew();
        }
    }

    /// Returns the next event, oldest first.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        match &mut self.engine {
            Engine::Program(world) => world.poll_event(),
            Engine::Script(live) => live.poll_event(),
        }
    }

    /// The outcomes of versions of the rules, oldest first.
    pub(crate) fn poll_report(&mut self) -> Option<Report> {
        match &mut self.engine {
            Engine::Program(_) => None,
            Engine::Script(live) => live.poll_report(),
        }
    }

    /// Returns the oldest printed line that was not taken yet.
    pub(crate) fn poll_line(&mut self) -> Option<String> {
        match &mut self.engine {
            Engine::Program(_) => None,
            Engine::Script(live) => live.poll_line(),
        }
    }

    /// The number of the version of the rules that runs, counted from 1.
    pub(crate) fn version(&self) -> u64 {
        match &self.engine {
            Engine::Program(_) => 1,
            Engine::Script(live) => live.version().number,
        }
    }

    /// Counts a version that does not load. Returns its number.
    pub(crate) fn count_refused(&mut self) -> u64 {
        match &mut self.engine {
            Engine::Program(_) => 1,
            Engine::Script(live) => live.count_refused(),
        }
    }

    /// The current rules, if they are a script.
    pub(crate) fn sources(&self) -> Option<&Sources> {
        self.engine.sources()
    }

    /// The fraction of its work budget that a script used in the newest step.
    pub(crate) fn script_work(&self) -> Option<f64> {
        match &self.engine {
            Engine::Program(_) => None,
            Engine::Script(live) => Some(live.work() as f64 / live.limits().work_per_step_max as f64),
        }
    }

    /// Measures the functions of the rules from the next step on, or ends the measurements.
    pub(crate) fn measure_hooks(&mut self, is_measured: bool) {
        if let Engine::Script(live) = &mut self.engine
            && live.measures_hooks() != is_measured
        {
            let began = Instant::now();
            let clock: Clock = Rc::new(move || began.elapsed());
            live.measure_hooks(is_measured.then_some(clock));
        }
    }

    /// Returns the time of each rules' function in the newest step, and the time of all hooks. `None` if they are not
    /// measured.
    pub(crate) fn take_hook_times(&mut self) -> Option<(Vec<HookTime>, Duration)> {
        match &mut self.engine {
            Engine::Script(live) if live.measures_hooks() => Some(live.take_hook_times()),
            _ => None,
        }
    }

    /// Watches values, and returns their newest writers. Rules in Rust have none.
    pub(crate) fn writers(&self, watched: Watched) -> Vec<(ValueName, Writer)> {
        match &self.engine {
            Engine::Program(_) => Vec::new(),
            Engine::Script(live) => live.writers(watched),
        }
    }

    /// The bytes that a script uses, and their limit.
    pub(crate) fn script_memory(&self) -> Option<(usize, usize)> {
        match &self.engine {
            Engine::Program(_) => None,
            Engine::Script(live) => Some((live.memory_bytes(), live.limits().memory_bytes_max)),
        }
    }

    /// Applies new rules from now on. Rules that do not load change nothing. The reports contain the outcome. A world whose
    /// rules are a program has no rules to replace.
    pub(crate) fn reload(&mut self, sources: Sources) {
        if let Engine::Script(live) = &mut self.engine {
            // The reload may have called `World::settle` even if the rules were rejected, and no journal has that call.
            let _ = live.reload(sources);
            self.begin_anew();
        }
    }

    /// Takes the data of accounts that changed since the last call.
    pub(crate) fn take_saved(&mut self) -> BTreeMap<String, SavedData> {
        self.engine.parts().0.take_saved()
    }

    /// Records changed data of accounts for the store.
    pub(crate) fn save_accounts(&mut self, changed: BTreeMap<String, SavedData>) {
        if let Some(recording) = &mut self.recording {
            recording.save_accounts(changed);
        }
    }

    /// Whether the store has accepted all data of accounts, or nothing is stored.
    pub(crate) fn has_saved_accounts(&self) -> bool {
        self.recording.as_ref().is_none_or(Recording::has_saved_accounts)
    }

    /// Records the events since the last call in the store. Call it after every step. It does not block on a disk. `is_used`
    /// states whether a player is in the world or did anything. A world is stored from then on.
    pub(crate) fn record(&mut self, is_used: bool) {
        if let Some(recording) = &mut self.recording {
            let (world, sources) = self.engine.parts();
            recording.record(world, sources, is_used);
        }
    }

    /// Records all events up to the last step in the store.
    pub(crate) fn record_all(&mut self) {
        if let Some(recording) = &mut self.recording {
            let (world, sources) = self.engine.parts();
            recording.finish(world, sources);
        }
    }

    /// Records a snapshot before the end. Calls the completion when it is stored, or at once if nothing is stored.
    pub(crate) fn snapshot_ahead(&mut self, then: Completion) {
        match &mut self.recording {
            Some(recording) => {
                let (world, sources) = self.engine.parts();
                recording.snapshot_ahead(world, sources, then);
            }
            None => then(Ok(())),
        }
    }

    /// Records all events since the snapshot before the end.
    pub(crate) fn record_rest(&mut self) {
        if let Some(recording) = &mut self.recording {
            let (world, sources) = self.engine.parts();
            recording.finish_after_snapshot(world, sources);
        }
    }

    /// Ends the recording, because another room may continue the world now.
    pub(crate) fn end_recording(&mut self) {
        self.recording = None;
    }

    fn begin_anew(&mut self) {
        if let Some(recording) = &mut self.recording {
            let (world, sources) = self.engine.parts();
            recording.begin_anew(world, sources);
        }
    }
}
