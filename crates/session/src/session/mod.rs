//! The session: its parts, and the verbs in the order in which a driver calls them.
//!
//! | file | content |
//! | --- | --- |
//! | `outgoing.rs` | outgoing: puts, and [`Session::poll_packet`] |
//! | `incoming.rs` | incoming: [`Session::handle_packet`], and [`Session::poll_message`] |
//! | `timers.rs` | time: [`Session::handle_timeout`], [`Session::poll_timeout`] |
//! | `handshake.rs` | beginning, resuming and ending |
//! | `recovery.rs` | packets in flight: acknowledgement, loss, probes, silence |
//! | `acks.rs` | when to acknowledge packets |
//! | `redundancy.rs` | small events that are sent again before any loss is known |
//! | `commands.rs` | commands without a reply, and their deadlines |
//! | `lanes.rs` | the lanes, and the content of a packet |

mod acks;
mod commands;
mod handshake;
mod incoming;
mod lanes;
mod outgoing;
mod recovery;
mod redundancy;
mod timers;

use std::collections::VecDeque;
use std::time::Duration;

use crate::clock::Clock;
use crate::config::{Carrier, Config, Entropy};
use crate::error::{CloseCode, Closed, ClosedBy, Malformed};
use crate::lane::send::{Backlog, WaitingMessage};
use crate::message::Notice;
use crate::packet::Resume;
use crate::rate::Rate;
use crate::source::PacketOutcome;
use crate::stats::{Gauges, Stats};
use crate::time::Time;
use acks::Acknowledger;
use commands::Commands;
use handshake::Handshake;
use incoming::Owners;
use lanes::Lanes;
use outgoing::Filling;
use recovery::Recovery;
use redundancy::Redundancy;

/// One end of a conversation, independent of any carrier, clock or thread.
///
/// The calls that give input may be made in any order and as often as needed: [`put_state`](Self::put_state) and its siblings,
/// [`handle_packet`](Self::handle_packet), [`handle_timeout`](Self::handle_timeout). After any of these calls, call
/// [`poll_packet`](Self::poll_packet) until it returns no packet. Then call [`poll_timeout`](Self::poll_timeout) for the time of
/// the next [`handle_timeout`](Self::handle_timeout). [`poll_message`](Self::poll_message), [`poll_notice`](Self::poll_notice)
/// and [`poll_outcome`](Self::poll_outcome) give the received data to the application. If the application is slow, nothing is
/// lost: newer states replace older ones, and the peer waits.
///
/// Time must not run backwards between calls.
#[derive(Debug)]
pub struct Session {
    config: Config,
    carrier: Carrier,
    handshake: Handshake,
    recovery: Recovery,
    rate: Rate,
    redundancy: Redundancy,
    commands: Commands,
    lanes: Lanes,
    acks: Acknowledger,
    clock: Clock,
    last_heard: Time,
    stats: Stats,
    notices: VecDeque<Notice>,
    /// The packet into which a source writes.
    filling: Option<Filling>,
}

/// Maximum number of unread notices. The oldest are dropped.
const NOTICES_UNREAD_MAX: usize = 4_096;

impl Session {
    /// Begins a session. Its first packet is a HELLO.
    pub fn connect(now: Time, config: Config, carrier: Carrier, entropy: Entropy) -> Self {
        Self::new(now, config, carrier, entropy, true)
    }

    /// Waits for a HELLO, and sends nothing before the HELLO arrives. Until the peer is proven, sends only the answer.
    pub fn accept(now: Time, config: Config, carrier: Carrier, entropy: Entropy) -> Self {
        Self::new(now, config, carrier, entropy, false)
    }

    fn new(now: Time, config: Config, carrier: Carrier, entropy: Entropy, is_initiator: bool) -> Self {
        debug_assert_eq!(config.limits.check(), Ok(()), "limits are within the bounds of the specification");
        Self {
            lanes: Lanes::new(&config, entropy.seed()),
            handshake: Handshake::new(now, &config, entropy, is_initiator),
            recovery: Recovery::new(now, carrier.is_reliable),
            rate: Rate::new(config.bytes_per_second_max),
            redundancy: Redundancy::new(config.redundancy_bits_per_second),
            commands: Commands::default(),
            acks: Acknowledger::new(),
            clock: Clock::new(),
            last_heard: now,
            stats: Stats::default(),
            notices: VecDeque::new(),
            filling: None,
            config,
            carrier,
        }
    }

    /// Continues the session over another carrier. The old carrier is no longer used. `entropy` must be fresh.
    ///
    /// An acceptor that serves many sessions reads a HELLO with [`crate::packet::Hello::read`] and finds the session that it names. The
    /// acceptor then calls [`check_resume`](Self::check_resume) on that session, attaches the carrier and handles the HELLO.
    pub fn attach(&mut self, now: Time, carrier: Carrier, entropy: Entropy) {
        if self.is_closed() {
            return;
        }
        self.abandon_packet(now);
        self.carrier = carrier;
        let Self { lanes, handshake, recovery, stats, .. } = self;
        recovery.change_carrier(carrier.is_reliable, stats, &mut Owners { lanes, handshake });
        self.lanes.change_carrier();
        self.rate.restart(0.5);
        self.acks.forget_path();
        self.handshake.attach(now, entropy);
        self.last_heard = now;
    }

    /// Reports that the carrier is dead, before the session concludes it from the silence.
    pub fn detach(&mut self, now: Time) {
        let notice = self.handshake.detach(now);
        self.notify(notice);
    }

