//! Ends a room whose step takes too long, from a separate thread.
//!
//! A script in an endless loop is stopped at the next point where its work is counted. A thread that still does not return
//! is abandoned. Its room is removed from the list, and its results are discarded when it returns. Such a step is not
//! recorded, so that the journal ends with the last complete step.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nowcast_script::Stop;
use parking_lot::Mutex;
use tracing::error;

use crate::closing::Closing;
use crate::lobby::Lobby;
use crate::refusal::Refusal;
use crate::rooms::Rooms;

/// The time within which the thread must end its step once the script is stopped.
const STOP_PATIENCE: Duration = Duration::from_millis(700);

/// The time that a step may still take when the server shuts down.
const STEP_AT_SHUTDOWN: Duration = Duration::from_millis(500);

/// A step that takes longer than 1/`SLOW_PART` of the limit is slow. The times of consecutive slow steps are added.
const SLOW_PART: u32 = 10;

/// Opening a room may take this many times the limit of a step, because it replays the journal since the last snapshot.
pub(super) const OPENING_FACTOR: u32 = 6;

/// If the watching thread wakes later than it asked for by more than this, the process or its machine was stopped, or is very busy.
const STANDSTILL_MIN: Duration = Duration::from_secs(1);

/// The activity of a room's thread.
#[derive(Default)]
struct Activity {
    /// The beginning of the current step, and the multiple of the limit that the step may take.
    busy: Option<(Instant, u32)>,
    /// The total duration of the consecutive slow steps before the current step.
    slow: Duration,
    is_abandoned: bool,
}

/// The end of a watched room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WatchOutcome {
    /// No step took too long.
    InTime,
    /// A step took too long, and ended after its script was stopped.
    Stopped,
    /// A step took too long, and did not end after its script was stopped.
    Abandoned,
}

/// Reports the activity of a room's thread to the thread that watches the room.
#[derive(Default)]
pub(super) struct StepWatch {
    pub(super) stop: Stop,
    activity: Mutex<Activity>,
}

impl StepWatch {
    /// Records that the room's thread begins to run rules.
    pub(super) fn enter(&self, factor: u32) {
        self.activity.lock().busy = Some((Instant::now(), factor));
    }

    /// Records that the rules ended. Returns whether the step is valid. It is invalid if it was stopped, or if the room was
    /// abandoned.
    pub(super) fn leave(&self, step_max: Duration) -> bool {
        let mut activity = self.activity.lock();
        if let Some((since, _)) = activity.busy.take() {
            let took = since.elapsed();
            activity.slow = if took > step_max / SLOW_PART { activity.slow + took } else { Duration::ZERO };
        }
        !activity.is_abandoned && !self.stop.is_set()
    }

    pub(super) fn outcome(&self) -> WatchOutcome {
        match (self.activity.lock().is_abandoned, self.stop.is_set()) {
            (true, _) => WatchOutcome::Abandoned,
            (false, true) => WatchOutcome::Stopped,
            (false, false) => WatchOutcome::InTime,
        }
    }

    /// Returns the time by which the current step exceeds its limit, if it does.
    fn overtime(&self, step_max: Duration) -> Option<Duration> {
        let activity = self.activity.lock();
        let (since, factor) = activity.busy?;
        let elapsed = since.elapsed();
        let slow = if elapsed > step_max / SLOW_PART { activity.slow } else { Duration::ZERO };
        (elapsed + slow).checked_sub(step_max * factor)
    }

    /// Does not count a standstill as a part of the current step.
    fn leave_out(&self, stood: Duration) {
        if let Some((since, _)) = &mut self.activity.lock().busy {
            *since = (*since + stood).min(Instant::now());
        }
    }

    /// Abandons the thread, unless its step has ended in the meantime. Returns whether it abandoned the thread.
    fn abandon(&self) -> bool {
        let mut activity = self.activity.lock();
        activity.is_abandoned = activity.busy.is_some();
        activity.is_abandoned
    }
}

/// Returns the close reason for clients of a room that ends because of a slow step.
pub(super) fn closing(room: &str, rooms: &Rooms) -> Closing {
    let step_max = rooms.config.step;
    Closing::Refused(Refusal::Stopped { room: room.to_owned(), step_max })
}

/// Starts the thread that watches a room. The thread ends with the room.
pub(super) fn watch(
    name: &str,
    watch: &Arc<StepWatch>,
    lobby: &Arc<Lobby>,
    rooms: &Arc<Rooms>,
) -> std::io::Result<()> {
    let (name, watched) = (name.to_owned(), Arc::downgrade(watch));
    let (lobby, rooms) = (Arc::clone(lobby), Arc::clone(rooms));
    thread::Builder::new()
        .name("room watch".to_owned())
        .spawn(move || look(&name, &watched, &lobby, &rooms))?;
    Ok(())
}

fn look(name: &str, watched: &Weak<StepWatch>, lobby: &Arc<Lobby>, rooms: &Rooms) {
    let step = rooms.config.step;
    let pause = (step / 20).clamp(Duration::from_millis(5), Duration::from_millis(100));
    let mut looked_at = Instant::now();
    loop {
        thread::sleep(pause);
        let Some(watch) = watched.upgrade() else { return };
        let stood = looked_at.elapsed().saturating_sub(pause);
        looked_at = Instant::now();
        if stood > STANDSTILL_MIN {
            watch.leave_out(stood);
        }
        let step_max = if rooms.is_stopping() { step.min(STEP_AT_SHUTDOWN) } else { step };
        let Some(over) = watch.overtime(step_max) else { continue };
        if !watch.stop.is_set() {
            error!(room = name, "a step takes too long: its rules are stopped, and the room ends");
            watch.stop.set();
        }
        if over > STOP_PATIENCE && watch.abandon() {
            error!(
                room = name,
                "a step cannot be stopped: the room is abandoned, and its thread and memory are lost until the step ends"
            );
            rooms.room_abandoned();
            rooms.troubles.room_stopped(name);
            lobby.end(&closing(name, rooms));
            rooms.forget(name, lobby);
            rooms.metrics.end_room("abandoned");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_in_which_the_process_stood_still_does_not_count_as_a_part_of_the_step() {
        let watch = StepWatch::default();
        let step_max = Duration::from_secs(60);
        watch.enter(1);
        watch.activity.lock().busy = Instant::now().checked_sub(2 * step_max).map(|since| (since, 1));
        assert!(watch.overtime(step_max).is_some());
        watch.leave_out(2 * step_max);
        assert!(watch.overtime(step_max).is_none(), "the step begins after the standstill");
        assert!(watch.leave(step_max));
    }
}
