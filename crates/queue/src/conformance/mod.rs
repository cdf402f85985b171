//! One suite for every implementation of the updatable queue.
//!
//! The suite has two kinds of cases. Both are made from a seed, and a failure prints the seed:
//!
//! - **lockstep**: random puts and gets run on the implementation and on the reference [`Model`]. Every answer must be
//!   the same, including refusals. Failures are shrunk to the shortest script that still fails.
//! - **concurrent**: one thread puts and another gets, with random stalls. The record of puts and gets must follow the [`laws`].
//!
//! Publishers, which have many receivers, have a separate suite: [`publishers`].
//!
//! An implementation that is not an exact queue at every instant, such as a queue over a network, cannot run in lockstep. For
//! such an implementation, record the puts and gets, and call [`laws::check`].

pub mod laws;
mod model;
pub mod publishers;
mod random;
mod script;

pub use model::Model;
pub use random::Random;
pub use script::{Operation, Script};

use crate::{Bounds, Key, Put, Receiver, Refusal, Sender};
use std::fmt;
use std::time::{Duration, Instant};

/// An implementation under test.
pub trait Implementation {
    /// The sender of the implementation.
    type Sender: Sender + Send;
    /// The receiver of the implementation.
    type Receiver: Receiver + Send;
    /// The name of the implementation in reports.
    const NAME: &'static str;
    /// Makes an empty queue.
    fn queue(&self, bounds: Bounds) -> (Self::Sender, Self::Receiver);
}

/// The size of a test run, and its seed.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Case `n` is made from `seed + n`, so a failing case can be run alone.
    pub seed: u64,
    /// Number of cases; every tenth is concurrent.
    pub cases: u64,
}

/// Counts of a passed suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Passed {
    /// Cases compared with the model.
    pub lockstep: u64,
    /// Cases with two threads.
    pub concurrent: u64,
    /// Number of puts and gets.
    pub operations: u64,
}

/// A case that broke the contract.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The implementation.
    pub implementation: &'static str,
    /// The seed of the case. `Suite { seed, cases: 1 }` runs the case again.
    pub seed: u64,
    /// The violation that the shrunk script shows.
    pub what: String,
    /// The shortest failing script.
    pub script: Script,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} (seed {})", self.implementation, self.what, self.seed)?;
        write!(f, "{}", self.script)
    }
}

impl std::error::Error for Failure {}

impl Suite {
    /// Runs all cases. Stops at the first failure and shrinks it.
    ///
    /// # Errors
    /// The failing case.
    pub fn run<I: Implementation>(&self, implementation: &I) -> Result<Passed, Box<Failure>> {
        let mut passed = Passed::default();
        for seed in self.seed..self.seed + self.cases {
            let script = Script::random(seed);
            let concurrent = seed % 10 == 9;
            let run = |script: &Script| {
                if concurrent {
                    concurrently(implementation, script)
                } else {
                    in_lockstep(implementation, script)
                }
            };
            if let Err(first) = run(&script) {
                // A race does not occur in every run, so each shorter script is tried several times.
                let tries = if concurrent { 20 } else { 1 };
                let fails = |script: &Script| (0..tries).find_map(|_| run(script).err());
                let (script, what) = script.shrink(first, fails);
                return Err(Box::new(Failure { implementation: I::NAME, seed, what, script }));
            }
            passed.operations += script.operations.len() as u64;
            *(if concurrent { &mut passed.concurrent } else { &mut passed.lockstep }) += 1;
        }
        Ok(passed)
    }
}

/// Runs a script on the implementation and on the model, and compares all answers.
fn in_lockstep<I: Implementation>(implementation: &I, script: &Script) -> Result<(), String> {
    let (mut sender, mut receiver) = implementation.queue(script.bounds);
    let mut model = Model::new(script.bounds);
    let mut value = Vec::new();
    let mut get = |model: &mut Model, step: usize| {
        let got = receiver.try_get(&mut value).map(|key| key.map(|key| (key, value.clone())));
        same(step, "get", &got, &Ok(model.get()))?;
        Ok::<bool, String>(matches!(got, Ok(Some(_))))
    };
    for (step, operation) in script.operations.iter().enumerate() {
        match *operation {
            Operation::Put { key, bytes } => {
                let value = laws::value(step, bytes);
                same(step, "put", &sender.try_put(key, &value), &model.put(key, value))?;
            }
            Operation::Get => drop(get(&mut model, step)?),
            Operation::Stall => {}
        }
    }
    let end = script.operations.len();
    while get(&mut model, end)? {}
    drop(sender);
    same(end, "get after the close", &receiver.try_get(&mut value), &Err(Refusal::Closed))
}

fn same<T: PartialEq + fmt::Debug>(step: usize, what: &str, got: &T, want: &T) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("step {step}, {what}: got {got:?}, the model has {want:?}"))
    }
}

/// Runs the puts of a script in one thread and its gets in another, each with the script's stalls. Then checks the laws.
fn concurrently<I: Implementation>(implementation: &I, script: &Script) -> Result<(), String> {
    let (mut sender, mut receiver) = implementation.queue(script.bounds);
    // A wait this long happens only if a wake-up is lost.
    let deadline = Some(Instant::now() + Duration::from_secs(20));
    let mut puts = Vec::new();
    let gets = std::thread::scope(|scope| {
        let reader = scope.spawn(move || read_all(&mut receiver, script, deadline));
        let put = write_all(&mut sender, script, deadline, &mut puts);
        drop(sender);
        put.map_err(|refusal| format!("a put ended with: {refusal}"))?;
        reader.join().map_err(|_| "the reader panicked".to_owned())?
    })?;
    laws::check(&puts, &gets, laws::Ended::Drained).map_err(|violation| violation.to_string())
}

fn write_all(
    sender: &mut impl Sender,
    script: &Script,
    deadline: Option<Instant>,
    puts: &mut Vec<Key>,
) -> Result<(), Refusal> {
    for operation in &script.operations {
        match *operation {
            Operation::Put { key, bytes } => {
                let value = laws::value(puts.len(), bytes);
                match sender.put(key, &value, deadline) {
                    Ok(Put::Queued | Put::Replaced) => puts.push(key),
                    Err(Refusal::TooLarge { .. }) => {}
                    Err(refusal) => return Err(refusal),
                }
            }
            Operation::Stall => std::thread::yield_now(),
            Operation::Get => std::hint::spin_loop(),
        }
    }
    Ok(())
}

fn read_all(
    receiver: &mut impl Receiver,
    script: &Script,
    deadline: Option<Instant>,
) -> Result<Vec<(Key, usize)>, String> {
    let mut gets = Vec::new();
    let mut value = Vec::new();
    let mut stalls = script.operations.iter().rev().cycle();
    loop {
        match receiver.get(&mut value, deadline) {
            Ok(key) => gets.push((key, laws::put_of(&value).ok_or("a value was torn")?)),
            Err(Refusal::Closed) => return Ok(gets),
            Err(refusal) => return Err(format!("a get ended with: {refusal}")),
        }
        if let Some(Operation::Stall) = stalls.next() {
            std::thread::yield_now();
        }
    }
}
