//! Names of rooms, and of the worlds that they show.

use nowcast_store::At;

/// The longest name of a room or a world, in bytes.
pub(crate) const ROOM_NAME_BYTES_MAX: usize = 32;

/// Separates the name of a room from the requested moment of its history. No room has this character in its name.
const BEFORE_MOMENT: char = '.';

/// Whether a room or a world may have this name.
pub fn is_room_name(name: &str) -> bool {
    (1..=ROOM_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// The room that a client requests: `plaza`, or `plaza.-5m`, which shows `plaza` as it was five minutes ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedRoom<'a> {
    /// The room's own name.
    pub(crate) room: &'a str,
    /// The requested moment of its history, if any.
    pub(crate) at: Option<At>,
}

impl<'a> AskedRoom<'a> {
    /// Returns `None` if no room can have this name.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (room, at) = match name.split_once(BEFORE_MOMENT) {
            None => (name, None),
            Some((room, moment)) => (room, Some(moment.parse().ok()?)),
        };
        is_room_name(room).then_some(Self { room, at })
    }
}

/// The room to which a name refers, for its present or its history.
pub(crate) fn room_of(name: &str) -> &str {
    name.split(BEFORE_MOMENT).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_moment_follows_a_dot_that_no_room_name_contains() {
        let asked = |room, at| Some(AskedRoom { room, at });
        assert_eq!(AskedRoom::parse("park-2"), asked("park-2", None));
        let ago = At::Ago(Duration::from_secs(300));
        assert_eq!(AskedRoom::parse("plaza.-5m"), asked("plaza", Some(ago)));
        assert_eq!(AskedRoom::parse("plaza.3600"), asked("plaza", Some(At::Tick(3_600))));
        let time = At::TimeMs(1_795_428_000_000);
        assert_eq!(AskedRoom::parse("plaza.20261123T100000Z"), asked("plaza", Some(time)));
        for wrong in ["", ".", "plaza.", ".-5m", "plaza.x", "plaza.-5m.-5m", "Plaza.-5m", "plaza@-5m"] {
            assert_eq!(AskedRoom::parse(wrong), None, "{wrong}");
        }
        assert_eq!((room_of("plaza.-5m"), room_of("plaza")), ("plaza", "plaza"));
    }
}
