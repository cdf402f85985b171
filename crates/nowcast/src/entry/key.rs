//! What tokens are signed and verified with.

use std::fmt;
use std::path::Path;

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use ring::rand::SecureRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};

/// The shortest secret: as many bytes as HS256 puts out (RFC 7518, section 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// The largest file that is read as a key.
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// What stands before the 32 bytes of an Ed25519 public key in DER (RFC 8410, section 4).
const ED25519_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// What tokens are signed and verified with: a secret (HS256), or an Ed25519 key (EdDSA).
///
/// Who makes tokens and lets people in by the same program needs a secret. Where another party makes them, an endpoint
/// only needs that party's public key.
#[derive(Clone)]
pub struct TokenKey {
    algorithm: Algorithm,
    verifying: DecodingKey,
    signing: Option<EncodingKey>,
}

/// A new random secret: 43 characters with 256 bits of randomness.
#[must_use]
pub fn new_secret() -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut random = [0; 43];
    ring::rand::SystemRandom::new().fill(&mut random).expect("the system has randomness");
    random.iter().map(|byte| char::from(DIGITS[usize::from(byte % 64)])).collect()
}

/// Why something is no key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A secret that could be guessed.
    #[error(
        "the secret has {length} bytes, fewer than {SECRET_BYTES_MIN}: make one with `openssl rand -base64 32`"
    )]
    Short {
        /// Its length in bytes.
        length: usize,
    },
    /// A PEM file with something else in it.
    #[error(
        "the key is no Ed25519 key in PEM: make one with `openssl genpkey -algorithm ed25519`, or use a secret"
    )]
    NotEd25519,
    /// The file cannot be read.
    #[error("the key file {path} cannot be read: {error}")]
    File {
        /// Which.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
}

impl TokenKey {
    /// A secret, for HS256.
    ///
    /// # Errors
    /// [`KeyError::Short`] below 32 bytes.
    pub fn secret(secret: &[u8]) -> Result<TokenKey, KeyError> {
        if secret.len() < SECRET_BYTES_MIN {
            return Err(KeyError::Short { length: secret.len() });
        }
        let (verifying, signing) = (DecodingKey::from_secret(secret), EncodingKey::from_secret(secret));
        Ok(TokenKey { algorithm: Algorithm::HS256, verifying, signing: Some(signing) })
    }

    /// A key in the form that files have: an Ed25519 key in PEM, private (PKCS #8) or public, or else the text of a
    /// secret. White space around it does not count.
    ///
    /// # Errors
    /// When it is neither.
    pub fn parse(text: &str) -> Result<TokenKey, KeyError> {
        let text = text.trim();
        if text.contains("-----BEGIN PRIVATE KEY-----") {
            let der =
                PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| KeyError::NotEd25519)?;
            TokenKey::pair(der.secret_pkcs8_der())
        } else if text.starts_with("-----BEGIN") {
            let der =
                SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).map_err(|_| KeyError::NotEd25519)?;
            let key = der.strip_prefix(&ED25519_PREFIX).filter(|key| key.len() == 32);
            let verifying = DecodingKey::from_ed_der(key.ok_or(KeyError::NotEd25519)?);
            Ok(TokenKey { algorithm: Algorithm::EdDSA, verifying, signing: None })
        } else {
            TokenKey::secret(text.as_bytes())
        }
    }

    /// Reads a key from a file; see [`parse`](Self::parse).
    ///
    /// # Errors
    /// When it cannot be read or holds no key.
    pub fn read(path: &Path) -> Result<TokenKey, KeyError> {
        let fail = |error| KeyError::File { path: path.display().to_string(), error };
        let length = std::fs::metadata(path).map_err(fail)?.len();
        if length > FILE_BYTES_MAX {
            return Err(fail(std::io::Error::other(format!("it is larger than {FILE_BYTES_MAX} bytes"))));
        }
        TokenKey::parse(&std::fs::read_to_string(path).map_err(fail)?)
    }

    /// Whether tokens can be signed with it, which a public key cannot do.
    #[must_use]
    pub fn can_sign(&self) -> bool {
        self.signing.is_some()
    }

    fn pair(der: &[u8]) -> Result<TokenKey, KeyError> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der).map_err(|_| KeyError::NotEd25519)?;
        let verifying = DecodingKey::from_ed_der(pair.public_key().as_ref());
        let signing = Some(EncodingKey::from_ed_der(der));
        Ok(TokenKey { algorithm: Algorithm::EdDSA, verifying, signing })
    }

    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    pub(super) fn verifying(&self) -> &DecodingKey {
        &self.verifying
    }

    pub(super) fn signing(&self) -> Option<&EncodingKey> {
        self.signing.as_ref()
    }
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TokenKey({:?})", self.algorithm)
    }
}
