//! The room's owner in a cluster: its lease, and the room's way to another server.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use nowcast_cluster::{Departure, Report, RoomLease};
use tracing::{info, warn};

use super::Room;
use super::members::Member;

/// Maximum time that a room of a cluster waits until its last records are stored.
const RELEASE_PATIENCE: Duration = Duration::from_secs(5);

/// The notice to clients while the lease of their server is over.
const WAITS_FOR_CLUSTER: &str = "the server cannot reach its cluster, so this world waits";

/// The way of a room to another server.
#[derive(Default)]
pub(super) struct Moving {
    /// Whether the clients know the server to which the room moves.
    is_announced: bool,
    /// Whether the end of that snapshot was reported.
    is_reported: bool,
    /// The snapshot before the room stops: whether it was stored, when that is known.
    ahead: Option<Arc<OnceLock<bool>>>,
}

impl Room {
    /// Whether this server may step the room now. A room that shows history needs no owner.
    pub(super) fn lease(&self) -> RoomLease {
        match self.context.rooms.persistence.ownership() {
            Some(ownership) if self.past.is_none() => ownership.lease(&self.context.name),
            _ => RoomLease::Held,
        }
    }

    /// Tells the clients once that the world waits for the cluster.
    pub(super) fn wait_for_lease(&mut self) {
        if !std::mem::replace(&mut self.has_waited, true) {
            info!(room = self.context.name, "the room waits, because the lease of this server is over");
            for Member { client, .. } in &self.members.seated {
                client.notice(WAITS_FOR_CLUSTER);
            }
        }
    }

    /// Gives the room to the server to which it moves. First the room announces the move to its clients. When they are ready,
    /// it stores a snapshot while it runs, and the other server reads the snapshot. Then the room stops and stores the rest.
    /// Returns false while the room runs.
    pub(super) fn leave(&mut self) -> bool {
        let persistence = Arc::clone(&self.context.rooms.persistence);
        let (Some(ownership), Some(store)) = (persistence.ownership(), persistence.store()) else {
            return false;
        };
        let Some(departure) = ownership.departure(&self.context.name) else {
            // No move was requested, or its request was given up.
            self.moving = Moving::default();
            return false;
        };
        if !std::mem::replace(&mut self.moving.is_announced, true) {
            let clients = self.announce_move(&departure);
            ownership.report(&self.context.name, Report::Announced(clients));
        }
        if !departure.may_store {
            return false;
        }
        let Some(ahead) = &self.moving.ahead else {
            let ahead = Arc::new(OnceLock::new());
            self.moving.ahead = Some(Arc::clone(&ahead));
            self.world.snapshot_ahead(Box::new(move |outcome| _ = ahead.set(outcome.is_ok())));
            return false;
        };
        let Some(is_stored) = ahead.get().copied() else { return false };
        if !std::mem::replace(&mut self.moving.is_reported, true) {
            ownership.report(&self.context.name, Report::StoredAhead);
        }
        if !departure.may_stop {
            return false;
        }
        ownership.report(&self.context.name, Report::Stopped);
        if is_stored {
            self.world.record_rest();
        } else {
            self.world.record_all();
        }
        if let Err(error) = store.commit(RELEASE_PATIENCE) {
            warn!(room = self.context.name, %error, "the room does not move");
            self.moving = Moving::default();
            ownership.report(&self.context.name, Report::Stays);
            return false;
        }
        info!(room = self.context.name, tick = self.tick, "the room moves to another server");
        self.confirm_last();
        self.world.end_recording();
        ownership.release(&self.context.name);
        true
    }

    /// Sends the clients to the server to which the room moves, where they wait for it. Returns the number of those on
    /// sessions. If the rules save data of accounts, clients with accounts follow later, because the data of an account has one
    /// holder at a time.
    fn announce_move(&self, departure: &Departure) -> usize {
        if departure.address.is_empty() {
            return 0;
        }
        let scene = self.world.world().scene();
        let saves = scene.definition().saves;
        let mut clients = 0;
        for Member { client, id, .. } in &self.members.seated {
            let player = scene.player(*id);
            if player.is_some_and(|player| player.account.is_none() || !saves) {
                client.announce_move(&departure.address);
                clients += usize::from(client.sink().figures().carrier != "plain");
            }
        }
        clients
    }

    /// Releases an empty room to the other servers of a cluster, after everything is stored. If a client enters in the
    /// meantime, the room ends as a lost one, and the client joins again.
    pub(super) fn release(&self) {
        let persistence = &self.context.rooms.persistence;
        let (Some(ownership), Some(store)) = (persistence.ownership(), persistence.store()) else { return };
        if self.past.is_none() && self.lease() == RoomLease::Held && store.commit(RELEASE_PATIENCE).is_ok() {
            ownership.release(&self.context.name);
        }
    }
}
