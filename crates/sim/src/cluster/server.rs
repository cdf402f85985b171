//! A server's process: the node, the threads of its rooms, and its store.

mod store;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use nowcast_cluster::{
    Action, Answer, Batch, Claim, Claimed, ControlAnswer, ControlRequest, Epoch, Event, Frame, Name, Node,
    Outcome, Report, RoomLease, Sequence, SnapshotRef, Time, Turn,
};

use super::checker::{Checker, Process};
use super::life::requests::Request;
use super::world::{Action as Count, World};
use store::Job;

/// Maximum time that a room waits until its last records are stored.
const COMMIT_WITHIN: Duration = Duration::from_millis(300);
/// Number of batches after which a room stores a snapshot.
const SNAPSHOT_BATCHES: u64 = 16;

/// The thread of a room.
#[derive(Debug, Default)]
pub(super) struct Thread {
    phase: Phase,
    world: World,
    epoch: Epoch,
    is_moved: bool,
    /// The end of the journal, and the number of the last batch.
    last: Sequence,
    number: u64,
    moving: Moving,
    is_deserted: bool,
    /// Actions that wait for the next step.
    inbox: Vec<Count>,
    /// The last action of each client that is in the journal, so that it may be confirmed again.
    durable: World,
    /// Stored actions, which the next step confirms.
    stored: Vec<Count>,
    /// The records that wait for the journal. The first one is being written while the thread has a job.
    records: VecDeque<Record>,
    batches_since_snapshot: u64,
    job: Option<u64>,
    is_fenced: bool,
}

#[derive(Clone, Copy, PartialEq, Debug, Default)]
enum Phase {
    #[default]
    Waiting,
    Taking(u64),
    Loading,
    Running,
    /// The room has stopped because it moves, and waits for its last records.
    Stopping(Time),
}

/// The way of a room to another server.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Moving {
    is_announced: bool,
    /// Whether the snapshot before the stop is stored, once it is ordered.
    ahead: Option<bool>,
    is_reported: bool,
}

#[derive(Clone, Debug)]
struct Record {
    frame: Frame,
    actions: Vec<Count>,
    object: Option<World>,
}

/// The effects of a server on others.
#[derive(Debug, Default)]
pub(super) struct Effects {
    pub(super) requests: Vec<Request>,
    /// Requests to other servers, by the numbers of their actions.
    pub(super) asks: Vec<(u64, Name, ControlRequest, Duration)>,
    /// Answers to other servers, by the numbers of their actions.
    pub(super) answers: Vec<(Process, u64, ControlAnswer)>,
    pub(super) confirmed: Vec<(Name, Epoch, Count)>,
    /// Actions that clients send to other servers.
    pub(super) forwards: Vec<(Name, Count, u8)>,
    /// Jobs that continue after a pause.
    pub(super) pauses: Vec<u64>,
    pub(super) has_left: bool,
}

/// A server's process.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) process: Process,
    pub(super) node: Node,
    threads: BTreeMap<Name, Thread>,
    jobs: BTreeMap<u64, Job>,
    last_job: u64,
    /// The ends of claimed journals, for the threads that take them.
    heads: BTreeMap<Name, Sequence>,
    /// The tasks of other servers' requests, and of clients that look for their rooms.
    asked: BTreeMap<u64, (Process, u64)>,
    located: BTreeMap<u64, (Name, Count, u8)>,
    /// The outcomes of claims, by the actions of the node.
    claimed: Vec<(u64, Claimed)>,
    drains: bool,
    pub(super) effects: Effects,
}

impl Server {
    pub(super) fn new(process: Process, node: Node) -> Server {
        Server {
            process,
            node,
            threads: BTreeMap::new(),
            jobs: BTreeMap::new(),
            last_job: 0,
            heads: BTreeMap::new(),
            asked: BTreeMap::new(),
            located: BTreeMap::new(),
            claimed: Vec::new(),
            drains: false,
            effects: Effects::default(),
        }
    }

    /// Carries out everything that the node wants.
    pub(super) fn pump(&mut self, now: Time) {
        loop {
            if let Some((action, claimed)) = self.claimed.pop() {
                self.node.handle_answer(now, action, Answer::Claimed(claimed));
            } else if let Some((number, action)) = self.node.poll_action() {
                self.act(now, number, action);
            } else if let Some(event) = self.node.poll_event() {
                self.handle_event(now, event);
            } else if !self.turn_threads(now) && !self.end_stopped(now) {
                return self.write_records();
            }
        }
    }

