//! `nowcast decode`: explains bytes field by field.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use nowcast_wire_tools::decode::{self, Shapes, bytes_of, explain, recognise};

use crate::output;

/// Maximum input, larger than the largest packet and a small save.
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

impl From<Kind> for decode::Kind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Packet => decode::Kind::Packet,
            Kind::Body => decode::Kind::Body,
            Kind::Replication => decode::Kind::Replication,
            Kind::Delta => decode::Kind::Delta,
            Kind::Save => decode::Kind::Save,
            Kind::Plain => decode::Kind::Plain,
        }
    }
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
    let kind = match args.kind.map_or_else(|| recognise(&bytes, &shapes), decode::Kind::from) {
        decode::Kind::Packet if args.checksum => decode::Kind::CheckedPacket,
        kind => kind,
    };
    let explanation = explain(&bytes, kind, &mut shapes);
    output::text(&explanation.text)?;
    match explanation.fault {
        None => Ok(ExitCode::SUCCESS),
        Some(fault) => Err(fault.into()),
    }
}

fn input(args: &Args) -> anyhow::Result<Vec<u8>> {
    if !args.hex.is_empty() {
        return Ok(bytes_of(&args.hex.join(" "))?);
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
        Ok(text) if !text.trim().is_empty() && bytes.iter().all(is_hex) => Ok(bytes_of(text)?),
        _ => Ok(bytes),
    }
}
