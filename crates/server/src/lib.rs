//! Hosts worlds.

pub mod plain;
