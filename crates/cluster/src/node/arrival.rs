//! The target of a move: the room's thread waits for its turn, follows the stored world, and takes the room when its owner has
//! stopped it.

use std::time::Duration;

use super::take::TakenEpoch;
use super::{Action, Answer, Event, Input, LOOK, Node, Outcome, Report, Signal, Task, Turn, Work};
use crate::control::ControlRequest;
use crate::leases::Holder;
use crate::mutant::Mutant;
use crate::name::{Epoch, Name, Sequence, ServerId};
use crate::time::Time;

/// Interval between two looks at the clients that wait.
const GATHER_LOOK: Duration = Duration::from_millis(5);

/// Time that the last look at the clients may take.
pub(super) const GATHER_SLACK: Duration = Duration::from_millis(100);

/// A room that comes from another server.
#[derive(Debug)]
pub(super) struct Arrival {
    /// The time until which the room waits.
    until: Time,
    /// The end of the room at its owner, if that has given the room to this server.
    stop: Option<Stop>,
    /// The task that waits until the room has caught up with its stored world, and whether the room's thread has begun.
    follow: Option<(u64, bool)>,
    /// The task that reports that the room runs.
    opened: Option<u64>,
}

/// The end of a room at its owner.
#[derive(Clone, Copy, Debug)]
struct Stop {
    at: Time,
    /// The life of this server to which the room was given. A later life may not use the epoch.
    target: ServerId,
    epoch: Epoch,
    last: Sequence,
    /// Whether this server has already used the epoch to take the room. An epoch is used only once.
    is_taken: bool,
}

/// A request of the source of a move.
#[derive(Debug)]
pub(super) struct Arriving {
    request: ControlRequest,
    until: Option<Time>,
}

impl Arriving {
    pub(super) fn new(request: ControlRequest) -> Arriving {
        Arriving { request, until: None }
    }
}

/// Lets a room that is expected begin if its owner dies before it has given the room to this server.
#[derive(Debug)]
pub(super) struct Watch {
    room: Name,
    source: Option<ServerId>,
}

impl Node {
    /// Returns the next thing that a room does before it begins.
    pub fn turn(&mut self, now: Time, room: Name) -> Turn {
        let Some(arrival) = self.arrivals.get_mut(&room).filter(|arrival| arrival.stop.is_none()) else {
            return Turn::Begin;
        };
        if let Some((_, is_begun)) = arrival.follow.as_mut().filter(|(_, is_begun)| !*is_begun) {
            *is_begun = true;
            return Turn::Follow;
        }
        if arrival.until <= now {
            self.arrivals.remove(&room);
            return Turn::Begin;
        }
        Turn::Wait(arrival.until)
    }

    /// Ends the following of a room. Returns the task that waits for it.
    pub(super) fn end_following(&mut self, room: Name) -> Option<u64> {
        let arrival = self.arrivals.get_mut(&room)?;
        arrival.follow.take_if(|(_, is_begun)| *is_begun).map(|(task, _)| task)
    }

    /// Records that a room of this server runs. Returns the time for which it stood still on its way from another server; zero if
    /// it does not come from another one.
    pub fn opened(&mut self, now: Time, room: Name) -> Duration {
        let Some(arrival) = self.arrivals.remove(&room) else { return Duration::ZERO };
        self.inbox.extend(arrival.opened.map(|task| (task, Input::Signal(Signal::Opened))));
        self.advance(now);
        // The room may have been taken by the directory instead, as after a crash.
        let stop = arrival.stop.filter(|stop| self.epoch(room) == Some(stop.epoch));
        stop.map_or(Duration::ZERO, |stop| now.since(stop.at))
    }

    /// Ends all waiting, because the server ends.
    pub fn expect_no_rooms(&mut self) {
        self.arrivals.clear();
    }

