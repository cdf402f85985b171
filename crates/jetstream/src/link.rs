//! The connection to NATS, and the checks at the start.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_nats::jetstream::context::{ContextBuilder, CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, StorageType, Stream};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{Client, ConnectOptions, Event, ServerAddr};

use crate::ClusterError;

/// The oldest release of nats-server that has all used functions.
const OLDEST: &str = "2.11.0";

/// The oldest release of nats-server that has the fixes of the losses which Jepsen published for 2.12.1.
const FIXED: &str = "2.12.3";

/// Time for the first connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);

/// Time for an answer of JetStream. A publish that is not acknowledged in time is sent again with the same id.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);

/// Time for which requests at the start are repeated. A new stream has no leader for a moment.
pub(crate) const START_WITHIN: Duration = Duration::from_secs(20);

/// Time for which a lack of servers is not final. Servers that start at the same time find each other first.
const PEERS_WITHIN: Duration = Duration::from_secs(5);

/// Pause before a request is repeated.
const START_PAUSE: Duration = Duration::from_millis(100);

/// The format of everything that this program keeps in JetStream. It stands in the description of each bucket and stream.
const FORMAT: u32 = 1;

/// Settings of a cluster. All servers of a cluster must have the same settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// The name of the cluster, with which all its buckets, streams and subjects begin: lower-case letters, digits and `-`.
    pub name: String,
    /// Number of nats-servers that keep each record: 1, 3 or 5.
    pub replicas: usize,
}

impl Default for LinkOptions {
    fn default() -> LinkOptions {
        LinkOptions { name: "nowcast".to_owned(), replicas: 3 }
    }
}

/// A connection to the NATS servers of a cluster, whose version and settings were checked. It reconnects by itself.
#[derive(Clone)]
pub struct Link {
    client: Client,
    context: jetstream::Context,
    options: Arc<LinkOptions>,
    addresses: Arc<str>,
    is_connected: Arc<AtomicBool>,
    warnings: Arc<[String]>,
}

impl Link {
    /// Connects, and checks the release of nats-server and JetStream. `addresses` are separated by commas. The credentials
    /// of the first address that has credentials are used for all servers.
    ///
    /// # Errors
    /// Fails if NATS cannot be reached, refuses the credentials, is older than 2.11, or has no JetStream.
    pub async fn connect(addresses: &str, options: LinkOptions) -> Result<Link, ClusterError> {
        let servers = parse(addresses)?;
        let shown = servers.iter().map(shown).collect::<Vec<_>>().join(",");
        let is_connected = Arc::new(AtomicBool::new(true));
        let state = Arc::clone(&is_connected);
        let credentials = servers.iter().find_map(|server| Some((server.username()?, server.password())));
        let connect = match credentials {
            Some((user, Some(password))) => {
                ConnectOptions::with_user_and_password(user.to_owned(), password.to_owned())
            }
            // NATS takes a single word as a token.
            Some((token, None)) => ConnectOptions::with_token(token.to_owned()),
            None => ConnectOptions::new(),
        };
        let connect = connect
            .name("nowcast")
            .connection_timeout(CONNECT_WITHIN)
            .event_callback(move |event| {
                match event {
                    Event::Connected => state.store(true, Ordering::Release),
                    Event::Disconnected | Event::Closed => state.store(false, Ordering::Release),
                    _ => {}
                }
                std::future::ready(())
            })
            .connect(servers)
            .await;
        let client = connect.map_err(|error| match error.kind() {
            async_nats::ConnectErrorKind::AuthorizationViolation
            | async_nats::ConnectErrorKind::Authentication => {
                ClusterError::Credentials { addresses: shown.clone() }
            }
            _ => ClusterError::Unreachable { addresses: shown.clone(), why: error.to_string() },
        })?;
        let info = client.server_info();
        let mut warnings = Vec::new();
        warnings.extend(check_release(&info.server_name, &info.version)?);
        if !info.jetstream {
            return Err(ClusterError::NoJetStream { server: info.server_name });
        }
        let context =
            ContextBuilder::new().timeout(ANSWER_WITHIN).ack_timeout(ANSWER_WITHIN).build(client.clone());
        let (options, addresses) = (Arc::new(options), shown.into());
        Ok(Link { client, context, options, addresses, is_connected, warnings: warnings.into() })
    }