    fn act(&mut self, now: Time, number: u64, action: Action) {
        match action {
            Action::LookAtRoom(room) => {
                let waiting = self.threads.get(&room).filter(|thread| thread.phase == Phase::Waiting);
                let (is_open, waiting) = (self.threads.contains_key(&room), waiting.is_some().into());
                self.node.handle_answer(now, number, Answer::RoomState { is_open, waiting });
            }
            Action::OpenRoom(room) => {
                self.threads.entry(room).or_default();
                self.node.handle_answer(now, number, Answer::Done(Ok(())));
            }
            Action::ClaimJournal { room, owner, epoch, after } => {
                let claim = Claim::new(owner, Some(epoch), after);
                self.begin_job(room, Some((claim, number)));
            }
            Action::Ask { server, request, within } => {
                self.effects.asks.push((number, server, request, within));
            }
            action => self.effects.requests.push(Request::Action(number, action)),
        }
    }

    fn handle_event(&mut self, now: Time, event: Event) {
        match event {
            Event::Finished(task, Outcome::Taken(taken)) => {
                let thread = self.threads.iter_mut().find(|(_, thread)| thread.phase == Phase::Taking(task));
                let Some((room, thread)) = thread else { return };
                let room = *room;
                match taken.ok().zip(self.heads.remove(&room)) {
                    Some((epoch, head)) => {
                        (thread.phase, thread.epoch, thread.last) = (Phase::Loading, epoch, head);
                        self.begin_load(room);
                    }
                    None => drop(self.threads.remove(&room)),
                }
            }
            Event::Finished(task, Outcome::Located(origin)) => {
                let Some((room, action, hops)) = self.located.remove(&task) else { return };
                match origin {
                    Some(origin) => {
                        let name = Name::new(&origin).expect("origins are names of servers");
                        self.effects.forwards.push((name, action, hops + 1));
                    }
                    None => drop(self.threads.entry(room).or_default()),
                }
            }
            Event::Finished(task, Outcome::Answered(answer)) => {
                if let Some((process, number)) = self.asked.remove(&task) {
                    self.effects.answers.push((process, number, answer));
                } else if self.drains && matches!(answer, ControlAnswer::Continues { .. }) {
                    self.drain(now);
                }
            }
            Event::Finished(_, Outcome::Left) | Event::NameTaken => self.effects.has_left = true,
            _ => {}
        }
    }

    /// A request of another server arrives.
    pub(super) fn handle_request(&mut self, now: Time, from: Process, number: u64, request: ControlRequest) {
        let task = self.node.request(now, request);
        self.asked.insert(task, (from, number));
    }

    /// The operator drains the server.
    pub(super) fn drain(&mut self, now: Time) {
        self.drains = true;
        self.node.request(now, ControlRequest::Drain);
    }

    /// All clients leave a room for a moment.
    pub(super) fn desert(&mut self, room: Name) {
        if let Some(thread) = self.threads.get_mut(&room) {
            thread.is_deserted = true;
        }
    }

    /// Lets the threads of rooms that wait have their turn. Returns whether one had.
    fn turn_threads(&mut self, now: Time) -> bool {
        let waiting = self.threads.iter_mut().filter(|(_, thread)| thread.phase == Phase::Waiting);
        for (room, thread) in waiting {
            match self.node.turn(now, *room) {
                Turn::Wait(_) => {}
                Turn::Follow => {
                    thread.is_moved = true;
                    self.node.report(now, *room, Report::Followed);
                    return true;
                }
                Turn::Begin => {
                    thread.phase = Phase::Taking(self.node.take(now, *room));
                    return true;
                }
            }
        }
        false
    }

    /// A client's action arrives. Actions that are in the journal are confirmed again.
    pub(super) fn act_for_client(&mut self, now: Time, room: Name, action: Count, hops: u8) {
        let Some(thread) = self.threads.get_mut(&room) else {
            let task = self.node.locate(now, room);
            self.located.insert(task, (room, action, hops));
            return;
        };
        let lease = self.node.lease(now, room, !thread.is_fenced);
        let is_held = matches!(lease, RoomLease::Held | RoomLease::Leaving);
        let is_durable = action.number <= thread.durable.applied[usize::from(action.client)];
        if thread.phase == Phase::Running && is_held && is_durable {
            self.effects.confirmed.push((room, thread.epoch, action));
        } else if !thread.inbox.contains(&action) {
            thread.inbox.push(action);
        }
    }

