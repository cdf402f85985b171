//! The engine below Nowcast's channels: sockets, carriers, connections and sessions, on I/O threads. **This crate's interface is
//! not stable**: it changes with any release. Programs use the crate `nowcast`, and only a program that serves thousands of
//! sessions itself uses the engine.
//!
//! A client arrives at a socket ([`endpoint`]), and its [`Directory`](endpoint::Directory) names an [`Acceptor`]. The acceptor makes
//! a session over the client's carrier ([`carrier`]), and asks its [`Serve`] for the session's [`Application`]. From then on, a job
//! of the client's I/O thread ([`IoThread`]) drives both. A turn of the job has these steps, on one thread and without a lock:
//!
//! 1. pass arrived packets to the session;
//! 2. handle its timers, notices and outcomes;
//! 3. run the application, which takes and puts messages;
//! 4. fill and send packets, as long as the carrier accepts them.
//!
//! The engine knows no channels. A program whose other threads use a session keeps it behind a lock, and lends it for each turn
//! ([`SessionOwner`]).

#![warn(clippy::missing_errors_doc)]

pub mod carrier;
pub mod clock;
pub mod endpoint;

mod acceptor;
mod certificate;
mod driver;
mod io;
mod random;

pub use acceptor::{AcceptConfig, AcceptCounters, AcceptLimits, AcceptRefusal, Acceptor, Serve};
pub use certificate::{CertificateConfig, CertificateError, CertificateHash, Certificates, hash_of};
pub use driver::{Application, DrivenSession, Phase, SessionOwner, drive};
pub use io::{IoThread, IoThreads};

pub use nowcast_admission::Entry;
pub use nowcast_session as session;
