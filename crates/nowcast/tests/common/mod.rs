//! Shared parts of tests: an endpoint behind a gate that can fail as a network does.

#![allow(dead_code, reason = "each test program uses only a part of this module")]

pub(crate) mod gate;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nowcast::{Acceptor, CarrierKind, Channel, Connector, ListenConfig, Listener, Service};
use nowcast_engine::Application;

use gate::Gate;

/// Makes names unique, because all programs of this machine share the local names.
static HOUSES: AtomicU64 = AtomicU64::new(0);

/// An endpoint, and the gate in front of it.
pub(crate) struct House {
    pub(crate) gate: Gate,
    pub(crate) service: Service,
    listener: Listener,
}

impl House {
    pub(crate) async fn build() -> House {
        Self::build_with(|_| ()).await
    }

    pub(crate) async fn build_with(change: impl FnOnce(&mut ListenConfig)) -> House {
        let gate = Gate::bind().await;
        let mut config = ListenConfig::on([[127, 0, 0, 1].into()], 0);
        config.announced_udp_port = Some(gate.port());
        change(&mut config);
        let listener = Listener::bind(config).await.expect("loopback has free ports");
        gate.lead_to(listener.port());
        let service = listener.advertise(&new_name()).await.expect("the name is free");
        House { gate, service, listener }
    }

    /// Returns the address through the gate, or the endpoint's own address for local carriers.
    pub(crate) fn url(&self, carriers: &[CarrierKind]) -> String {
        if carriers == [nowcast::local::CARRIER] {
            return format!("nowcast://localhost/{}", self.service.name());
        }
        self.url_of(self.service.name())
    }

    /// Returns the address of a name through the gate.
    fn url_of(&self, name: &str) -> String {
        format!("nowcast://127.0.0.1:{}/{name}", self.gate.port())
    }

    /// Serves a new name by applications.
    pub(crate) fn serve(
        &self,
        make: impl Fn() -> Box<dyn Application> + Send + Sync + 'static,
    ) -> (Acceptor, String) {
        let name = new_name();
        let acceptor = self.listener.serve(&name, move |_: nowcast::Entry| make()).expect("the name is free");
        (acceptor, name)
    }

    /// Connects a client to a name over these carriers.
    pub(crate) async fn connect(&self, name: &str, carriers: &[CarrierKind]) -> Channel {
        let connector = Connector::new().carriers(carriers.iter().copied());
        let connected = within(20, connector.connect(&self.url_of(name))).await;
        connected.expect("the endpoint admits every client")
    }

    /// Connects a client over these carriers to an application.
    pub(crate) async fn connect_to(
        &self,
        make: impl Fn() -> Box<dyn Application> + Send + Sync + 'static,
        carriers: &[CarrierKind],
    ) -> Channel {
        let (_, name) = self.serve(make);
        self.connect(&name, carriers).await
    }

    /// The endpoint's own port.
    pub(crate) fn port(&self) -> u16 {
        self.listener.port()
    }

    /// Connects a client over these carriers. Returns both ends of the channel.
    pub(crate) async fn join(&mut self, carriers: &[CarrierKind]) -> (Channel, Channel) {
        let url = self.url(carriers);
        let connector = Connector::new().carriers(carriers.iter().copied());
        let (ours, theirs) =
            within(20, async { tokio::join!(connector.connect(&url), self.service.accept()) }).await;
        (ours.expect("the endpoint admits every client"), theirs.expect("the endpoint lives"))
    }
}

fn new_name() -> String {
    format!("room-{}-{}", std::process::id(), HOUSES.fetch_add(1, Ordering::Relaxed))
}

/// Returns the future's output. Panics if it takes longer than any machine needs.
pub(crate) async fn within<T>(seconds: u64, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(seconds), future).await.expect("the future completes in time")
}

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}
