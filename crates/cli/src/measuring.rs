//! The service of a server to which the page at `/lab` connects. The page measures this connection.

use std::time::Duration;

use nowcast::AcceptLimits;
use nowcast_server::ServiceConfig;
use tokio::time::timeout;

/// The name that the page connects to.
const NAME: &str = "lab";
const SESSIONS_MAX: usize = 64;
const SESSIONS_PER_ADDRESS_MAX: usize = 4;
/// Maximum duration of a connection. Measurements are short, so longer connections are closed.
const STAY_MAX: Duration = Duration::from_secs(600);

/// Makes an echo service. `is_exposed` lets clients on other machines measure without a token.
pub(crate) fn service(is_exposed: bool) -> ServiceConfig {
    let limits = AcceptLimits {
        sessions_max: SESSIONS_MAX,
        sessions_per_address_max: SESSIONS_PER_ADDRESS_MAX,
        ..AcceptLimits::default()
    };
    let echo = ServiceConfig::new(NAME, |channel| async move {
        // The end of a measurement concerns only its client.
        let _ = timeout(STAY_MAX, nowcast::echo(&channel)).await;
        channel.close(0, "measured");
    });
    echo.limits(limits).exposed(is_exposed)
}
