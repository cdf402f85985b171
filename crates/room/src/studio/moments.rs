//! Moments: paused copies of rooms at an earlier step.
//!
//! Each moment has its own thread, because a world belongs to the thread that made the world. The thread ends when the
//! moment is closed, or when it was not used for [`EXPIRES`].

mod replaying;
mod travelling;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nowcast_script::Stop;
use nowcast_store::{Moment, WorldName};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};
use tokio::sync::oneshot;

pub use self::replaying::{ReplayRequest, ReplayRules};
pub use self::travelling::STEPS_MAX;
use self::travelling::Travel;
use super::describe::{Capture, compare};
use super::{StudioAnswer, StudioError, StudioRequest, read_world};
use crate::persistence::now_ms;
use crate::rooms::Rooms;

/// Maximum moments of a server. Each may hold the memory of a room.
pub const MOMENTS_MAX: usize = 8;

/// Time after the last use after which a moment ends.
const EXPIRES: Duration = Duration::from_secs(600);

/// Work for the thread of a moment.
type Task = Box<dyn FnOnce(&mut Travel) + Send>;

/// The moments of a server.
pub struct Moments {
    rooms: Arc<Rooms>,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    newest: u64,
    moments: BTreeMap<u64, OpenMoment>,
}

struct OpenMoment {
    tasks: Sender<Task>,
    /// Interrupts the rules when the moment is closed.
    stop: Stop,
}

/// A saved moment, for a test.
#[derive(Clone, Debug)]
pub struct SavedMoment {
    /// The world that the room shows.
    pub world: String,
    /// The name of the room.
    pub room: String,
    /// The step.
    pub tick: u64,
    /// The world at this step, as [`nowcast_world::World::restore`] reads it.
    pub snapshot: Vec<u8>,
}

impl Moments {
    /// Creates the table without a moment.
    pub fn new(rooms: Arc<Rooms>) -> Self {
        Self { rooms, open: Arc::default() }
    }

    /// Returns the first and the last stored moment of a room. Blocks on the disk.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] for an invalid name, [`StudioError::Unreadable`] if the store cannot be read.
    pub fn history(&self, room: &str) -> StudioAnswer {
        let nothing = json!({ "stored": false, "from": null, "to": null });
        let Some(store) = self.rooms.persistence.store() else { return Ok(nothing) };
        let name = world_name(room)?;
        let unreadable = |error: nowcast_store::StoreError| StudioError::Unreadable(error.to_string());
        let persistence = &self.rooms.persistence;
        let at = |moment| persistence.load_past(&*store, &name, moment, Duration::ZERO).map_err(unreadable);
        let Some(first) = at(Moment::Tick(0))? else { return Ok(nothing) };
        let Some(last) = at(Moment::Last)? else { return Ok(nothing) };
        let (from_ms, to_ms) = last.span;
        Ok(json!({
            "stored": true,
            "from": { "tick": first.stretch.saved.tick, "timeMs": from_ms },
            "to": { "tick": last.stretch.saved.tick, "timeMs": to_ms },
        }))
    }

