//! Counts the work of a script.

use std::cell::Cell;

/// Units of work since the last refill. The interpreter adds one for each call and each turn of a loop.
#[derive(Default)]
pub(crate) struct Meter {
    spent: Cell<u64>,
    spent_max: Cell<u64>,
    /// What one step of the interpreter costs now; more than one while a pattern works on a long text.
    weight: Cell<u64>,
    is_free: Cell<bool>,
}

impl Meter {
    pub(crate) fn refill(&self, spent_max: u64) {
        self.spent.set(0);
        self.spent_max.set(spent_max);
        self.weight.set(1);
    }

    /// A hook begins with the cheapest weight, whatever the hook before was stopped in.
    pub(crate) fn reset_weight(&self) {
        self.weight.set(1);
    }

    pub(crate) fn weigh(&self, weight: u64) {
        self.weight.set(weight.max(1));
    }

    /// One step of the interpreter.
    pub(crate) fn tick(&self) -> mlua::Result<()> {
        self.charge(self.weight.get())
    }

    /// Once the budget is spent every further charge fails too, so that no `pcall` holds a script up.
    pub(crate) fn charge(&self, units: u64) -> mlua::Result<()> {
        if self.is_free.get() {
            return Ok(());
        }
        let spent = self.spent.get().saturating_add(units);
        self.spent.set(spent);
        if spent > self.spent_max.get() { Err(mlua::Error::runtime(OUT_OF_WORK)) } else { Ok(()) }
    }

    /// Does what is on nobody's account: our own work, whose size is bounded otherwise.
    pub(crate) fn freely<R>(&self, work: impl FnOnce() -> R) -> R {
        let was_free = self.is_free.replace(true);
        let result = work();
        self.is_free.set(was_free);
        result
    }

    pub(crate) fn spent(&self) -> u64 {
        self.spent.get()
    }

    pub(crate) fn is_exhausted(&self) -> bool {
        self.spent.get() > self.spent_max.get()
    }
}

/// What a script hears whose work is used up.
pub(crate) const OUT_OF_WORK: &str = "the script used more work than one step may take, and was stopped";
