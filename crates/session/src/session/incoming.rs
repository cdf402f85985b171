//! What a packet does (`spec/SESSION.md`, sections 5 to 9 and 13).

use std::time::Duration;

use super::acks::Eliciting;
use super::{Phase, Session};
use crate::error::{Broken, CloseCode, Closed, ClosedBy};
use crate::lane::receive::{ReceiveContext, ReceiveLane};
use crate::packet::{self, Ack, Arrival, Data, Frame, Packet, Ranges, unfold_number};
use crate::rate::Arrived;
use crate::sent::{Item, Settled};
use crate::source::PacketOutcome;
use crate::time::{Time, WIRE_UNIT_MICROS};

impl Session {
    /// Takes a packet from the current carrier. Any bytes are allowed: what cannot be read or breaks a rule is counted,
    /// or closes the session with a named reason.
    pub fn handle_packet(&mut self, now: Time, bytes: &[u8]) {
        if matches!(self.phase, Phase::Closed | Phase::Detached { is_attached: false, .. }) {
            self.stats.dropped.closed += 1;
            return;
        }
        let Some(body) = self.unsealed(bytes) else {
            self.stats.dropped.corrupt += 1;
            return;
        };
        if body.is_empty() {
            self.stats.dropped.empty += 1;
            return;
        }
        self.stats.packets_received += 1;
        self.stats.bytes_received += bytes.len() as u64;
        match Packet::read(body) {
            Ok(Packet::Data(data)) => self.on_data(now, &data, body.len()),
            Ok(Packet::Hello(hello)) => self.on_hello(now, hello),
            Ok(Packet::Welcome(welcome)) => self.on_welcome(now, &welcome),
            Ok(Packet::Refuse(refuse)) => self.on_refuse(now, refuse),
            Err(malformed) if matches!(self.phase, Phase::Open) => {
                self.break_off(now, CloseCode::MALFORMED, &malformed.to_string());
            }
            Err(malformed) => {
                self.stats.dropped.malformed += 1;
                self.refuse_malformed(body, &malformed);
            }
        }
    }

