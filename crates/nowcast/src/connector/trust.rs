//! The certificates that a client accepts.

use std::sync::{Arc, OnceLock};

use nowcast_engine::{CertificateHash, hash_of};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, KeyLogFile, RootCertStore, SignatureScheme,
};

/// The endpoints that a client trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trust {
    /// Endpoints with a certificate of an authority that this system trusts.
    #[default]
    Authorities,
    /// Only endpoints with certificates that have these hashes. For endpoints with a development certificate.
    Hashes(Vec<CertificateHash>),
    /// Every certificate that the endpoint announces without encryption. Messages are protected against eavesdroppers, but not
    /// against an attacker who changes packets. For your own network.
    Announced,
}

/// Makes the TLS configuration of an HTTP client for these hashes, or for the authorities if there are no hashes.
pub(super) fn client_config(hashes: &[CertificateHash]) -> ClientConfig {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of the default versions");
    let mut config = if hashes.is_empty() {
        builder.with_root_certificates(Arc::clone(authorities())).with_no_client_auth()
    } else {
        let pinned = Pinned { hashes: hashes.to_vec(), provider };
        builder.dangerous().with_custom_certificate_verifier(Arc::new(pinned)).with_no_client_auth()
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.key_log = Arc::new(KeyLogFile::new());
    config
}

/// Makes the TLS configuration of an HTTP client that trusts the system's authorities. The variable `SSL_CERT_FILE` names other
/// authorities.
pub fn https_config() -> Arc<ClientConfig> {
    Arc::new(client_config(&[]))
}

fn authorities() -> &'static Arc<RootCertStore> {
    static STORE: OnceLock<Arc<RootCertStore>> = OnceLock::new();
    STORE.get_or_init(|| {
        let loaded = rustls_native_certs::load_native_certs();
        for error in &loaded.errors {
            tracing::warn!(%error, "some of the system's authorities cannot be read");
        }
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(loaded.certs);
        Arc::new(store)
    })
}

/// Accepts certificates by their hash alone, as pages do with `serverCertificateHashes`.
#[derive(Debug)]
struct Pinned {
    hashes: Vec<CertificateHash>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.hashes.contains(&hash_of(end_entity)) {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
