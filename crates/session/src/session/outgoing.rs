//! How a packet is filled, at the moment it leaves (`spec/SESSION.md`, sections 10 and 11).

use std::time::Duration;

use super::redundancy::{LEADING_BYTES, REPEAT_BYTES_MAX};
use super::{Phase, Session};
use crate::builder::Builder;
use crate::lane::send::{Bound, SendContext, SendLane};
use crate::limits::PART_BYTES;
use crate::packet::{seal, write, write_header};
use crate::sent::Item;
use crate::source::Replication;
use crate::time::{Time, WIRE_UNIT_MICROS};

const CHECKSUM_BYTES: usize = 4;
/// Header, acknowledgement and the fields of a frame take no more than this.
const OVERHEAD_BYTES_MAX: usize = 176;
/// After so many packets that elicit nothing one does, so that the peer's view of our packets stays near.
const QUIET_RUN_MAX: u32 = 64;
/// A sender stops when so many packets are unacknowledged in a row: numbers would no longer unfold.
const SPAN_MAX: u64 = 16_384;
/// So many fates may be unread before sources are asked for more; those of what is in flight are added to them.
const OUTCOMES_UNREAD_MAX: usize = 4_096;
/// A peer that was stopped reads all of a silence before the newest, so there is no more of it.
const SILENT_BYTES_MAX: u64 = 1_024 * 1_024;
/// Where packets are kept small because the link is slow, an event that leads leaves up to this long before its turn, and
/// nearly alone: a whole packet, and the wait for its turn, would be most of what it is late by.
const LEAD: Duration = Duration::from_millis(5);
/// Why a packet leaves.
#[derive(Clone, Copy, Debug, Default)]
struct Reasons {
    ack: bool,
    probe: bool,
    proof: bool,
    window: bool,
    keep_alive: bool,
    repeat: bool,
    content: bool,
    /// The content is an event that shall not wait.
    leads: bool,
}

impl Reasons {
    fn any(self) -> bool {
        self.ack || self.probe || self.proof || self.window || self.keep_alive || self.repeat || self.content
    }
}

impl Session {
    /// Appends the next packet to `out`, if one may and should leave now: call until there is none. `source` feeds the
    /// lanes that have one; without, pass [`crate::NoReplication`].
    ///
    /// Values are read at this moment. Call it only when the carrier takes a packet at once.
    pub fn poll_packet(&mut self, now: Time, source: &mut dyn Replication, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let wrote = match self.phase {
            Phase::Open => self.write_data(now, source, out),
            Phase::Closing { .. } => self.write_close(now, out),
            _ => self.write_handshake(now, out),
        };
        if !wrote {
            out.truncate(start);
            return false;
        }
        if !self.carrier.is_checked {
            seal(out, start);
        }
        self.stats.packets_sent += 1;
        self.stats.bytes_sent += (out.len() - start) as u64;
        true
    }

    fn write_data(&mut self, now: Time, source: &mut dyn Replication, out: &mut Vec<u8>) -> bool {
        let reasons = self.reasons(now, source);
        if !reasons.any() {
            return false;
        }
        let start = out.len();
        let number = self.sent.next_number();
        let acks = self.ack.is_new;
        let delay = now.since(self.ack.largest_at).as_micros() as u64 / WIRE_UNIT_MICROS;
        write_header(out, number, now.wire(), &self.received, acks.then_some(delay));
        let end = start + self.packet_bytes_max();
        let content_end = if reasons.leads {
            self.redundancy.led();
            out.len() + LEADING_BYTES
        } else {
            start + self.rate.packet_bytes(self.carrier.is_reliable)
        };
        let is_eliciting = self.write_frames(now, source, reasons, number, [content_end, end], out);
        if !is_eliciting && !reasons.ack {
            return false;
        }
        let bytes = out.len() - start + self.checksum_bytes();
        self.sent.push(now, bytes, is_eliciting);
        self.note_departure(now, bytes, is_eliciting, acks);
        true
    }

