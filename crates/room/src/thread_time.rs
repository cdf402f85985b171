//! The processor time of a thread on Linux. On other systems, the functions return `None`.

use std::time::Duration;

/// Returns the processor time that the calling thread has used.
#[cfg(target_os = "linux")]
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).ok()
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn thread_cpu_time() -> Option<Duration> {
    None
}
