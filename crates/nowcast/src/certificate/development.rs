//! Certificates that an endpoint makes for itself, one after the other.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, PKCS_ECDSA_P256_SHA256};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::sign::CertifiedKey;
use time::OffsetDateTime;

use super::{CertificateError, CertificateHash, hash_of};

const DAY: Duration = Duration::from_secs(24 * 3_600);
/// Browsers refuse certificates named by hash that are valid for more than 14 days.
const VALID: Duration = DAY.saturating_mul(13);
/// Clocks differ.
const VALID_BEFORE: Duration = Duration::from_secs(3_600);
/// From then on the next one is announced beside it.
const ANNOUNCE_AFTER: Duration = DAY.saturating_mul(9);
/// From then on the next one is used.
const SWITCH_AFTER: Duration = DAY.saturating_mul(11);

const _: () = assert!(VALID.as_secs() + VALID_BEFORE.as_secs() < 14 * DAY.as_secs());

/// The certificate in use, and the next one when its time nears.
pub(super) struct Development {
    current: Made,
    next: Option<Made>,
}

struct Made {
    at: SystemTime,
    key: Arc<CertifiedKey>,
    hash: CertificateHash,
}

impl Development {
    pub(super) fn new(now: SystemTime) -> Result<Self, CertificateError> {
        Ok(Self { current: make(now)?, next: None })
    }

    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.current.key)
    }

    pub(super) fn hashes(&self) -> Vec<CertificateHash> {
        std::iter::once(&self.current).chain(&self.next).map(|made| made.hash).collect()
    }

    /// Prepares and takes the next certificate when it is time.
    pub(super) fn rotate(&mut self, now: SystemTime) {
        let age = now.duration_since(self.current.at).unwrap_or_default();
        if age >= ANNOUNCE_AFTER && self.next.is_none() {
            match make(now) {
                Ok(next) => self.next = Some(next),
                Err(error) => tracing::warn!(%error, "the next certificate could not be made"),
            }
        }
        if age >= SWITCH_AFTER
            && let Some(next) = self.next.take()
        {
            self.current = next;
        }
    }
}

fn make(now: SystemTime) -> Result<Made, CertificateError> {
    let failed = |error: rcgen::Error| CertificateError::Make(error.to_string());
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let mut params = CertificateParams::new(names).map_err(failed)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, "nowcast development");
    params.not_before = OffsetDateTime::from(now - VALID_BEFORE);
    params.not_after = OffsetDateTime::from(now + VALID);
    let certificate = params.self_signed(&key).map_err(failed)?;
    let der = certificate.der().clone();
    let hash = hash_of(&der);
    let signer = any_supported_type(&PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())))?;
    Ok(Made { at: now, key: Arc::new(CertifiedKey::new(vec![der], signer)), hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_certificate_is_announced_before_it_is_used_and_none_is_used_after_its_end() {
        let start = SystemTime::now();
        let mut development = Development::new(start).unwrap();
        let mut announced = development.hashes();
        for hour in 0..24 * 60 {
            let now = start + Duration::from_secs(hour * 3_600);
            development.rotate(now);
            let in_use = development.current.hash;
            assert!(announced.contains(&in_use), "hour {hour}: announced an hour before");
            assert!(now < development.current.at + VALID, "hour {hour}: still valid");
            announced = development.hashes();
            assert!(announced.len() <= 2);
        }
    }
}
