//! The receiver of a webhook: its connection, and the signed requests.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, header};
use bytes::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use nowcast::admission::{SigningSecret, unix_time};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{self, ClientConfig};

use super::{Failure, WebhookConfig, WebhookUrl};

/// Bytes of an answer that are read. A connection with a longer answer is closed.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The header with the signature.
const SIGNATURE: &str = "nowcast-signature";

/// The receiver of a webhook.
pub(super) struct Receiver {
    url: WebhookUrl,
    secret: SigningSecret,
    answer_max: Duration,
    tls: Option<Arc<ClientConfig>>,
    connection: Option<Connection>,
}

/// A connection, with the task that drives it.
struct Connection {
    sender: SendRequest<Body>,
    task: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Receiver {
    pub(super) fn new(config: &WebhookConfig) -> Self {
        Self {
            url: config.url.clone(),
            secret: config.secret.clone(),
            answer_max: config.answer_max,
            tls: config.url.is_encrypted.then(nowcast::https_config),
            connection: None,
        }
    }

    /// Sends a request, and waits for its answer.
    pub(super) async fn send(&mut self, body: &Bytes) -> Result<(), Failure> {
        let answer_max = self.answer_max;
        // The connection returns only after a complete answer, so that it can be used again.
        let reused = self.connection.take().filter(|connection| !connection.sender.is_closed());
        let exchange = async {
            if let Some(connection) = reused {
                // The receiver may have closed the connection in the meantime.
                match self.exchange(connection, body).await {
                    Err(Failure::Unreachable(_)) => {}
                    answer => return answer,
                }
            }
            let connection = self.connect().await?;
            self.exchange(connection, body).await
        };
        timeout(answer_max, exchange).await.unwrap_or(Err(Failure::Timeout(answer_max)))
    }

    async fn exchange(&mut self, mut connection: Connection, body: &Bytes) -> Result<(), Failure> {
        let broken = |error: hyper::Error| Failure::Unreachable(error.to_string());
        connection.sender.ready().await.map_err(broken)?;
        let answer = connection.sender.send_request(self.request(body)).await.map_err(broken)?;
        let status = answer.status();
        if to_bytes(Body::new(answer.into_body()), ANSWER_BYTES_MAX).await.is_ok() {
            self.connection = Some(connection);
        }
        if status.is_success() { Ok(()) } else { Err(Failure::Status(status)) }
    }

    /// Returns a request with the signature of its time and body.
    fn request(&self, body: &Bytes) -> Request<Body> {
        let time = unix_time().as_secs();
        let signed = [format!("{time}.").as_bytes(), body].concat();
        let signature = format!("t={time},v1={}", self.secret.sign(&signed));
        Request::post(&self.url.path)
            .header(header::HOST, &self.url.authority)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, concat!("nowcast/", env!("CARGO_PKG_VERSION")))
            .header(SIGNATURE, signature)
            .body(Body::from(body.clone()))
            .expect("the path and the host are parts of a URL")
    }

    async fn connect(&self) -> Result<Connection, Failure> {
        let failed = |error: std::io::Error| Failure::Unreachable(error.to_string());
        let stream = TcpStream::connect((self.url.host.as_str(), self.url.port)).await.map_err(failed)?;
        let Some(config) = &self.tls else { return Connection::open(stream).await };
        let name = ServerName::try_from(self.url.host.clone())
            .map_err(|_| Failure::Unreachable("its host has no valid name".to_owned()))?;
        let stream = TlsConnector::from(Arc::clone(config)).connect(name, stream).await;
        let stream = stream.map_err(|error| match is_about_certificate(&error) {
            true => Failure::Untrusted(error.to_string()),
            false => failed(error),
        })?;
        Connection::open(stream).await
    }
}

fn is_about_certificate(error: &std::io::Error) -> bool {
    let cause = error.get_ref().and_then(|cause| cause.downcast_ref::<rustls::Error>());
    matches!(cause, Some(rustls::Error::InvalidCertificate(_)))
}

impl Connection {
    async fn open(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Result<Self, Failure> {
        let opened = handshake(TokioIo::new(stream)).await;
        let (sender, driver) = opened.map_err(|error| Failure::Unreachable(error.to_string()))?;
        // The sender reports the errors of the connection.
        let task = tokio::spawn(async move { drop(driver.await) });
        Ok(Self { sender, task })
    }
}
