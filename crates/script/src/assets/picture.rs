//! Reads the format and the size of pictures from their headers. Nothing is decoded.

use super::{Checked, Problem};

/// Maximum pixels along one side. A texture of 4,096 by 4,096 takes 85 MiB of a graphics card with its smaller copies.
const SIDE_MAX: u32 = 4_096;

/// The format of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Png,
    Jpeg,
    WebP,
}

impl Format {
    /// Returns the format of a media type, as glTF names it.
    pub(super) fn of_media_type(media_type: &str) -> Option<Format> {
        Some(match media_type {
            "image/png" => Format::Png,
            "image/jpeg" => Format::Jpeg,
            "image/webp" => Format::WebP,
            _ => return None,
        })
    }

    fn media_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::WebP => "image/webp",
        }
    }
}

/// Checks that a picture has the format of its name, and is no larger than a texture may be. Returns its media type.
pub(super) fn check(bytes: &[u8], format: Format) -> Checked<&'static str> {
    let size = match format {
        Format::Png => png(bytes),
        Format::Jpeg => jpeg(bytes),
        Format::WebP => webp(bytes),
    };
    let Some((width, height)) = size else {
        let message = format!("it does not begin as a picture of type {}", format.media_type());
        return Err(Problem::new(message, "export it again, and give it the ending of its format"));
    };
    if width == 0 || height == 0 || width > SIDE_MAX || height > SIDE_MAX {
        let message =
            format!("a picture of {width} by {height} pixels, but a texture may have 1 to {SIDE_MAX} a side");
        return Err(Problem::new(message, "make it smaller; 1024 by 1024 is enough for most objects"));
    }
    Ok(format.media_type())
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// PNG, third edition, section 5.6: the first chunk is the header.
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.starts_with(b"\x89PNG\r\n\x1a\n") && number(bytes, 12)? == *b"IHDR").then_some(())?;
    Some((u32::from_be_bytes(number(bytes, 16)?), u32::from_be_bytes(number(bytes, 20)?)))
}

/// ITU T.81, annex B: segments until the one that begins a frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    bytes.starts_with(&[0xff, 0xd8]).then_some(())?;
    let mut at = 2_usize;
    loop {
        let [mark, kind] = number(bytes, at)?;
        (mark == 0xff).then_some(())?;
        match kind {
            0xff => at += 1,
            0x01 | 0xd0..=0xd7 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                let (height, width): ([u8; 2], [u8; 2]) = (number(bytes, at + 5)?, number(bytes, at + 7)?);
                return Some((u16::from_be_bytes(width).into(), u16::from_be_bytes(height).into()));
            }
            0xd8..=0xda => return None,
            _ => at += 2 + usize::from(u16::from_be_bytes(number(bytes, at + 2)?)).max(2),
        }
    }
}

/// RFC 9649, sections 2.4 to 2.7.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.starts_with(b"RIFF") && number(bytes, 8)? == *b"WEBP").then_some(())?;
    let data = bytes.get(20..)?;
    match &number::<4>(bytes, 12)? {
        b"VP8X" => {
            let side = |at| {
                let [low, middle, high] = number(data, at)?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            Some((side(4)?, side(7)?))
        }
        b"VP8L" => {
            (*data.first()? == 0x2f).then_some(())?;
            let bits = u32::from_le_bytes(number(data, 1)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8 " => {
            (number(data, 3)? == [0x9d, 0x01, 0x2a]).then_some(())?;
            let side = |at| Some(u32::from(u16::from_le_bytes(number(data, at)?) & 0x3fff));
            Some((side(6)?, side(8)?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x02\0\0\0\x01\0";
    const JPEG: &[u8] = b"\xff\xd8\xff\xe0\0\x04JF\xff\xff\xc0\0\x11\x08\x01\0\x02\0";
    const LOSSLESS: &[u8] = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\xff\xc1\x3f\0";
    const LOSSY: &[u8] = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\0\x02\0\x01";
    const EXTENDED: &[u8] = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\xff\x01\0\xff\0\0";

    #[test]
    fn sizes_are_read_from_the_heads_and_no_head_that_is_cut_off_has_one() {
        type Read = fn(&[u8]) -> Option<(u32, u32)>;
        let all: [(&[u8], Read); 5] =
            [(PNG, png), (JPEG, jpeg), (LOSSLESS, webp), (LOSSY, webp), (EXTENDED, webp)];
        for (bytes, read) in all {
            assert_eq!(read(bytes), Some((512, 256)), "{bytes:?}");
            for cut in 0..bytes.len().min(19) {
                assert_eq!(read(&bytes[..cut]), None, "{bytes:?} after {cut}");
            }
        }
    }

    #[test]
    fn a_texture_that_would_fill_a_graphics_card_is_refused() {
        let mut huge = PNG.to_vec();
        huge[16] = 1;
        let problem = check(&huge, Format::Png).expect_err("the picture is too large");
        assert!(problem.message.contains("16777728 by 256"), "{}", problem.message);
        assert!(check(PNG, Format::Png).is_ok() && check(PNG, Format::Jpeg).is_err());
    }
}
