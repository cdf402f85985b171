//! The identity of an endpoint: certificates made here for development, or read from files in production.

mod development;
mod files;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use development::Development;
use files::Files;

/// How often it is looked whether something changed, when somebody asks.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// The SHA-256 of a certificate in DER.
pub type CertificateHash = [u8; 32];

/// Where an endpoint's certificate comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CertificateConfig {
    /// Made by the endpoint itself, valid for less than two weeks, followed by the next in time; clients know it by the
    /// hash that the endpoint announces. For development and local networks.
    #[default]
    Development,
    /// The same, in the names and addresses by which others on the local network reach this machine, too, so that browsers
    /// there have less to complain of.
    SelfSigned {
        /// Host names and addresses, beside those of loopback.
        names: Vec<String>,
    },
    /// PEM files: the chain, the endpoint's own certificate first, and its key. Read again when they change; when they
    /// cannot be read, the last good ones stay.
    Files {
        /// The chain.
        chain: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}

/// Why there is no certificate. Each message names the cause and the cure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}: give the paths of PEM files that this user may read")]
    Read {
        /// Which.
        path: PathBuf,
        /// The error of the system or the parser.
        error: String,
    },
    /// Chain and key do not belong together, or are of a kind that is not supported.
    #[error("the certificate cannot be used: {0}: give a chain and the key it was made for")]
    Unusable(#[from] rustls::Error),
    /// None could be made.
    #[error("no development certificate could be made: {0}")]
    Make(String),
}

/// An endpoint's certificates, always those that hold now.
pub struct Certificates {
    state: Mutex<State>,
}

struct State {
    source: Source,
    looked: Instant,
}

enum Source {
    Development(Development),
    Files(Files),
}

impl Certificates {
    /// Makes or reads them.
    ///
    /// # Errors
    /// [`CertificateError`].
    pub fn new(config: &CertificateConfig) -> Result<Arc<Self>, CertificateError> {
        let source = match config {
            CertificateConfig::Development => Source::Development(Development::new(SystemTime::now(), &[])?),
            CertificateConfig::SelfSigned { names } => {
                Source::Development(Development::new(SystemTime::now(), names)?)
            }
            CertificateConfig::Files { chain, key } => Source::Files(Files::read(chain, key)?),
        };
        Ok(Arc::new(Self { state: Mutex::new(State { source, looked: Instant::now() }) }))
    }

    /// Returns the hashes that clients need to accept the certificates; empty if the usual authorities vouch for them.
    pub fn hashes(&self) -> Vec<CertificateHash> {
        self.with(|source| match source {
            Source::Development(development) => development.hashes(),
            Source::Files(_) => Vec::new(),
        })
    }

    fn current(&self) -> Arc<CertifiedKey> {
        self.with(|source| match source {
            Source::Development(development) => development.current(),
            Source::Files(files) => files.current(),
        })
    }

    fn with<T>(&self, ask: impl FnOnce(&Source) -> T) -> T {
        let mut state = self.state.lock().expect("nobody panics while holding it");
        if state.looked.elapsed() >= LOOK_INTERVAL {
            state.looked = Instant::now();
            match &mut state.source {
                Source::Development(development) => development.rotate(SystemTime::now()),
                Source::Files(files) => files.look(),
            }
        }
        ask(&state.source)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current())
    }
}

impl std::fmt::Debug for Certificates {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Certificates(..)")
    }
}

/// The SHA-256 by which clients know a certificate.
pub(crate) fn hash_of(der: &[u8]) -> CertificateHash {
    let digest = ring::digest::digest(&ring::digest::SHA256, der);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
