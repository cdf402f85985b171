//! Short runs of `cargo xtask lab crash`: kills of the real program, and power cuts.

use std::process::Output;

use serde_json::Value;

use crate::own;

#[test]
fn kills_and_power_cuts_lose_no_confirmed_action() {
    let mut command = own::program();
    command.args(["crash", "--kills", "4", "--cuts", "20", "--clients", "4", "--seed", "7", "--json"]);
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "{said}");
    let report: Value = serde_json::from_slice(&stdout).expect("the output is JSON");
    assert_eq!(report["seed"], 7);
    let sections = report["sections"].as_array().expect("the report has sections");
    assert_eq!(sections.len(), 4, "{report}");
    let tables = sections.iter().flat_map(|section| section["tables"].as_array().into_iter().flatten());
    let rows: Vec<&Value> = tables.flat_map(|table| table["rows"].as_array().into_iter().flatten()).collect();
    let figure = |name: &str| {
        let row = rows.iter().find(|row| row[0] == name).unwrap_or_else(|| panic!("no {name} in {report}"));
        row[1]["value"].as_f64().unwrap_or_else(|| panic!("{row}"))
    };
    assert!(figure("durable actions confirmed") > 0.0);
    // Four clients with an account each, after four kills and at the end.
    assert_eq!(figure("comparisons of the data of an account"), 20.0);
    assert_eq!(figure("confirmed and lost in the data of its account"), 0.0);
    assert_eq!(figure("carried out more than once in the data of its account"), 0.0);
}
