//! Runs a command of another program. The command is named and timed, and a failure is explained.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::console;

/// Returns the root of the checkout.
pub(crate) fn root() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask stands one level below the root").to_path_buf()
}

/// Returns the folder of cargo's output.
pub(crate) fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |dir| root().join(dir))
}

/// The variables that `cargo run` sets for the program that it starts. They describe that program's own package.
///
/// An inner cargo must not inherit these variables. If one of them changes, build scripts such as ring's run again. `cargo xtask`
/// and a plain `cargo` would then rebuild each other's work every time.
const SET_BY_CARGO_RUN: [&str; 6] =
    ["CARGO", "CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "LD_LIBRARY_PATH", "OUT_DIR"];
const SET_BY_CARGO_RUN_PREFIXES: [&str; 2] = ["CARGO_MANIFEST_", "CARGO_PKG_"];

fn is_set_by_cargo_run(variable: &str) -> bool {
    SET_BY_CARGO_RUN.contains(&variable)
        || SET_BY_CARGO_RUN_PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
}

/// Makes a command that starts `program` at the root of the checkout, in the user's environment.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (variable, _) in std::env::vars_os() {
        if variable.to_str().is_some_and(is_set_by_cargo_run) {
            command.env_remove(variable);
        }
    }
    command
}

/// Prints `line` in the form of a shell, and runs it at the root of the checkout.
pub(crate) fn run(line: &[&str]) -> anyhow::Result<()> {
    run_with_env(line, &[])
}

/// Like [`run`], with environment variables.
pub(crate) fn run_with_env(line: &[&str], env: &[(&str, &str)]) -> anyhow::Result<()> {
    let status = prepared(line, env)?.status().with_context(|| cannot_start(line))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line.join(" "));
    }
    Ok(())
}

/// Runs several commands at the same time, and returns the first failure after all have ended.
pub(crate) fn run_together<const N: usize>(lines: &[[&str; N]]) -> anyhow::Result<()> {
    std::thread::scope(|scope| {
        let running: Vec<_> = lines.iter().map(|line| scope.spawn(|| run(line))).collect();
        let ended: Vec<_> =
            running.into_iter().map(|thread| thread.join().expect("a step does not panic")).collect();
        ended.into_iter().collect()
    })
}

/// Returns a Python of its own below target/ in which `packages` are installed, so that it can import `modules`.
pub(crate) fn python_with(name: &str, modules: &[&str], packages: &[&str]) -> anyhow::Result<PathBuf> {
    let directory = target_dir().join(name);
    let python = directory.join("bin/python3");
    let path = python.to_string_lossy();
    let imports = format!("import {}", modules.join(", "));
    if !command(&path)
        .args(["-c", &imports])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
    {
        run(&["python3", "-m", "venv", &directory.to_string_lossy()])?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(&[&[&*path], &pip[..], packages].concat())?;
    }
    Ok(python)
}

/// Prints `line` in the form of a shell, and returns it as a command that was not started yet.
pub(crate) fn prepared(line: &[&str], env: &[(&str, &str)]) -> anyhow::Result<Command> {
    let (program, args) = line.split_first().context("a step names a program")?;
    let shown: Vec<String> = env.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let prefix = if shown.is_empty() { String::new() } else { shown.join(" ") + " " };
    eprintln!("{} {prefix}{}", console::bold("$"), line.join(" "));
    let mut command = command(program);
    command.args(args).envs(env.iter().copied());
    Ok(command)
}

/// Describes why a command could not be started.
pub(crate) fn cannot_start(line: &[&str]) -> String {
    format!("cannot start `{}`: is it installed and on the PATH?", line.first().unwrap_or(&""))
}

/// A package of the workspace.
pub(crate) struct Package {
    /// The folder of the package, relative to the root of the checkout.
    pub(crate) place: String,
    /// The names of the package's test programs.
    pub(crate) tests: Vec<String>,
    /// Cargo's metadata of the package.
    pub(crate) metadata: Value,
}

impl Package {
    /// Returns the last part of the package's folder.
    pub(crate) fn folder(&self) -> &str {
        self.place.rsplit('/').next().unwrap_or_default()
    }
}

/// Returns all packages of the workspace.
pub(crate) fn packages() -> anyhow::Result<Vec<Package>> {
    let output = command("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cannot run `cargo metadata`")?;
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cannot read `cargo metadata`")?;
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let read = packages.iter().filter_map(|metadata| {
        let folder = Path::new(metadata["manifest_path"].as_str()?).parent()?;
        let place = folder.strip_prefix(root()).ok()?.to_string_lossy().into_owned();
        let targets = metadata["targets"].as_array().into_iter().flatten();
        let tests = targets.filter(|target| target["kind"][0] == "test");
        let tests = tests.filter_map(|target| Some(target["name"].as_str()?.to_owned())).collect();
        Some(Package { place, tests, metadata: metadata.clone() })
    });
    Ok(read.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_inherits_the_users_variables_but_none_of_the_package_xtask() {
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some(), "cargo names the package of a test");
        let removed: Vec<_> = command("true")
            .get_envs()
            .filter(|(_, value)| value.is_none())
            .map(|(variable, _)| variable.to_string_lossy().into_owned())
            .collect();
        assert!(removed.iter().any(|name| name == "CARGO_MANIFEST_DIR"), "it is passed on: {removed:?}");
        for variable in ["CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "CARGO_TERM_COLOR", "PATH"] {
            assert!(!is_set_by_cargo_run(variable), "{variable} is the user's");
        }
    }
}
