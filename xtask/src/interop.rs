//! `cargo xtask interop` tests our endpoint with a WebTransport client that is not ours.

use crate::{rust_tests, step};

/// The client, in the version for which the script was written.
const AIOQUIC: &str = "aioquic==1.7.2";

/// Runs the test.
pub(crate) fn run() -> anyhow::Result<()> {
    let python = step::python_with("interop", &["aioquic"], &[AIOQUIC])?;
    rust_tests::run_ignored("aioquic", &[("NOWCAST_AIOQUIC_PYTHON", &python.to_string_lossy())])
}
