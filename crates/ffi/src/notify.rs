//! A descriptor that is readable while messages wait.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};

use crate::failure::{Failure, Status};

/// A pipe with at most one byte in it: one while the descriptor is readable. Reads and writes are balanced by `is_readable`, so
/// neither ever waits for longer than the other side's system call.
pub(crate) struct Notify {
    signal: Arc<Signal>,
    reader: PipeReader,
    waker: Waker,
}

struct Signal {
    writer: PipeWriter,
    is_readable: AtomicBool,
}

impl Signal {
    fn set(&self) {
        if !self.is_readable.swap(true, Ordering::AcqRel) {
            // The reader lives as long as the channel. Without a reader nobody waits.
            let _ = (&self.writer).write(&[1]);
        }
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.set();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.set();
    }
}

impl Notify {
    /// Makes a descriptor that is readable at once, because messages may wait already.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (reader, writer) = std::io::pipe()
            .map_err(|error| Failure::new(Status::LimitReached, format!("no descriptor: {error}")))?;
        let signal = Arc::new(Signal { writer, is_readable: AtomicBool::new(false) });
        signal.set();
        let waker = Waker::from(Arc::clone(&signal));
        Ok(Self { signal, reader, waker })
    }

    /// Makes the descriptor readable when the link wakes this waker.
    pub(crate) fn waker(&self) -> &Waker {
        &self.waker
    }

    /// Makes the descriptor unreadable.
    pub(crate) fn clear(&self) {
        if self.signal.is_readable.swap(false, Ordering::AcqRel) {
            let _ = (&self.reader).read(&mut [0]);
        }
    }

    /// Makes the descriptor readable.
    pub(crate) fn set(&self) {
        self.signal.set();
    }

    #[cfg(unix)]
    pub(crate) fn descriptor(&self) -> Result<i32, Failure> {
        use std::os::fd::AsRawFd as _;
        Ok(self.reader.as_raw_fd())
    }

    #[cfg(not(unix))]
    pub(crate) fn descriptor(&self) -> Result<i32, Failure> {
        Err(Failure::new(Status::Unsupported, "this system cannot poll a pipe: receive in a thread"))
    }
}
