//! Both ends of the paper's burst over a link: a thousand messages at once, and a reader that also does other work.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::MESSAGES;
use crate::latency::Verb;
use crate::local::now_ns;
use crate::peers::{Connection, PeerError};

/// The size of a message in the paper.
const MESSAGE_BYTES: usize = 80;
const READ_AT_ONCE: usize = 10;
const KEY: u16 = 1;
/// Pause between opening the connection and sending.
const REST: Duration = Duration::from_millis(500);
/// A reader that has received nothing for this long stops.
const PATIENCE: Duration = Duration::from_secs(15);

/// One run of the burst.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Burst {
    /// How the messages are sent.
    pub verb: Verb,
    /// The time that the reader works between two reads.
    pub work: Duration,
}

impl Burst {
    /// Maximum duration of a run in which every message is read.
    #[must_use]
    pub fn duration(&self) -> Duration {
        REST + self.work * (MESSAGES / READ_AT_ONCE as u64) as u32
    }
}

/// The report of the sender.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    /// Time from before the first message until the program was free for other work.
    pub(super) send_ns: u64,
}

/// The report of the reader.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Received {
    pub(super) read: u64,
    /// Time from the put of the last message to its reading; `None` if it was never read.
    pub(super) lag_ns: Option<u64>,
}

pub(crate) async fn send(
    connection: &mut dyn Connection,
    burst: &Burst,
) -> Result<impl Serialize, PeerError> {
    let mut inbox = Vec::new();
    let start = Instant::now() + REST;
    while Instant::now() < start {
        connection.work(start, usize::MAX, &mut inbox).await?;
    }
    let start = now_ns();
    for number in 1..=MESSAGES {
        let mut message = [0; MESSAGE_BYTES];
        message[..8].copy_from_slice(&number.to_le_bytes());
        message[8..16].copy_from_slice(&now_ns().to_le_bytes());
        connection.put(if burst.verb == Verb::State { KEY } else { 0 }, &message)?;
        connection.flush()?;
        while !connection.is_ready() {
            connection.work(Instant::now() + PATIENCE, usize::MAX, &mut inbox).await?;
        }
    }
    Ok(Sent { send_ns: now_ns() - start })
}

pub(crate) async fn receive(
    connection: &mut dyn Connection,
    burst: &Burst,
) -> Result<impl Serialize, PeerError> {
    let mut received = Received { read: 0, lag_ns: None };
    let mut inbox = Vec::new();
    let mut last_seen = Instant::now();
    while received.lag_ns.is_none() && last_seen.elapsed() < PATIENCE {
        // The deadline is short, because the poll should take almost no time. A peer whose network stack advances only when it is
        // called gets one call.
        let glance = Instant::now() + Duration::from_millis(1);
        connection.work(glance, READ_AT_ONCE, &mut inbox).await?;
        let now = now_ns();
        for message in inbox.drain(..) {
            let number = message.bytes.first_chunk().ok_or(PeerError::Frame("number"))?;
            let sent = message.bytes[8..].first_chunk().ok_or(PeerError::Frame("stamp"))?;
            received.read += 1;
            last_seen = Instant::now();
            if u64::from_le_bytes(*number) == MESSAGES {
                received.lag_ns = Some(now.saturating_sub(u64::from_le_bytes(*sent)));
            }
        }
        if !burst.work.is_zero() {
            tokio::time::sleep(burst.work).await;
        }
    }
    Ok(received)
}