    /// Without the checksum, if the carrier has one; there is none of nothing.
    fn unsealed<'a>(&self, bytes: &'a [u8]) -> Option<&'a [u8]> {
        if self.carrier.is_checked || bytes.is_empty() { Some(bytes) } else { packet::open(bytes) }
    }

    fn on_data(&mut self, now: Time, data: &Data<'_>, length: usize) {
        match &mut self.phase {
            Phase::Open => {}
            Phase::Answered { proof, .. } => {
                let proof = Frame::Proof(*proof);
                if !data.frames().any(|frame| frame == proof) {
                    self.stats.dropped.unproven += 1;
                    return;
                }
                self.on_proof();
            }
            Phase::Detached { is_attached: true, .. } => self.return_to_carrier(),
            Phase::Closing { due, left, .. } => {
                *due = *left > 0;
                self.stats.dropped.closed += 1;
                if data.frames().any(|frame| matches!(frame, Frame::Close { .. })) {
                    self.phase = Phase::Closed;
                }
                return;
            }
            _ => {
                self.stats.dropped.unproven += 1;
                return;
            }
        }
        if let Err(broken) = self.on_open_data(now, data, length) {
            self.break_off(now, broken.code, broken.reason);
        }
    }

    fn on_open_data(&mut self, now: Time, data: &Data<'_>, length: usize) -> Result<(), Broken> {
        let number = unfold_number(data.number_low, self.received.largest());
        match self.received.classify(number) {
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
            Some(ack) => Some(self.resolved(ack)?),
        };
        self.examine(data)?;
        self.note_arrival(now, number, data, length);
        let left_peer = self.clock.unfold(data.time, now);
        if let (Some(ack), Some(ranges)) = (&data.ack, acknowledged) {
            self.on_ack(now, ack, &ranges, left_peer);
        }
        let left = self.clock.to_ours(left_peer, now);
        for frame in data.frames() {
            self.on_frame(now, number, left, &frame)?;
        }
        Ok(())
    }

    fn resolved(&self, ack: &Ack<'_>) -> Result<Ranges, Broken> {
        let reason = "acknowledges what was never sent";
        ack.resolve(self.sent.largest_sent()).ok_or(Broken { code: CloseCode::MALFORMED, reason })
    }

    /// Whether all lanes exist.
    fn examine(&self, data: &Data<'_>) -> Result<(), Broken> {
        let (lanes, window_lanes) = data.lanes();
        // WINDOW speaks of the lanes that we send on.
        if lanes as usize > self.incoming.len() || window_lanes as usize > self.outgoing.len() {
            return Err(Broken::limit("a lane beyond lanes_max"));
        }
        Ok(())
    }

    fn note_arrival(&mut self, now: Time, number: u64, data: &Data<'_>, length: usize) {
        let leaves_gap = self.received.insert(number);
        let ends_quiet = self.was_quiet(now);
        self.note_life(now);
        self.last_heard = now;
        if self.received.largest() == Some(number) {
            self.ack.largest_at = now;
        }
        if data.is_eliciting() {
            let packet =
                Eliciting { bytes: length, leaves_gap, ends_quiet, has_only_states: data.has_only_states() };
            self.ack.arrived(now, &packet, self.carrier.is_reliable);
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>, ranges: &Ranges, left_peer: i64) {
        let delay_micros = ack.delay.min(DELAY_MAX) * WIRE_UNIT_MICROS;
        let mut newest: Option<Settled> = None;
        let (mut bytes, mut is_progress) = (0, false);
        self.sent.note_largest(ranges[0].1);
        self.rate.found(self.sent.find_missed(now, ranges));
        for &(low, high) in ranges.iter() {
            let (low, high) = self.sent.tracked(low, high);
            for number in (low..high).rev() {
                let Some(settled) = self.sent.acknowledge(number) else { continue };
                if settled.eliciting {
                    is_progress = true;
                    bytes += u64::from(settled.bytes);
                    self.stats.packets_acknowledged += 1;
                }
                self.items_arrived(&settled);
                if newest.is_none() {
                    newest = Some(settled);
                }
            }
        }
        let Some(newest) = newest.filter(|newest| newest.number == ranges[0].1 && is_progress) else {
            self.sent.forget();
            self.detect_losses(now);
            return;
        };
        if self.silence(now).is_some() {
            self.rate.slow_down();
        }
        if self.tells(&newest) {
            self.learn_of_way(now, &newest, bytes, delay_micros, left_peer);
        }
        self.sent.forget();
        self.detect_losses(now);
        self.probes = 0;
        self.probed_at = now;
        self.waits_since = (self.sent.in_flight() > 0).then_some(now);
    }

    /// What the newest of acknowledged packets, with `bytes` in all, tells about time and rate.
    fn learn_of_way(&mut self, now: Time, newest: &Settled, bytes: u64, delay_micros: u64, left_peer: i64) {
        self.note_told();
        self.rtt.sample(now.since(newest.at), Duration::from_micros(delay_micros));
        let arrived = left_peer.wrapping_sub(delay_micros as i64);
        self.clock.sample(newest.at, arrived, left_peer, now);
        let arrived = Arrived {
            number: newest.number,
            next_number: self.sent.next_number(),
            sent: newest.at,
            arrived,
            packet_bytes: newest.bytes,
            bytes,
            busy_period: newest.busy_period,
            is_reliable: self.carrier.is_reliable,
        };
        self.rate.acknowledged(now, arrived);
    }

    fn items_arrived(&mut self, settled: &Settled) {
        for index in settled.items.clone() {
            match self.sent.item(index) {
                Item::State { lane, slot, stamp, part } => {
                    if let Some(lane) = &mut self.outgoing[usize::from(lane)] {
                        lane.state_arrived(slot, stamp, part, &mut self.store);
                    }
                }
                Item::Event { lane, number, part } => {
                    let Some(sender) = &mut self.outgoing[usize::from(lane)] else { continue };
                    if let Some((at, id)) = sender.event_arrived(number, part, &mut self.store) {
                        self.commands.event_arrived(at, lane, id);
                    }
                }
                Item::Replication { lane } => {
                    self.outcomes.push_back(PacketOutcome { lane, number: settled.number, arrived: true });
                }
                Item::Proof => self.proof = None,
                Item::Window { .. } => {}
            }
        }
    }

    /// Takes packets for lost that are late behind acknowledged ones.
    pub(super) fn detect_losses(&mut self, now: Time) {
        if self.carrier.is_reliable {
            return;
        }
        let delay = self.loss_delay();
        while let Some(settled) = self.sent.lose(now, delay) {
            self.stats.packets_lost += 1;
            if self.tells(&settled) {
                self.rate.lost(settled.bytes);
            }
            self.items_lost(&settled);
            self.sent.forget();
        }
        if self.sent.in_flight() == 0 {
            self.waits_since = None;
        }
    }

    /// How old a packet must be to be lost, once a later one is acknowledged.
    pub(super) fn loss_delay(&self) -> Duration {
        self.rtt.loss_delay(self.sent.overtaken())
    }

    /// The carrier is gone, and with it all that was under way.
    pub(super) fn lose_everything(&mut self) {
        while let Some(settled) = self.sent.lose_oldest() {
            self.stats.packets_lost += 1;
            self.items_lost(&settled);
            self.sent.forget();
        }
    }

    pub(super) fn items_lost(&mut self, settled: &Settled) {
        for index in settled.items.clone() {
            match self.sent.item(index) {
                Item::State { lane, slot, stamp, part } => {
                    if let Some(lane) = &mut self.outgoing[usize::from(lane)] {
                        lane.state_lost(slot, stamp, part);
                    }
                }
                Item::Event { lane, number, part } => {
                    if let Some(lane) = &mut self.outgoing[usize::from(lane)] {
                        lane.event_lost(number, part);
                    }
                }
                Item::Window { lane, consumed } => {
                    if let Some(lane) = &mut self.incoming[usize::from(lane)] {
                        lane.window_lost(consumed);
                    }
                }
                Item::Replication { lane } => {
                    self.outcomes.push_back(PacketOutcome { lane, number: settled.number, arrived: false });
                }
                Item::Proof => {}
            }
        }
    }

    fn on_frame(&mut self, now: Time, number: u64, left: Time, frame: &Frame<'_>) -> Result<(), Broken> {
        match frame {
            Frame::Padding | Frame::Ping | Frame::Proof(_) => return Ok(()),
            Frame::Close { code, reason } => {
                let closed = Closed { code: *code, reason: (*reason).to_owned(), by: ClosedBy::Peer };
                self.end(now, closed);
                return Ok(());
            }
            Frame::Window { lane, consumed } => {
                return match &mut self.outgoing[usize::from(*lane)] {
                    Some(lane) => lane.consumed(*consumed),
                    None if *consumed == 0 => Ok(()),
                    None => Err(Broken::violation("consumed more events than were sent")),
                };
            }
            _ => {}
        }
        let Some(lane) = frame.lane() else { return Ok(()) };
        self.readable |= 1 << lane;
        self.lanes_heard = self.lanes_heard.max(lane + 1);
        let seed = self.entropy.seed() ^ u64::from(lane);
        let context = &mut ReceiveContext {
            store: &mut self.store,
            stats: &mut self.stats,
            limits: &self.config.limits,
            left,
            now,
        };
        let lane = self.incoming[usize::from(lane)].get_or_insert_with(|| Box::new(ReceiveLane::new(seed)));
        match frame {
            Frame::States(states) => states
                .records()
                .try_for_each(|(state, value)| lane.state(states.interval, state, value, context)),
            Frame::Event { head, payload } => lane.event(*head, payload, context),
            Frame::EventPart { head, part } => lane.event_part(*head, *part, context),
            Frame::StatePart { interval, state, part, .. } => {
                lane.state_part(*interval, *state, *part, context)
            }
            Frame::Replication { payload, .. } => {
                lane.replication(number, payload, context);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Delays beyond a minute say nothing; in units of the wire.
const DELAY_MAX: u64 = 60_000_000 / WIRE_UNIT_MICROS;
