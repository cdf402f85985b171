//! Services that the program that embeds a server offers on sessions, besides worlds.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use nowcast::{AcceptConfig, AcceptLimits, Accepted, Acceptor, Channel};

type Serve = dyn Fn(Channel) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync;

/// A service of the embedding program. A client that connects to the service's name gets a channel that the program serves.
///
/// The service admits every client on the server's machine that the server admits. It admits clients of other machines if
/// they have a token or if the service is [exposed](Self::exposed). On sessions, the name selects the service even if a room
/// could have this name.
///
/// ```
/// use nowcast_server::ServiceConfig;
///
/// let echo = ServiceConfig::new("echo", |channel| async move {
///     nowcast::echo(&channel).await;
/// });
/// # let _ = echo;
/// ```
#[derive(Clone)]
pub struct ServiceConfig {
    pub(crate) name: String,
    limits: AcceptLimits,
    is_exposed: bool,
    serve: Arc<Serve>,
}

impl ServiceConfig {
    /// Creates a service. Each of its channels is served by a task that runs `serve`.
    pub fn new<F>(name: impl Into<String>, serve: impl Fn(Channel) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let serve: Arc<Serve> = Arc::new(move |channel| Box::pin(serve(channel)));
        Self { name: name.into(), limits: AcceptLimits::default(), is_exposed: false, serve }
    }

    /// Sets the maximum number of clients.
    #[must_use]
    pub fn limits(self, limits: AcceptLimits) -> Self {
        Self { limits, ..self }
    }

    /// Sets whether clients of other machines are admitted without a token.
    #[must_use]
    pub fn exposed(self, is_exposed: bool) -> Self {
        Self { is_exposed, ..self }
    }
}

impl fmt::Debug for ServiceConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ServiceConfig").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A service that accepts sessions.
pub(crate) struct OpenService {
    config: ServiceConfig,
    pub(crate) acceptor: Acceptor,
}

impl OpenService {
    /// Opens a service. Returns it with the receiver of its channels.
    pub(crate) fn open(config: &ServiceConfig) -> (Self, Accepted) {
        let accept = AcceptConfig { limits: config.limits, ..AcceptConfig::default() };
        let (acceptor, accepted) = Accepted::open(accept);
        (Self { config: config.clone(), acceptor }, accepted)
    }

    pub(crate) fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether the service admits a client that the server admits. The token must already be verified.
    pub(crate) fn admits(&self, is_local: bool, has_token: bool) -> bool {
        self.config.is_exposed || has_token || is_local
    }
}

/// Serves all channels of a service until the server ends.
pub(crate) async fn serve(config: ServiceConfig, mut accepted: Accepted) {
    while let Some(channel) = accepted.next().await {
        tokio::spawn((config.serve)(channel));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_a_token_unless_a_service_is_exposed() {
        let closed = ServiceConfig::new("echo", |_| async {});
        let open = OpenService::open(&closed.clone().exposed(true)).0;
        let closed = OpenService::open(&closed).0;
        let (here, there) = (true, false);
        assert!(closed.admits(here, false) && closed.admits(there, true) && open.admits(there, false));
        assert!(!closed.admits(there, false));
    }
}
