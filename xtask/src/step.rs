//! One command of another program: named, timed, and explained when it fails.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::console;

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask stands one level below the root").to_path_buf()
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// Prints `line` as a shell would show it and runs it at the root of the checkout.
pub(crate) fn run(line: &[&str]) -> anyhow::Result<()> {
    run_with_env(line, &[])
}

/// As [`run`], with environment variables.
pub(crate) fn run_with_env(line: &[&str], env: &[(&str, &str)]) -> anyhow::Result<()> {
    let (program, args) = line.split_first().context("a step names a program")?;
    let shown: Vec<String> = env.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let prefix = if shown.is_empty() { String::new() } else { shown.join(" ") + " " };
    eprintln!("{} {prefix}{}", console::bold("$"), line.join(" "));
    let status = Command::new(program)
        .args(args)
        .envs(env.iter().copied())
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot start `{program}`: is it installed and on the PATH?"))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line.join(" "));
    }
    Ok(())
}
