//! The emulated link does what it was asked to, as programs on its hosts see it.

#![cfg(target_os = "linux")]

use nowcast_lab::link::HostError;
use nowcast_lab::link::check::{CheckError, check};

#[test]
fn hosts_measure_the_configured_link() {
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
