//! Makes foreign text safe for a terminal.

use std::fmt::Write as _;

use serde_json::Value;

/// Invisible letters and marks: fillers and joiners that fonts do not show.
const INVISIBLE: [char; 11] = [
    '\u{34f}', '\u{115f}', '\u{1160}', '\u{17b4}', '\u{17b5}', '\u{180b}', '\u{180c}', '\u{180d}',
    '\u{180f}', '\u{3164}', '\u{ffa0}',
];

/// Makes a text from a peer or a file safe for a terminal. Control characters, direction marks and invisible characters are
/// written in the form `\u{202e}`.
#[must_use]
pub fn printable(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        if is_shown(character) {
            shown.push(character);
        } else {
            shown.extend(character.escape_unicode());
        }
        shown
    })
}

/// Returns JSON on one line. The same characters are written as JSON escapes such as `\u202e`, so the meaning does not change.
#[must_use]
pub fn printable_json(value: &Value) -> String {
    // Non-ASCII characters occur only in strings, and serde_json escapes all ASCII control characters except DEL.
    value.to_string().chars().fold(String::new(), |mut shown, character| {
        if is_shown(character) {
            shown.push(character);
        } else {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(shown, "\\u{unit:04x}");
            }
        }
        shown
    })
}

/// Whether the character is visible or a space. Control, format, private and unassigned characters are not.
fn is_shown(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_control();
    }
    // The standard library's debug form escapes all other characters. After a letter it does not escape combining marks, which
    // are visible.
    let behind_a_letter = ['a', character].iter().collect::<String>();
    let is_escaped = behind_a_letter.escape_debug().count() > 2;
    let is_space =
        character.is_whitespace() && !character.is_control() && !matches!(character, '\u{2028}' | '\u{2029}');
    (is_space || !is_escaped) && !INVISIBLE.contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_is_printed_unchanged() {
        for text in ["grüße \"🚀\" \\o/", "e\u{301}", "नमस्ते", "日本語\u{3000}です", "שלום", "❤\u{fe0f}"]
        {
            assert_eq!(printable(text), text);
        }
    }

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(printable("\x1b[2J\r\n\tx\x7f"), "\\u{1b}[2J\\u{d}\\u{a}\\u{9}x\\u{7f}");
        assert_eq!(printable("\u{9b}31m"), "\\u{9b}31m");
        for hidden in
            "\u{202e}\u{2066}\u{200f}\u{200b}\u{feff}\u{ad}\u{2028}\u{e0041}\u{3164}\u{34f}\u{e000}".chars()
        {
            assert_eq!(printable(&hidden.to_string()), hidden.escape_unicode().to_string());
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "text": "a\u{202e}\u{7f}\u{9b}\u{e0041}é\n" });
        let shown = printable_json(&value);
        assert_eq!(shown, "{\"text\":\"a\\u202e\\u007f\\u009b\\udb40\\udc41é\\n\"}");
        assert_eq!(serde_json::from_str::<Value>(&shown).unwrap(), value);
    }
}
