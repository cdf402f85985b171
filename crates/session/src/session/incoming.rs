//! Arriving packets, and their content for the application (`spec/SESSION.md`, sections 5 to 9 and 13).

use super::Session;
use super::handshake::{Admission, Handshake, Heard};
use super::lanes::{self, Lanes};
use super::recovery::{ItemOwners, Learners, Timing};
use crate::error::{Broken, CloseCode, Closed, ClosedBy};
use crate::lane::receive::What;
use crate::message::{Message, MessageKind};
use crate::packet::{Arrival, Data, EventKind, Frame, Hello, Packet, Refuse, Welcome, unfold_number};
use crate::sent::Item;
use crate::time::{Time, WIRE_UNIT_MICROS};

/// Maximum delay, in units of the wire. Longer delays are cut to this value, one minute, because they carry no information.
const DELAY_MAX: u64 = 60_000_000 / WIRE_UNIT_MICROS;
/// Number of packets after which memory is freed that only a burst of messages needed.
const SHRINK_INTERVAL: u64 = 32;

impl Session {
    /// Handles a packet from the current carrier. Any bytes are allowed. A packet that cannot be read or breaks a rule
    /// is counted, or closes the session with a named reason.
    pub fn handle_packet(&mut self, now: Time, bytes: &[u8]) {
        if !self.handshake.is_attached() {
            self.stats.dropped.closed += 1;
            return;
        }
        if bytes.is_empty() {
            self.stats.dropped.empty += 1;
            return;
        }
        self.stats.packets_received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        if self.stats.packets_received.is_multiple_of(SHRINK_INTERVAL) {
            self.lanes.shrink();
            self.recovery.sent.shrink();
        }
        let taken = match Packet::read(bytes) {
            Ok(Packet::Data(data)) => self.on_data(now, &data, bytes.len()),
            Ok(Packet::Hello(hello)) => self.on_hello(now, hello),
            Ok(Packet::Welcome(welcome)) => self.on_welcome(now, &welcome),
            Ok(Packet::Refuse(refuse)) => self.on_refuse(now, refuse),
            Err(malformed) if self.is_open() => {
                let reason = malformed.to_string();
                self.end(now, Closed { code: CloseCode::MALFORMED, reason, by: ClosedBy::Us });
                Ok(())
            }
            Err(malformed) => {
                self.stats.dropped.malformed += 1;
                if self.carrier.is_reliable {
                    self.handshake.refuse_malformed(bytes, &malformed);
                }
                Ok(())
            }
        };
        if let Err(Broken { code, reason }) = taken {
            self.end(now, Closed { code, reason: reason.to_owned(), by: ClosedBy::Us });
        }
    }

    fn on_hello(&mut self, now: Time, hello: Hello) -> Result<(), Broken> {
        let clock = hello.clock;
        match self.handshake.on_hello(hello) {
            Heard::First => {
                self.last_heard = now;
                self.clock.guess(now, clock);
            }
            Heard::Answered => {}
            Heard::Misplaced => self.stats.dropped.misplaced += 1,
        }
        Ok(())
    }

    fn on_welcome(&mut self, now: Time, welcome: &Welcome) -> Result<(), Broken> {
        let fits = self.lanes.fit(&welcome.limits);
        let Some(notice) = self.handshake.on_welcome(welcome, fits)? else {
            self.stats.dropped.misplaced += 1;
            return Ok(());
        };
        self.last_heard = now;
        self.clock.guess(now, welcome.clock);
        if welcome.hello_clock <= now.as_micros() {
            let sent = Time::from_micros(welcome.hello_clock);
            self.clock.sample(sent, welcome.clock as i64, welcome.clock as i64, now);
            self.recovery.sample(now.since(sent));
        }
        self.notify(notice);
        Ok(())
    }

    fn on_refuse(&mut self, now: Time, refuse: Refuse) -> Result<(), Broken> {
        let notice = self.handshake.on_refuse(now, refuse, self.carrier.is_reliable);
        self.stats.dropped.misplaced += u64::from(notice.is_none());
        self.notify(notice);
        Ok(())
    }

