//! Runs `nowcast lab crash` as CI does: kills of the real program, and power cuts.

use std::process::Output;

use serde_json::Value;

use crate::own;

#[test]
fn kills_and_power_cuts_lose_no_confirmed_action() {
    let mut command = own::program();
    command.args([
        "lab",
        "crash",
        "--kills",
        "4",
        "--cuts",
        "20",
        "--clients",
        "4",
        "--seed",
        "7",
        "--no-peers",
        "--json",
    ]);
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{said}");
    let report: Value = serde_json::from_slice(&stdout).expect("the output is JSON");
    assert_eq!(report["seed"], 7);
    assert_eq!(report["sections"].as_array().map(Vec::len), Some(4), "{report}");
}
