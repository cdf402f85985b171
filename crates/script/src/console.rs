//! The console of a script for editors: faults and printed lines.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use crate::fault::Fault;

/// Queue of faults that were not polled yet; when it is full, the newest are dropped and counted.
const FAULTS_MAX: usize = 256;

/// The queue of a script's faults. Clones share one queue.
#[derive(Clone, Default)]
pub struct Console(Rc<RefCell<Waiting>>);

#[derive(Default)]
struct Waiting {
    faults: VecDeque<Fault>,
    stats: ConsoleStats,
    work: u64,
}

/// Counters of a script's faults. All are zero in normal operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConsoleStats {
    /// Faults raised.
    pub faults: u64,
    /// Faults that were dropped because the queue was full.
    pub faults_dropped: u64,
    /// Steps in which the script was stopped because it had used up its budget.
    pub steps_stopped: u64,
    /// Hooks that were not called because the budget of the step was already used up.
    pub hooks_skipped: u64,
}

impl Console {
    /// Returns the oldest fault in the queue.
    pub fn poll_fault(&self) -> Option<Fault> {
        self.0.borrow_mut().faults.pop_front()
    }

    /// Returns the counters.
    pub fn stats(&self) -> ConsoleStats {
        self.0.borrow().stats
    }

    /// Returns the units of work that the hooks spent in the newest complete step.
    pub fn work(&self) -> u64 {
        self.0.borrow().work
    }

    pub(crate) fn note_work(&self, work: u64) {
        self.0.borrow_mut().work = work;
    }

    pub(crate) fn report(&self, fault: Fault) {
        let mut waiting = self.0.borrow_mut();
        waiting.stats.faults += 1;
        if waiting.faults.len() < FAULTS_MAX {
            waiting.faults.push_back(fault);
        } else {
            waiting.stats.faults_dropped += 1;
        }
    }

    /// Names the call of the engine during which the newest faults were raised.
    pub(crate) fn name_call(&self, call: &str) {
        for fault in self.0.borrow_mut().faults.iter_mut().rev().take_while(|fault| fault.during.is_none()) {
            fault.during = Some(call.into());
        }
    }

    pub(crate) fn note_stopped(&self) {
        self.0.borrow_mut().stats.steps_stopped += 1;
    }

    pub(crate) fn note_skipped(&self) {
        self.0.borrow_mut().stats.hooks_skipped += 1;
    }
}
