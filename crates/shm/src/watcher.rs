//! One thread of the process watches all peers. It detects their deaths, and their wake-ups for async tasks.
//!
//! Blocking and polling callers would not need this thread. It exists so that a death is known without a system call by the
//! caller.

use crate::OpenError;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::Timespec;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

/// Maximum time after which a waiting end detects a missed wake-up.
///
/// Normally the kernel reports a death at once, and no wake-up is lost. This bound holds even if another program has overwritten
/// the words that announce sleepers.
pub const DETECTION_MAX: Duration = Duration::from_millis(100);

/// A connection to a peer that the watcher watches.
pub(crate) trait Watched: Send + Sync + 'static {
    /// The socket on which wake-ups arrive. It breaks when the peer closes it.
    fn socket(&self) -> BorrowedFd<'_>;

    /// A handle that becomes readable once the peer's process has ended, if the kernel provides one.
    fn process(&self) -> Option<BorrowedFd<'_>>;

    /// Reads the wake-ups from the socket. Returns whether the peer is still there.
    fn read_wake_ups(&self) -> bool;

    /// Wakes the waiting tasks, if there are any.
    fn wake_tasks(&self);

    /// Marks the peer as gone at both ends, and wakes all waiters.
    fn lost(&self);
}

struct Watcher {
    epoll: OwnedFd,
    /// The links, by their addresses. The address of a link is unique while the link exists.
    links: Mutex<HashMap<usize, Weak<dyn Watched>>>,
}

static WATCHER: OnceLock<Result<Watcher, rustix::io::Errno>> = OnceLock::new();

/// Watches a link until it is dropped.
pub(crate) fn watch(link: &Arc<impl Watched>) -> Result<(), OpenError> {
    let watcher = watcher()?;
    let id = address(link.as_ref());
    let link: Arc<dyn Watched> = link.clone();
    watcher.links().insert(id, Arc::downgrade(&link));
    let data = || EventData::new_u64(id as u64);
    epoll::add(&watcher.epoll, link.socket(), data(), EventFlags::IN | EventFlags::RDHUP)?;
    if let Some(process) = link.process() {
        epoll::add(&watcher.epoll, process, data(), EventFlags::IN)?;
    }
    Ok(())
}

/// Stops watching a link that is being dropped.
pub(crate) fn forget(link: &impl Watched) {
    if let Some(Ok(watcher)) = WATCHER.get() {
        watcher.links().remove(&address(link));
        watcher.unregister(link);
    }
}

fn watcher() -> Result<&'static Watcher, OpenError> {
    let mut fresh = false;
    let watcher = WATCHER.get_or_init(|| {
        fresh = true;
        Ok(Watcher { epoll: epoll::create(CreateFlags::CLOEXEC)?, links: Mutex::default() })
    });
    let watcher = watcher.as_ref().map_err(|&errno| OpenError::from(errno))?;
    if fresh {
        std::thread::Builder::new().name("nowcast-watcher".to_owned()).spawn(|| watcher.run())?;
    }
    Ok(watcher)
}

impl Watcher {
    fn run(&self) {
        let mut events = Vec::with_capacity(64);
        let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(DETECTION_MAX.subsec_nanos()) };
        loop {
            events.clear();
            // The only error that is possible here is an interruption by a signal.
            let result = epoll::wait(&self.epoll, spare_capacity(&mut events), Some(&patience));
            if result == Ok(0) {
                // After a while without events, the waiting tasks poll, because a wake-up may have been lost.
                self.existing_links().iter().for_each(|link| link.wake_tasks());
            }
            for event in &events {
                let data = event.data;
                let link = self.links().get(&(data.u64() as usize)).and_then(Weak::upgrade);
                if let Some(link) = link {
                    self.handle_event(link.as_ref());
                }
            }
        }
    }

    fn handle_event(&self, link: &dyn Watched) {
        let ended = link.process().is_some_and(has_ended);
        if link.read_wake_ups() && !ended {
            link.wake_tasks();
        } else {
            // A broken socket stays readable for ever, so it must not be polled again.
            self.unregister(link);
            link.lost();
        }
    }

    fn unregister(&self, link: &dyn Watched) {
        // An error means that the socket is not registered, which is the desired state.
        let _ = epoll::delete(&self.epoll, link.socket());
        if let Some(process) = link.process() {
            let _ = epoll::delete(&self.epoll, process);
        }
    }

    fn existing_links(&self) -> Vec<Arc<dyn Watched>> {
        self.links().values().filter_map(Weak::upgrade).collect()
    }

    fn links(&self) -> MutexGuard<'_, HashMap<usize, Weak<dyn Watched>>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_ended(process: BorrowedFd<'_>) -> bool {
    let mut poll = [rustix::event::PollFd::from_borrowed_fd(process, rustix::event::PollFlags::IN)];
    rustix::event::poll(&mut poll, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

fn address(link: &dyn Watched) -> usize {
    std::ptr::from_ref(link).addr()
}
