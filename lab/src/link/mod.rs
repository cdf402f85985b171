//! Emulated links between network namespaces, each with the network stack of the real kernel.
//!
//! Every host is a network namespace with a TUN device. A relay carries packets between the devices, and delays and drops them by
//! the seeded model [`nowcast_sim::link::Link`]. So TCP and the sockets are real. In every run with the same seed, the n-th
//! packet towards a host is treated in the same way. The links need no traffic shaper of the kernel. They need no root privileges
//! on systems that allow unprivileged user namespaces.
//!
//! ```no_run
//! use nowcast_lab::link::{EmulatedLink, LinkConfig, Loss};
//! use std::{net::UdpSocket, time::Duration};
//!
//! let config =
//!     LinkConfig { delay: Duration::from_millis(25), loss: Loss::Random(0.005), ..LinkConfig::default() };
//! let link = EmulatedLink::new(&config, 2, 7)?;
//! let server = link.host(2).run(|| UdpSocket::bind((link.host(2).address(), 4000)))??;
//! let client = link.host(1).run(|| UdpSocket::bind((link.host(1).address(), 0)))??;
//! client.send_to(b"hello", (link.host(2).address(), 4000))?;
//! server.recv(&mut [0; 16])?; // 25 ms later
//! println!("{}", link.finish());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod check;
mod command;
mod hosts;
mod process;
mod relay;
mod summary;
mod sys;
pub mod units;

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

pub use command::{CommandError, run};
pub use hosts::{HOSTS_MAX, Host, HostError, MTU, become_able, enter_new_network};
pub use nowcast_sim::link::{Jitter, LinkConfig, LinkCounters, Loss, Policer, Variation};
pub use process::HostProcess;
pub use summary::{Lateness, Summary};
pub use sys::kill_with_starter;
pub use sys::run_before_others;

/// Returns the loss of each direction for a given loss of round trips. A round trip succeeds only if both directions do.
pub fn loss_each_way(of_round_trips: f64) -> Loss {
    if of_round_trips <= 0.0 { Loss::None } else { Loss::Random(1.0 - (1.0 - of_round_trips).sqrt()) }
}

/// The real-time priority of measuring programs on the hosts; see [`run_before_others`].
pub const PRIORITY_OF_HOSTS: i32 = 10;

/// Two or more hosts, and the relay between them.
#[derive(Debug)]
pub struct EmulatedLink {
    hosts: Vec<Host>,
    shared: Arc<relay::Shared>,
    relay: Option<JoinHandle<io::Result<()>>>,
}

impl EmulatedLink {
    /// Creates the hosts and starts the relay. Every host is reached over a link that is configured by `config`. The link
    /// towards host `n` has the seed `seed + n - 1`.
    ///
    /// # Errors
    /// [`HostError`] if the system does not allow this process to create hosts.
    pub fn new(config: &LinkConfig, hosts: usize, seed: u64) -> Result<Self, HostError> {
        if !(2..=HOSTS_MAX).contains(&hosts) {
            return Err(HostError::Count(hosts));
        }
        let numbers = (1..=HOSTS_MAX).take(hosts).map(|number| u8::try_from(number).expect("at most 250"));
        let (hosts, devices): (Vec<_>, Vec<_>) =
            numbers.map(Host::new).collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let shared = Arc::new(relay::Shared::new(config, hosts.len(), seed));
        let relay = relay::Relay::new(devices, Arc::clone(&shared)).map_err(HostError::Tun)?;
        let relay = std::thread::Builder::new()
            .name("relay".into())
            .spawn(move || relay.run())
            .map_err(HostError::Namespace)?;
        Ok(Self { hosts, shared, relay: Some(relay) })
    }

    /// Returns host `number`, counted from 1.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn host(&self, number: usize) -> &Host {
        &self.hosts[number - 1]
    }

    /// Returns all hosts.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Changes the link towards host `number`, counted from 1, from the next packet on.
    ///
    /// # Panics
    /// If there is no such host.
    pub fn reconfigure(&self, number: usize, config: &LinkConfig) {
        self.shared.with(|state| state.links[number - 1].reconfigure(config.clone()));
    }

    /// Returns the age of the link. The times of outages refer to this age.
    pub fn elapsed(&self) -> Duration {
        self.shared.elapsed()
    }

    /// Returns a summary of the link's behaviour so far.
    pub fn summary(&self) -> Summary {
        self.shared.with(|state| Summary::of(state))
    }

    /// Stops the relay and returns the summary.
    pub fn finish(self) -> Summary {
        self.summary()
    }
}

impl Drop for EmulatedLink {
    fn drop(&mut self) {
        self.shared.stop();
        if let Some(Ok(Err(error))) = self.relay.take().map(JoinHandle::join) {
            eprintln!("the relay broke down: {error}");
        }
    }
}
