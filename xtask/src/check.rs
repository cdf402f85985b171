//! `cargo xtask check`: the quick checks of a change, before a commit.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context as _;

use crate::{client, console, step, tidy};

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
        step::run(
            &[&["npx", "--no", "vitest", "related", "--run", "--passWithNoTests"], &scripts[..]].concat(),
        )?;
    }
    let crates = changed_packages(&changed)?;
    if !crates.is_empty() {
        let packages: Vec<&str> = crates.iter().flat_map(|name| ["--package", name.as_str()]).collect();
        let lint = ["--all-targets", "--quiet", "--", "-D", "warnings"];
        step::run(&[&["cargo", "clippy"], &packages[..], &lint].concat())?;
        step::run(&[&["cargo", "test", "--lib", "--bins", "--quiet"], &packages[..]].concat())?;
    }
    eprintln!("{} {} files, {} crates", console::green("checked:"), changed.len(), crates.len());
    Ok(())
}

/// Returns the files that differ from a commit, and the files that git does not track yet.
fn changed_files(base: &str) -> anyhow::Result<BTreeSet<String>> {
    let list = |arguments: &[&str]| -> anyhow::Result<String> {
        let output = step::command("git")
            .args(arguments)
            .stderr(Stdio::inherit())
            .output()
            .context("git is missing")?;
        anyhow::ensure!(output.status.success(), "`git {}` failed", arguments.join(" "));
        Ok(String::from_utf8(output.stdout)?)
    };
    let tracked = list(&["diff", "--name-only", "--diff-filter=d", base])?;
    let untracked = list(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(tracked.lines().chain(untracked.lines()).map(str::to_owned).collect())
}

/// Returns the names of the crates that contain changed files.
fn changed_packages(changed: &BTreeSet<String>) -> anyhow::Result<BTreeSet<String>> {
    let packages = step::packages()?;
    let is_changed =
        |package: &step::Package| changed.iter().any(|file| Path::new(file).starts_with(&package.place));
    let names = packages.iter().filter(|package| is_changed(package));
    Ok(names.filter_map(|package| Some(package.metadata["name"].as_str()?.to_owned())).collect())
}
