//! Rooms. Each room steps one world on its own thread, and sends to its clients through one trait.
//!
//! **A room knows no socket and no protocol.** A client enters with a [`ClientHandle`], from which the room's thread
//! takes the client's commands, and with a [`ClientSink`](sink::ClientSink), through which the room sends. The room
//! never waits for a client: a sink takes an event or the newest state, and returns.
//!
//! A program that hosts clients makes these calls, in this order:
//!
//! 1. [`open_rooms`] once, with the worlds of a [`Catalogue`].
//! 2. [`Rooms::reserve`] for each client. The first client of a room opens it.
//! 3. [`Seat::enter`] with the client's handle. The room greets the client in its next step.
//! 4. [`CommandIntake::submit`] for each command, and the sink's output to the client.
//! 5. [`ClientHandle::leave`], or [`ClientHandle::lose`] if the client may return. Then the seat is dropped.
//! 6. [`Rooms::stop`] at the end.
//!
//! This program hosts a world with rules in Rust, and moves one player of the plain protocol:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Instant;
//!
//! use nowcast_room::plain::{Outgoing, PlainSink};
//! use nowcast_room::{
//!     Catalogue, ClientHandle, CommandIntake, Metrics, Name, Opener, PersistenceThread, PlayerCommand, Rates, ACTIONS_HZ,
//!     RoomsConfig, open_rooms,
//! };
//! use nowcast_world::{Behaviour, Definition, Input, Kind, PlayerId, Scene, Spawn, Walker, World};
//! use nowcast_world_protocol::plain::Encoding;
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
//! let mut catalogue = Catalogue::default();
//! catalogue.offer_program(
//!     "park",
//!     Arc::new(|seed, _players_max| {
//!         let kinds = vec![Kind::walker("person", Walker::default())];
//!         let definition = Definition { kinds, ..Definition::default() };
//!         World::new(definition, seed, Box::new(Park)).expect("the definition has no mistake")
//!     }),
//! )?;
//! let metrics = Arc::new(Metrics::new(&mut prometheus_client::registry::Registry::default()));
//! let persistence = Arc::new(PersistenceThread::open(None)?);
//! let rooms = open_rooms(RoomsConfig::default(), catalogue, persistence, Arc::clone(&metrics), Vec::new());
//!
//! let seat = rooms.reserve("park", Opener { address: None, is_local: true, is_program: false })?;
//! let sink = Arc::new(PlainSink::new(Encoding::Json, Arc::clone(&metrics)));
//! let name = Name::Asked("Ada".to_owned());
//! let ada = Arc::new(ClientHandle::new(name, Arc::<PlainSink>::clone(&sink), 10, false, false));
//! seat.enter(Arc::clone(&ada));
//!
//! let intake = CommandIntake::new(Arc::clone(&ada), metrics);
//! let input = Input { forward: 1.0, ..Input::default() };
//! intake.submit(PlayerCommand::Input { input, number: 0 }, &mut Rates::new(ACTIONS_HZ, Instant::now())).expect("the client is not removed");
//! let greeting = loop {
//!     // A program with sockets awaits `sink.queue.next()`.
//!     match sink.queue.take() {
//!         Some(Outgoing::Greeting(greeting)) => break greeting,
//!         Some(_) => {}
//!         None => std::thread::yield_now(),
//!     }
//! };
//! assert!(greeting.messages[0].bytes().starts_with(br#"{"type":"welcome""#));
//!
//! ada.leave();
//! drop(seat);
//! rooms.stop();
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```
//!
//! # Where things are
//!
//! `rooms` is the table of open rooms, and a `room` is one thread that steps a world; the world is a `recorded_world` with
//! rules in Rust or in Luau. The catalogue of `worlds` offers the worlds and new rules for them. The client enters through
//! the room's `lobby`. Both sides share a `client_handle`, which holds the client's waiting commands. The room sends through
//! a `client_sink`: `plain_sink` for the plain protocol, with a `send_queue` for each client; `session` has the
//! corresponding parts for sessions. A `snapshot` is the room at one step, encoded once for all clients with the same
//! baseline. `persistence` stores the worlds.

#![warn(clippy::missing_errors_doc)]

mod accounts;
mod asked_room;
mod chat;
mod client_handle;
mod client_key;
mod client_sink;
mod closing;
mod command_intake;
mod command_queue;
mod config;
mod dictionary;
mod editor_command;
mod lobby;
mod metrics;
mod names;
mod ownership;
mod persistence;
mod plain_sink;
mod player_command;
mod portals;
mod public_events;
mod rate;
mod recorded_world;
mod refusal;
mod room;
mod room_metrics;
mod rooms;
mod rule_report;
mod send_queue;
pub mod session;
mod shared_frame;
mod snapshot;
mod studio;
mod studio_room;
mod thread_time;
mod worlds;

use std::sync::Arc;

pub use accounts::HeldAccount;
pub use client_handle::{ClientHandle, JoiningAccount};
pub use client_key::{ClientKey, SECRET_BYTES, hex, read_hex};
pub use closing::{Closing, REFUSED_ACTIONS};
pub use command_intake::CommandIntake;
pub use config::{CHAT_BYTES_MAX, EVENTS_BYTES_MAX, PLAYERS_MAX, RoomsConfig};
pub use metrics::{Metrics, register_metric};
pub use names::Name;
pub use ownership::Ownership;
pub use persistence::{
    ADDRESS_BAN, ADDRESS_BAN_MAX, BANS_MAX, Ban, BanError, BanScope, BannedBy, Migration, MigrationError,
    PersistenceThread, PruneSchedule, StoreFigures, kept_rules, migrate, now_ms, restore_kept,
};
pub use player_command::{Given, Numbered, PlayerCommand};
pub use public_events::{EventSink, PublicEvent, PublicKind};
pub use rate::{ACTIONS_HZ, MessageKind, Quiet, Rates};
pub use refusal::{AdmissionAnswer, Refusal};
pub use room_metrics::{Class, RoomMetrics};
pub use rooms::{Audience, Health, Opener, RoomSummary, Rooms, Seat};
pub use rule_report::RuleReport;
pub use studio::{
    COMMANDS_MAX, EntityFilter, MOMENTS_MAX, Moments, ROWS_MAX, ReplayRequest, ReplayRules, RequestedMoment,
    STEPS_MAX, SavedMoment, StudioAnswer, StudioCommand, StudioError, StudioRequest,
};
pub use studio_room::StudioRoom;
pub use worlds::{Catalogue, MakeWorld, OfferError, ScriptVersions, WorldSummary, describe_faults};

/// The trait through which a room sends to a client, and the values that it passes.
pub mod sink {
    pub use crate::client_sink::{
        Ages, ClassBytes, ClientDetails, ClientEvent, ClientFigures, ClientSink, Greeting, RoomView,
        SharedEncodings, StepChanges, WAITING_LISTED_MAX, WaitingMessage,
    };
    pub use crate::dictionary::Dictionary;
    pub use crate::room::replicated_state::{
        Changes, EntityDescription, EntityDescriptions, ReplicatedState, ScreenValue,
    };
    pub use crate::room::world_events::{Audience, WorldEvent};
}

/// The sink for a client of the plain protocol, and the messages that wait for the client's socket.
pub mod plain {
    pub use crate::plain_sink::PlainSink;
    pub use crate::send_queue::{Greeting, Outgoing, SendQueue};
    pub use crate::shared_frame::SharedFrame;
    pub use crate::snapshot::Snapshot;
}

/// Creates rooms that show the worlds of a catalogue, and whose events the sinks take. None of them is open.
#[must_use]
pub fn open_rooms(
    config: RoomsConfig,
    catalogue: Catalogue,
    persistence: Arc<PersistenceThread>,
    metrics: Arc<Metrics>,
    event_sinks: Vec<Arc<dyn EventSink>>,
) -> Arc<Rooms> {
    Arc::new(Rooms::new(config, catalogue, persistence, metrics, event_sinks, room::Room::open))
}
