//! `nowcast save` packs, unpacks, inspects, compares and converts files of values.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal, Read, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Subcommand, ValueEnum};
use nowcast_wire::save::{AtomicFile, Compression, FileReader, Options};
use nowcast_wire::{Effort, LeafSize, Limits, Value};
use nowcast_wire_tools::{Compared, Difference, Format, convert, diff};

use crate::output::{self, OutputLost, counted, printable, thousands};

/// Pack, unpack, inspect and compare save files
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Convert JSON or MessagePack to a save file
    Pack {
        /// A JSON or MessagePack file (also with msgpackr's records)
        input: PathBuf,
        /// The save file; by default next to the input, with the extension ncs
        output: Option<PathBuf>,
        #[command(flatten)]
        options: WriteOptions,
    },
    /// Convert a save file to JSON or MessagePack
    Unpack {
        /// The save file
        input: PathBuf,
        /// The output file, whose extension selects the format; by default JSON is written to the standard output
        output: Option<PathBuf>,
    },
    /// Show a save file's shapes, and the sizes of the parts
    Inspect {
        /// The save file
        input: PathBuf,
        /// How many of the largest columns to show
        #[arg(long, default_value_t = 24)]
        top: usize,
    },
    /// Show the differences between two files in any of these formats; fails if there are differences
    Diff {
        /// The old file
        before: PathBuf,
        /// The new file
        after: PathBuf,
        /// How many differences to show
        #[arg(long, default_value_t = 50)]
        max: usize,
    },
    /// Convert one format to another; the extensions json, msgpack and ncs select the formats
    Convert {
        /// The file to read
        input: PathBuf,
        /// The file to write
        output: PathBuf,
        #[command(flatten)]
        options: WriteOptions,
    },
}

#[derive(clap::Args)]
struct WriteOptions {
    /// Compression of chunks
    #[arg(long, value_enum, default_value = "lz4")]
    compression: CompressionName,
    /// Write fast instead of small
    #[arg(long)]
    fast: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum CompressionName {
    None,
    Lz4,
}

impl WriteOptions {
    fn options(&self) -> Options {
        let compression = match self.compression {
            CompressionName::None => Compression::None,
            CompressionName::Lz4 => Compression::Lz4,
        };
        Options { compression, effort: if self.fast { Effort::Fast } else { Effort::Small } }
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    match &args.command {
        Command::Pack { input, output, options } => {
            let output = output.clone().unwrap_or_else(|| input.with_extension("ncs"));
            convert_file(input, &output, Format::Save, options.options())?;
        }
        Command::Unpack { input, output: Some(output) } => {
            let to = format_of(output)?;
            convert_file(input, output, to, Options::default())?;
        }
        Command::Unpack { input, output: None } => {
            let (file, from, bytes) = open(input)?;
            let mut stream = output::Stream::default();
            let out = BufWriter::new(&mut stream);
            let unpacked =
                convert(file, bytes, from, out, Format::Json, Options::default(), &mut |_| {}).map(drop);
            stream.end()?;
            unpacked.with_context(|| format!("cannot unpack {}", input.display()))?;
        }
        Command::Convert { input, output, options } => {
            convert_file(input, output, format_of(output)?, options.options())?;
        }
        Command::Inspect { input, top } => inspect(input, *top)?,
        Command::Diff { before, after, max } => return show_difference(before, after, *max),
    }
    Ok(ExitCode::SUCCESS)
}

fn extension(path: &Path) -> String {
    path.extension().map(|extension| extension.to_string_lossy().to_lowercase()).unwrap_or_default()
}

fn format_of(path: &Path) -> Result<Format> {
    match Format::of_extension(&extension(path)) {
        Some(format) => Ok(format),
        None => bail!("{}: the extension should be json, msgpack or ncs", path.display()),
    }
}

/// Opens a file and detects its format and size.
fn open(path: &Path) -> Result<(impl Read, Format, u64)> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let bytes = file.metadata()?.len();
    let mut start = Vec::new();
    Read::by_ref(&mut file).take(64).read_to_end(&mut start)?;
    let format = Format::detect(&start, &extension(path));
    Ok((std::io::Cursor::new(start).chain(file), format, bytes))
}

/// Converts into a new file. The new file replaces the old one when the conversion is complete.
fn convert_file(input: &Path, output: &Path, to: Format, options: Options) -> Result<()> {
    let (file, from, bytes) = open(input)?;
    let target = AtomicFile::create(output).with_context(|| format!("cannot write {}", output.display()))?;
    let mut progress = Progress::new(bytes);
    convert(file, bytes, from, target, to, options, &mut |read| progress.show(read))
        .with_context(|| format!("cannot convert {}", input.display()))?
        .commit()
        .with_context(|| format!("cannot write {}", output.display()))?;
    progress.clear();
    let written = std::fs::metadata(output)?.len();
    let share = 100.0 * written as f64 / bytes.max(1) as f64;
    let (written, to, from) = (counted(written, "byte"), output.display(), input.display());
    output::line(format_args!("{to}: {written}, {share:.1} % of {from}"))?;
    Ok(())
}

/// Shows the progress for long files on one line.
struct Progress {
    bytes: u64,
    shown: Option<u64>,
    visible: bool,
}

impl Progress {
    fn new(bytes: u64) -> Self {
        // Small files are converted before a person could read the line.
        Self { bytes, shown: None, visible: bytes > 8 << 20 && stderr().is_terminal() }
    }

