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
    /// Turn of the head to the left, in radians.
    pub turned: f64,
    /// Position in metres.
    pub position: [f64; 3],
}

/// A button that was pressed.
#[derive(Clone, Debug, PartialEq, Wire)]
pub struct Button {
    /// The number of the sample in which it was pressed.
    pub sample: u32,
    /// Turn of the head to the left in that sample, in radians.
    pub turned: f64,
}

/// Returns the nanoseconds since 1970, by the clock that all processes on a machine share.
#[must_use]
pub fn now_ns() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64)
}
