//! `cargo xtask peers` installs the programs of others with which the lab compares our own.

use std::fs;
use std::path::PathBuf;

use anyhow::Context as _;

use crate::{console, step, tools};

/// Installs Colyseus below target/, separate from the packages of this repository. Fails with the reason if that is not possible.
pub(crate) fn run() -> anyhow::Result<()> {
    let folder = colyseus_folder();
    eprintln!(
        "{} installs Colyseus from the registry of npm into {}, for `cargo xtask lab load`; nothing else uses it",
        console::bold("peers:"),
        folder.display()
    );
    if let Err(missing) = tools::require_node() {
        eprintln!("{} {missing:#}", console::yellow("NOT INSTALLED"));
        return Ok(());
    }
    if let Err(cause) = install(&folder) {
        eprintln!("{} npm cannot install it here: {cause:#}", console::yellow("NOT INSTALLED"));
    }
    Ok(())
}

/// Returns the folder in which `cargo xtask lab load` searches for Colyseus, relative to the top of a checkout.
fn colyseus_folder() -> PathBuf {
    step::root().join("target/peers/colyseus")
}

fn install(folder: &std::path::Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let named = step::root().join("lab/javascript/colyseus/package.json");
    fs::copy(&named, folder.join("package.json"))
        .with_context(|| format!("cannot copy {}", named.display()))?;
    // The packages of Colyseus name each other as peers, in versions that do not all exist. The versions above belong to the same
    // release.
    let place = folder.to_string_lossy();
    step::run(&[
        "npm",
        "install",
        "--prefix",
        &place,
        "--legacy-peer-deps",
        "--ignore-scripts",
        "--no-package-lock",
        "--no-fund",
        "--no-audit",
        "--loglevel=error",
    ])
}
