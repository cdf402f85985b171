//! Channels for threads without an async runtime, over any carrier.
//!
//! A call `x()` blocks its thread while it waits; `try_x()` never waits. If the name is found on this machine and the system has
//! shared memory, no other thread is needed. All other links run in one helper thread of the process.
//!
//! | task | use |
//! | --- | --- |
//! | advertise a name to the programs of this machine | [`advertise`] |
//! | advertise names to browsers and other machines as well | [`Listener`] |
//! | connect to a service anywhere | [`connect`] |
//! | use a channel of async code in a thread | [`Channel::from`](Channel); [`Channel::to_async`] for the other
//! direction |

mod channel;
mod open;
mod wait;

pub use channel::{Channel, Lane};
pub use open::{
    AcceptError, Listener, Service, advertise, advertise_with, connect, connect_local, connect_with,
};
