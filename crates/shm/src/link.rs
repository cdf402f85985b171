//! The connection of two processes in addition to memory: a socket that wakes the peer, and that breaks when one of them dies.

use crate::OpenError;
use crate::gate::{self, Waiting};
use crate::layout::{READER_GATE, WRITER_GATE};
use crate::map::Map;
use crate::watcher::{self, DETECTION_MAX, Watched};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// One process's side of the connection.
#[derive(Debug)]
pub(crate) struct Link {
    socket: UnixStream,
    /// A handle that becomes readable once the peer has ended, even if a child of the peer still has a copy of the socket.
    process: Option<OwnedFd>,
    pub(crate) peer_pid: u32,
    /// Maximum time that a sleeping end waits for a wake-up before it polls.
    pub(crate) patience: Duration,
    outgoing: Arc<Map>,
    incoming: Arc<Map>,
    dead: AtomicBool,
    /// The tasks that wait to put and to get.
    wakers: Mutex<[Option<Waker>; 2]>,
}

/// The patience if the kernel has no barrier across processes. In that case a wake-up may, very rarely, be lost.
const WITHOUT_BARRIERS: Duration = Duration::from_millis(1);

/// The end that waits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum End {
    Sender = 0,
    Receiver = 1,
}

impl Link {
    /// Connects this process with the peer at the other end of the socket, and begins to watch the peer. `barriers` states
    /// whether both processes take part in barriers across processes.
    pub(crate) fn new(
        socket: UnixStream,
        peer: Option<Pid>,
        barriers: bool,
        outgoing: Arc<Map>,
        incoming: Arc<Map>,
    ) -> Result<Arc<Link>, OpenError> {
        socket.set_nonblocking(true)?;
        // If the kernel provides no handle of the process, only the socket reports its death.
        let process = peer.and_then(|pid| rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok());
        let link = Arc::new(Link {
            socket,
            process,
            peer_pid: peer.map_or(0, |pid| pid.as_raw_nonzero().get().unsigned_abs()),
            patience: if barriers { DETECTION_MAX } else { WITHOUT_BARRIERS },
            outgoing,
            incoming,
            dead: AtomicBool::new(false),
            wakers: Mutex::new([None, None]),
        });
        watcher::watch(&link)?;
        Ok(link)
    }

    /// Whether the peer's process is known to have ended.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// Wakes the peer through its gate, or by a byte on the socket, as `waiting` requires.
    #[inline]
    pub(crate) fn wake(&self, map: &Map, index: usize, waiting: Waiting) {
        match waiting {
            Waiting::Awake => {}
            Waiting::Asleep => map.wake(index),
            Waiting::Listening => {
                // A full socket means that the peer already has unread wake-ups. A broken socket means that the peer is dead.
                let _ = rustix::net::send(&self.socket, b"!", SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
            }
        }
    }

    /// Registers a task to be woken when the peer sends a wake-up or dies.
    pub(crate) fn listen(&self, end: End, waker: &Waker) {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut wakers[end as usize] {
            Some(waiting) => waiting.clone_from(waker),
            none => *none = Some(waker.clone()),
        }
    }
}

impl Watched for Link {
    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn process(&self) -> Option<BorrowedFd<'_>> {
        self.process.as_ref().map(OwnedFd::as_fd)
    }

    fn wake_tasks(&self) {
        let wakers = std::mem::take(&mut *self.wakers.lock().unwrap_or_else(PoisonError::into_inner));
        wakers.into_iter().flatten().for_each(Waker::wake);
    }

    fn read_wake_ups(&self) -> bool {
        let mut wake_ups = [0; 64];
        loop {
            match rustix::net::recv(&self.socket, &mut wake_ups[..], RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return false,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
    }

    fn lost(&self) {
        self.dead.store(true, Ordering::Release);
        for (map, index) in [(&self.incoming, READER_GATE), (&self.outgoing, WRITER_GATE)] {
            if gate::open(map, index) == Waiting::Asleep {
                map.wake(index);
            }
        }
        self.wake_tasks();
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        watcher::forget(self);
    }
}
