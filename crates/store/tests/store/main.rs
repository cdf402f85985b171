//! Scenarios for the guarantees of the store.

mod bad_input;
mod conformance;
#[cfg(target_os = "linux")]
mod full_disk;
mod garden;
mod kill;
mod model;
mod past;
mod power;
mod pressure;
mod releases;
#[cfg(unix)]
mod removed_files;
mod restarts;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nowcast_store::{Completion, Lost, Options, SqliteStore, WorldName};

/// A deadline that is long enough for a disk that many tests share. No measurement depends on it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A folder of one test, which is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            std::env::temp_dir().join(format!("nowcast-store-{name}-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for a test");
        Folder(folder)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    fn open(&self) -> SqliteStore {
        SqliteStore::open(&self.0, Options::default()).expect("the folder is this test's own")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn name(name: &str) -> WorldName {
    WorldName::new(name).expect("the name is valid")
}

/// A completion, and the receiver of its result.
fn completion() -> (Completion, Receiver<Result<(), Lost>>) {
    let (tell, told) = channel();
    (
        Box::new(move |outcome| {
            // The receiver is gone if the test has ended.
            let _ = tell.send(outcome);
        }),
        told,
    )
}

/// Number of seeds, or of rounds. `NOWCAST_SEEDS=1000` runs the long form.
fn seeds(short: u64) -> u64 {
    let given =
        std::env::var("NOWCAST_SEEDS").ok().map(|text| text.parse().expect("NOWCAST_SEEDS is a number"));
    assert_ne!(given, Some(0), "NOWCAST_SEEDS=0: the tests would check nothing");
    given.unwrap_or(short)
}
