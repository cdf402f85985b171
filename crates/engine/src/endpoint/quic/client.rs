//! Opens a session with a server, over a separate socket and loop.

use std::error::Error;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::ClientConfig;
use quinn_proto::crypto::rustls::QuicClientConfig;
use url::Url;
use web_transport_proto::ConnectRequest;

use super::super::socket::datagrams;
use super::carrier::QuicCarrier;
use super::core::Core;
use super::serving::Loop;
use super::shards::Shard;
use super::shared::Serving;
use crate::carrier::{Carrier, Ended, transport_config};
use crate::io::{DatagramSocket, spawn_loop};

/// Connects to a server; see [`open_webtransport`](crate::endpoint::open_webtransport).
///
/// # Errors
/// The end of the connection, the system's error for the socket, or a setting that QUIC does not accept.
pub(crate) async fn connect(
    tls: rustls::ClientConfig,
    server: SocketAddr,
    host: &str,
    url: Url,
) -> Result<Box<dyn Carrier>, Box<dyn Error + Send + Sync>> {
    let unspecified: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = datagrams((unspecified, 0).into())?;
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
