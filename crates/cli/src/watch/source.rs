//! The source of the messages that are watched.

use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Channel, Key, MessageKind, Phase};
use nowcast_world_client::Join;

use crate::output::printable;
use crate::reach::{Reach, milliseconds};
use crate::send::text;
use crate::world_reader::WorldReader;

/// A watched channel.
pub(super) struct Source {
    channel: Channel,
    /// Decodes the messages of a world, if one was joined.
    reader: Option<WorldReader>,
}

/// A message.
pub(super) struct Seen {
    /// `state`, `event`, `command` or `replication`.
    pub(super) kind: &'static str,
    pub(super) lane: u8,
    /// The key of a state.
    pub(super) key: Option<u64>,
    pub(super) bytes: Vec<u8>,
    /// A description of the message, if it came from a world. The text is safe for a terminal.
    pub(super) words: Option<String>,
    /// The time at which the message was produced, if known.
    pub(super) produced_at: Option<Instant>,
}

impl Seen {
    /// Returns the text to show: the description, or at most `bytes_max` of the bytes, as text or in hexadecimal.
    pub(super) fn shown(&self, bytes_max: usize) -> String {
        let of_bytes = || text(&self.bytes[..self.bytes.len().min(bytes_max)]);
        self.words.clone().unwrap_or_else(of_bytes)
    }

    pub(super) fn age(&self) -> Option<Duration> {
        self.produced_at.map(|at| at.elapsed())
    }
}

impl Source {
    /// Connects over the best carrier. If a name is given, joins the world there as `name`.
    pub(super) async fn open(reach: &Reach, name: Option<&str>) -> anyhow::Result<Source> {
        let channel = reach.connect().await?;
        if let Some(name) = name {
            Join::new(name).send(&channel)?;
        }
        Ok(Source { channel, reader: name.map(|_| WorldReader::default()) })
    }

    /// Returns the next message, or the reason why there are no more messages.
    pub(super) async fn next(&mut self) -> Result<Seen, String> {
        let message = self.channel.receive().await.map_err(|error| error.to_string())?;
        let kind = match message.kind {
            MessageKind::State { .. } => "state",
            MessageKind::Event => "event",
            MessageKind::Command(_) => "command",
            MessageKind::Replication { .. } => "replication",
        };
        // Over a local carrier, messages have no time of production.
        let is_dated = !self.channel.status().carrier.is_some_and(CarrierKind::is_local);
        let produced_at = is_dated.then_some(message.produced_at);
        let (lane, key) = (message.lane.number(), message.key().map(Key::raw));
        let words = self.reader.as_mut().and_then(|reader| match message.kind {
            MessageKind::State { .. } | MessageKind::Event => reader.message(lane, key, &message.bytes),
            MessageKind::Replication { .. } => WorldReader::movement(&message.bytes),
            MessageKind::Command(_) => None,
        });
        Ok(Seen { kind, lane, key, words, bytes: message.bytes, produced_at })
    }

    /// Describes the channel in a few lines.
    pub(super) fn head(&self, name: &str) -> Vec<String> {
        let status = self.channel.status();
        let carrier = status.carrier.map_or_else(|| "no carrier".to_owned(), |carrier| carrier.to_string());
        let phase = match &status.phase {
            Phase::Connecting => "connecting".to_owned(),
            Phase::Open => "open".to_owned(),
            Phase::Interrupted => "interrupted, trying other carriers".to_owned(),
            Phase::Closed(closed) => format!("over: {}", printable(&closed.to_string())),
        };
        let time = |time: Option<Duration>| time.map_or_else(|| "–".to_owned(), milliseconds);
        vec![
            format!("{name} over {carrier}, {phase}"),
            format!(
                "rtt {}   loss {:.1} %   age p50 {} p99 {}",
                time(status.rtt),
                100.0 * status.loss,
                time(status.freshness),
                time(status.freshness_p99),
            ),
            // The counters of this end are small, because a watcher sends little.
            format!(
                "superseded {}   resent {}   resumed {}",
                status.superseded, status.resent, status.resumed
            ),
        ]
    }

    /// Closes the channel.
    pub(super) async fn close(self) {
        self.channel.leave(0, "").await;
    }
}