    /// Advice about the servers: each is a sentence with its reason. Empty in normal operation.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The addresses, without credentials.
    pub fn addresses(&self) -> &str {
        &self.addresses
    }

    /// Whether a connection is open at present.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Acquire)
    }

    /// The largest message that NATS accepts, in bytes.
    pub fn payload_bytes_max(&self) -> usize {
        self.client.server_info().max_payload
    }

    /// The settings.
    pub fn options(&self) -> &LinkOptions {
        &self.options
    }

    /// Publishes a message, whose subject begins with the name of the cluster. NATS delivers it at most once, to the programs that
    /// are subscribed at the time.
    ///
    /// # Errors
    /// Fails if the message is too large, or the connection has ended.
    pub async fn publish(&self, subject: &str, message: Vec<u8>) -> Result<(), ClusterError> {
        let failed =
            |why: &dyn std::fmt::Display| ClusterError::request(format!("cannot publish to {subject}"), why);
        if message.len() > self.payload_bytes_max() {
            return Err(failed(&format!("the message has {} bytes", message.len())));
        }
        let published = self.client.publish(self.subject(subject), message.into()).await;
        published.map_err(|error| failed(&error))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn context(&self) -> &jetstream::Context {
        &self.context
    }

    /// Returns a name that begins with the name of the cluster.
    pub(crate) fn name(&self, rest: &str) -> String {
        format!("{}-{rest}", self.options.name)
    }

    /// Returns a subject that begins with the name of the cluster.
    pub(crate) fn subject(&self, rest: &str) -> String {
        format!("{}.{rest}", self.options.name)
    }

    /// Opens a stream, or makes it. A stream of another program is not touched.
    pub(crate) async fn open_stream(&self, mut config: Config) -> Result<Stream, ClusterError> {
        let name = config.name.clone();
        if let Some(stream) = self.find_stream(&name).await? {
            return Ok(stream);
        }
        let replicas = self.options.replicas;
        config.description = Some(description());
        config.storage = StorageType::File;
        config.num_replicas = replicas;
        match self.context.create_stream(config).await {
            Ok(stream) => Ok(stream),
            Err(error) => match error.kind() {
                CreateStreamErrorKind::JetStream(answer)
                    if [ErrorCode::CLUSTER_NO_PEERS, ErrorCode::INSUFFICIENT_RESOURCES]
                        .contains(&answer.error_code())
                        || answer.error_code() == ErrorCode::STREAM_REPLICAS_NOT_SUPPORTED =>
                {
                    Err(ClusterError::Replicas { name, replicas, why: answer.to_string() })
                }
                // Another server made it in the meantime.
                CreateStreamErrorKind::JetStream(answer)
                    if answer.error_code() == ErrorCode::STREAM_NAME_EXIST =>
                {
                    let found = self.find_stream(&name).await?;
                    found.ok_or_else(|| ClusterError::request(format!("cannot make {name}"), answer))
                }
                _ => Err(ClusterError::request(format!("cannot make {name}"), error)),
            },
        }
    }

    /// Returns a stream of this cluster; `None` if there is none of this name.
    pub(crate) async fn find_stream(&self, name: &str) -> Result<Option<Stream>, ClusterError> {
        match self.context.get_stream(name).await {
            Ok(stream) => {
                self.check(name, &stream.cached_info().config)?;
                Ok(Some(stream))
            }
            Err(error) => match error.kind() {
                GetStreamErrorKind::JetStream(answer)
                    if answer.error_code() == ErrorCode::STREAM_NOT_FOUND =>
                {
                    Ok(None)
                }
                _ => Err(ClusterError::request(format!("cannot read {name}"), error)),
            },
        }
    }

    /// Checks that an existing stream is one of ours, with as many replicas as it must have.
    fn check(&self, name: &str, config: &Config) -> Result<(), ClusterError> {
        let foreign = |why: String| Err(ClusterError::Foreign { name: name.to_owned(), why });
        let found = config.description.as_deref().unwrap_or_default();
        if found != description() {
            return foreign(format!("its description is {found:?} instead of {:?}", description()));
        }
        let replicas = self.options.replicas;
        if config.num_replicas != replicas {
            return foreign(format!("it has {} replicas instead of {replicas}", config.num_replicas));
        }
        Ok(())
    }
}

