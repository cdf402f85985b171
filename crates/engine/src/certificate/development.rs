//! Certificates that an endpoint makes for itself and renews before they expire.

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
const VALID: Duration = DAY.saturating_mul(12);
/// A certificate is valid from this long before its creation, because clocks may be wrong. Some clocks have a wrong time zone,
/// and others are a day behind.
const VALID_BEFORE: Duration = Duration::from_secs(36 * 3_600);
/// A certificate whose date is further in the future than this was made under a wrong clock. The other half of [`VALID_BEFORE`]
/// is for clients whose clocks are behind.
const FUTURE_MAX: Duration = Duration::from_secs(18 * 3_600);
/// Age of the certificate at which the next one is announced in addition.
const ANNOUNCE_AFTER: Duration = DAY.saturating_mul(9);
/// Age of the certificate at which the next one replaces it.
const SWITCH_AFTER: Duration = DAY.saturating_mul(11);

const _: () = assert!(VALID.as_secs() + VALID_BEFORE.as_secs() < 14 * DAY.as_secs());
const _: () =
    assert!(SWITCH_AFTER.as_secs() < VALID.as_secs() && FUTURE_MAX.as_secs() < VALID_BEFORE.as_secs());

const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// The certificate in use, and the next one when it is announced.
pub(super) struct Development {
    current: Made,
    next: Option<Made>,
    /// The names and addresses in the certificates.
    names: Vec<String>,
}

struct Made {
    at: SystemTime,
    key: Arc<CertifiedKey>,
    hash: CertificateHash,
}

impl Development {
    /// Makes certificates for this machine, and for these names and addresses.
    pub(super) fn new(now: SystemTime, names: &[String]) -> Result<Self, CertificateError> {
        let names: Vec<_> =
            LOOPBACK_NAMES.iter().copied().map(str::to_owned).chain(names.iter().cloned()).collect();
        Ok(Self { current: make(now, &names)?, next: None, names })
    }

    pub(super) fn current(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.current.key)
    }

    pub(super) fn hashes(&self) -> Vec<CertificateHash> {
        std::iter::once(&self.current).chain(&self.next).map(|made| made.hash).collect()
    }

    /// Makes and activates the next certificate before the current one expires. A certificate that was made under another clock
    /// is replaced at once.
    pub(super) fn rotate(&mut self, now: SystemTime) {
        self.next = self.next.take().filter(|next| next.fits(now));
        if !self.current.fits(now) {
            match self.next.take().map_or_else(|| make(now, &self.names), Ok) {
                Ok(made) => self.current = made,
                Err(error) => return tracing::warn!(%error, "no certificate for this time could be made"),
            }
        }
        let age = now.duration_since(self.current.at).unwrap_or_default();
        if age >= ANNOUNCE_AFTER && self.next.is_none() {
            match make(now, &self.names) {
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

impl Made {
    /// Whether the certificate may be used at this time.
    fn fits(&self, now: SystemTime) -> bool {
        match now.duration_since(self.at) {
            Ok(age) => age < VALID,
            Err(future) => future.duration() <= FUTURE_MAX,
        }
    }
}

fn make(now: SystemTime, names: &[String]) -> Result<Made, CertificateError> {
    let failed = |error: rcgen::Error| CertificateError::Make(error.to_string());
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(failed)?;
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
    fn a_certificate_made_under_a_wrong_clock_is_replaced_when_the_clock_is_corrected() {
        let right = SystemTime::now();
        for wrong in [right + 300 * DAY, right + DAY, right - 20_000 * DAY] {
            let mut development = Development::new(wrong, &[]).unwrap();
            // The next certificate was also announced under the wrong clock.
            development.rotate(wrong + ANNOUNCE_AFTER);
            let before = development.hashes();
            development.rotate(right);
            assert!(development.current.fits(right) && development.next.is_none());
            assert!(!before.contains(&development.current.hash), "the certificate is new");
        }
        let mut development = Development::new(right, &[]).unwrap();
        let before = development.hashes();
        development.rotate(right - Duration::from_secs(3_600));
        assert_eq!(
            development.hashes(),
            before,
            "an hour back, for instance by a time server, changes nothing"
        );
    }

    #[test]
    fn the_next_certificate_is_announced_before_its_use_and_none_is_used_after_its_end() {
        let start = SystemTime::now();
        let mut development = Development::new(start, &[]).unwrap();
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
