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
