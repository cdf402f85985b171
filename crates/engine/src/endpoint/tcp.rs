//! The TCP side of a stand-alone endpoint: HTTP/1.1, plain or over TLS.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::KeyLogFile;
use rustls::crypto::ring;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::accept::Reception;
use super::http::serve;
use super::{Directory, Stream};
use crate::carrier::prepare_stream;
use crate::certificate::Certificates;

/// Maximum time from connecting to an answer or an upgrade.
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections that are not upgraded yet. Further ones are closed at once.
const CONNECTIONS_MAX: usize = 1_000;

/// Returns the TLS configuration of HTTP/1.1 with these certificates.
///
/// # Panics
/// Never, because the built-in cryptography supports the versions of TLS.
#[must_use]
pub fn tls_config(certificates: Arc<Certificates>) -> Arc<rustls::ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has suites of the default versions")
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.key_log = Arc::new(KeyLogFile::new());
    Arc::new(config)
}

/// Receives the TCP connections of a stand-alone endpoint; see [`accept_all`](super::accept_all).
#[derive(Clone)]
pub struct Tcp {
    tls: TlsAcceptor,
    directory: Arc<dyn Directory>,
    places: Arc<Semaphore>,
}

impl Tcp {
    /// Makes the receiver. Its clients are admitted by `directory`.
    ///
    /// # Panics
    /// Like [`tls_config`].
    #[must_use]
    pub fn new(certificates: Arc<Certificates>, directory: Arc<dyn Directory>) -> Self {
        let tls = TlsAcceptor::from(tls_config(certificates));
        Self { tls, directory, places: Arc::new(Semaphore::new(CONNECTIONS_MAX)) }
    }

    async fn answer(self, stream: TcpStream, address: SocketAddr) {
        if prepare_stream(&stream).is_err() {
            return;
        }
        match Stream::open(stream, &self.tls).await {
            Ok(stream) => serve(stream, address, self.directory).await,
            Err(error) => tracing::debug!(%address, %error, "a connection broke before it was served"),
        }
    }
}

impl Reception for Tcp {
    fn receive(&self, stream: TcpStream, address: SocketAddr) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return tracing::debug!(%address, "too many connections without a request");
        };
        let Ok(of_address) = self.directory.arrive(address.ip()) else {
            return tracing::debug!(%address, "too many connections of this address");
        };
        let tcp = self.clone();
        tokio::spawn(async move {
            let _places = (place, of_address);
            if timeout(HTTP_TIMEOUT, tcp.answer(stream, address)).await.is_err() {
                tracing::debug!(%address, "a connection sent no request in time");
            }
        });
    }
}

impl std::fmt::Debug for Tcp {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tcp").finish_non_exhaustive()
    }
}
