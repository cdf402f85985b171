//! The audit log: every change that was requested in the studio.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nowcast_room::now_ms;
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value as Json, json};
use tokio::task::spawn_blocking;
use tracing::{info, warn};

/// Maximum entries in memory.
const ENTRIES_MAX: usize = 1_000;

/// Maximum bytes of the detail of an entry as JSON. A longer detail is replaced by its length.
const DETAIL_BYTES_MAX: usize = 1_024;

/// Size of the file at which it is renamed.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// The names of the current file, and of the previous file.
const FILE: &str = "studio-audit.jsonl";
const FILE_BEFORE: &str = "studio-audit.1.jsonl";

/// A requested change.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Change {
    /// The name in the token; `None` for a program on the server's machine.
    pub(super) who: Option<String>,
    /// `None` for a command by a subject of NATS.
    pub(super) address: Option<IpAddr>,
    pub(super) action: &'static str,
    /// The room, file or moment.
    pub(super) target: String,
    pub(super) detail: Json,
    /// Whether the change was made.
    pub(super) ok: bool,
}

#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    n: u64,
    time_ms: u64,
    #[serde(flatten)]
    change: Change,
}

/// The newest entries, and the file of all entries.
pub(super) struct Audit {
    entries: Mutex<(VecDeque<Entry>, u64)>,
    /// Locked while an entry is written, so that lines are whole.
    folder: Mutex<Option<PathBuf>>,
}

impl Audit {
    /// Creates the log. Entries are appended to a file in `folder`, if it is given.
    pub(super) fn new(folder: Option<&Path>) -> Self {
        Self { entries: Mutex::default(), folder: Mutex::new(folder.map(Path::to_owned)) }
    }

    /// Records a change, and writes it on another thread.
    pub(super) fn record(audit: &Arc<Self>, mut change: Change) {
        let bytes = change.detail.to_string().len();
        if bytes > DETAIL_BYTES_MAX {
            change.detail = json!({ "bytes": bytes });
        }
        let Change { who, address, action, target, ok, .. } = &change;
        let address = address.as_ref().map(tracing::field::display);
        info!(who, address, action, target, ok, "studio");
        let entry = {
            let mut entries = audit.entries.lock();
            let (newest, count) = &mut *entries;
            *count += 1;
            let entry = Entry { n: *count, time_ms: now_ms(), change };
            newest.push_back(entry.clone());
            if newest.len() > ENTRIES_MAX {
                newest.pop_front();
            }
            entry
        };
        let audit = Arc::clone(audit);
        spawn_blocking(move || audit.write(&entry));
    }

    fn write(&self, entry: &Entry) {
        let folder = self.folder.lock();
        let Some(folder) = &*folder else { return };
        if let Err(error) = append(folder, entry) {
            warn!(%error, folder = %folder.display(), "the studio's audit log cannot be written");
        }
    }

    /// Returns the entries after a number.
    pub(super) fn after(&self, number: u64) -> Json {
        let entries = self.entries.lock();
        let later: Vec<&Entry> = entries.0.iter().filter(|entry| entry.n > number).collect();
        json!({ "entries": later, "next": entries.1 })
    }
}

fn append(folder: &Path, entry: &Entry) -> std::io::Result<()> {
    let path = folder.join(FILE);
    let mut file: File = OpenOptions::new().create(true).append(true).open(&path)?;
    if file.metadata()?.len() >= FILE_BYTES_MAX {
        std::fs::rename(&path, folder.join(FILE_BEFORE))?;
        file = OpenOptions::new().create(true).append(true).open(&path)?;
    }
    let mut line = serde_json::to_vec(entry)?;
    line.push(b'\n');
    file.write_all(&line)
}
