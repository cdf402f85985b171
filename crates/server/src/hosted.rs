//! A world as a room runs it, whoever wrote its rules.

use nowcast_script::{Fault, Live, Report, Sources};
use nowcast_world::{ApplyError, Command, Event, World};

/// A world whose rules are a program's or a script's. Rooms do the same with both.
pub(crate) enum Hosted {
    /// Rules in Rust, which stay what they are.
    Program(Box<World>),
    /// Rules in Luau, which may change while people are in the world.
    Script(Box<Live>),
}

impl Hosted {
    /// What there is now.
    pub(crate) fn world(&self) -> &World {
        match self {
            Self::Program(world) => world,
            Self::Script(live) => live.world(),
        }
    }

    /// See [`World::apply`].
    pub(crate) fn apply(&mut self, command: Command) -> Result<(), ApplyError> {
        match self {
            Self::Program(world) => world.apply(command),
            Self::Script(live) => live.apply(command),
        }
    }

    /// Advances the world by a step. Scripts that fail in their first steps are taken back, and the world with them.
    pub(crate) fn step(&mut self) {
        match self {
            Self::Program(world) => world.step(),
            Self::Script(live) => live.step(),
        }
    }

    /// The next thing that happened, oldest first.
    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        match self {
            Self::Program(world) => world.poll_event(),
            Self::Script(live) => live.poll_event(),
        }
    }

    /// What became of versions of the rules, oldest first.
    pub(crate) fn poll_report(&mut self) -> Option<Report> {
        match self {
            Self::Program(_) => None,
            Self::Script(live) => live.poll_report(),
        }
    }

    /// The version of the rules that runs, counted from 1.
    pub(crate) fn version(&self) -> u64 {
        match self {
            Self::Program(_) => 1,
            Self::Script(live) => live.version().number,
        }
    }

    /// Lets new rules hold from now on. Rules that do not load change nothing, and are reported; a program has none to replace.
    pub(crate) fn reload(&mut self, sources: Sources) -> Result<(), Fault> {
        match self {
            Self::Program(_) => Ok(()),
            Self::Script(live) => live.reload(sources).map(drop),
        }
    }
}
