//! Stops scripts from another thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static OF_THREAD: RefCell<Stop> = RefCell::default();
}

/// Stops scripts from another thread. A script checks its stop wherever work is counted. Once the stop is set, all scripts
/// created under it fail at once, including scripts that are created later.
///
/// A budget of work stops a script at the same place in every run. A stop does not, because its caller uses a clock. If a
/// step was stopped, discard all changes that it made to the world.
///
/// ```
/// use nowcast_script::{Limits, Script, Sources, Stop};
///
/// let stop = Stop::default();
/// stop.set(); // from anywhere, at any time
/// let endless = Sources::of_main("while true do end");
/// let fault = stop.watch(|| Script::load(&endless, Limits::DEFAULT)).err().expect("the script is stopped");
/// assert!(fault.message.contains("took longer"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Stops every script that was created under this stop.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether the stop was set.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Runs `work`. Scripts that `work` creates on this thread obey this stop as long as they exist.
    pub fn watch<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Restores the previous stop, even after a panic.
        struct Restore(Stop);
        impl Drop for Restore {
            fn drop(&mut self) {
                OF_THREAD.with_borrow_mut(|stop| std::mem::swap(stop, &mut self.0));
            }
        }
        let before = OF_THREAD.with_borrow_mut(|stop| std::mem::replace(stop, self.clone()));
        let _restore = Restore(before);
        work()
    }

    /// The stop for scripts that are created on this thread at present.
    pub(crate) fn of_this_thread() -> Stop {
        OF_THREAD.with_borrow(Clone::clone)
    }
}
