//! All lanes of a session, in both directions. They are made when they are first used. They fill packets by class, and take turns
//! within a class (`spec/SESSION.md`, sections 7, 8 and 10).
//!
//! **Invariant**: one pass over the lanes, [`Lanes::plan`], decides whether a packet has content and which lanes fill it.
//! Only windows and repetitions of events are written between this pass and [`Lanes::fill`], and neither changes a waiting
//! message.

use std::collections::VecDeque;

use crate::builder::Builder;
use crate::config::Config;
use crate::error::{Broken, Refused};
use crate::lane::LaneConfig;
use crate::lane::receive::{Arrived, ReceiveContext, ReceiveLane};
use crate::lane::send::{Backlog, Bound, SendContext, SendLane, WaitingMessage};
use crate::limits::{LANES_MAX, Limits};
use crate::packet::{Frame, write};
use crate::sent::{Item, SentPackets};
use crate::source::{PacketOutcome, Space};
use crate::stats::Stats;
use crate::store::Store;
use crate::time::Time;

/// Maximum number of unread outcomes up to which sources are asked to fill packets. Outcomes of packets in flight are still added
/// above it.
const OUTCOMES_UNREAD_MAX: usize = 4_096;
/// Events larger than this are not repeated before a loss is known.
pub(super) const REPEAT_BYTES_MAX: u32 = 256;
/// Events larger than this do not lead a packet.
const LEADING_BYTES_MAX: u32 = REPEAT_BYTES_MAX;
/// Number of messages that a probe takes from each lane.
const PROBE_MESSAGES: usize = 16;

/// The planned content of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Whether a lane has content for the packet.
    pub(super) has_content: bool,
    /// Whether each lane of the first class with waiting messages begins with a small unsent event.
    pub(super) leads_with_event: bool,
}

/// A lane with content. Planned lanes are sorted by class, and within a class by the share that each received for its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct PlannedLane {
    class: u8,
    turn: u64,
    lane: u8,
}

/// The packet that is being filled.
pub(super) struct Departure<'a> {
    pub(super) now: Time,
    pub(super) number: u64,
    pub(super) builder: Builder<'a>,
    pub(super) sent: &'a mut SentPackets,
    pub(super) stats: &'a mut Stats,
    /// The peer's limits.
    pub(super) peer: &'a Limits,
    /// Messages up to this length are sent whole.
    pub(super) whole_max: usize,
}

impl<'a> Departure<'a> {
    fn context<'c>(&'c mut self, store: &'c mut Store, bound: &'c mut Vec<Bound>) -> SendContext<'c, 'a> {
        SendContext {
            now: self.now,
            builder: &mut self.builder,
            store,
            sent: self.sent,
            stats: self.stats,
            whole_max: self.whole_max,
            limits: self.peer,
            bound,
        }
    }
}

/// The packet that contains a frame.
pub(super) struct Arrival<'a> {
    pub(super) now: Time,
    /// The time at which the packet left, converted to our clock.
    pub(super) left: Time,
    /// This side's limits.
    pub(super) limits: &'a Limits,
    pub(super) stats: &'a mut Stats,
}

/// The lanes, their messages, and the messages' bytes.
#[derive(Debug)]
pub(super) struct Lanes {
    configs: Vec<LaneConfig>,
    /// The lanes that have a source, one bit each.
    pub(super) source_lanes: u16,
    /// Whether some lane has a limit in bytes a second.
    has_limits: bool,
    outgoing: Vec<Option<Box<SendLane>>>,
    incoming: Vec<Option<Box<ReceiveLane>>>,
    /// Prevents the peer from choosing keys that collide in the tables of the incoming lanes.
    seed: u64,
    store: Store,
    /// The lanes with content for the last planned packet, and the index of the next one to fill.
    planned: Vec<PlannedLane>,
    next_planned: usize,
    /// Events that left for the first time in the packet that is being filled.
    bound: Vec<Bound>,
    outcomes: VecDeque<PacketOutcome>,
    /// The lanes on which the source had something to send when it was last asked, one bit each.
    pub(super) waiting_sources: u16,
    turn_floor: u64,
    /// The incoming lane that is read first.
    next_to_read: u8,
    /// One bit for each incoming lane that may have something to read.
    readable: u16,
    /// Incoming lanes below this one may have new messages.
    heard: u8,
    /// The length of the longest message and the highest lane used so far. Both values are checked when the peer's limits
    /// become known.
    largest_put: usize,
    highest_lane: u8,
}

