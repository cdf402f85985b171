//! Instruments that measure Nowcast and its peers.
//!
//! Every instrument returns a [`report::Report`]: a table for the terminal, JSON for machines, and one self-contained
//! HTML page with charts for people. Each figure is printed with its machine, the seed of its input and its number of
//! samples. Peers are measured in the same run as our own code.
//!
//! - `link` creates hosts with an emulated link between them, and `local` creates processes with a queue between them.
//! - `peers` are the transports that are measured: our own and those in common use.
//! - `freshness`, `latency`, `lag` and `ipc` measure links and queues. `trial` runs one of them with one peer on one link.
//! - `soak` runs sessions in virtual time. `codec` compares encodings.
//! - `load` fills a server with readers, and compares it with Colyseus.
//! - `crash` kills servers and cuts the power of disks, and checks the stored data. `cluster` runs a cluster's servers under
//!   faults.
//! - `actions` measures how many durable actions a server confirms, and kills it meanwhile.
//! - `motion` compares displayed poses with the server's world. `script` measures rules in Luau. `browser` lets a page measure
//!   itself.
//! - `everything` runs all instruments one after the other.

pub mod actions;
pub mod browser;
pub mod cluster;
pub mod codec;
pub mod crash;
pub mod everything;
pub mod freshness;
pub mod ipc;
pub mod lag;
pub mod latency;
pub mod link;
pub mod load;
pub mod local;
pub mod motion;
pub mod peers;
pub mod program;
pub mod report;
pub mod script;
pub mod soak;
pub mod trial;
