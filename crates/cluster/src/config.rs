//! The configuration of a server in a cluster.

use std::sync::Arc;
use std::time::Duration;

use crate::mutant::{Faults, Mutant};
use crate::name::Name;
use crate::release::Release;

/// The default duration of a lease. With a longer one, clients wait longer after a crash. With a shorter one, a server that pauses
/// for a second loses its rooms.
pub const LEASE: Duration = Duration::from_millis(1_500);

/// The configuration of a server in a cluster.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the server. No other running server of the cluster may have it.
    pub name: Name,
    /// The address to which clients move, as the origin of a URL: `http://10.0.0.1:7777`.
    pub client_address: Arc<str>,
    /// The tags of the server.
    pub tags: Arc<[Name]>,
    /// Pairs of a room's name and a tag that the room's server must have. A pair also applies to rooms whose names begin with
    /// that name and `-`. All servers of a cluster must have the same pairs.
    pub requires: Arc<[(String, Name)]>,
    /// The release of the program.
    pub release: Release,
    /// The duration of the server's lease. A dead server's rooms are taken after this time, and a server that cannot reach the
    /// directory stops to act after it. Renewals are sent four times as often.
    pub lease: Duration,
    /// The time limits.
    pub times: Times,
    /// The deliberate faults.
    pub faults: Faults,
}

/// The time limits of a server's work for its rooms.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Maximum time for which taking a room is retried, while the directory does not answer or the server has no lease.
    pub take: Duration,
    /// Pause before a room is taken again.
    pub take_pause: Duration,
    /// Maximum time to find a room's owner. Without an answer, the client is served here or refused.
    pub locate: Duration,
    /// Maximum time for each step of a departing room: to announce the move, to store a snapshot, and to stop.
    pub leave: Duration,
    /// Maximum time until a server answers that it expects a room.
    pub expect: Duration,
    /// Maximum time for which a moving room waits until its clients have connected to the target server.
    pub gather: Duration,
    /// Maximum time in which the target restores the world of a room.
    pub prepare: Duration,
    /// Maximum time until a room runs at its new owner.
    pub begin: Duration,
    /// Maximum time for which a room that is expected waits for its turn.
    pub turn: Duration,
    /// Maximum time for which a move waits until the directory is corrected. Then the move ends, and the correction goes on.
    pub correct: Duration,
    /// Time by which a requesting server waits longer than the answering one.
    pub slack: Duration,
}

impl Default for Times {
    fn default() -> Times {
        Times {
            take: Duration::from_secs(10),
            take_pause: Duration::from_millis(100),
            locate: Duration::from_secs(1),
            leave: Duration::from_secs(15),
            expect: Duration::from_secs(2),
            gather: Duration::from_secs(3),
            prepare: Duration::from_secs(2),
            begin: Duration::from_secs(10),
            turn: Duration::from_secs(20),
            correct: Duration::from_secs(2),
            slack: Duration::from_secs(1),
        }
    }
}

impl Config {
    /// Makes the configuration of a server with a name, and the default for everything else.
    #[must_use]
    pub fn new(name: Name) -> Config {
        Config {
            name,
            client_address: "".into(),
            tags: [].into(),
            requires: [].into(),
            release: Release::CURRENT,
            lease: LEASE,
            times: Times::default(),
            faults: Faults::default(),
        }
    }

    /// The tags that a server of a room must have.
    #[must_use]
    pub fn required_tags(&self, room: Name) -> Vec<Name> {
        let is_of = |rooms: &str| {
            let rest = room.as_str().strip_prefix(rooms);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        self.requires.iter().filter(|(rooms, _)| is_of(rooms)).map(|(_, tag)| *tag).collect()
    }

    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        self.faults.has(mutant)
    }
}
