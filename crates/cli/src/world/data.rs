//! Finds the folder of stored worlds.

use std::env::var_os;
use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the folder of stored worlds: the chosen one, or the default in this user's home.
pub(crate) fn folder(chosen: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    chosen
        .or_else(of_user)
        .context("this user has no home folder: name the folder of stored worlds with --data DIR (a server also runs with --no-data)")
}

/// Returns `$XDG_DATA_HOME/nowcast`, or `~/.local/share/nowcast`, on Windows `%LOCALAPPDATA%\nowcast`. A relative path is ignored
/// (XDG Base Directory Specification).
fn of_user() -> Option<PathBuf> {
    let absolute = |name: &str| var_os(name).map(PathBuf::from).filter(|path: &PathBuf| path.is_absolute());
    let of_system = || match cfg!(windows) {
        true => absolute("LOCALAPPDATA"),
        false => Some(absolute("HOME")?.join(".local/share")),
    };
    let base = absolute("XDG_DATA_HOME").or_else(of_system)?;
    Some(base.join(Path::new("nowcast")))
}
