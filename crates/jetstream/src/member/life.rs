//! The life of a server in the directory: its entry, the renewals of its lease, and its reads of the entries of other servers.

use std::sync::Arc;
use std::time::Duration;

use nowcast_cluster::{Name, Release, ServerEntry, ServerId, ServerPhase, surely_after};

use super::{Inner, TRIES};
use crate::directory::read_server;
use crate::{ChangeError, ClusterError, clock};

/// The lease is renewed this many times within its duration.
const RENEWALS: u32 = 4;

/// The directory is read this many times within the duration of a lease, and when the lease of a server is over.
const LOOKS: u32 = 8;

/// Time after the end of a lease at which the directory is read. Timers have whole milliseconds.
const END_SLACK: Duration = Duration::from_millis(2);

impl Inner {
    /// Waits until the lease of the last process with this name is surely over. If the lease is renewed during the wait, it
    /// belongs to a running process.
    pub(super) async fn wait_for_last_life(&self) -> Result<(), ClusterError> {
        let name = self.options.name;
        let Some(entry) = self.servers.get(name.as_str()).await? else { return Ok(()) };
        let last = entry.value.as_ref().map(|value| read_server(value)).transpose()?;
        let Some(last) = last.filter(|last| last.phase != ServerPhase::Dead) else { return Ok(()) };
        tokio::time::sleep(surely_after(last.lease)).await;
        let renewed = self.servers.get(name.as_str()).await?;
        if renewed.is_some_and(|renewed| renewed.revision != entry.revision) {
            return Err(ClusterError::NameTaken { name: name.to_string() });
        }
        Ok(())
    }

    /// Enters the directory with the next incarnation.
    pub(super) async fn enter(&self) -> Result<(), ClusterError> {
        let name = self.options.name;
        for _ in 0..TRIES {
            let entry = self.servers.get(name.as_str()).await?;
            let replaces = entry.as_ref().map_or(0, |entry| entry.revision);
            let before = entry.and_then(|entry| entry.value).map(|value| read_server(&value)).transpose()?;
            let id = ServerId { name, incarnation: before.map_or(0, |before| before.id.incarnation) + 1 };
            let sent = clock::now();
            match self.servers.set(name.as_str(), self.entry(id, None), replaces).await {
                Ok(revision) => {
                    let mut state = self.lock();
                    (state.id, state.revision) = (id, revision);
                    state.leases.renewed(sent);
                    return Ok(());
                }
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error),
            }
        }
        Err(ClusterError::NameTaken { name: name.to_string() })
    }

    /// The bytes of this server's entry, in its current phase or in another phase.
    fn entry(&self, id: ServerId, phase: Option<ServerPhase>) -> Vec<u8> {
        let state = self.lock();
        let entry = ServerEntry {
            id,
            phase: phase.unwrap_or(state.phase),
            release: Release::CURRENT,
            lease: self.options.lease,
            link_address: "".into(),
            client_address: self.options.client_address.as_str().into(),
            tags: self.options.tags.clone(),
            load: state.load,
        };
        let mut bytes = Vec::new();
        entry.encode(&mut bytes);
        bytes
    }

    /// Renews the lease. If another server has ended this life, or another process has the name, the rooms are lost, and
    /// the server enters again.
    pub(super) async fn renew(self: Arc<Self>) {
        let mut renewals = tokio::time::interval(self.options.lease / RENEWALS);
        renewals.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            renewals.tick().await;
            let (id, replaces) = {
                let state = self.lock();
                if state.phase == ServerPhase::Dead {
                    return;
                }
                (state.id, state.revision)
            };
            let sent = clock::now();
            match self.servers.set(self.options.name.as_str(), self.entry(id, None), replaces).await {
                Ok(revision) => {
                    // Nobody has ended this life, so nobody has taken a room.
                    let mut state = self.lock();
                    state.revision = revision;
                    state.leases.renewed(sent);
                }
                Err(ChangeError::Conflict) => self.find_conflict(id).await,
                // The lease ends by itself.
                Err(ChangeError::Failed(_)) => {}
            }
        }
    }

    /// Finds out why a renewal was refused.
    async fn find_conflict(&self, id: ServerId) {
        let Ok(Some(entry)) = self.servers.get(self.options.name.as_str()).await else { return };
        let Some(Ok(found)) = entry.value.map(|value| read_server(&value)) else { return };
        if found.id == id && found.phase != ServerPhase::Dead {
            // An earlier renewal was made although its answer was lost.
            self.lock().revision = entry.revision;
            return;
        }
        {
            let mut state = self.lock();
            let owned = std::mem::take(&mut state.owned);
            state.lost.extend(owned);
            state.leases.end(clock::now());
        }
        // If another process runs under this name, that process keeps the name. The rooms of this server are lost, and its
        // clients move.
        if found.phase == ServerPhase::Dead {
            let _ = self.enter().await;
        }
    }

    /// Reads the directory repeatedly, for hints, and when the lease of a server is over.
    pub(super) async fn watch(self: Arc<Self>) {
        let interval = self.options.lease / LOOKS;
        loop {
            let began = tokio::time::Instant::now();
            // Without an answer, all entries stay as they were seen.
            let _ = self.look().await;
            let end = self.lock().leases.next_end(clock::now()).map(|left| left + END_SLACK);
            let next = tokio::time::Instant::now() + end.unwrap_or(interval);
            tokio::time::sleep_until(next.min(began + interval)).await;
        }
    }

    /// Reads the entries of all servers.
    pub(super) async fn look(&self) -> Result<(), ClusterError> {
        let began = clock::now();
        let listed = self.servers.list().await?;
        let found = listed.into_iter().filter_map(|(key, value, revision)| {
            Some((Name::new(&key).ok()?, read_server(&value).ok()?, revision))
        });
        self.lock().leases.looked(began, clock::now(), found);
        Ok(())
    }

    /// Says in the directory that this life of the server is over.
    pub(super) async fn end(&self) {
        let (id, revision) = {
            let mut state = self.lock();
            let owned = std::mem::take(&mut state.owned);
            state.lost.extend(owned);
            state.leases.end(clock::now());
            if std::mem::replace(&mut state.phase, ServerPhase::Dead) == ServerPhase::Dead {
                return;
            }
            (state.id, state.revision)
        };
        // If the entry has another revision, another process has the name.
        let bytes = self.entry(id, Some(ServerPhase::Dead));
        let _ = self.servers.set(self.options.name.as_str(), bytes, revision).await;
    }
}
