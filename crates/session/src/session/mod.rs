//! The session: its verbs, in the order in which a driver calls them.

mod acks;
mod commands;
mod handshake;
mod incoming;
mod outage;
mod outgoing;
mod redundancy;
mod timers;

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::{Carrier, Config, Entropy};
use crate::error::{CloseCode, Closed, ClosedBy, Refused};
use crate::lane::LaneConfig;
use crate::lane::receive::{ReceiveLane, What};
use crate::lane::send::{Bound, SendLane};
use crate::limits::{LANES_MAX, Limits};
use crate::message::{Message, MessageKind, Notice};
use crate::packet::{EventKind, Received, Resume};
use crate::rate::Rate;
use crate::rtt::Rtt;
use crate::sent::SentPackets;
use crate::source::PacketOutcome;
use crate::stats::{Gauges, Stats};
use crate::store::Store;
use crate::time::Time;
use acks::AckState;
use commands::Commands;
use handshake::Phase;
use outage::Outage;
use redundancy::Redundancy;

/// One end of one conversation, independent of any carrier, clock or thread.
///
/// Call, in any order and as often as wanted, what puts something in: [`put_state`](Self::put_state) and its siblings,
/// [`handle_packet`](Self::handle_packet), [`handle_timeout`](Self::handle_timeout). After any of them call
/// [`poll_packet`](Self::poll_packet) until it has none, and then [`poll_timeout`](Self::poll_timeout) for the time of the
/// next [`handle_timeout`](Self::handle_timeout). [`poll_message`](Self::poll_message), [`poll_notice`](Self::poll_notice)
/// and [`poll_outcome`](Self::poll_outcome) give the application what came in; nothing is lost if it is slow, states are replaced
/// by newer ones, and the peer waits.
///
/// Time must not run backwards between calls.
#[derive(Debug)]
pub struct Session {
    config: Config,
    carrier: Carrier,
    entropy: Entropy,
    is_initiator: bool,
    phase: Phase,
    identity: Option<Resume>,
    /// The initiator's count of carriers tried; an attempt that died unanswered counts too.
    epoch: u64,
    /// What the peer accepts; our own until it told us.
    peer: Limits,
    idle_timeout: Duration,
    resume_timeout: Duration,
    received: Received,
    ack: AckState,
    sent: SentPackets,
    rtt: Rtt,
    rate: Rate,
    clock: Clock,
    outgoing: Vec<Option<Box<SendLane>>>,
    incoming: Vec<Option<Box<ReceiveLane>>>,
    next_to_read: u8,
    /// A bit for each incoming lane that may have something to read.
    readable: u16,
    turn_floor: u64,
    store: Store,
    stats: Stats,
    notices: VecDeque<Notice>,
    outcomes: VecDeque<PacketOutcome>,
    commands: Commands,
    redundancy: Redundancy,
    bound: Vec<Bound>,
    scratch: Vec<u8>,
    proof: Option<Proof>,
    last_heard: Time,
    waits_since: Option<Time>,
    outage: Outage,
    /// Sent since the silence began.
    silent_bytes: u64,
    probes: u32,
    probed_at: Time,
    is_probe_due: bool,
    quiet_run: u32,
    source_waits: bool,
    largest_put: usize,
    highest_lane: u8,
    /// The lanes below this one may have brought something.
    lanes_heard: u8,
    has_sources: bool,
}

/// The initiator's proof, until one packet that carries it is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Proof {
    bytes: [u8; 8],
    was_sent: bool,
}

/// Notices kept for an application that does not read them, the newest.
const NOTICES_UNREAD_MAX: usize = 4_096;

impl Session {
    /// Begins a session: the first packet it gives is a HELLO.
    pub fn connect(now: Time, config: Config, carrier: Carrier, entropy: Entropy) -> Self {
        let mut session = Self::new(now, config, carrier, entropy, true);
        session.begin_connecting(now);
        session
    }

    /// Waits for a HELLO; sends nothing before, and nothing but its answer until the peer is proven.
    pub fn accept(now: Time, config: Config, carrier: Carrier, entropy: Entropy) -> Self {
        Self::new(now, config, carrier, entropy, false)
    }

