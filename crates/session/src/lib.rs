//! The session: one sans-IO protocol that implements the laws of the updatable queue over links that end, and that lose, reorder,
//! duplicate and delay packets. `spec/SESSION.md` is its normative description.
//!
//! **The one invariant**: a value is read when its packet leaves, and a packet is never sent again. When a packet is lost, the
//! session decides which messages in it are still needed. Events are needed, and so are the last values before an event. A value
//! that a newer one has replaced is not needed. Therefore no stale message waits in the session, and no needed message is lost.
//!
//! The canonical loop of a driver, here with two sessions and a link without delay:
//!
//! ```
//! use nowcast_session::{Carrier, Config, Entropy, MessageKind, NoSource, Session, Time};
//!
//! let mut now = Time::from_millis(1);
//! let carrier = Carrier::DATAGRAMS;
//! let mut ours = Session::connect(now, Config::default(), carrier, Entropy([1; 48]));
//! let mut theirs = Session::accept(now, Config::default(), carrier, Entropy([2; 48]));
//! ours.put_state(now, 0, 7, b"looks left").unwrap();
//! ours.put_state(now, 0, 7, b"looks up").unwrap(); // replaces: nothing was sent yet
//! ours.put_event(now, 0, b"presses the button").unwrap();
//!
//! let mut packet = Vec::new();
//! let mut seen = Vec::new();
//! while seen.len() < 2 {
//!     for (from, to) in [(0, 1), (1, 0)] {
//!         let mut ends = [&mut ours, &mut theirs];
//!         ends[from].handle_timeout(now);
//!         while ends[from].poll_packet(now, &mut NoSource, &mut packet) {
//!             ends[to].handle_packet(now, &packet); // a real driver sends the packet and receives others
//!             packet.clear();
//!         }
//!     }
//!     let mut payload = Vec::new();
//!     while let Some(message) = theirs.poll_message(now, &mut payload) {
//!         seen.push((message.kind, String::from_utf8_lossy(&payload).into_owned()));
//!     }
//!     now = ours.poll_timeout(now).into_iter().chain(theirs.poll_timeout(now)).min().unwrap().max(now);
//! }
//! assert_eq!(seen[0], (MessageKind::State { key: 7 }, "looks up".into()));
//! assert_eq!(seen[1], (MessageKind::Event, "presses the button".into()));
//! ```
//!
//! | file | contents |
//! | --- | --- |
//! | `session/` | [`Session`]: the verbs, the handshake, packet and timer handling, filling packets |
//! | `lane/` | the two ends of a lane: binding messages to packets, and releasing them to the application |
//! | `packet/` | reading and writing bytes; no state |
//! | `sent.rs`, `rtt.rs`, `rate/`, `clock.rs` | packets in flight, round-trip time, rate, the peer's clock |
//! | `source.rs` | [`Source`]: content that does not come from a queue |

mod builder;
mod clock;
mod config;
mod error;
mod histogram;
mod lane;
mod limits;
mod message;
pub mod packet;
mod rate;
mod rtt;
mod sent;
mod session;
mod source;
mod stats;
mod store;
mod time;

pub use config::{Carrier, Config, Entropy};
pub use error::{CloseCode, Closed, ClosedBy, Malformed, Refused};
pub use histogram::Histogram;
pub use lane::send::{Backlog, WaitingMessage};
pub use lane::{LaneConfig, WAITING_BYTES};
pub use limits::{LANES_MAX, Limits, MESSAGE_COST, PACKET_BYTES_MIN, PART_BYTES};
pub use message::{Message, MessageKind, Notice};
pub use rtt::Rtt;
pub use session::Session;
pub use source::{NoSource, PacketOutcome, PacketStep, Source, Space};
pub use stats::{Dropped, Gauges, Stats};
pub use time::Time;
