//! `lab lag` repeats the experiment from the paper about the updatable queue (section 6 and figure 8; `spec/QUEUE.md` names the
//! paper).
//!
//! A sender sends a thousand messages at once. A receiver reads up to ten of them and then works for a while. The receiver
//! repeats both steps until it has the last message. The test measures the delay of the last message, and the time for which the
//! sender was busy.

mod burst;
mod findings;
pub mod remote;

pub use burst::Burst;
pub(crate) use burst::{receive, send};

use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::ipc::begin;
use crate::local::child::{Lagged, Task};
use crate::local::{Carrier, LocalError, Message, Pinned, Word, now_ns, two_cores};
use crate::report::Report;

/// Number of messages, as in the paper.
const MESSAGES: u64 = 1000;

/// Times that the receiver works, as in the paper: none, and one frame at 30, 20 and 10 frames a second.
const WORK_MS: [u64; 4] = [0, 33, 50, 100];

/// The options of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Number of repetitions of each combination. The paper had four.
    pub runs: usize,
    /// Seed that selects the moments of the receiver's work at which the sender begins.
    pub seed: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Plan { runs: 4, seed: 1 }
    }
}

/// One run of one combination.
#[derive(Clone, Debug)]
struct Run {
    carrier: Carrier,
    work_ms: u64,
    lag_ms: f64,
    send_ms: f64,
    read: u64,
}

/// Runs the experiment.
///
/// # Errors
/// If the system or a carrier refuses a request, or the last message does not arrive.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Report, LocalError> {
    let mut runs = Vec::new();
    for work_ms in WORK_MS {
        progress(&format!("{work_ms} ms of work, {} runs each", plan.runs));
        runs.extend(all_at(plan, work_ms)?);
    }
    Ok(findings::report(plan, &runs))
}

const CARRIERS: [Carrier; 5] =
    [Carrier::Tcp, Carrier::Unix, Carrier::Events, Carrier::Updates, Carrier::Mailbox];

/// Runs all combinations with the same amount of work. Receivers that work mostly sleep, so their runs overlap, and only one run
/// sends at a time. Without work the runs would disturb each other, so they run one after the other.
fn all_at(plan: &Plan, work_ms: u64) -> Result<Vec<Run>, LocalError> {
    let combinations: Vec<(usize, Carrier)> =
        (0..plan.runs).flat_map(|run| CARRIERS.into_iter().map(move |carrier| (run, carrier))).collect();
    let sending = Mutex::new(());
    let one = |(index, carrier): (usize, Carrier)| {
        let draw = (plan.seed ^ (work_ms << 8) ^ index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        single(carrier, work_ms, draw % (work_ms * 1000 + 1), &sending)
    };
    if work_ms == 0 {
        return combinations.into_iter().map(one).collect();
    }
    let one = &one;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            combinations.into_iter().map(|combination| scope.spawn(move || one(combination))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("a run returns its errors instead of a panic"))
            .collect()
    })
}

fn single(carrier: Carrier, work_ms: u64, offset_us: u64, sending: &Mutex<()>) -> Result<Run, LocalError> {
    let (control, companion, mut outlet) = begin(carrier, Task::Lag { work_ms, last: MESSAGES })?;
    // The sender begins at a random moment of the receiver's work.
    std::thread::sleep(Duration::from_micros(offset_us));
    let start = {
        // A sender that waits for a full socket must not block the other senders, so its turn ends after the first part.
        let turn = sending.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let pinned = Pinned::to(two_cores()[0]);
        let blocks = matches!(carrier, Carrier::Unix | Carrier::Tcp);
        let turn = if blocks {
            drop(turn);
            None
        } else {
            Some(turn)
        };
        let start = now_ns();
        for number in 1..=MESSAGES {
            outlet.send(&Message::new(number, now_ns()))?;
        }
        let took = now_ns() - start;
        drop((turn, pinned));
        took
    };
    let patience = 10 + MESSAGES / 10 * work_ms / 500;
    wait_asleep(&control, patience)?;
    let lagged: Lagged = companion.report()?;
    Ok(Run {
        carrier,
        work_ms,
        lag_ms: lagged.lag_ns as f64 / 1e6,
        send_ms: start as f64 / 1e6,
        read: lagged.read,
    })
}

/// Waits without spinning until the receiver has the last message.
fn wait_asleep(control: &crate::local::Control, seconds: u64) -> Result<(), LocalError> {
    let until = now_ns() + seconds * 1_000_000_000;
    while control.word(Word::Taken).load(Ordering::Acquire) < MESSAGES {
        if now_ns() > until {
            return Err(LocalError::Late { waiting_for: "the last message", seconds });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}
