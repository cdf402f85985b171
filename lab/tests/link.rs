//! Checks that the emulated link has the configured properties, as programs on its hosts measure them.

use nowcast_lab::link::check::check;

#[test]
fn hosts_measure_the_configured_link() {
    let findings = check(7).expect("this machine allows network namespaces and TUN devices");
    assert!(findings.len() >= 8);
    for finding in &findings {
        assert!(finding.agrees(), "{finding:?}");
    }
}
