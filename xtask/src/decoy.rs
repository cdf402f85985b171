//! The data folder that tests would use if they set no folder of their own. It is empty and must stay empty. Otherwise a test
//! reads and writes the worlds of the person who runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, bail};

use crate::step;

/// The variable that names the folder in which programs store a person's data.
const VARIABLE: &str = "XDG_DATA_HOME";

/// Runs tests with `run`, which gets the variables `env` and the variables of this module. Fails if a test touches the person's
/// data folder.
pub(crate) fn run_tests<T>(
    env: &[(&str, &str)],
    run: impl FnOnce(&[(&str, &str)]) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    // Tests of two steps may run at the same time.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let folder = step::target_dir().join(format!("nobodys-data-{}", RUNS.fetch_add(1, Ordering::Relaxed)));
    run_in(&folder, |folder| {
        let env: Vec<(&str, &str)> = env.iter().copied().chain([(VARIABLE, folder)]).collect();
        run(&env)
    })
}

fn run_in<T>(folder: &Path, run: impl FnOnce(&str) -> anyhow::Result<T>) -> anyhow::Result<T> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let outcome = run(&folder.to_string_lossy());
    let touched: Vec<PathBuf> = fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    if let Some(path) = touched.first() {
        bail!(
            "a test used the data folder of the person who runs it, and left {}: start the program with --data, --no-data or \
             {VARIABLE} of its own",
            path.display()
        );
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_touch_the_data_folder_of_a_person_fail_and_others_pass() {
        let folder = std::env::temp_dir().join(format!("nowcast-decoy-{}", std::process::id()));
        run_in(&folder, |_| Ok(())).expect("nothing was touched");
        let touched = run_in(&folder, |folder| Ok(fs::create_dir(Path::new(folder).join("nowcast"))?));
        let error = touched.expect_err("a test made a folder").to_string();
        assert!(error.contains("nowcast-decoy-") && error.contains("--no-data"), "{error}");
        run_in(&folder, |_| Ok(())).expect("the next run begins with an empty folder");
        fs::remove_dir_all(&folder).expect("the folder exists");
    }
}
