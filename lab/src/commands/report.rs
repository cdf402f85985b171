//! `cargo xtask lab report` runs every instrument and writes one page with all figures.

use std::path::PathBuf;
use std::process::ExitCode;

use nowcast_lab::everything::Everything;
use nowcast_lab::report::{page, to_json};

use super::links;
use super::show::{check_writable, write};
use crate::output;

/// Run every instrument and write one page with all tables and charts
///
/// The page needs no other file and no network. The same figures are written to a JSON file next to it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Fewer runs: less than ten minutes instead of two hours
    #[arg(long)]
    quick: bool,
    /// The first seed of all instruments
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// File of the page; the JSON has the same name with the extension .json
    #[arg(long, value_name = "FILE", default_value = "report")]
    html: PathBuf,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let json = args.html.with_extension("json");
    anyhow::ensure!(
        json != args.html,
        "--html is the page; its figures are written to {} next to it",
        json.display()
    );
    check_writable(&args.html)?;
    check_writable(&json)?;
    links::begin()?;
    let everything = Everything { quick: args.quick, seed: args.seed, command: super::command_line() };
    let book = everything.run();
    let figures = to_json(&book);
    write(&args.html, &page(&figures))?;
    write(&json, &figures)?;
    output::line(format_args!(
        "{} chapters: {}, {}",
        book.chapters.len(),
        args.html.display(),
        json.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}
