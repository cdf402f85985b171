//! The source of a move: the target lets the room's clients in, and they connect to it while the room runs here. Then the directory
//! names the target, the room stops and stores its world, and the target takes the room by its journal.
//!
//! Until the room has stopped, the source may give the move up at any time: the target's epoch is not in the journal. Afterwards
//! the room is the target's, and only the directory is corrected.

use std::time::Duration;

use super::arrival::GATHER_SLACK;
use super::entry_change::{EntryChange, Goal};
use super::{Action, Answer, Departure, Event, Input, LOOK, Node, Outcome, Report, Signal, Task, Work};
use crate::control::{ControlAnswer, ControlRequest};
use crate::entry::{RoomEntry, ServerEntry, ServerPhase, Target};
use crate::mutant::Mutant;
use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::time::Time;

/// A room that moves to another server. A room has one move at a time.
#[derive(Debug)]
pub(super) struct Departing {
    pub(super) task: u64,
    target: Name,
    /// The epoch of this server as the owner when the move began. A later ownership of the room has nothing to do with the move.
    epoch: Option<Epoch>,
    /// The way of the room, until the room has stopped or stays.
    departure: Option<Departure>,
}

/// A move of a room.
#[derive(Debug)]
pub(super) struct Move {
    room: Name,
    target: Name,
    /// The target's entry in the directory, once it is checked.
    entry: Option<ServerEntry>,
    step: Step,
    stopped_at: Option<Time>,
    /// The result, while the directory is corrected.
    result: Option<Result<Duration, String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Check,
    Expect,
    Announce,
    Gather,
    Store,
    Name,
    Prepare(Epoch),
    Stop(Epoch),
    Commit,
    Correct,
}

impl Move {
    pub(super) fn new(room: Name, target: Name) -> Move {
        Move { room, target, entry: None, step: Step::Check, stopped_at: None, result: None }
    }
}

impl Node {
    /// The way of a room whose lease is [`RoomLease::Leaving`](super::RoomLease::Leaving).
    #[must_use]
    pub fn departure(&self, room: Name) -> Option<&Departure> {
        let departing = self.departures.get(&room)?;
        let is_current = departing.epoch == self.epoch(room) || self.config.has(Mutant::KeepDeparture);
        departing.departure.as_ref().filter(|_| is_current)
    }

    pub(super) fn may_stop(&self, room: Name) -> bool {
        self.departure(room).is_some_and(|departure| departure.may_stop)
    }

    /// Handles a report of a room's thread.
    pub fn report(&mut self, now: Time, room: Name, report: Report) {
        let task = match report {
            Report::Followed => self.end_following(room),
            _ => self.departures.get(&room).map(|departing| departing.task),
        };
        self.inbox.extend(task.map(|task| (task, Input::Report(report))));
        self.advance(now);
    }

    pub(super) fn signal(&mut self, now: Time, room: Name, signal: Signal) {
        if let Some(departing) = self.departures.get(&room) {
            self.inbox.push_back((departing.task, Input::Signal(signal)));
            self.advance(now);
        }
    }

