//! Hosts worlds.
