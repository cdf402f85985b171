//! Real-time channels between programs: newest state first, events never lost.
//!
//! A channel has four verbs over any carrier:
//!
//! | verb | guarantee |
//! | --- | --- |
//! | `state(key, value)` | the newest value wins; waits only if the key is new and the lane full |
//! | `event(value)` | delivered exactly once, in order, and after the states that were put before it |
//! | `command(value, timeout)` | an event with a reply |
//! | `receive()` | the newest value of each key, and every event |
//!
//! Each of the verbs is a future that may wait, and has a variant that never waits: `try_state`, `try_event`, `try_receive`.
//! Values are bytes, or typed by [`nowcast_wire::Wire`]: `channel.lane(0).typed::<Pose>()`. The peer may have another version of
//! a type, because [`Message::decode`] matches fields by name.
//!
//! [`Listener`] advertises names, and [`connect`] finds them. Both sides then hold a [`Channel`] over the best available carrier:
//! shared memory, WebTransport or WebSocket. The channel survives the loss of its carrier.
//!
//! A program with many receivers publishes. [`Listener::publish`] returns a [`Publisher`], and programs subscribe by [`connect`].
//! In Zenoh, iceoryx2 and ROS this is called a topic.
//!
//! Threads without an async runtime use [`blocking`]. Its [`wait`](blocking::wait) runs any call of this crate:
//!
//! ```
//! use nowcast::blocking::{self, wait};
//!
//! # let name = &format!("doc-lib-{}", std::process::id());
//! let mut service = blocking::advertise(name)?; // in one process
//! # std::thread::scope(|scope| {
//! # let renderer = scope.spawn(|| {
//! let renderer = wait(nowcast::connect(name))?; // in another
//! # Ok::<_, Box<dyn std::error::Error + Send + Sync>>(blocking::receive(&renderer, None)?.decode::<[f32; 3]>()?)
//! # });
//! let tracker = wait(service.accept())?;
//! let positions = tracker.lane(0).typed::<[f32; 3]>();
//! wait(positions.state(1, &[0.1, 1.7, -0.3]))?; // replaces what the renderer has not seen yet
//! # assert_eq!(renderer.join().unwrap().unwrap(), [0.1, 1.7, -0.3]);
//! # Ok::<_, Box<dyn std::error::Error>>(()) })?;
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::missing_errors_doc)]

pub mod blocking;
pub mod local;
pub mod record;

mod accepted;
mod channel;
mod connector;
mod echo;
mod helper;
mod listener;
mod neighbours;
mod publish;
mod published;
mod session_link;

pub use accepted::Accepted;
pub use channel::{
    Batch, Channel, CommandId, Entry, Error, LEAVE_TIME_MAX, Lane, LaneId, Message, MessageKind, Payload,
    Phase, Received, ShapeId, Status, StatusChanges, TypeShape, decode,
};
pub use connector::{BadAddress, ConnectError, Connector, Trust, connect, https_config};
pub use echo::echo;
pub use listener::{AdvertiseError, ListenConfig, Listener, Service};
pub use publish::Publisher;

pub use nowcast_engine::carrier::{CarrierKind, CarrierLayer};
pub use nowcast_engine::endpoint::{BindError, RefusalAnswer};
pub use nowcast_engine::{
    AcceptConfig, AcceptCounters, AcceptLimits, Acceptor, CertificateConfig, CertificateError,
    CertificateHash,
};
pub use nowcast_queue::{Bounds, Key, PublicationBounds, PublicationCounters};

/// Admission of clients: tokens, pages, proxies, and the limits of addresses.
pub mod admission {
    pub use nowcast_admission::{
        Admission, AdmissionRefusal, AdmissionRequest, Claims, Crowded, Entry, KeyError, Limits, Network,
        Now, Page, Peer, Permit, Policy, PolicyError, SignError, SigningSecret, SingleUse, TOKEN_BYTES_MAX,
        TokenError, TokenKey, UsedToken, UsedTokenStore, host_of, new_secret, origin_of, parse_origin,
        unix_time,
    };
}

/// Names of services on other machines, by name servers.
pub mod names {
    pub use nowcast_name_server::{
        Advertisement, AdvertisementStatus, NameServer, NameServerConfig, NameServerHandle, NamesError, PORT,
        Refused, Service, find, is_name, list,
    };
}

/// The protocol below channels: its configuration and its statistics.
pub mod session {
    pub use nowcast_session::{CloseCode, Closed, ClosedBy, Config, LaneConfig, Limits, Refused, packet};
}
