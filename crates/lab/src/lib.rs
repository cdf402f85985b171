//! Instruments that measure Nowcast and its peers, honestly.
//!
//! Every instrument returns a [`report::Report`]: a table for the terminal, JSON for machines, and one self-contained
//! HTML page with charts for people. Each figure is printed with its machine, the seed of its input and its number of
//! samples. Peers are measured in the same run as our own code.

#![cfg(target_os = "linux")]

pub mod bots;
pub mod browser;
#[cfg(feature = "peers")]
pub mod codec;
pub mod crash;
pub mod everything;
pub mod foreign;
pub mod freshness;
pub mod ipc;
pub mod lag;
pub mod latency;
pub mod link;
pub mod load;
pub mod local;
pub mod motion;
pub mod peers;
pub mod report;
pub mod script;
pub mod soak;
pub mod trial;
