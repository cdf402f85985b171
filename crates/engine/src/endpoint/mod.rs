//! An endpoint: TCP and UDP on one port (`spec/CARRIERS.md`, sections 1 to 4).

mod accept;
mod discovery;
mod hosts;
mod http;
mod open;
mod quic;
mod socket;
mod stream;
mod tcp;

use std::net::IpAddr;

pub use accept::{Reception, accept_all};
pub use discovery::{Discovery, RefusalAnswer, WebTransportOffer};
pub use hosts::addresses_of_this_machine;
pub use http::{HttpAnswer, Upgrade, UpgradeError, answer_request, upgrade_key, upgrade_required_headers};
pub use open::{OpenError, open_websocket, open_webtransport};
pub use quic::QuicEndpoint;
pub use socket::{BindError, Sockets};
pub use stream::Stream;
pub use tcp::{Tcp, tls_config};

use nowcast_admission::{AdmissionRefusal, AdmissionRequest, Entry, Network, Page, Peer, Permit};
use nowcast_names::is_name;

use crate::acceptor::{AcceptRefusal, Acceptor};

/// The path of services under their endpoint.
const PATH: &str = "/nowcast/";

/// A request for a name.
#[derive(Clone, Copy, Debug)]
pub struct ConnectRequest<'a> {
    /// The name.
    pub name: &'a str,
    /// The query of the URL, including the token if there is one. The query must not be logged.
    pub query: Option<&'a str>,
    /// The requesting page, if any, and the host of the request.
    pub page: Page<'a>,
    /// The client that sends the request.
    pub peer: Peer,
    /// Whether the request opens a carrier, rather than asking about the name.
    pub is_joining: bool,
}

impl<'a> From<&ConnectRequest<'a>> for AdmissionRequest<'a> {
    fn from(asking: &ConnectRequest<'a>) -> AdmissionRequest<'a> {
        let request =
            AdmissionRequest::new(asking.name, asking.peer.address).query(asking.query).page(asking.page);
        let request = if asking.peer.is_local { request.local() } else { request };
        let request = if asking.is_joining { request } else { request.question() };
        // Questions may be sent without encryption, but sessions may not.
        if asking.peer.is_encrypted || !asking.is_joining { request.encrypted() } else { request }
    }
}

/// Knows the services of an endpoint and decides on admission.
pub trait Directory: Send + Sync + 'static {
    /// Returns the acceptor for the client's carriers and its entry, or the reason for a refusal.
    ///
    /// # Errors
    /// The refusal that is answered.
    fn admit(&self, asking: ConnectRequest<'_>) -> Result<(Acceptor, Entry), RefusalAnswer>;

    /// Reserves a slot for a connection before anything is read from it. By default, connections need no slot.
    ///
    /// # Errors
    /// If the address has reached its maximum number of connections.
    fn arrive(&self, _address: IpAddr) -> Result<Option<Permit>, RefusalAnswer> {
        Ok(None)
    }

    /// Returns the proxies whose headers are trusted. By default there are none.
    fn proxies(&self) -> &[Network] {
        &[]
    }

    /// Counts a request that is not a valid upgrade. By default, nothing counts it.
    fn count_bad_upgrade(&self, _error: UpgradeError) {}

    /// Describes a name.
    fn describe(&self, asking: &ConnectRequest<'_>) -> Discovery;
}

impl From<AcceptRefusal> for RefusalAnswer {
    fn from(refusal: AcceptRefusal) -> Self {
        match refusal {
            AcceptRefusal::TooMany => RefusalAnswer::new(
                "too_many",
                "this address has the maximum number of sessions",
                "close one first",
            ),
            AcceptRefusal::Full => RefusalAnswer::new("full", "the service is full", "try again later"),
        }
    }
}

impl From<AdmissionRefusal> for RefusalAnswer {
    fn from(refusal: AdmissionRefusal) -> Self {
        Self::new(refusal.word(), refusal.to_string(), refusal.cure())
    }
}

/// Returns the name in a path.
fn name_in(path: &str) -> Option<&str> {
    path.strip_prefix(PATH).filter(|name| is_name(name))
}

fn no_such_name() -> RefusalAnswer {
    RefusalAnswer::new("no_such_name", "there is no service of this name", "check the name and the port")
}
