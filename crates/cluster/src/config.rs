//! The configuration of a server in a cluster.

use std::sync::Arc;
use std::time::Duration;

use crate::mutant::Mutant;
use crate::name::Name;
use crate::release::Release;

/// The configuration of a server in a cluster.
#[derive(Clone, Debug)]
pub struct Config {
    /// The release of the program.
    pub release: Release,
    /// The duration of the server's lease. A dead server's rooms are taken after this time, and a server that cannot reach the
    /// directory stops to act after it. Renewals are sent four times as often.
    pub lease: Duration,
    /// The address of the server's end of links between servers.
    pub link_address: Arc<str>,
    /// The address to which clients may move; empty if there is none.
    pub client_address: Arc<str>,
    /// The tags of the server.
    pub tags: Arc<[Name]>,
    /// Maximum duration of a hand-over until the source stops.
    pub hand_over_max: Duration,
    /// Maximum duration for which the source of a hand-over stays stopped, until it asks the journal whether it continues.
    pub freeze_max: Duration,
    /// Number of batches after which the owner asks for a snapshot.
    pub snapshot_batches: usize,
    /// The deliberate fault, if a test wants one.
    #[cfg(feature = "mutants")]
    pub mutant: Option<Mutant>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            release: Release::CURRENT,
            lease: Duration::from_secs(2),
            link_address: "".into(),
            client_address: "".into(),
            tags: [].into(),
            hand_over_max: Duration::from_secs(10),
            freeze_max: Duration::from_millis(500),
            snapshot_batches: 256,
            #[cfg(feature = "mutants")]
            mutant: None,
        }
    }
}

impl Config {
    /// Whether a test wants this fault. It is always false without the feature `mutants`.
    pub(crate) fn has(&self, mutant: Mutant) -> bool {
        #[cfg(feature = "mutants")]
        let has = self.mutant == Some(mutant);
        #[cfg(not(feature = "mutants"))]
        let has = {
            let _ = mutant;
            false
        };
        has
    }
}
