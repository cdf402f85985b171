//! Hosts. Each is a network namespace of this machine, with its own kernel network stack and one TUN device.
//!
//! A namespace exists while a descriptor or a thread refers to it. So nothing remains, however the process ends. A thread that
//! enters a namespace stays there. Its sockets and the programs that it starts belong to the namespace.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd as _, OwnedFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use tun_rs::{DeviceBuilder, SyncDevice};

use super::sys;

/// Maximum number of hosts on one link. Their addresses end in 1 to 250.
pub const HOSTS_MAX: usize = 250;

/// Maximum transmission unit of a TUN device. It equals the MTU of Ethernet, and therefore of most paths.
pub const MTU: u16 = 1500;

/// One host on the emulated link.
#[derive(Debug)]
pub struct Host {
    /// The number of the host on the link, counted from 1.
    pub number: u8,
    namespace: OwnedFd,
}

/// The reason why a host could not be created.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The kernel does not allow this process to create namespaces.
    #[error(
        "cannot make a network namespace ({0}): run as root, or allow unprivileged user namespaces \
         (`sysctl kernel.unprivileged_userns_clone=1`); without either, `--simulated` forms of the instruments work"
    )]
    Namespace(#[source] io::Error),
    /// The namespace has no usable TUN device.
    #[error(
        "cannot open a TUN device ({0}): load the module (`modprobe tun`) and let this user open /dev/net/tun; without it, \
         `--simulated` forms of the instruments work"
    )]
    Tun(#[source] io::Error),
    /// The number of hosts is less than two, or more than the link's address range contains.
    #[error("a link joins 2 to {HOSTS_MAX} hosts, not {0}")]
    Count(usize),
}

impl Host {
    /// Returns the address of host `number`, which is the same on every emulated link.
    pub fn address_of(number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, 0, number)
    }

    /// Returns the address of this host.
    pub fn address(&self) -> Ipv4Addr {
        Self::address_of(self.number)
    }

    /// Creates a host, and the device through which the relay exchanges packets with it.
    pub(super) fn new(number: u8) -> Result<(Self, SyncDevice), HostError> {
        // A thread that creates a namespace stays in it. Therefore a temporary thread creates it.
        thread::scope(|scope| {
            scope.spawn(|| Self::new_in_this_thread(number)).join().expect("no panic inside")
        })
    }

    fn new_in_this_thread(number: u8) -> Result<(Self, SyncDevice), HostError> {
        enter_new_network()?;
        let device = DeviceBuilder::new()
            .name("link0")
            .ipv4(Self::address_of(number), 24, None)
            .mtu(MTU)
            .build_sync()
            .map_err(HostError::Tun)?;
        let namespace = File::open("/proc/thread-self/ns/net").map_err(HostError::Namespace)?;
        Ok((Self { number, namespace: namespace.into() }, device))
    }

    /// Moves the calling thread to this host for the rest of its life.
    ///
    /// # Errors
    /// The errors of `setns(2)`.
    pub fn enter(&self) -> io::Result<()> {
        Ok(setns(self.namespace.as_fd(), CloneFlags::CLONE_NEWNET)?)
    }

    /// Returns a second handle of this host, for another thread.
    ///
    /// # Errors
    /// The errors of `dup(2)`.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { number: self.number, namespace: self.namespace.try_clone()? })
    }

    /// Runs `work` on this host in a separate thread, and waits for the result.
    ///
    /// # Errors
    /// The errors of [`Host::enter`].
    ///
    /// # Panics
    /// If `work` panics.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let thread = scope.spawn(|| self.enter().map(|()| work()));
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// Moves the calling thread permanently into a new network that has only a loopback device. There, the kernel's counters include
/// only this thread and the programs that it starts.
///
/// # Errors
/// [`HostError::Namespace`] if the system does not allow it.
pub fn enter_new_network() -> Result<(), HostError> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| HostError::Namespace(errno.into()))?;
    sys::bring_loopback_up().map_err(HostError::Namespace)
}

/// Gives an unprivileged process a user namespace in which it may create hosts. Must be called before any thread starts. Does
/// nothing for root.
///
/// # Errors
/// [`HostError::Namespace`] if the system does not allow it.
pub fn become_able() -> Result<(), HostError> {
    let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
    if uid.is_root() {
        return Ok(());
    }
    let failed = |error: io::Error| HostError::Namespace(error);
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| failed(errno.into()))?;
    std::fs::write("/proc/self/setgroups", "deny").map_err(failed)?;
    std::fs::write("/proc/self/uid_map", format!("0 {uid} 1")).map_err(failed)?;
    std::fs::write("/proc/self/gid_map", format!("0 {gid} 1")).map_err(failed)
}
