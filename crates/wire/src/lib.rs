//! Bytes to types and back.

pub mod delta;
pub mod entropy;
