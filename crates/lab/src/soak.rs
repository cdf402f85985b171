//! Many random lives of a session, each checked against the laws of the queue at both ends.

use std::time::{Duration, Instant};

use nowcast_sim::scenario::{self, Failure, Lived};
use serde::Serialize;

/// How much to soak.
#[derive(Debug, Clone, Copy)]
pub struct Soak {
    /// The first seed.
    pub first: u64,
    /// How many seeds.
    pub seeds: u64,
    /// Stop after so long, even if seeds are left.
    pub time_max: Option<Duration>,
}

/// What came of it.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The first seed.
    pub first: u64,
    /// Seeds lived.
    pub seeds: u64,
    /// Virtual time that passed, in hours.
    pub virtual_hours: f64,
    /// Real time that passed, in seconds.
    pub seconds: f64,
    /// Packets that left both ends.
    pub packets: u64,
    /// Messages shown to both applications.
    pub messages: u64,
    /// Carriers killed.
    pub carriers_killed: u64,
    /// The first broken law, with the seed and the shortest script found.
    pub failure: Option<String>,
}

impl Soak {
    /// Lives the seeds one after the other, and tells `progress` how many are done; stops at the first failure.
    pub fn run(&self, mut progress: impl FnMut(u64)) -> Outcome {
        let start = Instant::now();
        let mut total = Lived::default();
        let mut seeds = 0;
        let mut failure: Option<Box<Failure>> = None;
        for seed in self.first..self.first.saturating_add(self.seeds) {
            if self.time_max.is_some_and(|max| start.elapsed() >= max) {
                break;
            }
            match scenario::check(seed) {
                Ok(lived) => {
                    total.time += lived.time;
                    total.packets += lived.packets;
                    total.messages += lived.messages;
                    total.kills += lived.kills;
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
            seeds,
            virtual_hours: total.time.as_secs_f64() / 3_600.0,
            seconds: start.elapsed().as_secs_f64(),
            packets: total.packets,
            messages: total.messages,
            carriers_killed: total.kills,
            failure: failure.map(|failure| failure.to_string()),
        }
    }
}
