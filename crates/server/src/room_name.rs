//! What a room may be called.

/// The longest name of a room, in bytes.
pub(crate) const ROOM_NAME_BYTES_MAX: usize = 32;

/// Whether a room, and so a world, may be called like this: 1 to 32 of `a–z 0–9 - _`.
pub(crate) fn is_room_name(name: &str) -> bool {
    (1..=ROOM_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}