    pub(super) fn step_move(
        &mut self,
        now: Time,
        task: &mut Task,
        moving: &mut Move,
        input: Input,
    ) -> Option<Outcome> {
        let refused = |cause| Some(Outcome::Answered(ControlAnswer::Failed { cause }));
        let room = moving.room;
        match (moving.step, input) {
            (_, Input::Report(Report::Stopped)) => moving.stopped_at = Some(now),
            (Step::Check, Input::Begin) => match self.check_move(moving) {
                Err(cause) => {
                    self.events.push_back(Event::Stayed(room));
                    return refused(cause);
                }
                Ok(entry) => {
                    moving.entry = Some(entry);
                    let (target, epoch) = (moving.target, self.epoch(room));
                    let departing = Departing { task: task.id, target, epoch, departure: None };
                    self.departures.insert(room, departing);
                    self.act_for(task, Action::LookAtRoom(room));
                }
            },
            (Step::Check, Input::Answer(Answer::RoomState { is_open: false, .. })) => {
                // The room has ended without its release.
                self.departures.remove(&room);
                self.give_back(room);
                self.events.push_back(Event::Stayed(room));
                return refused(format!(
                    "room {room} has ended here. The next client opens it on any server"
                ));
            }
            (Step::Check, Input::Answer(_)) => {
                moving.step = Step::Expect;
                self.ask(task, moving, ControlRequest::Expect { room }, self.config.times.expect);
            }
            (Step::Expect, Input::Answer(answer)) => {
                // Otherwise the clients follow when the room has moved.
                let is_expected = matches!(answer, Answer::Told(Ok(ControlAnswer::Done { .. })));
                let address = moving.entry.as_ref().filter(|_| is_expected);
                let address = address.map_or_else(|| "".into(), |entry| entry.client_address.clone());
                if let Some(departing) = self.departures.get_mut(&room) {
                    departing.departure = Some(Departure { address, ..Departure::default() });
                }
                self.wait(now, task, moving, Step::Announce);
            }
            (Step::Announce, Input::Report(Report::Announced(clients @ 1..))) => {
                moving.step = Step::Gather;
                let gather = ControlRequest::Gather { room, clients: clients as u32 };
                self.ask(task, moving, gather, self.config.times.gather + GATHER_SLACK);
            }
            // Clients that are late follow when the room has moved.
            (Step::Announce, Input::Report(Report::Announced(_)) | Input::Timeout)
            | (Step::Gather, Input::Answer(_)) => {
                if let Some(departure) = self.departure_mut(room) {
                    departure.may_store = true;
                }
                self.wait(now, task, moving, Step::Store);
            }
            (Step::Store, Input::Report(Report::StoredAhead)) => {
                // The directory names the target before the room stops. Then the journal decides, and no further request is
                // necessary.
                moving.step = Step::Name;
                task.wake_at = None;
                let target = moving.target_id();
                self.begin(Some(task.id), Work::Change(EntryChange::new(room, Goal::NameTarget(target))));
            }
            (Step::Name, Input::Child(Outcome::Changed(named))) => match named {
                Ok(Some(RoomEntry { target: Some(Target { epoch, .. }), .. })) => {
                    self.prepare_target(task, moving, epoch);
                }
                Err(_) if self.config.has(Mutant::MoveUnnamed) => {
                    let epoch = self.epoch(room).unwrap_or_default().next();
                    self.prepare_target(task, moving, epoch);
                }
                Ok(_) => {
                    let cause = "this server no longer has the room. Ask for its owner again";
                    self.give_up(now, task, moving, cause.to_owned());
                }
                Err(error) => {
                    let cause =
                        format!("the directory cannot name the target ({error}). Check the nats-servers");
                    self.give_up(now, task, moving, cause);
                }
            },
            // If the target is not ready, it restores the world when the room has stopped.
            (Step::Prepare(epoch), Input::Answer(_)) => {
                if let Some(departure) = self.departure_mut(room) {
                    departure.may_stop = true;
                }
                self.wait(now, task, moving, Step::Stop(epoch));
            }
            (Step::Stop(epoch), Input::Signal(Signal::Left(last))) => {
                self.commit(now, task, moving, epoch, last);
            }
            (Step::Commit, Input::Answer(answer)) => {
                let frozen = now.since(moving.stopped_at.unwrap_or(now));
                if !matches!(answer, Answer::Told(Ok(ControlAnswer::Done { .. }))) {
                    // The first client opens the room.
                    self.events.push_back(Event::NotBegun(room, moving.target));
                }
                self.correct(now, task, moving, Ok(frozen));
            }
            (Step::Correct, Input::Child(_) | Input::Timeout) => return Some(self.end_move(moving)),
            (Step::Stop(_), Input::Report(Report::Stays)) => {
                let cause = "its world cannot be stored in time, so it stays. Check the nats-servers";
                self.give_up(now, task, moving, cause.to_owned());
            }
            (Step::Correct, _) | (Step::Commit, _) => {}
            (_, Input::Signal(Signal::Ended)) => {
                let cause = "it has ended. The next client opens it on any server";
                self.give_up(now, task, moving, cause.to_owned());
            }
            (Step::Store, Input::Timeout) => {
                let seconds = self.config.times.leave.as_secs();
                let cause = format!("its snapshot was not stored within {seconds} s. Check the nats-servers");
                self.give_up(now, task, moving, cause);
            }
            (Step::Stop(_), Input::Timeout) => {
                self.give_up(now, task, moving, "it did not stop in time".to_owned());
            }
            _ => {}
        }
        None
    }

