//! The addresses for people on other machines.

use std::net::SocketAddr;

use nowcast_engine::endpoint::addresses_of_this_machine;
use nowcast_server::{CertificateConfig, Config};

/// The encryption of connections from browsers on other machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encryption {
    /// A certificate that an authority has signed.
    Certificate,
    /// A certificate made by this server.
    SelfSigned,
    /// No encryption, which the configuration allows.
    Plain,
    /// No encryption, so other machines are refused.
    Missing,
}

impl Encryption {
    pub(super) fn of(config: &Config) -> Self {
        match config.certificate {
            CertificateConfig::Files { .. } => Self::Certificate,
            CertificateConfig::SelfSigned { .. } => Self::SelfSigned,
            CertificateConfig::Development if config.entry.plain_http => Self::Plain,
            CertificateConfig::Development => Self::Missing,
        }
    }
}

/// Returns the addresses for people on other machines, and the reasons why these may not work.
pub(super) fn for_other_machines(
    encryption: &Encryption,
    addresses: &[SocketAddr],
    base: &str,
) -> Vec<String> {
    let Some(first) = addresses.iter().find(|address| !address.ip().is_loopback()) else { return Vec::new() };
    let reachable = if first.ip().is_unspecified() { addresses_of_this_machine() } else { vec![first.ip()] };
    let place = reachable.first().map_or_else(
        || format!("ADDRESS-OF-THIS-MACHINE:{}", first.port()),
        |address| SocketAddr::new(*address, first.port()).to_string(),
    ) + base;
    match encryption {
        Encryption::Certificate => {
            vec![format!("Other machines open https://HOST:{}{base}, with the host that the certificate names.", first.port())]
        }
        Encryption::SelfSigned => vec![format!(
            "Other machines open https://{place}. Their browsers warn once, because no authority signed the certificate: continue anyway."
        )],
        Encryption::Plain => vec![format!(
            "Other machines open http://{place}. Nothing is encrypted, so their browsers have neither WebTransport nor VR."
        )],
        Encryption::Missing => vec![
            format!(
                "Browsers of other machines are kept out, because nothing encrypts their sessions. With --self-signed they open \
                 https://{place}."
            ),
            "Or give a certificate (--tls-cert, --tls-key), put a proxy before this server (docs/how-to/server.md), or do without \
             encryption (--insecure)."
                .to_owned(),
        ],
    }
}
