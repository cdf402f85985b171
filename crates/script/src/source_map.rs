//! Places in the text from which a module was made. A compiled module ends with its source map (version 3). The map is inside the
//! module, so that both change at once.
//!
//! A map comes from the author of a world. It is read within the bounds of a module, and names only files by a path below the
//! world's folder.

use serde::Deserialize;

use crate::sources::Sources;

const MARK: &str = "--# sourceMappingURL=data:application/json;base64,";

/// Maximum bytes of the name of a file in a map.
const NAME_BYTES_MAX: usize = 256;

#[derive(Deserialize)]
struct Map {
    version: u32,
    sources: Vec<String>,
    mappings: String,
}

/// A place in the text from which a module was made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The file, as its path in the world's folder.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

impl Sources {
    /// Returns the place from which a line of a module was made, by the module's source map. `None` if the module has no map,
    /// or the line has no place.
    pub fn origin(&self, module: &str, line: u32) -> Option<Origin> {
        let encoded = self.text(module)?.trim_end().lines().next_back()?.strip_prefix(MARK)?;
        let map: Map = serde_json::from_slice(&from_base64(encoded)?).ok()?;
        let [source, line, column] = find(&map.mappings, line).filter(|_| map.version == 3)?;
        let file = path_of(module, map.sources.get(usize::try_from(source).ok()?)?)?;
        let place = |number: i64| u32::try_from(number).ok()?.checked_add(1);
        Some(Origin { file, line: place(line)?, column: place(column)? })
    }

    /// Returns the name of the file in the same folder from which a module was made, and the hash of the file's text at that
    /// time (see [`text_hash`]). `None` for a module that its author wrote.
    pub fn made_from(&self, module: &str) -> Option<(String, u32)> {
        let head = self.text(module)?.lines().nth(1)?.strip_prefix("-- Made from ")?;
        let (name, rest) = head.split_once(' ')?;
        let hash = rest.strip_prefix('(')?.split_once(')')?.0;
        Some((path_of(module, name)?, u32::from_str_radix(hash, 16).ok()?))
    }
}

/// Returns the hash that [`Sources::made_from`] compares: FNV-1a of 32 bits over the bytes.
pub fn text_hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Returns source, line and column, from 0, of the first place in a line, or else in the nearest line before it that has one.
fn find(mappings: &str, line: u32) -> Option<[i64; 3]> {
    let (mut place, mut found) = ([0_i64; 3], None);
    for segments in mappings.split(';').take(usize::try_from(line).ok()?) {
        let mut is_first = true;
        for segment in segments.split(',').filter(|segment| !segment.is_empty()) {
            let mut numbers = Numbers(segment.bytes());
            // The column of the module is not needed.
            numbers.next()??;
            let Some(source) = numbers.next() else { continue };
            for (sum, number) in place.iter_mut().zip([source, numbers.next()?, numbers.next()?]) {
                *sum = sum.checked_add(number?)?;
            }
            if is_first {
                found = Some(place);
                is_first = false;
            }
        }
    }
    found
}

/// The numbers of a segment: each has digits of 5 bits, the lowest first, and its sign in the lowest bit.
struct Numbers<'a>(std::str::Bytes<'a>);

impl Iterator for Numbers<'_> {
    type Item = Option<i64>;

    fn next(&mut self) -> Option<Option<i64>> {
        let (mut number, mut shift) = (0_i64, 0);
        for (at, byte) in self.0.by_ref().enumerate() {
            let Some(digit) = digit_of(byte).filter(|_| at < 7) else { return Some(None) };
            number |= i64::from(digit & 31) << shift;
            shift += 5;
            if digit & 32 == 0 {
                let size = number >> 1;
                return Some(Some(if number & 1 == 0 { size } else { -size }));
            }
        }
        // A number that does not end is invalid.
        (shift > 0).then_some(None)
    }
}

fn digit_of(byte: u8) -> Option<u8> {
    Some(match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    })
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
    for four in text.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for byte in four {
            bits = bits << 6 | u32::from(digit_of(*byte)?);
        }
        bits <<= 6 * (4 - four.len());
        let [_, all @ ..] = bits.to_be_bytes();
        bytes.extend(&all[..four.len() - 1]);
    }
    Some(bytes)
}

/// Returns the path in the world's folder of a file that a module names relative to itself. `None` if the path leaves the
/// folder, or is not a plain text.
fn path_of(module: &str, name: &str) -> Option<String> {
    let is_plain = name.len() <= NAME_BYTES_MAX
        && !name.starts_with('/')
        && !name.contains(|c: char| c.is_control() || c == '\\' || c == ':');
    is_plain.then_some(())?;
    let mut parts: Vec<&str> = module.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(json: &str) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let four = |three: &[u8]| {
            let bits = three.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
                << (8 * (3 - three.len()));
            let digit = |at: usize| char::from(DIGITS[(bits >> (18 - 6 * at) & 63) as usize]);
            (0..=three.len()).map(digit).collect::<String>() + &"=".repeat(3 - three.len())
        };
        json.as_bytes().chunks(3).map(four).collect()
    }

    fn module(source: &str, mappings: &str) -> Sources {
        let map = format!(r#"{{"version":3,"sources":["{source}"],"names":[],"mappings":"{mappings}"}}"#);
        Sources::from_iter([(
            "tests/ball.luau",
            format!("--!nocheck\n-- made\nprint(1)\n{MARK}{}\n", encode(&map)),
        )])
    }

    #[test]
    fn a_line_of_a_module_has_the_place_in_its_source() {
        let sources = module("ball.ts", ";;AAgBE;AACA,CAAC;");
        let origin = |line| sources.origin("tests/ball.luau", line);
        assert_eq!(origin(2), None);
        assert_eq!(origin(3), Some(Origin { file: "tests/ball.ts".into(), line: 17, column: 3 }));
        assert_eq!(origin(4), Some(Origin { file: "tests/ball.ts".into(), line: 18, column: 3 }));
        // A line without a place belongs to the statement before it.
        assert_eq!(origin(5).map(|origin| origin.line), Some(18));
        assert_eq!(sources.origin("world.luau", 3), None);
    }

    #[test]
    fn hostile_maps_name_no_place() {
        for source in ["/etc/passwd", "../../secret.ts", "a\\u001b[2J.ts", "c:world.ts", &"x".repeat(300)] {
            assert_eq!(module(source, "AAAA;AAAA;AAAA").origin("tests/ball.luau", 3), None, "{source}");
        }
        for mappings in ["", "!", "AA", "AAA", "ggggggggA", "AgggggggggA", "AADA", "é"] {
            assert_eq!(
                module("ball.ts", &format!(";;{mappings}")).origin("tests/ball.luau", 3),
                None,
                "{mappings}"
            );
        }
        let broken = Sources::from_iter([("world.luau", format!("{MARK}====\n"))]);
        assert_eq!(broken.origin("world.luau", 1), None);
    }

    #[test]
    fn a_made_module_names_its_source_and_the_hash_of_its_text() {
        let text = format!("--!nocheck\n-- Made from ball.ts ({:08x}) by a compiler\n", text_hash(b"foobar"));
        let sources = Sources::from_iter([
            ("tests/ball.luau", text),
            ("world.luau", "print(1)\n-- Made by me\n".into()),
        ]);
        assert_eq!(text_hash(b"foobar"), 0xbf9c_f968);
        assert_eq!(sources.made_from("tests/ball.luau"), Some(("tests/ball.ts".into(), 0xbf9c_f968)));
        assert_eq!(sources.made_from("world.luau"), None);
    }
}
