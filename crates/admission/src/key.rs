//! Keys that sign and verify tokens.

use std::fmt;
use std::io::Read as _;
use std::path::Path;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use ring::hmac;
use ring::rand::SecureRandom;
use ring::signature::{Ed25519KeyPair, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer};

/// Minimum length of a secret: the output length of HS256 (RFC 7518, section 3.2).
const SECRET_BYTES_MIN: usize = 32;

/// Maximum size of a key file.
const FILE_BYTES_MAX: u64 = 16 * 1024;

/// The prefix of the 32 bytes of an Ed25519 public key in DER (RFC 8410, section 4).
const ED25519_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Prefixes of public keys in one-line formats: the four kinds of OpenSSH, and age.
const PUBLIC_BEGINNINGS: [&str; 5] = ["AAAAB3NzaC1", "AAAAC3NzaC1", "AAAAE2VjZHNhL", "AAAAGnNrLX", "age1"];

/// The tag of a sequence, the first byte of every key in DER (X.690, section 8.9).
const DER_SEQUENCE: u8 = 0x30;
/// The tag of an integer. A key's sequence begins with an integer, or with another sequence that names the algorithm.
const DER_INTEGER: u8 = 0x02;

/// A key that signs and verifies tokens: a secret (HS256), or an Ed25519 key (EdDSA).
///
/// A program that both signs tokens and admits clients needs a secret. If another party signs the tokens, an endpoint needs only
/// the public key of that party.
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

/// The reason why a text or file is not a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A secret that is too short.
    #[error(
        "the secret has {length} bytes, fewer than {SECRET_BYTES_MIN}: make one with `openssl rand -base64 32`"
    )]
    Short {
        /// The length of the secret in bytes.
        length: usize,
    },
    /// A text that is public, or was not made as a secret.
    #[error(
        "{0} is not a secret: give the key file of `nowcast token --make-key FILE`, an Ed25519 key in PEM, or one line of \
         `openssl rand -base64 32`"
    )]
    NotSecret(&'static str),
    /// A PEM file with other content.
    #[error(
        "the key is not an Ed25519 key in PEM: make one with `openssl genpkey -algorithm ed25519`, or use a secret"
    )]
    NotEd25519,
    /// The file cannot be read.
    #[error("the key file {path} cannot be read: {error}. `nowcast token --make-key FILE` makes a key file")]
    File {
        /// The file.
        path: String,
        /// The error of the system.
        error: std::io::Error,
    },
}

impl TokenKey {
    /// Makes a key from a secret, for HS256.
    ///
    /// # Errors
    /// [`KeyError::Short`] below 32 bytes. [`KeyError::NotSecret`] for a public key in one of its usual forms, because
    /// anyone who knows the key could sign.
    pub fn secret(secret: &[u8]) -> Result<TokenKey, KeyError> {
        check_secret(secret)?;
        let (verifying, signing) = (DecodingKey::from_secret(secret), EncodingKey::from_secret(secret));
        Ok(TokenKey { algorithm: Algorithm::HS256, verifying, signing: Some(signing) })
    }

    /// Parses a key file. The file holds an Ed25519 key in PEM, private (PKCS #8) or public, or else a secret, which is one word.
    /// Other text before a PEM key is ignored. White space around a secret and a byte order mark are ignored, too.
    ///
    /// # Errors
    /// If the text is neither an Ed25519 key nor a secret.
    pub fn parse(text: &str) -> Result<TokenKey, KeyError> {
        let text = trimmed(text);
        if text.contains("-----BEGIN PRIVATE KEY-----") {
            let der =
                PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).map_err(|_| KeyError::NotEd25519)?;
            TokenKey::pair(der.secret_pkcs8_der())
        } else if text.contains("-----BEGIN") {
            let der =
                SubjectPublicKeyInfoDer::from_pem_slice(text.as_bytes()).map_err(|_| KeyError::NotEd25519)?;
            let key = der.strip_prefix(&ED25519_PREFIX).filter(|key| key.len() == 32);
            let verifying = DecodingKey::from_ed_der(key.ok_or(KeyError::NotEd25519)?);
            Ok(TokenKey { algorithm: Algorithm::EdDSA, verifying, signing: None })
        } else {
            check_word(text)?;
            TokenKey::secret(text.as_bytes())
        }
    }

    /// Reads a key from a file; see [`parse`](Self::parse).
    ///
    /// # Errors
    /// If the file cannot be read or holds no key.
    pub fn read(path: &Path) -> Result<TokenKey, KeyError> {
        TokenKey::parse(&read_file(path)?)
    }

    /// Whether the key can sign tokens. A public key cannot.
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

