//! `cargo xtask lab codec` measures the size and speed of our codec and of others.

use std::path::PathBuf;
use std::process::ExitCode;

use nowcast_lab::codec::{self, Options, TESTS};

use super::show::Show;
use crate::output;

/// Compare encodings: messages, movement, a game save and replication deltas, in bytes and time
///
/// Before a figure is printed, the codec's output is decoded and compared. Sources of the tests: "A wire protocol" (movement),
/// the MessagePack save-file article (save, cold start), the WebSocket formats article (messages).
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only these tests (default: all)
    #[arg(long, value_name = "TEST", value_parser = clap::builder::PossibleValuesParser::new(TESTS))]
    only: Vec<String>,
    /// Number of samples for each time
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u16).range(1..=1000))]
    samples: u16,
    /// Measure deltas on your own recording: a file in the layout of moves.f64 or cubes.i32, with that extension
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Also measure JavaScript codecs in Node
    #[arg(long)]
    node: bool,
    /// Also measure JavaScript codecs in Chromium, under a strict content security policy
    #[arg(long)]
    browser: bool,
    /// The browser's program
    #[arg(long, value_name = "PROGRAM")]
    browser_path: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
    #[arg(long, hide = true, num_args = 2, value_names = ["CODEC", "FILE"])]
    cold_start: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let [codec, file] = args.cold_start.as_slice() {
        output::line(codec::cold_start(codec.parse()?, file.as_ref())?)?;
        return Ok(ExitCode::SUCCESS);
    }
    args.show.check("codec")?;
    let report = codec::run(&Options {
        only: args.only.clone(),
        samples: args.samples.into(),
        input: args.input.clone(),
        node: args.node,
        browser: args.browser,
        browser_path: args.browser_path.clone(),
        command: super::command_line(),
    })?;
    args.show.show(&report, "codec")
}
