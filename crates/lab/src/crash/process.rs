//! The server that is killed: the real program in a process of its own.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use super::CrashError;

/// How long a server may take to start, on a machine that does a lot besides.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs until it is killed or dropped.
pub(super) struct Process {
    child: Child,
    /// When it was started.
    pub(super) begun: Instant,
    /// From its start until it said where it is.
    pub(super) listening: Duration,
    /// Where it listens, on this machine.
    pub(super) port: u16,
    /// The tick at which it says that a world goes on.
    goes_on: Receiver<u64>,
}

impl Process {
    /// Starts a server of one world on a port; 0 lets the system choose.
    pub(super) fn start(program: &Path, world: &Path, data: &Path, port: u16) -> Result<Process, CrashError> {
        let begun = Instant::now();
        let mut child = Command::new(program)
            .arg("serve")
            .arg(world)
            .arg("--data")
            .arg(data)
            .args(["--host", "127.0.0.1", "--log-format", "json", "--network-hz", "60", "--port"])
            .arg(port.to_string())
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|cause| CrashError::Server(format!("it does not start: {cause}")))?;
        let (port_found, port_of_it) = channel();
        let (tick_found, goes_on) = channel();
        let stdout = child.stdout.take().expect("it is piped");
        std::thread::spawn(move || say(stdout, port_in, &port_found));
        let stderr = child.stderr.take().expect("it is piped");
        std::thread::spawn(move || say(stderr, tick_in, &tick_found));
        let mut process = Process { child, begun, listening: Duration::ZERO, port, goes_on };
        process.port = port_of_it.recv_timeout(PATIENCE).map_err(|error| {
            CrashError::Server(match error {
                RecvTimeoutError::Timeout => format!("it does not listen after {} s", PATIENCE.as_secs()),
                RecvTimeoutError::Disconnected => "it ended before it listened".to_owned(),
            })
        })?;
        process.listening = begun.elapsed();
        Ok(process)
    }

    /// The tick at which its world went on; none within this time if none did.
    pub(super) fn went_on_at(&self, within: Duration) -> Option<u64> {
        self.goes_on.recv_timeout(within).ok()
    }

    /// SIGKILL, and returns when that was.
    pub(super) fn kill(mut self) -> Result<Instant, CrashError> {
        let ended = self.child.try_wait().map_err(CrashError::Io)?;
        if let Some(status) = ended {
            return Err(CrashError::Server(format!("it ended by itself: {status}")));
        }
        let killed = Instant::now();
        self.child.kill().map_err(CrashError::Io)?;
        self.child.wait().map_err(CrashError::Io)?;
        Ok(killed)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that was killed already cannot be killed again, and nobody else waits for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines to the end, so that the process never waits for a reader, and tells what is found in them.
fn say<T>(output: impl Read, find: fn(&str) -> Option<T>, told: &Sender<T>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if let Some(found) = find(&line) {
            // Nobody listens any more once the process is to be killed.
            let _ = told.send(found);
        }
    }
}

/// The port in "Nowcast is at http://127.0.0.1:7777".
fn port_in(line: &str) -> Option<u16> {
    line.strip_prefix("Nowcast is at ")?.trim().rsplit_once(':')?.1.parse().ok()
}

/// The tick in the line of the log that says that a world goes on.
fn tick_in(line: &str) -> Option<u64> {
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    (line.get("message")?.as_str()? == "the world goes on where it was")
        .then(|| line.get("tick")?.as_u64())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_is_found_in_its_lines() {
        assert_eq!(port_in("Nowcast is at http://localhost:7777"), Some(7777));
        assert_eq!(port_in("Open it in two browser tabs: both are in the same world."), None);
        let line = r#"{"level":"INFO","message":"the world goes on where it was","room":"yard","tick":90}"#;
        assert_eq!(tick_in(line), Some(90));
        assert_eq!(tick_in(r#"{"message":"worlds are kept","tick":90}"#), None);
        assert_eq!(tick_in("no JSON"), None);
    }
}
