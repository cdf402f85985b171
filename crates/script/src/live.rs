//! A world whose rules change while people are in it.

use std::collections::VecDeque;
use std::fmt;

use nowcast_world::{ApplyError, Behaviour, Command, Definition, Event, World};

use crate::console::{Console, ConsoleStats};
use crate::fault::{Fault, FaultKind};
use crate::limits::Limits;
use crate::printing::Lines;
use crate::script::Script;
use crate::sources::{MAIN, Sources};

/// A new version that raises an error in so many steps is taken back.
pub const PROBATION_STEPS: u64 = 120;

/// Which version of its rules a world runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Version {
    /// Counted from 1 for each version that was tried.
    pub number: u64,
    /// [`Sources::hash`].
    pub hash: u64,
}

/// What became of a version.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Report {
    /// It runs from this step on.
    Runs {
        /// Which.
        version: Version,
        /// After how many steps of the world.
        tick: u64,
    },
    /// It was not taken; the one before runs on as if nothing had been.
    Refused {
        /// Which.
        version: Version,
        /// Why.
        fault: Fault,
    },
    /// It failed in its first steps: rules and state are again what they were before it.
    RolledBack {
        /// Which was taken back.
        version: Version,
        /// Which runs again.
        to: Version,
        /// Why.
        fault: Fault,
    },
    /// It raised an error after its first steps; it runs on.
    Failed {
        /// Which.
        version: Version,
        /// What.
        fault: Fault,
    },
}

/// Why a world does not go on where it was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResumeError<E> {
    /// Its rules do not load.
    Rules(Fault),
    /// The caller could not give the world again.
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

/// A world with its script: [`World`], and the versions of its rules.
///
/// Order of calls: as with a world, and between two steps [`Live::reload`]. After each step [`Live::poll_event`] and
/// [`Live::poll_report`] are called until they return `None`.
pub struct Live {
    world: World,
    console: Console,
    printed: Lines,
    limits: Limits,
    sources: Sources,
    version: Version,
    tried: u64,
    probation: Option<Probation>,
    events: VecDeque<Event>,
    reports: VecDeque<Report>,
    reports_dropped: u64,
}

/// What is needed to take a version back.
struct Probation {
    sources: Sources,
    version: Version,
    snapshot: Vec<u8>,
    ends: u64,
    /// Who came and went meanwhile, what they are called, and durable actions: that is not taken back.
    kept: Vec<Command>,
}

impl Live {
    /// Commands of one probation that are not taken back; a version in whose first steps there are more stays.
    const KEPT_MAX: usize = 4_096;

    /// Loads the first version and lets the world begin.
    pub fn new(sources: Sources, seed: u64, limits: Limits) -> Result<Live, Fault> {
        let script = Script::load(&sources, limits)?;
        let (definition, console, printed) =
            (script.definition(), script.console(), script.sandbox().lines());
        let world = World::new(definition, seed, Box::new(script))
            .map_err(|error| Fault::of_file(FaultKind::Runtime, MAIN, error.to_string()))?;
        Ok(Live::of(world, console, printed, sources, limits))
    }

    /// Goes on with a world that was before: `make` gives it again with the definition and the rules of these sources, as
    /// [`World::restore`] and a replay do. What happened and what was raised on the way is not told again.
    pub fn resume<E>(
        sources: Sources,
        limits: Limits,
        make: impl FnOnce(Definition, Box<dyn Behaviour>) -> Result<World, E>,
    ) -> Result<Live, ResumeError<E>> {
        let script = Script::load(&sources, limits).map_err(ResumeError::Rules)?;
        let (definition, console, printed) =
            (script.definition(), script.console(), script.sandbox().lines());
        let mut world = make(definition, Box::new(script)).map_err(ResumeError::World)?;
        while world.poll_event().is_some() {}
        while console.poll_fault().is_some() {}
        printed.take();
        Ok(Live::of(world, console, printed, sources, limits))
    }

