//! The rooms of a server in the directory.

use std::sync::Arc;
use std::time::Duration;

use nowcast_cluster::{
    Epoch, Name, Release, ReleasesApart, RoomEntry, ServerEntry, ServerId, ServerPhase, Target,
};

use super::{Inner, TRIES, TakeError};
use crate::directory::{read_room, room_bytes};
use crate::leases::Seen;
use crate::{ChangeError, ClusterError, clock};

/// First pause before the entry of a room that was handed over is corrected again. Each further pause is twice as long.
const CORRECTION_PAUSE: Duration = Duration::from_millis(100);
/// Maximum of these pauses.
const CORRECTION_PAUSE_MAX: Duration = Duration::from_secs(2);

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

    /// Releases a room of this server.
    pub(super) async fn release(&self, room: Name) -> Result<(), TakeError> {
        {
            // The room has stopped, so this server does not own it even if the directory cannot be changed.
            let mut state = self.lock();
            state.owned.remove(&room);
            state.received.remove(&room);
        }
        let released = |before| RoomEntry { is_released: true, target: None, ..before };
        self.change_own(room, released).await.map(drop)
    }

    /// Names another server as the target of a hand-over of a room of this server. Returns the epoch of the target.
    pub(super) async fn name_target(&self, room: Name, server: ServerId) -> Result<Option<Epoch>, TakeError> {
        let named = self.change_own(room, |before| {
            let epoch = before.newest_epoch.next();
            RoomEntry { newest_epoch: epoch, target: Some(Target { server, epoch }), ..before }
        });
        Ok(named.await?.and_then(|named| named.target).map(|target| target.epoch))
    }

    /// Names this server as the owner of a room that it took as the target of a hand-over.
    pub(super) async fn name_owner(self: Arc<Self>, room: Name, epoch: Epoch) {
        let mut pauses = CorrectionPauses::default();
        while self.has_taken(room) && self.try_name_owner(room, epoch).await.is_err() {
            pauses.next().await;
        }
    }

    /// Removes the target of a move of this server's room from the directory, after the move has ended in any way.
    pub(super) async fn end_move(self: Arc<Self>, room: Name, target: Name) {
        let mut pauses = CorrectionPauses::default();
        while self.try_end_move(room, target).await.is_err() {
            pauses.next().await;
        }
    }

    /// If this server still owns the room, it stays the owner. Otherwise the room has stopped, and the target becomes the owner.
    /// Without this change, a target that is alive would keep all other servers from the room, and this server would keep the
    /// target from it.
    async fn try_end_move(&self, room: Name, target: Name) -> Result<(), ChangeError> {
        let Some((before, revision)) = self.entry_of(room).await? else { return Ok(()) };
        let named = before.target.filter(|named| named.server.name == target);
        let Some(named) = named.filter(|_| before.owner == self.lock().id) else {
            // The target has corrected the entry, or another server has taken the room.
            return Ok(());
        };
        let ended = if self.has_taken(room) {
            RoomEntry { target: None, ..before }
        } else {
            RoomEntry { owner: named.server, epoch: named.epoch, target: None, ..before }
        };
        self.rooms.set(room.as_str(), room_bytes(&ended), revision).await?;
        Ok(())
    }

    async fn try_name_owner(&self, room: Name, epoch: Epoch) -> Result<(), ChangeError> {
        let target = Target { server: self.lock().id, epoch };
        let Some((before, revision)) = self.entry_of(room).await? else { return Ok(()) };
        if before.target != Some(target) {
            // The previous owner has corrected the entry, or another server has taken the room.
            return Ok(());
        }
        let owned = RoomEntry { owner: target.server, epoch, target: None, ..before };
        self.rooms.set(room.as_str(), room_bytes(&owned), revision).await?;
        Ok(())
    }

    /// The entry of a room in the directory, with its revision.
    pub(super) async fn entry_of(&self, room: Name) -> Result<Option<(RoomEntry, u64)>, ClusterError> {
        let Some(found) = self.rooms.get(room.as_str()).await? else { return Ok(None) };
        let entry = found.value.map(|value| read_room(&value)).transpose()?;
        Ok(entry.map(|entry| (entry, found.revision)))
    }

    /// Changes the entry of a room of this server. Returns the new entry; `None` if another server has taken the room.
    async fn change_own(
        &self,
        room: Name,
        change: impl Fn(RoomEntry) -> RoomEntry,
    ) -> Result<Option<RoomEntry>, TakeError> {
        for _ in 0..TRIES {
            let id = self.lock().id;
            let Some((before, revision)) = self.entry_of(room).await? else { break };
            // A room that this server took as the target of a hand-over is its own before the directory names it as the owner.
            let before = match before.target {
                Some(Target { server, epoch }) if server == id => {
                    RoomEntry { owner: id, epoch, is_released: false, target: None, ..before }
                }
                _ => before,
            };
            if before.owner != id || before.is_released {
                break;
            }
            let changed = change(before);
            match self.rooms.set(room.as_str(), room_bytes(&changed), revision).await {
                Ok(_) => return Ok(Some(changed)),
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// The pauses between two corrections of an entry, until NATS answers.
#[derive(Default)]
struct CorrectionPauses(Duration);

impl CorrectionPauses {
    async fn next(&mut self) {
        self.0 = (2 * self.0).clamp(CORRECTION_PAUSE, CORRECTION_PAUSE_MAX);
        tokio::time::sleep(self.0).await;
    }
}
