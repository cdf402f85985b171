//! A stand-alone endpoint: names on one port, by TCP and UDP.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, RwLock, Weak};

use nowcast_engine::endpoint::{
    BindError, ConnectRequest, Directory, Discovery, QuicEndpoint, RefusalAnswer, Sockets, Tcp, accept_all,
};
use nowcast_engine::{
    AcceptConfig, AcceptCounters, AcceptRefusal, Acceptor, CertificateConfig, Certificates, Serve,
};
use nowcast_name_server::is_name;
use tokio::task::JoinSet;

use crate::accepted::Accepted;
use crate::admission::{self, Admission, AdmissionRequest, Crowded, Network, Now, Permit, Policy};
use crate::channel::{Channel, Entry, Error};
use crate::local::OpenError;
use crate::names::{Advertisement, PORT};
use crate::neighbours::Neighbours;

/// Configuration of an endpoint.
#[derive(Clone, Debug)]
pub struct ListenConfig {
    /// Addresses to listen on. An address that this machine does not have is skipped if another one works.
    pub hosts: Vec<IpAddr>,
    /// The port, for TCP and UDP; 0 lets the system choose.
    pub port: u16,
    /// Whether WebTransport is offered.
    pub webtransport: bool,
    /// The UDP port that clients receive, if a device in front of the endpoint forwards another port.
    pub announced_udp_port: Option<u16>,
    /// The identity of the endpoint.
    pub certificate: CertificateConfig,
    /// The rules of admission. If other machines can reach the endpoint, it needs a key for tokens, or `anonymous`.
    pub entry: Policy,
    /// The name server that receives the advertised names, if it runs. The default is the usual name server of this machine.
    pub name_server: Option<SocketAddr>,
    /// The configuration of sessions, and their maximum number for each service.
    pub accept: AcceptConfig,
}

impl ListenConfig {
    /// Listens on loopback in both address families, for programs on this machine.
    #[must_use]
    pub fn loopback(port: u16) -> Self {
        Self::on([Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()], port)
    }

    /// Listens on all addresses in both address families, for all machines on the network.
    #[must_use]
    pub fn everywhere(port: u16) -> Self {
        Self::on([Ipv6Addr::UNSPECIFIED.into()], port)
    }

    /// Listens on these addresses.
    #[must_use]
    pub fn on(hosts: impl Into<Vec<IpAddr>>, port: u16) -> Self {
        Self {
            hosts: hosts.into(),
            port,
            webtransport: true,
            announced_udp_port: None,
            certificate: CertificateConfig::Development,
            entry: Policy::default(),
            name_server: Some((Ipv4Addr::LOCALHOST, PORT).into()),
            accept: AcceptConfig::default(),
        }
    }
}

/// Listens on one port, and accepts programs that connect to the names advertised there. Dropping the listener ends all their
/// sessions.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use nowcast::{ListenConfig, Listener};
///
/// let listener = Listener::bind(ListenConfig::loopback(0)).await?;
/// let mut tracker = listener.advertise("tracker").await?;
/// let url = format!("nowcast://localhost:{}/tracker", listener.port());
///
/// let (theirs, ours) = tokio::join!(tracker.accept(), nowcast::connect(&url));
/// theirs?.state(1, b"looks up").await?;
/// assert_eq!(ours?.receive().await?.bytes, b"looks up");
/// # Ok(())
/// # }
/// ```
pub struct Listener {
    names: Arc<Names>,
    port: u16,
    accepting: JoinSet<()>,
    _quic: QuicEndpoint,
}

/// The reason why a name cannot be advertised.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AdvertiseError {
    /// The text is not a valid name.
    #[error("'{0}' is not a name: 1 to 64 of a-z A-Z 0-9 . _ -, not beginning with a dot")]
    BadName(String),
    /// Another service of this endpoint has the name.
    #[error("the name '{0}' is advertised already: end the other service, or take another name")]
    Taken(String),
}

impl Listener {
    /// Opens the sockets and serves them in the background.
    ///
    /// # Errors
    /// [`BindError`].
    pub async fn bind(config: ListenConfig) -> Result<Self, BindError> {
        config.entry.check(&config.hosts)?;
        let Sockets { port, tcp, udp } = Sockets::bind(&config.hosts, config.port, config.webtransport)?;
        let certificates = Certificates::new(&config.certificate)?;
        let admission = Admission::listening(config.entry.clone(), &config.hosts, port);
        let names = Arc::new(Names {
            udp_port: (!udp.is_empty()).then(|| config.announced_udp_port.unwrap_or(port)),
            certificates: Arc::clone(&certificates),
            admission,
            config,
            services: RwLock::default(),
        });
        let directory: Arc<dyn Directory> = Arc::clone(&names) as _;
        let mut accepting = JoinSet::new();
        let tcp_side = Tcp::new(Arc::clone(&certificates), Arc::clone(&directory));
        for listener in tcp {
            accepting.spawn(accept_all(listener, tcp_side.clone()));
        }
        let address = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
        let quic = QuicEndpoint::serve(None, udp, certificates, directory)
            .map_err(|error| BindError::Io { address, error })?;
        Ok(Self { names, port, accepting, _quic: quic })
    }

    /// Returns the port. If the configuration has port 0, this is the port that the system chose.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Number of refused admissions, by the name of the refusal (`spec/CARRIERS.md`, section 2).
    #[must_use]
    pub fn refused(&self) -> Vec<(&'static str, u64)> {
        self.names.admission.refused().to_vec()
    }

