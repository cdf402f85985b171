//! Log output that cannot block or crash the program.
//!
//! A disk can be full, and the reader of a pipe can be dead or stuck. A writer that waits for the disk or the reader blocks
//! each thread that logs. A writer that fails makes the logging library panic. [`LogWriter`] neither waits nor fails. Lines
//! pass through a bounded queue to a thread that writes them. Lines that do not fit in the queue or cannot be written are
//! dropped and counted.
//!
//! ```
//! use std::io::Write;
//! use std::time::Duration;
//! use nowcast_server::LogWriter;
//!
//! let logs = LogWriter::spawn(std::io::stderr())?;
//! let mut line = logs.clone();
//! line.write_all(b"a line\n")?; // never waits and never fails
//! logs.flush(Duration::from_millis(200));
//! # Ok::<_, std::io::Error>(())
//! ```

use std::io::{self, ErrorKind, Write};
use std::panic;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use prometheus_client::metrics::counter::Counter;
use tracing::{error, warn};

/// Maximum lines that wait for the writer.
const LINES_MAX: usize = 1_024;

/// Maximum bytes of a line. Longer lines are cut, so the queue has at most 4 MiB.
const LINE_BYTES_MAX: usize = 4_096;

/// Interval between reports of dropped lines.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Interval between attempts to write to a full output that another program made non-blocking.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Interval between checks whether the queue has space for a flush marker.
const FLUSH_INTERVAL: Duration = Duration::from_millis(1);

/// A writer for logs that never blocks and never fails. Clones write to the same output.
///
/// Each call of [`Write::write`] is one line.
#[derive(Clone, Debug)]
pub struct LogWriter {
    queue: SyncSender<Entry>,
    dropped: Counter,
}

#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// A flush marker. It is answered when all earlier lines have been written to the output.
    Flush(SyncSender<()>),
}

impl LogWriter {
    /// Starts the thread that writes to `output`.
    ///
    /// # Errors
    /// Fails if the system cannot create the thread.
    pub fn spawn(output: impl Write + Send + 'static) -> io::Result<Self> {
        let (queue, entries) = sync_channel(LINES_MAX);
        let dropped = Counter::default();
        let writing =
            Writing { output, dropped: dropped.clone(), reported: 0, reported_at: None, is_torn: false };
        thread::Builder::new().name("logs".into()).spawn(move || writing.run(&entries))?;
        Ok(Self { queue, dropped })
    }

    /// Returns the number of lines that were not written, because the queue was full or because the output rejected them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.get()
    }

    /// Waits until all earlier lines have been written to the output. Returns false if that takes longer than
    /// `patience`.
    pub fn flush(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let (done, flushed) = sync_channel(1);
        let mut mark = Entry::Flush(done);
        loop {
            match self.queue.try_send(mark) {
                Ok(()) => break,
                Err(TrySendError::Full(entry)) if Instant::now() < deadline => mark = entry,
                Err(_) => return false,
            }
            thread::sleep(FLUSH_INTERVAL);
        }
        flushed.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok()
    }

    /// Returns the counter of dropped lines, for `/metrics`.
    pub(crate) fn counter(&self) -> Counter {
        self.dropped.clone()
    }
}

impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut kept = line[..line.len().min(LINE_BYTES_MAX)].to_vec();
        if kept.len() < line.len() {
            kept[LINE_BYTES_MAX - 1] = b'\n';
        }
        if self.queue.try_send(Entry::Line(kept)).is_err() {
            self.dropped.inc();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs panics through this writer. The standard hook writes directly to the standard error. If that write blocks, the
/// panicking thread holds its locks for ever.
pub fn log_panics() {
    panic::set_hook(Box::new(|panic| {
        let thread = thread::current();
        let location = panic.location().map(ToString::to_string).unwrap_or_default();
        let cause = panic.payload_as_str().unwrap_or("a panic without words");
        let backtrace = std::backtrace::Backtrace::capture();
        if backtrace.status() == std::backtrace::BacktraceStatus::Captured {
            error!(thread = thread.name(), location, %backtrace, "panicked: {cause}");
        } else {
            error!(thread = thread.name(), location, "panicked: {cause}");
        }
    }));
}

/// The thread that writes.
struct Writing<O> {
    output: O,
    dropped: Counter,
    /// The number of dropped lines in the last report, and the time of that report.
    reported: u64,
    reported_at: Option<Instant>,
    /// Whether the output ends in the middle of a line, because the output rejected the rest of the line.
    is_torn: bool,
}

impl<O: Write> Writing<O> {
    fn run(mut self, entries: &Receiver<Entry>) {
        loop {
            match entries.recv_timeout(REPORT_INTERVAL) {
                Ok(Entry::Line(line)) => self.line(&line),
                // The thread that called `flush` may have stopped waiting.
                Ok(Entry::Flush(done)) => drop(done.try_send(())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn line(&mut self, line: &[u8]) {
        if self.is_torn && self.write(b"\n").is_ok() {
            self.is_torn = false;
        }
        if self.is_torn || self.write(line).is_err() {
            self.dropped.inc();
        } else {
            self.report();
        }
    }

    /// Reports the dropped lines once writing works again. The report is logged in the same way as all lines, so it has the
    /// same form.
    fn report(&mut self) {
        let lines = self.dropped.get();
        let missed = lines - self.reported;
        let is_early = self.reported_at.is_some_and(|reported_at| reported_at.elapsed() < REPORT_INTERVAL);
        if missed > 0 && !is_early {
            self.reported_at = Some(Instant::now());
            self.reported = lines;
            warn!(
                lines = missed,
                "log lines were dropped, because their output was full, broken or not read"
            );
        }
    }

    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.output.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    bytes = &bytes[written..];
                    self.is_torn = !bytes.is_empty();
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(RETRY_INTERVAL),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    /// An output with space for this many bytes. It rejects further bytes until the test makes space.
    #[derive(Clone, Default)]
    struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

    impl Disk {
        fn with_room(bytes: usize) -> Self {
            Self(Arc::new(Mutex::new((Vec::new(), bytes))))
        }

        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().0.clone()).unwrap()
        }
    }

    impl Write for Disk {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut disk = self.0.lock().unwrap();
            let taken = bytes.len().min(disk.1);
            if taken == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            disk.0.extend(&bytes[..taken]);
            disk.1 -= taken;
            Ok(taken)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn a_full_disk_drops_lines_only_until_it_has_room_again() {
        let disk = Disk::with_room(6);
        let mut logs = LogWriter::spawn(disk.clone()).unwrap();
        for line in ["one\n", "two\n", "three\n"] {
            logs.write_all(line.as_bytes()).unwrap();
        }
        assert!(LogWriter::flush(&logs, PATIENCE));
        assert_eq!((disk.text().as_str(), logs.dropped()), ("one\ntw", 2));
        disk.0.lock().unwrap().1 = 1_000;
        logs.write_all(b"four\n").unwrap();
        assert!(LogWriter::flush(&logs, PATIENCE));
        assert_eq!(
            (disk.text().as_str(), logs.dropped()),
            ("one\ntw\nfour\n", 2),
            "no line is joined to another"
        );
    }

    #[test]
    fn a_stuck_reader_blocks_no_logging_thread() {
        struct Stuck(Receiver<()>);
        impl Write for Stuck {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                // An output that blocks until the test ends.
                let _ = self.0.recv();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (_until_the_end, stuck) = sync_channel(1);
        let mut logs = LogWriter::spawn(Stuck(stuck)).unwrap();
        for _ in 0..3 * LINES_MAX {
            logs.write_all(&[b'x'; 2 * LINE_BYTES_MAX]).unwrap();
        }
        let dropped = logs.dropped() as usize;
        assert!((2 * LINES_MAX - 1..=2 * LINES_MAX).contains(&dropped), "{dropped} lines were dropped");
        assert!(!LogWriter::flush(&logs, Duration::from_millis(10)));
    }
}
