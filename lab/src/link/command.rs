//! Runs a user's programs on the hosts of a link. Always cleans up at the end.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{EmulatedLink, Host, sys};

/// Maximum time for a program to end after it was requested to.
const GRACE: Duration = Duration::from_secs(2);
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// The reason why the programs did not finish.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The program does not exist, or may not be started.
    #[error("cannot start `{program}` on host {host}: {cause}")]
    Start {
        /// The program that could not be started.
        program: String,
        /// The host on which it should have started.
        host: u8,
        /// The system's error.
        cause: io::Error,
    },
    /// A program on another host failed before the main one ended.
    #[error("`{program}` on host {host} failed ({status})")]
    Failed {
        /// The program that ended.
        program: String,
        /// The host on which it ran.
        host: u8,
        /// The status with which it ended.
        status: ExitStatus,
    },
    /// The user pressed Ctrl-C, or a signal ended the program.
    #[error("interrupted")]
    Interrupted,
    /// The signals for an interruption could not be watched.
    #[error("cannot watch for Ctrl-C: {0}")]
    Signals(#[source] io::Error),
}

/// Runs `main` on host 1, and each of `others` as a shell line on host 2, 3, …. Ends when `main` ends.
///
/// The programs find the addresses of the hosts in the environment: `NOWCAST_HOST_1=10.77.0.1`, `NOWCAST_HOST_2`, … No program is
/// left running, even after an error.
///
/// # Errors
/// [`CommandError`]. An exit status of `main` other than 0 is not an error.
///
/// # Panics
/// If the link has fewer hosts than there are programs.
pub fn run(link: &EmulatedLink, main: &[String], others: &[String]) -> Result<ExitStatus, CommandError> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
        signal_hook::flag::register(signal as i32, Arc::clone(&interrupted))
            .map_err(CommandError::Signals)?;
    }
    let (stop, helper_failed) = (AtomicBool::new(false), AtomicBool::new(false));
    let should_stop = || stop.load(Ordering::Relaxed);
    thread::scope(|scope| {
        let helpers: Vec<_> = others
            .iter()
            .zip(&link.hosts()[1..])
            .map(|(line, host)| {
                let argv = ["sh".to_owned(), "-c".to_owned(), line.clone()];
                let (should_stop, helper_failed) = (&should_stop, &helper_failed);
                scope.spawn(move || {
                    let outcome = serve(link, host, &argv, should_stop);
                    if outcome.is_err() {
                        helper_failed.store(true, Ordering::Relaxed);
                    }
                    outcome
                })
            })
            .collect();
        let foreground = scope.spawn(|| on_host(link, link.host(1), main, Role::Main, &should_stop));
        while !foreground.is_finished()
            && !interrupted.load(Ordering::Relaxed)
            && !helper_failed.load(Ordering::Relaxed)
        {
            thread::sleep(CHECK_INTERVAL);
        }
        stop.store(true, Ordering::Relaxed);
        let outcome = foreground.join().expect("no panic inside");
        for helper in helpers {
            helper.join().expect("no panic inside")?;
        }
        if interrupted.load(Ordering::Relaxed) { Err(CommandError::Interrupted) } else { outcome }
    })
}

/// Runs a program on another host. A program that fails before it is requested to stop causes an error.
fn serve(
    link: &EmulatedLink,
    host: &Host,
    argv: &[String],
    should_stop: &dyn Fn() -> bool,
) -> Result<(), CommandError> {
    let status = on_host(link, host, argv, Role::Other, should_stop)?;
    if should_stop() || status.success() {
        return Ok(());
    }
    let program = argv.last().cloned().unwrap_or_default();
    Err(CommandError::Failed { program, host: host.number, status })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The program that has the terminal.
    Main,
    /// A program in a separate process group, which is ended as a whole.
    Other,
}

fn on_host(
    link: &EmulatedLink,
    host: &Host,
    argv: &[String],
    role: Role,
    should_stop: &dyn Fn() -> bool,
) -> Result<ExitStatus, CommandError> {
    let failed = |cause| CommandError::Start { program: argv.join(" "), host: host.number, cause };
    host.enter().map_err(failed)?;
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]);
    for other in link.hosts() {
        command.env(format!("NOWCAST_HOST_{}", other.number), other.address().to_string());
    }
    if role == Role::Other {
        command.process_group(0).stdin(Stdio::null());
    }
    // This thread stays until the program has ended. So the program is killed early only if this process ends.
    let mut child = sys::kill_with_starter(&mut command).spawn().map_err(failed)?;
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            if role == Role::Other {
                end_group(&child, Signal::SIGKILL);
            }
            return Ok(status);
        }
        if should_stop() {
            return end(&mut child, role).map_err(failed);
        }
        thread::sleep(CHECK_INTERVAL);
    }
}

/// Requests the program to end, waits, and then kills it.
fn end(child: &mut Child, role: Role) -> io::Result<ExitStatus> {
    signal(child, role, Signal::SIGTERM);
    let deadline = Instant::now() + GRACE;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            if role == Role::Other {
                end_group(child, Signal::SIGKILL);
            }
            return Ok(status);
        }
        thread::sleep(CHECK_INTERVAL);
    }
    signal(child, role, Signal::SIGKILL);
    child.wait()
}

fn signal(child: &Child, role: Role, signal: Signal) {
    match role {
        Role::Other => end_group(child, signal),
        // Our own process group must not be killed. If the child has already ended, it needs no signal.
        Role::Main => drop(nix::sys::signal::kill(pid(child), signal)),
    }
}

/// A group without members is the desired state, so the error for a missing group is ignored.
fn end_group(child: &Child, signal: Signal) {
    let _ = killpg(pid(child), signal);
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("process ids are positive i32"))
}
