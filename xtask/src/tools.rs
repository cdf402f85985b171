//! The tools that a fresh machine must have, each with a hint for its installation. Chromium is installed if that is possible.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::{console, step};

/// Space that a first run takes, in GiB. It was measured with debug information and incremental state, and rounded up.
const FIRST_RUN_GIB: u64 = 16;
const CHROMIUM_NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome-stable", "google-chrome"];

/// Checks for npm and a version of Node that Vite runs on.
pub(crate) fn require_node() -> anyhow::Result<()> {
    let cure = "install Node 20.19 or newer, or of Node 22 the release 22.12 or newer, with npm (nodejs.org)";
    let version = output_of("node", &["--version"]).with_context(|| format!("Node is missing: {cure}"))?;
    if !is_new_enough(&version) {
        bail!("Node {version} is too old: {cure}");
    }
    output_of("npm", &["--version"]).with_context(|| format!("npm is missing: {cure}"))?;
    Ok(())
}

/// Whether Vite runs on this version of Node, such as `v20.19.0`.
fn is_new_enough(version: &str) -> bool {
    let mut parts = version.trim().trim_start_matches('v').split('.').map_while(|part| part.parse().ok());
    let version: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    ((20, 19)..(21, 0)).contains(&version) || (22, 12) <= version
}

/// Warns before a first run if the disk has less free space than such a run takes.
pub(crate) fn warn_of_a_full_disk() {
    let target = step::target_dir();
    if target.join("debug").is_dir() {
        return;
    }
    let root = step::root().to_string_lossy().into_owned();
    let free_kib = output_of("df", &["-Pk", &root]).ok().and_then(|table| free_kib(&table));
    if let Some(free_gib) = free_kib.map(|free| free >> 20).filter(|free| *free < FIRST_RUN_GIB) {
        eprintln!(
            "{} a first run takes up to {FIRST_RUN_GIB} GiB below {}, and {free_gib} GiB are free there: make room, or set \
             CARGO_TARGET_DIR to a folder on another disk",
            console::yellow("note:"),
            target.display()
        );
    }
}

/// Returns the fourth column of the last line that `df -Pk` prints.
fn free_kib(table: &str) -> Option<u64> {
    table.lines().last()?.split_whitespace().nth(3)?.parse().ok()
}

/// Checks for compilers of C and C++, because some dependencies contain such code. A build without them fails after minutes.
pub(crate) fn require_c_compiler() -> anyhow::Result<()> {
    for (compiler, language) in [("cc", "C"), ("c++", "C++")] {
        output_of(compiler, &["--version"]).with_context(|| {
            format!(
                "a compiler of {language} (`{compiler}`) is missing: install one (Debian: `apt-get install build-essential`)"
            )
        })?;
    }
    Ok(())
}

/// Checks for `rustfmt` and `clippy`. They are part of a default toolchain, but not of a minimal one.
pub(crate) fn require_rust_components() -> anyhow::Result<()> {
    for (subcommand, component) in [("fmt", "rustfmt"), ("clippy", "clippy")] {
        output_of("cargo", &[subcommand, "--version"])
            .with_context(|| format!("{component} is missing: `rustup component add {component}`"))?;
    }
    Ok(())
}

/// Returns the browser for the browser tests: from `NOWCAST_CHROMIUM`, from the PATH, or installed now.
pub(crate) fn require_chromium() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("NOWCAST_CHROMIUM").map(PathBuf::from) {
        if path.is_file() {
            return Ok(path);
        }
        bail!("NOWCAST_CHROMIUM names {}, which is not there", path.display());
    }
    if let Some(path) = find_chromium() {
        return Ok(path);
    }
    let cure = "install Chromium (Debian: `apt-get install chromium`), or set NOWCAST_CHROMIUM to its path, or run \
                `cargo xtask test --without-browser`, which tests less";
    if !may_install() {
        bail!("the browser tests need Chromium: {cure}");
    }
    eprintln!("{} Chromium is missing; installing Debian's package", console::yellow("note:"));
    step::run(&["apt-get", "update", "-qq"])?;
    step::run_with_env(
        &["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium", "fonts-dejavu-core"],
        &[("DEBIAN_FRONTEND", "noninteractive")],
    )
    .with_context(|| cure.to_owned())?;
    find_chromium().with_context(|| format!("Chromium was installed, but is not on the PATH: {cure}"))
}

/// Returns the names of abilities that this machine does not allow and that no command can install, and of optional programs that
/// it lacks, separated by commas. Tests that need one of them are skipped, and the summary names it. `NOWCAST_WITHOUT` replaces the result.
pub(crate) fn lacking() -> Option<String> {
    if let Ok(named) = std::env::var("NOWCAST_WITHOUT") {
        return Some(named).filter(|named| !named.is_empty());
    }
    let allows = |options: &[&str]| output_of("unshare", &[options, &["--net", "true"]].concat()).is_ok();
    let has_namespaces = allows(&[]) || allows(&["--user", "--map-root-user"]);
    let is_missing = |name: &str| match name {
        "namespaces" => !has_namespaces || !Path::new("/dev/net/tun").exists(),
        name => output_of(name, &["--version"]).is_err(),
    };
    let missing: Vec<&str> = ["namespaces", "tshark"].into_iter().filter(|name| is_missing(name)).collect();
    (!missing.is_empty()).then(|| missing.join(","))
}

fn find_chromium() -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    CHROMIUM_NAMES
        .iter()
        .flat_map(|name| std::env::split_paths(&paths).map(move |dir| dir.join(name)))
        .find(|candidate| candidate.is_file())
}

fn may_install() -> bool {
    let root = output_of("id", &["-u"]).is_ok_and(|id| id == "0");
    root && output_of("apt-get", &["--version"]).is_ok()
}

fn output_of(program: &str, args: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(args).stderr(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("`{program} {}` failed", args.join(" "));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_node_that_vite_refuses_are_too_old() {
        let new = ["v20.19.0", "v20.20.2\n", "v22.12.0", "v24.1.0"].map(is_new_enough);
        let old = ["v18.19.0", "v20.18.3", "v21.7.3", "v22.11.0", "", "node"].map(is_new_enough);
        assert_eq!((new, old), ([true; 4], [false; 6]));
    }

    #[test]
    fn the_free_space_is_the_fourth_column() {
        let table =
            "Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/vda 264000 12000 80000 13% /";
        assert_eq!(free_kib(table), Some(80_000));
        assert_eq!(free_kib(""), None);
    }
}
