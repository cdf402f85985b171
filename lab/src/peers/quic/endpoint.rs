//! QUIC endpoints that do not verify certificates, because only these two ends are on an emulated link.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use quinn::congestion::CubicConfig;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

use super::super::{End, PeerError};

const PROTOCOL: &[u8] = b"nowcast-lab";
/// This timeout is longer than any outage that is measured.
const IDLE_TIMEOUT_MS: u32 = 30_000;

pub(super) async fn open(
    end: End,
    address: SocketAddr,
    listening: &mut dyn FnMut(),
) -> Result<(Endpoint, Connection), PeerError> {
    let transport = Arc::new(transport());
    match end {
        End::Far => {
            let endpoint =
                Endpoint::server(server(transport)?, address).map_err(PeerError::socket("listen"))?;
            listening();
            let incoming = endpoint.accept().await.ok_or(PeerError::Closed)?;
            let connection = incoming.await.map_err(PeerError::stack("accept"))?;
            Ok((endpoint, connection))
        }
        End::Near => {
            let mut endpoint =
                Endpoint::client(SocketAddr::from(([0, 0, 0, 0], 0))).map_err(PeerError::socket("bind"))?;
            endpoint.set_default_client_config(client(transport)?);
            let connecting = endpoint.connect(address, "lab").map_err(PeerError::stack("connect"))?;
            let connection = connecting.await.map_err(PeerError::stack("connect"))?;
            Ok((endpoint, connection))
        }
    }
}

fn transport() -> TransportConfig {
    let mut config = TransportConfig::default();
    config
        .max_idle_timeout(Some(VarInt::from_u32(IDLE_TIMEOUT_MS).into()))
        .keep_alive_interval(Some(Duration::from_secs(5)))
        .max_concurrent_uni_streams(VarInt::from_u32(10_000))
        .congestion_controller_factory(Arc::new(CubicConfig::default()));
    config
}

fn server(transport: Arc<TransportConfig>) -> Result<ServerConfig, PeerError> {
    let own = rcgen::generate_simple_self_signed(vec!["lab".to_owned()])
        .map_err(PeerError::stack("make a certificate"))?;
    let key = PrivateKeyDer::try_from(own.signing_key.serialize_der())
        .map_err(PeerError::stack("make a certificate"))?;
    let mut tls = rustls::ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .and_then(|tls| tls.with_no_client_auth().with_single_cert(vec![own.cert.der().clone()], key))
        .map_err(PeerError::stack("set TLS up"))?;
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let crypto = QuicServerConfig::try_from(tls).map_err(PeerError::stack("set TLS up"))?;
    let mut config = ServerConfig::with_crypto(Arc::new(crypto));
    config.transport_config(transport);
    Ok(config)
}

fn client(transport: Arc<TransportConfig>) -> Result<ClientConfig, PeerError> {
    let provider = Arc::new(ring::default_provider());
    let mut tls = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(PeerError::stack("set TLS up"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(provider)))
        .with_no_client_auth();
    tls.alpn_protocols = vec![PROTOCOL.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).map_err(PeerError::stack("set TLS up"))?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(transport);
    Ok(config)
}

/// Accepts any certificate. Signatures are still checked, so that the cost of a handshake is realistic.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
