//! Lives of a cluster in virtual time: servers, links, clocks, and a model of JetStream. Each life is checked against the promises
//! of `docs/reference/cluster.md`.
//!
//! The test subject is the code that decides in servers: [`nowcast_cluster::Node`], [`Append`](nowcast_cluster::Append) and
//! [`Claim`](nowcast_cluster::Claim). Servers drive it through `crates/jetstream`. Everything around it is a model: a life has a
//! few servers, one or two rooms, and clients that repeat a durable action until it is confirmed.
//!
//! | promise | check |
//! | --- | --- |
//! | one owner at a time confirms and shows states | no event of an epoch after a newer epoch runs |
//! | confirmed actions happen exactly once | each frame that is stored is applied to a reference world |
//! | states never go backwards | the steps of an epoch grow, and a hand-over begins at the last step that was shown |
//! | every room is found again | each client's actions are confirmed again after the faults |
//!
//! ```
//! use nowcast_sim::cluster::{Setup, check};
//!
//! let lived = check(7, &Setup::default()).unwrap();
//! assert!(lived.confirmed > 0);
//! ```

mod checker;
mod clock;
mod jetstream;
mod life;
mod script;
mod server;
mod world;

use std::fmt;
use std::time::Duration;

use nowcast_cluster::{Config, Name, Times};

use life::Life;
pub use script::{CALM_MS, FAULTS_MS, Fault, Script};

/// The servers of all lives.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The configuration of each server, besides its name and address.
    pub config: Config,
    /// Whether the failure of a lost room describes all servers.
    pub is_verbose: bool,
}

impl Default for Setup {
    fn default() -> Setup {
        let ms = Duration::from_millis;
        let times = Times {
            take: ms(1_000),
            take_pause: ms(30),
            locate: ms(150),
            leave: ms(600),
            expect: ms(150),
            gather: ms(100),
            prepare: ms(200),
            begin: ms(500),
            turn: ms(900),
            correct: ms(200),
            slack: ms(50),
        };
        let config = Config { lease: ms(400), times, ..Config::new(Name::new("s").expect("a short name")) };
        Setup { config, is_verbose: false }
    }
}

/// Counts of one life or more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lived {
    /// Number of lives.
    pub lives: u64,
    /// Virtual time that passed.
    pub virtual_time: Duration,
    /// Events that were handled.
    pub events: u64,
    /// States that servers showed to clients.
    pub shown: u64,
    /// Actions that servers confirmed, with repetitions.
    pub confirmed: u64,
    /// Rooms that were taken from the journal.
    pub takeovers: u64,
    /// Rooms that were handed over.
    pub hand_overs: u64,
    /// Steps that hand-overs delayed, together.
    pub freeze_steps: u64,
    /// Faults, and orders of the operator.
    pub faults: u64,
    /// A hash of everything that happened. It is equal in two runs of a script.
    pub digest: u64,
}

impl Lived {
    /// Adds the counts of another life.
    pub fn add(&mut self, other: Lived) {
        self.lives += other.lives;
        self.virtual_time += other.virtual_time;
        self.events += other.events;
        self.shown += other.shown;
        self.confirmed += other.confirmed;
        self.takeovers += other.takeovers;
        self.hand_overs += other.hand_overs;
        self.freeze_steps += other.freeze_steps;
        self.faults += other.faults;
        self.digest = world::mix(self.digest, other.digest);
    }
}

/// A life in which a promise was broken.
#[derive(Debug)]
pub struct Failure {
    /// The broken promise in the shortest script that was found.
    pub what: String,
    /// The shortest failing script that was found.
    pub script: Script,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.what, self.script)
    }
}

impl std::error::Error for Failure {}

/// Runs the script of a seed.
///
/// # Errors
/// The promise that was broken, with the shortest script that could be found.
pub fn check(seed: u64, setup: &Setup) -> Result<Lived, Box<Failure>> {
    check_script(Script::random(seed), setup)
}

/// Runs a script.
///
/// # Errors
/// The promise that was broken, with the shortest script that could be found.
pub fn check_script(script: Script, setup: &Setup) -> Result<Lived, Box<Failure>> {
    run(&script, setup).map_err(|what| {
        let (script, what) = script.shrink(what, |script| run(script, setup).err());
        Box::new(Failure { what, script })
    })
}

/// Runs a script, and does not look for a shorter one.
///
/// # Errors
/// The promise that was broken.
pub fn run(script: &Script, setup: &Setup) -> Result<Lived, String> {
    Life::new(script, setup).run()
}
