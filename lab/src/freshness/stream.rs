//! Both ends of the stream. One end produces values and events, and the other end samples them.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Ages;
use crate::local::now_ns;
use crate::peers::{Connection, Message, PeerError};

/// Number of keys. Keys are 1 to this number.
pub(super) const KEYS: u16 = 100;
pub(super) const STATE_BYTES: usize = 64;
pub(super) const EVENT_BYTES: usize = 32;
/// The sender's ticks a second.
pub(super) const RATE_HZ: u32 = 60;
/// Ticks between two events: ten events a second.
const TICKS_AN_EVENT: u32 = 6;
/// The reader samples a little more slowly than the sender produces. So the phase of the reader drifts evenly over all values,
/// several times a minute.
const LOOK_INTERVAL: Duration = Duration::from_nanos(16_666_667 * 301 / 300);
/// Time in which the connection finds its rate. Samples during this time do not count.
pub(super) const WARM_UP: Duration = Duration::from_secs(2);
/// Maximum wait for events after the last one was put.
const GRACE: Duration = Duration::from_secs(5);
const NS_A_SECOND: u64 = 1_000_000_000;

/// One run of the stream.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Stream {
    /// Duration of the measurement, after a warm-up.
    pub measured: Duration,
    /// Time of the outage, counted from the creation of the link.
    pub outage: Option<Range<Duration>>,
    /// The congestion control of a bulk transfer by TCP that shares the link; `None` if there is no such transfer.
    pub beside: Option<String>,
}

impl Stream {
    /// Returns the total duration.
    #[must_use]
    pub fn duration(&self) -> Duration {
        WARM_UP + self.measured
    }

    fn ticks(&self) -> u32 {
        (self.duration().as_secs_f64() * f64::from(RATE_HZ)) as u32
    }

    fn events(&self) -> u32 {
        self.ticks().div_ceil(TICKS_AN_EVENT)
    }
}

/// The header of every value and event.
struct Stamp {
    start_ns: u64,
    number: u32,
    produced_ns: u64,
}

impl Stamp {
    fn write(&self, message: &mut [u8]) {
        message[..8].copy_from_slice(&self.start_ns.to_le_bytes());
        message[8..12].copy_from_slice(&self.number.to_le_bytes());
        message[12..20].copy_from_slice(&self.produced_ns.to_le_bytes());
    }

    fn read(message: &[u8]) -> Result<Stamp, PeerError> {
        let short = PeerError::Frame("stamp");
        let (start, rest) = message.split_first_chunk().ok_or(PeerError::Frame("stamp"))?;
        let (number, rest) = rest.split_first_chunk().ok_or(PeerError::Frame("stamp"))?;
        let produced = rest.first_chunk().ok_or(short)?;
        Ok(Stamp {
            start_ns: u64::from_le_bytes(*start),
            number: u32::from_le_bytes(*number),
            produced_ns: u64::from_le_bytes(*produced),
        })
    }
}

/// The report of the sender.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) start_ns: u64,
    /// Number of ticks without a put, because the program waited for a full socket.
    pub(super) ticks_missed: u32,
}

/// The report of the reader.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Received {
    pub(super) ages: Ages,
    pub(super) events: Ages,
    /// Number of measured events that never arrived.
    pub(super) events_lost: u32,
    /// Number of events that arrived twice or out of order.
    pub(super) events_wrong: u32,
    /// Time from the end of the outage until every key showed a current value. A current value was produced after the outage, or
    /// in the last interval of the outage.
    pub(super) current_after_outage_ms: Option<f64>,
    /// Time from the end of the outage until all events that were put before that time had arrived.
    pub(super) events_after_outage_ms: Option<f64>,
}

/// The producing end.
pub(crate) async fn send(
    connection: &mut dyn Connection,
    stream: &Stream,
) -> Result<impl Serialize, PeerError> {
    let tick_interval = Duration::from_secs(1) / RATE_HZ;
    let (start, start_ns) = (Instant::now(), now_ns());
    let mut inbox = Vec::new();
    let mut sent = Sent { start_ns, ticks_missed: 0 };
    let mut event = 0;
    for tick in 0..stream.ticks() {
        let time = start + tick_interval * tick;
        while Instant::now() < time {
            connection.work(time, usize::MAX, &mut inbox).await?;
            inbox.clear();
        }
        if !connection.is_ready() {
            sent.ticks_missed += 1;
            continue;
        }
        while event * TICKS_AN_EVENT <= tick {
            // The latency of an event that waited in the program counts from the time at which it was due.
            let due = start_ns + u64::from(event * TICKS_AN_EVENT) * NS_A_SECOND / u64::from(RATE_HZ);
            let produced_ns = if event * TICKS_AN_EVENT < tick { due } else { now_ns() };
            let mut message = [0; EVENT_BYTES];
            Stamp { start_ns, number: event, produced_ns }.write(&mut message);
            connection.put(0, &message)?;
            event += 1;
        }
        // The order rotates. On a narrow link, a fixed order would starve the last keys.
        for turn in 0..KEYS {
            let key = 1 + ((u32::from(turn) + tick * 37) % u32::from(KEYS)) as u16;
            let mut value = [0; STATE_BYTES];
            Stamp { start_ns, number: tick, produced_ns: now_ns() }.write(&mut value);
            connection.put(key, &value)?;
        }
        connection.flush()?;
    }
    Ok(sent)
}

/// The reading end.
pub(crate) async fn receive(
    connection: &mut dyn Connection,
    stream: &Stream,
    link_start_ns: u64,
) -> Result<impl Serialize, PeerError> {
    let mut reader = Reader::new(stream, link_start_ns);
    let mut inbox = Vec::new();
    let mut look = Instant::now();
    loop {
        look += LOOK_INTERVAL;
        while Instant::now() < look {
            match connection.work(look, usize::MAX, &mut inbox).await {
                Ok(()) => {}
                Err(PeerError::Closed) => return Ok(reader.finish()),
                Err(error) => return Err(error),
            }
        }
        if reader.look(now_ns(), &mut inbox)? {
            return Ok(reader.finish());
        }
    }
}

