//! What rooms, and the worlds that they show, may be called.

/// The longest name of a room or a world, in bytes.
pub(crate) const ROOM_NAME_BYTES_MAX: usize = 32;

/// Whether a room or a world may be called so.
pub fn is_room_name(name: &str) -> bool {
    (1..=ROOM_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}
