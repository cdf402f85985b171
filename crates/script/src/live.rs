//! A world whose rules change while people play.

use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

use mlua::WeakLua;
use nowcast_world::journal::{self, Entry, ReplayError};
use nowcast_world::{ApplyError, Behaviour, Command, Definition, Event, Refusal, World};

use crate::console::{Console, ConsoleStats};
use crate::fault::{Fault, FaultKind};
use crate::hook_times::{Clock, HookTime, HookTimes};
use crate::limits::Limits;
use crate::printing::Lines;
use crate::script::Script;
use crate::sources::{MAIN, Sources};
use crate::writers::{ValueName, Watched, Writer, Writers};

/// If a new version fails within this number of steps, the version is rolled back.
pub const PROBATION_STEPS: u64 = 120;

/// A version of a world's rules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// The number of the version. Every version that is tried gets the next number, from 1 on.
    pub number: u64,
    /// [`Sources::hash`].
    pub hash: u64,
}

/// The outcome of a version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// The version runs from this step on.
    Runs {
        /// The version.
        version: Version,
        /// Number of steps that the world took before this version ran.
        tick: u64,
    },
    /// The version was refused; the preceding version continues unchanged.
    Refused {
        /// The refused version.
        version: Version,
        /// The reason.
        fault: Fault,
    },
    /// The version failed in its first steps: rules and state were rolled back.
    RolledBack {
        /// The version that was rolled back.
        version: Version,
        /// The version that runs again.
        to: Version,
        /// The reason.
        fault: Fault,
    },
    /// The version raised an error after its first steps, and continues.
    Failed {
        /// The version.
        version: Version,
        /// The error.
        fault: Fault,
    },
}

/// Reasons why a saved world cannot be resumed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResumeError<E> {
    /// The rules of the world do not load.
    Rules(Fault),
    /// The caller could not restore the world.
    World(E),
}

