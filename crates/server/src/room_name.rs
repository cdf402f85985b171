//! Names of rooms, and of the worlds that they show.

use nowcast_store::At;

/// The longest name of a room or a world, in bytes.
pub(crate) const ROOM_NAME_BYTES_MAX: usize = 32;

/// Stands between the name of a room and the moment of its past that is asked for. No room has one in its name.
const BEFORE_MOMENT: char = '.';

/// Whether a room or a world may be called so.
pub fn is_room_name(name: &str) -> bool {
    (1..=ROOM_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// The room that a client asks for: `plaza`, or `plaza.-5m`, which shows `plaza` as it was five minutes ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedRoom<'a> {
    /// The room's own name.
    pub(crate) room: &'a str,
    /// The moment of its past, if that is asked for.
    pub(crate) at: Option<At>,
}

impl<'a> AskedRoom<'a> {
    /// Nothing, if no room is called so.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (room, at) = match name.split_once(BEFORE_MOMENT) {
            None => (name, None),
            Some((room, moment)) => (room, Some(moment.parse().ok()?)),
        };
        is_room_name(room).then_some(Self { room, at })
    }
}

/// The name of the room that a name asks for, whether its present or its past.
pub(crate) fn room_of(name: &str) -> &str {
    name.split(BEFORE_MOMENT).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_moment_stands_behind_a_dot_that_no_room_has_in_its_name() {
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
