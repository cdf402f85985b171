//! Splits the text of a module into tokens, for checks that need no syntax tree.

/// Splits a text into words, numbers, quoted texts and signs, with their lines. Long texts become `""`; comments are
/// left out.
pub(crate) fn tokens(text: &str) -> Vec<(&str, u32)> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let (length, token) = if first.is_whitespace() {
            (first.len_utf8(), None)
        } else if let Some(inner) = rest.strip_prefix("--") {
            (2 + long_bracket(inner).unwrap_or_else(|| inner.find('\n').unwrap_or(inner.len())), None)
        } else if let Some(length) = long_bracket(rest) {
            (length, Some("\"\""))
        } else if matches!(first, '"' | '\'' | '`') {
            let length = quoted(rest, first);
            (length, Some(&rest[..length]))
        } else if first.is_ascii_alphanumeric() || first == '_' {
            let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            (length, Some(&rest[..length]))
        } else {
            const SIGNS: [&str; 15] =
                ["...", "..=", "//=", "==", "~=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "^=", "//", ".."];
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let length = sign.map_or(first.len_utf8(), |sign| sign.len());
            (length, Some(&rest[..length]))
        };
        tokens.extend(token.map(|token| (token, line)));
        line += rest[..length].matches('\n').count() as u32;
        rest = &rest[length..];
    }
    tokens
}

/// Returns the length of `[[…]]` or `[==[…]==]` at the beginning.
fn long_bracket(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let level = inner.find(|c| c != '=')?;
    inner[level..].starts_with('[').then_some(())?;
    let end = format!("]{}]", "=".repeat(level));
    Some(text.find(&end).map_or(text.len(), |at| at + end.len()))
}

fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let mut characters = text.char_indices().skip(1);
    let end = characters.find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, c)| at + c.len_utf8())
}

/// Whether a token is a name or a keyword.
pub(crate) fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}
