//! Rebuilds the crate when the web client was built again.

use std::path::Path;

fn main() {
    let client = Path::new("../../packages/viewer/dist");
    // Cargo takes a missing path for a changed one and would rebuild every time, so the folder is made. Where that
    // is not possible (a read-only source tree) the only loss is that of time.
    let _ = std::fs::create_dir_all(client);
    println!("cargo::rerun-if-changed={}", client.display());
}
