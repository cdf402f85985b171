//! Content codings of answers (RFC 9110, section 8.4.1).

/// Whether an `Accept-Encoding` header accepts a coding: whether it names the coding, without a weight of 0.
pub(crate) fn accepts(accepted: &str, coding: &str) -> bool {
    accepted.split(',').any(|entry| {
        let (name, parameters) = entry.split_once(';').unwrap_or((entry, ""));
        let weight = parameters.trim().strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
        name.trim().eq_ignore_ascii_case(coding) && weight != Some(0.0)
    })
}
