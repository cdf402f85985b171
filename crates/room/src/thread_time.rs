//! The processor time of a thread, on Linux; other systems report nothing.

use std::time::Duration;

/// The processor time that the calling thread has used.
#[cfg(target_os = "linux")]
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    None
}
