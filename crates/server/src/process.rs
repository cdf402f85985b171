//! Counters of the system for this process and its threads, on Linux; other systems report nothing.

#[cfg(target_os = "linux")]
pub(crate) use linux::{cpu_seconds, open_files, resident_bytes, thread_cpu_time};
#[cfg(not(target_os = "linux"))]
pub(crate) use untold::{cpu_seconds, open_files, resident_bytes, thread_cpu_time};

#[cfg(target_os = "linux")]
mod linux {
    use std::time::Duration;

    /// The processor time that the calling thread has used.
    pub(crate) fn thread_cpu_time() -> Option<Duration> {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).ok()
    }

    pub(crate) fn open_files() -> Option<i64> {
        Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as i64)
    }

    /// The second figure of `/proc/self/statm` counts pages of 4 KiB on every machine that Nowcast supports.
    pub(crate) fn resident_bytes() -> Option<i64> {
        let text = std::fs::read_to_string("/proc/self/statm").ok()?;
        let pages: i64 = text.split_whitespace().nth(1)?.parse().ok()?;
        Some(pages * 4_096)
    }

    /// User and system time are the 14th and 15th figure of `/proc/self/stat`, in ticks of 10 ms.
    pub(crate) fn cpu_seconds() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The program's name may hold spaces; it ends with the last parenthesis.
        let mut figures = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let user: f64 = figures.next()?.parse().ok()?;
        let system: f64 = figures.next()?.parse().ok()?;
        Some((user + system) / 100.0)
    }
}

#[cfg(not(target_os = "linux"))]
mod untold {
    use std::time::Duration;

    pub(crate) fn thread_cpu_time() -> Option<Duration> {
        None
    }

    pub(crate) fn open_files() -> Option<i64> {
        None
    }

    pub(crate) fn resident_bytes() -> Option<i64> {
        None
    }

    pub(crate) fn cpu_seconds() -> Option<f64> {
        None
    }
}
