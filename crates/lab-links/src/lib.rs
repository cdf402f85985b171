//! Instruments for links. They measure freshness, latency and lag on emulated links, and queues between processes on one machine.
//!
//! - `link` creates hosts with an emulated link between them, and `local` creates processes with a queue between them.
//! - `peers` are the transports that are measured: our own and those in common use.
//! - `freshness`, `latency`, `lag` and `ipc` are the instruments. `trial` runs one of them with one peer on one link.
//! - `soak` runs sessions in virtual time, and `typescript_peer` runs one end of a session in TypeScript.

#![cfg(target_os = "linux")]

pub mod freshness;
pub mod ipc;
pub mod lag;
pub mod latency;
pub mod link;
pub mod local;
pub mod peers;
pub mod soak;
pub mod trial;
pub mod typescript_peer;
