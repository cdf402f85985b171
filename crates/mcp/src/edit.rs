//! Replaces parts of a text.

use crate::arguments::Edit;
use crate::studio::StudioError;

/// Maximum characters of an old text in an error.
const QUOTED_CHARS_MAX: usize = 60;

/// Applies replacements in order. Each old text must occur exactly once.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> Result<String, StudioError> {
    let mut text = text.to_owned();
    for (number, Edit { old, new }) in edits.iter().enumerate() {
        let count = if old.is_empty() { 0 } else { text.matches(old.as_str()).count() };
        if count != 1 {
            let quoted: String = old.chars().take(QUOTED_CHARS_MAX).collect();
            let cure = if count == 0 { "read the file again" } else { "add the lines around it" };
            return Err(StudioError::Edit(format!(
                "edit {}: the old text {quoted:?} occurs {count} times instead of once; {cure}. Nothing was saved",
                number + 1
            )));
        }
        text = text.replacen(old.as_str(), new, 1);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(pairs: &[(&str, &str)]) -> Vec<Edit> {
        pairs.iter().map(|(old, new)| Edit { old: (*old).into(), new: (*new).into() }).collect()
    }

    #[test]
    fn parts_that_occur_once_are_replaced_in_order() {
        let text = "local a = 1\nlocal b = 2\n";
        let edited = apply(text, &edits(&[("a = 1", "a = b"), ("local b", "local c"), ("a = b", "a = c")]));
        assert_eq!(edited.unwrap(), "local a = c\nlocal c = 2\n");
        for old in ["local", "x", ""] {
            let error = apply(text, &edits(&[(old, "y")])).unwrap_err().to_string();
            assert!(error.contains("instead of once"), "{error}");
        }
    }
}
