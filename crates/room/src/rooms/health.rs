//! The health of a server's rooms.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The time for which `/healthz` reports a room that could not be opened. The report ends earlier if another room opens.
const FAILURE_REMEMBERED: Duration = Duration::from_secs(60);

/// The state of the rooms, for `/healthz`.
#[derive(Debug, PartialEq, Eq)]
pub enum Health {
    /// Rooms can be opened.
    Good,
    /// The maximum number of rooms is open. Clients can still enter these rooms.
    Full {
        /// The limit.
        rooms_max: usize,
    },
    /// The server shuts down.
    ShuttingDown,
    /// The last attempt to open a room failed, for this reason.
    Failing(String),
}

/// The rooms that could not be opened, and the rooms that were ended because of a slow step.
#[derive(Default)]
pub struct Troubles {
    /// The time and the cause of the last failure to open a room, if no room was opened since.
    failure: Mutex<Option<(Instant, String)>>,
    /// The last room that was ended because a step took too long, and the time of its end.
    ended: Mutex<Option<(Instant, String)>>,
    /// Abandoned threads of rooms that have not ended yet.
    abandoned: AtomicUsize,
}

impl Troubles {
    /// Records that a room was opened and runs.
    pub(crate) fn opened(&self) {
        *self.failure.lock() = None;
    }

    /// Records that a room could not be opened.
    pub(crate) fn failed(&self, cause: &str) {
        *self.failure.lock() = Some((Instant::now(), cause.to_owned()));
    }

    /// Records that a room was ended because a step took too long.
    pub(crate) fn room_stopped(&self, name: &str) {
        *self.ended.lock() = Some((Instant::now(), name.to_owned()));
    }

    pub(super) fn room_abandoned(&self) {
        self.abandoned.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn abandoned_room_ended(&self) {
        self.abandoned.fetch_sub(1, Ordering::AcqRel);
    }

    /// The number of abandoned threads.
    pub(super) fn abandoned(&self) -> usize {
        self.abandoned.load(Ordering::Acquire)
    }

    /// Returns the cause of a recent failure to open a room, if no room was opened since.
    pub(super) fn failure(&self) -> Option<String> {
        let failure = self.failure.lock().clone();
        failure.filter(|(at, _)| at.elapsed() < FAILURE_REMEMBERED).map(|(_, cause)| cause)
    }

    /// Describes, for operators, the rooms that were ended because of a slow step.
    pub fn describe(&self) -> Option<String> {
        match self.abandoned() {
            0 => {}
            count => {
                let mebibytes = (count * super::ROOM_BYTES_MAX) >> 20;
                return Some(format!(
                    "{count} rooms are abandoned, because a step of their worlds cannot be stopped: their threads and up to \
                     {mebibytes} MiB of memory are lost until the steps end or this process is restarted"
                ));
            }
        }
        let ended = self.ended.lock().clone();
        let (_, name) = ended.filter(|(at, _)| at.elapsed() < FAILURE_REMEMBERED)?;
        Some(format!("room {name} was ended: a step of its world took too long"))
    }
}