    /// Handles a data packet. Its number, its acknowledgement and its lanes are checked before any of it takes effect. A frame that
    /// breaks another rule closes the session after the frames before it took effect.
    fn on_data(&mut self, now: Time, data: &Data<'_>, length: usize) -> Result<(), Broken> {
        if !self.admits(data) {
            return Ok(());
        }
        let number = unfold_number(data.number_low, self.acks.largest());
        match self.acks.classify(number) {
            Arrival::New => {}
            Arrival::Duplicate => {
                self.stats.dropped.duplicate += 1;
                return Ok(());
            }
            Arrival::Ancient => {
                self.stats.dropped.ancient += 1;
                return Ok(());
            }
        }
        let acknowledged = match &data.ack {
            None => None,
            Some(ack) => match ack.resolve(self.recovery.sent.largest_sent()) {
                Some(ranges) => Some((ack, ranges)),
                None => {
                    let reason = "acknowledges what was never sent";
                    return Err(Broken { code: CloseCode::MALFORMED, reason });
                }
            },
        };
        self.lanes.check(data.lanes())?;
        self.acks.arrived(now, number, data, length, self.last_heard, self.carrier.is_reliable);
        self.recovery.on_packet_received(now, self.last_heard, &mut self.rate);
        self.last_heard = now;
        let left_peer = self.clock.unfold(data.time, now);
        if let Some((ack, ranges)) = acknowledged {
            let Self { lanes, handshake, recovery, rate, clock, stats, .. } = self;
            let delay_micros = ack.delay.min(DELAY_MAX) * WIRE_UNIT_MICROS;
            let timing = Timing { now, delay_micros, left_peer };
            let owners = &mut Owners { lanes, handshake };
            recovery.acknowledged(timing, &ranges, Learners { rate, clock, stats }, owners);
        }
        let left = self.clock.to_ours(left_peer, now);
        for frame in data.frames() {
            match frame {
                Frame::Padding | Frame::Ping | Frame::Proof(_) => {}
                Frame::Close { code, reason } => {
                    self.end(now, Closed { code, reason: reason.to_owned(), by: ClosedBy::Peer });
                }
                frame => {
                    let (limits, stats) = (&self.config.limits, &mut self.stats);
                    self.lanes.receive(number, &frame, lanes::Arrival { now, left, limits, stats })?;
                }
            }
        }
        Ok(())
    }

    fn admits(&mut self, data: &Data<'_>) -> bool {
        match self.handshake.admit_data(data) {
            Admission::Open => return true,
            Admission::Proven(notice) => {
                // The answer to a first PING gives the round trip and the clock before other content is sent.
                self.recovery.is_probe_due = true;
                self.notify(notice);
                return true;
            }
            Admission::Returned(notice) => {
                self.notify(notice);
                return true;
            }
            Admission::Closed => self.stats.dropped.closed += 1,
            Admission::Unproven => self.stats.dropped.unproven += 1,
        }
        false
    }

    /// Returns the next message according to the laws of the queue, with its payload in `into`. Lanes take turns.
    pub fn poll_message(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Message> {
        while let Some((lane, arrived)) = self.lanes.poll(now, into) {
            let kind = match arrived.what {
                What::State { key } => MessageKind::State { key },
                What::Replication { number } => MessageKind::Replication { packet: number },
                What::Event { number, kind: EventKind::Command } => MessageKind::Command { command: number },
                What::Event { kind: EventKind::Reply(command), .. } => {
                    let Some(command) = self.commands.answered(lane, command) else {
                        self.stats.dropped.late_replies += 1;
                        continue;
                    };
                    MessageKind::Reply { command }
                }
                What::Event { .. } => MessageKind::Event,
            };
            self.lanes.end_turn(lane);
            self.stats.messages_received += 1;
            return Some(Message { lane, kind, produced_at: arrived.at });
        }
        None
    }

    /// Whether [`poll_message`](Self::poll_message) may return a message.
    pub fn is_readable(&self) -> bool {
        self.lanes.is_readable()
    }
}

/// The parts of a session that own the contents of packets.
pub(super) struct Owners<'a> {
    pub(super) lanes: &'a mut Lanes,
    pub(super) handshake: &'a mut Handshake,
}

impl ItemOwners for Owners<'_> {
    fn arrived(&mut self, number: u64, item: Item) {
        match item {
            Item::State { lane, slot, stamp, part } => self.lanes.state_arrived(lane, slot, stamp, part),
            Item::Event { lane, number, part } => self.lanes.event_arrived(lane, number, part),
            Item::Replication { lane } => self.lanes.settled(lane, number, true),
            Item::Proof => self.handshake.forget_proof(),
            Item::Window { .. } => {}
        }
    }

    fn lost(&mut self, number: u64, item: Item) {
        self.lanes.lost(number, item);
    }
}
