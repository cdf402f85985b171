//! The open sessions by their ids, and the calls of other threads for them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use nowcast_session::packet::Hello;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::carrier::Carrier;

/// Maximum number of calls that wait for a session. A peer resumes its session with one carrier at a time.
const CALLS_MAX: usize = 64;

/// Sessions that can be resumed. Their permits limit their number.
#[derive(Default)]
pub(super) struct Sessions {
    by_id: Mutex<HashMap<[u8; 8], Sender<Call>>>,
}

/// A call for a session, which the session's job executes. `None` only gives the job a turn.
pub(super) type Call = Option<Box<Resumption>>;

/// A carrier on which a session continues, and its first packet.
pub(super) struct Resumption {
    pub(super) carrier: Box<dyn Carrier>,
    pub(super) hello: Hello,
    pub(super) packet: Bytes,
}

impl Sessions {
    /// Adds a session. Returns the calls for it.
    pub(super) fn insert(&self, id: [u8; 8]) -> Receiver<Call> {
        let (sender, calls) = channel(CALLS_MAX);
        self.lock().insert(id, sender);
        calls
    }

    /// Resumes a session. Returns the resumption if there is no such session, or if too many calls wait for it.
    pub(super) fn resume(&self, id: &[u8; 8], resumption: Box<Resumption>) -> Result<(), Call> {
        let session = self.lock().get(id).cloned();
        match session {
            Some(session) => session.try_send(Some(resumption)).map_err(|error| error.into_inner()),
            None => Err(Some(resumption)),
        }
    }

    pub(super) fn remove(&self, id: &[u8; 8]) {
        self.lock().remove(id);
    }

    /// Gives the jobs of all sessions a turn.
    pub(super) fn wake_all(&self) {
        // A session that has ended needs no turn, and one for which many calls wait has a turn anyway.
        self.lock().values().for_each(|session| _ = session.try_send(None));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 8], Sender<Call>>> {
        self.by_id.lock().expect("no thread panics while holding the lock")
    }
}
