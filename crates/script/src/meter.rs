//! Counts the work of a script.

use std::cell::Cell;

use crate::stop::Stop;

scoped_tls_hkt::scoped_thread_local!(static METER: Meter);

/// Units of work since the last refill. The interpreter adds one for each call and each loop iteration.
#[derive(Default)]
pub(crate) struct Meter {
    spent: Cell<u64>,
    spent_max: Cell<u64>,
    /// Cost of one step of the interpreter, in units. It is greater than one while a pattern is matched on a long text.
    weight: Cell<u64>,
    is_free: Cell<bool>,
    /// Errors that a script caught since the last collection. The interpreter does not count their memory.
    errors_caught: Cell<u64>,
    /// Remaining budget for looks and bindings: bytes, and values.
    declared_bytes: Cell<usize>,
    declared_values: Cell<usize>,
    /// The stop, which another thread sets.
    stop: Stop,
}

impl Meter {
    /// Makes a meter that obeys the stop of this thread.
    pub(crate) fn new() -> Meter {
        Meter { stop: Stop::of_this_thread(), ..Meter::default() }
    }

    /// Runs `work`. Meanwhile [`charge`] and [`note`] use this meter.
    pub(crate) fn measure<R>(&self, work: impl FnOnce() -> R) -> R {
        METER.set(self, work)
    }

    pub(crate) fn refill(&self, spent_max: u64) {
        self.spent.set(0);
        self.spent_max.set(spent_max);
        self.weight.set(1);
    }

    /// Resets the weight to the smallest value, because the previous hook may have been stopped during a pattern match.
    pub(crate) fn reset_weight(&self) {
        self.weight.set(1);
    }

    pub(crate) fn weigh(&self, weight: u64) {
        self.weight.set(weight.max(1));
    }

    /// Counts one step of the interpreter.
    pub(crate) fn tick(&self) -> mlua::Result<()> {
        self.charge(self.weight.get())
    }

    /// Takes units from the budget. Once the budget is used up, every further charge fails, too, so no `pcall` can keep a
    /// script running. If another thread sets the stop, the whole budget counts as used up, even for work that is free of
    /// charge.
    pub(crate) fn charge(&self, units: u64) -> mlua::Result<()> {
        if self.stop.is_set() {
            self.spent.set(u64::MAX);
            return Err(mlua::Error::runtime(OUT_OF_TIME));
        }
        if self.is_free.get() {
            return Ok(());
        }
        self.note(units);
        if self.is_exhausted() { Err(mlua::Error::runtime(OUT_OF_WORK)) } else { Ok(()) }
    }

    /// Takes back the unit of a call by which the host measures. A script that is stopped stays stopped.
    pub(crate) fn take_back(&self) {
        let spent = self.spent.get();
        if !self.is_free.get() && spent != u64::MAX {
            self.spent.set(spent.saturating_sub(self.weight.get()));
        }
    }

    /// Takes units from the budget for work that is already done. If the budget was too small, the next charge fails.
    pub(crate) fn note(&self, units: u64) {
        self.spent.set(self.spent.get().saturating_add(units));
    }

    /// Runs our own work without charging the script. The amount of this work is bounded by other limits.
    pub(crate) fn freely<R>(&self, work: impl FnOnce() -> R) -> R {
        let was_free = self.is_free.replace(true);
        let result = work();
        self.is_free.set(was_free);
        result
    }

    /// Counts an error that the script caught.
    pub(crate) fn caught(&self) {
        self.errors_caught.set(self.errors_caught.get() + 1);
        self.note(UNITS_AN_ERROR);
    }

    /// Returns the number of errors caught since the last call.
    pub(crate) fn take_errors_caught(&self) -> u64 {
        self.errors_caught.take()
    }

    /// Sets the total size of looks and bindings that a script may declare.
    pub(crate) fn expect_declarations(&self, bytes: usize, values: usize) {
        self.declared_bytes.set(bytes);
        self.declared_values.set(values);
    }

    /// Returns the remaining budget of declarations: bytes, and values.
    pub(crate) fn declared_left(&self) -> (usize, usize) {
        (self.declared_bytes.get(), self.declared_values.get())
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.spent.get() > self.spent_max.get()
    }

    /// Returns the error message for a spent budget.
    pub(crate) fn why_exhausted(&self) -> &'static str {
        if self.stop.is_set() { OUT_OF_TIME } else { OUT_OF_WORK }
    }
}

/// Takes units from the budget of the script that runs on this thread; work outside of scripts is free.
pub(crate) fn charge(units: u64) -> mlua::Result<()> {
    if METER.is_set() { METER.with(|meter| meter.charge(units)) } else { Ok(()) }
}

/// Takes units from the budget for a declaration. Errors of declarations are texts.
pub(crate) fn charge_declared(units: u64) -> Result<(), String> {
    charge(units).map_err(|_| OUT_OF_WORK.to_owned())
}

/// Returns the remaining budget of declarations of this thread's script: bytes, and values.
pub(crate) fn declared_left() -> Option<(usize, usize)> {
    METER.is_set().then(|| METER.with(Meter::declared_left))
}

/// Takes bytes and values from the budget of declarations.
pub(crate) fn declare(bytes: usize, values: usize) {
    if METER.is_set() {
        METER.with(|meter| {
            let (bytes_left, values_left) = meter.declared_left();
            meter.expect_declarations(bytes_left.saturating_sub(bytes), values_left.saturating_sub(values));
        });
    }
}

/// Cost of a caught error, in units.
const UNITS_AN_ERROR: u64 = 64;

/// The error of a script that spent its budget.
pub(crate) const OUT_OF_WORK: &str = "the script exceeded the work of one step, and was stopped";

/// The error of a script that the host's watchdog stopped.
pub(crate) const OUT_OF_TIME: &str = "the step took longer than its limit, and was stopped";
