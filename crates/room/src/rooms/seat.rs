//! Seats in rooms, and the clients that request them.

use std::net::IpAddr;
use std::sync::Arc;

use nowcast_limits::network_of;
use nowcast_world_protocol::room_of;

use super::Rooms;
use crate::accounts::HeldAccount;
use crate::client_handle::ClientHandle;
use crate::closing::Closing;
use crate::lobby::Lobby;

/// A client that requests a seat. If the room is not open, this client opens it.
#[derive(Clone, Copy, Debug)]
pub struct Opener {
    /// The client's address, if it is known.
    pub address: Option<IpAddr>,
    /// Whether the client is on this machine and is not connected through a proxy.
    pub is_local: bool,
    /// Whether the client is a program. Programs do not take the seats of people.
    pub is_program: bool,
}

impl Opener {
    pub(super) fn network(self) -> Option<IpAddr> {
        self.address.map(network_of)
    }
}

/// A seat in a room. It is held from before the handshake until after the end of the connection.
pub struct Seat {
    rooms: Arc<Rooms>,
    room: String,
    lobby: Arc<Lobby>,
    opener: Opener,
}

impl Seat {
    pub(super) fn new(rooms: Arc<Rooms>, room: String, lobby: Arc<Lobby>, opener: Opener) -> Self {
        Self { rooms, room, lobby, opener }
    }

    /// Enters the room, which greets the client with its next tick. A banned client is closed instead.
    pub fn enter(&self, client: Arc<ClientHandle>) {
        match self.rooms.ban_of(&self.room, &client) {
            Some(ban) => client.close(Closing::Banned(ban.message())),
            None => self.lobby.enter(client),
        }
    }

    /// Holds an account for the room, as soon as another room of the same world has given it up. Drop the future to give up
    /// waiting. Returns `None` if the rules save no data of accounts.
    pub async fn hold_account(&self, account: &str) -> Option<HeldAccount> {
        let world = self.rooms.catalogue.of_room(&self.room);
        if !world.saves() {
            return None;
        }
        Some(self.rooms.accounts.hold(&world.name, account, &self.lobby.wanted_accounts).await)
    }

    /// Whether the room shows the present of its world, and not its history.
    pub fn shows_present(&self) -> bool {
        room_of(&self.room) == self.room
    }

    /// The name of the room.
    pub fn room(&self) -> &str {
        &self.room
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.rooms.free_seat(&self.room, &self.lobby, self.opener);
    }
}