    fn of(world: World, console: Console, printed: Lines, sources: Sources, limits: Limits) -> Live {
        let version = Version { number: 1, hash: sources.hash() };
        let tick = world.tick();
        Live {
            world,
            console,
            printed,
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

    /// The world.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// The world between two steps, for what is no command, such as [`World::snapshot`], and the rules that run. Commands go
    /// through [`Live::apply`].
    pub fn parts(&mut self) -> (&mut World, &Sources) {
        (&mut self.world, &self.sources)
    }

    /// The rules that run.
    pub fn sources(&self) -> &Sources {
        &self.sources
    }

    /// What the running version did wrong so far. Its faults are told by [`Live::poll_report`].
    pub fn stats(&self) -> ConsoleStats {
        self.console.stats()
    }

    /// Units of work that the rules spent in the newest complete step, of [`Limits::work_per_step_max`].
    pub fn work(&self) -> u64 {
        self.console.work()
    }

    /// What one step may cost.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Which version runs.
    pub fn version(&self) -> Version {
        self.version
    }

    /// See [`World::apply`].
    pub fn apply(&mut self, command: Command) -> Result<(), ApplyError> {
        let is_kept = match &command {
            Command::Join { .. }
            | Command::JoinProgram { .. }
            | Command::Leave { .. }
            | Command::Rename { .. } => true,
            Command::Action { name, .. } => {
                self.world.scene().definition().action(name).is_some_and(|action| action.durable)
            }
            _ => false,
        };
        let kept = (is_kept && self.probation.is_some()).then(|| command.clone());
        self.world.apply(command)?;
        if let (Some(probation), Some(kept)) = (&mut self.probation, kept) {
            probation.kept.push(kept);
            if probation.kept.len() > Self::KEPT_MAX {
                self.probation = None;
            }
        }
        Ok(())
    }

    /// Advances the world by a step, and takes a new version back that fails in its first ones.
    pub fn step(&mut self) {
        self.world.step();
        self.drain_events();
        while let Some(fault) = self.poll_fault() {
            match self.probation.take() {
                // A value that cannot be kept has been set back already, and harms nobody.
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

    /// Lets a new version rule from now on: all modules at once, with the world's state; its rules are told which version was
    /// before ([`Behaviour::upgrade`]). One that does not load, or fails in taking over, changes nothing.
    pub fn reload(&mut self, sources: Sources) -> Result<Version, Fault> {
        self.tried += 1;
        let version = Version { number: self.tried, hash: sources.hash() };
        self.world.apply_waiting();
        self.drain_events();
        match self.replace(&sources) {
            Ok((snapshot, not_kept)) => {
                let tick = self.world.tick();
                let before = std::mem::replace(&mut self.sources, sources);
                // A version that is replaced in its first steps is not waited for: what it did stays.
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

    /// A version that does not even load was tried: it has a number of its own, which is returned.
    pub fn count_refused(&mut self) -> u64 {
        self.tried += 1;
        self.tried
    }

    /// The world goes on with rules other than those that it had, and nobody can tell which those were: after [`Live::resume`],
    /// before the first step.
    pub fn upgrade_from_unknown(&mut self) {
        self.world.upgrade(None);
    }

    /// Returns the world as it was, and what the new version could not keep while it took the world over.
    fn replace(&mut self, sources: &Sources) -> Result<(Vec<u8>, Vec<Fault>), Fault> {
        let script = Script::load(sources, self.limits)?;
        let before = self.world.scene().definition().clone();
        let snapshot = self.world.snapshot();
        self.restore(script, &snapshot)?;
        self.world.upgrade(Some(&before));
        let faults: Vec<_> = std::iter::from_fn(|| self.console.poll_fault()).collect();
        let (not_kept, failed): (Vec<_>, Vec<_>) =
            faults.into_iter().partition(|fault| fault.kind == FaultKind::State);
        if let Some(fault) = failed.into_iter().next() {
            let script = Script::load(&self.sources, self.limits)?;
            self.restore(script, &snapshot)?;
            return Err(fault.explained(sources));
        }
        Ok((snapshot, not_kept))
    }

    fn poll_fault(&mut self) -> Option<Fault> {
        self.console.poll_fault().map(|fault| fault.explained(&self.sources))
    }

    fn restore(&mut self, script: Script, snapshot: &[u8]) -> Result<(), Fault> {
        let (definition, console, printed) =
            (script.definition(), script.console(), script.sandbox().lines());
        let world = World::restore(definition, Box::new(script), snapshot)
            .map_err(|error| Fault::of_file(FaultKind::Runtime, MAIN, error.to_string()))?;
        self.world = world;
        self.console = console;
        self.printed = printed;
        Ok(())
    }

    fn roll_back(&mut self, probation: Probation, fault: Fault) {
        // It ran before, so it loads; and if it does not, the new version is all there is.
        let restored = Script::load(&probation.sources, self.limits)
            .and_then(|script| self.restore(script, &probation.snapshot));
        if restored.is_err() {
            self.report(Report::Failed { version: self.version, fault });
            return;
        }
        for command in probation.kept {
            // There was room for it before.
            let _ = self.world.apply(command);
        }
        let version = std::mem::replace(&mut self.version, probation.version);
        self.sources = probation.sources;
        self.report(Report::RolledBack { version, to: self.version, fault });
    }

    /// The next thing that happened, oldest first. See [`World::poll_event`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// What became of versions, and what the running one did wrong, oldest first.
    pub fn poll_report(&mut self) -> Option<Report> {
        self.reports.pop_front()
    }

    /// The oldest line that the rules printed and nobody has taken. At most [`Limits::reports_max`] wait.
    pub fn poll_line(&mut self) -> Option<String> {
        self.printed.poll()
    }

    /// Reports that nobody polled in time.
    pub fn reports_dropped(&self) -> u64 {
        self.reports_dropped
    }

    /// A world that is replaced takes its events with it.
    fn drain_events(&mut self) {
        let events_max = self.world.scene().definition().limits.events_max;
        while self.events.len() < events_max {
            let Some(event) = self.world.poll_event() else { break };
            self.events.push_back(event);
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