    /// Accepts programs that connect to `name`, until the service is dropped. Programs of the same machine and user that name no
    /// port connect through shared memory, unless another process has the name there.
    ///
    /// # Errors
    /// [`AdvertiseError`].
    pub async fn advertise(&self, name: &str) -> Result<Service, AdvertiseError> {
        let (queue, accepted) = Accepted::queue();
        let acceptor = Acceptor::new(self.names.config.accept.clone(), queue.clone());
        self.names.add(name, &acceptor)?;
        let neighbours = Neighbours::welcome(name, queue)
            .inspect_err(|error| tracing::debug!(%error, "not advertised on this machine"))
            .ok();
        let name_server = self.names.config.name_server;
        let advertisement = name_server.map(|server| Advertisement::start(server, name, self.port));
        let names = Arc::downgrade(&self.names);
        Ok(Service {
            name: name.to_owned(),
            names,
            acceptor,
            accepted,
            _advertisement: advertisement,
            neighbours,
        })
    }

    /// Serves programs that connect to `name` over a network by applications of the engine, until the listener is dropped.
    ///
    /// # Errors
    /// [`AdvertiseError`].
    pub fn serve(&self, name: &str, serve: impl Serve) -> Result<Acceptor, AdvertiseError> {
        let acceptor = Acceptor::new(self.names.config.accept.clone(), serve);
        self.names.add(name, &acceptor)?;
        Ok(acceptor)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.accepting.abort_all();
        for acceptor in self.names.write().values() {
            acceptor.close_all();
        }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Listener").field("port", &self.port).finish_non_exhaustive()
    }
}

/// An advertised name. Dropping it releases the name; accepted channels stay open.
#[derive(Debug)]
pub struct Service {
    name: String,
    names: Weak<Names>,
    acceptor: Acceptor,
    accepted: Accepted,
    _advertisement: Option<Advertisement>,
    neighbours: Option<Neighbours>,
}

impl Service {
    /// Advertises a name on this machine alone. Must be called within a runtime.
    ///
    /// # Errors
    /// If another process has the name, or if the machine does not support local names.
    pub(crate) fn local(name: &str) -> Result<Self, OpenError> {
        let (queue, accepted) = Accepted::queue();
        let acceptor = Acceptor::new(AcceptConfig::default(), queue.clone());
        let neighbours = Some(Neighbours::welcome(name, queue)?);
        let name = name.to_owned();
        Ok(Self { name, names: Weak::new(), acceptor, accepted, _advertisement: None, neighbours })
    }

    /// Waits for the next program that connects.
    ///
    /// # Errors
    /// If the listener was dropped.
    pub async fn accept(&mut self) -> Result<Channel, Error> {
        self.accepted.accept().await
    }

    /// Accepts a program if one has connected.
    ///
    /// # Errors
    /// Like [`accept`](Self::accept).
    pub fn try_accept(&mut self) -> Result<Option<Channel>, Error> {
        self.accepted.try_accept()
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether programs of the same machine and user find the name without a port and connect through shared memory.
    /// False if another process has the name there.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.neighbours.is_some()
    }

    /// Returns the counters of refused and dropped attempts, and the number of open sessions.
    #[must_use]
    pub fn counters(&self) -> AcceptCounters {
        self.acceptor.counters()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if let Some(names) = self.names.upgrade() {
            names.write().remove(&self.name);
        }
    }
}

/// The services of one endpoint.
#[derive(Debug)]
struct Names {
    config: ListenConfig,
    udp_port: Option<u16>,
    certificates: Arc<Certificates>,
    admission: Arc<Admission>,
    services: RwLock<HashMap<String, Acceptor>>,
}

impl Names {
    fn write(&self) -> std::sync::RwLockWriteGuard<'_, HashMap<String, Acceptor>> {
        self.services.write().expect("no thread panics while holding the lock")
    }

    fn add(&self, name: &str, acceptor: &Acceptor) -> Result<(), AdvertiseError> {
        if !is_name(name) {
            return Err(AdvertiseError::BadName(name.chars().take(100).collect()));
        }
        match self.write().entry(name.to_owned()) {
            Slot::Occupied(_) => Err(AdvertiseError::Taken(name.to_owned())),
            Slot::Vacant(slot) => {
                slot.insert(acceptor.clone());
                Ok(())
            }
        }
    }
}

impl Directory for Names {
    fn admit(&self, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer> {
        let entry = self.admission.check(Now::read(), &AdmissionRequest::from(&asking))?;
        let services = self.services.read().expect("no thread panics while holding the lock");
        let Some(acceptor) = services.get(asking.name) else {
            return Err(self
                .admission
                .count(admission::AdmissionRefusal::NoSuchName(asking.name.to_owned()))
                .into());
        };
        if !entry.only_resumes() {
            acceptor.check(Some(asking.peer.address)).map_err(|refusal| {
                self.admission.count(match refusal {
                    AcceptRefusal::TooMany => Crowded::Address.into(),
                    AcceptRefusal::Full => admission::AdmissionRefusal::Full,
                })
            })?;
        }
        Ok((acceptor.clone(), entry))
    }

    fn proxies(&self) -> &[Network] {
        &self.admission.policy().proxies
    }

    fn arrive(&self, address: IpAddr) -> Result<Option<Permit>, RefusalAnswer> {
        Ok(Some(self.admission.take(Now::read(), address)?))
    }

    fn describe(&self, asking: &ConnectRequest<'_>) -> Discovery {
        let hashes = self.certificates.hashes();
        let offer = Discovery::new(asking.name, self.udp_port.map(|port| (port, hashes.as_slice())));
        if self.admission.wants_encryption(asking.peer) { offer.over_tls_alone() } else { offer }
    }
}