    fn note_departure(&mut self, now: Time, bytes: usize, is_eliciting: bool, acks: bool) {
        match self.silence(now) {
            Some(share) => {
                self.rate.spend_silently(now, bytes, share);
                self.silent_bytes += bytes as u64;
            }
            None => {
                self.rate.spend(now, bytes);
                self.silent_bytes = 0;
            }
        }
        self.ack.departed(now, is_eliciting, acks);
        if is_eliciting {
            self.quiet_run = 0;
            self.is_probe_due = false;
            self.waits_since.get_or_insert(now);
        } else {
            self.quiet_run += 1;
            self.stats.acks_sent += 1;
        }
    }

    fn reasons(&mut self, now: Time, source: &dyn Replication) -> Reasons {
        let wants = self.wants_content(now, source);
        let leads = wants && self.event_leads(now);
        let may = wants && self.may_send(now, leads);
        Reasons {
            ack: self.ack.due_at(now).is_some_and(|due| due <= now),
            probe: self.is_probe_due,
            proof: self.proof_is_due(),
            window: self.report_at().is_some_and(|due| due <= now),
            keep_alive: self.keep_alive_at() <= now,
            repeat: self.repeat_at(now).is_some_and(|at| at <= now),
            content: may,
            leads: may && leads,
        }
    }

    fn wants_content(&mut self, now: Time, source: &dyn Replication) -> bool {
        let lanes = self.lanes_in_use();
        let queued = self.outgoing[..lanes].iter_mut().flatten().any(|lane| lane.has_more(now));
        let mut with_source =
            self.config.lanes[..lanes].iter().zip(0u8..).filter(|(lane, _)| lane.has_source);
        self.source_waits = self.may_ask_sources() && with_source.any(|(_, lane)| source.has_more(lane));
        queued || self.source_waits
    }

    /// Whether what goes first now is a small event, and packets are small because the link is slow. Such packets are paid
    /// for like repetitions, which need half of the bucket.
    fn event_leads(&mut self, now: Time) -> bool {
        let is_slow = self.rate.packet_bytes(false) < self.packet_bytes_max();
        if self.carrier.is_reliable || !is_slow || !self.redundancy.can_lead(now) {
            return false;
        }
        let lanes = self.lanes_in_use();
        let configs = self.config.lanes[..lanes].iter();
        let mut first: Option<(u8, bool)> = None;
        for (config, lane) in configs.zip(&mut self.outgoing) {
            let Some(lane) = lane.as_mut() else { continue };
            if !lane.has_more(now) {
                continue;
            }
            let is_event = lane.event_leads(REPEAT_BYTES_MAX) && !config.has_source;
            first = match first {
                Some((class, is)) if class < config.class => Some((class, is)),
                Some((class, is)) if class == config.class => Some((class, is && is_event)),
                _ => Some((config.class, is_event)),
            };
        }
        first.is_some_and(|(_, is_event)| is_event)
    }

    /// Whether rate, flight and packet numbers allow new content now.
    fn may_send(&mut self, now: Time, leads: bool) -> bool {
        if self.sent.is_full() || self.sent.unacknowledged_span() > SPAN_MAX {
            return false;
        }
        let lead = if leads { LEAD } else { Duration::ZERO };
        if self.rate.next_at() > now + lead {
            self.rate.hold_back();
            return false;
        }
        let has_flight = self.has_flight(now);
        if !has_flight {
            self.rate.hold_back();
        }
        has_flight
    }

    /// Whether the bytes in flight leave room for more; in a silence only those sent since it began count.
    fn has_flight(&self, now: Time) -> bool {
        match self.silence(now) {
            Some(_) => self.silent_bytes < SILENT_BYTES_MAX,
            None => self.sent.in_flight_bytes() < self.flight_bytes_max(),
        }
    }

    fn flight_bytes_max(&self) -> u64 {
        const UNKNOWN: Duration = Duration::from_millis(100);
        let (least, smoothed) = (self.rtt.minimum(), self.rtt.smoothed());
        let (least, smoothed) = (least.unwrap_or(UNKNOWN), smoothed.unwrap_or(UNKNOWN));
        self.rate.flight_bytes_max(least, smoothed, self.carrier.is_reliable)
    }

