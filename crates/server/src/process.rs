//! The system's counters for this process on Linux. On other systems, the functions return `None`.

#[cfg(all(target_os = "linux", feature = "cluster"))]
pub(crate) use linux::memory_bytes;
#[cfg(target_os = "linux")]
pub(crate) use linux::{cpu_seconds, open_files, resident_bytes};
#[cfg(all(not(target_os = "linux"), feature = "cluster"))]
pub(crate) use untold::memory_bytes;
#[cfg(not(target_os = "linux"))]
pub(crate) use untold::{cpu_seconds, open_files, resident_bytes};

#[cfg(target_os = "linux")]
mod linux {
    pub(crate) fn open_files() -> Option<i64> {
        Some(std::fs::read_dir("/proc/self/fd").ok()?.count() as i64)
    }

    /// Returns the resident memory of this process.
    pub(crate) fn resident_bytes() -> Option<i64> {
        bytes_in("VmRSS:", &std::fs::read_to_string("/proc/self/status").ok()?)
    }

    /// Returns the memory of this machine.
    #[cfg(any(feature = "cluster", test))]
    pub(crate) fn memory_bytes() -> Option<i64> {
        bytes_in("MemTotal:", &std::fs::read_to_string("/proc/meminfo").ok()?)
    }

    /// The kernel counts in units of 1,024 bytes, named kB, in these files. `/proc/self/statm` counts in pages, whose size
    /// depends on the machine.
    fn bytes_in(name: &str, text: &str) -> Option<i64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        kibibytes.checked_mul(1_024)
    }

    /// Returns user and system time, which are the 14th and the 15th number in `/proc/self/stat`, in ticks of 10 ms.
    pub(crate) fn cpu_seconds() -> Option<f64> {
        let text = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The program's name may contain spaces. It ends at the last parenthesis.
        let mut figures = text.rsplit_once(')')?.1.split_whitespace().skip(11);
        let user: f64 = figures.next()?.parse().ok()?;
        let system: f64 = figures.next()?.parse().ok()?;
        Some((user + system) / 100.0)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn resident_memory_is_read_in_kibibytes_on_every_page_size() {
            let status = "Name:\tnowcast\nVmSize:\t  900000 kB\nVmRSS:\t    3072 kB\nRssAnon:\t    1024 kB\n";
            assert_eq!(bytes_in("VmRSS:", status), Some(3 << 20));
            assert_eq!(bytes_in("VmRSS:", "Name:\tkthreadd\n"), None);
            assert!(
                resident_bytes().is_some_and(|bytes| bytes > 1 << 20),
                "Linux reports it for this process"
            );
            assert!(memory_bytes() > resident_bytes(), "a process is smaller than its machine");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod untold {
    pub(crate) fn open_files() -> Option<i64> {
        None
    }

    pub(crate) fn resident_bytes() -> Option<i64> {
        None
    }

    #[cfg(feature = "cluster")]
    pub(crate) fn memory_bytes() -> Option<i64> {
        None
    }

    pub(crate) fn cpu_seconds() -> Option<f64> {
        None
    }
}
