//! Sanitises names and chat lines from outside (`spec/PLAIN.md`, section 6).

/// Removes control and format characters (Unicode categories Cc and Cf, line and paragraph separators), trims white
/// space at both ends and keeps at most `chars_max` characters. Text without any visible character becomes empty.
/// Markup is not changed: programs must show the result as plain text.
///
/// ```
/// use nowcast_world::text::sanitize;
/// assert_eq!(sanitize("  Ada\u{7}\u{202e} <b>L.</b>\n", 24), "Ada <b>L.</b>");
/// assert_eq!(sanitize("\u{200b}\t", 24), "");
/// ```
pub fn sanitize(raw: &str, chars_max: usize) -> String {
    let mut kept = String::new();
    let visible = raw.chars().filter(|c| !is_removed(*c));
    for c in visible.skip_while(|c| c.is_whitespace()).take(chars_max) {
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    if kept.chars().all(is_invisible) {
        kept.clear();
    }
    kept
}

/// Returns a line of chat as clients see it. A line that begins with two slashes is not a command, and is shown with one.
///
/// ```
/// use nowcast_world::text::as_said;
/// assert_eq!([as_said("//give"), as_said("hello")], ["/give", "hello"]);
/// ```
pub fn as_said(line: &str) -> &str {
    if line.starts_with("//") { &line[1..] } else { line }
}

/// Whether a character is invisible by itself. Such a character may be useful between other characters, so a text becomes
/// empty only if it consists entirely of invisible characters.
fn is_invisible(c: char) -> bool {
    c.is_whitespace() || is_removed(c) || BLANK.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

fn is_removed(c: char) -> bool {
    c.is_control() || FORMAT.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Unicode category Cf, and U+2028 and U+2029, as of Unicode 16.
const FORMAT: [(char, char); 22] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{600}', '\u{605}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{6dd}', '\u{6dd}'),
    ('\u{70f}', '\u{70f}'),
    ('\u{890}', '\u{891}'),
    ('\u{8e2}', '\u{8e2}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{2064}'),
    ('\u{2066}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
    ('\u{110bd}', '\u{110bd}'),
    ('\u{110cd}', '\u{110cd}'),
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0001}', '\u{e0001}'),
    ('\u{e0020}', '\u{e003f}'),
    ('\u{e0040}', '\u{e007f}'),
];

/// The characters of the Unicode property `Default_Ignorable_Code_Point` that `FORMAT` lacks, as of Unicode 16. In addition,
/// two characters that have no visible shape: the blank of Braille and the null notehead.
const BLANK: [(char, char); 12] = [
    ('\u{34f}', '\u{34f}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{2065}', '\u{2065}'),
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fff8}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{e0000}', '\u{e0fff}'),
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn right_to_left_overrides_and_invisible_characters_do_not_survive() {
        assert_eq!(sanitize("a\u{202e}b\u{200d}c\u{feff}d\u{2028}e\u{0}f", 24), "abcdef");
    }

    #[test]
    fn text_without_visible_characters_becomes_empty() {
        for blank in ["\u{3164}", "\u{2800}\u{2800}", "\u{115f} \u{1160}", "\u{fe0f}", "\u{34f}\u{e0100}"] {
            assert_eq!(sanitize(blank, 24), "", "{blank:?}");
        }
        assert_eq!(sanitize("❤\u{fe0f}", 24), "❤\u{fe0f}", "between others they are useful");
    }

    #[test]
    fn other_scripts_pass_unchanged() {
        assert_eq!(sanitize("Zoë 雨宮 Ωmega 🦀", 24), "Zoë 雨宮 Ωmega 🦀");
    }

    #[test]
    fn a_cut_never_leaves_white_space_at_the_end() {
        assert_eq!(sanitize("ab  cd", 3), "ab");
    }

    proptest! {
        #[test]
        fn sanitised_text_is_short_and_clean_and_sanitises_to_itself(raw in any::<String>(), chars_max in 0usize..40) {
            let once = sanitize(&raw, chars_max);
            prop_assert!(once.chars().count() <= chars_max);
            prop_assert!(!once.chars().any(is_removed));
            prop_assert_eq!(once.trim(), once.as_str());
            prop_assert_eq!(sanitize(&once, chars_max), once.clone());
        }
    }
}
