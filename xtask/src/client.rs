//! Builds the JavaScript side: its packages, and the web client that the server embeds.

use std::path::Path;
use std::time::SystemTime;

use crate::{console, step, tools};

/// Installs the packages of package-lock.json, unless node_modules already holds them.
pub(crate) fn install_packages() -> anyhow::Result<()> {
    tools::require_node()?;
    let root = step::root();
    let installed = modified(&root.join("node_modules/.package-lock.json"));
    let locked = modified(&root.join("package-lock.json"));
    if installed.is_some() && installed >= locked {
        return Ok(());
    }
    eprintln!("{} the JavaScript packages are not installed, or in other versions", console::bold("setup:"));
    // `npm ci` cannot be used. npm 11 refuses a lock file without the native packages of systems on which the file was not
    // written.
    step::run(&["npm", "install", "--no-save", "--no-fund", "--no-audit", "--loglevel=error"])
}

/// Builds `packages/viewer/dist` and `packages/studio/dist`, which are part of the program.
pub(crate) fn build() -> anyhow::Result<()> {
    install_packages()?;
    step::run_together(&["@nowcast/viewer", "@nowcast/studio"].map(build_line))
}

/// Builds the packages that are published, and the web client.
pub(crate) fn build_all() -> anyhow::Result<()> {
    build()?;
    build_sdk()?;
    for package in
        ["@nowcast/three", "@nowcast/page", "@nowcast/react", "nowcast-server", "@nowcast/world-script"]
    {
        step::run(&build_line(package))?;
    }
    Ok(())
}

/// Builds `packages/nowcast/dist`.
pub(crate) fn build_sdk() -> anyhow::Result<()> {
    install_packages()?;
    step::run(&build_line("nowcast"))
}

/// Returns the command that builds a package.
fn build_line(package: &str) -> [&str; 6] {
    ["npm", "run", "--silent", "build", "--workspace", package]
}

/// Builds the documents as a site, `packages/site/dist`.
pub(crate) fn build_site() -> anyhow::Result<()> {
    install_packages()?;
    step::run(&build_line("@nowcast/site"))
}

/// Builds the documents for the address `/docs/`, where `nowcast serve --docs` serves them, into `folder`.
pub(crate) fn build_served_site(folder: &Path) -> anyhow::Result<()> {
    install_packages()?;
    let folder = folder.to_string_lossy();
    let line = build_line("@nowcast/site");
    step::run_with_env(&line, &[("NOWCAST_DOCS_BASE", "/docs/"), ("NOWCAST_DOCS_OUT", &*folder)])
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|meta| meta.modified()).ok()
}
