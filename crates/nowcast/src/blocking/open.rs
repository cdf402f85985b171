//! Opening channels for threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_queue::Bounds;

use super::Channel;
use super::wait::{block_on, block_on_until};
use crate::connector::{self, ConnectError, Connector};
use crate::endpoint::BindError;
use crate::listener::{AdvertiseError, ListenConfig};
use crate::local::backend;
use crate::local::{LANES, LocalLink, OpenError};
use crate::neighbours;
use crate::publish::Publisher;

/// Connects to a service. The address is `nowcast://HOST:PORT/NAME`, `nowcast://HOST/NAME`, or just a name on this machine. See
/// [`crate::connect`].
///
/// # Errors
/// [`ConnectError`].
pub fn connect(address: &str) -> Result<Channel, ConnectError> {
    let url = match address.contains("://") {
        true => address.to_owned(),
        false => format!("nowcast://localhost/{address}"),
    };
    if let Some(name) = connector::name_here(&url)
        && let Some(channel) = neighbours::find_now(&name)
    {
        return Ok(channel.into());
    }
    connect_with(&Connector::new(), &url)
}

/// Like [`connect`], with a configured connector; `url` is a complete address. The helper thread runs the channel.
///
/// # Errors
/// [`ConnectError`].
pub fn connect_with(connector: &Connector, url: &str) -> Result<Channel, ConnectError> {
    let connected = block_on(connector.connect(url)).map_err(|error| ConnectError::Unreachable {
        place: url.to_owned(),
        cause: format!("no helper thread: {error}"),
    })?;
    connected.map(Channel::from)
}

/// Connects to a name on this machine only. Waits until the name is advertised, for at most `timeout`. `outgoing` has one element
/// for each lane, at most 8. The element limits the waiting messages of this side on that lane.
///
/// # Errors
/// [`OpenError::TimedOut`], [`OpenError::Bounds`], and all errors of a peer.
pub fn connect_local(name: &str, outgoing: &[Bounds], timeout: Duration) -> Result<Channel, OpenError> {
    let queues = backend::connect_until(name, outgoing, deadline(timeout))?;
    Ok(local(queues, name))
}

/// Advertises a name to the programs of this user on this machine, without a network port.
///
/// # Errors
/// [`NameError::Taken`](crate::local::NameError::Taken) if a running process has the name.
pub fn advertise(name: &str) -> Result<Service, OpenError> {
    advertise_with(name, &LANES)
}

/// Like [`advertise`], with limits. `outgoing` has one element for each lane, at most 8. The element limits the waiting messages
/// of this side on that lane.
///
/// # Errors
/// Like [`advertise`], and [`OpenError::Bounds`].
pub fn advertise_with(name: &str, outgoing: &[Bounds]) -> Result<Service, OpenError> {
    let listener = backend::advertise(name, outgoing)?;
    Ok(Service(Names::Local(listener, name.to_owned())))
}

/// An [endpoint](crate::Listener) for threads.
#[derive(Debug)]
pub struct Listener(crate::Listener);

impl Listener {
    /// Opens the sockets, and serves them in the helper thread.
    ///
    /// # Errors
    /// [`BindError`].
    pub fn bind(config: ListenConfig) -> Result<Self, BindError> {
        let address = std::net::SocketAddr::new(
            config.hosts.first().copied().unwrap_or(std::net::Ipv6Addr::UNSPECIFIED.into()),
            config.port,
        );
        let bound = block_on(crate::Listener::bind(config));
        bound.map_err(|error| BindError::Io { address, error })?.map(Self)
    }

    /// Returns the port. If the configuration has port 0, this is the port that the system chose.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    /// Accepts programs that connect to `name`, until the service is dropped.
    ///
    /// # Errors
    /// [`AdvertiseError`].
    ///
    /// # Panics
    /// Never: the helper thread runs since [`bind`](Self::bind).
    pub fn advertise(&self, name: &str) -> Result<Service, AdvertiseError> {
        let advertised = block_on(self.0.advertise(name)).expect("the helper thread runs");
        Ok(Service(Names::Everywhere(advertised?)))
    }

    /// Publishes under `name`; see [`crate::Listener::publish`].
    ///
    /// # Errors
    /// [`AdvertiseError`].
    ///
    /// # Panics
    /// Never: the helper thread runs since [`bind`](Self::bind).
    pub fn publish(&self, name: &str) -> Result<Publisher, AdvertiseError> {
        block_on(self.0.publish(name)).expect("the helper thread runs")
    }
}

/// An advertised name. Dropping it releases the name; accepted channels stay open.
#[derive(Debug)]
pub struct Service(Names);

#[derive(Debug)]
enum Names {
    Local(backend::Listener, String),
    Everywhere(crate::Service),
}

/// The reason why no channel was accepted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// A program on this machine failed to connect. The name stays advertised, and other programs can be accepted.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// No program connected within the timeout.
    #[error("no program connected within the timeout")]
    TimedOut,
    /// The listener is gone, so no program can connect.
    #[error(transparent)]
    Closed(crate::Error),
}

impl Service {
    /// Waits for the next program that connects.
    ///
    /// # Errors
    /// [`AcceptError`].
    pub fn accept(&mut self) -> Result<Channel, AcceptError> {
        self.accept_until(None)
    }

    /// Waits for the next program that connects, at most for `timeout`.
    ///
    /// # Errors
    /// [`AcceptError`].
    pub fn accept_within(&mut self, timeout: Duration) -> Result<Channel, AcceptError> {
        self.accept_until(Some(deadline(timeout)))
    }

    /// Accepts a program if one has connected.
    ///
    /// # Errors
    /// [`AcceptError`].
    pub fn try_accept(&mut self) -> Result<Option<Channel>, AcceptError> {
        match &mut self.0 {
            Names::Local(listener, name) => Ok(listener.try_accept()?.map(|queues| local(queues, name))),
            Names::Everywhere(service) => {
                service.try_accept().map(|channel| channel.map(Channel::from)).map_err(AcceptError::Closed)
            }
        }
    }

    fn accept_until(&mut self, deadline: Option<Instant>) -> Result<Channel, AcceptError> {
        match &mut self.0 {
            Names::Local(listener, name) => {
                let queues = listener.accept(deadline).map_err(|error| match error {
                    OpenError::TimedOut => AcceptError::TimedOut,
                    other => AcceptError::Open(other),
                })?;
                Ok(local(queues, name))
            }
            Names::Everywhere(service) => {
                let accepting = block_on_until(deadline, service.accept());
                let accepted = accepting.map_err(OpenError::from)?.ok_or(AcceptError::TimedOut)?;
                accepted.map(Channel::from).map_err(AcceptError::Closed)
            }
        }
    }
}

fn local(queues: backend::Queues, name: &str) -> Channel {
    Channel::from(crate::Channel::new(Arc::new(LocalLink::new(queues, name))))
}

/// Maximum duration of a wait that has a deadline.
const WAIT_MAX: Duration = Duration::from_secs(24 * 3_600);

fn deadline(timeout: Duration) -> Instant {
    Instant::now() + timeout.min(WAIT_MAX)
}