/// Repeats a request of the start until it succeeds, is refused, or the time is over.
pub(crate) async fn at_start<T, F: Future<Output = Result<T, ClusterError>>>(
    request: impl Fn() -> F,
) -> Result<T, ClusterError> {
    let begun = Instant::now();
    loop {
        let outcome = request().await;
        let patience = match &outcome {
            Err(ClusterError::Request { .. }) => START_WITHIN,
            Err(ClusterError::Replicas { .. }) => PEERS_WITHIN,
            _ => return outcome,
        };
        if begun.elapsed() >= patience {
            return outcome;
        }
        tokio::time::sleep(START_PAUSE).await;
    }
}

fn description() -> String {
    format!("Nowcast, format {FORMAT}")
}

fn parse(addresses: &str) -> Result<Vec<ServerAddr>, ClusterError> {
    let parse = |text: &str| {
        text.trim().parse::<ServerAddr>().map_err(|error| {
            // The text may contain a password.
            let address = text.rsplit_once('@').map_or(text, |(_, host)| host).to_owned();
            ClusterError::Address { address, why: error.to_string() }
        })
    };
    addresses.split(',').map(parse).collect()
}

fn shown(server: &ServerAddr) -> String {
    format!("nats://{}:{}", server.host(), server.port())
}

/// Returns advice for a release with known losses. A release without used functions is refused.
fn check_release(server: &str, found: &str) -> Result<Option<String>, ClusterError> {
    if number(found) < number(OLDEST) {
        let (server, found) = (server.to_owned(), found.to_owned());
        return Err(ClusterError::TooOld { server, found, least: OLDEST, recommended: FIXED });
    }
    let advice = || {
        format!(
            "the nats-server {server} is release {found}: releases before {FIXED} have lost acknowledged writes at power \
             failures and changes of membership (jepsen.io/analyses/nats-2.12.1). Install {FIXED} or newer"
        )
    };
    Ok((number(found) < number(FIXED)).then(advice))
}

/// Returns the three numbers of a release. A release under development counts as the release.
fn number(release: &str) -> [u32; 3] {
    let plain = release.trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
    let mut parts = plain.split('.').map(|part| part.parse().unwrap_or(0));
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_releases_are_refused_and_releases_with_published_losses_are_named() {
        let of = |release: &str| check_release("n1", release);
        assert!(matches!(of("2.9.10"), Err(ClusterError::TooOld { .. })));
        assert!(of("2.12.1").unwrap().is_some_and(|text| text.contains("2.12.3")));
        assert!(of("2.12.3").unwrap().is_none() && of("2.15.2").unwrap().is_none());
        assert!(of("2.13.0-dev").unwrap().is_none() && of("garbage").is_err());
    }

    #[test]
    fn errors_of_addresses_show_no_password() {
        let error = parse("nats://a:secret@host:port").unwrap_err().to_string();
        assert!(error.contains("host:port") && !error.contains("secret"), "{error}");
        let servers = parse("nats://a:secret@one:4222, nats://a:secret@two").unwrap();
        assert_eq!(servers.iter().map(shown).collect::<Vec<_>>(), ["nats://one:4222", "nats://two:4222"]);
    }
}
