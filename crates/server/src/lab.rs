//! The service `lab` of every server, for its page at `/lab`: it sends back what it gets.

use std::time::Duration;

use nowcast::{AcceptConfig, AcceptLimits, Accepted, Acceptor, Channel, Error, MessageKind};
use tokio::time::timeout;

/// What clients ask for; on sessions no room has this name.
pub(crate) const NAME: &str = "lab";

const SESSIONS_MAX: usize = 64;
const SESSIONS_PER_ADDRESS_MAX: usize = 4;
/// Measurements are short; who stays longer is sent away.
const STAY_MAX: Duration = Duration::from_secs(600);

/// Who takes the sessions in, and where they come out.
pub(crate) fn acceptor() -> (Acceptor, Accepted) {
    Acceptor::new(AcceptConfig {
        limits: AcceptLimits {
            sessions_max: SESSIONS_MAX,
            sessions_per_address_max: SESSIONS_PER_ADDRESS_MAX,
            ..AcceptLimits::default()
        },
        ..AcceptConfig::default()
    })
}

/// Answers all sessions until the server ends.
pub(crate) async fn serve(mut accepted: Accepted) {
    while let Some(channel) = accepted.next().await {
        tokio::spawn(async move {
            // How a measurement ends is nobody's concern but its own.
            let _ = timeout(STAY_MAX, echo(&channel)).await;
            channel.close(0, "measured");
        });
    }
}

async fn echo(channel: &Channel) -> Result<(), Error> {
    loop {
        let message = channel.receive().await?;
        let lane = channel.lane(message.lane);
        match message.kind {
            MessageKind::State { key } => lane.state(key, &message.bytes).await?,
            // While the client does not read, nothing more is read of it.
            MessageKind::Event => lane.event(&message.bytes).await?,
            MessageKind::Command(id) => channel.reply(id, &message.bytes).await?,
            MessageKind::Replication { .. } => {}
        }
    }
}
