//! The store of a server: claims, appends and loads of journals. Each has one request under way.

use nowcast_cluster::{Append, AppendStep, Claim, ClaimStep, Claimed, Frame, Name, Sequence, Time};

use super::{Phase, Server};
use crate::cluster::checker::Checker;
use crate::cluster::jetstream::Loaded;
use crate::cluster::life::requests::{Reply, Request};

/// Attempts of a store to claim or to load, while NATS does not answer.
const TRIES: u32 = 4;

/// Work of the store for one journal. It has one request under way.
#[derive(Debug)]
pub(super) struct Job {
    room: Name,
    /// The claim, and the action of the node that waits for it; `None` for the writer of a room.
    claim: Option<(Claim, u64)>,
    append: Option<Append>,
    tries: u32,
}

impl Server {
    pub(super) fn begin_job(&mut self, room: Name, claim: Option<(Claim, u64)>) -> u64 {
        self.last_job += 1;
        self.jobs.insert(self.last_job, Job { room, claim, append: None, tries: TRIES });
        self.drive(self.last_job);
        self.last_job
    }

    pub(super) fn begin_load(&mut self, room: Name) {
        self.last_job += 1;
        let Some(thread) = self.threads.get_mut(&room) else { return };
        thread.job = Some(self.last_job);
        self.jobs.insert(self.last_job, Job { room, claim: None, append: None, tries: TRIES });
        let through = thread.last;
        self.effects.requests.push(Request::Load { job: self.last_job, room, through });
    }

    /// Begins to write the next record of each room.
    pub(super) fn write_records(&mut self) {
        let rooms: Vec<Name> = self.threads.keys().copied().collect();
        for room in rooms {
            let Some(thread) = self.threads.get_mut(&room) else { continue };
            if thread.job.is_none() && !thread.is_fenced && !thread.records.is_empty() {
                self.last_job += 1;
                thread.job = Some(self.last_job);
                let append = Some(Append::new(thread.last).with(self.node.config().faults));
                self.jobs.insert(self.last_job, Job { room, claim: None, append, tries: 0 });
                self.drive(self.last_job);
            }
        }
    }