    /// Tells that the carrier takes no packet now because its way is full, where it keeps next to nothing itself: as long
    /// as that is so, the way decides how fast content leaves.
    pub fn carrier_is_full(&mut self, now: Time, source: &dyn Replication) {
        if self.is_open() && self.wants_content(now, source) {
            self.rate.carrier_is_full();
        }
    }

    /// When content that waits may leave; `None` if none waits, or if it waits for something to arrive.
    pub(super) fn content_at(&mut self, now: Time) -> Option<Time> {
        let lanes = self.lanes_in_use();
        let queued = self.outgoing[..lanes].iter_mut().flatten().any(|lane| lane.has_more(now));
        let is_stopped = self.sent.is_full() || self.sent.unacknowledged_span() > SPAN_MAX;
        if !(queued || self.source_waits) || is_stopped {
            return None;
        }
        if self.has_flight(now) {
            let lead = if self.event_leads(now) { LEAD } else { Duration::ZERO };
            return Some((self.rate.next_at() - lead).max(now));
        }
        // When the silence begins, flight no longer counts.
        let begins = self.waits_since.map(|since| since + 2 * self.rtt.probe_timeout());
        begins.filter(|begins| *begins > now)
    }

    pub(super) fn proof_is_due(&self) -> bool {
        self.proof.is_some_and(|proof| !proof.was_sent)
    }

    fn packet_bytes_max(&self) -> usize {
        usize::from(self.carrier.packet_bytes_max.min(self.peer.packet_bytes_max)) - self.checksum_bytes()
    }

    fn checksum_bytes(&self) -> usize {
        if self.carrier.is_checked { 0 } else { CHECKSUM_BYTES }
    }

    fn write_frames(
        &mut self,
        now: Time,
        source: &mut dyn Replication,
        reasons: Reasons,
        number: u64,
        [content_end, end]: [usize; 2],
        out: &mut Vec<u8>,
    ) -> bool {
        let mut builder = Builder::new(out, end);
        if let Some(proof) = &mut self.proof {
            proof.was_sent = true;
            builder.frame(|out| write::proof(out, &proof.bytes));
            self.sent.push_item(Item::Proof);
        }
        if reasons.window || reasons.content {
            self.write_windows(&mut builder);
        }
        if !self.carrier.is_reliable {
            self.write_repeats(now, &mut builder);
        }
        if reasons.content || reasons.probe {
            builder.begin_content(content_end);
            self.fill_lanes(now, source, number, &mut builder);
        }
        let must_elicit =
            reasons.probe || reasons.keep_alive || reasons.ack && self.quiet_run >= QUIET_RUN_MAX;
        if must_elicit && !builder.is_eliciting {
            builder.frame(write::ping);
        }
        builder.is_eliciting
    }

    fn write_windows(&mut self, builder: &mut Builder<'_>) {
        let heard = usize::from(self.lanes_heard);
        for (lane, number) in self.incoming[..heard].iter_mut().zip(0u8..) {
            let Some(lane) = lane else { continue };
            let Some(consumed) = lane.window() else { continue };
            builder.frame(|out| write::window(out, number, consumed));
            self.sent.push_item(Item::Window { lane: number, consumed });
            lane.window_sent();
        }
    }

    /// Lanes by class, within a class those first that had least for their weight.
    fn fill_lanes(
        &mut self,
        now: Time,
        source: &mut dyn Replication,
        number: u64,
        builder: &mut Builder<'_>,
    ) {
        let mut order = [(0u8, 0u64, 0u8); 16];
        let mut count = 0;
        let (lanes, asks_sources) = (self.lanes_in_use(), self.may_ask_sources());
        for (index, config) in self.config.lanes[..lanes].iter().enumerate() {
            let lane = &mut self.outgoing[index];
            let queued = lane.as_mut().is_some_and(|lane| lane.has_more(now));
            if queued || config.has_source && asks_sources && source.has_more(index as u8) {
                let turn = lane.as_ref().map_or(0, |lane| lane.turn).max(self.turn_floor);
                order[count] = (config.class, turn, index as u8);
                count += 1;
            }
        }
        let order = &mut order[..count];
        order.sort_unstable();
        self.turn_floor = order.iter().map(|&(_, turn, _)| turn).min().unwrap_or(self.turn_floor);
        for &(_, turn, index) in order.iter() {
            if let Some(lane) = &mut self.outgoing[usize::from(index)] {
                lane.turn = turn;
            }
            self.fill_lane(now, index, builder);
            if asks_sources && self.config.lanes[usize::from(index)].has_source {
                self.fill_from_source(source, index, number, builder);
            }
        }
    }

