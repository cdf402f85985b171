//! The short form of `nowcast lab motion`: the real SDK in Node, this program as the server, two links. It needs Node, the built SDK,
//! and namespaces; elsewhere it says that it was left out.

#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What a machine may lack.
const LACKING: [&str; 4] = ["network namespace", "TUN device", "the SDK is not built", "node does not start"];

#[test]
#[allow(clippy::disallowed_macros, reason = "the harness takes what a test says")]
fn what_people_see_of_themselves_is_measured_at_every_link() {
    let root: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::env::temp_dir().join(format!("nowcast-motion-{}.html", std::process::id()));
    let output = Command::new(env!("CARGO_BIN_EXE_nowcast"))
        .args(["lab", "motion", "--quick", "--seconds", "3", "--json", "--html"])
        .arg(&page)
        .current_dir(root)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        assert!(LACKING.iter().any(|lack| told.contains(lack)), "{told}");
        eprintln!("left out: {told}");
        return;
    }
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sections = report["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert_eq!(section["tables"][0]["rows"].as_array().unwrap().len(), 3, "{section}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("Error of oneself"));
    std::fs::remove_file(page).unwrap();
}
