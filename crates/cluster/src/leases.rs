//! The lease of this server, and the leases of the others as this server sees them.
//!
//! The holder counts a lease from the time at which it sent the renewal. All others count it from the time at which they first
//! saw the renewal. All times are on this server's clock.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::Config;
use crate::entry::{ServerEntry, ServerPhase};
use crate::mutant::Mutant;
use crate::name::{Name, Revision, ServerId};
use crate::time::{Time, surely_after, surely_within};

/// The entry of a server, with its revision and the time at which that revision was first seen.
#[derive(Clone, Debug)]
struct Seen {
    entry: ServerEntry,
    revision: Revision,
    since: Time,
}

/// A server that holds a room, as another server sees it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Holder {
    /// Its life is certainly over: it has ended, or the server has started again. Both are final, so even an old read of the
    /// directory proves it.
    Over,
    /// Its lease may be valid.
    MayLive,
    /// Its lease was not renewed in time. A compare-and-set of this entry at this revision ends its life.
    Lapsed(ServerEntry, Revision),
    /// The directory did not show this start of the server yet, because the read was old.
    Unknown,
}

/// All leases.
#[derive(Debug)]
pub(crate) struct Leases {
    config: Config,
    /// The end of this server's lease.
    until: Time,
    servers: BTreeMap<Name, Seen>,
    /// The time since which the directory was read without a gap. No server counts as dead before a whole lease was observed.
    observing_since: Time,
    /// The time of the newest read of the directory.
    looked_at: Time,
}

impl Leases {
    /// Creates the leases of a server that has none yet.
    pub(crate) fn new(config: Config, now: Time) -> Leases {
        Leases { config, until: now, servers: BTreeMap::new(), observing_since: now, looked_at: now }
    }

    /// Whether this server's lease covers a moment.
    pub(crate) fn covers(&self, now: Time) -> bool {
        now < self.until || (self.until > Time::default() && self.config.has(Mutant::IgnoreLease))
    }

    /// Records that a renewal was acknowledged, which was sent at the given time.
    pub(crate) fn renewed(&mut self, sent: Time) {
        self.until = self.until.max(sent + surely_within(self.config.lease));
    }

    /// Ends this server's lease.
    pub(crate) fn end(&mut self) {
        self.until = Time::default();
    }

    /// Records the entries of a read of the directory that began at the given time.
    pub(crate) fn looked(
        &mut self,
        began: Time,
        now: Time,
        found: impl IntoIterator<Item = (Revision, ServerEntry)>,
    ) {
        // After a time without answers, all leases are observed from the beginning.
        if began.since(self.looked_at) > self.config.lease / 2 {
            self.observing_since = now;
        }
        self.looked_at = self.looked_at.max(began);
        for (revision, entry) in found {
            if self.servers.get(&entry.id.name).is_none_or(|seen| seen.revision < revision) {
                self.servers.insert(entry.id.name, Seen { entry, revision, since: now });
            }
        }
    }

    /// Returns the time at which the first lease of a server is over, unless the server renews it. A look at that time finds the
    /// end at once. `None` if no lease ends later than now.
    pub(crate) fn next_end(&self, now: Time) -> Option<Time> {
        let living = self.servers.values().filter(|seen| self.may_live(seen));
        let ends = living.map(|seen| seen.since.max(self.observing_since) + self.wait(seen.entry.lease()));
        ends.filter(|end| *end > now).min()
    }