    fn fill_lane(&mut self, now: Time, index: u8, builder: &mut Builder<'_>) {
        let whole_max = PART_BYTES.max(self.packet_bytes_max() - OVERHEAD_BYTES_MAX);
        let Some(lane) = &mut self.outgoing[usize::from(index)] else { return };
        let mut context = SendContext {
            now,
            builder,
            store: &mut self.store,
            sent: &mut self.sent,
            stats: &mut self.stats,
            whole_max,
            limits: &self.peer,
            bound: &mut self.bound,
        };
        lane.fill(&mut context);
        self.note_bound(now);
    }

    fn note_bound(&mut self, now: Time) {
        for Bound { lane, number, id, is_command, length } in self.bound.drain(..) {
            if is_command {
                self.commands.bound(lane, id, number);
            }
            if !self.carrier.is_reliable {
                self.redundancy.bound(now, lane, number, length);
            }
        }
    }

    /// A source that does not hear what became of its bytes gets no more of them sent.
    fn may_ask_sources(&self) -> bool {
        self.has_sources && self.outcomes.len() < OUTCOMES_UNREAD_MAX
    }

    fn fill_from_source(
        &mut self,
        source: &mut dyn Replication,
        lane: u8,
        number: u64,
        builder: &mut Builder<'_>,
    ) {
        const HEAD: usize = 3;
        self.scratch.clear();
        // What does not fit into its share of the packet may need all of it.
        for room in [builder.room_to_share(), builder.room()] {
            let room = room.saturating_sub(HEAD);
            if room > 0 && self.scratch.is_empty() && source.has_more(lane) {
                source.fill(lane, number, room, &mut self.scratch);
                assert!(self.scratch.len() <= room, "a replication source keeps to the room it was given");
            }
        }
        if !self.scratch.is_empty() {
            let payload = &self.scratch;
            builder.frame(|out| write::replication(out, lane, payload));
            self.sent.push_item(Item::Replication { lane });
        }
    }

    /// When an event that nothing else repeats gets a packet of its own.
    pub(super) fn repeat_at(&mut self, now: Time) -> Option<Time> {
        self.redundancy.due_at(now, |lane, number| can_repeat(&self.outgoing, lane, number))
    }

    /// Repeats events that were not acknowledged yet, within the budget.
    fn write_repeats(&mut self, now: Time, builder: &mut Builder<'_>) {
        while let Some((lane, number)) =
            self.redundancy.next(now, builder.room(), |lane, number| can_repeat(&self.outgoing, lane, number))
        {
            let Some(lane) = &mut self.outgoing[usize::from(lane)] else { continue };
            let mut context = SendContext {
                now,
                builder,
                store: &mut self.store,
                sent: &mut self.sent,
                stats: &mut self.stats,
                whole_max: PART_BYTES,
                limits: &self.peer,
                bound: &mut self.bound,
            };
            let used = lane.repeat(number, &mut context);
            self.redundancy.spend(used);
        }
    }

    fn write_close(&mut self, now: Time, out: &mut Vec<u8>) -> bool {
        let Phase::Closing { closed, due, left, .. } = &mut self.phase else { return false };
        if !*due || *left == 0 {
            return false;
        }
        *due = false;
        *left -= 1;
        let start = out.len();
        let number = self.sent.next_number();
        write_header(out, number, now.wire(), &self.received, None);
        write::close(out, closed.code, &closed.reason);
        let bytes = out.len() - start + self.checksum_bytes();
        self.sent.push(now, bytes, false);
        true
    }
}

fn can_repeat(lanes: &[Option<Box<SendLane>>], lane: u8, number: u64) -> bool {
    lanes[usize::from(lane)].as_ref().is_some_and(|lane| lane.can_repeat(number))
}
