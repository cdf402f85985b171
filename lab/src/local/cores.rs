//! The cores of the two processes.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Returns two cores that this process may use, or the same core twice if it may use only one.
pub fn two_cores() -> [usize; 2] {
    let allowed = sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new());
    let mut cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core));
    let first = cores.next().unwrap_or(0);
    [first, cores.next().unwrap_or(first)]
}

/// Keeps the calling thread on one core until it is dropped.
#[derive(Debug)]
pub struct Pinned {
    before: Option<CpuSet>,
}

impl Pinned {
    /// Moves the calling thread to `core`. If that is forbidden, the thread is not bound to a core.
    pub fn to(core: usize) -> Pinned {
        let before = sched_getaffinity(None).ok();
        let mut set = CpuSet::new();
        set.set(core);
        let moved = sched_setaffinity(None, &set).is_ok();
        Pinned { before: before.filter(|_| moved) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // The earlier cores were allowed before, so they are allowed now.
            let _ = sched_setaffinity(None, before);
        }
    }
}