    /// Steps the rooms that run here, and shows the steps to their clients.
    pub(super) fn step(&mut self, now: Time, checker: &mut Checker) {
        let rooms: Vec<Name> = self.threads.keys().copied().collect();
        for room in rooms {
            let Some(thread) = self.threads.get_mut(&room).filter(|thread| thread.phase == Phase::Running)
            else {
                continue;
            };
            match self.node.lease(now, room, !thread.is_fenced) {
                RoomLease::Held => thread.moving = Moving::default(),
                RoomLease::Waiting => continue,
                RoomLease::Leaving if self.leave(now, room) => continue,
                RoomLease::Leaving => {}
                RoomLease::Lost => {
                    self.threads.remove(&room);
                    continue;
                }
            }
            let Some(thread) = self.threads.get_mut(&room) else { continue };
            if thread.is_deserted {
                thread.is_deserted = false;
                if thread.records.is_empty() && self.node.departure(room).is_none() {
                    self.threads.remove(&room);
                    self.node.release(now, room, None);
                    continue;
                }
            }
            let (epoch, stored) = (thread.epoch, std::mem::take(&mut thread.stored));
            self.effects.confirmed.extend(stored.into_iter().map(|action| (room, epoch, action)));
            thread.tick(room, checker);
        }
    }

    /// Gives a room to the server to which it moves. Returns whether it has stopped.
    fn leave(&mut self, now: Time, room: Name) -> bool {
        let (Some(thread), Some(departure)) =
            (self.threads.get_mut(&room), self.node.departure(room).cloned())
        else {
            return false;
        };
        if !std::mem::replace(&mut thread.moving.is_announced, true) {
            self.node.report(now, room, Report::Announced(usize::from(!departure.address.is_empty())));
        }
        if !departure.may_store {
            return false;
        }
        match thread.moving.ahead {
            None => {
                thread.moving.ahead = Some(false);
                thread.record_snapshot();
                return false;
            }
            Some(false) => return false,
            Some(true) => {}
        }
        if !std::mem::replace(&mut thread.moving.is_reported, true) {
            self.node.report(now, room, Report::StoredAhead);
        }
        if !departure.may_stop {
            return false;
        }
        self.node.report(now, room, Report::Stopped);
        thread.phase = Phase::Stopping(now + COMMIT_WITHIN);
        true
    }

    /// Gives up stopped rooms whose records are stored. Returns whether there was one.
    fn end_stopped(&mut self, now: Time) -> bool {
        let stopping = self.threads.iter_mut().filter_map(|(room, thread)| match thread.phase {
            Phase::Stopping(until) => Some((*room, until, thread)),
            _ => None,
        });
        let mut ended = Vec::new();
        for (room, until, thread) in stopping {
            if thread.records.is_empty() {
                ended.push((room, Some(thread.last).filter(|_| !thread.is_fenced)));
            } else if now >= until {
                (thread.phase, thread.moving) = (Phase::Running, Moving::default());
                self.node.report(now, room, Report::Stays);
            }
        }
        for (room, last) in &ended {
            self.threads.remove(room);
            self.node.release(now, *room, *last);
        }
        !ended.is_empty()
    }
}

impl Thread {
    fn tick(&mut self, room: Name, checker: &mut Checker) {
        let applied = self.world.applied;
        self.inbox.retain(|action| action.number > applied[usize::from(action.client)]);
        let actions = std::mem::take(&mut self.inbox);
        let mut bytes = Vec::new();
        actions.iter().for_each(|action| action.write(&mut bytes));
        let from_step = self.world.step;
        let through_step = from_step + 1;
        if let Err(what) = self.world.step(through_step, &bytes) {
            return checker.fail(what);
        }
        self.number += 1;
        let (epoch, number) = (self.epoch, self.number);
        let batch = Batch { epoch, number, from_step, through_step, bytes: bytes.into() };
        self.records.push_back(Record { frame: Frame::Batch(batch), actions, object: None });
        checker.shows(room, epoch, through_step);
        self.batches_since_snapshot += 1;
        if self.batches_since_snapshot >= SNAPSHOT_BATCHES {
            self.record_snapshot();
        }
    }

    fn record_snapshot(&mut self) {
        self.batches_since_snapshot = 0;
        let snapshot = SnapshotRef {
            epoch: self.epoch,
            sequence: Sequence(0),
            batch_number: self.number,
            step: self.world.step,
            hash: self.world.hash,
            digest: [0; 32],
            bytes: 1,
        };
        let (frame, object) = (Frame::Snapshot(snapshot), Some(self.world));
        self.records.push_back(Record { frame, actions: Vec::new(), object });
    }

    /// Records that the first queued record is stored. If it is a snapshot, returns its sequence: earlier frames may be purged.
    fn keep(&mut self, sequence: Sequence) -> Option<Sequence> {
        self.last = sequence;
        let record = self.records.pop_front()?;
        for action in record.actions {
            self.durable.applied[usize::from(action.client)] = action.number;
            self.stored.push(action);
        }
        record.object?;
        if self.moving.ahead == Some(false) {
            self.moving.ahead = Some(true);
        }
        Some(sequence)
    }
}
