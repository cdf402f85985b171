//! `cargo xtask check`: the quick checks of a change, before a commit.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;

use crate::{client, console, rust_tests, step, tidy};

/// The change to check.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Also check everything that has changed since this commit
    #[arg(long, default_value = "HEAD")]
    base: String,
}

/// Checks formats, the rules of the repository, types and lints, and runs the unit tests of what has changed.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let changed = changed_files(&args.base)?;
    tidy::run()?;
    step::run(&["cargo", "fmt", "--all", "--check"])?;
    client::install_packages()?;
    step::run(&["npx", "--no", "biome", "check"])?;
    let is_script = |file: &&String| [".ts", ".tsx"].iter().any(|ending| file.ends_with(ending));
    let scripts: Vec<&str> = changed.iter().filter(is_script).map(String::as_str).collect();
    if !scripts.is_empty() {
        step::run(&["npm", "run", "--silent", "types"])?;
        let related = ["npx", "--no", "vitest", "related", "--run", "--passWithNoTests"];
        let integration = integration_tests()?;
        let excluded: Vec<&str> = integration.lines().flat_map(|file| ["--exclude", file]).collect();
        step::run(&[&related[..], &excluded, &scripts].concat())?;
    }
    let crates = changed_crates(&changed)?;
    if !crates.is_empty() {
        // All crates, because a crate that depends on a changed one may no longer compile.
        step::run(&["cargo", "clippy", "--workspace", "--quiet", "--", "-D", "warnings"])?;
        let is_changed = |folder: &Path| crates.iter().any(|place| folder == step::root().join(place));
        rust_tests::run_some(&["--lib", "--bins"], is_changed, &[])?;
    }
    eprintln!("{} {} files, {} crates", console::green("checked:"), changed.len(), crates.len());
    for place in OTHER_WORKSPACES.iter().filter(|place| changed.iter().any(|file| file.starts_with(**place)))
    {
        eprintln!("{} {place}, a workspace of its own", console::yellow("NOT CHECKED:"));
    }
    Ok(())
}

/// Folders with crates that are no members of the main workspace.
const OTHER_WORKSPACES: [&str; 2] = ["fuzz/", "lab/"];

/// Returns the tests in TypeScript that start a program, one on each line. `cargo xtask test` builds the programs and runs them.
fn integration_tests() -> anyhow::Result<String> {
    git(&[
        "grep",
        "-lE",
        "server-process|echo-process|nowcastBinary|natsServer",
        "--",
        "*.test.ts",
        "*.test.tsx",
    ])
}

/// Returns the files that differ from a commit, and the files that git does not track yet.
fn changed_files(base: &str) -> anyhow::Result<BTreeSet<String>> {
    let tracked = git(&["diff", "--name-only", "--diff-filter=d", base])?;
    let untracked = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(tracked.lines().chain(untracked.lines()).map(str::to_owned).collect())
}

/// Returns the output of a git command.
fn git(arguments: &[&str]) -> anyhow::Result<String> {
    let output =
        step::command("git").args(arguments).stderr(Stdio::inherit()).output().context("git is missing")?;
    anyhow::ensure!(output.status.success(), "`git {}` failed", arguments.join(" "));
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the folders of the crates that contain changed files, relative to the root.
fn changed_crates(changed: &BTreeSet<String>) -> anyhow::Result<BTreeSet<String>> {
    let places = step::packages()?.into_iter().map(|package| package.place);
    Ok(places.filter(|place| changed.iter().any(|file| Path::new(file).starts_with(place))).collect())
}
