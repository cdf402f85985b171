//! `lab crash`: what is left after the power was cut, and after a server was killed.

mod power;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

pub use power::{PowerError, Survived};

/// A folder of its own, which goes when the trial is over.
struct TrialFolder {
    path: PathBuf,
}

impl TrialFolder {
    fn new(what: &str) -> std::io::Result<TrialFolder> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("nowcast-{what}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path)?;
        Ok(TrialFolder { path })
    }
}

impl Drop for TrialFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
