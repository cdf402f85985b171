//! How old what a receiver shows is.

pub mod simulated;