    /// Sends the next request of a job.
    fn drive(&mut self, number: u64) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        let room = job.room;
        let request = match (&mut job.claim, &mut job.append) {
            (claim, Some(append)) => match append.next() {
                AppendStep::Publish(expected) => {
                    let (frame, object) = match claim {
                        Some((claim, _)) => match claim.next() {
                            ClaimStep::Append(head, _) => (Frame::Head(head.clone()), None),
                            _ => return,
                        },
                        None => match self.threads.get(&room).and_then(|thread| thread.records.front()) {
                            Some(record) => (record.frame.clone(), record.object),
                            None => return,
                        },
                    };
                    Request::Publish { job: number, room, expected: *expected, frame, object }
                }
                AppendStep::Read(sequence) => Request::ReadFrame { job: number, room, sequence: *sequence },
                AppendStep::ReadBounds => Request::ReadBounds { job: number, room },
                end => {
                    let end = end.clone();
                    return self.end_append(number, &end);
                }
            },
            (Some((claim, _)), None) => match claim.next() {
                ClaimStep::ReadEnd => Request::ReadEnd { job: number, room },
                ClaimStep::Append(_, last) => {
                    job.append = Some(Append::new(*last));
                    return self.drive(number);
                }
                _ => return self.end_claim(number),
            },
            (None, None) => return,
        };
        self.effects.requests.push(request);
    }

    fn end_append(&mut self, number: u64, end: &AppendStep) {
        let Some(job) = self.jobs.get_mut(&number) else { return };
        if let Some((claim, _)) = &mut job.claim {
            claim.handle_appended(end);
            job.append = None;
            return self.drive(number);
        }
        match end {
            AppendStep::Stored(sequence) => {
                let room = job.room;
                self.jobs.remove(&number);
                let Some(thread) = self.threads.get_mut(&room).filter(|thread| thread.job == Some(number))
                else {
                    return;
                };
                thread.job = None;
                if let Some(before) = thread.keep(*sequence) {
                    self.effects.requests.push(Request::Purge { room, before });
                }
            }
            AppendStep::Fenced => {
                let job = self.jobs.remove(&number);
                if let Some(thread) = job.and_then(|job| self.threads.get_mut(&job.room))
                    && thread.job == Some(number)
                {
                    (thread.is_fenced, thread.job) = (true, None);
                    thread.records.clear();
                }
            }
            _ => self.effects.pauses.push(number),
        }
    }

    fn end_claim(&mut self, number: u64) {
        let Some(Job { room, claim: Some((claim, action)), .. }) = self.jobs.remove(&number) else { return };
        let claimed = match claim.next() {
            ClaimStep::Owned(_, sequence) => {
                self.heads.insert(room, *sequence);
                Claimed::Owned
            }
            ClaimStep::Fenced => Claimed::Fenced,
            ClaimStep::Failed(cause) => Claimed::Failed(cause.clone()),
            ClaimStep::ReadEnd | ClaimStep::Append(..) => return,
        };
        self.claimed.push((action, claimed));
    }

    /// A job continues after a pause.
    pub(in crate::cluster) fn resume(&mut self, number: u64) {
        if let Some(append) = self.jobs.get_mut(&number).and_then(|job| job.append.as_mut()) {
            append.retry();
        }
        self.drive(number);
    }

    /// Handles the answer to a request.
    pub(in crate::cluster) fn handle_reply(&mut self, now: Time, reply: Reply, checker: &mut Checker) {
        let number = match reply {
            Reply::Answer(number, answer) => return self.node.handle_answer(now, number, answer),
            Reply::Loaded(number, loaded) => return self.handle_loaded(now, number, loaded, checker),
            Reply::Published(number, ref stored) => {
                if let Some(append) = self.append(number) {
                    append.handle_published(stored.clone());
                }
                number
            }
            Reply::Frame(number, found) => {
                let own = self.jobs.get(&number).and_then(|job| match &job.claim {
                    Some((claim, _)) => match claim.next() {
                        ClaimStep::Append(head, _) => Some(Frame::Head(head.clone())),
                        _ => None,
                    },
                    None => Some(self.threads.get(&job.room)?.records.front()?.frame.clone()),
                });
                let found = found.map(|found| found.map(|found| Some(found) == own));
                if let Some(append) = self.append(number) {
                    append.handle_frame(found);
                }
                number
            }
            Reply::Bounds(number, bounds) => {
                if let Some(append) = self.append(number) {
                    append.handle_bounds(bounds);
                }
                number
            }
            Reply::End(number, end) => {
                self.handle_end(number, end);
                number
            }
        };
        self.drive(number);
    }

    fn append(&mut self, number: u64) -> Option<&mut Append> {
        self.jobs.get_mut(&number).and_then(|job| job.append.as_mut())
    }

    fn handle_end(&mut self, number: u64, end: Result<(Sequence, Option<Frame>), String>) {
        let Some(Job { claim: Some((claim, action)), tries, .. }) = self.jobs.get_mut(&number) else {
            return;
        };
        match end {
            Ok((last, newest)) => claim.handle_end(last, newest.as_ref()),
            Err(cause) => {
                *tries -= 1;
                if *tries == 0 {
                    let action = *action;
                    self.jobs.remove(&number);
                    self.claimed.push((action, Claimed::Failed(cause)));
                }
            }
        }
    }

    fn handle_loaded(
        &mut self,
        now: Time,
        number: u64,
        loaded: Option<Option<Loaded>>,
        checker: &mut Checker,
    ) {
        let Some(job) = self.jobs.remove(&number) else { return };
        let room = job.room;
        let Some(thread) = self.threads.get_mut(&room).filter(|thread| thread.job == Some(number)) else {
            return;
        };
        thread.job = None;
        let Some(loaded) = loaded else { return self.begin_load(room) };
        let Some(Loaded { world, number }) = loaded else { return drop(self.threads.remove(&room)) };
        (thread.world, thread.durable, thread.number, thread.phase) = (world, world, number, Phase::Running);
        let is_moved = !self.node.opened(now, room).is_zero();
        checker.runs(room, self.process, thread.epoch, &world, is_moved);
    }
}
