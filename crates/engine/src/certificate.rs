//! The identity of an endpoint: development certificates, or certificates from files.

mod development;
mod files;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use development::Development;
use files::Files;

/// Minimum interval between two checks for changes.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// The SHA-256 of a certificate in DER.
pub type CertificateHash = [u8; 32];

/// The source of an endpoint's certificate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CertificateConfig {
    /// A certificate that the endpoint makes itself. It is valid for less than two weeks and is renewed before it expires.
    /// Clients recognise it by the hash that the endpoint announces. For development and local networks.
    #[default]
    Development,
    /// Like `Development`, but also for the names and addresses of this machine on the local network. Browsers on that network
    /// then show fewer warnings.
    SelfSigned {
        /// Host names and addresses besides those of loopback.
        names: Vec<String>,
    },
    /// PEM files: the endpoint's key, and the certificate chain, which begins with the endpoint's own certificate. The files are
    /// read again when they change. If they cannot be used, the last valid certificate stays.
    Files {
        /// The chain.
        chain: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}

/// The reason why there is no certificate. Each message states the cause and a solution.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {path}: {error}: give the paths of PEM files that this user may read")]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system or the parser.
        error: String,
    },
    /// Chain and key do not match, or their kind is not supported.
    #[error("the certificate cannot be used: {0}: give a chain and the key it was made for")]
    Unusable(#[from] rustls::Error),
    /// A certificate could not be made.
    #[error("no development certificate could be made: {0}")]
    Make(String),
}

/// The valid certificates of an endpoint.
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
    /// Makes or reads the certificates.
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

    /// Returns the hashes that clients need to accept the certificates. The result is empty if the certificates come from files,
    /// because the usual authorities signed such certificates.
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
        let mut state = self.state.lock().expect("no thread panics while holding the lock");
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

/// The SHA-256 that identifies a certificate for clients.
pub fn hash_of(der: &[u8]) -> CertificateHash {
    let digest = ring::digest::digest(&ring::digest::SHA256, der);
    digest.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
