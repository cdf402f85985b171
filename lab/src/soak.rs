//! Runs many random scenarios of a session, and checks each against the laws of the queue at both ends.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nowcast_sim::scenario::{self, Cast, Failure, Lived};
use serde::Serialize;

use nowcast_sim::typescript_peer::{PEER_PATH, PEER_VARIABLE, Peer, PeerMissing};

/// The extent of the soak.
#[derive(Debug)]
pub struct Soak {
    /// The first seed.
    pub first: u64,
    /// Number of seeds.
    pub seeds: u64,
    /// Maximum time, after which the soak stops even if seeds remain.
    pub time_max: Option<Duration>,
    /// The TypeScript session, which alternates between the two ends. Without it, both ends are in Rust.
    pub typescript: Option<Peer>,
    /// Whether processes are killed. Durable actions must survive that.
    pub restarts: bool,
}

/// Starts the TypeScript session of this checkout, or the one that the environment variable names.
///
/// # Errors
/// The missing part, and how to install it.
pub fn typescript() -> Result<Peer, PeerMissing> {
    let named = std::env::var_os(PEER_VARIABLE).map(PathBuf::from);
    let here = std::env::current_dir().unwrap_or_default();
    let in_checkout = || here.ancestors().map(|dir| dir.join(PEER_PATH)).find(|path| path.is_file());
    Peer::start(&named.or_else(in_checkout).unwrap_or_else(|| Path::new(PEER_PATH).to_owned()))
}

/// The result.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The first seed.
    pub first: u64,
    /// Whether TypeScript was at one end.
    pub typescript: bool,
    /// Number of seeds that were run.
    pub seeds: u64,
    /// Virtual time that passed in all runs, in hours.
    pub virtual_hours: f64,
    /// Real time that passed, in seconds.
    pub seconds: f64,
    /// Packets that left both ends.
    pub packets: u64,
    /// Messages shown to both applications.
    pub messages: u64,
    /// Carriers killed.
    pub carriers_killed: u64,
    /// Processes killed, at either end.
    pub processes_killed: u64,
    /// Durable actions begun.
    pub acts: u64,
    /// The first violation of a law, with its seed and the shortest script that was found.
    pub failure: Option<String>,
}

impl Soak {
    /// Runs the seeds one after the other, and passes the number of finished ones to `progress`. Stops at the first failure.
    pub fn run(&self, mut progress: impl FnMut(u64)) -> Outcome {
        let start = Instant::now();
        let mut total = Lived::default();
        let mut seeds = 0;
        let mut failure: Option<Box<Failure>> = None;
        for seed in self.first..self.first.saturating_add(self.seeds) {
            if self.time_max.is_some_and(|max| start.elapsed() >= max) {
                break;
            }
            let cast = self.typescript.as_ref().map_or(Cast::Rust, |peer| Cast::across(peer, seed));
            let lived = if self.restarts {
                scenario::check_restarts(seed, cast)
            } else {
                scenario::check_with(seed, cast)
            };
            match lived {
                Ok(lived) => {
                    total.time += lived.time;
                    total.packets += lived.packets;
                    total.messages += lived.messages;
                    total.kills += lived.kills;
                    total.restarts += lived.restarts;
                    total.acts += lived.acts;
                }
                Err(found) => failure = Some(found),
            }
            seeds += 1;
            progress(seeds);
            if failure.is_some() {
                break;
            }
        }
        Outcome {
            first: self.first,
            typescript: self.typescript.is_some(),
            seeds,
            virtual_hours: total.time.as_secs_f64() / 3_600.0,
            seconds: start.elapsed().as_secs_f64(),
            packets: total.packets,
            messages: total.messages,
            carriers_killed: total.kills,
            processes_killed: total.restarts,
            acts: total.acts,
            failure: failure.map(|failure| failure.to_string()),
        }
    }
}
