//! Instruments for hosted worlds.
//!
//! - `bots` play worlds. `load` fills a server with readers, and compares it with Colyseus.
//! - `crash` kills servers and cuts the power of disks, and checks the stored data.
//! - `motion` compares displayed poses with the server's world. `script` measures rules in Luau.
//! - `browser` lets a page measure itself.

#![cfg(target_os = "linux")]

pub mod bots;
pub mod browser;
pub mod crash;
pub mod load;
pub mod motion;
pub mod script;
