//! A program on a host that ends with its owner.

use std::io;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Host, sys};

const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// A running program. Dropping this value ends the program.
#[derive(Debug)]
pub struct HostProcess {
    stop: Arc<AtomicBool>,
    /// A thread on the host that stays until the program has ended, because the kernel kills the program when this thread ends.
    keeper: Option<JoinHandle<io::Result<ExitStatus>>>,
    output: Option<ChildStdout>,
}

impl HostProcess {
    /// Starts a program on a host. The program has no standard input. Its standard output is [`HostProcess::output`].
    ///
    /// # Errors
    /// If the host cannot be entered, or the program cannot be started.
    pub fn start(host: &Host, mut command: Command) -> io::Result<Self> {
        let host = host.try_clone()?;
        let stop = Arc::new(AtomicBool::new(false));
        let (started, outcome) = mpsc::sync_channel(1);
        let should_stop = Arc::clone(&stop);
        let keeper = thread::Builder::new().name("keeper".into()).spawn(move || {
            let mut start = || {
                host.enter()?;
                command.stdin(Stdio::null()).stdout(Stdio::piped());
                sys::kill_with_starter(&mut command).spawn()
            };
            let mut child = match start() {
                Ok(child) => child,
                Err(error) => {
                    let _ = started.send(Err(error));
                    return Err(io::ErrorKind::NotFound.into());
                }
            };
            let _ = started.send(Ok(child.stdout.take()));
            loop {
                if let Some(status) = child.try_wait()? {
                    return Ok(status);
                }
                if should_stop.load(Ordering::Relaxed) {
                    child.kill()?;
                    return child.wait();
                }
                thread::sleep(CHECK_INTERVAL);
            }
        })?;
        let output = outcome.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        Ok(Self { stop, keeper: Some(keeper), output })
    }

    /// Takes the output of the program. Returns it only once.
    pub fn output(&mut self) -> Option<ChildStdout> {
        self.output.take()
    }

    /// Waits until the program ends.
    ///
    /// # Errors
    /// If the system does not report the exit status.
    pub fn wait(mut self) -> io::Result<ExitStatus> {
        self.keeper.take().map_or(Err(io::ErrorKind::NotFound.into()), |keeper| {
            keeper.join().unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))
        })
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}