impl Lanes {
    /// Makes the lanes. `seed` prevents the peer from choosing keys that collide in our tables.
    pub(super) fn new(config: &Config, seed: u64) -> Self {
        let count = config.lanes.len().min(LANES_MAX.into());
        Self {
            configs: config.lanes[..count].to_vec(),
            source_lanes: (0..count)
                .fold(0, |lanes, at| lanes | u16::from(config.lanes[at].has_source) << at),
            has_limits: config.lanes.iter().any(|lane| lane.bytes_per_second_max.is_some()),
            outgoing: (0..count).map(|_| None).collect(),
            incoming: (0..config.limits.lanes_max).map(|_| None).collect(),
            seed,
            store: Store::default(),
            planned: Vec::with_capacity(count),
            next_planned: 0,
            bound: Vec::new(),
            outcomes: VecDeque::new(),
            waiting_sources: 0,
            turn_floor: 0,
            next_to_read: 0,
            readable: 0,
            heard: 0,
            largest_put: 0,
            highest_lane: 0,
        }
    }

    /// Number of lanes that can be used for sending: those configured here that the peer accepts.
    pub(super) fn usable(&self, peer: &Limits) -> u8 {
        peer.lanes_max.min(self.outgoing.len() as u8)
    }

    /// Whether the peer accepts all messages that were put before its limits were known.
    pub(super) fn fit(&self, peer: &Limits) -> bool {
        self.largest_put <= peer.message_bytes_max as usize && self.highest_lane < peer.lanes_max
    }

    /// Whether the peer accepts a message of `length` bytes on this lane.
    pub(super) fn check_put(&mut self, lane: u8, length: usize, peer: &Limits) -> Result<(), Refused> {
        let lanes = self.usable(peer);
        if lane >= lanes {
            return Err(Refused::NoLane { lane, lanes });
        }
        let bytes_max = peer.message_bytes_max as usize;
        if length > bytes_max {
            return Err(Refused::TooLarge { bytes: length, bytes_max });
        }
        self.largest_put = self.largest_put.max(length);
        self.highest_lane = self.highest_lane.max(lane);
        Ok(())
    }

    /// Returns the lane for a put that was checked, and the bytes of all messages. The lane is made when it is first used, so an
    /// idle session is small.
    pub(super) fn sending(&mut self, lane: u8) -> (&mut SendLane, &mut Store) {
        let configs = &self.configs;
        let sender = self.outgoing[usize::from(lane)]
            .get_or_insert_with(|| Box::new(SendLane::new(lane, configs[usize::from(lane)])));
        (sender, &mut self.store)
    }

    /// Number of lanes that may have messages to send: all lanes if sources feed some, or else those on which messages were put.
    fn in_use(&self, peer: &Limits) -> usize {
        let used = if self.source_lanes != 0 { LANES_MAX } else { self.highest_lane + 1 };
        self.usable(peer).min(used).into()
    }

    /// Whether the source of a lane has something to send. If its outcomes are not read, it may send no more.
    fn has_sourced(&self, lane: u8) -> bool {
        self.source_lanes & self.waiting_sources & 1 << lane != 0 && self.outcomes.len() < OUTCOMES_UNREAD_MAX
    }

    /// The one pass that decides which lanes fill the next packet.
    pub(super) fn plan(&mut self, now: Time, peer: &Limits) -> Plan {
        let mut leads_with_event = false;
        let mut first_class = u16::MAX;
        self.planned.clear();
        for lane in 0..self.in_use(peer) as u8 {
            let has_sourced = self.has_sourced(lane);
            let sender = &mut self.outgoing[usize::from(lane)];
            let has_queued = sender.as_mut().is_some_and(|sender| sender.has_more(now));
            if !has_queued && !has_sourced {
                continue;
            }
            let config = &self.configs[usize::from(lane)];
            let class = u16::from(config.class);
            // A lane that was idle begins at the floor, so it cannot claim the turns that it did not use.
            let mut turn = self.turn_floor;
            if let Some(sender) = sender {
                turn = turn.max(sender.turn);
                if has_queued && class <= first_class {
                    // A class below the first cannot lead. Within the first class every lane must lead, or its other content
                    // would fill the packet in front of the event.
                    let is_event = !config.has_source && sender.event_leads(LEADING_BYTES_MAX);
                    leads_with_event = is_event && (class < first_class || leads_with_event);
                    first_class = class;
                }
            }
            self.planned.push(PlannedLane { class: config.class, turn, lane });
        }
        Plan { has_content: !self.planned.is_empty(), leads_with_event }
    }

    /// Begins to fill the packet of the last plan.
    pub(super) fn begin_fill(&mut self) {
        // By class, and then by the turn that each lane had before this packet (weighted fair queueing).
        self.planned.sort_unstable();
        if let Some(least) = self.planned.iter().map(|planned| planned.turn).min() {
            self.turn_floor = least;
        }
        self.next_planned = 0;
    }

