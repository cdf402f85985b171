//! A server's life in the directory: its entry, its lease renewals, and its reads of other servers' entries.
//!
//! **Invariant**: if clock rates err by at most [`RATE_ERROR_PPM_MAX`](crate::RATE_ERROR_PPM_MAX), a lease is over for its
//! holder before another server ends it. The holder counts from the time at which it *sent* a renewal that was acknowledged.
//! Others count from the time at which they *saw* the entry's revision, and end the lease by an update that expects this
//! revision. Each server reads only its own monotonic clock.

use std::time::Duration;

use super::{Action, Answer, Event, Node, Outcome, Purpose};
use crate::entry::{Load, ServerEntry, ServerPhase};
use crate::journal::Stored;
use crate::mutant::Mutant;
use crate::name::{Name, Revision, ServerId};
use crate::time::{Time, surely_after};

/// The lease is renewed this many times within its duration.
const RENEWALS: u32 = 4;

/// The directory is read this many times within the duration of a lease, and when the lease of a server is over.
const LOOKS: u32 = 8;

/// Time after the end of a lease at which the directory is read. Timers have whole milliseconds.
const END_SLACK: Duration = Duration::from_millis(2);

/// Number of renewals that a starting server sees under its name before it gives up. Old reads can show fewer.
const CHANGES_MAX: u32 = 4;

/// The server's own life.
#[derive(Debug)]
pub(super) struct Life {
    phase: Phase,
    pub(super) id: ServerId,
    revision: Revision,
    /// The time of the next step; `None` while a request for the own entry is under way.
    pub(super) next_at: Option<Time>,
    /// The time at which the write under way was sent.
    sent_at: Time,
    pub(super) load: Load,
    pub(super) is_draining: bool,
    /// The task that reports the end of this life.
    leaving: Option<u64>,
    has_joined: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// The entry under this server's name is being read.
    Reading,
    /// An earlier start under this name may still run. Its lease must end first.
    Waiting { since: Time, changes: u32 },
    /// The entry of this start is being written.
    Entering { incarnation: u64 },
    /// The server is a member.
    Member,
    /// Another process has the name, or this server has left.
    Ended,
}

impl Life {
    pub(super) fn new(now: Time, name: Name) -> Life {
        Life {
            phase: Phase::Reading,
            id: ServerId { name, incarnation: 0 },
            revision: Revision(0),
            next_at: Some(now),
            sent_at: now,
            load: Load::default(),
            is_draining: false,
            leaving: None,
            has_joined: false,
        }
    }

    /// The phase that the next renewal writes.
    pub(super) fn phase_to_show(&self) -> ServerPhase {
        match (self.leaving, self.is_draining) {
            (Some(_), _) => ServerPhase::Dead,
            (None, true) => ServerPhase::Draining,
            (None, false) => ServerPhase::Serving,
        }
    }
}

impl Node {
    /// Whether this server has begun to leave, or another process has its name.
    pub(super) fn has_ended(&self) -> bool {
        self.life.leaving.is_some() || self.life.phase == Phase::Ended
    }

    /// Does what is due for the own entry.
    pub(super) fn continue_life(&mut self, now: Time) {
        if self.life.next_at.is_none_or(|at| at > now) {
            return;
        }
        self.life.next_at = None;
        match self.life.phase {
            Phase::Member => self.write_own(now, self.life.id.incarnation),
            Phase::Reading | Phase::Waiting { .. } | Phase::Entering { .. } => self.read_own(),
            Phase::Ended => {}
        }
    }

    fn read_own(&mut self) {
        let _ = self.act(Purpose::Life, Action::ReadServer(self.config.name));
    }

    fn write_own(&mut self, now: Time, incarnation: u64) {
        self.life.sent_at = now;
        let entry = ServerEntry {
            id: ServerId { incarnation, ..self.life.id },
            phase: self.life.phase_to_show(),
            release: self.config.release,
            lease_ms: self.config.lease.as_millis() as u32,
            client_address: self.config.client_address.clone(),
            tags: self.config.tags.to_vec(),
            load: self.life.load,
        };
        let _ = self.act(Purpose::Life, Action::WriteServer(entry, self.life.revision));
    }

    /// Writes the entry of a new start, which replaces the entry with this revision.
    fn enter(&mut self, now: Time, incarnation: u64, replaces: Revision) {
        self.life.phase = Phase::Entering { incarnation };
        self.life.revision = replaces;
        self.write_own(now, incarnation);
    }

    pub(super) fn handle_own(&mut self, now: Time, answer: Answer) {
        match answer {
            Answer::Server(Ok(found)) => self.handle_own_entry(now, found),
            Answer::Stored(stored) => self.handle_own_stored(now, &stored),
            _ => self.look_again(now),
        }
    }

    fn look_again(&mut self, now: Time) {
        self.life.next_at = Some(now + self.config.lease / LOOKS);
    }

