//! The file into which packets are recorded.

use std::path::Path;

use anyhow::Context as _;
use nowcast::record::PacketRecorder;
use nowcast_world_protocol::session::secret_in;

use crate::output;

/// Maximum size of a record by default, in megabytes.
pub(crate) const RECORD_MB: u64 = 256;

/// Creates a record, without the keys with which players return.
pub(crate) fn create(path: &Path, mb: u64) -> anyhow::Result<PacketRecorder> {
    PacketRecorder::create_without(path, mb.saturating_mul(1 << 20), secret_in)
        .with_context(|| format!("cannot create the record {}", path.display()))
}

/// Ends a record, and reports its counts.
pub(crate) fn finish(recorder: &PacketRecorder) -> anyhow::Result<()> {
    let figures = recorder.finish().context("the record is incomplete")?;
    let left_out = match figures.left_out {
        0 => String::new(),
        left_out => {
            format!(" {left_out} more were left out, because the record is full or the disk too slow.")
        }
    };
    output::note(format_args!("Recorded {} packets.{left_out}", figures.packets));
    Ok(())
}
