//! `nowcast gen`

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, bail};
use nowcast_wire::{Shape, schema, typescript};

/// Turn a schema, or shapes of Rust types, into typed TypeScript encoders and decoders
///
/// A schema is a text file such as `struct Chat { from: u32, text: text }`. A shape of a Rust type is a file with what
/// `nowcast_wire::Shape::of::<T>().to_bytes()` gives.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Schemas (*.schema) and shapes (*.shape)
    #[arg(required = true)]
    inputs: Vec<PathBuf>,

    /// The TypeScript file to write; without it the code goes to the standard output
    #[arg(long, short)]
    out: Option<PathBuf>,

    /// Where the generated code imports the SDK from
    #[arg(long, default_value = "nowcast")]
    import_from: String,
}

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
    let module = typescript::generate(&shapes, &args.import_from);
    match &args.out {
        Some(path) => {
            std::fs::write(path, module).with_context(|| format!("cannot write {}", path.display()))?
        }
        None => print!("{module}"),
    }
    Ok(ExitCode::SUCCESS)
}
