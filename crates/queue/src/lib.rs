//! The updatable queue: newest state per key, every event once, in order.
//!
//! A queue between two programs, one of which produces faster than the other consumes. Messages with a [`Key`] of at least 1 are
//! *state*: a newer value replaces an undelivered older one in place, so the consumer never reads outdated values. Messages with
//! [`Key::EVENT`] are *events*: they are delivered once, in order. Each event is a barrier: states before it are not replaced by
//! states after it. Therefore an event is always delivered with the state at the time of its put. The idea is from Kessler and
//! Hodges, *A Network Communication Protocol for Distributed Virtual Environment Systems*, 1996, section 4. `spec/QUEUE.md`
//! contains the seven exact laws.
//!
//! **The one invariant**: a queue is a list of entries in the order of their *first* put, and a key has at most one entry after
//! the last event. All laws follow from this invariant.
//!
//! ```
//! use nowcast_queue::{Bounds, Key, UpdatableQueue};
//!
//! let mut queue = UpdatableQueue::new(Bounds::default());
//! let head = Key::state(1);
//! queue.put(head, b"looks left".to_vec()).unwrap();
//! queue.put(head, b"looks up".to_vec()).unwrap(); // replaces: nobody had seen the first
//! queue.put(Key::EVENT, b"presses the button".to_vec()).unwrap();
//! queue.put(head, b"looks right".to_vec()).unwrap(); // after the event, so an entry of its own
//!
//! let seen: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, value)| String::from_utf8(value).unwrap()).collect();
//! assert_eq!(seen, ["looks up", "presses the button", "looks right"]);
//! ```
//!
//! | task | use |
//! | --- | --- |
//! | keep pending messages inside a state machine: no threads, no clock | [`UpdatableQueue`] |
//! | send the same messages to many subscribers, stored once | [`Publication`]; between threads [`in_process::publisher`] |
//! | connect two processes on one machine | the crate `nowcast-shm`, which implements the same [`Sender`] and [`Receiver`] |
//! | check your own implementation against the laws | `conformance` (a feature of this crate) |

#[cfg(feature = "conformance")]
pub mod conformance;
mod ends;
pub mod in_process;
mod key;
mod publication;
mod refusal;
mod updatable;

pub use ends::{Put, Receiver, Sender};
pub use key::{Key, KeyMap};
pub use publication::{Publication, PublicationBounds, PublicationCounters, SubscriberId};
pub use refusal::{Refusal, Refused};
pub use updatable::{Bounds, Counters, Outdated, UpdatableQueue, Weigh};
