//! The room that a client requests, and the requested moment of its history.

use nowcast_store::At;
use nowcast_world_protocol::{is_room_name, split_moment};

/// The room that a client requests: `plaza`, or `plaza.-5m`, which shows the state of `plaza` five minutes ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AskedRoom<'a> {
    /// The room's own name.
    pub(crate) room: &'a str,
    /// The requested moment of the room's history, if any.
    pub(crate) at: Option<At>,
}

impl<'a> AskedRoom<'a> {
    /// Returns `None` if no room can have this name.
    pub(crate) fn parse(name: &'a str) -> Option<Self> {
        let (room, moment) = split_moment(name);
        let at = match moment {
            None => None,
            Some(moment) => Some(moment.parse().ok()?),
        };
        is_room_name(room).then_some(Self { room, at })
    }
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
    }
}
