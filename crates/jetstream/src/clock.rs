//! The clock of leases. It runs while the process is stopped and while the machine sleeps, so a server that was suspended
//! finds that its lease has expired.

use nowcast_cluster::Time;

/// Returns the present time on this machine's clock.
#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
pub(crate) fn now() -> Time {
    use rustix::time::{ClockId, clock_gettime};

    #[cfg(not(target_vendor = "apple"))]
    const CLOCK: ClockId = ClockId::Boottime;
    // This clock of macOS includes the time of sleep. The clock of `Instant` does not.
    #[cfg(target_vendor = "apple")]
    const CLOCK: ClockId = ClockId::Monotonic;

    let time = clock_gettime(CLOCK);
    // Neither part is negative: the clock begins at the start of the machine.
    Time::from_micros(time.tv_sec as u64 * 1_000_000 + time.tv_nsec as u64 / 1_000)
}

/// Returns the present time on this machine's clock. `Instant` of Windows includes the time of sleep.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
pub(crate) fn now() -> Time {
    use std::sync::OnceLock;
    use std::time::Instant;

    static START: OnceLock<Instant> = OnceLock::new();
    Time::default() + START.get_or_init(Instant::now).elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn the_clock_counts_the_sleep_of_the_machine() {
        let before = now();
        let uptime = std::fs::read_to_string("/proc/uptime").expect("Linux has the file");
        let after = now();
        // The first field is the time since the start of the machine with all sleep, in hundredths of a second.
        let seconds: f64 = uptime.split(' ').next().and_then(|text| text.parse().ok()).expect("a number");
        let hundredths = (seconds * 100.0).round() as u64;
        let of = |time: Time| time.as_micros() / 10_000;
        assert!((of(before)..=of(after)).contains(&hundredths), "{before:?} {seconds} {after:?}");
    }
}
