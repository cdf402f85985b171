//! Channels in threads without an async runtime, over any carrier.
//!
//! [`wait`] runs any of this crate's futures in a thread, which sleeps while the future waits. Calls that never wait
//! (`try_state`, `try_receive`, `close`, …) need no such help. One helper thread of the process connects, accepts, and runs all
//! links over a network. Messages between programs on one machine do not pass through it.
//!
//! ```
//! use nowcast::MessageKind;
//! use nowcast::blocking::{self, wait};
//! use std::time::Duration;
//!
//! # let name = format!("doc-blocking-{}", std::process::id());
//! let mut service = blocking::advertise(&name)?;
//! let doubler = std::thread::spawn(move || {
//!     let channel = wait(nowcast::connect(&name)).expect("the name is advertised");
//!     let numbers = channel.lane(0).typed::<u32>();
//!     while let Ok(message) = blocking::receive(&channel, None) {
//!         if let MessageKind::Command(id) = message.kind {
//!             wait(numbers.reply(id, &(2 * message.decode::<u32>()?)))?;
//!         }
//!     }
//!     Ok::<_, nowcast::Error>(())
//! });
//! let channel = wait(service.accept())?;
//! let numbers = channel.lane(0).typed::<u32>();
//! let answer: u32 = wait(numbers.call(&21, Duration::from_secs(5)))?;
//! assert_eq!(answer, 42);
//! drop((numbers, channel)); // closes it, which ends the other side's loop
//! doubler.join().unwrap()?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

use crate::channel::{Channel, Error, Message, Received};
use crate::helper::helper;
use crate::listener::Service;
use crate::local::OpenError;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

thread_local! {
    static WAKER: Waker = Waker::from(Arc::new(Unpark(std::thread::current())));
}

/// Runs a future in this thread, and returns its output. Tasks that the future starts run in the helper thread.
///
/// # Panics
/// If the system cannot start the helper thread, and like the future.
pub fn wait<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Some(output) = wait_until(None, future.as_mut()) {
            return output;
        }
    }
}

/// Like [`wait`], but returns `None` at the deadline. The future is then dropped, as if an async task were cancelled: a receive or
/// an accept loses nothing.
///
/// # Panics
/// Like [`wait`].
pub fn wait_until<F: Future>(deadline: Option<Instant>, future: F) -> Option<F::Output> {
    let _entered = helper().expect("the system starts the helper thread").enter();
    let mut future = pin!(future);
    WAKER.with(|waker| {
        loop {
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(waker)) {
                return Some(output);
            }
            match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => std::thread::park(),
                Some(left) if left.is_zero() => return None,
                Some(left) => std::thread::park_timeout(left),
            }
        }
    })
}

/// Receives the next message. In shared memory the peer wakes this thread itself, which is faster than
/// [`wait`] with [`Channel::receive`].
///
/// # Errors
/// Like [`Channel::receive`], and [`Error::TimedOut`] at the deadline.
pub fn receive(channel: &Channel, deadline: Option<Instant>) -> Result<Message, Error> {
    let mut bytes = Vec::new();
    let received = receive_into(channel, &mut bytes, deadline)?;
    Ok(channel.message(received, bytes))
}

/// Like [`receive`], into a buffer, whose content is replaced. No memory is allocated if the buffer is large enough.
///
/// # Errors
/// Like [`receive`].
pub fn receive_into(
    channel: &Channel,
    bytes: &mut Vec<u8>,
    deadline: Option<Instant>,
) -> Result<Received, Error> {
    if let Some(received) = channel.link().receive_asleep(bytes, deadline) {
        return received;
    }
    wait_until(deadline, channel.receive_into(bytes)).unwrap_or(Err(Error::TimedOut))
}

/// Advertises a name to the programs of this user on this machine, without a network port. The helper thread accepts them.
///
/// # Errors
/// [`NameError::Taken`](crate::local::NameError::Taken) if a running process has the name.
pub fn advertise(name: &str) -> Result<Service, OpenError> {
    let _entered = helper()?.enter();
    Service::local(name)
}
