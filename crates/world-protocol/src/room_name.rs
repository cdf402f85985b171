//! Room names, and the names of the worlds that rooms show.

/// The longest name of a room or a world, in bytes.
pub const ROOM_NAME_BYTES_MAX: usize = 32;

/// Separates the name of a room from the requested moment of its history. Names of rooms cannot contain this character.
const BEFORE_MOMENT: char = '.';

/// Precedes the word of a private room.
const BEFORE_WORD: &str = "--";

/// Whether a room or a world may have this name.
pub fn is_room_name(name: &str) -> bool {
    (1..=ROOM_NAME_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// Whether a room is private: its name ends in two hyphens and a word, as in `party--tuesday`. Servers list no private
/// rooms, so only people who know the word can enter.
pub fn is_private_room(name: &str) -> bool {
    room_of(name).split_once(BEFORE_WORD).is_some_and(|(_, word)| !word.is_empty())
}

/// Splits a requested name into the name of the room and, if the request is for the history, the moment: `plaza.-5m` is
/// `plaza` as it was five minutes ago.
pub fn split_moment(name: &str) -> (&str, Option<&str>) {
    name.split_once(BEFORE_MOMENT).map_or((name, None), |(room, moment)| (room, Some(moment)))
}

/// Returns the room to which a name refers, without the moment of its history.
pub fn room_of(name: &str) -> &str {
    split_moment(name).0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_split_at_its_first_dot() {
        assert_eq!(split_moment("plaza"), ("plaza", None));
        assert_eq!(split_moment("plaza.-5m"), ("plaza", Some("-5m")));
        assert_eq!(split_moment("plaza.-5m.x"), ("plaza", Some("-5m.x")));
        assert_eq!((room_of("plaza.-5m"), room_of("plaza")), ("plaza", "plaza"));
    }

    #[test]
    fn a_room_with_two_hyphens_and_a_word_is_private() {
        for name in ["party--tuesday", "party--a-b", "party--x.-5m", "a--b--c", "---"] {
            assert!(is_private_room(name), "{name}");
        }
        for name in ["party", "party-2", "party--", "party-a-b", "party.-5m"] {
            assert!(!is_private_room(name), "{name}");
        }
    }

    #[test]
    fn a_room_name_is_short_and_has_few_characters() {
        for name in ["plaza", "park-2", "a_b", &"x".repeat(ROOM_NAME_BYTES_MAX)] {
            assert!(is_room_name(name), "{name}");
        }
        for name in ["", "Plaza", "plaza.-5m", "a b", "é", &"x".repeat(ROOM_NAME_BYTES_MAX + 1)] {
            assert!(!is_room_name(name), "{name}");
        }
    }
}