    fn show(&mut self, read: u64) {
        let percent = 100 * read / self.bytes.max(1);
        if self.visible && self.shown != Some(percent) {
            self.shown = Some(percent);
            output::note_part(&format!("\r{percent:3} % of {} MB", self.bytes >> 20));
        }
    }

    fn clear(&self) {
        if self.visible {
            output::note_part(&format!("\r{:24}\r", ""));
        }
    }
}

fn inspect(path: &Path, top: usize) -> Result<()> {
    let file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let bytes = file.metadata()?.len();
    let context = || format!("cannot read {}", path.display());
    let mut reader = FileReader::new(BufReader::new(file), Limits::FILE).with_context(context)?;
    let (mut leaves, mut chunks, mut raw, mut stored) = (Vec::<LeafSize>::new(), 0u64, 0u64, 0u64);
    while let Some(chunk) = reader.next_chunk().with_context(context)? {
        chunks += 1;
        raw += chunk.raw().len() as u64;
        stored += chunk.stored_bytes as u64;
        for leaf in chunk.sizes().with_context(context)? {
            merge(&mut leaves, leaf);
        }
    }
    let mut out = String::new();
    writeln!(
        out,
        "{}: {}, {} in {}",
        path.display(),
        counted(bytes, "byte"),
        counted(reader.rows(), "value"),
        counted(chunks, "chunk")
    )?;
    let packed = if stored < raw {
        format!("{} when compressed", thousands(stored))
    } else {
        "not compressed".to_owned()
    };
    writeln!(out, "columns: {}, {packed}", counted(raw, "byte"))?;
    if let Some(Value::Map(about)) = reader.about() {
        for (key, value) in about {
            writeln!(out, "{}: {}", label(key), label(value))?;
        }
    }
    for shape in reader.shapes() {
        writeln!(out, "\nshape {:016x}", shape.hash())?;
        for (index, definition) in shape.definitions.iter().enumerate() {
            let ty = nowcast_wire::shape::Type::Ref(index as u32);
            let shown = nowcast_wire::Shape { root: ty, definitions: shape.definitions.clone() };
            let name = if definition.name.is_empty() { "tuple " } else { "" };
            writeln!(out, "  {name}{}", printable(&shown.to_string()))?;
        }
        if !matches!(shape.root, nowcast_wire::shape::Type::Ref(0)) {
            writeln!(out, "  root {}", printable(&shape.to_string()))?;
        }
    }
    table(&mut out, leaves, top)?;
    output::text(&out)?;
    Ok(())
}

fn merge(leaves: &mut Vec<LeafSize>, leaf: LeafSize) {
    match leaves.iter_mut().find(|known| known.path == leaf.path && known.what == leaf.what) {
        Some(known) => {
            known.rows += leaf.rows;
            known.bytes += leaf.bytes;
            known.text_bytes += leaf.text_bytes;
        }
        None => leaves.push(leaf),
    }
}

/// Adds a table of the largest columns, each with a bar.
fn table(out: &mut String, mut leaves: Vec<LeafSize>, top: usize) -> Result<()> {
    const BAR: usize = 24;
    let size = |leaf: &LeafSize| leaf.bytes + leaf.text_bytes;
    leaves.sort_by_key(|leaf| std::cmp::Reverse(size(leaf)));
    let total: usize = leaves.iter().map(size).sum();
    leaves.iter_mut().for_each(|leaf| leaf.path = printable(&leaf.path));
    let largest = leaves.first().map_or(1, size).max(1);
    let width = leaves.iter().take(top).map(|leaf| leaf.path.chars().count()).max().unwrap_or(0).clamp(6, 44);
    writeln!(
        out,
        "\n{:width$}  {:10} {:10} {:>9} {:>9} {:>6}",
        "column", "what", "coding", "rows", "bytes", "share"
    )?;
    for leaf in leaves.iter().take(top) {
        let bar = "█".repeat((size(leaf) * BAR).div_ceil(largest));
        let share = 100.0 * size(leaf) as f64 / total.max(1) as f64;
        let what: String = leaf.what.chars().take(10).collect();
        writeln!(
            out,
            "{:width$}  {what:10} {:10} {:>9} {:>9} {share:>5.1}% {bar}",
            leaf.path,
            leaf.coding,
            thousands(leaf.rows as u64),
            thousands(size(leaf) as u64),
        )?;
    }
    if leaves.len() > top {
        let rest: usize = leaves[top..].iter().map(size).sum();
        let others = format!("{} others", leaves.len() - top);
        let share = 100.0 * rest as f64 / total.max(1) as f64;
        writeln!(out, "{others:width$}  {:21} {:>9} {:>9} {share:>5.1}%", "", "", thousands(rest as u64))?;
    }
    Ok(())
}

fn show_difference(before: &Path, after: &Path, max: usize) -> Result<ExitCode> {
    let read = |path: &Path| {
        let (_, format, _) = open(path)?;
        Compared::read(File::open(path)?, format).with_context(|| format!("cannot read {}", path.display()))
    };
    let (mut count, mut shown) = (0, Ok(()));
    diff(read(before)?, read(after)?, &mut |one| {
        count += 1;
        if count <= max && shown.is_ok() {
            shown = show_one(&one);
        }
    })?;
    shown?;
    if count > max {
        output::line(format_args!("… and {} more", count - max))?;
    }
    Ok(if count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn show_one(one: &Difference) -> Result<(), OutputLost> {
    let path = if one.path.is_empty() { "(all)".to_owned() } else { printable(&one.path) };
    match (&one.before, &one.after) {
        (Some(old), Some(new)) => output::line(format_args!("~ {path}: {} → {}", label(old), label(new))),
        (Some(old), None) => output::line(format_args!("- {path}: {}", label(old))),
        (_, new) => output::line(format_args!("+ {path}: {}", new.as_ref().map(label).unwrap_or_default())),
    }
}

/// Returns a value as one short line.
fn label(value: &Value) -> String {
    const LENGTH_MAX: usize = 60;
    let text = match value {
        Value::Text(text) => text.clone(),
        other => {
            let mut json = Vec::new();
            match nowcast_wire_tools::write_json(other, &mut json) {
                Ok(()) => String::from_utf8_lossy(&json).into_owned(),
                Err(_) => format!("{other:?}"),
            }
        }
    };
    match text.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", printable(&text[..end])),
        None => printable(&text),
    }
}
