//! The reasons why a cluster cannot be used.

use nowcast_store::Problem;

/// A cluster cannot be used as it is. The text says how to correct the problem. Nothing that exists was changed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// An address is not one of NATS.
    #[error(
        "{address} is not an address of NATS: {why}. Write nats://USER:PASSWORD@HOST:PORT, several separated by commas"
    )]
    Address {
        /// The address, without its credentials.
        address: String,
        /// The fault.
        why: String,
    },
    /// No server of NATS answers.
    #[error(
        "NATS cannot be reached at {addresses}: {why}. Start it, or check the addresses and the firewall"
    )]
    Unreachable {
        /// The addresses, without credentials.
        addresses: String,
        /// The fault.
        why: String,
    },
    /// NATS does not accept the user.
    #[error(
        "NATS at {addresses} refuses the credentials. Check the user and the password in the address, and the servers' `authorization`"
    )]
    Credentials {
        /// The addresses, without credentials.
        addresses: String,
    },
    /// JetStream is not enabled.
    #[error(
        "the nats-server {server} has no JetStream. Add a `jetstream` block to its configuration, with `sync_interval: always`"
    )]
    NoJetStream {
        /// The name of the server.
        server: String,
    },
    /// The release of NATS is too old.
    #[error(
        "the nats-server {server} is release {found}, and {least} is the oldest that works. Install {recommended} or newer"
    )]
    TooOld {
        /// The name of the server.
        server: String,
        /// Its release.
        found: String,
        /// The oldest release that works.
        least: &'static str,
        /// The oldest release without known losses.
        recommended: &'static str,
    },
    /// There are fewer servers than replicas.
    #[error(
        "JetStream cannot keep {replicas} replicas of {name}: {why}. Start at least {replicas} nats-servers as one cluster"
    )]
    Replicas {
        /// The bucket or stream.
        name: String,
        /// The number of replicas.
        replicas: usize,
        /// The answer of NATS.
        why: String,
    },
    /// A bucket or stream belongs to another program, or to another release.
    #[error(
        "{name} exists already and is not of this program: {why}. Choose another --cluster-name; nothing was changed"
    )]
    Foreign {
        /// The bucket or stream.
        name: String,
        /// The difference.
        why: String,
    },
    /// A running server has the name of this server.
    #[error(
        "another running server of the cluster has the name {name}. Give each server its own --cluster-server"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A request to JetStream failed.
    #[error("{what}: {why}. Check the nats-servers and their logs")]
    Request {
        /// The request.
        what: String,
        /// The answer of NATS.
        why: String,
    },
}

impl ClusterError {
    pub(crate) fn request(what: impl Into<String>, why: impl ToString) -> ClusterError {
        ClusterError::Request { what: what.into(), why: why.to_string() }
    }
}

impl From<ClusterError> for Problem {
    fn from(error: ClusterError) -> Problem {
        match error {
            ClusterError::Foreign { name, why } => Problem::Foreign(format!("{name}: {why}")),
            other => Problem::Unreachable(other.to_string()),
        }
    }
}
