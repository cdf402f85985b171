//! Hosts worlds over HTTP and WebSocket.
//!
//! **The server is authoritative.** Clients send wishes: they are decoded, checked against bounds and rates, and only
//! then applied to the world. A client receives the world as it is at the moment its socket has room; nothing stale
//! waits in a buffer.
//!
//! ```no_run
//! use nowcast_server::{Config, Rules, Server, WorldConfig};
//!
//! # async fn example() -> Result<(), nowcast_server::BindError> {
//! let park = WorldConfig { name: "park".into(), rules: Rules::Folder("worlds/park".into()) };
//! let server = Server::bind(Config { worlds: vec![park], port: 0, ..Config::default() }).await?;
//! println!("listening on {:?}", server.addresses());
//! let handle = server.handle();
//! tokio::spawn(async move {
//!     tokio::time::sleep(std::time::Duration::from_secs(60)).await;
//!     println!("{}", handle.metrics());
//!     handle.shutdown();
//! });
//! server.run(std::future::pending()).await;
//! # Ok(())
//! # }
//! ```
//!
//! # Where things are
//!
//! A connection is accepted in `server`, answered in `http` and, for a WebSocket, upgraded in `join`. From then on it
//! is a `client`: one task that reads and writes. The other side is a `room`: one thread that steps a world, which is
//! `recorded_world` by rules in Rust or in Luau; the `worlds` that are offered, and new rules for them, come from a catalogue. The two
//! meet in a `player`, which holds the client's waiting commands and, in its `send_queue`, what the client is to be told;
//! the client enters by the room's `lobby`. A `snapshot` is what a room looked like at one step; it is encoded once for all
//! clients that know the same. `session` has the same for clients on sessions. `persistence` gives the store what happens in a world.

mod chat;
mod client;
mod client_handle;
mod client_key;
mod closing;
mod config;
mod connection;
mod dictionary;
mod editor_command;
pub mod figures;
mod http;
mod join;
mod limits;
mod lobby;
mod logs;
mod metrics;
mod names;
mod persistence;
pub mod plain;
mod process;
mod rate;
mod recorded_world;
mod room;
mod room_metrics;
mod room_name;
mod room_refusal;
mod rooms;
mod rule_report;
mod send_queue;
mod server;
mod services;
pub mod session;
mod shared;
mod snapshot;
mod web;
mod worlds;

pub use config::{Config, Exposed, Timeouts};
pub use limits::Limits;
pub use logs::{LogWriter, log_panics};
pub use nowcast::{CertificateConfig, admission};
/// Replication of movement, and the replica that reads it.
pub use nowcast_replication as replication;
/// The rules of worlds in Luau.
pub use nowcast_script as script;
/// How worlds last.
pub use nowcast_store as store;
/// The engine of the worlds that are hosted.
pub use nowcast_world as world;
pub use persistence::{
    ADDRESS_BAN, ADDRESS_BAN_MAX, BANS_MAX, Ban, BanError, BanScope, BannedBy, Change, Migration,
    MigrationError, kept_rules, migrate, restore_kept,
};
pub use room_name::is_room_name as is_world_name;
pub use server::{BindError, Handle, Server};
pub use services::ServiceConfig;
pub use web::has_web_client;
pub use worlds::{FolderError, MakeWorld, Rules, WorldConfig, WorldError, read_assets, read_world};
