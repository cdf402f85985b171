//! `nowcast decode` explains bytes field by field.

mod body;
mod definition;
mod fields;
mod plain;
mod reading;
mod replication;
mod save;
mod session;
mod world;

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

use crate::output;
use body::Shapes;
use fields::{Fault, Fields};
pub(crate) use world::WorldReader;

/// Maximum size of the input. It is larger than the largest packet and a small save file.
const BYTES_MAX: u64 = 16 << 20;

/// Explain the bytes of a packet, a message, a movement payload or a save, field by field
///
/// Prints the offset, the bytes and the meaning of each field, and names the fault of malformed input. Recognises
/// packets of sessions (spec/SESSION.md), movement in them (spec/WORLD.md, spec/DELTA.md), values (spec/WIRE.md) of a
/// world's messages or of a schema, save files, and messages of the plain protocol (spec/PLAIN.md).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The bytes in hexadecimal, with or without 0x and white space [default: from --file, or the standard input]
    #[arg(value_name = "HEX")]
    hex: Vec<String>,

    /// Read the bytes from this file: raw bytes, or text in hexadecimal; - is the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "hex")]
    file: Option<PathBuf>,

    /// Kind of the bytes [default: recognised from the bytes]
    #[arg(long = "as", value_name = "KIND")]
    kind: Option<Kind>,

    /// The packets end with a checksum, because their carrier does not check them
    #[arg(long)]
    checksum: bool,

    /// Read values as the types of this schema, as for `nowcast gen` [default: the messages of a world]
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
}

/// The kinds of bytes that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A packet of a session
    Packet,
    /// A value without a shape id
    Body,
    /// A payload of REPLICATION
    Replication,
    /// A delta against frames
    Delta,
    /// A save file
    Save,
    /// A message of the plain protocol
    Plain,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let bytes = input(args)?;
    let mut shapes = match &args.schema {
        None => Shapes::of_a_world(),
        Some(file) => {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            Shapes::of_schema(&text).with_context(|| file.display().to_string())?
        }
    };
    let kind = args.kind.unwrap_or_else(|| recognise(&bytes, &shapes));
    let mut fields = Fields::new(&bytes);
    let outcome = match kind {
        Kind::Packet => session::packet(&mut fields, args.checksum, &mut shapes),
        Kind::Body => body::explain(&mut fields, &mut shapes),
        Kind::Replication => replication::payload(&mut fields),
        Kind::Delta => replication::delta(&mut fields, None),
        Kind::Save => save::file(&mut fields),
        Kind::Plain => plain::message(&mut fields),
    };
    output::text(&fields.to_text())?;
    match outcome {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(Fault { field, offset, cause }) => bail!("malformed {field} at byte {offset}: {cause}"),
    }
}

/// Recognises the kind of the bytes: by their magic number, or else by the kind that can be decoded to the end.
fn recognise(bytes: &[u8], shapes: &Shapes) -> Kind {
    let reads = |read: fn(&mut Fields<'_>) -> Result<(), Fault>| read(&mut Fields::new(bytes)).is_ok();
    if bytes.starts_with(b"\x89NCS") {
        Kind::Save
    } else if bytes.first().is_some_and(|&byte| (0x80..=0x82).contains(&byte)) && bytes.len() > 4 {
        Kind::Packet
    } else if reads(plain::message) {
        Kind::Plain
    } else if session::is_packet(bytes) {
        Kind::Packet
    } else if shapes.read(bytes) {
        Kind::Body
    } else if reads(replication::payload) {
        Kind::Replication
    } else {
        // If no kind fits, the error of decoding a packet is the most informative one.
        Kind::Packet
    }
}

fn input(args: &Args) -> anyhow::Result<Vec<u8>> {
    if !args.hex.is_empty() {
        return hexadecimal(&args.hex.join(" "));
    }
    let mut bytes = Vec::new();
    match args.file.as_deref() {
        Some(file) if file.as_os_str() != "-" => {
            let open =
                std::fs::File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
            open.take(BYTES_MAX + 1)
                .read_to_end(&mut bytes)
                .with_context(|| format!("cannot read {}", file.display()))?;
        }
        _ => {
            std::io::stdin()
                .take(BYTES_MAX + 1)
                .read_to_end(&mut bytes)
                .context("cannot read the standard input")?;
        }
    }
    if bytes.len() as u64 > BYTES_MAX {
        bail!("more than {} MiB: `nowcast save inspect` reads large saves", BYTES_MAX >> 20);
    }
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit() || byte.is_ascii_whitespace() || *byte == b'x';
    match std::str::from_utf8(&bytes) {
        Ok(text) if !text.trim().is_empty() && bytes.iter().all(is_hex) => hexadecimal(text),
        _ => Ok(bytes),
    }
}

fn hexadecimal(text: &str) -> anyhow::Result<Vec<u8>> {
    // A message of the plain protocol is already text.
    if text.trim_start().starts_with('{') {
        return Ok(text.as_bytes().to_vec());
    }
    let digits: String =
        text.split_whitespace().map(|word| word.strip_prefix("0x").unwrap_or(word)).collect();
    if let Some(wrong) = digits.chars().find(|digit| !digit.is_ascii_hexdigit()) {
        bail!("'{wrong}' is not a hexadecimal digit: write bytes as 01 ff, or give a file with --file");
    }
    if !digits.len().is_multiple_of(2) {
        bail!(
            "{} hexadecimal digits are not a whole number of bytes: write two digits for each byte",
            digits.len()
        );
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).context("two digits are a byte");
    (0..digits.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_parsed_in_the_usual_copied_forms() {
        assert_eq!(hexadecimal("0x01ff 02\n0xAB").unwrap(), [1, 255, 2, 0xab]);
        assert!(hexadecimal("01f").unwrap_err().to_string().contains("3 hexadecimal digits"));
        assert!(hexadecimal("01 é0").unwrap_err().to_string().contains('é'));
        assert_eq!(hexadecimal("{\"type\":\"ping\"}").unwrap(), b"{\"type\":\"ping\"}");
    }

    #[test]
    fn the_kind_is_recognised_from_the_bytes() {
        let shapes = Shapes::of_a_world();
        let kind = |hex: &str| recognise(&hexadecimal(hex).unwrap(), &shapes);
        assert_eq!(kind("894e43530d0a1a0a01000000"), Kind::Save);
        assert_eq!(kind("00 0000 000000 01"), Kind::Packet);
        assert_eq!(kind("0200 7f00 0000 00"), Kind::Plain);
        assert_eq!(kind("03 00 02000000 03 14000000 416461"), Kind::Body);
        assert_eq!(kind("{\"type\":\"ping\",\"time\":1}"), Kind::Plain);
    }
}
