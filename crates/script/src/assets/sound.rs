//! Sounds: whether they begin as their names say. A page's own decoder judges the rest, and a sound that it refuses is not heard.

use super::{Checked, Problem};

/// How a sound is written down.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Ogg,
    Mp3,
    Wav,
}

/// Checks that a sound is what it is said to be. Returns its media type.
pub(super) fn check(bytes: &[u8], format: Format) -> Checked<&'static str> {
    let (is_such, media_type) = match format {
        Format::Ogg => (bytes.starts_with(b"OggS"), "audio/ogg"),
        // Either tags, or the eleven bits of a frame's beginning.
        Format::Mp3 => (bytes.starts_with(b"ID3") || matches!(bytes, [0xff, 0xe0..=0xff, ..]), "audio/mpeg"),
        Format::Wav => (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE"), "audio/wav"),
    };
    if is_such {
        return Ok(media_type);
    }
    let message = format!("it does not begin like a sound of type {media_type}");
    Err(Problem::new(message, "export it again, and let the end of its name say what it is"))
}