    /// Whether a room comes here, so that its clients wait here.
    #[must_use]
    pub fn is_expected(&self, now: Time, room: Name) -> bool {
        self.arrivals.get(&room).is_some_and(|arrival| arrival.stop.is_some() || now < arrival.until)
    }

    /// Forgets a room that this server could not take. Its source is answered that it does not run.
    pub(super) fn forget_arrival(&mut self, room: Name) {
        let opened = self.arrivals.remove(&room).and_then(|arrival| arrival.opened);
        self.inbox.extend(opened.map(|task| (task, Input::Signal(Signal::Refused))));
    }

    /// The epoch and the last frame of a room that was given to this server, once.
    pub(super) fn take_arrival(&mut self, room: Name) -> Option<TakenEpoch> {
        let (me, takes_any) = (self.id(), self.config.has(Mutant::TakeForFormerLife));
        let stop = self.arrivals.get_mut(&room)?.stop.as_mut();
        let stop = stop.filter(|stop| !stop.is_taken && (stop.target == me || takes_any))?;
        stop.is_taken = true;
        Some(TakenEpoch { epoch: stop.epoch, after: Some(stop.last) })
    }

    fn is_waiting(&self, room: Name) -> bool {
        self.arrivals.get(&room).is_some_and(|arrival| arrival.stop.is_none())
    }

    /// Lets an expected room begin although its owner has not given it to this server.
    fn begin_alone(&mut self, now: Time, room: Name) {
        if let Some(arrival) = self.arrivals.get_mut(&room).filter(|arrival| arrival.stop.is_none()) {
            (arrival.until, arrival.follow) = (now, None);
        }
    }

    pub(super) fn step_arriving(
        &mut self,
        now: Time,
        task: &mut Task,
        arriving: &mut Arriving,
        input: Input,
    ) -> Option<Outcome> {
        let result = match arriving.request {
            ControlRequest::Expect { room } => self.expect(now, task, room, input),
            ControlRequest::Gather { room, clients } => {
                let until = *arriving.until.get_or_insert(now + self.config.times.gather);
                self.gather(now, task, room, (clients as usize, until), input)
            }
            ControlRequest::Prepare { room } => self.prepare(now, task, room, input),
            ControlRequest::Commit { room, target, epoch, last, stood_us } => {
                let stop =
                    Stop { at: now - Duration::from_micros(stood_us), target, epoch, last, is_taken: false };
                self.begin_given(now, task, room, stop, input)
            }
            ControlRequest::Forget { room } => {
                self.begin_alone(now, room);
                Some(Ok("forgotten".to_owned()))
            }
            ControlRequest::Move { .. } | ControlRequest::Drain => None,
        };
        result.map(|result| Outcome::Answered(result.into()))
    }

    /// Lets clients enter a room that comes to this server. Its thread waits for its turn.
    fn expect(
        &mut self,
        now: Time,
        task: &mut Task,
        room: Name,
        input: Input,
    ) -> Option<Result<String, String>> {
        match input {
            Input::Begin if self.life.is_draining => return Some(Err("the server drains".to_owned())),
            Input::Begin => self.act_for(task, Action::LookAtRoom(room)),
            Input::Answer(Answer::RoomState { is_open: true, .. }) if !self.is_expected(now, room) => {
                return Some(Err("the room has not ended yet on this server".to_owned()));
            }
            Input::Answer(Answer::RoomState { .. }) => {
                let until = now + self.config.times.turn;
                self.arrivals.insert(room, Arrival { until, stop: None, follow: None, opened: None });
                self.act_for(task, Action::OpenRoom(room));
            }
            Input::Answer(Answer::Done(opened)) => {
                self.begin(None, Work::Watch(Watch { room, source: None }));
                return Some(opened.map(|()| "expected".to_owned()));
            }
            _ => {}
        }
        None
    }

