//! Certificates from PEM files, read again when they change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::CertificateError;

/// A chain and its key, and the state of the files when they were read.
pub(super) struct Files {
    chain: PathBuf,
    key: PathBuf,
    seen: [Option<(SystemTime, u64)>; 2],
    current: Arc<CertifiedKey>,
}

impl Files {
    pub(super) fn read(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let seen = [stamp(chain), stamp(key)];
        let current = read(chain, key)?;
        Ok(Self { chain: chain.to_owned(), key: key.to_owned(), seen, current })
    }

    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.current)
    }

    /// Reads the files again if they changed. If they cannot be used, the previous certificate stays, and the next check tries
    /// again. The files cannot be used, for instance, while only one of them has been replaced.
    pub(super) fn look(&mut self) {
        let seen = [stamp(&self.chain), stamp(&self.key)];
        if seen == self.seen {
            return;
        }
        match read(&self.chain, &self.key) {
            Ok(current) => {
                self.current = current;
                self.seen = seen;
                tracing::info!(chain = %self.chain.display(), "loaded the new certificate");
            }
            Err(error) => tracing::warn!(%error, "the new certificate cannot be used, the old one stays"),
        }
    }
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

fn read(chain: &Path, key: &Path) -> Result<Arc<CertifiedKey>, CertificateError> {
    let unreadable = |path: &Path, error: String| CertificateError::Read { path: path.to_owned(), error };
    let certificates: Vec<_> = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect)
        .map_err(|error| unreadable(chain, error.to_string()))?;
    if certificates.is_empty() {
        return Err(unreadable(chain, "it contains no certificate".into()));
    }
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, error.to_string()))?;
    let certified = CertifiedKey::from_der(certificates, key_der, &ring::default_provider())?;
    Ok(Arc::new(certified))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_pair(directory: &Path, name: &str) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let (chain, key) = (directory.join("chain.pem"), directory.join("key.pem"));
        std::fs::write(&chain, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        (chain, key)
    }

    #[test]
    fn replaced_files_are_loaded_only_when_both_are_replaced() {
        let directory = std::env::temp_dir().join(format!("nowcast-certificate-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let (chain, key) = write_pair(&directory, "a.example");
        let mut files = Files::read(&chain, &key).unwrap();
        let first = files.current().cert[0].clone();

        let foreign = rcgen::generate_simple_self_signed(["a-longer-name.example".to_owned()]).unwrap();
        std::fs::write(&chain, foreign.cert.pem()).unwrap();
        files.look();
        assert_eq!(files.current().cert[0], first, "a chain without its key is not taken");

        std::fs::write(&key, foreign.signing_key.serialize_pem()).unwrap();
        files.look();
        assert_eq!(files.current().cert[0], *foreign.cert.der());
        std::fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn unreadable_files_are_named() {
        let missing = Path::new("/nowhere/chain.pem");
        let error = Files::read(missing, missing).err().expect("there is no such file");
        assert!(error.to_string().contains("/nowhere/chain.pem"), "{error}");
    }
}
