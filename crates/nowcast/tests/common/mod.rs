//! Shared parts of tests: an endpoint behind a gate that can fail as a network does.

#![allow(dead_code, reason = "each test program uses only a part of this module")]

pub(crate) mod gate;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nowcast::{CarrierKind, Channel, Connector, ListenConfig, Listener, Service};

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
        let name = format!("room-{}-{}", std::process::id(), HOUSES.fetch_add(1, Ordering::Relaxed));
        let service = listener.advertise(&name).await.expect("the name is free");
        House { gate, service, listener }
    }

    /// Returns the address through the gate, or the endpoint's own address for local carriers.
    pub(crate) fn url(&self, carriers: &[CarrierKind]) -> String {
        if carriers == [nowcast::local::CARRIER] {
            return format!("nowcast://localhost/{}", self.service.name());
        }
        format!("nowcast://127.0.0.1:{}/{}", self.gate.port(), self.service.name())
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
