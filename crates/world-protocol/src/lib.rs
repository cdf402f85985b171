//! The protocols between a world and its clients, as values and bytes: `spec/WORLD.md` and `spec/PLAIN.md`.
//!
//! **Both directions of both protocols are here**, so that servers, clients, bots and measurements share one codec.
//! This crate uses no socket, no thread, no clock and no room.
//!
//! ```
//! use nowcast_world_protocol::session::{PROTOCOL, ToWorld};
//!
//! let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 0, key: Vec::new() };
//! let bytes = nowcast_wire::encode_to_vec(&join);
//! assert_eq!(nowcast_wire::decode::<ToWorld>(&bytes)?, join);
//! # Ok::<(), nowcast_wire::Error>(())
//! ```
//!
//! | module | content |
//! | --- | --- |
//! | [`session`] | messages on sessions, in the wire format, and the keys of states |
//! | [`plain`] | messages of the plain protocol, in JSON and MessagePack |
//! | `words.rs`, `read_words.rs` | bodies and walkers in the words of a definition, and back |
//! | `room_name.rs` | names of rooms, and of moments in their past |

pub mod plain;
mod read_words;
mod room_name;
pub mod session;
mod words;

pub use read_words::WalkerKind;
pub use room_name::{ROOM_NAME_BYTES_MAX, is_private_room, is_room_name, room_of, split_moment};