    /// Restores a paused copy of a room at a step, on a new thread. The receiver gets the description of the moment.
    ///
    /// # Errors
    /// [`StudioError::Busy`] if there are [`MOMENTS_MAX`] moments, or no thread is available.
    pub fn create(
        &self,
        room: &str,
        at: RequestedMoment,
    ) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        let name = world_name(room)?;
        if self.rooms.persistence.store().is_none() {
            return Err(StudioError::NotKept("this server stores no worlds".into()));
        }
        let mut open = self.open.lock();
        if open.moments.len() >= MOMENTS_MAX {
            return Err(StudioError::Busy(format!(
                "there are {MOMENTS_MAX} moments already: close one, or wait until one expires"
            )));
        }
        open.newest += 1;
        let id = open.newest;
        let (tasks, receiver) = channel();
        let (answer, answered) = oneshot::channel();
        let stop = Stop::default();
        let place = Place { id, rooms: Arc::clone(&self.rooms), open: Arc::clone(&self.open) };
        let watched = stop.clone();
        let started = thread::Builder::new()
            .name(format!("moment {id}"))
            .spawn(move || watched.watch(|| live(&place, name, at, &receiver, answer)));
        if let Err(error) = started {
            return Err(StudioError::Busy(format!("the system has no thread for the moment: {error}")));
        }
        open.moments.insert(id, OpenMoment { tasks, stop });
        Ok(answered)
    }

    /// Returns the ids of the moments, oldest first.
    pub fn list(&self) -> Vec<u64> {
        self.open.lock().moments.keys().copied().collect()
    }

    /// Closes a moment. Returns whether it existed.
    pub fn close(&self, id: u64) -> bool {
        let closed = self.open.lock().moments.remove(&id);
        closed.inspect(|moment| moment.stop.set()).is_some()
    }

    /// Returns the description of a moment.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] if there is no such moment.
    pub fn describe(&self, id: u64) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        self.run(id, move |travel| Ok(describe(id, travel)))
    }

    /// Answers a request for entities or state.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] if there is no such moment.
    pub fn read(
        &self,
        id: u64,
        request: StudioRequest,
    ) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        self.run(id, move |travel| {
            let mut scan = None;
            loop {
                if let Some(answer) = read_world(travel.world(), &request, &mut scan) {
                    return answer;
                }
                if scan.is_none() {
                    return Err(StudioError::Invalid("a moment does not answer this request".into()));
                }
            }
        })
    }

    /// Steps forward with the recorded commands, or back.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] if there is no such moment, [`StudioError::Invalid`] for more than [`STEPS_MAX`] steps.
    pub fn step(&self, id: u64, steps: i64) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        if steps.unsigned_abs() > STEPS_MAX {
            return Err(StudioError::Invalid(format!("at most {STEPS_MAX} steps at once")));
        }
        self.run(id, move |travel| {
            travel.step(steps)?;
            Ok(describe(id, travel))
        })
    }

    /// Replays the recorded commands from a moment. The result compares both worlds.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] if there is no such moment.
    pub fn replay(
        &self,
        id: u64,
        request: ReplayRequest,
    ) -> Result<oneshot::Receiver<StudioAnswer>, StudioError> {
        self.run(id, move |travel| travel.replay(request))
    }

    /// Saves a moment for a test.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] if there is no such moment.
    pub fn save(&self, id: u64) -> Result<oneshot::Receiver<Result<SavedMoment, StudioError>>, StudioError> {
        self.run(id, Travel::save)
    }

    /// Compares two moments.
    ///
    /// # Errors
    /// [`StudioError::NotFound`] if one of the moments does not exist or ends.
    pub async fn compare(&self, a: u64, b: u64) -> StudioAnswer {
        let capture =
            |id| self.run(id, move |travel: &mut Travel| (describe(id, travel), Capture::of(travel.world())));
        let (first, second) = (capture(a)?, capture(b)?);
        let ended = |_| StudioError::NotFound("a moment ended while it was compared".into());
        let (first, second) = (first.await.map_err(ended)?, second.await.map_err(ended)?);
        Ok(json!({ "a": first.0, "b": second.0, "differences": compare(&first.1, &second.1) }))
    }

    /// Runs work on the thread of a moment.
    fn run<T: Send + 'static>(
        &self,
        id: u64,
        work: impl FnOnce(&mut Travel) -> T + Send + 'static,
    ) -> Result<oneshot::Receiver<T>, StudioError> {
        let missing = || StudioError::NotFound(format!("there is no moment {id}, or it has expired"));
        let (answer, answered) = oneshot::channel();
        let open = self.open.lock();
        let moment = open.moments.get(&id).ok_or_else(missing)?;
        let task: Task = Box::new(move |travel| {
            if !answer.is_closed() {
                // The caller may have stopped waiting.
                let _ = answer.send(work(travel));
            }
        });
        moment.tasks.send(task).map_err(|_| missing())?;
        Ok(answered)
    }
}

impl Drop for Moments {
    fn drop(&mut self) {
        let moments = std::mem::take(&mut self.open.lock().moments);
        moments.values().for_each(|moment| moment.stop.set());
    }
}

/// The step of a moment that is requested.
#[derive(Clone, Copy, Debug)]
pub enum RequestedMoment {
    /// After this many steps of the world.
    Step(u64),
    /// This long ago.
    Ago(Duration),
}

impl RequestedMoment {
    fn moment(self) -> Moment {
        match self {
            Self::Step(tick) => Moment::Tick(tick),
            Self::Ago(ago) => {
                let ago_ms = u64::try_from(ago.as_millis()).unwrap_or(u64::MAX);
                Moment::TimeMs(now_ms().saturating_sub(ago_ms))
            }
        }
    }
}

/// The place of a moment in the table.
struct Place {
    id: u64,
    rooms: Arc<Rooms>,
    open: Arc<Mutex<Open>>,
}

impl Drop for Place {
    /// Runs when the thread of the moment ends, also when it panics.
    fn drop(&mut self) {
        self.open.lock().moments.remove(&self.id);
    }
}

/// The life of a moment's thread.
fn live(
    place: &Place,
    name: WorldName,
    at: RequestedMoment,
    tasks: &Receiver<Task>,
    answer: oneshot::Sender<StudioAnswer>,
) {
    let mut travel = match Travel::begin(Arc::clone(&place.rooms), name, at.moment()) {
        Ok(travel) => travel,
        Err(error) => {
            // The caller may have stopped waiting.
            let _ = answer.send(Err(error));
            return;
        }
    };
    if answer.send(Ok(describe(place.id, &travel))).is_err() {
        return;
    }
    loop {
        match tasks.recv_timeout(EXPIRES) {
            Ok(task) => task(&mut travel),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn describe(id: u64, travel: &Travel) -> Json {
    json!({
        "id": id.to_string(),
        "room": travel.room(),
        "world": travel.world_name(),
        "tick": travel.world().tick(),
        "exact": travel.is_exact(),
        "expiresInS": EXPIRES.as_secs(),
        "through": travel.through(),
    })
}

fn world_name(room: &str) -> Result<WorldName, StudioError> {
    let is_name = nowcast_world_protocol::is_room_name(room);
    let name = is_name.then(|| WorldName::new(room).ok()).flatten();
    name.ok_or_else(|| StudioError::NotFound("no room can have this name".into()))
}
