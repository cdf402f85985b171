//! One server as a member of the cluster: its lease, and its view of the other servers.
//!
//! **The one invariant**: a lease is over for its holder before it is over for anybody else. The holder counts from the time at
//! which it *sent* a renewal that was acknowledged. Others count from the time at which they *saw* the entry's revision, and end
//! the lease by an update that expects this revision. Each uses only its own monotonic clock.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::config::Config;
use crate::entry::{Load, ServerEntry, ServerPhase};
use crate::mutant::Mutant;
use crate::name::{Name, Revision, ServerId};
use crate::release::ReleasesApart;
use crate::time::{Time, surely_after, surely_within};

/// A request to the bucket of servers.
#[derive(Clone, PartialEq, Debug)]
pub enum ServerRequest {
    /// Reads the entry of a server.
    Read {
        /// The name of the server.
        name: Name,
    },
    /// Updates the entry of a server, or creates it if `expected` is 0.
    Update {
        /// The new entry.
        entry: ServerEntry,
        /// The revision that the update replaces.
        expected: Revision,
    },
}

/// The outcome of an update or an append.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stored<T> {
    /// It is stored, with this number.
    Yes(T),
    /// It is not stored, because the expected number is not the last one.
    Refused,
    /// No answer came in time, or the answer was another error. It may be stored, now or later.
    Unknown,
}

/// The member's own life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Life {
    /// The entry under this server's name is being read.
    Reading,
    /// An earlier start under this name may still run. Its lease must end first.
    Waiting { revision: Revision, incarnation: u64, lease: Duration, since: Time },
    /// This server's first entry is being written.
    Entering { incarnation: u64 },
    /// The server is a member.
    Member { id: ServerId, revision: Revision },
    /// Another server ended this one, or it left.
    Ended,
}

/// Another server.
#[derive(Clone, Debug)]
struct Seen {
    revision: Revision,
    entry: ServerEntry,
    /// The time at which this revision was first seen, or at which the observation began anew.
    since: Time,
    /// Whether a request for the entry is under way.
    is_asked: bool,
}

/// One server as a member of the cluster.
///
/// Call [`handle_timeout`](Member::handle_timeout) when [`poll_timeout`](Member::poll_timeout) is due, send all requests of
/// [`poll_request`](Member::poll_request), and pass each answer back exactly once.
#[derive(Debug)]
pub struct Member {
    name: Name,
    config: Config,
    life: Life,
    is_draining: bool,
    is_leaving: bool,
    /// The end of this server's lease.
    held_until: Time,
    /// The time of the next renewal or read, if no request for this server's entry is under way.
    next_at: Option<Time>,
    /// The time at which the renewal under way was sent.
    sent_at: Time,
    others: BTreeMap<Name, Seen>,
    requests: VecDeque<ServerRequest>,
    refused: Option<ReleasesApart>,
}

impl Member {
    /// Begins to join the cluster under a name.
    #[must_use]
    pub fn new(now: Time, name: Name, config: Config) -> Member {
        Member {
            name,
            config,
            life: Life::Reading,
            is_draining: false,
            is_leaving: false,
            held_until: Time::default(),
            next_at: None,
            sent_at: now,
            others: BTreeMap::new(),
            requests: VecDeque::from([ServerRequest::Read { name }]),
            refused: None,
        }
    }

    /// The ID of this start, once the server is a member.
    #[must_use]
    pub fn id(&self) -> Option<ServerId> {
        if let Life::Member { id, .. } = self.life { Some(id) } else { None }
    }

