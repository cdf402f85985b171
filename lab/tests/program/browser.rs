//! `cargo xtask lab browser`: the page that measures a connection, over an emulated link.

use crate::own;

#[test]
fn a_page_measures_both_of_its_carriers() {
    let output = own::program()
        .args(["browser", "--samples", "20", "--rtt", "20ms", "--json"])
        .output()
        .expect("the program starts");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let report = String::from_utf8_lossy(&output.stdout);
    for name in ["Nowcast, WebTransport", "Nowcast, WebSocket"] {
        assert!(report.contains(name), "{report}");
    }
}
