//! Configuration for rooms, and each client's limits.

use std::time::Duration;

use nowcast_store::Retention;

use crate::rate::ACTIONS_HZ;

/// The bound of [`RoomsConfig::players_max`]. Clients accept as many people, and as many programs (`spec/WORLD.md`, section 6).
pub const PLAYERS_MAX: usize = 4_096;

/// Configuration for all rooms in a process.
#[derive(Clone, Debug)]
pub struct RoomsConfig {
    /// The seed of every world.
    pub seed: u64,
    /// Maximum rooms at the same time. Each room has its own thread.
    pub rooms_max: usize,
    /// Maximum open rooms that were opened by clients of one address (an IPv4 address, or an IPv6 /64).
    pub rooms_per_address_max: usize,
    /// Maximum rooms at the same time that show the history of a room. They do not count toward the maximum of rooms.
    pub past_rooms_max: usize,
    /// Maximum people in one room at the same time, and maximum programs.
    pub players_max: usize,
    /// Maximum people, and maximum programs, in one room from one address (an IPv4 address, or an IPv6 /64).
    pub players_per_address_max: usize,
    /// Maximum actions of one client a second, and at once.
    pub actions_hz: u32,
    /// Whether only clients of this machine can connect. Then players from loopback addresses are not limited.
    pub is_loopback_only: bool,
    /// Whether clients show tokens. Without tokens, clients on this machine may open all rooms.
    pub needs_tokens: bool,
    /// Time for which a room stays open after its last player left.
    pub room_empty: Duration,
    /// Time for which a room stays open after its last player left, if no player ever did anything in it.
    pub room_unused: Duration,
    /// Time for a client with a key to reconnect after it was lost, or after a restart of the process.
    pub seat_held: Duration,
    /// Maximum duration of a world's step. A room ends if one step takes longer, or if consecutive slow steps together
    /// take longer.
    pub step: Duration,
    /// How long stored worlds keep history.
    pub retention: Retention,
    /// Maximum bytes of one room's histories in the studio.
    pub studio_bytes_max: usize,
}

impl Default for RoomsConfig {
    fn default() -> Self {
        Self {
            seed: 1,
            rooms_max: 16,
            rooms_per_address_max: 4,
            past_rooms_max: 4,
            players_max: 256,
            players_per_address_max: 64,
            actions_hz: ACTIONS_HZ,
            is_loopback_only: true,
            needs_tokens: false,
            room_empty: Duration::from_secs(60),
            room_unused: Duration::from_secs(2),
            seat_held: Duration::from_secs(30),
            step: Duration::from_secs(10),
            retention: Retention::default(),
            studio_bytes_max: 1 << 20,
        }
    }
}

/// Maximum bytes for one room's step times and function times. The rest of [`RoomsConfig::studio_bytes_max`] is for its log.
const PROFILE_BYTES_MAX: usize = 256 * 1024;

impl RoomsConfig {
    /// Maximum bytes of the log of one room.
    pub(crate) fn log_bytes_max(&self) -> usize {
        self.studio_bytes_max.saturating_sub(PROFILE_BYTES_MAX).max(16 * 1024)
    }
}

/// Maximum events that a client may leave unread, in bytes.
pub const EVENTS_BYTES_MAX: usize = 256 * 1024;

/// The part of [`EVENTS_BYTES_MAX`] for chat lines and the messages before them. A line that exceeds this part is dropped.
pub const CHAT_BYTES_MAX: usize = 64 * 1024;

/// Charge for a waiting event besides its own bytes: a queue entry (the queue doubles when it grows), and an allocation.
/// Without this charge, many small events would use several times the limit.
pub(crate) const EVENT_OVERHEAD_BYTES: usize = 192;

/// Maximum charge for the bytes of one event. A longer event describes many entities at once, and all clients share its
/// bytes.
pub(crate) const EVENT_COST_MAX: usize = EVENTS_BYTES_MAX / 4;

/// Maximum commands of a client that wait for the room. A state counts as an eighth of a command. While the queue is full, the
/// client's task stops reading from the client.
pub(crate) const COMMANDS_MAX: usize = 64;

/// Maximum commands of a client that its room takes in one step. For each of them the room may add a command that states the
/// client's view.
pub(crate) const COMMANDS_PER_STEP_MAX: usize = 24;

/// Maximum number of clients that join a room as new players in one step. Each join may run the rules' `join` hooks, which share
/// the work budget of one step, and costs the client's first snapshot.
pub(crate) const JOINS_PER_STEP_MAX: usize = 16;

const _: () =
    assert!(2 * COMMANDS_PER_STEP_MAX + 8 <= nowcast_world::Limits::DEFAULT.commands_per_player_max);
const _: () = assert!(CHAT_BYTES_MAX < EVENTS_BYTES_MAX);