    /// Whether the server's life in the cluster is over. All its rooms end, and only a new [`Member`] can join again.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.life == Life::Ended
    }

    /// Whether the lease lasts, so that the server may show states, confirm and claim.
    #[must_use]
    pub fn covers(&self, now: Time) -> bool {
        self.id().is_some() && (now < self.held_until || self.config.has(Mutant::IgnoreLease))
    }

    /// Whether the server takes rooms.
    #[must_use]
    pub fn may_take(&self, now: Time) -> bool {
        self.covers(now) && !self.is_draining && !self.is_leaving && self.refused.is_none()
    }

    /// Whether a life of a server is over for certain. A stale view cannot make it true too early, because neither an ended life
    /// nor a later start can be undone.
    #[must_use]
    pub fn is_over(&self, id: ServerId) -> bool {
        if id.name == self.name {
            return self.id().is_some_and(|own| own.incarnation > id.incarnation);
        }
        self.others.get(&id.name).is_some_and(|seen| {
            let newest = &seen.entry;
            newest.id.incarnation > id.incarnation
                || (newest.id.incarnation == id.incarnation && newest.phase == ServerPhase::Dead)
        })
    }

    /// The servers that are not known to be dead, and this one.
    pub fn servers(&self) -> impl Iterator<Item = ServerEntry> + '_ {
        let own = self.id().map(|id| self.entry(id, ServerPhase::Serving));
        let others = self.others.values().map(|seen| &seen.entry);
        own.into_iter().chain(others.filter(|entry| entry.phase != ServerPhase::Dead).cloned())
    }

    /// The releases that are too far apart, if a server of such a release was seen. While such a server is known, this
    /// server takes no rooms.
    #[must_use]
    pub fn refused(&self) -> Option<ReleasesApart> {
        self.refused
    }

    /// Begins or ends draining. The next renewal, which is sent at once, reports it.
    pub fn set_draining(&mut self, now: Time, is_draining: bool) {
        self.is_draining = is_draining;
        self.next_at = self.next_at.map(|_| now);
    }

    /// Whether the server drains.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.is_draining
    }

    /// Leaves the cluster. The server must have no rooms.
    pub fn leave(&mut self, now: Time) {
        self.is_leaving = true;
        self.next_at = self.next_at.map(|_| now);
    }

    /// Requests the entry of a server that is not known yet.
    pub fn look_up(&mut self, name: Name) {
        if name != self.name && !self.others.contains_key(&name) {
            self.requests.push_back(ServerRequest::Read { name });
        }
    }

    /// Returns the next request.
    pub fn poll_request(&mut self) -> Option<ServerRequest> {
        self.requests.pop_front()
    }

    /// The time at which [`handle_timeout`](Member::handle_timeout) must be called.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let alive =
            self.others.values().filter(|seen| !seen.is_asked && seen.entry.phase != ServerPhase::Dead);
        let ends = alive.map(|seen| seen.since + self.wait(seen.entry.lease));
        self.next_at.into_iter().chain(ends.filter(|_| self.id().is_some())).min()
    }

    /// Handles an entry that was read or watched; `None` if the bucket has no such entry. Entries older than a known one are
    /// ignored.
    pub fn handle_entry(
        &mut self,
        now: Time,
        name: Name,
        found: Option<(Revision, ServerEntry)>,
        is_answer: bool,
    ) {
        if name == self.name {
            if is_answer {
                self.handle_own(now, found);
            }
            return;
        }
        let known = self.others.get_mut(&name);
        let Some((revision, entry)) = found else {
            known.into_iter().for_each(|seen| seen.is_asked &= !is_answer);
            return;
        };
        if entry.phase != ServerPhase::Dead {
            match self.config.release.check_neighbour(entry.release) {
                Ok(()) => {}
                Err(apart) => self.refused = Some(apart),
            }
        }
        match known {
            Some(seen) if seen.revision >= revision => seen.is_asked &= !is_answer,
            Some(seen) => *seen = Seen { revision, entry, since: now, is_asked: seen.is_asked && !is_answer },
            None => drop(self.others.insert(name, Seen { revision, entry, since: now, is_asked: false })),
        }
    }

    /// Handles a read that was not answered in time.
    pub fn handle_unread(&mut self, now: Time, name: Name) {
        if name == self.name {
            self.next_at = Some(now + self.config.lease / 8);
        } else if let Some(seen) = self.others.get_mut(&name) {
            seen.is_asked = false;
        }
    }

    /// Handles the outcome of an update.
    pub fn handle_stored(&mut self, now: Time, name: Name, stored: Stored<Revision>) {
        if name == self.name {
            return self.handle_own_stored(now, stored);
        }
        let Some(seen) = self.others.get_mut(&name) else { return };
        match stored {
            Stored::Yes(revision) if revision > seen.revision => {
                seen.revision = revision;
                seen.entry.phase = ServerPhase::Dead;
                seen.is_asked = false;
            }
            Stored::Yes(_) => seen.is_asked = false,
            Stored::Refused | Stored::Unknown => self.requests.push_back(ServerRequest::Read { name }),
        }
    }

    /// Renews this server's lease, and ends the leases of others that were not renewed.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.next_at.is_some_and(|at| at <= now) {
            self.next_at = None;
            self.continue_life(now);
        }
        let due: Vec<Name> = (self.others.iter())
            .filter(|(_, seen)| !seen.is_asked && seen.entry.phase != ServerPhase::Dead)
            .filter(|(_, seen)| seen.since + self.wait(seen.entry.lease) <= now)
            .map(|(name, _)| *name)
            .collect();
        let judges = self.covers(now);
        for name in due {
            let Some(seen) = self.others.get_mut(&name) else { continue };
            if !judges {
                // A server without a lease does not end the leases of others, and starts to observe them anew.
                seen.since = now;
                continue;
            }
            seen.is_asked = true;
            let entry = ServerEntry { phase: ServerPhase::Dead, ..seen.entry.clone() };
            self.requests.push_back(ServerRequest::Update { entry, expected: seen.revision });
        }
    }

    /// Time after which a lease whose revision did not change is over for certain.
    fn wait(&self, lease: Duration) -> Duration {
        if self.config.has(Mutant::ClaimEarly) { lease / 16 } else { surely_after(lease) }
    }

    fn entry(&self, id: ServerId, phase: ServerPhase) -> ServerEntry {
        ServerEntry {
            id,
            phase: if self.is_draining && phase == ServerPhase::Serving {
                ServerPhase::Draining
            } else {
                phase
            },
            release: self.config.release,
            lease: self.config.lease,
            link_address: self.config.link_address.clone(),
            client_address: self.config.client_address.clone(),
            tags: self.config.tags.clone(),
            load: Load::default(),
        }
    }

    fn write(&mut self, now: Time, incarnation: u64, expected: Revision) {
        let phase = if self.is_leaving { ServerPhase::Dead } else { ServerPhase::Serving };
        let entry = self.entry(ServerId { name: self.name, incarnation }, phase);
        self.sent_at = now;
        self.requests.push_back(ServerRequest::Update { entry, expected });
    }

    fn continue_life(&mut self, now: Time) {
        match self.life {
            Life::Member { id, revision } => self.write(now, id.incarnation, revision),
            Life::Waiting { revision, incarnation, lease, since } if since + surely_after(lease) <= now => {
                self.enter(now, incarnation + 1, revision);
            }
            Life::Reading | Life::Waiting { .. } | Life::Entering { .. } => {
                self.requests.push_back(ServerRequest::Read { name: self.name });
            }
            Life::Ended => {}
        }
    }

    fn enter(&mut self, now: Time, incarnation: u64, expected: Revision) {
        self.life = Life::Entering { incarnation };
        self.write(now, incarnation, expected);
    }

    fn handle_own(&mut self, now: Time, found: Option<(Revision, ServerEntry)>) {
        let soon = now + self.config.lease / 8;
        match (self.life, found) {
            (Life::Member { id, revision }, Some((newer, entry))) if newer > revision => {
                if entry.id != id || entry.phase == ServerPhase::Dead {
                    self.life = Life::Ended;
                    return;
                }
                // An own renewal was stored, and its acknowledgement was lost.
                self.life = Life::Member { id, revision: newer };
                self.next_at = Some(now);
            }
            (Life::Member { .. }, _) => self.next_at = Some(soon),
            (Life::Ended, _) => {}
            // A read of the past changes nothing.
            (Life::Waiting { revision: known, .. }, Some((revision, _))) if known >= revision => {
                self.next_at = Some(soon);
            }
            (Life::Waiting { .. }, None) => self.next_at = Some(soon),
            (_, None) => self.enter(now, 1, Revision(0)),
            (_, Some((revision, entry))) if entry.phase == ServerPhase::Dead => {
                self.enter(now, entry.id.incarnation + 1, revision);
            }
            (_, Some((revision, entry))) => {
                let (incarnation, lease) = (entry.id.incarnation, entry.lease);
                self.life = Life::Waiting { revision, incarnation, lease, since: now };
                self.next_at = Some(soon);
            }
        }
    }

    fn handle_own_stored(&mut self, now: Time, stored: Stored<Revision>) {
        match (self.life, stored) {
            (Life::Member { .. }, Stored::Yes(_)) if self.is_leaving => self.life = Life::Ended,
            (Life::Entering { incarnation }, Stored::Yes(revision)) => {
                self.life = Life::Member { id: ServerId { name: self.name, incarnation }, revision };
                self.hold(now);
            }
            (Life::Member { id, .. }, Stored::Yes(revision)) => {
                self.life = Life::Member { id, revision };
                self.hold(now);
            }
            // The entry may have the own ID now, and it may be that of another process that started under the same name at the
            // same time. So it is never adopted: its lease must end.
            (Life::Entering { .. }, _) => {
                self.life = Life::Reading;
                self.requests.push_back(ServerRequest::Read { name: self.name });
            }
            (Life::Member { .. }, Stored::Refused) => {
                self.requests.push_back(ServerRequest::Read { name: self.name });
            }
            (Life::Member { .. }, Stored::Unknown) => self.next_at = Some(now),
            _ => {}
        }
    }

    /// The renewal under way was acknowledged.
    fn hold(&mut self, now: Time) {
        if now >= self.held_until {
            // The directory could not be reached for a while, perhaps by no server. This time counts against no other server.
            self.others.values_mut().for_each(|seen| seen.since = now);
        }
        self.held_until = self.held_until.max(self.sent_at + surely_within(self.config.lease));
        self.next_at = Some((self.sent_at + self.config.lease / 4).max(now));
    }
}
