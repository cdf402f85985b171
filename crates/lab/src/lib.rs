//! Instruments that measure Nowcast and its peers.
//!
//! Every instrument returns a [`report::Report`]: a table for the terminal, JSON for machines, and one self-contained
//! HTML page with charts for people. Each figure is printed with its machine, the seed of its input and its number of
//! samples. Peers are measured in the same run as our own code.
//!
//! Each instrument is in the crate of the libraries that it links. This crate runs all instruments one after the other.

#![cfg(target_os = "linux")]

pub mod everything;

pub use nowcast_lab_cluster as cluster;
#[cfg(feature = "peers")]
pub use nowcast_lab_codecs as codec;
pub use nowcast_lab_links::{freshness, ipc, lag, latency, link, local, peers, soak, trial, typescript_peer};
pub use nowcast_lab_report as report;
pub use nowcast_lab_worlds::{bots, browser, crash, load, motion, script};
