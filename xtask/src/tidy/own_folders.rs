//! Checks that tests start the program with separate folders, so that no test reads or writes the worlds of a person.

use std::path::Path;

use super::files_below;

/// For each language, the only file that starts the program under test. This file gives the program a separate home and data
/// folder, or no folder.
const STARTERS: [&str; 2] = ["crates/cli/tests/program/own.rs", "packages/nowcast/test/server-process.ts"];

/// Reports every other file that starts the program.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    // Each text is written in two parts, so that this file does not contain it.
    let paths = [concat!("CARGO_BIN_EXE_", "nowcast\""), concat!("spawn(nowcast", "Binary")];
    for end in ["rs", "ts"] {
        for file in files_below(root, end)? {
            let relative = file.strip_prefix(root)?.to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&file)?;
            if !STARTERS.contains(&relative.as_str()) && paths.iter().any(|path| text.contains(path)) {
                complaints.push(format!(
                    "{relative} starts the program with the folders of the person who runs the tests: use {}",
                    STARTERS.join(" or ")
                ));
            }
        }
    }
    Ok(())
}
