//! Messages between the tracker and the renderer.

use std::time::{SystemTime, UNIX_EPOCH};

use nowcast_wire::Wire;

/// The key of the head's pose.
pub const HEAD: u64 = 1;

/// The position of the head.
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Pose {
    /// Time of the measurement: nanoseconds since 1970.
    pub taken_ns: u64,
    /// Radians to the left.
    pub turned: f64,
    /// Metres.
    pub position: [f64; 3],
}

/// A button that was pressed.
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Button {
    /// The number of the sample that it was pressed in.
    pub sample: u32,
    /// Radians to the left of that sample.
    pub turned: f64,
}

/// Nanoseconds since 1970, by the clock that all processes of a machine share.
#[must_use]
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