    fn new(now: Time, config: Config, carrier: Carrier, entropy: Entropy, is_initiator: bool) -> Self {
        let lanes = config.lanes.len().min(LANES_MAX.into());
        let has_sources = config.lanes.iter().any(|lane| lane.has_source);
        debug_assert_eq!(config.limits.check(), Ok(()), "limits are within the bounds of the specification");
        Self {
            peer: config.limits,
            idle_timeout: config.limits.idle_timeout,
            resume_timeout: config.limits.resume_timeout,
            outgoing: (0..lanes).map(|_| None).collect(),
            incoming: (0..config.limits.lanes_max).map(|_| None).collect(),
            rate: Rate::new(config.bytes_per_second_max),
            redundancy: Redundancy::new(config.redundancy_bits_per_second),
            config,
            carrier,
            entropy,
            is_initiator,
            phase: Phase::Listening,
            identity: None,
            epoch: 0,
            received: Received::new(),
            ack: AckState::default(),
            sent: SentPackets::default(),
            rtt: Rtt::default(),
            clock: Clock::new(),
            next_to_read: 0,
            readable: 0,
            turn_floor: 0,
            store: Store::default(),
            stats: Stats::default(),
            notices: VecDeque::new(),
            outcomes: VecDeque::new(),
            commands: Commands::default(),
            bound: Vec::new(),
            scratch: Vec::new(),
            proof: None,
            last_heard: now,
            waits_since: None,
            outage: Outage::default(),
            silent_bytes: 0,
            probes: 0,
            probed_at: now,
            is_probe_due: false,
            quiet_run: 0,
            source_waits: false,
            largest_put: 0,
            highest_lane: 0,
            lanes_heard: 0,
            has_sources,
        }
    }

    /// Puts the newest value of `key` (greater than 0): it replaces one that was not sent yet.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane has no entry for a new key; known keys are always accepted as long as bytes suffice.
    pub fn put_state(&mut self, now: Time, lane: u8, key: u64, value: &[u8]) -> Result<(), Refused> {
        if key == 0 {
            return Err(Refused::KeyZero);
        }
        self.check_put(lane, value.len())?;
        let outgoing = lane_mut(&mut self.outgoing, &self.config, lane);
        outgoing.put_state(now, key, value, &mut self.store, &mut self.stats)
    }

    /// Puts an event; returns its name in notices. With `time_to_live` it may expire, and then a notice says so.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane holds as much as it may, or 16,384 events with a time to live have not arrived.
    pub fn put_event(
        &mut self,
        now: Time,
        lane: u8,
        payload: &[u8],
        time_to_live: Option<Duration>,
    ) -> Result<u64, Refused> {
        if time_to_live.is_some() && !self.commands.has_room_for_event() {
            return Err(Refused::Full);
        }
        let expires = time_to_live.map(|time_to_live| now + time_to_live);
        let id = self.put(now, lane, EventKind::Event, payload, expires)?;
        if let Some(at) = expires {
            self.commands.add_event(at, lane, id);
        }
        Ok(id)
    }

    /// Puts a command; returns its name, with which the reply comes, or a notice when `patience` has ended.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane holds as much as it may, or 4,096 commands wait for replies.
    pub fn put_command(
        &mut self,
        now: Time,
        lane: u8,
        payload: &[u8],
        patience: Duration,
    ) -> Result<u64, Refused> {
        if !self.commands.has_room_for_command() {
            return Err(Refused::Full);
        }
        let at = now + patience;
        let id = self.put(now, lane, EventKind::Command, payload, Some(at))?;
        self.commands.add_command(at, lane, id);
        Ok(id)
    }

    /// Answers the command that came as [`MessageKind::Command`] on `lane`.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane holds as much as it may.
    pub fn put_reply(&mut self, now: Time, lane: u8, command: u64, payload: &[u8]) -> Result<(), Refused> {
        self.put(now, lane, EventKind::Reply(command), payload, None).map(drop)
    }

    fn put(
        &mut self,
        now: Time,
        lane: u8,
        kind: EventKind,
        payload: &[u8],
        expires: Option<Time>,
    ) -> Result<u64, Refused> {
        self.check_put(lane, payload.len())?;
        let outgoing = lane_mut(&mut self.outgoing, &self.config, lane);
        outgoing.put_event(now, kind, payload, expires, &mut self.store)
    }

    fn check_put(&mut self, lane: u8, length: usize) -> Result<(), Refused> {
        if matches!(self.phase, Phase::Closing { .. } | Phase::Closed) {
            return Err(Refused::Closed);
        }
        let lanes = self.lanes();
        if lane >= lanes {
            return Err(Refused::NoLane { lane, lanes });
        }
        let bytes_max = self.peer.message_bytes_max as usize;
        if length > bytes_max {
            return Err(Refused::TooLarge { bytes: length, bytes_max });
        }
        self.largest_put = self.largest_put.max(length);
        self.highest_lane = self.highest_lane.max(lane);
        Ok(())
    }

    /// How many lanes can be sent on: ours, as far as the peer accepts them.
    pub fn lanes(&self) -> u8 {
        self.peer.lanes_max.min(self.outgoing.len() as u8)
    }

    /// How many lanes may have something to send: all, if sources feed some, or those that were put on.
    fn lanes_in_use(&self) -> usize {
        let used = if self.has_sources { LANES_MAX } else { self.highest_lane + 1 };
        self.lanes().min(used).into()
    }

