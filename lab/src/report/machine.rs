//! The machine on which a figure was measured.

use std::fs;

use serde::Serialize;

/// The machine and the build of a run. Fields that the system does not provide are empty.
#[derive(Debug, Clone, Serialize)]
pub struct Machine {
    /// The name of the processor.
    pub processor: String,
    /// Number of logical cores that this process may use.
    pub cores: usize,
    /// Installed memory in GiB.
    pub memory_gib: f64,
    /// Operating system, kernel release and architecture.
    pub system: String,
    /// Whether the binary was built with optimisation. Figures of other builds are not valid.
    pub release_build: bool,
    /// Average number of runnable tasks in the minute before the run. If it exceeds the number of cores, timings are noisy.
    pub load_before: f64,
}

impl Machine {
    /// Describes this machine.
    pub fn here() -> Self {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let field = |text: &str, name: &str| {
            text.lines()
                .find(|line| line.starts_with(name))
                .and_then(|line| line.split_once(':'))
                .map(|(_, value)| value.trim().to_owned())
                .unwrap_or_default()
        };
        let memory_kib = field(&read("/proc/meminfo"), "MemTotal")
            .split_whitespace()
            .next()
            .and_then(|text| text.parse::<f64>().ok())
            .unwrap_or_default();
        let load = read("/proc/loadavg");
        Self {
            processor: field(&read("/proc/cpuinfo"), "model name"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_gib: memory_kib / 1_048_576.0,
            system: format!(
                "{} {} {}",
                std::env::consts::OS,
                read("/proc/sys/kernel/osrelease").trim(),
                std::env::consts::ARCH
            ),
            release_build: !cfg!(debug_assertions),
            load_before: load
                .split_whitespace()
                .next()
                .and_then(|text| text.parse().ok())
                .unwrap_or_default(),
        }
    }

    /// Describes the machine in one line, for the head of a report.
    pub fn describe(&self) -> String {
        let processor = if self.processor.is_empty() { "unnamed processor" } else { &self.processor };
        format!(
            "{processor}, {} core{}, {:.0} GiB, {}, load before the run {:.2}, {} build",
            self.cores,
            if self.cores == 1 { "" } else { "s" },
            self.memory_gib,
            self.system,
            self.load_before,
            if self.release_build { "release" } else { "DEBUG" },
        )
    }
}
