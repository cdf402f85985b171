//! The updatable queue in shared memory.
