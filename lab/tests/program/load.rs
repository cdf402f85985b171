//! The short form of `cargo xtask lab load`, with ten clients for one second. This test checks only that the instrument works. The
//! figures are not meaningful. The chapter about asteroids needs network namespaces.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::own;

fn lab_load(args: &[&str], page: &Path) -> Output {
    own::program()
        .args(["load", "--json", "--html"])
        .arg(page)
        .args(args)
        .output()
        .expect("the program starts")
}

fn fresh_page(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("nowcast-{name}-{}.html", std::process::id()))
}

/// Returns the figures of a column, each with the text in the first column.
fn column(table: &Value, name: &str) -> Vec<(String, Option<f64>)> {
    let columns = table["columns"].as_array().expect("a table has columns");
    let at = columns.iter().position(|column| column["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    let rows = table["rows"].as_array().expect("a table has rows").iter();
    rows.map(|row| {
        let figure = row[at]["value"].as_f64().or(row[at]["median"].as_f64());
        (row[0].as_str().unwrap_or_default().to_owned(), figure)
    })
    .collect()
}

#[test]
fn ten_clients_over_each_carrier_receive_all_updates_at_a_measurable_cost() {
    let page = fresh_page("load");
    let args = [
        "--clients",
        "10",
        "--near",
        "10",
        "--crowds",
        "10:100",
        "--seconds",
        "1",
        "--repeats",
        "1",
        "--no-peers",
        "--seed",
        "3",
    ];
    let output = lab_load(&args, &page);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let notes = report["notes"].to_string();
    assert!(!notes.contains("came in") && !notes.contains("were lost"), "{notes}");
    let sections = report["sections"].as_array().expect("a report has sections");
    assert_eq!(sections.len(), 4);
    let [all, near, crowd, feelings] = [0, 1, 2, 3].map(|at| &sections[at]["tables"][0]);
    let traffic = &sections[0]["tables"][1];
    assert_eq!(column(all, "clients").len(), 3, "{all}");
    assert_eq!(column(near, "clients").len(), 2, "{near}");
    assert_eq!(column(crowd, "things").len(), 2, "{crowd}");
    for (server, packets) in column(traffic, "packets, a client and second") {
        assert!(packets.is_some_and(|packets| packets > 5.0), "{server}: {packets:?}");
    }
    for (server, updates) in column(feelings, "updates") {
        // Ten clients receive twenty updates a second each, minus those that a busy machine skips.
        assert!(updates.is_some_and(|updates| updates > 20.0), "{server}: {updates:?}");
    }
    assert!(std::fs::read_to_string(&page).unwrap().contains("Processor time of the network"));
    std::fs::remove_file(page).unwrap();
}

/// Makes a folder with a `node` that only knows its version, and with packages of Colyseus that have no code.
fn folder_with_a_peer_that_ends_at_once() -> PathBuf {
    let folder = std::env::temp_dir().join(format!("nowcast-load-peer-{}", std::process::id()));
    let package = folder.join("node_modules/@colyseus/core");
    std::fs::create_dir_all(&package).unwrap();
    std::fs::write(package.join("package.json"), r#"{"version":"0.0.1"}"#).unwrap();
    let node = folder.join("node");
    std::fs::write(&node, "#!/bin/sh\n[ \"$1\" = --version ]\n").unwrap();
    std::fs::set_permissions(&node, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn a_run_with_a_failed_trial_writes_all_others_and_ends_with_an_error() {
    let page = fresh_page("failed");
    let folder = folder_with_a_peer_that_ends_at_once();
    let path = std::env::var("PATH").unwrap_or_default();
    let args =
        ["load", "--clients", "3", "--near", "0", "--crowds", "0:0", "--seconds", "1", "--repeats", "1"];
    let output = own::program()
        .args(args)
        .arg("--json")
        .arg("--html")
        .arg(&page)
        .arg("--colyseus")
        .arg(&folder)
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("trials that failed: 2"), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let sections = report["sections"].as_array().expect("a report has sections");
    let finished = column(&sections[0]["tables"][0], "network, a client and second");
    assert_eq!(finished.len(), 3, "each carrier of ours has finished: {finished:?}");
    assert!(finished.iter().all(|(_, figure)| figure.is_some()), "{finished:?}");
    let failed = sections.last().unwrap();
    assert_eq!(failed["title"], "Trials that failed");
    let rows = failed["tables"][0]["rows"].to_string();
    assert!(
        rows.contains("Colyseus, WebSocket: 3 clients") && rows.contains("Colyseus ended too early"),
        "{rows}"
    );
    assert!(std::fs::read_to_string(&page).unwrap().contains("Trials that failed"));
    std::fs::remove_file(page).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_profile_shows_the_crates_of_a_server_or_an_error_names_perf() {
    let page = fresh_page("profile");
    let args =
        ["--profile", "--clients", "5", "--near", "0", "--crowds", "0:0", "--seconds", "1", "--repeats", "1"];
    let output = lab_load(&[&args[..], &["--no-peers"]].concat(), &page);
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(
            message.contains("perf cannot sample the server") && message.contains("linux-perf"),
            "{message}"
        );
        return;
    }
    let report: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let tables = report["sections"].as_array().unwrap().last().unwrap()["tables"].as_array().unwrap();
    assert_eq!(tables.len(), 6, "crates and functions of three servers");
    for table in tables {
        let shares = column(table, "share");
        let sum: f64 = shares.iter().filter_map(|(_, share)| *share).sum();
        assert!(!shares.is_empty() && sum > 10.0 && sum < 101.0, "{shares:?}");
    }
    std::fs::remove_file(page).unwrap();
}

/// Returns the precision of the rocks of worlds/asteroids in metres, as its rules declare it.
fn stated_precision() -> f64 {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../worlds/asteroids/world.luau");
    let rules = std::fs::read_to_string(rules).unwrap();
    let stated = rules.lines().find_map(|line| line.trim().strip_prefix("precision = "));
    stated
        .and_then(|metres| metres.trim_end_matches(',').parse().ok())
        .expect("the rocks declare a precision")
}

#[test]
fn asteroids_are_counted_by_the_kernel_and_shown_at_their_positions() {
    let page = fresh_page("asteroids");
    let output = lab_load(&["--asteroids", "--seconds", "1"], &page);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("the output is JSON");
    let table = &report["sections"][0]["tables"][0];
    for (carrier, bytes) in column(table, "toward the client") {
        assert!(bytes.is_some_and(|bytes| bytes > 1.0), "{carrier}: {bytes:?}");
    }
    // On a machine that is busy with other work, a carrier may have shown no position at any compared step. Most carriers have
    // shown one.
    let measured = column(table, "largest error");
    let errors: Vec<f64> = measured.iter().filter_map(|(_, error)| *error).collect();
    assert!(2 * errors.len() > measured.len(), "most carriers show places that are compared: {measured:?}");
    // The reference client receives positions with a precision of a tenth of a millimetre.
    let precise = stated_precision() + 0.000_1;
    // After a lost packet, a body is on its old path until the row of its new path is sent again. A busy machine loses some
    // packets where none are to be lost, so a few bodies may be off then.
    let losses = column(table, "lost each way");
    let most = column(table, "99 % of errors within");
    for ((carrier, error), (_, lost)) in most.iter().zip(&losses) {
        let bound = if *lost == Some(0.0) { precise } else { 10.0 * precise };
        assert!(error.is_none_or(|error| error <= bound), "{carrier}, {lost:?}: {most:?} of {bound}");
    }
    assert!(errors.iter().all(|error| *error < 2.0), "a body is far from its place: {measured:?}");
    std::fs::remove_file(page).unwrap();
}