    /// Waits until this number of clients wait for a room, or for a limited time. Returns the number as text.
    fn gather(
        &mut self,
        now: Time,
        task: &mut Task,
        room: Name,
        (clients, until): (usize, Time),
        input: Input,
    ) -> Option<Result<String, String>> {
        match input {
            Input::Answer(Answer::RoomState { waiting, .. }) if waiting < clients && now < until => {
                task.wake_at = Some(now + GATHER_LOOK);
            }
            Input::Answer(Answer::RoomState { waiting, .. }) => return Some(Ok(waiting.to_string())),
            _ => self.act_for(task, Action::LookAtRoom(room)),
        }
        None
    }

    /// Restores the newest snapshot of a room that comes to this server, and replays the steps since.
    fn prepare(
        &mut self,
        now: Time,
        task: &mut Task,
        room: Name,
        input: Input,
    ) -> Option<Result<String, String>> {
        match input {
            Input::Begin => self.act_for(task, Action::Prefetch(room)),
            Input::Answer(Answer::Done(Err(cause))) => return Some(Err(cause)),
            Input::Answer(Answer::Done(Ok(()))) => {
                let waiting = self.arrivals.get_mut(&room).filter(|arrival| arrival.stop.is_none());
                let Some(arrival) = waiting else { return Some(Ok("prepared".to_owned())) };
                arrival.follow = Some((task.id, false));
                task.wake_at = Some(now + self.config.times.prepare);
            }
            Input::Report(Report::Followed) => return Some(Ok("prepared".to_owned())),
            Input::Timeout => return Some(Err("the world was not restored in time".to_owned())),
            _ => {}
        }
        None
    }

    /// Takes a room that its previous owner has stopped and given to this server, and continues it from its journal. Answers when the
    /// room runs.
    fn begin_given(
        &mut self,
        now: Time,
        task: &mut Task,
        room: Name,
        stop: Stop,
        input: Input,
    ) -> Option<Result<String, String>> {
        match input {
            Input::Begin if stop.target != self.id() && !self.config.has(Mutant::TakeForFormerLife) => {
                return Some(Err("this server has started again since the move began".to_owned()));
            }
            Input::Begin if self.owned.contains_key(&room) => {
                return Some(Err(format!("room {room} runs here already")));
            }
            Input::Begin => {
                let until = now + self.config.times.turn;
                let arrival = Arrival { until, stop: Some(stop), follow: None, opened: Some(task.id) };
                self.arrivals.insert(room, arrival);
                task.wake_at = Some(now + self.config.times.begin);
                self.act_for(task, Action::OpenRoom(room));
            }
            Input::Answer(Answer::Done(Err(cause))) => return Some(Err(cause)),
            Input::Signal(Signal::Opened) => return Some(Ok("running".to_owned())),
            Input::Signal(Signal::Refused) | Input::Timeout => {
                let cause = "the room did not begin in time. The log of the server says why";
                return Some(Err(cause.to_owned()));
            }
            _ => {}
        }
        None
    }

    pub(super) fn step_watch(
        &mut self,
        now: Time,
        task: &mut Task,
        watch: &mut Watch,
        input: Input,
    ) -> Option<Outcome> {
        match input {
            Input::Begin => {
                self.act_for(task, Action::ReadRoom(watch.room));
                return None;
            }
            Input::Answer(Answer::Room(Ok(Some((_, entry))))) if !entry.is_released => {
                watch.source = Some(entry.owner);
            }
            _ => {}
        }
        // If the directory cannot be read now, the source is unknown, and the room waits until the end of its turn.
        let Some(source) = watch.source.filter(|_| self.is_waiting(watch.room)) else {
            return Some(Outcome::Ended);
        };
        if matches!(self.leases.holder(source), Holder::Over | Holder::Lapsed(..)) {
            self.events.push_back(Event::SourceDied(watch.room, source));
            self.begin_alone(now, watch.room);
            return Some(Outcome::Ended);
        }
        task.wake_at = Some(now + LOOK);
        None
    }
}
