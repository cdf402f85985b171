//! The `nowcast` program that the instruments start.

use std::io;
use std::path::PathBuf;

/// Names the program. Without this variable, it lies next to the program of the instruments, as `cargo xtask lab` builds it.
const VARIABLE: &str = "NOWCAST_BIN";

/// Returns the path of `nowcast`.
///
/// # Errors
/// Fails if the program does not exist.
pub fn nowcast() -> io::Result<PathBuf> {
    let path = match std::env::var_os(VARIABLE) {
        Some(path) => PathBuf::from(path),
        None => std::env::current_exe()?.with_file_name("nowcast"),
    };
    if path.is_file() {
        return Ok(path);
    }
    let missing = format!(
        "{} does not exist: start the instrument by `cargo xtask lab`, or set {VARIABLE}",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::NotFound, missing))
}
