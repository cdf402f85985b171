//! The short form of `cargo xtask lab motion`: the real SDK in Node, this program as the server, and two links. It needs Node, the
//! built SDK, and network namespaces.

use serde_json::Value;

use crate::own;

/// Returns the data and the page of `lab motion` with these arguments.
fn measure(arguments: &[&str]) -> (Value, String) {
    let name = format!("nowcast-motion-{}-{}.html", std::process::id(), arguments.concat());
    let page = std::env::temp_dir().join(name);
    let output = own::program()
        .args(["motion", "--quick", "--json", "--html"])
        .arg(&page)
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let html = std::fs::read_to_string(&page).unwrap();
    std::fs::remove_file(page).unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), html)
}

fn rows(section: &Value) -> &Vec<Value> {
    section["tables"][0]["rows"].as_array().unwrap()
}

#[test]
fn motion_of_the_own_avatar_is_measured_over_every_link() {
    let (report, html) = measure(&["--seconds", "3"]);
    let sections = report["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 3);
    for section in sections {
        assert_eq!(rows(section).len(), 3, "{section}");
    }
    assert!(html.contains("Error of the own avatar"));
}

#[test]
fn every_kick_of_a_match_is_recorded() {
    let (report, html) = measure(&["--seconds", "30", "--football"]);
    let sections = report["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 2);
    let kicks = rows(&sections[0])[0][1]["value"].as_f64().unwrap();
    assert!(kicks >= 1.0, "{report}");
    assert_eq!(rows(&sections[1]).len() as f64, kicks);
    assert!(html.contains("as the server judged"));
}

#[test]
fn hands_of_other_players_are_measured_over_both_links() {
    let (report, _) = measure(&["--seconds", "3", "--hands"]);
    let rows = rows(&report["sections"][0]);
    assert_eq!(rows.len(), 2);
    for row in rows {
        assert!(row[4]["value"].is_number() && row[7]["value"].is_number(), "{row}");
    }
}

#[test]
fn platforms_hills_leaps_and_a_carried_flag_are_measured_over_both_links() {
    let (report, _) = measure(&["--seconds", "8", "--course"]);
    let sections = report["sections"].as_array().unwrap();
    assert_eq!(sections.len(), 3);
    assert_eq!(rows(&sections[0]).len(), 8, "{report}");
    for row in rows(&sections[0]) {
        assert!(row[5]["value"].is_number(), "{row}");
    }
    for row in rows(&sections[1]).iter().chain(rows(&sections[2])) {
        assert!(row[3]["value"].is_number(), "{row}");
    }
}
