//! The TCP side of an endpoint: HTTP/1.1, plain or over TLS, told apart by the first byte.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::Directory;
use super::http::serve;
use crate::carrier::prepare_stream;
use crate::certificate::Certificates;

/// The first byte of a TLS connection (RFC 8446, section 5.1: handshake), which tells it from plain HTTP on the same port.
pub const TLS_HANDSHAKE: u8 = 0x16;
/// From connecting to an answer or an upgrade.
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections that are not upgraded yet; more are closed at once.
const CONNECTIONS_MAX: usize = 1_000;
/// After an error of the system, such as too few files, before the next attempt.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// How HTTP/1.1 is served over TLS with these certificates.
///
/// # Panics
/// Never: the cryptography that is built in has what the versions of TLS need.
#[must_use]
pub fn tls_config(certificates: Arc<Certificates>) -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of the default versions")
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

/// Serves one listening socket until it is aborted.
pub(crate) struct Tcp {
    tls: TlsAcceptor,
    directory: Arc<dyn Directory>,
    places: Arc<Semaphore>,
}

impl Tcp {
    pub(crate) fn new(certificates: Arc<Certificates>, directory: Arc<dyn Directory>) -> Arc<Self> {
        let tls = TlsAcceptor::from(tls_config(certificates));
        Arc::new(Self { tls, directory, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) })
    }

    pub(crate) async fn accept_all(self: Arc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, address)) => self.admit(stream, address),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn admit(self: &Arc<Self>, stream: TcpStream, address: SocketAddr) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return tracing::debug!(%address, "too many connections that ask for nothing");
        };
        let Ok(of_address) = self.directory.arrive(address.ip()) else {
            return tracing::debug!(%address, "too many connections of this address");
        };
        let tcp = Arc::clone(self);
        tokio::spawn(async move {
            let _places = (place, of_address);
            if timeout(HTTP_TIMEOUT, tcp.answer(stream, address)).await.is_err() {
                tracing::debug!(%address, "a connection asked for nothing in time");
            }
        });
    }

    async fn answer(&self, stream: TcpStream, address: SocketAddr) {
        let mut first = [0];
        let is_prepared = prepare_stream(&stream).is_ok();
        if !is_prepared || !matches!(stream.peek(&mut first).await, Ok(1)) {
            return;
        }
        let directory = Arc::clone(&self.directory);
        if first[0] != TLS_HANDSHAKE {
            return serve(stream, address, false, directory).await;
        }
        match self.tls.accept(stream).await {
            Ok(stream) => serve(stream, address, true, directory).await,
            Err(error) => tracing::debug!(%address, %error, "a TLS handshake failed"),
        }
    }
}
