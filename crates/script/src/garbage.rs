//! Collects garbage between steps, in slices that keep pace with the garbage that the steps produce.

use mlua::{Function, Lua};

/// Work of the collector in one slice, in bytes.
const SLICE_BYTES: usize = 64 << 10;

/// Reads the bytes of all values of a state. The allocator's count is of no use for this, because it counts whole pages.
#[derive(Clone)]
pub(crate) struct ByteCounter(Option<Function>);

impl ByteCounter {
    /// Takes the interpreter's own function, before scripts lose it.
    pub(crate) fn of(lua: &Lua) -> Self {
        Self(lua.globals().raw_get("gcinfo").ok())
    }

    /// Returns the bytes, in steps of 1,024.
    pub(crate) fn bytes(&self) -> usize {
        let kilobytes = self.0.as_ref().and_then(|count| count.call::<usize>(()).ok());
        kilobytes.unwrap_or_default() * 1_024
    }
}

/// Runs slices of a collection. The collector is stopped while scripts run. If a state uses more than half of its limit, all
/// its garbage is collected at once.
pub(crate) fn collect(lua: &Lua, memory_bytes_max: usize) {
    let used = lua.used_memory();
    if used > memory_bytes_max / 2 {
        // A collection fails only if a finaliser fails, and scripts have no finalisers.
        let _ = lua.gc_collect();
    } else {
        for _ in 0..2 + used / (SLICE_BYTES * 16) {
            let _ = lua.gc_step();
        }
    }
    lua.gc_stop();
}
