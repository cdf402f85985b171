//! The protocol of a world on sessions (`spec/WORLD.md`).
//!
//! | file | contents |
//! | --- | --- |
//! | `session_sink.rs` | the sink of one client, and the movement that all sessions of the room share |
//! | `admission.rs` | admission for `/nowcast/ROOM` and for WebTransport on the same port |
//! | `session_client.rs` | one client, from its session's beginning to its end |
//! | `joining.rs` | a client until it has its seat |
//! | `player.rs` | a client with a seat: its messages, and what it receives |
//! | `replication_figures.rs` | figures of one client's session and replication |
//! | `client_replicator.rs` | replication to one client |
//!
//! [`nowcast_room::session`] has the intake of messages, and the encodings that all sessions of a room share.

pub(crate) mod admission;
mod client_replicator;
mod joining;
mod player;
mod replication_figures;
pub(crate) mod session_client;
mod session_sink;

use std::time::Duration;

use nowcast::Bounds;
use nowcast::session::{LaneConfig, Limits};
use nowcast_room::{CHAT_BYTES_MAX, Closing};
use nowcast_world_protocol::plain::DecodeError;
use nowcast_world_protocol::session::{CHAT_LANE, REPLICATION_LANE, WORLD_LANE};

use crate::config::MESSAGE_BYTES_MAX;

/// Maximum unread bytes from a client: what the busiest client sends in a few seconds.
const WINDOW_BYTES: u32 = 16 * 1024;

/// Bounds of the messages that wait for a client. The first lane has space for all entities of a large world, and the second
/// lane for chat. On the third lane no messages wait, because its source has the state.
const WAITING: [Bounds; 3] = [
    Bounds { entries_max: 65_536, bytes_max: 16 * 1024 * 1024 },
    Bounds { entries_max: 1_024, bytes_max: CHAT_BYTES_MAX },
    Bounds { entries_max: 1, bytes_max: 1_024 },
];

/// Budget for the messages that wait for all clients, besides the pictures of their worlds. While it is used up, a client is
/// closed that has more than [`UNREAD_SHARE_BYTES`] and gets more.
pub(crate) const UNREAD_BYTES_OF_ALL_MAX: usize = 256 << 20;
pub(crate) const UNREAD_SHARE_BYTES: usize = 64 << 10;

const _: () = assert!(UNREAD_SHARE_BYTES < UNREAD_BYTES_OF_ALL_MAX);
const _: () = assert!(MESSAGE_BYTES_MAX <= WINDOW_BYTES as usize / 4);

/// The configuration of a server's sessions: events and descriptions go first, then chat, then movement. A session that
/// lost its carrier may continue within `resume_timeout`.
pub(crate) fn session_config(resume_timeout: Duration, unread_bytes_max: usize) -> nowcast::session::Config {
    let lane = |class: u8| LaneConfig {
        class,
        bounds: WAITING[usize::from(class)],
        event_bytes_max: unread_bytes_max,
        has_source: class == REPLICATION_LANE,
        ..LaneConfig::default()
    };
    nowcast::session::Config {
        limits: Limits {
            lanes_max: WAITING.len() as u8,
            window_bytes: WINDOW_BYTES,
            message_bytes_max: MESSAGE_BYTES_MAX as u32,
            resume_timeout,
            ..Limits::default()
        },
        lanes: vec![lane(WORLD_LANE), lane(CHAT_LANE), lane(REPLICATION_LANE)],
        ..nowcast::session::Config::default()
    }
}

fn malformed(what: &str) -> Closing {
    Closing::Malformed(DecodeError::Syntax(what.to_owned()))
}
