//! The rooms of a server in the directory.

use std::sync::Arc;

use nowcast_cluster::{Epoch, Name, Release, ReleasesApart, RoomEntry, ServerEntry, ServerId, ServerPhase};

use super::{Inner, TRIES, TakeError};
use crate::directory::{read_room, room_bytes};
use crate::leases::Seen;
use crate::{ChangeError, ClusterError, clock};

impl Inner {
    /// Checks that the releases of all living servers are neighbours of this one's.
    fn check_releases(&self) -> Result<(), ReleasesApart> {
        let state = self.lock();
        state.leases.living().try_for_each(|entry| Release::CURRENT.check_neighbour(entry.release))
    }

    pub(super) async fn take(&self, room: Name, requires: Arc<[Name]>) -> Result<Epoch, TakeError> {
        if let Some(epoch) = self.take_received(room)? {
            return Ok(epoch);
        }
        let key = room.as_str();
        for _ in 0..TRIES {
            if !self.has_lease() {
                return Err(TakeError::NoLease);
            }
            self.check_releases()?;
            let entry = self.rooms.get(key).await?;
            let replaces = entry.as_ref().map_or(0, |entry| entry.revision);
            let before = entry.and_then(|entry| entry.value).map(|value| read_room(&value)).transpose()?;
            if let Some(before) = &before {
                self.end_holders(before).await?;
            }
            let id = self.lock().id;
            let epoch = before.as_ref().map_or(Epoch(0), |before| before.newest_epoch).next();
            let entry = RoomEntry {
                epoch,
                newest_epoch: epoch,
                owner: id,
                is_released: false,
                target: None,
                requires: Arc::clone(&requires),
            };
            match self.rooms.set(key, room_bytes(&entry), replaces).await {
                Ok(_) => {
                    let mut state = self.lock();
                    if state.id != id || !state.leases.covers(clock::now()) {
                        return Err(TakeError::NoLease);
                    }
                    state.owned.insert(room);
                    state.lost.remove(&room);
                    return Ok(epoch);
                }
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Err(ClusterError::request(format!("cannot take room {room}"), "others take it at the same time")
            .into())
    }

    /// Takes a room that its owner has handed to this server. No request to the directory is necessary: its entry names this
    /// server. If another server has taken the room since, the journal refuses the older epoch.
    fn take_received(&self, room: Name) -> Result<Option<Epoch>, TakeError> {
        let mut state = self.lock();
        let Some(epoch) = state.received.remove(&room) else { return Ok(None) };
        if !state.leases.covers(clock::now()) {
            return Err(TakeError::NoLease);
        }
        state.owned.insert(room);
        state.lost.remove(&room);
        Ok(Some(epoch))
    }

    /// Ends the lives of the holders of a room whose leases are over. Fails if another holder may be alive. A holder that
    /// renews its lease at the same time wins, because the update states the expected revision.
    async fn end_holders(&self, room: &RoomEntry) -> Result<(), TakeError> {
        self.look().await?;
        for holder in room.holders() {
            let over = {
                let state = self.lock();
                if holder == state.id {
                    continue;
                }
                if state.leases.living_server(holder).is_some() {
                    return Err(TakeError::Elsewhere { owner: holder });
                }
                let seen = state.leases.server(holder.name).filter(|seen| seen.entry.id == holder);
                seen.filter(|seen| seen.entry.phase != ServerPhase::Dead).cloned()
            };
            // A dead server, or a server that has started again, holds nothing.
            let Some(Seen { entry, revision, .. }) = over else { continue };
            let mut bytes = Vec::new();
            ServerEntry { phase: ServerPhase::Dead, ..entry }.encode(&mut bytes);
            match self.servers.set(holder.name.as_str(), bytes, revision).await {
                Ok(_) => {}
                Err(ChangeError::Conflict) => return Err(TakeError::Elsewhere { owner: holder }),
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Gives a room of this server to another server, or releases it. Returns the epoch of the other server.
    pub(super) async fn give(
        &self,
        room: Name,
        target: Option<ServerId>,
    ) -> Result<Option<Epoch>, TakeError> {
        let mut epoch = None;
        for _ in 0..TRIES {
            let id = self.lock().id;
            let Some(entry) = self.rooms.get(room.as_str()).await? else { break };
            let Some(before) = entry.value.map(|value| read_room(&value)).transpose()? else { break };
            if before.owner != id || before.is_released {
                break;
            }
            let next = before.newest_epoch.next();
            let given = match target {
                None => RoomEntry { is_released: true, ..before },
                Some(owner) => RoomEntry { owner, epoch: next, newest_epoch: next, target: None, ..before },
            };
            match self.rooms.set(room.as_str(), room_bytes(&given), entry.revision).await {
                Ok(_) => {
                    epoch = target.map(|_| next);
                    break;
                }
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        let mut state = self.lock();
        state.owned.remove(&room);
        state.received.remove(&room);
        Ok(epoch)
    }
}
