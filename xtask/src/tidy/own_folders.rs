//! Tests that start the program give it folders of their own, so that none reads or writes the worlds of a person.

use std::path::Path;

use super::files_below;

/// The one file of each language that starts the program under test. Each gives the program its own home and data
/// folder, or none.
const STARTERS: [&str; 2] = ["crates/cli/tests/program/own.rs", "packages/nowcast/test/server-process.ts"];

/// Complains of every other file that starts it.
pub(super) fn check(root: &Path, complaints: &mut Vec<String>) -> anyhow::Result<()> {
    // Written in two parts, so that this file is not one of them.
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
