//! Hosts worlds over HTTP and WebSocket.
//!
//! **The server is authoritative.** Clients send commands. The server decodes them, checks bounds and rates, and only
//! then applies them to the world. A client receives the state of the world at the moment when its socket has space, so
//! no stale state waits in a buffer.
//!
//! A world's rules are scripts in a folder (`docs/WORLDS.md`), or a behaviour in Rust:
//!
//! ```
//! use std::sync::Arc;
//!
//! use nowcast_server::world::{Behaviour, Definition, Kind, PlayerId, Scene, Spawn, Walker, World};
//! use nowcast_server::{Config, Rules, Server, WorldConfig};
//!
//! /// Each player gets a body.
//! struct Park;
//!
//! impl Behaviour for Park {
//!     fn join(&mut self, scene: &mut Scene, player: PlayerId) {
//!         let person = scene.kind("person").expect("the definition has it");
//!         // A full world refuses the body, and the player watches.
//!         let _ = scene.spawn_avatar(player, person, Spawn::at([0.0, 0.9, 0.0]));
//!     }
//! }
//!
//! # #[tokio::main]
//! # async fn main() -> Result<(), nowcast_server::BindError> {
//! let rules = Rules::Program(Arc::new(|seed, _players_max| {
//!     let kinds = vec![Kind::walker("person", Walker::default())];
//!     let definition = Definition { kinds, ..Definition::default() };
//!     World::new(definition, seed, Box::new(Park)).expect("the definition has no mistake")
//! }));
//! let park = WorldConfig { name: "park".into(), rules };
//! let server = Server::bind(Config { worlds: vec![park], port: 0, ..Config::default() }).await?;
//! println!("listening on {:?}", server.addresses());
//!
//! let handle = server.handle();
//! tokio::spawn(async move {
//!     // A real host waits for a signal.
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
//! `server` accepts a connection, `http` answers it, and `join` upgrades it if it is a WebSocket. The connection then
//! becomes a `client`: one task that reads and writes. A `room` is one thread that steps a world; the world is a
//! `recorded_world` with rules in Rust or in Luau. The catalogue of `worlds` offers the worlds and new rules for them.
//! The client enters through the room's `lobby`. Both sides share a `client_handle`, which holds the client's waiting
//! commands. The room sends through a `client_sink`: `plain_sink` for the plain protocol, with a `send_queue` for each
//! client, and `session` for sessions. A `snapshot` is the room at one step, encoded once for all clients with the same
//! baseline. `persistence` stores the worlds.

mod asked_room;
mod chat;
mod client;
mod client_handle;
mod client_key;
mod client_sink;
mod closing;
mod command_intake;
mod command_queue;
mod config;
mod connection;
mod dictionary;
mod editor_command;
mod entrance;
pub mod figures;
mod http;
mod join;
mod limits;
mod lobby;
mod logs;
mod metrics;
mod names;
mod persistence;
mod plain_sink;
mod player_command;
mod process;
mod rate;
mod recorded_world;
mod refusal;
mod room;
mod room_metrics;
mod rooms;
mod rule_report;
mod send_queue;
mod server;
mod services;
mod session;
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
/// Persistence of worlds.
pub use nowcast_store as store;
/// The engine of the hosted worlds.
pub use nowcast_world as world;
pub use nowcast_world_protocol::is_room_name as is_world_name;
pub use persistence::{
    ADDRESS_BAN, ADDRESS_BAN_MAX, BANS_MAX, Ban, BanError, BanScope, BannedBy, Change, Migration,
    MigrationError, kept_rules, migrate, restore_kept,
};

pub use server::{BindError, Handle, Server};
pub use services::ServiceConfig;
pub use web::has_web_client;
pub use worlds::{FolderError, MakeWorld, Rules, WorldConfig, WorldError, read_assets, read_world};
