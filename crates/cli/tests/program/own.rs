//! Runs the program under test with separate folders, so that no test reads or writes the user's worlds.
//!
//! `cargo xtask tidy` refuses a test that starts the program in another way.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// The path of the program under test, for the few tests in which another program starts it; see [`isolated`].
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_nowcast");

/// Returns a command for the program under test, with its own home and data folder.
pub(crate) fn program() -> Command {
    isolated(PROGRAM)
}

/// Returns a command for a program that starts the program under test. The command sets a separate home and data folder.
pub(crate) fn isolated(program: &str) -> Command {
    let home = own_home();
    let mut command = Command::new(program);
    command.env("HOME", &home).env("XDG_DATA_HOME", home.join("data"));
    command
}

/// Returns a unique folder for one command. The program creates it when it stores data.
fn own_home() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let name = format!("home-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn commands_under_test_have_a_home_and_a_data_folder_of_their_own() {
    let folder_of = |command: &Command, name: &str| {
        let value = command.get_envs().find(|(known, _)| *known == name).and_then(|(_, value)| value);
        PathBuf::from(value.expect("the variable is set"))
    };
    let (one, other) = (program(), isolated("env"));
    for name in ["HOME", "XDG_DATA_HOME"] {
        assert_ne!(folder_of(&one, name), folder_of(&other, name));
        assert!(folder_of(&one, name).starts_with(env!("CARGO_TARGET_TMPDIR")));
    }
}
