//! Protection of names that tokens assign.
//!
//! The operator assigns the name in a token. A client without such a token chooses its name. Therefore no other player in a
//! room may use the name of a token, or a name that looks like it. Such a name differs in case, in invisible characters, or
//! in letters of another script that look the same (Unicode Technical Standard 39, section 4).

use std::collections::BTreeMap;

use nowcast_world::text::sanitize;
use nowcast_world::{NAME_CHARS_MAX, PlayerId};
use unicode_normalization::UnicodeNormalization;
use unicode_security::skeleton;

/// The requested name of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// A name that the client requests.
    Asked(String),
    /// A name that the client's token assigns.
    Verified(String),
}

/// The names in a room that tokens assigned.
#[derive(Default)]
pub(crate) struct Names {
    bound: BTreeMap<PlayerId, Likeness>,
}

/// The two normal forms of a name. Two names look alike if a form of one name equals a form of the other. `Ian` has the form
/// `lan` by appearance, and `ian` by case folding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Likeness([String; 2]);

impl Names {
    /// Whether a player without a token may use a name.
    pub(crate) fn are_free(&self, name: &str) -> bool {
        let likeness = Likeness::of(without_number(&sanitize(name, NAME_CHARS_MAX)));
        !self.bound.values().any(|bound| bound.is_like(&likeness))
    }

    /// Returns the name of a new player whose token has this name. If a player in the room already has the name, a number is
    /// added.
    pub(crate) fn disambiguate(&self, name: &str) -> String {
        let name = sanitize(name, NAME_CHARS_MAX);
        let is_free = |name: &String| {
            let likeness = Likeness::of(name);
            !self.bound.values().any(|bound| bound.is_like(&likeness))
        };
        // Each number gives a different name, so it suffices to try one number more than there are players.
        let numbered = (2..=self.bound.len() + 2).map(|number| {
            let number = format!(" ({number})");
            let kept: String = name.chars().take(NAME_CHARS_MAX - number.len()).collect();
            kept.trim_end().to_owned() + &number
        });
        std::iter::once(name.clone()).chain(numbered).find(is_free).unwrap_or(name)
    }

    /// Reserves this name for this player.
    pub(crate) fn bind(&mut self, player: PlayerId, name: &str) {
        self.bound.insert(player, Likeness::of(name));
    }

    /// Whether a token assigned the name of this player.
    pub(crate) fn is_bound(&self, player: PlayerId) -> bool {
        self.bound.contains_key(&player)
    }

    /// Releases the name of a player who left.
    pub(crate) fn forget(&mut self, player: PlayerId) {
        self.bound.remove(&player);
    }
}

impl Likeness {
    fn of(name: &str) -> Self {
        let letters: String = name.nfkc().filter(|c| c.is_alphanumeric()).collect();
        // Names without letters are compared unchanged.
        let letters = if letters.is_empty() { name.nfkc().collect() } else { letters };
        let as_written = skeleton(&skeleton(&letters).collect::<String>().to_lowercase()).collect();
        let as_read = skeleton(&letters.to_lowercase()).collect();
        Self([as_written, as_read])
    }

    fn is_like(&self, other: &Self) -> bool {
        self.0.iter().any(|form| other.0.contains(form))
    }
}

/// Returns a name without the number that distinguishes equal names. Only the server adds such numbers.
fn without_number(name: &str) -> &str {
    let number = name.strip_suffix(')').and_then(|name| name.rsplit_once('('));
    match number {
        Some((name, digits)) if !digits.is_empty() && digits.chars().all(char::is_numeric) => name.trim_end(),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(names: &[&str]) -> Names {
        let mut bound = Names::default();
        for (id, name) in (1..).zip(names) {
            bound.bind(PlayerId(id), name);
        }
        bound
    }

    #[test]
    fn names_that_look_like_the_name_of_a_token_are_refused() {
        let names = with(&["Ada", "Ian Bell"]);
        for taken in [
            "Ada",
            "ADA",
            " ada ",
            "A da",
            "A.d.a!",
            "\u{410}da",         // Cyrillic A
            "\u{391}da",         // Greek Alpha
            "Ad\u{430}",         // Cyrillic a
            "\u{ff21}\u{ff44}a", // full width
            "\u{1d400}da",       // mathematical bold
            "A\u{3164}da",       // Hangul filler
            "Ad\u{fe0f}a",       // variation selector
            "Ada (2)",
            "Ada(17)",
            "lan Bell",
            "1an Be1l",
            "IAN BELL",
        ] {
            assert!(!names.are_free(taken), "{taken:?}");
        }
        for free in ["Ada L.", "Adam", "Eva", "雨宮", "Bell", "", "(2)"] {
            assert!(names.are_free(free), "{free:?}");
        }
    }

    #[test]
    fn two_tokens_of_one_name_get_different_names() {
        let mut names = with(&["Ada", "Ada (2)"]);
        assert_eq!(names.disambiguate("Eva"), "Eva");
        assert_eq!(names.disambiguate("ada"), "ada (3)");
        names.forget(PlayerId(2));
        assert_eq!(names.disambiguate("Ada"), "Ada (2)");
        let long = "x".repeat(NAME_CHARS_MAX);
        let names = with(&[&long]);
        let apart = names.disambiguate(&long);
        assert_eq!((apart.chars().count(), apart.ends_with(" (2)")), (NAME_CHARS_MAX, true));
    }
}
