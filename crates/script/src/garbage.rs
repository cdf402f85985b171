//! When memory is collected: between steps, in slices that keep pace with what the steps throw away.

use mlua::Lua;

/// Bytes of one slice of the collector's work.
const SLICE_BYTES: usize = 64 << 10;

/// Runs slices of a collection for a state whose collector is stopped while scripts run. A state above half of its limit is
/// collected at once.
pub(crate) fn collect(lua: &Lua, memory_bytes_max: usize) {
    let used = lua.used_memory();
    if used > memory_bytes_max / 2 {
        // A failure would be a finaliser's, and scripts have none.
        let _ = lua.gc_collect();
    } else {
        for _ in 0..2 + used / (SLICE_BYTES * 16) {
            let _ = lua.gc_step();
        }
    }
    lua.gc_stop();
}
