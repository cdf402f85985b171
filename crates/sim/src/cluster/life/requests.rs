//! The requests of servers to NATS: their delays, losses and late executions.

use nowcast_cluster::{Action, Answer, Frame, Name, Sequence, Stored};

use super::{Event, Life, MS};
use crate::cluster::checker::Process;
use crate::cluster::jetstream::Loaded;
use crate::cluster::world::World;

/// Time after which a server gives a request up.
const REQUEST_US: u64 = 150 * MS;

/// A request to NATS. `job` is the number of the work of a store to which the answer belongs.
#[derive(Clone, Debug)]
pub(in crate::cluster) enum Request {
    /// An action of the node.
    Action(u64, Action),
    Publish {
        job: u64,
        room: Name,
        expected: Sequence,
        frame: Frame,
        /// The world of a snapshot, which is stored before its frame.
        object: Option<World>,
    },
    ReadFrame {
        job: u64,
        room: Name,
        sequence: Sequence,
    },
    ReadBounds {
        job: u64,
        room: Name,
    },
    ReadEnd {
        job: u64,
        room: Name,
    },
    Load {
        job: u64,
        room: Name,
        through: Sequence,
    },
    Purge {
        room: Name,
        before: Sequence,
    },
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub(in crate::cluster) enum Reply {
    Answer(u64, Answer),
    Published(u64, Stored<Sequence>),
    Frame(u64, Result<Option<Frame>, String>),
    Bounds(u64, Result<(Sequence, Sequence), String>),
    End(u64, Result<(Sequence, Option<Frame>), String>),
    /// `None` if no answer came.
    Loaded(u64, Option<Option<Loaded>>),
}

impl Request {
    fn is_write(&self) -> bool {
        matches!(
            self,
            Request::Publish { .. } | Request::Action(_, Action::WriteServer(..) | Action::WriteRoom(..))
        )
    }
}

impl Life<'_> {
    /// Sends a request to NATS.
    pub(in crate::cluster) fn request(&mut self, process: Process, request: Request) {
        let (is_calm, deadline) = (self.is_calm(), self.now + REQUEST_US);
        let is_cut = self.places[usize::from(process.0)].cut_until > self.now;
        let mut arrives = self.now + self.latency();
        if self.slow.0 > self.now {
            arrives += self.slow.1;
        }
        // Very late requests are carried out although their sender has given up.
        if !is_calm && self.random.percent(1) {
            arrives += self.random.below(1_500 * MS);
        }
        let mut is_lost = is_cut;
        if self.down_until > arrives {
            is_lost |= self.random.percent(50);
            arrives = self.down_until + self.latency();
        }
        let is_room_update = matches!(&request, Request::Action(_, Action::WriteRoom(..)));
        if is_room_update && self.rooms_down_until > arrives {
            is_lost |= self.random.percent(50);
            arrives = self.rooms_down_until + self.latency();
        }
        let is_answer_lost = !is_calm && self.random.percent(self.script.lost_answers);
        let answer_at =
            Some(arrives + self.latency()).filter(|at| !is_answer_lost && !is_lost && *at <= deadline);
        let is_refused = request.is_write() && self.full_until > arrives;
        if (answer_at.is_none() || is_refused)
            && let Some(reply) = failed(&request)
        {
            self.push(answer_at.unwrap_or(deadline), Event::Reply { process, reply });
        }
        if !is_lost && !is_refused {
            self.push(arrives, Event::Execute { process, request, answer_at });
        }
    }

    /// NATS carries out a request.
    pub(in crate::cluster) fn execute(&mut self, process: Process, request: Request, answer_at: Option<u64>) {
        let reply = match request {
            Request::Action(number, action) => Reply::Answer(number, self.execute_action(action)),
            Request::Publish { job, room, expected, frame, object } => {
                if let Some(world) = object {
                    self.jetstream.put_object(room, frame.epoch(), world);
                }
                let stored = self.jetstream.append(room, expected, frame.clone());
                if let Stored::Yes(sequence) = stored {
                    self.checker.stored(room, sequence, &frame);
                }
                Reply::Published(job, stored)
            }
            Request::ReadFrame { job, room, sequence } => {
                let age = self.age();
                Reply::Frame(job, Ok(self.jetstream.frame(room, sequence, age)))
            }
            Request::ReadBounds { job, room } => {
                let age = self.age();
                Reply::Bounds(job, Ok(self.jetstream.bounds(room, age)))
            }
            Request::ReadEnd { job, room } => {
                let age = self.age();
                Reply::End(job, Ok(self.jetstream.end(room, age)))
            }
            Request::Load { job, room, through } => {
                Reply::Loaded(job, Some(self.jetstream.load(room, through)))
            }
            Request::Purge { room, before } => return self.jetstream.purge_before(room, before),
        };
        if let Some(at) = answer_at {
            self.push(at, Event::Reply { process, reply });
        }
    }

    fn execute_action(&mut self, action: Action) -> Answer {
        match action {
            Action::ReadServers => {
                let keys = self.jetstream.servers.keys();
                let found = keys.into_iter().filter_map(|name| {
                    let age = self.age();
                    self.jetstream.servers.read(name, age)
                });
                Answer::Servers(Ok(found.collect()))
            }
            Action::ReadServer(name) => {
                let age = self.age();
                Answer::Server(Ok(self.jetstream.servers.read(name, age)))
            }
            Action::WriteServer(entry, expected) => {
                Answer::Stored(self.jetstream.servers.update(entry.id.name, expected, entry))
            }
            Action::ReadRoom(room) => {
                let age = self.age();
                Answer::Room(Ok(self.jetstream.rooms.read(room, age)))
            }
            Action::WriteRoom(room, entry, expected) => {
                Answer::Stored(self.jetstream.rooms.update(room, expected, entry))
            }
            // Reading a snapshot early changes nothing but the duration of a move.
            _ => Answer::Done(Ok(())),
        }
    }

    /// The number of updates by which a read is old.
    fn age(&mut self) -> usize {
        if self.random.percent(self.script.stale_reads) { 1 + self.random.below(3) as usize } else { 0 }
    }
}

/// The answer that a driver gives when NATS does not answer in time, or refuses to store.
fn failed(request: &Request) -> Option<Reply> {
    let late = || "no answer came in time".to_owned();
    Some(match request {
        Request::Action(number, action) => {
            let answer = match action {
                Action::ReadServers => Answer::Servers(Err(late())),
                Action::ReadServer(_) => Answer::Server(Err(late())),
                Action::ReadRoom(_) => Answer::Room(Err(late())),
                Action::WriteServer(..) | Action::WriteRoom(..) => Answer::Stored(Stored::Unknown(late())),
                _ => Answer::Done(Err(late())),
            };
            Reply::Answer(*number, answer)
        }
        Request::Publish { job, .. } => Reply::Published(*job, Stored::Unknown(late())),
        Request::ReadFrame { job, .. } => Reply::Frame(*job, Err(late())),
        Request::ReadBounds { job, .. } => Reply::Bounds(*job, Err(late())),
        Request::ReadEnd { job, .. } => Reply::End(*job, Err(late())),
        Request::Load { job, .. } => Reply::Loaded(*job, None),
        Request::Purge { .. } => return None,
    })
}
