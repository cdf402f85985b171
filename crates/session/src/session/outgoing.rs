//! Outgoing values and events, and the packets that carry them. Packets are filled when they leave (`spec/SESSION.md`, sections
//! 8, 10 and 11).

use std::time::Duration;

use super::Session;
use super::lanes::{Departure, Lanes, Plan};
use super::redundancy::{LEADING_BYTES, Redundancy};
use crate::builder::{Builder, Layout};
use crate::error::{CloseCode, Refused};
use crate::lane::send::Bound;
use crate::limits::PART_BYTES;
use crate::packet::{EventKind, write, write_header};
use crate::sent::Item;
use crate::source::{PacketStep, Source, Space};
use crate::time::Time;

/// Maximum size of the header, the acknowledgement and the fields of a frame together.
const OVERHEAD_BYTES_MAX: usize = 176;
/// On a slow link, packets are kept small. A leading event leaves up to this time before its turn, in a packet with little
/// other content. Otherwise a full packet and the wait for the turn would cause most of the delay of the event.
const LEAD: Duration = Duration::from_millis(5);

/// The reasons why a packet leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Reasons {
    ack: bool,
    probe: bool,
    proof: bool,
    window: bool,
    keep_alive: bool,
    repeat: bool,
    content: bool,
    /// Whether the content is an event that must not wait.
    leads: bool,
}

/// A packet that has begun and has not left.
#[derive(Debug)]
pub(super) struct Filling {
    now: Time,
    number: u64,
    start: usize,
    reasons: Reasons,
    /// Whether the packet contains an acknowledgement.
    acks: bool,
    layout: Layout,
    /// The space into which a source writes.
    space: Option<Space>,
}

impl Reasons {
    fn any(self) -> bool {
        self.ack || self.probe || self.proof || self.window || self.keep_alive || self.repeat || self.content
    }
}

impl Session {
    /// Puts the newest value of `key` (greater than 0). An unsent value of the key is replaced.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane has no entry for a new key. A value of a known key is always accepted while there are enough
    /// bytes.
    pub fn put_state(&mut self, now: Time, lane: u8, key: u64, value: &[u8]) -> Result<(), Refused> {
        if key == 0 {
            return Err(Refused::KeyZero);
        }
        if self.is_closed() {
            return Err(Refused::Closed);
        }
        self.lanes.check_put(lane, value.len(), self.handshake.peer())?;
        let (lane, store) = self.lanes.sending(lane);
        lane.put_state(now, key, value, store, &mut self.stats)
    }

    /// Puts an event.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane is full.
    pub fn put_event(&mut self, now: Time, lane: u8, payload: &[u8]) -> Result<(), Refused> {
        self.put(now, lane, EventKind::Event, payload, None).map(drop)
    }

    /// Puts a command. Returns its number. The reply has the same number. If no reply arrives within `patience`, the command
    /// expires: it is not delivered from then on, and a notice contains its number.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane is full, or 4,096 commands wait for replies.
    pub fn put_command(
        &mut self,
        now: Time,
        lane: u8,
        payload: &[u8],
        patience: Duration,
    ) -> Result<u64, Refused> {
        if !self.commands.has_room() {
            return Err(Refused::Full);
        }
        let at = now + patience;
        let id = self.put(now, lane, EventKind::Command, payload, Some(at))?;
        self.commands.add(at, lane, id);
        Ok(id)
    }

