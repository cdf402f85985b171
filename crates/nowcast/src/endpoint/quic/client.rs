//! Opens a session with a server, over a separate socket and loop.

use std::error::Error;
use std::future::poll_fn;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::ClientConfig;
use quinn_proto::crypto::rustls::QuicClientConfig;
use url::Url;
use web_transport_proto::ConnectRequest;

use super::carrier::QuicCarrier;
use super::core::Core;
use super::serving::Loop;
use super::shards::Shard;
use super::shared::Serving;
use crate::carrier::{Carrier, Ended, transport_config};
use crate::io::{DatagramSocket, spawn_loop};

/// Connects to a server that has a certificate for `host`, and asks for a session at this URL. Dropping the future or the carrier
/// closes the connection. Must be called within a tokio runtime.
///
/// # Errors
/// The end of the connection, or a setting that QUIC does not accept.
pub(crate) async fn connect(
    socket: UdpSocket,
    tls: rustls::ClientConfig,
    server: SocketAddr,
    host: &str,
    url: Url,
) -> Result<Box<dyn Carrier>, Box<dyn Error + Send + Sync>> {
    let mut config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    config.transport_config(transport_config());
    let now = Instant::now();
    let mut core = Core::new(Arc::default(), None, now);
    let connection = core.connect(now, config, server, host, ConnectRequest::new(url))?;
    let serving = Serving::new(core, Shard::alone());
    let carrier = QuicCarrier::new(&serving, connection).ok_or("the connection is over")?;
    spawn_loop(Loop::new(serving, DatagramSocket::open(socket)?));
    poll_fn(|context| carrier.poll_admitted(context)).await.map_err(|ended| match ended {
        Ended::Violation(cause) | Ended::Broken(cause) => cause,
        Ended::Closed => ended.to_string(),
    })?;
    Ok(Box::new(carrier))
}
