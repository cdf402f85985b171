//! Programs of an instrument. They are pinned to a core, controlled by lines, and end with their owner.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::link::kill_with_starter;
use crate::local::Pinned;

/// Maximum length of a line, in bytes.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Maximum number of waiting lines. Further output waits in the pipe.
const LINES_MAX: usize = 256;

/// The reason why a program failed.
#[derive(Debug, thiserror::Error)]
pub enum ProcessError {
    /// The process did not start.
    #[error("{what} does not start: {cause}")]
    Start {
        /// The process.
        what: &'static str,
        /// The system's error.
        cause: io::Error,
    },
    /// The process ended. Its standard error may state the reason.
    #[error("{what} ended too early")]
    Ended {
        /// The process.
        what: &'static str,
    },
    /// The process printed nothing.
    #[error("{what} printed nothing within {seconds} s")]
    Silent {
        /// The process.
        what: &'static str,
        /// The time limit in seconds.
        seconds: u64,
    },
}

/// A program that runs until it is dropped. The thread that starts it must exist as long as the program.
#[derive(Debug)]
pub(super) struct Program {
    what: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Program {
    /// Starts a program on one core, in the network namespace of the calling thread.
    pub(super) fn start(
        what: &'static str,
        mut command: Command,
        core: usize,
    ) -> Result<Program, ProcessError> {
        let failed = |cause| ProcessError::Start { what, cause };
        // A process starts on the core of the thread that starts it.
        let pinned = Pinned::to(core);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = kill_with_starter(&mut command).spawn().map_err(failed)?;
        drop(pinned);
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| failed(io::ErrorKind::BrokenPipe.into()))?;
        let (outcome, lines) = sync_channel(LINES_MAX);
        // This thread ends with the program, because the program's output then closes.
        thread::spawn(move || {
            let mut output = BufReader::new(output);
            let mut line = String::new();
            while (&mut output).take(LINE_BYTES_MAX).read_line(&mut line).is_ok_and(|length| length > 0) {
                if outcome.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        Ok(Program { what, child, input, lines })
    }

    /// Returns the process id.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line for which `find` returns a value, and returns the value. Other lines are skipped.
    pub(super) fn wait_for_line<T>(
        &self,
        patience: Duration,
        mut find: impl FnMut(&str) -> Option<T>,
    ) -> Result<T, ProcessError> {
        let deadline = Instant::now() + patience;
        loop {
            let what = self.what;
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(found) = find(line.trim_end()) {
                        return Ok(found);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(ProcessError::Silent { what, seconds: patience.as_secs() });
                }
                Err(RecvTimeoutError::Disconnected) => return Err(ProcessError::Ended { what }),
            }
        }
    }

    /// Writes a line to the program's standard input.
    pub(super) fn send_line(&mut self, line: &str) -> Result<(), ProcessError> {
        let what = self.what;
        let input = self.input.as_mut().ok_or(ProcessError::Ended { what })?;
        writeln!(input, "{line}").map_err(|_| ProcessError::Ended { what })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // A process that has ended cannot be killed again. Waiting for it removes the zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn lines_are_exchanged_with_a_program() {
        let mut echo = Program::start("the echo", shell("echo begin; exec cat"), 0).unwrap();
        let patience = Duration::from_secs(30);
        assert_eq!(
            echo.wait_for_line(patience, |line| line.strip_prefix("be").map(str::to_owned)).unwrap(),
            "gin"
        );
        echo.send_line("again").unwrap();
        assert_eq!(echo.wait_for_line(patience, |line| (line == "again").then_some(7)).unwrap(), 7);
    }

    #[test]
    fn a_program_that_ends_or_prints_nothing_is_an_error() {
        let ended = Program::start("the liar", shell("echo x"), 0).unwrap();
        let outcome = ended.wait_for_line(Duration::from_secs(30), |_| None::<()>);
        assert!(matches!(outcome, Err(ProcessError::Ended { what: "the liar" })), "{outcome:?}");
        let silent = Program::start("the silent", shell("exec sleep 60"), 0).unwrap();
        let outcome = silent.wait_for_line(Duration::from_millis(10), |_| None::<()>);
        assert!(matches!(outcome, Err(ProcessError::Silent { .. })), "{outcome:?}");
        let missing = Program::start("nothing", Command::new("/nowhere/at/all"), 0);
        assert!(matches!(missing, Err(ProcessError::Start { .. })));
    }
}
