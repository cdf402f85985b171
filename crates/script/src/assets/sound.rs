//! Checks that sounds begin with the bytes of their formats. The decoder of the page checks everything else. A sound that
//! the decoder refuses is not played.

use super::{Checked, Problem};

/// The format of a sound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Ogg,
    Mp3,
    Wav,
}

/// Checks that a sound has the format of its name. Returns its media type.
pub(super) fn check(bytes: &[u8], format: Format) -> Checked<&'static str> {
    let (is_such, media_type) = match format {
        Format::Ogg => (bytes.starts_with(b"OggS"), "audio/ogg"),
        // An MP3 file begins either with tags, or with the eleven bits that begin a frame.
        Format::Mp3 => (bytes.starts_with(b"ID3") || matches!(bytes, [0xff, 0xe0..=0xff, ..]), "audio/mpeg"),
        Format::Wav => (bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE"), "audio/wav"),
    };
    if is_such {
        return Ok(media_type);
    }
    let message = format!("it does not begin as a sound of type {media_type}");
    Err(Problem::new(message, "export it again, and give it the ending of its format"))
}