    fn prepare_target(&mut self, task: &mut Task, moving: &mut Move, epoch: Epoch) {
        moving.step = Step::Prepare(epoch);
        let prepare = ControlRequest::Prepare { room: moving.room };
        self.ask(task, moving, prepare, self.config.times.prepare);
    }

    fn departure_mut(&mut self, room: Name) -> Option<&mut Departure> {
        self.departures.get_mut(&room).and_then(|departing| departing.departure.as_mut())
    }

    /// Checks that a room may move. Returns the target's entry.
    fn check_move(&self, moving: &Move) -> Result<ServerEntry, String> {
        let Move { room, target, .. } = moving;
        if let Some(before) = self.departures.get(room) {
            let before = before.target;
            return Err(format!("room {room} is moving to {before} already. Wait until that move has ended"));
        }
        if !self.owned.contains_key(room) {
            return Err(format!(
                "this server does not own room {room}. `nowcast cluster status` names its owner"
            ));
        }
        if *target == self.config.name {
            return Err(format!("room {room} is on the server {target} already"));
        }
        let entry = self.leases.living().find(|entry| entry.id.name == *target).ok_or_else(|| {
            format!(
                "the server {target} is not alive in the cluster. `nowcast cluster status` lists the servers"
            )
        })?;
        if let Some(tag) = self.config.required_tags(*room).iter().find(|tag| !entry.tags.contains(tag)) {
            return Err(format!("the server {target} has no tag {tag}, which room {room} requires"));
        }
        self.config.release.check_neighbour(entry.release).map_err(|error| error.to_string())?;
        if entry.phase != ServerPhase::Serving {
            return Err(format!("the server {target} drains, and takes no rooms"));
        }
        Ok(entry.clone())
    }

    fn ask(&mut self, task: &mut Task, moving: &Move, request: ControlRequest, within: Duration) {
        let within = within + self.config.times.slack;
        self.act_for(task, Action::Ask { server: moving.target, request, within });
    }

    /// Waits for the thread of the room.
    fn wait(&mut self, now: Time, task: &mut Task, moving: &mut Move, step: Step) {
        moving.step = step;
        task.wake_at = Some(now + self.config.times.leave);
    }

    /// The room has stopped, and its journal ends with `last`. The target owns it from now on.
    fn commit(&mut self, now: Time, task: &mut Task, moving: &mut Move, epoch: Epoch, last: Sequence) {
        let room = moving.room;
        if !self.config.has(Mutant::KeepOwning) {
            self.owned.remove(&room);
        }
        self.end_departure(room);
        moving.step = Step::Commit;
        task.wake_at = None;
        let stood_us = now.since(moving.stopped_at.unwrap_or(now)).as_micros() as u64;
        let target = moving.target_id();
        let commit = ControlRequest::Commit { room, target, epoch, last, stood_us };
        self.ask(task, moving, commit, self.config.times.begin);
    }

    fn end_departure(&mut self, room: Name) {
        if let Some(departing) = self.departures.get_mut(&room) {
            departing.departure = None;
        }
    }

