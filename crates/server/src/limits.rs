//! Maximum counts of a server.

/// All limits of a server.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Rooms at the same time. Each room has its own thread.
    pub rooms_max: usize,
    /// Open rooms that were opened by clients of one address (an IPv4 address, or an IPv6 /64).
    pub rooms_per_address_max: usize,
    /// Rooms at the same time that show the history of a room. They do not count toward [`Self::rooms_max`].
    pub past_rooms_max: usize,
    /// People in one room at the same time, at most [`nowcast_room::PLAYERS_MAX`]. As many programs may be in the room, too.
    pub players_max: usize,
    /// People in one room from one address (an IPv4 address, or an IPv6 /64), and as many programs. A server that listens
    /// only on loopback does not limit loopback addresses.
    pub players_per_address_max: usize,
    /// Actions of one client a second, and at once.
    pub actions_hz: u32,
    /// Memory of the messages that wait for one client on a session, in bytes, besides the present picture of its world. A
    /// client that leaves more unread is closed.
    pub unread_bytes_max: usize,
    /// TCP connections at the same time, joined or not.
    pub connections_max: usize,
    /// TCP connections from one address at the same time.
    pub connections_per_address_max: usize,
    /// Joins a second from one address. The burst has as many joins as the address may have connections.
    pub joins_per_address_hz: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rooms_max: 16,
            rooms_per_address_max: 4,
            past_rooms_max: 4,
            players_max: 256,
            players_per_address_max: 64,
            actions_hz: nowcast_room::ACTIONS_HZ,
            unread_bytes_max: 1 << 20,
            connections_max: 8_192,
            connections_per_address_max: 512,
            joins_per_address_hz: 20.0,
        }
    }
}
