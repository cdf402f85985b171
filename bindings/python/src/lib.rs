//! The Python module `nowcast._nowcast`, on the objects of `crates/ffi`.
//!
//! Calls that may wait release the interpreter's lock, and check for signals ten times a second. Nothing of asyncio blocks: its
//! loop polls the descriptor of a channel, and replies are passed to it from one thread of the runtime.
//!
//! | file | content |
//! | --- | --- |
//! | `channel.rs` | connecting, channels, messages |
//! | `world.rs` | a client of a world |
//! | `values.rs` | values, save files, and the codec of dataclasses |

mod channel;
mod values;
mod world;

use std::sync::OnceLock;
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use nowcast_ffi::channel::Wait;
use nowcast_ffi::failure::{Failure, Status};
use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyException, PyKeyError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;

create_exception!(nowcast, Error, PyException, "An error of a channel, a world or a file.");
create_exception!(nowcast, Closed, Error, "The channel is closed.");
create_exception!(nowcast, Refused, Error, "A limit of the channel refused the message.");

/// Interval between two checks for signals.
const SIGNALS: Duration = Duration::from_millis(100);

fn raise(failure: Failure) -> PyErr {
    let text = failure.to_string();
    match failure.status {
        Status::TimedOut => PyTimeoutError::new_err(text),
        Status::Closed => Closed::new_err(text),
        Status::Refused => Refused::new_err(text),
        Status::InvalidArgument | Status::BufferTooSmall => PyValueError::new_err(text),
        Status::ConnectFailed => PyConnectionError::new_err(text),
        Status::NotFound => PyKeyError::new_err(text),
        _ => Error::new_err(text),
    }
}

/// Converts seconds to a deadline; `None` waits without a limit.
fn deadline(timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = timeout else { return Ok(None) };
    let duration = Duration::try_from_secs_f64(seconds);
    let duration = duration
        .map_err(|_| PyValueError::new_err("a timeout is a number of seconds, at least 0, or None"))?;
    Ok(Instant::now().checked_add(duration))
}

/// The thread in which the interpreter ends.
static EXIT: OnceLock<ThreadId> = OnceLock::new();

/// Records that the interpreter ends. The package calls this function at exit.
#[pyfunction]
fn _exit() {
    // A second call comes from the same thread.
    let _ = EXIT.set(std::thread::current().id());
}

/// Stops this thread if the interpreter ends in another one, which would unwind every thread that returns to it.
fn stop_at_exit() {
    while EXIT.get().is_some_and(|thread| *thread != std::thread::current().id()) {
        std::thread::park();
    }
}

/// Repeats a call that waits, until it is done or the timeout passes. The interpreter runs while the call waits.
fn wait<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    call: impl Fn(Wait) -> Result<T, Failure> + Sync,
) -> PyResult<T> {
    nowcast_ffi::abi::process::check().map_err(raise)?;
    let deadline = deadline(timeout)?;
    loop {
        let slice = Instant::now() + SIGNALS;
        let until = deadline.map_or(slice, |deadline| deadline.min(slice));
        let called = py.detach(|| {
            let called = call(Wait::Until(until));
            stop_at_exit();
            called
        });
        match called {
            Err(failure) if failure.status == Status::TimedOut => {
                py.check_signals()?;
                if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                    return Err(raise(failure));
                }
            }
            done => return done.map_err(raise),
        }
    }
}

/// Channels, worlds and save files of Nowcast.
#[pymodule]
mod _nowcast {
    #[pymodule_export]
    use super::channel::{Channel, Listener, Message, Publisher, Service, advertise, connect, listen};
    #[pymodule_export]
    use super::values::{Codec, read_save};
    #[pymodule_export]
    use super::world::World;
    #[pymodule_export]
    use super::{_exit, Closed, Error, Refused};
}
