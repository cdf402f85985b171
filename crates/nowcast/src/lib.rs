//! Channels over carriers.
