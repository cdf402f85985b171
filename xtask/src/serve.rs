//! Build what is needed and run it.

use crate::{client, step, tools};

/// Whatever follows is meant for `nowcast`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Passed on to the program
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Builds the client and a server without the lab, which is the shortest way to a running world: target/serve/nowcast. Its
/// own profile gives it a path of its own, beside the program with every instrument.
pub(crate) fn serve(args: &Args) -> anyhow::Result<()> {
    tools::require_c_compiler()?;
    client::build()?;
    let build = ["--profile", "serve", "--package", "nowcast-cli", "--no-default-features"];
    let mut line = [&["cargo", "run"], &build[..], &["--", "serve"]].concat();
    line.extend(args.rest.iter().map(String::as_str));
    step::run(&line)
}

/// Builds the self-contained binary with every instrument.
pub(crate) fn build_everything() -> anyhow::Result<()> {
    tools::require_c_compiler()?;
    client::build()?;
    step::run(&["cargo", "build", "--release", "--package", "nowcast-cli"])?;
    eprintln!("built {}", step::target_dir().join("release/nowcast").display());
    Ok(())
}

/// Builds the self-contained binary and runs it.
pub(crate) fn nowcast(args: &Args) -> anyhow::Result<()> {
    nowcast_with(&[], args)
}

/// As [`nowcast`], with words before the arguments.
pub(crate) fn nowcast_with(words: &[&str], args: &Args) -> anyhow::Result<()> {
    build_everything()?;
    let binary = step::target_dir().join("release/nowcast");
    let binary = binary.to_string_lossy();
    let mut line = vec![binary.as_ref()];
    line.extend(words);
    line.extend(args.rest.iter().map(String::as_str));
    step::run(&line)
}
