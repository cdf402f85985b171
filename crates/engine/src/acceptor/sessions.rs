//! The open sessions by their ids, and the resumptions that other threads ask for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use bytes::Bytes;
use nowcast_session::packet::Hello;

use crate::carrier::Carrier;

/// Maximum number of resumptions that wait for a session. A peer resumes its session with one carrier at a time.
const WAITING_MAX: usize = 64;

/// Sessions that can be resumed. Their permits limit their number.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<[u8; 8], Arc<Resumptions>>>,
}

/// A carrier on which a session continues, and its first packet.
pub(super) struct Resumption {
    pub(super) carrier: Box<dyn Carrier>,
    pub(super) hello: Hello,
    pub(super) packet: Bytes,
}

/// The resumptions of one session, which the session's job executes.
#[derive(Default)]
pub(super) struct Resumptions {
    /// Whether a resumption may wait.
    has_waiting: AtomicBool,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    waiting: Vec<Resumption>,
    /// Wakes the session's job.
    job: Option<Waker>,
    /// Whether the session is over.
    is_closed: bool,
}

impl Sessions {
    /// Adds a session. Returns its resumptions.
    pub(super) fn insert(&self, id: [u8; 8]) -> Arc<Resumptions> {
        let resumptions = Arc::<Resumptions>::default();
        self.lock().insert(id, Arc::clone(&resumptions));
        resumptions
    }

    /// Resumes a session. Returns the resumption if there is no such session, or if too many wait for it.
    pub(super) fn resume(&self, id: &[u8; 8], resumption: Resumption) -> Result<(), Box<Resumption>> {
        let session = self.lock().get(id).cloned();
        match session {
            Some(session) => session.add(resumption),
            None => Err(Box::new(resumption)),
        }
    }

    pub(super) fn remove(&self, id: &[u8; 8]) {
        self.lock().remove(id);
    }

    /// Gives the jobs of all sessions a turn.
    pub(super) fn wake_all(&self) {
        self.lock().values().for_each(|session| session.lock().wake());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 8], Arc<Resumptions>>> {
        self.by_id.lock().expect("no thread panics while holding the lock")
    }
}

impl Resumptions {
    fn add(&self, resumption: Resumption) -> Result<(), Box<Resumption>> {
        let mut shared = self.lock();
        if shared.is_closed || shared.waiting.len() == WAITING_MAX {
            return Err(Box::new(resumption));
        }
        shared.waiting.push(resumption);
        self.has_waiting.store(true, Ordering::Release);
        shared.wake();
        Ok(())
    }

    /// Sets the job that has a turn when a resumption waits.
    pub(super) fn set_job(&self, job: &Waker) {
        self.lock().job = Some(job.clone());
    }

    /// Takes the waiting resumptions, in order.
    pub(super) fn take(&self) -> Vec<Resumption> {
        match self.has_waiting.swap(false, Ordering::Acquire) {
            true => std::mem::take(&mut self.lock().waiting),
            false => Vec::new(),
        }
    }

    /// Accepts no more resumptions. Returns those that wait.
    pub(super) fn close(&self) -> Vec<Resumption> {
        let mut shared = self.lock();
        (shared.is_closed, shared.job) = (true, None);
        std::mem::take(&mut shared.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().expect("no thread panics while holding the lock")
    }
}

impl Shared {
    fn wake(&self) {
        self.job.iter().for_each(Waker::wake_by_ref);
    }
}
