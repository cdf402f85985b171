//! Collects garbage between steps, in slices that keep pace with the garbage that the steps produce.

use mlua::Lua;

/// Work of the collector in one slice, in bytes.
const SLICE_BYTES: usize = 64 << 10;

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
