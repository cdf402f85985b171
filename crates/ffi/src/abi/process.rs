//! Detects that the process was forked. A fork has none of the threads that serve channels, so no call can work there.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::{Failure, Status};

static IS_FORK: AtomicBool = AtomicBool::new(false);
static REGISTERED: Once = Once::new();

#[cfg(unix)]
fn register() {
    unsafe extern "C" {
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> i32;
    }

    extern "C" fn in_child() {
        IS_FORK.store(true, Ordering::Relaxed);
    }

    // SAFETY: the handler only stores to an atomic variable, which is allowed between fork and exec. It lives as long as the
    // library, because a library with threads is never unloaded.
    let _ = unsafe { pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(not(unix))]
fn register() {}

/// Checks that this process is not a fork of a process that has called the library.
///
/// # Errors
/// [`Status::Forked`] in a process that was forked after the first call.
#[inline]
pub fn check() -> Result<(), Failure> {
    if !REGISTERED.is_completed() {
        REGISTERED.call_once(register);
    }
    match IS_FORK.load(Ordering::Relaxed) {
        false => Ok(()),
        true => Err(Failure::new(
            Status::Forked,
            "this process was forked: start a new program (exec), or fork before the first call",
        )),
    }
}

/// An object that a fork leaves alone. A fork shares memory and files with its parent, so a destructor that runs when the fork
/// ends would close the channels of the parent and take back its names.
pub struct ParentsOnly<T>(ManuallyDrop<T>);

impl<T> ParentsOnly<T> {
    /// Takes an object of this process.
    pub fn new(object: T) -> Self {
        Self(ManuallyDrop::new(object))
    }
}

impl<T> Deref for ParentsOnly<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for ParentsOnly<T> {
    fn drop(&mut self) {
        if check().is_ok() {
            // SAFETY: the object is dropped here and nowhere else, and nothing uses it after its owner's destructor.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}
