//! The world on sessions, as a client of it sees it: see `spec/WORLD.md`.
//!
//! | file | what is in it |
//! | --- | --- |
//! | `messages.rs` | what is said, in the wire format |
//! | `step_update.rs` | what all clients are told of one step |
//! | `latest_snapshot.rs` | what a room looks like after a step, where drivers find it |
//! | `outbox.rs` | what a room says to one client, on its path to the driver |
//! | `admission.rs` | who comes in: `/nowcast/ROOM`, WebTransport on the same port |
//! | `client_session.rs` | one client, from its session's beginning to its end |
//! | `input_buffer.rs` | when the controls of a client that counts its steps come into force |
//! | `input_watchdog.rs` | what the controls of a client that counts no steps say, and until when they hold |
//! | `writer.rs` | what a room says to one client |
//! | `client_replicator.rs` | what one client is told, worked out on its driver's thread when a packet leaves |

pub(crate) mod admission;
mod client_replicator;
pub(crate) mod client_session;
pub(crate) mod input_buffer;
mod input_watchdog;
mod latest_snapshot;
mod messages;
mod outbox;
mod step_update;
pub(crate) mod writer;

use std::time::Duration;

use nowcast::Bounds;
use nowcast::session::{LaneConfig, Limits};

use crate::config::{CHAT_BYTES_MAX, MESSAGE_BYTES_MAX};

pub(crate) use latest_snapshot::{LatestSnapshot, RoomSnapshot, SeenPlayer};
pub use messages::{
    Action, Asset, CHAT_LANE, CONTROLS_KEY, Controls, Declared, Definition, Entity, EntityState, FromWorld,
    Kind, Line, MISSED_KEY, Missed, Moving, OWNED_KEYS, Outcome, Owned, PROTOCOL, Place, Player,
    REPLICATION_LANE, STEPS_KEY, Said, Screen, StateKey, Step, Steps, ToWorld, VIEW_KEY, View, WORLD_LANE,
};
pub(crate) use outbox::Welcome;
pub(crate) use step_update::StepUpdate;

/// Maximum of unread bytes that the client sends: a few seconds of the busiest client.
const WINDOW_BYTES: u32 = 16 * 1024;

/// Bounds of the messages that wait for a client: everything in a large world on the first lane, chat on the second,
/// nothing on the third, whose source keeps it.
const WAITING: [Bounds; 3] = [
    Bounds { entries_max: 65_536, bytes_max: 16 * 1024 * 1024 },
    Bounds { entries_max: 1_024, bytes_max: CHAT_BYTES_MAX },
    Bounds { entries_max: 1, bytes_max: 1_024 },
];

const _: () = assert!(MESSAGE_BYTES_MAX <= WINDOW_BYTES as usize / 4);

/// The configuration of a server's sessions: events and descriptions go first, then chat, then movement. A session that lost its
/// carrier may go on within `resume_timeout`.
pub(crate) fn session_config(resume_timeout: Duration) -> nowcast::session::Config {
    let lane = |class: u8| LaneConfig {
        class,
        bounds: WAITING[usize::from(class)],
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
