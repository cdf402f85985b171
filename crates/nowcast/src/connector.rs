//! Finds a service and begins a session with it, over the best available carrier.

mod address;
mod cluster;
mod error;
mod patience;
mod remote;
mod supervisor;
mod trust;

use std::sync::Arc;

use nowcast_engine::carrier::{CarrierKind, CarrierLayer};
use nowcast_engine::{DrivenSession, Phase, drive};
use nowcast_session::{CloseCode, Closed, Config};

pub use address::BadAddress;
pub use error::ConnectError;
pub use trust::{Trust, https_config};

use crate::channel::{Channel, Entry};
use crate::names::{self, NamesError};
use crate::session_link::{SessionLink, Shared, SharedOwner};
use crate::{local, neighbours};
use address::Address;
use cluster::Endpoints;
use error::Opening;
use remote::Remote;

/// Connects to the service at `nowcast://HOST:PORT/NAME`, or at `nowcast://HOST/NAME`, whose port a name server knows. The prefix
/// may be omitted, and `NAME` alone means this machine. See [`Connector`] for tokens and other options.
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let channel = nowcast::connect("nowcast://localhost:7777/tracker").await?;
/// channel.state(1, b"newest wins").await?;
/// println!("{} over {:?}", channel.receive().await?.bytes.len(), channel.status().carrier);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ConnectError`].
pub async fn connect(url: &str) -> Result<Channel, ConnectError> {
    Connector::new().connect(url).await
}

/// Options for connecting.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nowcast::{CarrierKind, Connector, ListenConfig, Listener};
///
/// let listener = Listener::bind(ListenConfig::loopback(0)).await?;
/// let mut service = listener.advertise("tracker").await?;
/// let url = format!("nowcast://localhost:{}/tracker", listener.port());
///
/// let connector = Connector::new().carriers([CarrierKind::WebSocket]);
/// let channel = connector.connect(&url).await?;
/// assert_eq!(channel.status().carrier, Some(CarrierKind::WebSocket));
/// # drop(service.accept().await?);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Connector {
    token: Option<String>,
    carriers: Vec<CarrierKind>,
    trust: Trust,
    session: Config,
    name_server_port: u16,
    layers: Vec<Arc<dyn CarrierLayer>>,
    endpoints: Endpoints,
}

impl Default for Connector {
    fn default() -> Self {
        Self {
            token: None,
            carriers: vec![local::CARRIER, CarrierKind::WebTransport, CarrierKind::WebSocket],
            trust: Trust::default(),
            session: Config::default(),
            name_server_port: names::PORT,
            layers: Vec::new(),
            endpoints: Endpoints::default(),
        }
    }
}

impl Connector {
    /// Makes a connector without a token. The connector uses any carrier and trusts the system's authorities.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Presents this token to the endpoint.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Allows only these carriers. The best allowed carrier is preferred; the order in the argument does not matter.
    #[must_use]
    pub fn carriers(mut self, carriers: impl IntoIterator<Item = CarrierKind>) -> Self {
        self.carriers = carriers.into_iter().collect();
        self
    }

    /// Sets how the endpoint must prove its identity. An endpoint on this machine needs no proof.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Sets the configuration of the session.
    #[must_use]
    pub fn session(mut self, session: Config) -> Self {
        self.session = session;
        self
    }

    /// Sets the port of name servers. Name servers resolve addresses without a port. Default: 7778.
    #[must_use]
    pub fn name_server_port(mut self, port: u16) -> Self {
        self.name_server_port = port;
        self
    }

    /// Adds a layer around each carrier over a network, outside of the earlier layers. Links between programs of one machine have no
    /// packets and no layers.
    #[must_use]
    pub fn layer(mut self, layer: &(impl CarrierLayer + Clone + 'static)) -> Self {
        self.layers.push(Arc::new(layer.clone()));
        self
    }

    /// Connects. Must be called within a tokio runtime, in which the channel runs.
    ///
    /// # Errors
    /// [`ConnectError`].
    pub async fn connect(&self, url: &str) -> Result<Channel, ConnectError> {
        let mut address = Address::parse(url)?;
        if address.port.is_none()
            && address.is_here()
            && self.carriers.contains(&local::CARRIER)
            && let Some(channel) = neighbours::find(&address.name).await
        {
            return Ok(channel);
        }
        let port = match address.port {
            Some(port) => port,
            None => self.find(&mut address).await?,
        };
        let remote = Remote {
            address,
            port,
            token: self.token.clone(),
            trust: self.trust.clone(),
            layers: self.layers.clone(),
            endpoints: self.endpoints.clone(),
        };
        self.connect_remote(remote).await
    }

    /// Asks the name server of the host for the port. If the answer names another host, it replaces the host of the address.
    async fn find(&self, address: &mut Address) -> Result<u16, ConnectError> {
        let servers: Vec<_> = tokio::net::lookup_host((address.host.as_str(), self.name_server_port))
            .await
            .map_err(|error| ConnectError::Unreachable {
                place: address.host.clone(),
                cause: error.to_string(),
            })?
            .collect();
        for server in servers {
            match names::find(server, &address.name).await {
                Ok(service) => {
                    if let Some(host) = service.host {
                        address.host = host.to_string();
                    }
                    return Ok(service.port);
                }
                Err(NamesError::NoServer { .. } | NamesError::Refused(_)) => {}
                Err(error) => {
                    let place = server.to_string();
                    return Err(ConnectError::Broken { place, cause: error.to_string() });
                }
            }
        }
        Err(ConnectError::NoSuchName { name: address.name.clone(), host: address.host.clone() })
    }

    async fn connect_remote(&self, remote: Remote) -> Result<Channel, ConnectError> {
        let offer = remote.ask(Opening::Beginning).await?;
        let mut allowed = self.carriers.clone();
        loop {
            let carrier = supervisor::open_at_first(&remote, &offer, &allowed).await?;
            let kind = carrier.kind();
            let shared = Shared::new(DrivenSession::connect(&self.session, carrier));
            tokio::spawn(drive(SharedOwner(Arc::clone(&shared))));
            supervisor::watch(remote.clone(), offer.clone(), self.carriers.clone(), &shared);
            let channel = Channel::new(Arc::new(SessionLink::new(Arc::clone(&shared), Entry::default())));
            match opened(&shared).await {
                Ok(()) => return Ok(channel),
                // The carrier ended before the session began, so the remaining carriers are tried.
                Err(closed) if closed.code == CloseCode::GAVE_UP && allowed.len() > 1 => {
                    allowed.retain(|&other| other != kind);
                }
                Err(closed) => return Err(ConnectError::Closed(closed)),
            }
        }
    }
}

/// Waits until the session has begun.
async fn opened(shared: &Arc<Shared>) -> Result<(), Closed> {
    let mut changes = shared.lock().handles.watch();
    loop {
        match &changes.borrow_and_update().0 {
            Phase::Connecting => {}
            Phase::Closed(closed) => return Err(closed.clone()),
            Phase::Open | Phase::Interrupted => return Ok(()),
        }
        if changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
