//! One end of a pair, in any implementation.

use std::time::Duration;

use nowcast_session::packet::Resume;
use nowcast_session::{Carrier, Entropy, MessageKind, Notice, Refused, Session, Source, Time};

/// One end of a pair. The application of a scenario uses this trait. An end is a [`Session`] in this process, or another
/// implementation in a separate process ([`crate::scenario::OtherImplementation`]).
pub trait Endpoint {
    /// Handles a packet that arrived.
    fn handle_packet(&mut self, now: Time, packet: &[u8]);

    /// Handles due timers, and adds the packets that leave to `packets`. Returns the time of the next wake-up.
    fn wake(&mut self, now: Time, source: &mut dyn Source, packets: &mut Vec<Vec<u8>>) -> Option<Time>;

    /// Records that the carrier is gone.
    fn detach(&mut self, now: Time);

    /// Attaches a new carrier.
    fn attach(&mut self, now: Time, carrier: Carrier, entropy: Entropy);

    /// Whether a HELLO with this data may resume the session of this end.
    fn may_resume(&self, resume: &Resume) -> bool;

    /// See [`Session::put_state`].
    ///
    /// # Errors
    /// Like [`Session::put_state`].
    fn put_state(&mut self, now: Time, lane: u8, key: u64, value: &[u8]) -> Result<(), Refused>;

    /// See [`Session::put_event`].
    ///
    /// # Errors
    /// Like [`Session::put_event`].
    fn put_event(&mut self, now: Time, lane: u8, payload: &[u8]) -> Result<(), Refused>;

    /// See [`Session::put_command`].
    ///
    /// # Errors
    /// Like [`Session::put_command`].
    fn put_command(
        &mut self,
        now: Time,
        lane: u8,
        payload: &[u8],
        patience: Duration,
    ) -> Result<u64, Refused>;

    /// See [`Session::put_reply`].
    ///
    /// # Errors
    /// Like [`Session::put_reply`].
    fn put_reply(&mut self, now: Time, lane: u8, command: u64, payload: &[u8]) -> Result<(), Refused>;

    /// Returns all notices, and with `with_messages` all messages that may be shown now.
    fn read(&mut self, now: Time, with_messages: bool) -> Polled;

    /// See [`Session::set_bytes_per_second_max`]. An end with a fixed budget ignores the call.
    fn set_bytes_per_second_max(&mut self, bytes_per_second_max: Option<u64>);

    /// Returns the state of this end.
    fn status(&self) -> Status;

    /// Returns the traffic so far.
    fn traffic(&self) -> Traffic;

    /// Returns a full description, for the report of a failure.
    fn describe(&self) -> String;
}

/// The notices and messages that an application received.
#[derive(Debug, Default)]
pub struct Polled {
    /// Notices about the session.
    pub notices: Vec<Notice>,
    /// Messages in the order in which they were shown.
    pub messages: Vec<PolledMessage>,
}

/// One message, and its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolledMessage {
    /// The lane of the message.
    pub lane: u8,
    /// The kind of the message.
    pub kind: MessageKind,
    /// The bytes of the message.
    pub payload: Vec<u8>,
}

/// The state of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Whether packets can flow.
    pub is_open: bool,
    /// Whether the end waits for a carrier.
    pub is_detached: bool,
    /// Whether all messages that were put have arrived at the peer.
    pub is_drained: bool,
    /// Whether the end has accepted a first HELLO, or its own HELLO was answered.
    pub knows_peer: bool,
}

/// Counters of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Packets that left.
    pub packets_sent: u64,
    /// Messages shown to the application.
    pub messages_received: u64,
}

/// Maximum number of packets at one instant. A driver that sends more hangs, because time would never pass.
const PACKETS_AT_ONCE_MAX: usize = 100_000;

impl Endpoint for Session {
    fn handle_packet(&mut self, now: Time, packet: &[u8]) {
        Session::handle_packet(self, now, packet);
    }

    fn wake(&mut self, now: Time, source: &mut dyn Source, packets: &mut Vec<Vec<u8>>) -> Option<Time> {
        self.handle_timeout(now);
        for sent in 0.. {
            assert!(sent < PACKETS_AT_ONCE_MAX, "the end sends an endless number of packets at {now:?}");
            let mut packet = Vec::new();
            if !self.poll_packet(now, source, &mut packet) {
                break;
            }
            packets.push(packet);
        }
        self.poll_timeout(now)
    }

    fn detach(&mut self, now: Time) {
        Session::detach(self, now);
    }

    fn attach(&mut self, now: Time, carrier: Carrier, entropy: Entropy) {
        Session::attach(self, now, carrier, entropy);
    }

    fn may_resume(&self, resume: &Resume) -> bool {
        self.check_resume(resume).is_ok()
    }

    fn put_state(&mut self, now: Time, lane: u8, key: u64, value: &[u8]) -> Result<(), Refused> {
        Session::put_state(self, now, lane, key, value)
    }

    fn put_event(&mut self, now: Time, lane: u8, payload: &[u8]) -> Result<(), Refused> {
        Session::put_event(self, now, lane, payload)
    }

    fn put_command(
        &mut self,
        now: Time,
        lane: u8,
        payload: &[u8],
        patience: Duration,
    ) -> Result<u64, Refused> {
        Session::put_command(self, now, lane, payload, patience)
    }

    fn put_reply(&mut self, now: Time, lane: u8, command: u64, payload: &[u8]) -> Result<(), Refused> {
        Session::put_reply(self, now, lane, command, payload)
    }

    fn read(&mut self, now: Time, with_messages: bool) -> Polled {
        let mut polled = Polled::default();
        polled.notices.extend(std::iter::from_fn(|| self.poll_notice()));
        let mut payload = Vec::new();
        while with_messages && let Some(message) = self.poll_message(now, &mut payload) {
            let payload = std::mem::take(&mut payload);
            polled.messages.push(PolledMessage { lane: message.lane, kind: message.kind, payload });
        }
        polled
    }

    fn set_bytes_per_second_max(&mut self, bytes_per_second_max: Option<u64>) {
        Session::set_bytes_per_second_max(self, bytes_per_second_max);
    }

    fn status(&self) -> Status {
        Status {
            is_open: self.is_open(),
            is_detached: self.is_detached(),
            is_drained: self.is_drained(),
            knows_peer: self.identity().is_some(),
        }
    }

    fn traffic(&self) -> Traffic {
        let stats = self.stats();
        Traffic { packets_sent: stats.packets_sent, messages_received: stats.messages_received }
    }

    fn describe(&self) -> String {
        format!("in Rust, {:?}, {:?}", self.status(), self.gauges())
    }
}
