//! The clock of this process for sessions: microseconds since the first call.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nowcast_session::Time;

/// The clock begins with this value, because sessions use time zero for "long ago".
const BEGINNING: Duration = Duration::from_secs(3_600);

static START: OnceLock<Instant> = OnceLock::new();

/// Returns the current time.
pub fn now() -> Time {
    at(Instant::now())
}

/// Converts `instant`.
pub fn at(instant: Instant) -> Time {
    let start = *START.get_or_init(Instant::now);
    Time::default() + BEGINNING + instant.saturating_duration_since(start)
}

/// Converts `time`.
pub fn instant(time: Time) -> Instant {
    let start = *START.get_or_init(Instant::now);
    start + time.since(Time::default() + BEGINNING)
}
