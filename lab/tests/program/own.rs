//! Runs the program under test with separate folders, so that no test reads or writes the user's worlds.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Returns a command for the program under test, with its own home and data folder, at the top of the checkout.
pub(crate) fn program() -> Command {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("home-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_nowcast-lab"));
    command.env("HOME", &home).env("XDG_DATA_HOME", home.join("data"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

/// The variable that names the programs that this machine lacks, separated by commas. Tests that need one of them are skipped.
/// Without this variable, a test with a missing tool fails, so that no machine passes without testing.
const WITHOUT: &str = "NOWCAST_WITHOUT";

/// Skips the calling test, because the machine lacks a program that it needs.
///
/// # Panics
/// Panics unless [`WITHOUT`] names the missing program.
pub(crate) fn leave_out(lacking: &str, cause: impl std::fmt::Display) {
    let without = std::env::var(WITHOUT).unwrap_or_default();
    assert!(
        without.split(',').any(|name| name.trim() == lacking),
        "this test needs {lacking}, which this machine lacks ({cause}): install it, or set {WITHOUT}={lacking} to leave such tests out"
    );
    eprintln!("left out, because {WITHOUT} names {lacking}: {cause}");
}
