//! Accepts connections, and survives system errors that prevent a listener from accepting.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// Minimum interval between two log lines about failed accepts.
const TROUBLE_LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Initial pause after a failed accept.
const TROUBLE_PAUSE_MIN: Duration = Duration::from_millis(10);
const TROUBLE_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Receives the TCP connections of an endpoint.
pub trait Reception: Send + Sync + 'static {
    /// Takes a connection, or drops it if there are too many. This call must not block, because it would delay the next
    /// connection.
    fn receive(&self, stream: TcpStream, address: SocketAddr);

    /// Counts a connection that could not be accepted.
    fn missed(&self) {}
}

/// Passes on every connection of `listener`. Never returns: system errors, such as too many open files, are retried.
pub async fn accept_all(listener: TcpListener, reception: impl Reception) {
    let mut trouble = Trouble::default();
    loop {
        match listener.accept().await {
            Ok((stream, address)) => {
                trouble.is_over();
                reception.receive(stream, address);
            }
            // The peer disconnected before its connection was accepted, which is not an error of this endpoint.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => reception.missed(),
            Err(error) => {
                reception.missed();
                if let Some(times) = trouble.take_due(Instant::now()) {
                    tracing::warn!(%error, times, "cannot accept connections");
                }
                sleep(trouble.pause()).await;
            }
        }
    }
}

/// Failures that prevent a listener from accepting, such as a process without free file descriptors. These failures do not end
/// the endpoint. They also do not fill the logs of the endpoint, and do not keep a processor busy.
#[derive(Default)]
struct Trouble {
    /// Number of consecutive failures.
    failures: u32,
    /// Number of failures that are not logged yet.
    untold: u64,
    told_at: Option<Instant>,
}

impl Trouble {
    fn is_over(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure. At intervals, returns the number of failures to log.
    fn take_due(&mut self, now: Instant) -> Option<u64> {
        self.failures = self.failures.saturating_add(1);
        self.untold += 1;
        let is_early = self.told_at.is_some_and(|told_at| now - told_at < TROUBLE_LOG_INTERVAL);
        if is_early {
            return None;
        }
        self.told_at = Some(now);
        Some(std::mem::take(&mut self.untold))
    }

    /// Returns the pause before the next attempt. Each failure doubles it.
    fn pause(&self) -> Duration {
        (TROUBLE_PAUSE_MIN * 2_u32.pow(self.failures.saturating_sub(1).min(16))).min(TROUBLE_PAUSE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_accept_error_is_reported_at_intervals_and_waited_out() {
        let start = Instant::now();
        let mut trouble = Trouble::default();
        let (mut lines, mut tries, mut at) = (Vec::new(), 0, Duration::ZERO);
        while at < Duration::from_secs(60) {
            tries += 1;
            lines.extend(trouble.take_due(start + at));
            at += trouble.pause();
        }
        assert!(lines.len() <= 6 && tries <= 70, "{lines:?} for {tries} tries");
        trouble.is_over();
        trouble.take_due(start + at);
        assert_eq!(trouble.pause(), TROUBLE_PAUSE_MIN);
    }
}
