//! Scripts of random operations, and their reduction to shorter scripts.

use super::Random;
use crate::{Bounds, Key};
use std::fmt;

/// One step of a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Puts a value of this many bytes.
    Put {
        /// The key, or [`Key::EVENT`].
        key: Key,
        /// The size of the value.
        bytes: usize,
    },
    /// Gets one message.
    Get,
    /// Lets the other side run.
    Stall,
}

/// An operation of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// The queue's bounds.
    pub bounds: Bounds,
    /// The steps.
    pub operations: Vec<Operation>,
}

impl Script {
    /// Creates the script of a seed. It has small bounds, few keys, and phases in which one side is faster. Full and empty
    /// queues, barriers and replaced values are therefore frequent.
    #[must_use]
    pub fn random(seed: u64) -> Script {
        let mut random = Random::new(seed);
        let bounds = Bounds {
            entries_max: 1 + random.below(12) as usize,
            bytes_max: [64, 300, 2_000, 70_000][random.below(4) as usize],
        };
        let keys = 1 + random.below(8);
        let events_percent = [0, 5, 30, 90][random.below(4) as usize];
        let mut operations = Vec::new();
        for _ in 0..1 + random.below(6) {
            let gets_percent = [0, 20, 50, 80][random.below(4) as usize];
            for _ in 0..random.below(24) {
                operations.push(if random.percent(gets_percent) {
                    Operation::Get
                } else if random.percent(4) {
                    Operation::Stall
                } else {
                    let event = random.percent(events_percent);
                    let key = if event { Key::EVENT } else { Key::state(1 + random.below(keys)) };
                    // Most values are small, and some exceed the bounds of the queue.
                    let bytes = match random.below(20) {
                        0 => random.below(bounds.bytes_max as u64 * 5 / 4),
                        1 => bounds.bytes_max as u64 - random.below(16),
                        _ => random.below(48),
                    };
                    Operation::Put { key, bytes: bytes as usize }
                });
            }
        }
        Script { bounds, operations }
    }

    /// Returns the shortest script for which `fails` still returns a failure, and that failure. The search omits ever smaller
    /// stretches of the script. `what` is the failure of the whole script.
    pub(super) fn shrink(self, what: String, fails: impl Fn(&Script) -> Option<String>) -> (Script, String) {
        let (mut best, mut what) = (self, what);
        let mut stretch = best.operations.len();
        while stretch > 0 {
            let mut start = 0;
            while start < best.operations.len() {
                let mut shorter = best.clone();
                let end = (start + stretch).min(shorter.operations.len());
                shorter.operations.drain(start..end);
                match fails(&shorter) {
                    Some(failure) => (best, what) = (shorter, failure),
                    None => start += stretch,
                }
            }
            stretch /= 2;
        }
        (best, what)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bounds { entries_max, bytes_max } = self.bounds;
        writeln!(f, "bounds: {entries_max} entries, {bytes_max} bytes")?;
        for (step, operation) in self.operations.iter().enumerate() {
            match operation {
                Operation::Put { key, bytes } => writeln!(f, "{step:4}  put {key:?}, {bytes} bytes")?,
                Operation::Get => writeln!(f, "{step:4}  get")?,
                Operation::Stall => writeln!(f, "{step:4}  stall")?,
            }
        }
        Ok(())
    }
}
