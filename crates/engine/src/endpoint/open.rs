//! Opens carriers to an endpoint.

use std::net::SocketAddr;

use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::ClientRequestBuilder;
use tokio_tungstenite::tungstenite::Error as WebSocketError;
use tracing::Dispatch;
use tracing::instrument::WithSubscriber;
use url::Url;

use super::{RefusalAnswer, quic};
use crate::carrier::{Carrier, OverTcp, SUBPROTOCOL, WebSocket, websocket_config};

/// The reason why a carrier cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The endpoint refuses.
    Refused(RefusalAnswer),
    /// The path, or the protocol of the peer, does not work. The text is the cause.
    Broken(String),
}

/// Opens a WebSocket at `url` over a connection.
///
/// # Errors
/// [`OpenError`].
pub async fn open_websocket<S: OverTcp + 'static>(
    stream: S,
    url: &str,
) -> Result<Box<dyn Carrier>, OpenError> {
    let uri = url.parse().map_err(broken)?;
    let request = ClientRequestBuilder::new(uri).with_sub_protocol(SUBPROTOCOL);
    let opening = client_async_with_config(request, stream, Some(websocket_config()));
    match opening.with_subscriber(Dispatch::none()).await {
        Ok((stream, _)) => Ok(Box::new(WebSocket::connected(stream))),
        Err(WebSocketError::Http(answer)) => {
            let body = answer.body().as_deref().unwrap_or_default();
            Err(OpenError::Refused(RefusalAnswer::from_peer(answer.status().as_u16(), body)))
        }
        Err(error) => Err(broken(error)),
    }
}

/// Opens a WebTransport session at `url` with the server at an address, which must have a certificate for `host`. The socket is a new
/// one, because a change of network may have made an old one useless. Dropping the future or the carrier closes the connection. Must
/// be called within a tokio runtime.
///
/// # Errors
/// [`OpenError::Broken`].
pub async fn open_webtransport(
    mut tls: rustls::ClientConfig,
    server: SocketAddr,
    host: &str,
    url: &str,
) -> Result<Box<dyn Carrier>, OpenError> {
    let url = Url::parse(url).map_err(broken)?;
    tls.alpn_protocols = vec![quic::ALPN.as_bytes().to_vec()];
    quic::connect(tls, server, host, url).await.map_err(broken)
}

fn broken(error: impl std::fmt::Display) -> OpenError {
    OpenError::Broken(error.to_string())
}