    /// The next message by the laws of the queue, its payload in `into`; lanes take turns.
    pub fn poll_message(&mut self, now: Time, into: &mut Vec<u8>) -> Option<Message> {
        while self.readable != 0 {
            let ahead = self.readable.rotate_right(self.next_to_read.into()).trailing_zeros() as u8;
            let lane = (self.next_to_read + ahead) % LANES_MAX;
            while let Some(arrived) = self.poll_lane(now, lane) {
                into.clear();
                into.extend_from_slice(self.store.get(arrived.payload));
                self.store.remove(arrived.payload);
                let Some(kind) = self.message_kind(lane, arrived.what) else { continue };
                self.next_to_read = (lane + 1) % LANES_MAX;
                self.stats.messages_received += 1;
                return Some(Message { lane, kind, produced_at: arrived.at });
            }
            self.readable &= !(1 << lane);
        }
        None
    }

    /// Whether [`poll_message`](Self::poll_message) may have something.
    pub fn is_readable(&self) -> bool {
        self.readable != 0
    }

    fn poll_lane(&mut self, now: Time, lane: u8) -> Option<crate::lane::receive::Arrived> {
        self.incoming[usize::from(lane)].as_mut()?.poll(now)
    }

    /// `None` for the reply to a command that nobody waits for.
    fn message_kind(&mut self, lane: u8, what: What) -> Option<MessageKind> {
        Some(match what {
            What::State { key } => MessageKind::State { key },
            What::Replication { number } => MessageKind::Replication { packet: number },
            What::Event { number, kind: EventKind::Command } => MessageKind::Command { command: number },
            What::Event { kind: EventKind::Reply(command), .. } => {
                let Some(command) = self.commands.answered(lane, command) else {
                    self.stats.dropped.late_replies += 1;
                    return None;
                };
                MessageKind::Reply { command }
            }
            What::Event { .. } => MessageKind::Event,
        })
    }

    /// The next piece of news about the session itself. Of more than 4,096 that are not read, the oldest are given up and
    /// counted.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn tell(&mut self, notice: Notice) {
        if self.notices.len() >= NOTICES_UNREAD_MAX {
            self.notices.pop_front();
            self.stats.dropped.notices += 1;
        }
        self.notices.push_back(notice);
    }

    /// What became of the bytes a [`crate::Replication`] put into a packet. While 4,096 are not read, sources are not asked for more.
    pub fn poll_outcome(&mut self) -> Option<PacketOutcome> {
        self.outcomes.pop_front()
    }

    /// Ends the session; the peer is told `code` and `reason`.
    pub fn close(&mut self, now: Time, code: CloseCode, reason: &str) {
        self.end(now, Closed { code, reason: reason.to_owned(), by: ClosedBy::Us });
    }

    /// The budget of [`Config::bytes_per_second_max`], from now on.
    pub fn set_bytes_per_second_max(&mut self, bytes_per_second_max: Option<u64>) {
        self.config.bytes_per_second_max = bytes_per_second_max;
        self.rate.set_budget(bytes_per_second_max);
    }

    /// Sends something at once that the peer acknowledges at once, so that the round trip is measured now.
    pub fn ping(&mut self) {
        if self.is_open() {
            self.is_probe_due = true;
        }
    }

    /// Whether packets can flow.
    pub fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open)
    }

    /// Whether the session is over, or will be once its last packets have left.
    pub fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closing { .. } | Phase::Closed)
    }

    /// Whether nothing is left to be done for a session that is closed: the peer was told, as far as it listened.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }

    /// Whether the session waits for a new carrier.
    pub fn is_detached(&self) -> bool {
        matches!(self.phase, Phase::Detached { .. })
    }

    /// Whether everything put has arrived at the peer.
    pub fn is_drained(&self) -> bool {
        self.outgoing.iter().flatten().all(|lane| lane.is_drained())
    }

    /// What a peer needs to go on with this session on another carrier, once it is known.
    pub fn identity(&self) -> Option<&Resume> {
        self.identity.as_ref()
    }

    /// What the peer accepts; ours until it told us.
    pub fn peer_limits(&self) -> &Limits {
        &self.peer
    }

    /// The estimate of the peer's clock.
    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    /// Counters since the session began.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// What is measured now.
    pub fn gauges(&self) -> Gauges {
        Gauges {
            round_trip: self.rtt.smoothed(),
            round_trip_latest: self.rtt.latest(),
            round_trip_min: self.rtt.minimum(),
            round_trip_variation: self.rtt.variation(),
            queueing_delay: self.rate.queue(),
            bytes_per_second: self.rate.bytes_per_second(),
            in_flight_bytes: self.sent.in_flight_bytes(),
            waiting: self.outgoing.iter().flatten().map(|lane| lane.waiting()).sum(),
            unread: self.incoming.iter().flatten().map(|lane| lane.unread()).sum(),
        }
    }
}

/// The lane, made when it is first used: an idle session is small.
fn lane_mut<'a>(lanes: &'a mut [Option<Box<SendLane>>], config: &Config, lane: u8) -> &'a mut SendLane {
    lanes[usize::from(lane)].get_or_insert_with(|| {
        let config: LaneConfig = config.lanes[usize::from(lane)];
        Box::new(SendLane::new(lane, config))
    })
}
