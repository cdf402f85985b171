//! Where messages come from: a channel over a network, or one through shared memory.

use std::time::{Duration, Instant};

use nowcast::{Channel, MessageKind, Phase, local};

use crate::reach::{Reach, milliseconds};

/// What is watched.
pub(super) enum Source {
    /// Over WebTransport or WebSocket.
    Session(Channel),
    /// Through shared memory.
    Local(local::Channel),
}

/// A message, of either.
pub(super) struct Seen {
    /// `state`, `event`, `command` or `replication`.
    pub(super) kind: &'static str,
    pub(super) lane: u8,
    /// The key of a state.
    pub(super) key: Option<u64>,
    pub(super) bytes: Vec<u8>,
    /// When it was produced, where that is known.
    pub(super) produced_at: Option<Instant>,
}

impl Seen {
    pub(super) fn age(&self) -> Option<Duration> {
        self.produced_at.map(|at| at.elapsed())
    }
}

impl Source {
    /// Connects: through shared memory if the service is there, else over the best carrier.
    pub(super) async fn open(reach: &Reach) -> anyhow::Result<Source> {
        Ok(match reach.connect_here()? {
            Some(channel) => Source::Local(channel),
            None => Source::Session(reach.connect().await?),
        })
    }

    /// The next message, or why there is none any more.
    pub(super) async fn next(&mut self) -> Result<Seen, String> {
        match self {
            Source::Session(channel) => {
                let message = channel.receive().await.map_err(|error| error.to_string())?;
                let kind = match message.kind {
                    MessageKind::State { .. } => "state",
                    MessageKind::Event => "event",
                    MessageKind::Command(_) => "command",
                    MessageKind::Replication { .. } => "replication",
                };
                let (lane, key, produced_at) = (message.lane, message.key(), Some(message.produced_at));
                Ok(Seen { kind, lane, key, bytes: message.bytes, produced_at })
            }
            Source::Local(channel) => {
                let message = channel.next().await.map_err(|error| error.to_string())?;
                let (kind, key) = match &message {
                    local::Message::State { key, .. } => ("state", Some(*key)),
                    local::Message::Event { .. } => ("event", None),
                    local::Message::Command(_) => ("command", None),
                };
                Ok(Seen { kind, lane: 0, key, bytes: message.bytes().to_vec(), produced_at: None })
            }
        }
    }

    /// What the channel is like, in a line or two.
    pub(super) fn head(&self, name: &str) -> Vec<String> {
        let Source::Session(channel) = self else {
            return vec![format!("{name} through shared memory, open")];
        };
        let status = channel.status();
        let carrier = status.carrier.map_or_else(|| "no carrier".to_owned(), |carrier| carrier.to_string());
        let phase = match &status.phase {
            Phase::Connecting => "connecting".to_owned(),
            Phase::Open => "open".to_owned(),
            Phase::Interrupted => "interrupted, trying other carriers".to_owned(),
            Phase::Closed(closed) => format!("over: {closed}"),
        };
        let time = |time: Option<Duration>| time.map_or_else(|| "–".to_owned(), milliseconds);
        vec![
            format!("{name} over {carrier}, {phase}"),
            format!(
                "rtt {}   loss {:.1} %   freshness p50 {} p99 {}   superseded {}   resent {}   resumed {}",
                time(status.rtt),
                100.0 * status.loss,
                time(status.freshness),
                time(status.freshness_p99),
                status.superseded,
                status.resent,
                status.resumed,
            ),
        ]
    }

    /// Says goodbye.
    pub(super) async fn close(self) {
        // Dropping a local channel is its goodbye.
        if let Source::Session(channel) = self {
            channel.close(0, "");
            channel.closed().await;
        }
    }
}