    /// The newest entries of all servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &ServerEntry> {
        self.servers.values().map(|seen| &seen.entry)
    }

    /// The entries of the servers whose leases may still be valid.
    pub(crate) fn living(&self) -> impl Iterator<Item = &ServerEntry> {
        self.servers.values().filter(|seen| self.may_live(seen)).map(|seen| &seen.entry)
    }

    /// Returns the entry of a server whose lease may still be valid.
    pub(crate) fn living_server(&self, id: ServerId) -> Option<&ServerEntry> {
        self.living().find(|entry| entry.id == id)
    }

    /// The state of a server that holds a room.
    pub(crate) fn holder(&self, id: ServerId) -> Holder {
        let Some(seen) = self.servers.get(&id.name) else { return Holder::Unknown };
        let (entry, revision) = (&seen.entry, seen.revision);
        match entry.id.incarnation.cmp(&id.incarnation) {
            Ordering::Greater => Holder::Over,
            Ordering::Less => Holder::Unknown,
            Ordering::Equal if entry.phase == ServerPhase::Dead => Holder::Over,
            Ordering::Equal if self.may_live(seen) => Holder::MayLive,
            Ordering::Equal => {
                Holder::Lapsed(ServerEntry { phase: ServerPhase::Dead, ..entry.clone() }, revision)
            }
        }
    }

    fn may_live(&self, seen: &Seen) -> bool {
        let observed = self.looked_at.since(seen.since.max(self.observing_since));
        seen.entry.phase != ServerPhase::Dead && observed < self.wait(seen.entry.lease())
    }

    /// Time after which a lease is certainly over if its revision has not changed.
    fn wait(&self, lease: Duration) -> Duration {
        if self.config.has(Mutant::ClaimEarly) { lease / 16 } else { surely_after(lease) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::Load;
    use crate::release::Release;

    const LEASE: Duration = Duration::from_millis(2_000);

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn leases() -> Leases {
        Leases::new(Config { lease: LEASE, ..Config::new(north().name) }, at(0))
    }

    fn north() -> ServerId {
        ServerId { name: Name::new("north").expect("the name is valid"), incarnation: 1 }
    }

    fn entry(phase: ServerPhase) -> ServerEntry {
        ServerEntry {
            id: north(),
            phase,
            release: Release::CURRENT,
            lease_ms: 2_000,
            client_address: "".into(),
            tags: Vec::new(),
            load: Load::default(),
        }
    }

    fn look(leases: &mut Leases, millis: u64, revision: u64) {
        let found = [(Revision(revision), entry(ServerPhase::Serving))];
        leases.looked(at(millis), at(millis), found);
    }

    #[test]
    fn a_machine_that_slept_finds_its_lease_over() {
        let mut leases = leases();
        assert!(!leases.covers(at(0)));
        leases.renewed(at(100));
        assert!(leases.covers(at(2_000)));
        // The clock went on during the sleep.
        assert!(!leases.covers(at(60_000)));
        leases.renewed(at(60_000));
        leases.end();
        assert!(!leases.covers(at(60_010)));
    }

    #[test]
    fn a_server_lives_until_a_whole_lease_was_observed_without_a_renewal() {
        let mut leases = leases();
        (0..=2_000).step_by(250).for_each(|millis| look(&mut leases, millis, 1));
        assert!(leases.living_server(north()).is_some());
        look(&mut leases, 2_010, 1);
        assert!(leases.living_server(north()).is_none() && leases.living().next().is_none());
        look(&mut leases, 2_020, 2);
        assert!(leases.living_server(north()).is_some(), "the server has renewed its lease");
        let other = ServerId { incarnation: 2, ..north() };
        assert!(leases.living_server(other).is_none(), "another start of the server is not known");
    }

    #[test]
    fn a_look_at_the_next_end_finds_the_server_dead() {
        let mut leases = leases();
        assert_eq!(leases.next_end(at(0)), None);
        look(&mut leases, 100, 1);
        (350..=1_850).step_by(250).for_each(|millis| look(&mut leases, millis, 1));
        let end = leases.next_end(at(1_850)).expect("the server lives");
        assert!(end > at(2_100) && end < at(2_110), "{end:?}");
        leases.looked(end, end, []);
        assert!(leases.living_server(north()).is_none());
        assert_eq!(leases.next_end(end), None);
        // A read that failed has not found the end, and is not repeated without a pause.
        look(&mut leases, 2_200, 2);
        assert_eq!(leases.next_end(at(9_000)), None);
    }

    #[test]
    fn an_observer_that_did_not_look_for_some_time_observes_a_whole_lease_again() {
        let mut leases = leases();
        look(&mut leases, 0, 1);
        look(&mut leases, 10_000, 1);
        assert!(leases.living_server(north()).is_some());
        (10_250..=12_000).step_by(250).for_each(|millis| look(&mut leases, millis, 1));
        assert!(leases.living_server(north()).is_some());
        look(&mut leases, 12_010, 1);
        assert!(leases.living_server(north()).is_none());
    }

    #[test]
    fn a_server_that_ended_its_life_is_dead_at_once() {
        let mut leases = leases();
        leases.looked(at(0), at(0), [(Revision(1), entry(ServerPhase::Dead))]);
        assert!(leases.living_server(north()).is_none());
        assert_eq!((leases.holder(north()), leases.servers().count()), (Holder::Over, 1));
    }

    #[test]
    fn a_start_that_an_old_read_does_not_show_is_not_over() {
        let mut leases = leases();
        assert_eq!(leases.holder(north()), Holder::Unknown);
        look(&mut leases, 0, 1);
        let next = ServerId { incarnation: 2, ..north() };
        assert_eq!((leases.holder(north()), leases.holder(next)), (Holder::MayLive, Holder::Unknown));
        (250..=2_250).step_by(250).for_each(|millis| look(&mut leases, millis, 1));
        assert_eq!(leases.holder(north()), Holder::Lapsed(entry(ServerPhase::Dead), Revision(1)));
    }
}
