//! The names of services.

/// Maximum length of a name, in bytes.
pub const NAME_BYTES_MAX: usize = 64;

/// Whether a text is a valid name: 1 to 64 of `a–z A–Z 0–9 . _ -`, not beginning with a dot.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&text.len()) && !text.starts_with('.') && text.bytes().all(is_allowed)
}