    /// Puts the messages of the planned lanes into the packet, up to a lane whose source must write next.
    pub(super) fn fill(&mut self, departure: &mut Departure<'_>) -> Option<Space> {
        while let Some(&PlannedLane { turn, lane, .. }) = self.planned.get(self.next_planned) {
            self.next_planned += 1;
            if let Some(sender) = &mut self.outgoing[usize::from(lane)] {
                sender.turn = turn;
                sender.fill(&mut departure.context(&mut self.store, &mut self.bound));
            }
            if self.has_sourced(lane)
                && let Some(space) = departure.builder.begin_replication(lane, departure.number)
            {
                return Some(space);
            }
        }
        None
    }

    /// Frees memory that only a burst of messages needed, such as the first picture of a world.
    pub(super) fn shrink(&mut self) {
        self.outgoing.iter_mut().flatten().for_each(|lane| lane.shrink());
        self.store.shrink();
    }

    /// Takes the events that left for the first time since the last call.
    pub(super) fn take_bound(&mut self) -> std::vec::Drain<'_, Bound> {
        self.bound.drain(..)
    }

    /// Whether this event should be repeated.
    pub(super) fn can_repeat(&self, lane: u8, number: u64) -> bool {
        self.outgoing[usize::from(lane)].as_ref().is_some_and(|lane| lane.can_repeat(number))
    }

    /// Repeats an event that was not acknowledged. Returns the number of bytes that this took.
    pub(super) fn repeat(&mut self, lane: u8, number: u64, departure: &mut Departure<'_>) -> usize {
        let Some(sender) = &mut self.outgoing[usize::from(lane)] else { return 0 };
        sender.repeat(number, &mut departure.context(&mut self.store, &mut self.bound))
    }

    /// Reports to the peer how many events the application has consumed.
    pub(super) fn write_windows(&mut self, departure: &mut Departure<'_>) {
        for (lane, receiver) in (0..).zip(&mut self.incoming[..self.heard.into()]) {
            let Some(receiver) = receiver else { continue };
            let Some(consumed) = receiver.window() else { continue };
            departure.builder.frame(|out| write::window(out, lane, consumed));
            departure.sent.push_item(Item::Window { lane, consumed });
            receiver.window_sent();
        }
    }

    /// Whether other messages wait and would be sent before a message that is put now.
    pub(super) fn have_waiting(&self) -> bool {
        self.outgoing.iter().flatten().any(|lane| lane.waiting() > 0 || lane.is_sending_parts())
    }

    /// Returns the time at which the application's consumption is reported to the peer. A time in the past means now.
    pub(super) fn report_at(&self, own: &Limits) -> Option<Time> {
        let lanes = self.incoming[..self.heard.into()].iter().flatten();
        lanes.filter_map(|lane| lane.window_due(own)).min()
    }

    /// Returns the time at which a lane with a limit in bytes a second may send again.
    pub(super) fn bulk_at(&mut self, now: Time, peer: &Limits) -> Option<Time> {
        if !self.has_limits {
            return None;
        }
        let in_use = self.in_use(peer);
        self.outgoing[..in_use].iter_mut().flatten().filter_map(|lane| lane.next_at(now)).min()
    }

    /// Checks that the lanes of a packet exist. `lanes` is the number of lanes with content. `window_lanes` is the number of
    /// lanes in WINDOW frames; we send on these lanes.
    pub(super) fn check(&self, (lanes, window_lanes): (u32, u32)) -> Result<(), Broken> {
        if lanes as usize > self.incoming.len() || window_lanes as usize > self.outgoing.len() {
            return Err(Broken::limit("a lane beyond lanes_max"));
        }
        Ok(())
    }

    /// Handles a frame of packet `number` on a lane that exists.
    pub(super) fn receive(
        &mut self,
        number: u64,
        frame: &Frame<'_>,
        arrival: Arrival<'_>,
    ) -> Result<(), Broken> {
        let Some(lane) = frame.lane() else { return Ok(()) };
        if let Frame::Window { consumed, .. } = frame {
            return self.consumed(lane, *consumed);
        }
        // Any frame may complete an interval, so the bit is set before the frame is examined.
        self.readable |= 1 << lane;
        self.heard = self.heard.max(lane + 1);
        let Arrival { now, left, limits, stats } = arrival;
        let context = &mut ReceiveContext { store: &mut self.store, stats, limits, left, now };
        let seed = self.seed ^ u64::from(lane);
        let lane = self.incoming[usize::from(lane)].get_or_insert_with(|| Box::new(ReceiveLane::new(seed)));
        match frame {
            Frame::States(states) => states.records().try_for_each(|(state, value)| {
                lane.state(states.interval, state, value.len(), |store| store.insert(value), context)
            }),
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

    /// Records that the peer's application has consumed the events of an outgoing lane below `consumed`.
    fn consumed(&mut self, lane: u8, consumed: u64) -> Result<(), Broken> {
        match &mut self.outgoing[usize::from(lane)] {
            Some(lane) => lane.consumed(consumed),
            None if consumed == 0 => Ok(()),
            None => Err(Broken::violation("consumed more events than were sent")),
        }
    }

    /// Returns the next message according to the laws of the queue, and its lane. The payload is in `into`. Lanes take turns.
    pub(super) fn poll(&mut self, now: Time, into: &mut Vec<u8>) -> Option<(u8, Arrived)> {
        while self.readable != 0 {
            // The first set bit at or after `next_to_read`, cyclically.
            let ahead = self.readable.rotate_right(self.next_to_read.into()).trailing_zeros() as u8;
            let lane = (self.next_to_read + ahead) % LANES_MAX;
            if let Some(receiver) = &mut self.incoming[usize::from(lane)]
                && let Some(arrived) = receiver.poll(now)
            {
                into.clear();
                into.extend_from_slice(self.store.get(arrived.payload));
                self.store.remove(arrived.payload);
                return Some((lane, arrived));
            }
            self.readable &= !(1 << lane);
        }
        None
    }

    /// Whether [`Self::poll`] may return a message.
    pub(super) fn is_readable(&self) -> bool {
        self.readable != 0
    }

    /// Ends the turn of a lane after one of its messages was shown. The next lane is then read first.
    pub(super) fn end_turn(&mut self, lane: u8) {
        self.next_to_read = (lane + 1) % LANES_MAX;
    }

    /// Records the arrival of a packet that contains a value, or a part of a value.
    pub(super) fn state_arrived(&mut self, lane: u8, slot: u32, stamp: u64, part: Option<u32>) {
        if let Some(sender) = &mut self.outgoing[usize::from(lane)] {
            sender.state_arrived(slot, stamp, part, &mut self.store);
        }
    }

    /// Records the arrival of a packet that contains an event, or a part of an event.
    pub(super) fn event_arrived(&mut self, lane: u8, number: u64, part: Option<u32>) {
        if let Some(sender) = &mut self.outgoing[usize::from(lane)] {
            sender.event_arrived(number, part, &mut self.store);
        }
    }

    /// Records that a packet with bytes of a source arrived or was lost.
    pub(super) fn settled(&mut self, lane: u8, number: u64, arrived: bool) {
        self.outcomes.push_back(PacketOutcome { lane, number, arrived });
    }

    /// Records that a packet with this item was lost.
    pub(super) fn lost(&mut self, number: u64, item: Item) {
        match item {
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
                self.settled(lane, number, false);
            }
            Item::Proof => {}
        }
    }

    /// Returns the outcome of a source's bytes in a packet.
    pub(super) fn poll_outcome(&mut self) -> Option<PacketOutcome> {
        self.outcomes.pop_front()
    }

    /// Puts this item of the oldest packet in flight into the next packet.
    pub(super) fn probe(&mut self, item: Item) {
        if let Item::State { lane, .. } | Item::Event { lane, .. } = item
            && let Some(lane) = &mut self.outgoing[usize::from(lane)]
        {
            lane.probe(item);
        }
    }

    /// Also puts each lane's oldest events and values into the next packet.
    pub(super) fn probe_oldest(&mut self) {
        for lane in self.outgoing.iter_mut().flatten() {
            lane.probe_oldest(PROBE_MESSAGES);
        }
    }

    /// Withdraws a command whose deadline has passed.
    pub(super) fn expire(&mut self, lane: u8, id: u64) {
        if let Some(sender) = &mut self.outgoing[usize::from(lane)] {
            sender.expire(id, &mut self.store);
        }
    }

    /// Adapts to a carrier with another packet size.
    pub(super) fn change_carrier(&mut self) {
        self.outgoing.iter_mut().flatten().for_each(|lane| lane.change_carrier());
    }

    /// Whether all messages that were put have arrived at the peer.
    pub(super) fn is_drained(&self) -> bool {
        self.outgoing.iter().flatten().all(|lane| lane.is_drained())
    }

    /// Number of messages that wait to be sent for the first time.
    pub(super) fn waiting(&self) -> usize {
        self.outgoing.iter().flatten().map(|lane| lane.waiting()).sum()
    }

    /// Bytes of the messages that wait to be sent for the first time.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.outgoing.iter().flatten().map(|lane| lane.waiting_bytes()).sum()
    }

    /// The messages that wait to be sent for the first time, as memory.
    pub(super) fn backlog(&self) -> Backlog {
        self.outgoing.iter().flatten().map(|lane| lane.backlog()).sum()
    }

    /// The messages that wait to be sent for the first time.
    pub(super) fn waiting_messages(&self, now: Time) -> impl Iterator<Item = WaitingMessage> {
        self.outgoing.iter().flatten().flat_map(move |lane| lane.waiting_messages(now))
    }

    /// Number of messages that wait for the application.
    pub(super) fn unread(&self) -> usize {
        self.incoming.iter().flatten().map(|lane| lane.unread()).sum()
    }
}
