//! Checks that the emulated link has the configured properties, as programs on its hosts measure them.

use nowcast_lab::link::HostError;
use nowcast_lab::link::check::{CheckError, check};

#[test]
fn hosts_measure_the_configured_link() {
    let findings = match check(7) {
        Ok(findings) => findings,
        Err(CheckError::Host(error @ (HostError::Namespace(_) | HostError::Tun(_)))) => {
            // `NOWCAST_WITHOUT` lists the abilities that a machine lacks, separated by commas.
            let is_without =
                std::env::var("NOWCAST_WITHOUT").is_ok_and(|without| without.contains("namespaces"));
            assert!(
                is_without,
                "this test needs network namespaces ({error}): allow them, or set NOWCAST_WITHOUT=namespaces to leave such tests out"
            );
            return eprintln!("left out, because NOWCAST_WITHOUT names namespaces: {error}");
        }
        Err(error) => panic!("{error}"),
    };
    assert!(findings.len() >= 8);
    for finding in &findings {
        assert!(finding.agrees(), "{finding:?}");
    }
}
