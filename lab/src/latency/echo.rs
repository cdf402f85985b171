//! Both ends of the echo. One end sends at intervals without waiting, and the other end sends each message back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::local::now_ns;
use crate::peers::{Connection, Message, PeerError};

/// Maximum wait for late messages after the last one.
const GRACE: Duration = Duration::from_secs(4);
/// Pause after a connection was opened, until its handshake has ended.
const REST: Duration = Duration::from_millis(500);
/// The key of messages that are sent as state.
const KEY: u16 = 1;
/// Size of a message: a number and padding, as in source 003.
const MESSAGE_BYTES: usize = 64;

/// How the messages are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verb {
    /// Events. Every message must arrive, and in order if the peer has an order.
    Event,
    /// States. Only the newest message counts.
    State,
}

/// One run of the echo.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Echo {
    /// How the messages are sent.
    pub verb: Verb,
    /// Interval between messages.
    pub interval: Duration,
    /// Number of messages.
    pub samples: u32,
}

impl Echo {
    /// Returns the total duration.
    #[must_use]
    pub fn duration(&self) -> Duration {
        REST + self.interval * self.samples
    }
}

/// Round-trip time of each message in nanoseconds; `None` if the message did not return in time.
pub type RoundTrips = Vec<Option<u64>>;

/// The end that sends requests.
pub(crate) async fn ask(connection: &mut dyn Connection, echo: &Echo) -> Result<RoundTrips, PeerError> {
    let mut asked = Vec::with_capacity(echo.samples as usize);
    let mut answered: RoundTrips = vec![None; echo.samples as usize];
    let mut inbox = Vec::new();
    let start = Instant::now() + REST;
    until(connection, start, &mut inbox).await?;
    for number in 0..echo.samples {
        until_answered(connection, start + echo.interval * number, &asked, &mut answered, &mut inbox).await?;
        let mut message = [0; MESSAGE_BYTES];
        message[..4].copy_from_slice(&number.to_le_bytes());
        asked.push(now_ns());
        connection.put(if echo.verb == Verb::State { KEY } else { 0 }, &message)?;
        connection.flush()?;
    }
    let last = start + echo.interval * echo.samples + GRACE;
    until_answered(connection, last, &asked, &mut answered, &mut inbox).await?;
    Ok(answered)
}

/// The end that sends each message back, until the other end stops.
pub(crate) async fn answer(connection: &mut dyn Connection) -> Result<(), PeerError> {
    let mut inbox = Vec::new();
    loop {
        match connection.work(Instant::now() + GRACE, usize::MAX, &mut inbox).await {
            Ok(()) => {}
            Err(PeerError::Closed) => return Ok(()),
            Err(error) => return Err(error),
        }
        for message in inbox.drain(..) {
            connection.put(message.key, &message.bytes)?;
        }
        connection.flush()?;
    }
}

async fn until(
    connection: &mut dyn Connection,
    time: Instant,
    inbox: &mut Vec<Message>,
) -> Result<(), PeerError> {
    while Instant::now() < time {
        connection.work(time, usize::MAX, inbox).await?;
    }
    inbox.clear();
    Ok(())
}

/// Does the connection's work until `time`, or until all requests are answered.
async fn until_answered(
    connection: &mut dyn Connection,
    time: Instant,
    asked: &[u64],
    answered: &mut RoundTrips,
    inbox: &mut Vec<Message>,
) -> Result<(), PeerError> {
    while Instant::now() < time {
        let is_all = asked.len() == answered.len() && answered.iter().all(Option::is_some);
        if is_all {
            return Ok(());
        }
        connection.work(time, usize::MAX, inbox).await?;
        let now = now_ns();
        for message in inbox.drain(..) {
            let number = message.bytes.first_chunk().ok_or(PeerError::Frame("number"))?;
            let number = u32::from_le_bytes(*number) as usize;
            let sent = asked.get(number).ok_or(PeerError::Frame("number"))?;
            answered[number].get_or_insert(now - sent);
        }
    }
    Ok(())
}
