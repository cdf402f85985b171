//! The requests of servers to NATS: their delays, losses and late executions, and the watchers of the bucket of servers.

use nowcast_cluster::{
    Answer, Name, Request, Revision, RoomAnswer, RoomRequest, ServerEntry, ServerRequest, Stored, Unanswered,
};

use super::checker::Process;
use super::life::{Event, Life, MS};

/// Time after which a server gives a request up.
const REQUEST_US: u64 = 150 * MS;

impl Life<'_> {
    /// Sends a request to NATS.
    pub(super) fn request(&mut self, process: Process, request: Request) {
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
        let is_room_update =
            matches!(&request, Request::Room { request: RoomRequest::UpdateEntry { .. }, .. });
        if is_room_update && self.rooms_down_until > arrives {
            is_lost |= self.random.percent(50);
            arrives = self.rooms_down_until + self.latency();
        }
        let is_answer_lost = !is_calm && self.random.percent(self.script.lost_answers);
        let answer_at =
            Some(arrives + self.latency()).filter(|at| !is_answer_lost && !is_lost && *at <= deadline);
        if answer_at.is_none()
            && let Some(answer) = unanswered(&request)
        {
            self.push(deadline, Event::Answer { process, answer });
        }
        if !is_lost {
            self.push(arrives, Event::Execute { process, request, answer_at });
        }
    }

    /// NATS carries out a request.
    pub(super) fn execute(&mut self, process: Process, request: Request, answer_at: Option<u64>) {
        let answer = match request {
            Request::Server(ServerRequest::Read { name }) => {
                let age = self.age();
                Answer::Server(name, Ok(self.jetstream.servers.read(name, age)))
            }
            Request::Server(ServerRequest::Update { entry, expected }) => {
                let name = entry.id.name;
                let stored = self.jetstream.servers.update(name, expected, entry.clone());
                if let Stored::Yes(revision) = stored {
                    self.watch(name, revision, &entry);
                }
                Answer::ServerStored(name, stored)
            }
            Request::Locate { room } => {
                let age = self.age();
                Answer::Located(room, Ok(self.jetstream.rooms.read(room, age)))
            }
            Request::Room { room, life, request } => match self.execute_room(room, request) {
                Some(answer) => Answer::Room { room, life, answer },
                None => return,
            },
        };
        if let Some(at) = answer_at {
            self.push(at, Event::Answer { process, answer });
        }
    }

    fn execute_room(&mut self, room: Name, request: RoomRequest) -> Option<RoomAnswer> {
        Some(match request {
            RoomRequest::ReadEntry => {
                let age = self.age();
                RoomAnswer::Entry(Ok(self.jetstream.rooms.read(room, age)))
            }
            RoomRequest::UpdateEntry { entry, expected } => {
                RoomAnswer::EntryStored(self.jetstream.rooms.update(room, expected, entry))
            }
            RoomRequest::ReadJournal { after } => {
                let age = self.age();
                RoomAnswer::Journal(Ok(self.jetstream.read(room, after, age)))
            }
            RoomRequest::Append { frame, expected } => {
                let stored = self.jetstream.append(room, expected, frame.clone());
                if let Stored::Yes(sequence) = stored {
                    self.checker.stored(room, sequence, &frame);
                }
                RoomAnswer::Appended(stored)
            }
            RoomRequest::VerifySnapshot { snapshot } => {
                let world = self.jetstream.object(room, &snapshot);
                RoomAnswer::Verified(world.is_some_and(|world| world.hash == snapshot.hash))
            }
            RoomRequest::Purge { through } => {
                self.jetstream.purge(room, through);
                return None;
            }
        })
    }

    /// The number of updates by which a read is old.
    fn age(&mut self) -> usize {
        if self.random.percent(self.script.stale_reads) { 1 + self.random.below(3) as usize } else { 0 }
    }

    /// Delivers an update to the watchers of the bucket of servers. Some miss it.
    fn watch(&mut self, name: Name, revision: Revision, entry: &ServerEntry) {
        for index in 0..self.places.len() {
            let place = &self.places[index];
            let Some(process) = place.server.as_ref().map(|server| server.process) else { continue };
            if place.name == name || place.cut_until > self.now || self.random.percent(4) {
                continue;
            }
            let at = self.now + self.latency();
            self.push(at, Event::Watch { process, revision, entry: entry.clone() });
        }
    }
}

/// The answer that a driver gives when no answer came in time.
fn unanswered(request: &Request) -> Option<Answer> {
    Some(match request {
        Request::Server(ServerRequest::Read { name }) => Answer::Server(*name, Err(Unanswered)),
        Request::Server(ServerRequest::Update { entry, .. }) => {
            Answer::ServerStored(entry.id.name, Stored::Unknown)
        }
        Request::Locate { room } => Answer::Located(*room, Err(Unanswered)),
        Request::Room { room, life, request } => {
            let answer = match request {
                RoomRequest::ReadEntry => RoomAnswer::Entry(Err(Unanswered)),
                RoomRequest::UpdateEntry { .. } => RoomAnswer::EntryStored(Stored::Unknown),
                RoomRequest::ReadJournal { .. } => RoomAnswer::Journal(Err(Unanswered)),
                RoomRequest::Append { .. } => RoomAnswer::Appended(Stored::Unknown),
                RoomRequest::VerifySnapshot { .. } => RoomAnswer::Verified(false),
                RoomRequest::Purge { .. } => return None,
            };
            Answer::Room { room: *room, life: *life, answer }
        }
    })
}
