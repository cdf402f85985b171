//! The open sessions by their ids, and the calls of other threads for them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use nowcast_session::packet::Hello;

use crate::carrier::Carrier;

/// Maximum number of calls that wait for a session. A peer resumes its session with one carrier at a time.
const CALLS_MAX: usize = 64;

/// Sessions that can be resumed. Their permits limit their number.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<[u8; 8], Arc<Calls>>>,
}

/// A call for a session, which the session's job executes.
pub(super) enum Call {
    Resume(Box<Resumption>),
    /// Ends the session, because the endpoint closes.
    GoAway,
}

/// A carrier on which a session continues, and its first packet.
pub(super) struct Resumption {
    pub(super) carrier: Box<dyn Carrier>,
    pub(super) hello: Hello,
    pub(super) packet: Bytes,
}

/// The calls for one session.
#[derive(Default)]
pub(super) struct Calls {
    job: AtomicWaker,
    has_waiting: AtomicBool,
    /// The waiting calls; `None` after the end of the session.
    waiting: Mutex<Option<Vec<Call>>>,
}

impl Sessions {
    /// Adds a session.
    pub(super) fn insert(&self, id: [u8; 8]) -> Arc<Calls> {
        let calls = Arc::new(Calls { waiting: Mutex::new(Some(Vec::new())), ..Calls::default() });
        self.lock().insert(id, Arc::clone(&calls));
        calls
    }

    /// Calls a session. Returns the call if there is no such session, or if too many calls wait for it.
    pub(super) fn call(&self, id: &[u8; 8], call: Call) -> Result<(), Call> {
        let calls = self.lock().get(id).cloned();
        match calls {
            Some(calls) => calls.add(call),
            None => Err(call),
        }
    }

    /// Removes a session. Returns the calls that it has not executed.
    pub(super) fn remove(&self, id: &[u8; 8]) -> Vec<Call> {
        let calls = self.lock().remove(id);
        calls.and_then(|calls| calls.lock().take()).unwrap_or_default()
    }

    /// Ends all sessions.
    pub(super) fn close_all(&self) {
        let all: Vec<_> = self.lock().values().cloned().collect();
        // A session that has ended in the meantime needs no call.
        all.iter().for_each(|calls| drop(calls.add(Call::GoAway)));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 8], Arc<Calls>>> {
        self.by_id.lock().expect("no thread panics while holding the lock")
    }
}

impl Calls {
    /// Adds a call, and wakes the session's job. Returns the call after the end of the session, or if too many calls wait.
    pub(super) fn add(&self, call: Call) -> Result<(), Call> {
        match &mut *self.lock() {
            Some(waiting) if waiting.len() < CALLS_MAX || matches!(call, Call::GoAway) => waiting.push(call),
            _ => return Err(call),
        }
        self.has_waiting.store(true, Ordering::Release);
        self.job.wake();
        Ok(())
    }

    /// Returns the waiting calls. `job` is woken for later ones.
    pub(super) fn take(&self, job: &Waker) -> Vec<Call> {
        self.job.register(job);
        if !self.has_waiting.swap(false, Ordering::Acquire) {
            return Vec::new();
        }
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Vec<Call>>> {
        self.waiting.lock().expect("no thread panics while holding the lock")
    }
}
