//! `lab ipc` measures how long a message of 80 bytes takes from one process to another, and how many messages pass in a second.
//!
//! All carriers are measured in the same run, in rounds that take turns. Figures of different minutes are not comparable on a
//! shared machine. Each round also measures the round trip of a cache line, because the distance of virtual cores varies.

mod findings;
mod measure;
mod syscalls;

pub(crate) use measure::begin;

use crate::local::{Carrier, LocalError};
use crate::report::{Report, Samples};
use std::time::{Duration, Instant};

/// Maximum time of all rounds together.
const TIME_MAX: Duration = Duration::from_secs(120);

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of rounds. The report shows their medians.
    pub rounds: usize,
    /// Shorter runs, for a first overview.
    pub quick: bool,
    /// Measures only these carriers; if empty, all carriers.
    pub through: Vec<Carrier>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { rounds: 5, quick: false, through: Vec::new() }
    }
}

/// If the round trip of a cache line is shorter than this, the two cores are near each other.
const NEAR_NS: f64 = 250.0;

/// Samples, separated by the distance of the two virtual cores. The host system moves the cores, and figures of the two cases are
/// not comparable.
#[derive(Debug, Default)]
struct Placed {
    near: Samples,
    far: Samples,
}

impl Placed {
    fn push(&mut self, round_trip_ns: f64, value: f64) {
        if round_trip_ns < NEAR_NS { self.near.push(value) } else { self.far.push(value) }
    }
}

/// The results of one carrier over all rounds.
#[derive(Debug)]
struct Measured {
    carrier: Carrier,
    awake_p50: Placed,
    awake_p99: Placed,
    khz_p50: Samples,
    woken_p50: Samples,
    woken_p99: Samples,
    written: Placed,
    read: Placed,
}

/// Runs all measurements.
///
/// # Errors
/// If the system or a carrier refuses a request. In that case there are no figures.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Report, LocalError> {
    let wanted = |carrier: &Carrier| plan.through.is_empty() || plan.through.contains(carrier);
    let mut results: Vec<Measured> = measured().into_iter().filter(wanted).map(Measured::new).collect();
    let mut round_trips = Samples::new();
    let start = Instant::now();
    let mut rounds = 0;
    for round in 1..=plan.rounds {
        // On a busy machine there are fewer rounds. The next round must fit into the time, by an estimate from the earlier
        // rounds.
        if round > 1 && start.elapsed() / (round - 1) as u32 * round as u32 > TIME_MAX {
            break;
        }
        rounds = round;
        for result in &mut results {
            progress(&format!("round {round} of {}: {}", plan.rounds, result.carrier.name()));
            result.measure(plan, &mut round_trips)?;
        }
    }
    progress("counting system calls");
    let syscalls = syscalls::count(plan.quick, wanted);
    Ok(findings::report(plan, rounds, round_trips, results, syscalls))
}

/// Returns all carriers that this program can measure.
#[must_use]
pub fn measured() -> Vec<Carrier> {
    use Carrier::{Events, Futex, Mailbox, Pipe, Tcp, Unix, Updates};
    vec![Mailbox, Updates, Events, Futex, Pipe, Unix, Tcp]
}

impl Measured {
    fn new(carrier: Carrier) -> Measured {
        let none = Samples::new;
        Measured {
            carrier,
            awake_p50: Placed::default(),
            awake_p99: Placed::default(),
            khz_p50: none(),
            woken_p50: none(),
            woken_p99: none(),
            written: Placed::default(),
            read: Placed::default(),
        }
    }

    fn measure(&mut self, plan: &Plan, trips: &mut Samples) -> Result<(), LocalError> {
        let scale = if plan.quick { 10 } else { 1 };
        let mut place = || {
            let trip = measure::round_trip_ns()?;
            trips.push(trip);
            Ok(trip)
        };
        if measure::can_spin(self.carrier) {
            let trip = place()?;
            let mut awake = measure::latency(self.carrier, false, 1_000, 20_000 / scale)?;
            self.awake_p50.push(trip, awake.quantile(0.5));
            self.awake_p99.push(trip, awake.quantile(0.99));
            let mut khz = measure::latency(self.carrier, false, 1_000_000, 200 / scale)?;
            self.khz_p50.push(khz.quantile(0.5));
        }
        if measure::can_sleep(self.carrier) {
            let mut woken = measure::latency(self.carrier, true, 1_000_000, 200 / scale)?;
            self.woken_p50.push(woken.quantile(0.5));
            self.woken_p99.push(woken.quantile(0.99));
        }
        if measure::has_rate(self.carrier) {
            let trip = place()?;
            if let Some(rate) = measure::rate(self.carrier, 200 / scale as usize)? {
                self.written.push(trip, rate.written);
                self.read.push(trip, rate.read);
            }
        }
        Ok(())
    }
}
