//! Death at a chosen moment: a process can be configured to kill itself at a named step of the protocol.
//!
//! Only in builds with the feature `kill-steps`, for tests. The process dies by SIGKILL. So it cleans up nothing, as if it were
//! killed from outside between these two instructions.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// All steps in the order of the code: first the writer's, then the reader's.
pub const STEPS: [&str; 9] = [
    "value half written",
    "replace: value prepared",
    "replace: value exchanged",
    "append: value prepared",
    "append: entry visible",
    "get: entry seen",
    "get: entry taken",
    "get: value copied",
    "get: entry released",
];

/// The step, and the number of passes before the process dies.
static DEATH: OnceLock<(String, AtomicU64)> = OnceLock::new();

/// Chooses the step at which this process will die, after passing it `passes` times.
pub fn die_at(step: &str, passes: u64) {
    let _ = DEATH.set((step.to_owned(), AtomicU64::new(passes)));
}

pub(crate) fn pass(step: &'static str) {
    if let Some((chosen, passes)) = DEATH.get()
        && chosen == step
        && passes.fetch_sub(1, Ordering::Relaxed) == 0
    {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    }
}
