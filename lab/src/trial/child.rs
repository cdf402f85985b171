//! The program on a host. It opens its end of the connection, runs its part, and prints its findings as one line of JSON.

use std::io::Write as _;
use std::time::Duration;

use tokio::time::Instant;

use super::{Orders, Task};
use crate::link::{PRIORITY_OF_HOSTS, run_before_others};
use crate::peers::{self, End, PeerError};
use crate::{freshness, lag, latency};

/// The main function of the hidden command `cargo xtask lab host`.
///
/// # Errors
/// If the orders cannot be read, or if the peer fails. The parent then reports that there was no report.
pub fn main(orders: &str) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let orders: Orders = serde_json::from_str(orders)?;
    run_before_others(PRIORITY_OF_HOSTS);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(act(&orders)).map_err(|error| {
        let end = if orders.end == End::Near { "near" } else { "far" };
        format!("{}, {end} host: {error}", orders.peer.name()).into()
    })
}

async fn act(orders: &Orders) -> Result<(), PeerError> {
    let mut listening = || drop(say("listening"));
    let mut connection = peers::open(orders.peer, orders.end, orders.address, &mut listening).await?;
    let connection = connection.as_mut();
    let report = match (&orders.task, orders.end) {
        (Task::Echo(echo), End::Near) => json(&latency::ask(connection, echo).await?),
        (Task::Echo(_), End::Far) => {
            // This end has no findings. It reports `null` at once, and then returns messages until the parent ends it.
            say("null").map_err(PeerError::socket("report"))?;
            return latency::answer(connection).await;
        }
        (Task::Stream(stream), End::Near) => json(&freshness::send(connection, stream).await?),
        (Task::Stream(stream), End::Far) => {
            json(&freshness::receive(connection, stream, orders.link_start_ns).await?)
        }
        (Task::Burst(burst), End::Near) => json(&lag::send(connection, burst).await?),
        (Task::Burst(burst), End::Far) => json(&lag::receive(connection, burst).await?),
    };
    let report = report.map_err(PeerError::stack("write the report"))?;
    say(&report).map_err(PeerError::socket("report"))?;
    // The other host may still wait for a message in transit. The parent ends both hosts' programs.
    let mut inbox = Vec::new();
    loop {
        match connection.work(Instant::now() + Duration::from_secs(1), usize::MAX, &mut inbox).await {
            Ok(()) => inbox.clear(),
            Err(PeerError::Closed) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

fn json<T: serde::Serialize>(report: &T) -> serde_json::Result<String> {
    serde_json::to_string(report)
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
