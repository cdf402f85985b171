//! Reads files of worlds within limits, and writes new files.

use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, bail};

/// Maximum size of a world's file.
const FILE_BYTES_MAX: u64 = 2 << 30;

/// Reads a file that may be a world.
pub(super) fn read_world_file(file: &Path) -> anyhow::Result<Vec<u8>> {
    let open = std::fs::File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    let mut bytes = Vec::new();
    let read = open.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("cannot read {}", file.display()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        bail!("{} is larger than any world", file.display());
    }
    Ok(bytes)
}

/// Writes a file that does not exist yet, and syncs it to the disk.
pub(super) fn write_new(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let cannot = || format!("cannot make {}", file.display());
    let mut made = std::fs::File::create_new(file).with_context(cannot)?;
    made.write_all(bytes).and_then(|()| made.sync_all()).with_context(cannot)
}
