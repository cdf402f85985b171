//! The server that is killed. It is the real program in a separate process.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use nowcast_store::{FAIL_POINT_VARIABLE, FailPoint};

use super::CrashError;

/// Maximum start time of a server, on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(60);

/// SIGKILL, which a process can neither handle nor ignore.
const SIGKILL: i32 = 9;

/// A step of the store's writing, and the number of passes of this step after which a server kills itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Aim {
    pub(super) point: FailPoint,
    pub(super) passage: u32,
}

/// A server that runs until it is killed or dropped.
pub(crate) struct Process {
    child: Child,
    /// The time at which the server was started.
    pub(super) begun: Instant,
    /// Time from the start until the server reported its address; `None` if it was killed before.
    pub(super) listening: Option<Duration>,
    /// The server's port on this machine.
    pub(crate) port: u16,
    aim: Option<Aim>,
    resumptions: Receiver<(u64, Instant)>,
}

impl Process {
    /// Starts a server by a command that lacks only the port; 0 lets the system choose one.
    pub(crate) fn start(mut command: Command, port: u16, aim: Option<Aim>) -> Result<Process, CrashError> {
        let begun = Instant::now();
        command
            .args(["--host", "127.0.0.1", "--log-format", "json", "--port"])
            .arg(port.to_string())
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env_remove(FAIL_POINT_VARIABLE);
        if let Some(Aim { point, passage }) = aim {
            command.env(FAIL_POINT_VARIABLE, format!("{}:{passage}", point.name()));
        }
        let mut child =
            command.spawn().map_err(|cause| CrashError::Server(format!("it does not start: {cause}")))?;
        let (port_found, port_of_it) = channel();
        let (tick_found, resumptions) = channel();
        let stdout = child.stdout.take().expect("the standard output is piped");
        std::thread::spawn(move || say(stdout, port_in, &port_found));
        let stderr = child.stderr.take().expect("the standard error is piped");
        std::thread::spawn(move || say(stderr, tick_in, &tick_found));
        let mut process = Process { child, begun, listening: None, port, aim, resumptions };
        match port_of_it.recv_timeout(PATIENCE) {
            Ok((port, at)) => {
                process.port = port;
                process.listening = Some(at.saturating_duration_since(begun));
            }
            Err(RecvTimeoutError::Disconnected) if aim.is_some() => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(CrashError::Server("it ended before it listened".to_owned()));
            }
            Err(RecvTimeoutError::Timeout) => {
                let seconds = PATIENCE.as_secs();
                return Err(CrashError::Server(format!("it does not listen after {seconds} s")));
            }
        }
        Ok(process)
    }

    /// Returns the process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Returns the tick at which the server's world resumed, and the time of that message. Returns `None` if there was no such
    /// message within this time, or before the server's end.
    pub(super) fn resumed_at(&self, within: Duration) -> Option<(u64, Instant)> {
        self.resumptions.recv_timeout(within).ok()
    }

    /// Whether the server killed itself at its fail point. Returns an error if it ended in another way.
    pub(super) fn has_ended(&mut self) -> Result<bool, CrashError> {
        let status = self.child.try_wait().map_err(CrashError::Io)?;
        status.map_or(Ok(false), |status| self.judge(status).map(|()| true))
    }

    fn judge(&self, status: ExitStatus) -> Result<(), CrashError> {
        match self.aim {
            Some(_) if status.signal() == Some(SIGKILL) => Ok(()),
            _ => Err(CrashError::Server(format!("it ended by itself: {status}"))),
        }
    }

    /// Kills the server with SIGKILL. Returns the time of the kill.
    pub(crate) fn kill(&mut self) -> Result<Instant, CrashError> {
        if self.has_ended()? {
            return Ok(Instant::now());
        }
        let killed = Instant::now();
        self.child.kill().map_err(CrashError::Io)?;
        self.child.wait().map_err(CrashError::Io)?;
        Ok(killed)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A process that was killed already cannot be killed again. Waiting for it removes the zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines until the end of the output, so that the process never blocks on its output. Sends the results of `find`.
fn say<T>(output: impl Read, find: fn(&str) -> Option<T>, told: &Sender<(T, Instant)>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(found) = find(&line) {
            // The receiver is dropped when the process should be killed.
            let _ = told.send((found, Instant::now()));
        }
    }
}

/// Returns the port in "Nowcast is at http://127.0.0.1:7777".
fn port_in(line: &str) -> Option<u16> {
    line.strip_prefix("Nowcast is at ")?.trim().rsplit_once(':')?.1.parse().ok()
}

/// Returns the tick in the log line that reports that a world resumed.
fn tick_in(line: &str) -> Option<u64> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    (line.get("message")?.as_str()? == "the stored world continues").then(|| line.get("tick")?.as_u64())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_server_is_found_in_its_output() {
        assert_eq!(port_in("Nowcast is at http://localhost:7777"), Some(7777));
        assert_eq!(port_in("Open it in two browser tabs: both are in the same world."), None);
        let line = r#"{"level":"INFO","message":"the stored world continues","room":"yard","tick":90}"#;
        assert_eq!(tick_in(line), Some(90));
        assert_eq!(tick_in(r#"{"message":"worlds are kept","tick":90}"#), None);
        assert_eq!(tick_in("no JSON"), None);
    }
}