    /// Checks whether a HELLO may resume this session. The comparison takes the same time for every token.
    ///
    /// # Errors
    /// The code of the refusal.
    pub fn check_resume(&self, resume: &Resume) -> Result<(), CloseCode> {
        self.handshake.check_resume(resume)
    }

    /// Appends the refusal of a first packet that cannot be read as a HELLO. This applies to carriers on which only the sender
    /// can be at fault. On other carriers such packets are dropped, and the call returns `false`.
    pub fn refuse_first(packet: &[u8], malformed: &Malformed, carrier: Carrier, out: &mut Vec<u8>) -> bool {
        if carrier.is_reliable {
            handshake::write_unreadable(packet, malformed, out);
        }
        carrier.is_reliable
    }

    /// Ends the session. The peer receives `code` and `reason`.
    pub fn close(&mut self, now: Time, code: CloseCode, reason: &str) {
        self.end(now, Closed { code, reason: reason.to_owned(), by: ClosedBy::Us });
    }

    fn end(&mut self, now: Time, closed: Closed) {
        let notice = self.handshake.end(now, closed);
        self.notify(notice);
    }

    /// Returns the next notice about the session itself. If more than 4,096 are unread, the oldest are dropped and counted.
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    fn notify(&mut self, notice: impl Into<Option<Notice>>) {
        let Some(notice) = notice.into() else { return };
        if notice == Notice::Detached {
            self.acks.forget();
            self.recovery.is_probe_due = false;
        }
        if self.notices.len() >= NOTICES_UNREAD_MAX {
            self.notices.pop_front();
            self.stats.dropped.notices += 1;
        }
        self.notices.push_back(notice);
    }

    /// Returns the outcome of bytes that a [`crate::Source`] wrote into a packet. While 4,096 outcomes are unread,
    /// sources get no space.
    pub fn poll_outcome(&mut self) -> Option<PacketOutcome> {
        self.lanes.poll_outcome()
    }

    /// Sets the value of [`Config::bytes_per_second_max`] from now on.
    pub fn set_bytes_per_second_max(&mut self, bytes_per_second_max: Option<u64>) {
        self.config.bytes_per_second_max = bytes_per_second_max;
        self.rate.set_budget(bytes_per_second_max);
    }

    /// Measures the round trip now: sends a frame at once that the peer acknowledges at once.
    pub fn ping(&mut self) {
        if self.is_open() {
            self.recovery.is_probe_due = true;
        }
    }

    /// Whether packets can flow.
    pub fn is_open(&self) -> bool {
        self.handshake.is_open()
    }

    /// Whether the session is over, or will be once its last packets have left.
    pub fn is_closed(&self) -> bool {
        self.handshake.is_closed()
    }

    /// Whether a closed session has nothing left to do. Such a session has informed the peer, if the peer was reachable.
    pub fn is_over(&self) -> bool {
        self.handshake.is_over()
    }

    /// Whether the session waits for a new carrier.
    pub fn is_detached(&self) -> bool {
        self.handshake.is_detached()
    }

    /// Whether all messages that were put have arrived at the peer.
    pub fn is_drained(&self) -> bool {
        self.lanes.is_drained()
    }

    /// Number of lanes that can be used for sending: those configured here that the peer accepts.
    pub fn lanes(&self) -> u8 {
        self.lanes.usable(self.handshake.peer())
    }

    /// The data that a peer needs to resume this session on another carrier, once it is known.
    pub fn identity(&self) -> Option<&Resume> {
        self.handshake.identity()
    }

    /// Time after which an answer is overdue, derived from the measured round trip.
    pub fn probe_timeout(&self) -> Duration {
        self.recovery.rtt().probe_timeout()
    }

    /// Returns the time since which packets need an answer and nothing has arrived. A driver judges a carrier by this silence.
    /// `None` while no answer is awaited.
    pub fn unanswered_since(&self) -> Option<Time> {
        let asked = match self.handshake.connecting_since() {
            None if self.is_open() => self.recovery.unanswered_since(),
            connecting => connecting,
        };
        asked.map(|asked| asked.max(self.last_heard))
    }

    /// The time at which the newest packet of the peer arrived, or at which the newest carrier was attached. The value stays
    /// after the end of the session.
    pub fn last_heard(&self) -> Time {
        self.last_heard
    }

    /// Counters from the beginning of the session.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// The messages that wait to be sent for the first time, as memory.
    pub fn backlog(&self) -> Backlog {
        self.lanes.backlog()
    }

    /// The messages that wait to be sent for the first time, lane by lane.
    pub fn waiting_messages(&self, now: Time) -> impl Iterator<Item = WaitingMessage> {
        self.lanes.waiting_messages(now)
    }

    /// The present measurements.
    pub fn gauges(&self) -> Gauges {
        let rtt = self.recovery.rtt();
        Gauges {
            round_trip: rtt.smoothed(),
            round_trip_latest: rtt.latest(),
            round_trip_min: rtt.minimum(),
            round_trip_variation: rtt.variation(),
            queueing_delay: self.rate.queue(),
            bytes_per_second: self.rate.bytes_per_second(),
            in_flight_bytes: self.recovery.sent.in_flight_bytes(),
            waiting: self.lanes.waiting(),
            waiting_bytes: self.lanes.waiting_bytes(),
            unread: self.lanes.unread(),
        }
    }
}
