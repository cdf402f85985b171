//! The one clock of this process, as sessions want it: microseconds since the first look.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nowcast_session::Time;

/// Sessions take time zero for "long ago", so the clock begins a while after it.
const BEGINNING: Duration = Duration::from_secs(3_600);

static START: OnceLock<Instant> = OnceLock::new();

/// Returns the present time.
pub(crate) fn now() -> Time {
    at(Instant::now())
}

/// Converts `instant`.
pub(crate) fn at(instant: Instant) -> Time {
    let start = *START.get_or_init(Instant::now);
    Time::default() + BEGINNING + instant.saturating_duration_since(start)
}

/// When the clock shows `time`.
pub(crate) fn instant(time: Time) -> Instant {
    let start = *START.get_or_init(Instant::now);
    start + time.since(Time::default() + BEGINNING)
}
