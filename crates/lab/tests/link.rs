//! The emulated link does what it was asked to, as programs on its hosts see it.

#![cfg(target_os = "linux")]

use nowcast_lab::link::HostError;
use nowcast_lab::link::check::{CheckError, check};

#[test]
fn what_hosts_measure_agrees_with_what_was_configured() {
    let findings = match check(7) {
        Ok(findings) => findings,
        Err(CheckError::Host(error @ (HostError::Namespace(_) | HostError::Tun(_)))) => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    assert!(findings.len() >= 8);
    for finding in &findings {
        assert!(finding.agrees(), "{finding:?}");
    }
}
