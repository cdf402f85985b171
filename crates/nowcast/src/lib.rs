//! Real-time channels between tasks: newest state first, events never lost.
//!
//! A channel has four verbs, whatever carries it:
//!
//! | verb | promise |
//! | --- | --- |
//! | `state(key, value)` | the newest value wins; never waits for a slow reader |
//! | `event(value)` | delivered exactly once, in order, and after the states it was put after |
//! | `command(value)` | an event that is answered, with a deadline |
//! | `receive()` | the newest value of each key, and every event |
//!
//! [`Listener`] advertises names, [`connect`] finds them, and both sides hold a [`Channel`] over the best carrier there is:
//! shared memory, WebTransport or WebSocket. It survives the loss of its carrier.
//!
//! Tasks without an async runtime, on one machine, talk through shared memory alone ([`local`]):
//!
//! ```
//! use nowcast::local;
//!
//! # let name = &format!("doc-lib-{}", std::process::id());
//! let mut service = local::advertise(name)?; // in one process
//! # std::thread::scope(|scope| {
//! # let renderer = scope.spawn(|| {
//! let mut renderer = local::connect(name)?; // in another
//! # renderer.receive_wait(None)?.unpack::<[f32; 3]>().map_err(local::Error::from)
//! # });
//! let mut tracker = service.accept(None)?;
//! tracker.state(1, &[0.1_f32, 1.7, -0.3])?; // replaces what the renderer has not seen yet
//! # assert_eq!(renderer.join().unwrap()?, [0.1, 1.7, -0.3]);
//! # Ok::<_, local::Error>(()) })?;
//! # Ok::<_, local::Error>(())
//! ```

pub mod carrier;
pub mod endpoint;
pub mod entry;
pub mod local;
pub mod names;
pub mod pack;

mod acceptor;
mod certificate;
mod channel;
mod clock;
mod connector;
mod driver;
mod listener;
mod neighbours;
mod random;

pub use acceptor::{AcceptConfig, AcceptCounters, AcceptLimits, AcceptRefusal, Accepted, Acceptor, Entry};
pub use carrier::CarrierKind;
pub use certificate::{CertificateConfig, CertificateError, CertificateHash, Certificates};
pub use channel::{
    Batch, Channel, CommandId, Error, LEAVE_TIME_MAX, Lane, Message, MessageKind, Messages, Phase, Source,
    Status, StatusChanges,
};
pub use connector::{BadAddress, ConnectError, Connector, Trust, connect};
pub use endpoint::BindError;
pub use listener::{AdvertiseError, ListenConfig, Listener, Service};

pub use nowcast_queue::{Bounds, Counters, Key, Refusal};
/// The protocol below channels: its configuration, and what it says.
pub use nowcast_session as session;
