//! Limits of one world's script.

/// Limits of one script. None of them is a time, so the same commands stop a script at the same place again. Work is
/// counted in units: one for each call and each loop iteration, and more for a library function that reads much text or
/// a large table. A unit takes about 50 ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Units of work that all hooks together may spend in one step.
    pub work_per_step_max: u64,
    /// Units of work for loading one version's modules.
    pub work_per_load_max: u64,
    /// Bytes of the script's values. Garbage of a step counts until the step ends.
    pub memory_bytes_max: usize,
    /// Modules of one version.
    pub modules_max: usize,
    /// Bytes of one module's text.
    pub module_bytes_max: usize,
    /// Printed lines or faults that wait to be polled; when the queue is full, the newest are dropped and counted.
    pub reports_max: usize,
}

impl Limits {
    /// Limits for a large world: about 10 ms of work in a step, and 32 MiB.
    pub const DEFAULT: Limits = Limits {
        work_per_step_max: 200_000,
        work_per_load_max: 2_000_000,
        memory_bytes_max: 32 << 20,
        modules_max: 256,
        module_bytes_max: 1 << 20,
        reports_max: 256,
    };
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::DEFAULT
    }
}

/// Maximum bytes in a printed line or in a fault's message. Longer texts are cut.
pub const LINE_BYTES_MAX: usize = 1_024;

const _: () = assert!(Limits::DEFAULT.module_bytes_max * 2 <= Limits::DEFAULT.memory_bytes_max);
