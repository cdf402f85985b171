//! The server's part in a cluster: the store in JetStream, room owners, and other servers' requests.

mod commands;
mod control;
mod metrics;
mod node;
mod publishing;
mod receiving;

use std::sync::Arc;
use std::time::Duration;

use nowcast_cluster::{Config as MemberConfig, Name, NameError};
use nowcast_jetstream::{ClusterError, Link, LinkOptions, Member, StoreOptions};
use nowcast_room::{Ownership, PersistenceThread};
use nowcast_store::StoreError;
use tokio::task::spawn_blocking;
use tracing::{info, warn};

pub(crate) use metrics::ClusterMetrics;
pub(crate) use node::Node;
pub use nowcast_cluster::LEASE;

/// The cluster of a server.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    /// The addresses of the nats-servers with credentials, separated by commas: `nats://USER:PASSWORD@HOST:PORT`.
    pub addresses: String,
    /// The name of the cluster, with which its buckets and streams begin.
    pub name: String,
    /// Number of nats-servers that keep each record: 1, 3 or 5.
    pub replicas: usize,
    /// The name of this server: 1 to 32 of `a` to `z`, `0` to `9`, `-` and `_`. No other running server may have it.
    pub server: String,
    /// The origin at which clients reach this server, such as `http://10.0.0.1:7777`.
    pub client_address: String,
    /// The tags of this server, such as `region-eu`: names with the same rules as the server's, at most 16.
    pub tags: Vec<String>,
    /// Pairs of a room's name and a tag that the room's server must have. A pair also applies to rooms whose names begin with
    /// that name and `-`. All servers of a cluster must have the same pairs.
    pub requires: Vec<(String, String)>,
    /// Duration of this server's lease. After this time without an answer of NATS, its rooms wait, and other servers may take
    /// them.
    pub lease: Duration,
    /// Whether events of rooms are published as subjects of NATS.
    pub publishes: bool,
    /// Whether programs may send commands to rooms by subjects of NATS. The commands have tokens of the server's key.
    pub accepts_commands: bool,
}

/// The reason why a server cannot enter its cluster.
#[derive(Debug, thiserror::Error)]
pub enum JoinError {
    /// The name of the server is invalid.
    #[error("the server's name '{name}' is not valid: {error}. Choose another --cluster-server")]
    Name {
        /// The name.
        name: String,
        /// The fault.
        error: NameError,
    },
    /// A tag is invalid.
    #[error("the tag '{tag}' is not valid: {error}. Choose another --cluster-tag")]
    Tag {
        /// The tag.
        tag: String,
        /// The fault.
        error: NameError,
    },
    /// NATS cannot be used.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The stored worlds cannot be listed.
    #[error(transparent)]
    Store(#[from] Box<StoreError>),
    /// The threads of the cluster cannot be started.
    #[error("cannot start a thread for the cluster: {0}")]
    Thread(std::io::Error),
}

/// Enters a cluster. The worlds of rooms are stored in its JetStream.
pub(crate) async fn join(config: &ClusterConfig) -> Result<(PersistenceThread, Arc<Node>), JoinError> {
    let name =
        Name::new(&config.server).map_err(|error| JoinError::Name { name: config.server.clone(), error })?;
    let tag = |text: &String| Name::new(text).map_err(|error| JoinError::Tag { tag: text.clone(), error });
    let tags: Vec<Name> = config.tags.iter().map(tag).collect::<Result<_, _>>()?;
    let requires = config.requires.iter().map(|(rooms, text)| Ok((rooms.clone(), tag(text)?)));
    let requires: Vec<(String, Name)> = requires.collect::<Result<_, JoinError>>()?;
    // The connection has a runtime of its own, because rooms wait for it on threads of any runtime.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("nowcast-cluster")
        .enable_all()
        .build()
        .map_err(JoinError::Thread)?;
    let ClusterConfig { publishes, accepts_commands, .. } = *config;
    let (config, handle) = (config.clone(), runtime.handle().clone());
    let joined = handle.spawn(async move {
        let options = LinkOptions { name: config.name, replicas: config.replicas };
        let link = Link::connect(&config.addresses, options).await?;
        for warning in link.warnings() {
            warn!("{warning}");
        }
        let config = MemberConfig {
            client_address: config.client_address.into(),
            tags: tags.into(),
            requires: requires.into(),
            lease: config.lease,
            ..MemberConfig::new(name)
        };
        let member = Member::join(&link, config, StoreOptions::default()).await?;
        Ok::<_, ClusterError>((link, member))
    });
    let joined = joined.await;
    let (link, member) = match joined {
        Ok(Ok(joined)) => joined,
        Ok(Err(error)) => {
            runtime.shutdown_background();
            return Err(error.into());
        }
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    };
    info!(server = %member.id(), nats = link.addresses(), "the server entered its cluster");
    let mut node = Node::new(runtime, link, member);
    if publishes {
        node.publish_events();
    }
    if accepts_commands {
        node.accept_commands();
    }
    let node = Arc::new(node);
    let (store, owners) = (node.store(), Arc::clone(&node) as Arc<dyn Ownership>);
    let persistence = spawn_blocking(move || PersistenceThread::in_cluster(store, owners)).await;
    match persistence {
        Ok(persistence) => Ok((persistence.map_err(Box::new)?, node)),
        Err(panicked) => std::panic::resume_unwind(panicked.into_panic()),
    }
}