    /// Ends a move whose room has not stopped. The target expects the room no longer.
    fn give_up(&mut self, now: Time, task: &mut Task, moving: &mut Move, cause: String) {
        let room = moving.room;
        self.end_departure(room);
        self.ask(task, moving, ControlRequest::Forget { room }, self.config.times.expect);
        // The directory may name the target even if NATS did not answer.
        self.correct(now, task, moving, Err(format!("room {room} did not move: {cause}")));
    }

    /// Corrects the directory, so that the answer to the operator is true for all servers.
    fn correct(&mut self, now: Time, task: &mut Task, moving: &mut Move, result: Result<Duration, String>) {
        moving.result = Some(result);
        moving.step = Step::Correct;
        task.wake_at = Some(now + self.config.times.correct);
        if !self.config.has(Mutant::LeaveTarget) {
            let goal = Goal::EndMove(moving.target_id());
            self.begin(Some(task.id), Work::Change(EntryChange::new(moving.room, goal)));
        }
    }

    fn end_move(&mut self, moving: &mut Move) -> Outcome {
        let Move { room, target, .. } = *moving;
        self.departures.remove(&room);
        Outcome::Answered(match moving.result.take() {
            Some(Ok(frozen)) => {
                self.events.push_back(Event::Moved(room, target, frozen));
                let (name, frozen) = (self.config.name, frozen.as_millis());
                let text = format!("room {room} moved from {name} to {target} within {frozen} ms");
                ControlAnswer::Done { text }
            }
            result => {
                self.events.push_back(Event::Stayed(room));
                let cause = result.and_then(Result::err).unwrap_or_default();
                ControlAnswer::Failed { cause }
            }
        })
    }
}

impl Move {
    /// The target, whose entry was checked before anything else.
    fn target_id(&self) -> ServerId {
        self.entry.as_ref().map_or(ServerId { name: self.target, incarnation: 0 }, |entry| entry.id)
    }
}

/// The next step of a drain: one room moves away. From then on, this server takes no rooms.
#[derive(Debug, Default)]
pub(super) struct Drain {
    room: Option<Name>,
    /// The time at which the drain stops to wait for a room that moves already.
    until: Option<Time>,
}

impl Node {
    pub(super) fn step_drain(
        &mut self,
        now: Time,
        task: &mut Task,
        drain: &mut Drain,
        input: Input,
    ) -> Option<Outcome> {
        let answer = match input {
            Input::Begin | Input::Timeout => {
                self.life.is_draining = true;
                let until = *drain.until.get_or_insert(now + 2 * self.config.times.leave);
                let next = self.owned().find(|room| !self.departures.contains_key(room));
                match next.map(|room| (room, self.choose(room).map(|target| target.id.name))) {
                    None if self.departures.is_empty() || now >= until => self.drained(String::new()),
                    // The last rooms are moving already.
                    None => {
                        task.wake_at = Some(now + LOOK);
                        return None;
                    }
                    Some((_, None)) => ControlAnswer::Failed {
                        cause: "no other server takes rooms. Start one, and drain again".to_owned(),
                    },
                    Some((room, Some(target))) => {
                        drain.room = Some(room);
                        self.begin(Some(task.id), Work::Move(Box::new(Move::new(room, target))));
                        return None;
                    }
                }
            }
            Input::Child(Outcome::Answered(answer)) => match answer.into_result() {
                Err(cause) if drain.room.is_some_and(|room| self.owned.contains_key(&room)) => {
                    ControlAnswer::Failed { cause }
                }
                // If the room has ended, no server owns it.
                Ok(text) | Err(text) => self.drained(text),
            },
            _ => return None,
        };
        Some(Outcome::Answered(answer))
    }

    fn drained(&self, moved: String) -> ControlAnswer {
        let left = self.owned.len();
        if left > 0 {
            return ControlAnswer::Continues { text: format!("{moved}. Rooms that are left: {left}") };
        }
        let name = self.config.name;
        let moved = if moved.is_empty() { moved } else { format!("{moved}. ") };
        let text = format!("{moved}{name} is drained. It takes no new rooms until it is started again");
        ControlAnswer::Done { text }
    }
}
