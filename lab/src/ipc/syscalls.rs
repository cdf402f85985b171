//! Counts the system calls of a put. The kernel stops the sender at each call (ptrace), and this module counts the stops.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use nix::sys::ptrace;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

use super::measure::unique_name;
use crate::local::child::{Companion, Orders, Task};
use crate::local::{Carrier, Control, LocalError, Word, two_cores};

/// Number of system calls of the sending thread in each phase, and number of messages sent.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) carrier: Carrier,
    pub(super) sent: [u64; 3],
    pub(super) calls: [u64; 3],
}

/// Counts the calls of our queue. To check the method, also counts the calls of a Unix socket, which makes one call for each
/// message.
pub(super) fn count(quick: bool, wanted: impl Fn(&Carrier) -> bool) -> Vec<Result<Counted, LocalError>> {
    let scale = if quick { 10 } else { 1 };
    let (many, some, few) = (1_000_000 / scale, 20_000 / scale, 200 / scale);
    let all = [
        (Carrier::Updates, [many, some, few]),
        (Carrier::Events, [0, some, few]),
        (Carrier::Unix, [0, some / 10, few]),
    ];
    let wanted = all.into_iter().filter(|(carrier, _)| wanted(carrier));
    wanted.map(|(carrier, counts)| trace(carrier, counts)).collect()
}

fn trace(carrier: Carrier, counts: [u64; 3]) -> Result<Counted, LocalError> {
    let control = Arc::new(Control::create()?);
    let name = unique_name();
    let [first, second] = two_cores();
    let orders = |task, core, address: String| Orders {
        task,
        carrier: carrier.word(),
        address,
        page: control.path().to_string_lossy().into_owned(),
        core,
    };
    let sender = Companion::start(&orders(Task::Send { counts }, first, name.clone()), false)?;
    control.wait(Word::Pong, 1, 10, "the sender to be ready")?;
    let address = match carrier {
        Carrier::Unix => std::env::temp_dir().join(format!("{name}.socket")).to_string_lossy().into_owned(),
        _ => name,
    };
    let reader = Companion::start(&orders(Task::Attend, second, address), false)?;
    control.wait(Word::Ping, 1, 10, "the two to meet")?;
    let calls = follow(Pid::from_raw(sender.id() as i32), &control)
        .map_err(|errno| LocalError::system("the sender could not be followed with ptrace")(errno.into()))?;
    // Both sides read the end from the page. A reader that sleeps in a stream wakes when the sender is dropped.
    drop(sender);
    drop(reader);
    Ok(Counted { carrier, sent: counts, calls })
}

/// Traces the first thread of the sender, which puts the messages. The trace begins before the first message, and ends with the
/// thread.
fn follow(sender: Pid, control: &Control) -> nix::Result<[u64; 3]> {
    ptrace::seize(sender, ptrace::Options::PTRACE_O_TRACESYSGOOD)?;
    ptrace::interrupt(sender)?;
    let mut calls = [0; 3];
    let mut entering = true;
    control.word(Word::Go).store(1, Ordering::Release);
    loop {
        match waitpid(sender, None)? {
            WaitStatus::PtraceSyscall(_) => {
                let phase = control.word(Word::Phase).load(Ordering::Acquire) as usize;
                if entering && (1..=3).contains(&phase) {
                    calls[phase - 1] += 1;
                }
                entering = !entering;
            }
            WaitStatus::Exited(..) | WaitStatus::Signaled(..) => return Ok(calls),
            _ => {}
        }
        if control.word(Word::Stop).load(Ordering::Acquire) > 0 {
            ptrace::detach(sender, None)?;
            return Ok(calls);
        }
        ptrace::syscall(sender, None)?;
    }
}
