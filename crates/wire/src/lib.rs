//! Bytes to types and back.