    fn handle_own_entry(&mut self, now: Time, found: Option<(Revision, ServerEntry)>) {
        let known = self.life.revision;
        match (self.life.phase, found) {
            (Phase::Ended, _) => {}
            (Phase::Member, Some((revision, entry))) if revision > known => {
                let is_dead = entry.id != self.life.id || entry.phase == ServerPhase::Dead;
                self.life.revision = revision;
                if is_dead && !self.config.has(Mutant::IgnoreDeath) {
                    self.lose_life(now, &entry);
                } else {
                    // An earlier renewal was made although its answer was lost.
                    self.life.next_at = Some(now);
                }
            }
            (Phase::Reading, None) => self.enter(now, 1, Revision(0)),
            // A read of the past changes nothing.
            (Phase::Member | Phase::Waiting { .. } | Phase::Entering { .. }, None) => self.look_again(now),
            (Phase::Waiting { .. } | Phase::Entering { .. }, Some((revision, _))) if revision < known => {
                self.look_again(now);
            }
            (Phase::Member, Some(_)) => self.look_again(now),
            (phase, Some((revision, entry))) => self.wait_for_name(now, phase, revision, &entry),
        }
    }

    /// Enters as soon as the lease of the last start under this name is over for certain.
    fn wait_for_name(&mut self, now: Time, phase: Phase, revision: Revision, entry: &ServerEntry) {
        let incarnation = entry.id.incarnation;
        if entry.phase == ServerPhase::Dead || self.config.has(Mutant::EnterAtOnce) {
            return self.enter(now, incarnation + 1, revision);
        }
        let (since, changes) = match phase {
            Phase::Waiting { since, changes } if revision == self.life.revision => (since, changes),
            Phase::Waiting { changes, .. } => (now, changes + 1),
            _ => (now, 0),
        };
        let end = since + surely_after(entry.lease());
        self.life.revision = revision;
        if changes >= CHANGES_MAX {
            self.life.phase = Phase::Ended;
            self.events.push_back(Event::NameTaken);
        } else if end <= now {
            self.enter(now, incarnation + 1, revision);
        } else {
            self.life.phase = Phase::Waiting { since, changes };
            self.life.next_at = Some(end.min(now + entry.lease() / RENEWALS));
        }
    }

    fn handle_own_stored(&mut self, now: Time, stored: &Stored<Revision>) {
        match (self.life.phase, stored) {
            (Phase::Entering { incarnation }, Stored::Yes(revision)) => {
                self.life.phase = Phase::Member;
                self.life.id.incarnation = incarnation;
                self.hold(now, *revision);
                self.look_at = Some(now);
            }
            // The entry may have the own ID now, and it may be that of another process that started under the same name at the
            // same time. So it is never adopted: its lease must end.
            (Phase::Entering { .. }, _) => {
                self.life.phase = Phase::Reading;
                self.look_again(now);
            }
            (Phase::Member, Stored::Yes(_) | Stored::Unknown(_)) if self.life.leaving.is_some() => {
                self.left();
            }
            (Phase::Member, Stored::Yes(revision)) => self.hold(now, *revision),
            (Phase::Member, Stored::Refused) => self.read_own(),
            // The lease ends by itself.
            (Phase::Member, Stored::Unknown(_)) => {
                self.life.next_at = Some((self.life.sent_at + self.config.lease / RENEWALS).max(now));
            }
            _ => {}
        }
    }

    /// A renewal was acknowledged. So nobody has ended this life, and nobody has taken a room.
    fn hold(&mut self, now: Time, revision: Revision) {
        let sent = if self.config.has(Mutant::CountFromAnswer) { now } else { self.life.sent_at };
        self.life.revision = revision;
        if self.life.leaving.is_none() {
            self.leases.renewed(sent);
        }
        self.life.next_at = Some((self.life.sent_at + self.config.lease / RENEWALS).max(now));
    }

    /// Another server has ended this life, or another process has the name. The rooms are lost. If another process runs under
    /// this name, that process keeps the name. Otherwise the server enters again.
    fn lose_life(&mut self, now: Time, entry: &ServerEntry) {
        self.owned.clear();
        self.leases.end();
        if self.life.leaving.is_some() {
            self.left();
        } else if entry.phase == ServerPhase::Dead {
            self.enter(now, entry.id.incarnation + 1, self.life.revision);
        } else {
            self.life.phase = Phase::Ended;
        }
    }

    /// Begins to end this life in the directory.
    pub(super) fn end_life(&mut self, now: Time, task: u64) {
        self.owned.clear();
        self.leases.end();
        self.look_at = None;
        self.life.leaving = Some(task);
        if self.life.phase != Phase::Member {
            self.left();
        } else if self.life.next_at.is_some() {
            self.life.next_at = Some(now);
            self.continue_life(now);
        }
    }

    fn left(&mut self) {
        self.life.phase = Phase::Ended;
        self.life.next_at = None;
        let task = self.life.leaving;
        self.events.extend(task.map(|task| Event::Finished(task, Outcome::Left)));
    }

    /// Handles a read of the entries of all servers.
    pub(super) fn handle_look(&mut self, now: Time, began: Time, answer: Answer) {
        // Without an answer, all entries stay as they were seen.
        if let Answer::Servers(Ok(found)) = answer {
            self.leases.looked(began, now, found);
            if !std::mem::replace(&mut self.life.has_joined, true) {
                self.events.push_back(Event::Joined);
            }
        }
        if self.life.leaving.is_none() {
            let interval = began + self.config.lease / LOOKS;
            let end = self.leases.next_end(now).map(|end| end + END_SLACK);
            self.look_at = Some(end.map_or(interval, |end| end.min(interval)).max(now));
        }
    }
}
