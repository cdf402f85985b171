//! Runs the tests of a world: copies its texts from the server into a temporary folder, and runs `nowcast test` there.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::process::Command;
use tokio::time::timeout;

use crate::studio::{Studio, StudioError};

/// Maximum number of files of a world that are copied.
const FILES_MAX: usize = 512;
/// Maximum length of the output that is returned, in bytes. The end is kept, because it has the summary.
const OUTPUT_BYTES_MAX: usize = 32 * 1024;
const RUN_TIME_MAX: Duration = Duration::from_secs(120);

/// The failure of a run, apart from tests that fail.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Studio(#[from] StudioError),
    #[error("the file '{0}' is outside of the folder of its world")]
    Path(String),
    #[error("the world has {0} files, more than {FILES_MAX}")]
    TooManyFiles(usize),
    #[error("the tests cannot run: {0}")]
    Io(#[from] std::io::Error),
    #[error("the tests took longer than {} s and were stopped", RUN_TIME_MAX.as_secs())]
    TooLong,
}

/// The texts of a world in a folder that is removed afterwards.
pub(crate) struct Copy {
    folder: tempfile::TempDir,
    omitted: Vec<String>,
}

/// Copies the texts of a world. Unsaved texts replace or join them. Other files, such as models, are omitted and named.
pub(crate) fn copy(
    studio: &Studio,
    world: &str,
    unsaved: &BTreeMap<String, String>,
) -> Result<Copy, RunError> {
    let listing = studio.get(&["worlds", world, "files"], &[])?;
    let files = listing["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    if files.len() > FILES_MAX {
        return Err(RunError::TooManyFiles(files.len()));
    }
    let folder = tempfile::tempdir()?;
    let mut omitted = Vec::new();
    for file in files {
        let path = file["path"].as_str().unwrap_or_default();
        if file["text"] != Value::Bool(true) {
            omitted.push(path.to_owned());
            continue;
        }
        if unsaved.contains_key(path) {
            continue;
        }
        let parts: Vec<&str> = ["worlds", world, "files"].into_iter().chain(path.split('/')).collect();
        let answer = studio.get(&parts, &[])?;
        write(folder.path(), path, answer["text"].as_str().unwrap_or_default())?;
    }
    for (path, text) in unsaved {
        write(folder.path(), path, text)?;
    }
    Ok(Copy { folder, omitted })
}

fn write(folder: &Path, path: &str, text: &str) -> Result<(), RunError> {
    let target = folder.join(relative(path)?);
    if let Some(parent) = target.parent() {
        std::fs::create_dir_all(parent)?;
    }
    Ok(std::fs::write(target, text)?)
}

/// A path that stays inside of a folder.
fn relative(path: &str) -> Result<PathBuf, RunError> {
    let parsed = Path::new(path);
    let is_inside = !path.is_empty() && parsed.components().all(|part| matches!(part, Component::Normal(_)));
    if is_inside { Ok(parsed.to_owned()) } else { Err(RunError::Path(path.to_owned())) }
}

/// Runs the tests of a copied world by the `nowcast` program.
pub(crate) async fn run(copy: Copy, program: &Path, only: Option<&str>) -> Result<Value, RunError> {
    let mut command = Command::new(program);
    command.arg("test").arg(copy.folder.path()).stdin(Stdio::null()).kill_on_drop(true);
    if let Some(only) = only {
        command.arg(format!("--only={only}"));
    }
    let ended = timeout(RUN_TIME_MAX, command.output()).await.map_err(|_| RunError::TooLong)??;
    let mut output = String::from_utf8_lossy(&ended.stdout).into_owned();
    output.push_str(&String::from_utf8_lossy(&ended.stderr));
    let output = output.replace(&format!("{}/", copy.folder.path().display()), "");
    Ok(json!({
        "passed": ended.status.success(),
        "output": end_of(&output),
        "omittedFiles": copy.omitted,
    }))
}

/// The last part of a text.
fn end_of(text: &str) -> &str {
    let start = text.len().saturating_sub(OUTPUT_BYTES_MAX);
    let start = (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    &text[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_inside_of_the_folder_are_written() {
        assert_eq!(relative("tests/goals.luau").unwrap(), Path::new("tests/goals.luau"));
        for path in ["", "/etc/passwd", "../x", "a/../../x", "./../x"] {
            assert!(matches!(relative(path), Err(RunError::Path(_))), "{path}");
        }
    }

    #[test]
    fn a_long_output_keeps_its_end_in_whole_characters() {
        let text = "ä".repeat(OUTPUT_BYTES_MAX);
        let end = end_of(&text);
        assert!(end.len() <= OUTPUT_BYTES_MAX && end.len() > OUTPUT_BYTES_MAX - 2);
        assert_eq!(end_of("short"), "short");
    }
}