struct Reader<'a> {
    stream: &'a Stream,
    /// By the machine's clock.
    outage_end_ns: Option<u64>,
    start_ns: Option<u64>,
    /// For each key, the time at which the shown value was produced; `None` if no value was shown yet.
    newest: Vec<Option<u64>>,
    events_next: u32,
    seen: Vec<bool>,
    received: Received,
}

impl<'a> Reader<'a> {
    fn new(stream: &'a Stream, link_start_ns: u64) -> Self {
        let outage_end_ns = stream.outage.as_ref().map(|outage| link_start_ns + outage.end.as_nanos() as u64);
        Self {
            stream,
            outage_end_ns,
            start_ns: None,
            newest: vec![None; usize::from(KEYS)],
            events_next: 0,
            seen: vec![false; stream.events() as usize],
            received: Received {
                ages: Ages::default(),
                events: Ages::default(),
                events_lost: 0,
                events_wrong: 0,
                current_after_outage_ms: None,
                events_after_outage_ms: None,
            },
        }
    }

    /// Reads the messages that have arrived, and records the ages of the shown values. Returns whether the stream has ended.
    fn look(&mut self, now: u64, inbox: &mut Vec<Message>) -> Result<bool, PeerError> {
        for message in inbox.drain(..) {
            let stamp = Stamp::read(&message.bytes)?;
            self.start_ns.get_or_insert(stamp.start_ns);
            if message.key == 0 {
                self.event(now, &stamp)?;
            } else {
                let newest = self.newest.get_mut(usize::from(message.key) - 1);
                let newest = newest.ok_or(PeerError::Frame("key"))?;
                // Peers without an order may deliver older values late. A program would not show these values.
                *newest = (*newest).max(Some(stamp.produced_ns));
            }
        }
        let Some(start) = self.start_ns else { return Ok(false) };
        let from = start + WARM_UP.as_nanos() as u64;
        let end = start + self.stream.duration().as_nanos() as u64;
        if now >= from && now < end {
            for newest in &self.newest {
                self.received.ages.push(now - newest.unwrap_or(start));
            }
        }
        self.look_at_outage(now);
        let is_over = now >= end && self.seen.iter().all(|seen| *seen);
        Ok(is_over || now >= end + GRACE.as_nanos() as u64)
    }

    fn event(&mut self, now: u64, stamp: &Stamp) -> Result<(), PeerError> {
        let seen = self.seen.get_mut(stamp.number as usize).ok_or(PeerError::Frame("number"))?;
        if *seen || stamp.number != self.events_next {
            self.received.events_wrong += 1;
        }
        self.events_next = stamp.number + 1;
        if !std::mem::replace(seen, true) && stamp.produced_ns >= stamp.start_ns + WARM_UP.as_nanos() as u64 {
            self.received.events.push(now.saturating_sub(stamp.produced_ns));
        }
        Ok(())
    }

    fn look_at_outage(&mut self, now: u64) {
        let (Some(end), Some(start)) = (self.outage_end_ns, self.start_ns) else { return };
        if now < end {
            return;
        }
        let after = (now - end) as f64 / 1e6;
        let interval = NS_A_SECOND / u64::from(RATE_HZ);
        if self.newest.iter().all(|newest| newest.is_some_and(|newest| newest + interval >= end)) {
            self.received.current_after_outage_ms.get_or_insert(after);
        }
        let put_before =
            end.saturating_sub(start) * u64::from(RATE_HZ) / NS_A_SECOND / u64::from(TICKS_AN_EVENT);
        let put_before = (put_before as usize).min(self.seen.len());
        if self.seen[..put_before].iter().all(|seen| *seen) {
            self.received.events_after_outage_ms.get_or_insert(after);
        }
    }

    fn finish(mut self) -> Received {
        let warm = WARM_UP.as_secs() as u32 * RATE_HZ / TICKS_AN_EVENT;
        let lost = self.seen.iter().skip(warm as usize).filter(|seen| !**seen).count();
        self.received.events_lost = lost as u32;
        self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(key: u16, start_ns: u64, produced_ns: u64) -> Message {
        let mut bytes = vec![0; STATE_BYTES];
        Stamp { start_ns, number: 0, produced_ns }.write(&mut bytes);
        Message { key, bytes }
    }

    #[test]
    fn a_key_that_never_arrived_is_as_old_as_the_stream() {
        let stream = Stream { measured: Duration::from_secs(1), outage: None, beside: None };
        let mut reader = Reader::new(&stream, 0);
        let start = 7_000_000_000;
        let now = start + 2_500_000_000;
        let mut inbox = (1..KEYS).map(|key| value(key, start, now - 30_000_000)).collect();
        assert!(!reader.look(now, &mut inbox).unwrap());
        let ages = reader.finish().ages;
        assert_eq!(ages.len(), u64::from(KEYS));
        assert!((ages.quantile(0.5) - 30.0).abs() < 0.2 && (ages.quantile(1.0) - 2500.0).abs() < 0.2);
    }

    #[test]
    fn an_older_value_that_arrives_late_is_not_shown() {
        let stream = Stream { measured: Duration::from_secs(1), outage: None, beside: None };
        let mut reader = Reader::new(&stream, 0);
        let mut inbox = vec![value(1, 0, 900), value(1, 0, 500)];
        reader.look(1_000, &mut inbox).unwrap();
        assert_eq!(reader.newest[0], Some(900));
    }
}
