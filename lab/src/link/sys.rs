//! Three requests to the kernel for which no library has a safe function.
#![allow(unsafe_code)]

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::libc;

/// Brings `lo` up in the calling thread's network namespace. In a new namespace it is down, and programs expect it to be up.
pub(super) fn bring_loopback_up() -> io::Result<()> {
    // Any socket of the namespace suffices for the request.
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    let mut name = [0; libc::IFNAMSIZ];
    for (slot, byte) in name.iter_mut().zip(b"lo") {
        *slot = libc::c_char::try_from(*byte).expect("ASCII");
    }
    let flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).expect("two small flags");
    let request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    // SAFETY: SIOCSIFFLAGS reads one `ifreq`, whose name is null-terminated and whose flags are set; both live here.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Makes the kernel kill the program when the thread that started it ends, so that no program outlives the link.
pub fn kill_with_starter(command: &mut Command) -> &mut Command {
    let request = || Ok(nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL)?);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed; `prctl` is one system call.
    unsafe { command.pre_exec(request) }
}

/// Requests real-time priority for this thread, so that other programs on a shared machine do not change the figures. Returns
/// whether it was granted. Lateness is measured even if the priority was not granted.
pub fn run_before_others(priority: i32) -> bool {
    let wanted = libc::sched_param { sched_priority: priority };
    // SAFETY: the call reads one `sched_param`, which lives here; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_RR, &raw const wanted) == 0 }
}
