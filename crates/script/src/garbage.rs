//! Collects memory between steps, in slices that keep pace with the garbage of the steps.

use mlua::Lua;

/// Size of one slice of the collector's work, in bytes.
const SLICE_BYTES: usize = 64 << 10;

/// Runs slices of a collection. The collector is stopped while scripts run. A state that uses more than half of its
/// limit is collected at once.
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