/// A secret that signs this program's requests to another program, by HMAC-SHA256.
#[derive(Clone)]
pub struct SigningSecret(hmac::Key);

impl SigningSecret {
    /// Parses a key file with a secret, which is one word; see [`TokenKey::parse`].
    ///
    /// # Errors
    /// If the text is not a secret.
    pub fn parse(text: &str) -> Result<SigningSecret, KeyError> {
        let text = trimmed(text);
        check_word(text)?;
        check_secret(text.as_bytes())?;
        Ok(SigningSecret(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes())))
    }

    /// Reads a secret from a file; see [`parse`](Self::parse).
    ///
    /// # Errors
    /// If the file cannot be read or holds no secret.
    pub fn read(path: &Path) -> Result<SigningSecret, KeyError> {
        SigningSecret::parse(&read_file(path)?)
    }

    /// Returns the signature of a message in hexadecimal digits.
    #[must_use]
    pub fn sign(&self, message: &[u8]) -> String {
        hmac::sign(&self.0, message).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret(..)")
    }
}

fn trimmed(text: &str) -> &str {
    text.trim_start_matches('\u{feff}').trim()
}

fn check_secret(secret: &[u8]) -> Result<(), KeyError> {
    if secret.len() < SECRET_BYTES_MIN {
        return Err(KeyError::Short { length: secret.len() });
    }
    public_or_weak(secret).map_or(Ok(()), |what| Err(KeyError::NotSecret(what)))
}

/// Refuses a line of OpenSSH, a list of users or a letter, because a secret is one word.
fn check_word(text: &str) -> Result<(), KeyError> {
    if text.contains(char::is_whitespace) {
        Err(KeyError::NotSecret("a text with white space in it"))
    } else if text.contains(char::is_control) {
        Err(KeyError::NotSecret("a text with control characters in it"))
    } else {
        Ok(())
    }
}

/// Reads the text of a key file.
fn read_file(path: &Path) -> Result<String, KeyError> {
    let fail = |error| KeyError::File { path: path.display().to_string(), error };
    // Opening a pipe would wait for its writer, so the type of the file is checked first.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(fail(std::io::Error::other("it is not a regular file")));
    }
    let file = std::fs::File::open(path).map_err(fail)?;
    let mut text = String::new();
    // Some special files report the size 0 and never end.
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(fail)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(fail(std::io::Error::other(format!("it is larger than {FILE_BYTES_MAX} bytes"))));
    }
    Ok(text)
}

/// Describes a text that is public, or too easy to guess to be a secret.
fn public_or_weak(secret: &[u8]) -> Option<&'static str> {
    let lossy = String::from_utf8_lossy(secret);
    let text = lossy.trim_start_matches('\u{feff}').trim_ascii();
    if text.contains("-----BEGIN") {
        Some("a key in PEM")
    } else if text.starts_with(['{', '[']) && is_readable(secret) {
        Some("a key in JSON")
    } else if text.starts_with("ssh-")
        || text.starts_with("ecdsa-sha2-")
        || text.starts_with("sk-") && text.contains("@openssh.com")
    {
        Some("a public key of OpenSSH")
    } else if PUBLIC_BEGINNINGS.iter().any(|beginning| text.starts_with(beginning)) {
        Some("a public key")
    } else if is_der(secret) || [STANDARD, URL_SAFE].iter().any(|alphabet| is_der(&decode(alphabet, text))) {
        Some("a key in DER")
    } else if secret.iter().all(|byte| *byte == secret[0]) {
        Some("one byte that repeats")
    } else {
        None
    }
}

/// Decodes base64, with or without padding. Returns no bytes if the text is not base64.
fn decode(alphabet: &base64::alphabet::Alphabet, text: &str) -> Vec<u8> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    GeneralPurpose::new(alphabet, config).decode(text).unwrap_or_default()
}

/// Whether bytes are readable text. Random bytes are not readable, because they are not UTF-8 or contain control characters.
fn is_readable(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes)
        .is_ok_and(|text| !text.contains(|letter: char| letter.is_control() && !letter.is_ascii_whitespace()))
}

/// Whether these bytes are exactly one DER sequence, as a key is. Of random secrets, one in millions is such a sequence.
fn is_der(bytes: &[u8]) -> bool {
    let Some((&DER_SEQUENCE, rest)) = bytes.split_first() else { return false };
    let (length, content) = match rest {
        [length @ 0..=0x7f, content @ ..] => (usize::from(*length), content),
        [0x81, length, content @ ..] => (usize::from(*length), content),
        [0x82, high, low, content @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), content),
        _ => return false,
    };
    length == content.len() && matches!(content.first(), Some(&(DER_SEQUENCE | DER_INTEGER)))
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "TokenKey({:?})", self.algorithm)
    }
}
