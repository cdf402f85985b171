//! The session protocol, sans-IO.
