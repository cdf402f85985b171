//! Rebuilds the crate after a new build of the web client.

use std::path::Path;

fn main() {
    let client = Path::new("../../packages/viewer/dist");
    // Cargo treats a missing path as changed, and would rebuild the crate every time. So the folder is created. In a
    // read-only source tree this fails, which only costs time.
    let _ = std::fs::create_dir_all(client);
    println!("cargo::rerun-if-changed={}", client.display());
}
