//! Hosts worlds over HTTP, WebSocket and WebTransport.
//!
//! **The server is authoritative.** Clients send commands. The server decodes each command, checks its bounds and its rate,
//! and only then applies it to the world. The state for a client is encoded when the client's socket has space, so no stale
//! state waits in a buffer.
//!
//! A world's rules are scripts in a folder (`docs/how-to/rules.md`), or a behaviour in Rust:
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
//! `server` accepts a connection, `http` answers it, and `join` upgrades it if it is a WebSocket. `entrance` admits clients of
//! all protocols. After the upgrade, `client` runs a client of the plain protocol as one job of an I/O thread. `session` runs a
//! client on a session. Clients of both protocols enter a room of [`nowcast_room`], which steps a world and sends to its
//! clients. `worlds` reads the folders of worlds, and offers new rules to their rooms.

mod account;
mod checker;
mod client;
mod closing;
#[cfg(feature = "cluster")]
pub mod cluster;
#[cfg(not(feature = "cluster"))]
#[path = "cluster_off.rs"]
mod cluster;
mod config;
mod connection;
mod content_coding;
mod docs;
mod entrance;
pub mod figures;
mod http;
mod join;
mod limits;
mod logs;
mod metrics;
mod process;
mod refusal;
mod server;
mod services;
mod session;
mod shared;
mod studio;
mod used_tokens;
mod web;
mod webhook;
mod worlds;

pub use checker::{CheckRules, Checked, Checker, Diagnostic};
pub use config::{Config, Exposed, Timeouts, parse_base_path};
pub use limits::Limits;
pub use logs::{LogWriter, log_panics};
pub use nowcast::{CertificateConfig, admission};
/// Replication of movement, and the replica that reads it.
pub use nowcast_replication as replication;
/// Rooms, and their persistence.
pub use nowcast_room::{
    ADDRESS_BAN, ADDRESS_BAN_MAX, BANS_MAX, Ban, BanError, BanScope, BannedBy, Migration, MigrationError,
    kept_rules, migrate, restore_kept,
};
/// The rules of worlds in Luau.
pub use nowcast_script as script;
/// Persistence of worlds.
pub use nowcast_store as store;
/// The engine of the hosted worlds.
pub use nowcast_world as world;
pub use nowcast_world_protocol::is_room_name as is_world_name;
pub use server::{BindError, Handle, Server};
pub use services::ServiceConfig;
pub use web::has_web_client;
pub use webhook::{WebhookConfig, WebhookUrl};
pub use worlds::{FolderError, MakeWorld, Rules, WorldConfig, WorldError, read_assets, read_world};
