//! `nowcast gen`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use nowcast_wire::Shape;
use nowcast_wire_tools::{schema, typescript};

use crate::output;

/// Turn a schema, or shapes of Rust types, into typed TypeScript encoders and decoders
///
/// A schema is a text file such as `struct Chat { from: u32, text: text }`. A shape of a Rust type is a file with what
/// `nowcast_wire::Shape::of::<T>().to_bytes()` gives.
#[derive(clap::Args)]
#[command(after_long_help = SCHEMAS)]
pub(crate) struct Args {
    /// Schemas (*.schema) and shapes (*.shape)
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,

    /// The TypeScript file to write; without it the code goes to the standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,

    /// Where the generated code imports the SDK from
    #[arg(long, value_name = "MODULE", default_value = "nowcast/codec")]
    import_from: String,
}

const SCHEMAS: &str = "\
Types in schemas:
  bool  u8 u16 u32 u64  i8 i16 i32 i64  f32 f64  uvar ivar  text bytes any unit
  T?  [T]  [T; 3]  {K: V}  (A, B)        option, list, array, map, tuple
  range(0, 100, 0.5)  quat(10)  angle(16)  quantised numbers
  Name                                   a struct or enum of the same file

Example:
  // chat.schema
  struct Chat { from: u32, text: text, mood: Mood? }
  enum Mood { Calm, Angry(u8), Happy { because: text } }

  nowcast gen chat.schema --out chat.ts
  // in a program: import { chatCodec } from \"./chat.js\"";

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut shapes = Vec::new();
    for input in &args.inputs {
        let bytes = std::fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
        match input.extension().and_then(|extension| extension.to_str()) {
            Some("schema") => {
                let text =
                    String::from_utf8(bytes).with_context(|| format!("{} is not text", input.display()))?;
                shapes.extend(schema::parse(&text).with_context(|| input.display().to_string())?);
            }
            Some("shape") => {
                shapes.push(Shape::from_bytes(&bytes).with_context(|| input.display().to_string())?)
            }
            _ => bail!("{} is neither a .schema nor a .shape", input.display()),
        }
    }
    if shapes.is_empty() {
        bail!("no type is described in what was given: a schema has `struct Name {{ field: type }}`");
    }
    let module = typescript::generate(&shapes, &args.import_from);
    match &args.out {
        Some(path) => {
            std::fs::write(path, module).with_context(|| format!("cannot write {}", path.display()))?;
            let codecs = if shapes.len() == 1 { "codec" } else { "codecs" };
            output::line(format_args!("{}: {} {codecs}", path.display(), shapes.len()))?;
        }
        None => output::text(&module)?,
    }
    Ok(ExitCode::SUCCESS)
}