    /// Answers the command that arrived as [`crate::MessageKind::Command`] on `lane`.
    ///
    /// # Errors
    /// [`Refused::Full`] if the lane is full.
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
        if self.is_closed() {
            return Err(Refused::Closed);
        }
        self.lanes.check_put(lane, payload.len(), self.handshake.peer())?;
        let (lane, store) = self.lanes.sending(lane);
        lane.put_event(now, kind, payload, expires, store)
    }

    /// Appends the next packet to `out`, if a packet may and should leave now. Repeat the call until there is no packet. `source`
    /// fills the lanes that have a source. Without a source, pass [`crate::NoSource`].
    ///
    /// Values are read during this call. Call it only when the carrier accepts a packet at once.
    pub fn poll_packet(&mut self, now: Time, source: &mut dyn Source, out: &mut Vec<u8>) -> bool {
        while let Some(outcome) = self.poll_outcome() {
            source.on_outcome(outcome);
        }
        self.set_waiting_sources(source.waiting(self.source_lanes()));
        let mut step = self.begin_packet(now, out);
        while let PacketStep::Space(space) = step {
            space.fill(source, out);
            step = self.finish_packet(now, true, out);
        }
        step == PacketStep::Packet
    }

    /// Returns the lanes that have a source, one bit each.
    pub fn source_lanes(&self) -> u16 {
        self.lanes.source_lanes
    }

    /// Sets the lanes on which the source has something to send, one bit each; see [`Source::waiting`].
    pub fn set_waiting_sources(&mut self, lanes: u16) {
        self.lanes.waiting_sources = lanes;
    }

    /// Begins the next packet, if a packet may and should leave now. For drivers that call their source between the calls of the
    /// session; otherwise use [`poll_packet`](Self::poll_packet).
    pub fn begin_packet(&mut self, now: Time, out: &mut Vec<u8>) -> PacketStep {
        if !self.is_open() {
            return self.poll_handshake_packet(now, out);
        }
        let plan = self.lanes.plan(now, self.handshake.peer());
        let reasons = self.reasons(now, plan);
        if !reasons.any() {
            return PacketStep::Nothing;
        }
        let start = out.len();
        let number = self.recovery.sent.next_number();
        let acks = self.acks.write_header(now, number, out);
        let content_end = if reasons.leads {
            self.redundancy.led();
            out.len() + LEADING_BYTES
        } else {
            start + self.rate.packet_bytes(self.carrier.is_reliable)
        };
        let layout = Layout::new(start + self.packet_bytes_max());
        let mut filling = Filling { now, number, start, reasons, acks, layout, space: None };
        let proof = self.handshake.take_proof();
        let (mut departure, lanes, redundancy) = self.departure(&filling, out);
        if let Some(proof) = proof {
            departure.builder.frame(|out| write::proof(out, &proof));
            departure.sent.push_item(Item::Proof);
        }
        if reasons.window || reasons.content {
            lanes.write_windows(&mut departure);
        }
        if let Some(redundancy) = redundancy {
            redundancy.repeat(lanes, &mut departure);
        }
        if reasons.content || reasons.probe {
            departure.builder.begin_content(content_end);
            lanes.begin_fill();
            filling.space = lanes.fill(&mut departure);
        }
        filling.layout = departure.builder.layout;
        self.depart(now, filling, out)
    }

    /// Continues the packet after a source has written into its space. Returns the next space of a source, or completes the
    /// packet. With `adds_more`, messages of further lanes follow in the packet.
    ///
    /// If the session was attached, detached or closed in the meantime, the packet does not leave, and counts as lost.
    pub fn finish_packet(&mut self, now: Time, adds_more: bool, out: &mut Vec<u8>) -> PacketStep {
        let Some(Filling { space: Some(space), .. }) = self.filling else { return PacketStep::Nothing };
        if !space.is_valid(out) {
            self.close(now, CloseCode::APPLICATION, "the source wrote more than there was room for");
        }
        if !self.is_open() {
            self.abandon_packet(now);
        }
        let Some(mut filling) = self.filling.take() else { return PacketStep::Nothing };
        let (mut departure, lanes, _) = self.departure(&filling, out);
        if departure.builder.end_replication(&space) {
            departure.sent.push_item(Item::Replication { lane: space.lane });
        }
        filling.space = if adds_more { lanes.fill(&mut departure) } else { None };
        filling.layout = departure.builder.layout;
        self.depart(now, filling, out)
    }

    /// Gives up the packet that is being filled. It counts as lost when another carrier is attached.
    pub(super) fn abandon_packet(&mut self, now: Time) {
        if let Some(Filling { space: Some(space), .. }) = self.filling.take() {
            self.recovery.sent.push_item(Item::Replication { lane: space.lane });
            self.recovery.sent.push(now, 0, true);
        }
    }

    /// Returns the packet that is being filled, its lanes, and the repetitions if the carrier can lose packets.
    fn departure<'a>(
        &'a mut self,
        filling: &Filling,
        out: &'a mut Vec<u8>,
    ) -> (Departure<'a>, &'a mut Lanes, Option<&'a mut Redundancy>) {
        let whole_max = PART_BYTES.max(self.packet_bytes_max() - OVERHEAD_BYTES_MAX);
        let departure = Departure {
            now: filling.now,
            number: filling.number,
            builder: Builder::new(out, filling.layout),
            sent: &mut self.recovery.sent,
            stats: &mut self.stats,
            peer: self.handshake.peer(),
            whole_max,
        };
        (departure, &mut self.lanes, Some(&mut self.redundancy).filter(|_| !self.carrier.is_reliable))
    }

    /// Completes a packet, unless a source must write first.
    fn depart(&mut self, now: Time, filling: Filling, out: &mut Vec<u8>) -> PacketStep {
        if let Some(space) = filling.space {
            self.filling = Some(filling);
            return PacketStep::Space(space);
        }
        let Filling { start, reasons, acks, layout, .. } = filling;
        self.note_bound(now);
        let mut is_eliciting = layout.is_eliciting;
        let must_elicit = reasons.probe || reasons.keep_alive || reasons.ack && self.recovery.is_quiet();
        if must_elicit && !is_eliciting {
            write::ping(out);
            is_eliciting = true;
        }
        if !is_eliciting && !reasons.ack {
            out.truncate(start);
            return PacketStep::Nothing;
        }
        let bytes = out.len() - start;
        self.recovery.departed(now, bytes, is_eliciting, &mut self.rate);
        self.acks.departed(now, is_eliciting, acks);
        self.stats.acks_sent += u64::from(!is_eliciting);
        self.count_sent(bytes);
        PacketStep::Packet
    }

    /// Registers the events that left for the first time: they may now be repeated, and commands get their numbers.
    fn note_bound(&mut self, now: Time) {
        for Bound { lane, number, id, is_command, length } in self.lanes.take_bound() {
            if is_command {
                self.commands.bound(lane, id, number);
            }
            if !self.carrier.is_reliable {
                self.redundancy.bound(now, lane, number, length);
            }
        }
    }

    fn reasons(&mut self, now: Time, plan: Plan) -> Reasons {
        let wants = plan.has_content;
        let leads = wants && self.leads(now, plan);
        let may = wants && self.may_send(now, leads);
        Reasons {
            ack: self.acks.due_at(now).is_some_and(|due| due <= now),
            probe: self.recovery.is_probe_due,
            proof: self.handshake.proof_is_due(),
            window: self.report_at().is_some_and(|due| due <= now),
            keep_alive: self.keep_alive_at() <= now,
            repeat: self.repeat_at(now).is_some_and(|at| at <= now),
            content: may,
            leads: may && leads,
        }
    }

    /// Whether the next message is a small event, while packets are small because the link is slow. The budget for repetitions
    /// pays for such packets, and at least half of it must be left.
    fn leads(&mut self, now: Time, plan: Plan) -> bool {
        let is_slow = self.rate.packet_bytes(false) < self.packet_bytes_max();
        !self.carrier.is_reliable && is_slow && self.redundancy.can_lead(now) && plan.leads_with_event
    }

    /// Whether the rate, the bytes in flight and the packet numbers allow new content now.
    fn may_send(&mut self, now: Time, leads: bool) -> bool {
        if self.recovery.is_full() {
            return false;
        }
        let lead = if leads { LEAD } else { Duration::ZERO };
        let may = self.rate.next_at() <= now + lead && self.recovery.has_room_in_flight(now, &self.rate);
        if !may {
            self.rate.hold_back();
        }
        may
    }

    /// Returns how many bytes of new messages, with their headers, fit into a packet that leaves now. Returns 0 if none may
    /// leave, or if messages already wait.
    ///
    /// For drivers that read messages from another place at the last moment. A message that is put then leaves with the next
    /// [`poll_packet`](Self::poll_packet). The call also announces that there is something to send.
    pub fn content_room(&mut self, now: Time) -> usize {
        if !self.is_open() || self.lanes.have_waiting() || !self.may_send(now, false) {
            return 0;
        }
        let bytes = self.rate.packet_bytes(self.carrier.is_reliable).min(self.packet_bytes_max());
        bytes.saturating_sub(OVERHEAD_BYTES_MAX).max(1)
    }

    /// Returns the time at which [`content_room`](Self::content_room) becomes greater than 0, if only the passing of time is
    /// needed.
    pub fn content_room_at(&self, now: Time) -> Option<Time> {
        if !self.is_open() || self.lanes.have_waiting() || self.recovery.is_full() {
            None
        } else if self.recovery.has_room_in_flight(now, &self.rate) {
            Some(self.rate.next_at().max(now))
        } else {
            self.recovery.silence_begins(now)
        }
    }

    /// Returns the time at which waiting content may leave. Returns `None` if none waits, or if it waits for an arrival.
    pub(super) fn content_at(&mut self, now: Time) -> Option<Time> {
        let plan = self.lanes.plan(now, self.handshake.peer());
        if !plan.has_content || self.recovery.is_full() {
            return None;
        }
        if self.recovery.has_room_in_flight(now, &self.rate) {
            let lead = if self.leads(now, plan) { LEAD } else { Duration::ZERO };
            return Some((self.rate.next_at() - lead).max(now));
        }
        self.recovery.silence_begins(now)
    }

    /// Returns the time at which an event that was not yet repeated gets a separate packet.
    pub(super) fn repeat_at(&mut self, now: Time) -> Option<Time> {
        self.redundancy.due_at(now, &self.lanes)
    }

    /// Reports that the carrier accepts no packet now, because its path is full. This call is for carriers that buffer almost
    /// nothing. As long as this lasts, the path decides how fast content leaves.
    pub fn carrier_is_full(&mut self, now: Time) {
        if self.is_open() && self.lanes.plan(now, self.handshake.peer()).has_content {
            self.rate.carrier_is_full();
        }
    }

    fn packet_bytes_max(&self) -> usize {
        let bytes_max = self.carrier.packet_bytes_max.min(self.handshake.peer().packet_bytes_max);
        usize::from(bytes_max)
    }

    /// Writes a packet of the handshake, or a CLOSE, if one is due.
    fn poll_handshake_packet(&mut self, now: Time, out: &mut Vec<u8>) -> PacketStep {
        let start = out.len();
        if let Some(closed) = self.handshake.take_close() {
            let number = self.recovery.sent.next_number();
            write_header(out, number, now.wire(), None);
            write::close(out, closed.code, &closed.reason);
            self.recovery.sent.push(now, out.len() - start, false);
        } else {
            let (wrote, notice) = self.handshake.write(now, out);
            self.notify(notice);
            if !wrote {
                return PacketStep::Nothing;
            }
        }
        self.count_sent(out.len() - start);
        PacketStep::Packet
    }

    fn count_sent(&mut self, bytes: usize) {
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += bytes as u64;
    }
}
