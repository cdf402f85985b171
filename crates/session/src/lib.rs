//! The session protocol, sans-IO.

mod error;
mod limits;
pub mod packet;

pub use error::{CloseCode, Closed, ClosedBy, Malformed, Refused};
pub use limits::{LANES_MAX, Limits, MESSAGE_COST, PACKET_BYTES_MIN, PART_BYTES};