impl<E: fmt::Display> fmt::Display for ResumeError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResumeError::Rules(fault) => fault.fmt(f),
            ResumeError::World(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for ResumeError<E> {}

/// A [`World`] with its script, and the versions of its rules. Calls have the same order as a world's. [`Live::reload`]
/// may be called between two steps. After each step, call [`Live::poll_event`] and [`Live::poll_report`] until they return
/// `None`.
pub struct Live {
    world: World,
    handles: Handles,
    /// The clock for measurements, while a host measures the functions of the rules.
    clock: Option<Clock>,
    limits: Limits,
    sources: Sources,
    version: Version,
    tried: u64,
    probation: Option<Probation>,
    events: VecDeque<Event>,
    reports: VecDeque<Report>,
    reports_dropped: u64,
}

/// The parts of a script that stay reachable when a world owns it.
struct Handles {
    console: Console,
    printed: Lines,
    times: HookTimes,
    writers: Writers,
    lua: WeakLua,
}

impl Handles {
    fn of(script: &Script) -> Handles {
        Handles {
            console: script.console(),
            printed: script.sandbox().lines(),
            times: script.hook_times(),
            writers: script.writers(),
            lua: script.sandbox().lua().weak(),
        }
    }

    /// Drops faults and printed lines of a replay.
    fn forget_reports(&self) {
        while self.console.poll_fault().is_some() {}
        self.printed.take();
    }
}

/// The state that is needed to roll a version back.
struct Probation {
    sources: Sources,
    version: Version,
    snapshot: Vec<u8>,
    ends: u64,
    /// Commands that a rollback applies again: joins, leaves, names, and durable actions.
    kept: Vec<Command>,
}

impl Live {
    /// Maximum number of commands that a rollback applies again. If there are more in the first steps of a version, the
    /// version is not rolled back.
    const KEPT_MAX: usize = 4_096;

    /// Loads the first version and starts the world.
    ///
    /// # Errors
    /// Fails if the version does not load, or raises an error while the world begins.
    pub fn new(sources: Sources, seed: u64, limits: Limits) -> Result<Live, Fault> {
        let script = Script::load(&sources, limits)?;
        let (definition, handles) = (script.definition(), Handles::of(&script));
        let world = World::new(definition, seed, Box::new(script))
            .map_err(|error| Fault::of_file(FaultKind::Runtime, MAIN, error.to_string()))?;
        Ok(Live::of(world, handles, sources, limits))
    }

    /// Resumes a saved world: `make` restores it with the definition and the rules of these sources, as
    /// [`World::restore`] and a replay do. Events and faults of that restoration are not reported again.
    ///
    /// # Errors
    /// Fails if the version does not load, or if `make` fails.
    pub fn resume<E>(
        sources: Sources,
        limits: Limits,
        make: impl FnOnce(Definition, Box<dyn Behaviour>) -> Result<World, E>,
    ) -> Result<Live, ResumeError<E>> {
        let script = Script::load(&sources, limits).map_err(ResumeError::Rules)?;
        let (definition, handles) = (script.definition(), Handles::of(&script));
        let mut world = make(definition, Box::new(script)).map_err(ResumeError::World)?;
        while world.poll_event().is_some() {}
        handles.forget_reports();
        Ok(Live::of(world, handles, sources, limits))
    }

    /// Replays further entries of a resumed world's journal, and steps the world until the tick `through`. As in
    /// [`Live::resume`], events and faults of the replay are not reported again.
    ///
    /// # Errors
    /// Fails as [`journal::replay`] does. Then the world must not be used any more.
    pub fn replay(
        &mut self,
        entries: impl IntoIterator<Item = Entry>,
        through: u64,
    ) -> Result<(), ReplayError> {
        let replayed = journal::replay(&mut self.world, entries, through);
        self.handles.forget_reports();
        replayed
    }

    fn of(world: World, handles: Handles, sources: Sources, limits: Limits) -> Live {
        let version = Version { number: 1, hash: sources.hash() };
        let tick = world.tick();
        Live {
            world,
            handles,
            clock: None,
            limits,
            sources,
            version,
            tried: 1,
            probation: None,
            events: VecDeque::new(),
            reports: VecDeque::from([Report::Runs { version, tick }]),
            reports_dropped: 0,
        }
    }

    /// Returns the world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Returns the running rules and the world, between two steps. Use this function for operations that are not commands,
    /// such as [`World::snapshot`]. Commands go through [`Live::apply`], or are passed to [`Live::note`] afterwards.
    pub fn parts(&mut self) -> (&mut World, &Sources) {
        (&mut self.world, &self.sources)
    }

    /// Returns the running rules.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Returns the counters of the running version's faults. [`Live::poll_report`] returns the faults themselves.
    pub fn stats(&self) -> ConsoleStats {
        self.handles.console.stats()
    }

    /// Returns the units of work that the rules spent in the newest complete step, of [`Limits::work_per_step_max`].
    pub fn work(&self) -> u64 {
        self.handles.console.work()
    }

    /// Returns the bytes that the rules use, of [`Limits::memory_bytes_max`].
    pub fn memory_bytes(&self) -> usize {
        self.handles.lua.try_upgrade().map_or(0, |lua| lua.used_memory())
    }

    /// Measures the functions of the rules with this clock from the next step on, or ends the measurements. They do not change the
    /// course of the world.
    pub fn measure_hooks(&mut self, clock: Option<Clock>) {
        self.handles.times.set_clock(clock.clone());
        self.clock = clock;
    }

    /// Whether the functions of the rules are measured.
    pub fn measures_hooks(&self) -> bool {
        self.clock.is_some()
    }

    /// Returns each rule function's time since the last call, and the time of all hooks together. Call it after each step.
    pub fn take_hook_times(&mut self) -> (Vec<HookTime>, Duration) {
        let (mut times, total) = self.handles.times.take();
        for time in &mut times {
            if let Some(origin) = self.sources.origin(&time.file, time.line) {
                (time.file, time.line) = (origin.file, origin.line);
            }
        }
        (times, total)
    }

    /// Returns the newest writers of the values of the state or an entity, since these values are watched: they are watched for
    /// [`WATCHED_STEPS`](crate::WATCHED_STEPS) after each call. A watch does not change the course of the world.
    pub fn writers(&self, watched: Watched) -> Vec<(ValueName, Writer)> {
        let mut writers = self.handles.writers.watch(self.world.scene(), watched);
        for place in writers.iter_mut().filter_map(|(_, writer)| writer.place.as_mut()) {
            if let Some(origin) = self.sources.origin(&place.0, place.1) {
                *place = (origin.file, origin.line);
            }
        }
        writers
    }

    /// Returns the limits of a step.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the running version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// See [`World::apply`].
    ///
    /// # Errors
    /// Fails as [`World::apply`] does.
    pub fn apply(&mut self, command: Command) -> Result<(), ApplyError> {
        let noted = self.is_on_probation().then(|| command.clone());
        self.world.apply(command)?;
        if let Some(noted) = noted {
            self.note(&noted);
        }
        Ok(())
    }

    /// Whether an error of the running rules would roll them back, so that commands are noted.
    pub fn is_on_probation(&self) -> bool {
        self.probation.is_some()
    }

    /// Notes a command that the world of [`Live::parts`] took, if a rollback of rules keeps such commands.
    pub fn note(&mut self, command: &Command) {
        let Some(probation) = &mut self.probation else { return };
        let is_kept = match command {
            Command::Join { .. } | Command::Leave { .. } | Command::Rename { .. } => true,
            Command::Action { name, .. } => {
                self.world.scene().definition().action(name).is_some_and(|action| action.durable)
            }
            _ => false,
        };
        if is_kept {
            probation.kept.push(command.clone());
            if probation.kept.len() > Self::KEPT_MAX {
                self.probation = None;
            }
        }
    }

    /// Advances the world by a step. Rolls back a new version that fails in its first steps.
    pub fn step(&mut self) {
        self.world.step();
        let earlier = self.events.len();
        self.drain_events();
        self.forget_skipped(earlier);
        while let Some(fault) = self.poll_fault() {
            match self.probation.take() {
                // A value that could not be saved has been reset already, so the version need not be rolled back.
                Some(probation) if fault.kind != FaultKind::State => {
                    self.roll_back(probation, fault);
                    return;
                }
                probation => {
                    self.probation = probation;
                    self.report(Report::Failed { version: self.version, fault });
                }
            }
        }
        if self.probation.as_ref().is_some_and(|probation| self.world.tick() >= probation.ends) {
            self.probation = None;
        }
    }

    /// Switches to a new version: all modules at once, with the world's state. Its rules receive the number of the preceding
    /// version ([`Behaviour::upgrade`]). A version that does not load, or fails in its upgrade, changes nothing.
    ///
    /// # Errors
    /// Fails if the version does not load, or raises an error in its upgrade. The preceding version then continues.
    pub fn reload(&mut self, sources: Sources) -> Result<Version, Fault> {
        self.tried += 1;
        let version = Version { number: self.tried, hash: sources.hash() };
        self.world.apply_waiting();
        self.drain_events();
        match self.replace(&sources) {
            Ok((snapshot, not_kept)) => {
                let tick = self.world.tick();
                let before = std::mem::replace(&mut self.sources, sources);
                // If a version is replaced in its first steps, it can no longer be rolled back, and its changes stay.
                self.probation = Some(Probation {
                    sources: before,
                    version: self.version,
                    snapshot,
                    ends: tick + PROBATION_STEPS,
                    kept: Vec::new(),
                });
                self.version = version;
                self.report(Report::Runs { version, tick });
                not_kept.into_iter().for_each(|fault| self.report(Report::Failed { version, fault }));
                Ok(version)
            }
            Err(fault) => {
                self.report(Report::Refused { version, fault: fault.clone() });
                Err(fault)
            }
        }
    }

    /// Takes the next number for a version that did not load, because every tried version gets a number.
    pub fn count_refused(&mut self) -> u64 {
        self.tried += 1;
        self.tried
    }

    /// Records that the world had other, unknown rules before [`Live::resume`]. Call it before the first step.
    pub fn upgrade_from_unknown(&mut self) {
        self.world.upgrade(None);
    }

    /// Returns the world in its former state, and the faults that the new version raised in its upgrade.
    fn replace(&mut self, sources: &Sources) -> Result<(Vec<u8>, Vec<Fault>), Fault> {
        let script = Script::load(sources, self.limits)?;
        let before = self.world.scene().definition().clone();
        let snapshot = self.world.snapshot();
        self.restore(script, &snapshot)?;
        self.world.upgrade(Some(&before));
        let faults: Vec<_> = std::iter::from_fn(|| self.handles.console.poll_fault()).collect();
        let (not_kept, failed): (Vec<_>, Vec<_>) =
            faults.into_iter().partition(|fault| fault.kind == FaultKind::State);
        if let Some(fault) = failed.into_iter().next() {
            let script = Script::load(&self.sources, self.limits)?;
            script.sandbox().lines().take();
            self.restore(script, &snapshot)?;
            return Err(fault.explained(sources));
        }
        Ok((snapshot, not_kept))
    }

    fn poll_fault(&mut self) -> Option<Fault> {
        self.handles.console.poll_fault().map(|fault| fault.explained(&self.sources))
    }

    fn restore(&mut self, script: Script, snapshot: &[u8]) -> Result<(), Fault> {
        let (definition, handles) = (script.definition(), Handles::of(&script));
        let world = World::restore(definition, Box::new(script), snapshot)
            .map_err(|error| Fault::of_file(FaultKind::Runtime, MAIN, error.to_string()))?;
        self.world = world;
        let earlier = std::mem::replace(&mut self.handles, handles);
        self.handles.writers.watch_again(&earlier.writers);
        let unread = earlier.printed.take();
        self.handles.printed.put_before(unread, self.limits.reports_max);
        self.handles.times.set_clock(self.clock.clone());
        Ok(())
    }

    fn roll_back(&mut self, probation: Probation, fault: Fault) {
        // The old version loaded earlier, so it should load again. If it does not, the new version stays.
        let restored = Script::load(&probation.sources, self.limits).and_then(|script| {
            // Its modules printed their lines when the version was new.
            script.sandbox().lines().take();
            self.restore(script, &probation.snapshot)
        });
        if restored.is_err() {
            self.report(Report::Failed { version: self.version, fault });
            return;
        }
        for command in probation.kept {
            // Errors are ignored, because the world had room for these players before the rollback.
            let _ = self.world.apply(command);
        }
        let version = std::mem::replace(&mut self.version, probation.version);
        self.sources = probation.sources;
        self.report(Report::RolledBack { version, to: self.version, fault });
    }

    /// Returns the next event, oldest first. See [`World::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Returns the outcome of the next version or the next fault of the running one, oldest first.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// Returns the oldest printed line, also of a version that was rolled back. At most [`Limits::reports_max`] lines wait.
    pub fn poll_line(&mut self) -> Option<String> {
        self.handles.printed.poll()
    }

    /// Returns the number of reports that were dropped because they were not polled in time.
    pub fn reports_dropped(&self) -> u64 {
        self.reports_dropped
    }

    /// Stores the events of a world that is replaced, so that they can still be polled.
    fn drain_events(&mut self) {
        let events_max = self.world.scene().definition().limits.events_max;
        while self.events.len() < events_max {
            let Some(event) = self.world.poll_event() else { break };
            self.events.push_back(event);
        }
    }

    /// Removes the actions that a step skipped from those that a rollback applies again, because their players learn that they
    /// were not carried out. `earlier` is the number of events before the step.
    fn forget_skipped(&mut self, earlier: usize) {
        let Some(probation) = &mut self.probation else { return };
        for event in self.events.iter().skip(earlier) {
            let Event::Refused { player: by, refusal: Refusal::NoWorkLeft { action } } = event else {
                continue;
            };
            let is_it = |command: &Command| matches!(command, Command::Action { player, name, .. } if (player, name) == (by, action));
            if let Some(last) = probation.kept.iter().rposition(is_it) {
                probation.kept.remove(last);
            }
        }
    }

    fn report(&mut self, report: Report) {
        if self.reports.len() >= self.limits.reports_max {
            self.reports_dropped += 1;
        } else {
            self.reports.push_back(report);
        }
    }
}
