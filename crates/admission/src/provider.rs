//! The two signature algorithms of tokens, with the cryptography that QUIC already uses.
//!
//! `jsonwebtoken` takes its algorithms from one provider for the whole process. If the program has installed a provider before,
//! that provider is kept, because every provider has HS256 and EdDSA.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result, new_error};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use ring::hmac;
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Installs a provider, if there is none.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The call fails if the program has already installed a provider. The installed provider serves the same purpose.
        let _ = PROVIDER.install_default();
    });
}

struct Hs256(hmac::Key);

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(hmac::sign(&self.0, message).as_ref().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        hmac::verify(&self.0, message, signature).map_err(|_| Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

struct EdDsaSigner(Ed25519KeyPair);

impl Signer<Vec<u8>> for EdDsaSigner {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        Ok(self.0.sign(message).as_ref().to_vec())
    }
}

impl JwtSigner for EdDsaSigner {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

struct EdDsaVerifier(UnparsedPublicKey<Vec<u8>>);

impl Verifier<Vec<u8>> for EdDsaVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.0.verify(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for EdDsaVerifier {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes()))))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.as_bytes())
                .map_err(|_| new_error(ErrorKind::InvalidEddsaKey))?;
            Ok(Box::new(EdDsaSigner(pair)))
        }
        _ => Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let bytes = key.try_get_as_bytes()?;
    match (algorithm, key.family()) {
        (Algorithm::HS256, AlgorithmFamily::Hmac) => {
            Ok(Box::new(Hs256(hmac::Key::new(hmac::HMAC_SHA256, bytes))))
        }
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => {
            Ok(Box::new(EdDsaVerifier(UnparsedPublicKey::new(&ED25519, bytes.to_vec()))))
        }
        _ => Err(new_error(ErrorKind::UnsupportedAlgorithm)),
    }
}
