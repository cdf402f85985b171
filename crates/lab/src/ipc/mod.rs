//! `lab ipc`: how long a message of 80 bytes takes from one process to another, and how many fit into a second.
//!
//! Everything is measured in the same run, in rounds that take turns, because figures of different minutes do not
//! compare on a shared machine; and beside the time that a cache line takes there and back, because virtual cores are
//! placed near each other or far apart by chance.

mod findings;
mod measure;
mod syscalls;

pub(crate) use measure::begin;

use crate::local::{Carrier, LocalError};
use crate::report::{Report, Samples};

/// What to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How often everything is measured; the medians over the rounds are reported.
    pub rounds: usize,
    /// Shorter runs, for a first look.
    pub quick: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { rounds: 3, quick: false }
    }
}

/// What one carrier did, over all rounds.
#[derive(Debug)]
struct Measured {
    carrier: Carrier,
    awake_p50: Samples,
    awake_p99: Samples,
    khz_p50: Samples,
    woken_p50: Samples,
    woken_p99: Samples,
    per_second: Samples,
}

/// Measures everything.
///
/// # Errors
/// When the system or a carrier refuses something; no figure is made up for it.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Report, LocalError> {
    let mut results: Vec<Measured> = measured().into_iter().map(Measured::new).collect();
    let mut round_trips = Samples::new();
    for round in 1..=plan.rounds {
        for result in &mut results {
            progress(&format!("round {round} of {}: {}", plan.rounds, result.carrier.name()));
            round_trips.push(measure::round_trip_ns()?);
            result.measure(plan)?;
        }
    }
    progress("counting system calls");
    let syscalls = syscalls::count(plan.quick);
    Ok(findings::report(plan, round_trips, results, syscalls))
}

fn measured() -> Vec<Carrier> {
    use Carrier::{Blackboard, Events, Futex, Mailbox, Pipe, Publish, PublishAndWake, Tcp, Unix, Updates};
    let all = [Mailbox, Updates, Events, Blackboard, Publish, Futex, PublishAndWake, Pipe, Unix, Tcp];
    all.into_iter().filter(|carrier| carrier.is_built()).collect()
}

impl Measured {
    fn new(carrier: Carrier) -> Measured {
        let none = Samples::new;
        Measured {
            carrier,
            awake_p50: none(),
            awake_p99: none(),
            khz_p50: none(),
            woken_p50: none(),
            woken_p99: none(),
            per_second: none(),
        }
    }

    fn measure(&mut self, plan: &Plan) -> Result<(), LocalError> {
        let scale = if plan.quick { 10 } else { 1 };
        if measure::can_spin(self.carrier) {
            let mut awake = measure::latency(self.carrier, false, 1_000, 50_000 / scale)?;
            self.awake_p50.push(awake.quantile(0.5));
            self.awake_p99.push(awake.quantile(0.99));
            let mut khz = measure::latency(self.carrier, false, 1_000_000, 500 / scale)?;
            self.khz_p50.push(khz.quantile(0.5));
        }
        if measure::can_sleep(self.carrier) {
            let mut woken = measure::latency(self.carrier, true, 1_000_000, 500 / scale)?;
            self.woken_p50.push(woken.quantile(0.5));
            self.woken_p99.push(woken.quantile(0.99));
        }
        if measure::has_rate(self.carrier) {
            self.per_second.push(measure::rate(self.carrier, 100 / scale)?);
        }
        Ok(())
    }
}
