//! A reader that was stopped continues with the newest values, not with the history (`spec/SESSION.md`, section 10).

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use nowcast_session::{Carrier, Config, Entropy, NoSource, Session, Time};

const KEYS: u64 = 1_000;
const TICK: Duration = Duration::from_millis(1);
/// Time that a packet spends on the link.
const DELAY: Duration = Duration::from_millis(5);
/// Milliseconds between two values of a key.
const PERIOD: u64 = 17;

/// A sender, a reader, and a link that buffers the packets for a stopped reader.
struct Stream {
    sender: Session,
    reader: Session,
    links: [VecDeque<(Time, Vec<u8>)>; 2],
    now: Time,
    is_stopped: bool,
}

impl Stream {
    fn new(carrier: Carrier) -> Self {
        let now = Time::from_millis(1);
        Self {
            sender: Session::accept(now, Config::default(), carrier, Entropy([2; 48])),
            reader: Session::connect(now, Config::default(), carrier, Entropy([1; 48])),
            links: Default::default(),
            now,
            is_stopped: false,
        }
    }

    /// Runs a millisecond. Returns the keys of values that are shown and were put at `since` or later.
    fn step(&mut self, since: Time) -> Vec<u64> {
        self.now += TICK;
        let now = self.now;
        if now.as_micros().is_multiple_of(PERIOD * 1_000) {
            for key in 1..=KEYS {
                let value = now.as_micros().to_le_bytes();
                self.sender.put_state(now, 0, key, &value).expect("there is room");
            }
        }
        let [to_reader, to_sender] = &mut self.links;
        turn(&mut self.sender, now, to_sender, to_reader);
        let mut keys = Vec::new();
        if !self.is_stopped {
            turn(&mut self.reader, now, to_reader, to_sender);
            let mut value = Vec::new();
            while let Some(message) = self.reader.poll_message(now, &mut value) {
                let nowcast_session::MessageKind::State { key } = message.kind else { continue };
                let put = u64::from_le_bytes(value[..].try_into().expect("a time"));
                keys.extend((put >= since.as_micros()).then_some(key));
            }
        }
        keys
    }
}

/// Handles arrived packets, advances the time and sends.
fn turn(
    session: &mut Session,
    now: Time,
    from: &mut VecDeque<(Time, Vec<u8>)>,
    to: &mut VecDeque<(Time, Vec<u8>)>,
) {
    while let Some((_, packet)) = from.pop_front_if(|(due, _)| *due <= now) {
        session.handle_packet(now, &packet);
    }
    session.handle_timeout(now);
    let mut packet = Vec::new();
    while session.poll_packet(now, &mut NoSource, &mut packet) {
        to.push_back((now + DELAY, std::mem::take(&mut packet)));
    }
    session.poll_timeout(now);
}

/// Stops the reader for this time. Returns how long after the stop every key has a value that was put after the stop.
fn current_after(carrier: Carrier, stopped: Duration) -> Duration {
    let mut stream = Stream::new(carrier);
    while stream.now < Time::from_millis(3_000) {
        stream.step(Time::default());
    }
    stream.is_stopped = true;
    let woken = stream.now + stopped;
    while stream.now < woken {
        stream.step(Time::default());
    }
    stream.is_stopped = false;
    let mut current = HashSet::new();
    while current.len() < KEYS as usize {
        current.extend(stream.step(woken));
        assert!(stream.now < woken + Duration::from_secs(5), "{} keys are current", current.len());
    }
    stream.now.since(woken)
}

/// A round trip and two intervals.
const ALLOWED: Duration = Duration::from_millis(2 * 5 + 2 * PERIOD);

#[test]
fn a_stopped_reader_of_datagrams_is_current_within_a_round_trip_and_two_intervals() {
    for stopped in [3, 11] {
        let after = current_after(Carrier::DATAGRAMS, Duration::from_secs(stopped));
        assert!(after <= ALLOWED, "after {stopped} s: {after:?}");
    }
}

#[test]
fn a_stopped_reader_of_a_stream_is_current_within_a_round_trip_and_two_intervals() {
    for stopped in [3, 11] {
        let after = current_after(Carrier::STREAM, Duration::from_secs(stopped));
        assert!(after <= ALLOWED, "after {stopped} s: {after:?}");
    }
}
