//! Inspection and editing of a room from outside: the half of the studio that runs on the room's thread.
//!
//! A request waits in the room's [`StudioQueue`] until the room's thread runs it between two steps. The thread spends at most
//! [`RUN_TIME_MAX`] on requests after a step, and computes nothing while no request waits.

mod commands;
mod describe;
mod hooks;
mod listing;
mod log;
mod moments;
mod profile;
mod values;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value as Json;
use tokio::sync::oneshot;

pub(crate) use self::commands::map_of;
pub use self::commands::{COMMANDS_MAX, StudioCommand};
pub(crate) use self::describe::{describe_entity, describe_room, describe_state, describe_writers};
pub(crate) use self::listing::Scan;
pub use self::listing::{EntityFilter, ROWS_MAX};
pub(crate) use self::log::{Line, Log, LogKind};
pub use self::moments::{
    MOMENTS_MAX, Moments, ReplayRequest, ReplayRules, RequestedMoment, STEPS_MAX, SavedMoment,
};
pub(crate) use self::profile::{PHASES, Profile, StepTimes};

/// Maximum requests that wait for one room.
const WAITING_MAX: usize = 64;

/// Time that a room spends on requests after a step. A request that began is finished, or interrupted after the rows of one
/// step ([`listing`]).
const RUN_TIME_MAX: Duration = Duration::from_millis(2);

/// Time after the last read in which a room records lines of chat, events and the times of its steps.
const RECORDED_AFTER_READ: Duration = Duration::from_secs(10);

/// The reason why a request of the studio has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StudioError {
    /// A parameter or a command has a mistake.
    #[error("{0}")]
    Invalid(String),
    /// There is no such room, entity, player or moment.
    #[error("{0}")]
    NotFound(String),
    /// The room refuses the change.
    #[error("{0}")]
    Refused(String),
    /// The journal does not keep the step, or nothing is stored.
    #[error("{0}")]
    NotKept(String),
    /// The world or its rules cannot be loaded.
    #[error("{0}")]
    Unreadable(String),
    /// Too many requests wait, or too many moments exist.
    #[error("{0}")]
    Busy(String),
}

/// A request that a room answers.
#[derive(Clone, Debug)]
pub enum StudioRequest {
    /// The room, its kinds and its counts.
    Room,
    /// A page of entities.
    Entities(EntityFilter),
    /// All data of one entity.
    Entity(u32),
    /// The state of the world and its players.
    State,
    /// Applies commands in order.
    Commands(Vec<StudioCommand>),
    /// The connected clients.
    Clients,
    /// The client of one player, with the messages that wait for it.
    Client(u32),
    /// Ends the connection of a player's client, with a reason.
    Disconnect {
        /// The player.
        player: u32,
        /// The reason, which the client receives.
        reason: String,
        /// Duration of a ban from the room.
        ban: Option<Duration>,
    },
    /// The times of the newest steps.
    Profile {
        /// Number of steps.
        steps: usize,
    },
    /// Runs a declared action as a player of the room.
    Act {
        /// The player.
        player: u32,
        /// The name of the action.
        action: String,
        /// A map, or null for an empty one.
        arguments: Json,
    },
    /// Sends a text of the server to all clients.
    Say {
        /// The text.
        text: String,
    },
    /// Answers when the store has all changes so far: true, or false if they are lost.
    Kept,
}

/// The answer to a request: JSON, as `docs/reference/studio.md` describes it.
pub type StudioAnswer = Result<Json, StudioError>;

/// A request that waits for the room's thread.
pub(crate) struct Job {
    pub(crate) request: StudioRequest,
    /// The state of a listing that took several steps.
    pub(crate) scan: Option<Scan>,
    pub(crate) answer: oneshot::Sender<StudioAnswer>,
}

/// The requests that wait for a room, and the room's records for the studio.
#[derive(Default)]
pub(crate) struct StudioQueue {
    waiting: Mutex<VecDeque<Job>>,
    /// Whether requests wait, so that a room without requests takes no lock.
    has_waiting: AtomicBool,
    log: Mutex<Log>,
    pub(crate) profile: Mutex<Profile>,
}

impl StudioQueue {
    /// Queues a request. The receiver gets the answer after one of the next steps, or nothing if the room ends first.
    pub(crate) fn ask(&self, request: StudioRequest) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        let (answer, receiver) = oneshot::channel();
        let mut waiting = self.waiting.lock();
        waiting.retain(|job| !job.answer.is_closed());
        if waiting.len() >= WAITING_MAX {
            return Err(StudioError::Busy(format!("{WAITING_MAX} requests already wait for this room")));
        }
        waiting.push_back(Job { request, scan: None, answer });
        self.has_waiting.store(true, Ordering::Release);
        Ok(receiver)
    }

    /// Whether requests wait.
    pub(crate) fn has_waiting(&self) -> bool {
        self.has_waiting.load(Ordering::Acquire)
    }

    /// Runs waiting requests for at most [`RUN_TIME_MAX`]. `run` returns a request that it has to continue after the next step.
    pub(crate) fn run(&self, mut run: impl FnMut(Job) -> Option<Job>) {
        let started = Instant::now();
        let mut unfinished = VecDeque::new();
        while started.elapsed() < RUN_TIME_MAX {
            let Some(job) = self.waiting.lock().pop_front() else { break };
            if !job.answer.is_closed() {
                unfinished.extend(run(job));
            }
        }
        let mut waiting = self.waiting.lock();
        waiting.append(&mut unfinished);
        self.has_waiting.store(!waiting.is_empty(), Ordering::Release);
    }

    /// The lines of the room's log.
    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }
}

/// Returns the answer to a request that only reads a world, or `None` for another request.
pub(crate) fn read_world(
    world: &nowcast_world::World,
    request: &StudioRequest,
    scan: &mut Option<Scan>,
) -> Option<Result<Json, StudioError>> {
    match request {
        StudioRequest::Entities(filter) => {
            let scan = scan.get_or_insert_with(|| Scan::new(filter.clone()));
            scan.run(world).then(|| Ok(scan.finish(world)))
        }
        StudioRequest::Entity(id) => Some(describe_entity(world, *id)),
        StudioRequest::State => Some(Ok(describe_state(world))),
        _ => None,
    }
}
