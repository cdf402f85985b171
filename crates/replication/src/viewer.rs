//! The replication state of one viewer: the frames that the viewer has acknowledged, and the next payload.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::acked::Acked;
use crate::frames::{Delta, Frames, Summary};
use crate::interest_set::InterestSet;
use crate::payload::{HEAD_BYTES, RecordHead};
use crate::update_rates::{Interval, RateTable};
use crate::{FRAMES_KEPT, RECORD_BYTES_MAX, SectionId};

/// Maximum number of packets whose outcome is awaited: more than a viewer gets in one second. Older packets count as lost.
const AWAITED_MAX: usize = 1_024;

/// Maximum number of groups in packets whose outcome is awaited. A client that acknowledges nothing has no more of them.
const AWAITED_RECORDS_MAX: usize = 8_192;

/// Number of lists of records kept for reuse: about as many as there are packets in flight.
const SPARE_MAX: usize = 8;

/// The list of visible groups keeps room for four times this number of groups.
const SPARE_GROUPS: usize = 32;

/// After this many groups did not fit into a packet, all remaining groups wait for the next packet.
const MISFITS_MAX: usize = 3;

/// If more sections enter, leave or get other groups in one round, the list of visible groups is rebuilt instead.
const SINGLE_SECTIONS_MAX: usize = 32;

/// At this distance an entity has half the weight that it has next to the viewer.
const NEAR_METRES: f32 = 8.0;

/// An entity that moves this far in a step has twice the weight of a resting entity. Faster entities have no greater weight.
const FAST_METRES: f32 = 0.15;

/// One viewer: the acknowledged frames of each group, the packets in flight, and the groups to send.
///
/// [`Viewer::begin_round`] begins a round at the viewer's rate. [`Viewer::fill`] writes a payload when a packet leaves.
/// [`Viewer::on_outcome`] takes the packet's outcome from the session. Lost values are sent again at once, with the
/// newest values. A viewer sees everything unless [`Viewer::set_interest`] restricts it.
#[derive(Debug, Default)]
pub struct Viewer {
    /// The visible groups, in order.
    known: Vec<Known>,
    /// The visible sections, in order; `None` for all.
    interest_set: Option<Vec<SectionId>>,
    /// The sections that entered and left since `known` was built, in order. They are empty if `known` must be rebuilt.
    entered: Vec<SectionId>,
    left: Vec<SectionId>,
    /// Memory for the sections whose groups must be compared with `known`.
    touched: Vec<SectionId>,
    /// The version of the frames for which `known` was built; `None` if it must be rebuilt.
    version: Option<u64>,
    /// The update rates by distance.
    rates: Arc<RateTable>,
    /// Steps of two rounds: the time between two frames of a group that is sent in every second round.
    two_rounds_steps: u32,
    /// The tick of the last round.
    round_tick: Option<u32>,
    /// Counts how often groups became visible, to recognise packets from before a group became visible again.
    arrivals: u32,
    /// Groups to send, the most urgent last.
    wanted: Vec<Wish>,
    /// Packets in flight, in the order of their numbers.
    awaited: VecDeque<Awaited>,
    /// The number of groups in these packets.
    awaited_records: usize,
    /// Memory of finished packets, for reuse.
    spare: Vec<Vec<Sent>>,
    /// Whether the viewer needs a payload with the tick even if nothing moved.
    wants_tick: bool,
    /// The viewer's two newest inputs, each with the tick from which it was applied. The older input is needed because an
    /// input is set before frames of its tick exist.
    controls: [(u32, u16); 2],
    bytes_left: Option<usize>,
    bytes_per_round_max: Option<usize>,
    /// Counters of this viewer.
    pub stats: ViewerStats,
}

/// Counters of a viewer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewerStats {
    /// Number of payloads.
    pub payloads: u64,
    /// Number of groups in these payloads.
    pub records: u64,
    /// Groups sent again, because the packet was lost.
    pub repeated: u64,
    /// Packets that counted as lost before their outcome was known, because too many outcomes were awaited.
    pub abandoned: u64,
    /// Groups that were encoded for this viewer, because no other viewer had the same baselines.
    pub encoded: u64,
    /// Groups sent without a baseline, because the viewer has acknowledged none.
    pub whole: u64,
    /// Groups that were postponed to the next round, because the bytes of the round were used up.
    pub postponed: u64,
    /// Age of the oldest group at the start of the newest round, in steps. Only groups with changes count. There is one age
    /// per range: up to a quarter of the far distance, up to the far distance, and beyond.
    pub oldest_steps: [u32; 3],
}

#[derive(Clone, Debug)]
struct Known {
    group: u16,
    /// The section of the group.
    section: SectionId,
    /// A number that changes each time that the group becomes visible.
    arrival: u32,
    /// The acknowledged frames.
    acked: Acked,
    /// The newest frame that was sent and not lost.
    sent: Option<u32>,
    /// The urgency, which grows while the group waits.
    urgency: f32,
    is_wanted: bool,
    /// Whether the last round skipped the group, because it is far away.
    was_left_out: bool,
}

impl Known {
    fn new((group, section): (u16, SectionId), arrival: u32) -> Self {
        let (acked, sent) = Default::default();
        Self { group, section, arrival, acked, sent, urgency: 0.0, is_wanted: false, was_left_out: true }
    }
}

#[derive(Debug)]
struct Awaited {
    packet: u64,
    records: Vec<Sent>,
}

/// A group to send: its urgency, and in the lowest 16 bits its place in the list of visible groups. Whole numbers are sorted
/// faster than pairs. Places break ties between equal urgencies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
struct Wish(u64);

impl Wish {
    /// Takes a place below [`GROUPS_MAX`](crate::GROUPS_MAX).
    fn new(urgency: f32, place: usize) -> Self {
        // The bits of numbers that are not negative are ordered like the numbers.
        Self(u64::from(urgency.max(0.0).to_bits()) << u16::BITS | place as u64)
    }

    fn place(self) -> usize {
        usize::from(self.0 as u16)
    }
}

/// The outcome of writing a record.
enum Written {
    Record(RecordHead),
    /// The record does not fit into the packet.
    Misfit,
    /// The group has nothing new.
    Nothing,
}

/// A group in a packet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    group: u16,
    /// The place of the group in the list of visible groups when the packet was filled. Most groups keep their places.
    place: u16,
    arrival: u32,
    tick: u32,
}

impl Viewer {
    /// Makes a viewer that receives at most this many bytes a round. Groups that are near or have waited long are sent
    /// first.
    pub fn with_bytes_per_round_max(bytes_per_round_max: usize) -> Self {
        Self { bytes_per_round_max: Some(bytes_per_round_max), ..Self::default() }
    }

    /// Memory of the viewer on the heap, in bytes. It grows with the groups that the viewer sees, not with the world.
    pub fn heap_bytes(&self) -> usize {
        let records = self.awaited.iter().map(|awaited| &awaited.records).chain(&self.spare);
        bytes_of(&self.known)
            + self.interest_set.as_ref().map_or(0, bytes_of)
            + bytes_of(&self.entered)
            + bytes_of(&self.left)
            + bytes_of(&self.touched)
            + bytes_of(&self.wanted)
            + bytes_of(&self.spare)
            + self.awaited.capacity() * size_of::<Awaited>()
            + records.map(bytes_of).sum::<usize>()
    }

    /// Restricts the viewer to these sections from the next round on. Groups are sent at these rates. `two_rounds_steps` is
    /// the usual number of steps that two rounds take.
    ///
    /// In which steps a far group is sent depends on the group, not on the viewer. So viewers with the same rounds get a far
    /// group in the same step, against the same baselines, and share its encoding.
    pub fn set_interest(
        &mut self,
        interest_set: &InterestSet,
        rates: &Arc<RateTable>,
        two_rounds_steps: u32,
    ) {
        self.two_rounds_steps = two_rounds_steps;
        if !Arc::ptr_eq(&self.rates, rates) {
            self.rates = Arc::clone(rates);
        }
        let sections = interest_set.sections();
        match &mut self.interest_set {
            Some(before) if before.as_slice() == sections => {}
            // A second change in one round is rare.
            Some(before) if self.version.is_some() && self.entered.is_empty() && self.left.is_empty() => {
                compare(before, sections, &mut self.entered, &mut self.left);
                before.clear();
                before.extend_from_slice(sections);
            }
            _ => {
                self.interest_set = Some(sections.to_vec());
                self.version = None;
            }
        }
    }

    /// Begins a round. Groups that changed since the last round are queued, those near `eye` (in metres) first.
    pub fn begin_round(&mut self, frames: &Frames, eye: Option<[f32; 3]>) {
        self.wants_tick = true;
        self.bytes_left = self.bytes_per_round_max;
        if !self.move_visible(frames) {
            self.refresh_visible(frames);
        }
        // After a join, many groups merge, so the list shrinks.
        if self.known.capacity() > 4 * self.known.len().max(SPARE_GROUPS) {
            self.known.shrink_to(2 * self.known.len());
        }
        self.version = Some(frames.version());
        self.entered.clear();
        self.left.clear();
        self.stats.oldest_steps = [0; 3];
        let before = self.round_tick.replace(frames.tick());
        let Self { known, wanted, rates, stats, two_rounds_steps, .. } = self;
        let far_metres = rates.far_metres();
        wanted.clear();
        for (place, known) in known.iter_mut().enumerate() {
            if let Some(group) = frames.group(known.group)
                && let Some(newest) = group.summary()
                && known.sent != Some(newest.tick)
            {
                let (weight, away) = weight(newest, eye);
                known.urgency += weight;
                let (is_far, is_near) = (away > far_metres, away <= far_metres / 4.0);
                let oldest = &mut stats.oldest_steps[if is_near { 0 } else { 1 + usize::from(is_far) }];
                *oldest = (*oldest).max(known.sent.map_or(0, |sent| newest.tick.wrapping_sub(sent)));
                let is_due = |steps| {
                    let slot = |tick| far_slot(tick, known.group, steps);
                    before.is_none_or(|before| slot(before) != slot(frames.tick()))
                };
                known.was_left_out = match rates.of(newest.rates).interval_at(away) {
                    Interval::EveryRound => false,
                    // No group is left out twice in a row, even if rounds are not equally far apart.
                    Interval::EverySecondRound => !known.was_left_out && !is_due(*two_rounds_steps),
                    Interval::Steps(steps) => known.sent.is_some() && !is_due(u32::from(steps)),
                };
                known.is_wanted |= !known.was_left_out;
            }
            if known.is_wanted {
                wanted.push(Wish::new(known.urgency, place));
            }
        }
        wanted.sort_unstable();
    }

    /// Rebuilds the list of visible groups. Groups that become visible start without baselines.
    fn refresh_visible(&mut self, frames: &Frames) {
        let with_section = |section: SectionId| move |group: &u16| (*group, section);
        let mut groups: Vec<(u16, SectionId)> = match &self.interest_set {
            None => frames.all_groups().collect(),
            Some(sections) => sections
                .iter()
                .flat_map(|section| frames.groups_of(*section).iter().map(with_section(*section)))
                .collect(),
        };
        groups.sort_unstable();
        self.arrivals = self.arrivals.wrapping_add(1);
        let mut before = std::mem::take(&mut self.known).into_iter().peekable();
        let met = groups.into_iter().map(|(group, section)| {
            while before.next_if(|known| known.group < group).is_some() {}
            let known = before.next_if(|known| known.group == group);
            known.map_or_else(
                || Known::new((group, section), self.arrivals),
                |known| Known { section, ..known },
            )
        });
        self.known = met.collect();
    }

    /// Updates the list of visible groups from the sections that entered, left, or have other groups. All other sections have the
    /// same groups as before. Returns whether it did; if not, the list must be rebuilt.
    fn move_visible(&mut self, frames: &Frames) -> bool {
        let Self { known, interest_set, entered, left, touched, arrivals, version, .. } = self;
        let Some(regrouped) = version.and_then(|version| frames.regrouped_since(version)) else {
            return false;
        };
        let sees = |section: SectionId| {
            interest_set.as_ref().is_none_or(|sections| sections.binary_search(&section).is_ok())
        };
        touched.clear();
        touched.extend(entered.iter().chain(left.iter()));
        for section in regrouped {
            if touched.len() > SINGLE_SECTIONS_MAX {
                return false;
            }
            if !touched.contains(&section) && sees(section) {
                touched.push(section);
            }
        }
        if touched.is_empty() {
            return true;
        }
        let stays = |Known { group, section, .. }: &Known| {
            !touched.contains(section) || sees(*section) && frames.groups_of(*section).contains(group)
        };
        known.retain(stays);
        *arrivals = arrivals.wrapping_add(1);
        for &section in touched.iter().filter(|section| sees(**section)) {
            for &group in frames.groups_of(section) {
                if let Err(at) = known.binary_search_by_key(&group, |known| known.group) {
                    known.insert(at, Known::new((group, section), *arrivals));
                }
            }
        }
        true
    }

    /// Returns the group of a record, if the group has been visible since the record was sent.
    fn find_sent(&mut self, sent: Sent) -> Option<&mut Known> {
        let place = usize::from(sent.place);
        let at = match self.known.get(place).filter(|known| known.group == sent.group) {
            Some(_) => place,
            None => self.known.binary_search_by_key(&sent.group, |known| known.group).ok()?,
        };
        Some(&mut self.known[at]).filter(|known| known.arrival == sent.arrival)
    }

    fn sort(&mut self) {
        let Self { known, wanted, .. } = self;
        let is_wanted = known.iter().enumerate().filter(|(_, known)| known.is_wanted);
        wanted.clear();
        wanted.extend(is_wanted.map(|(place, known)| Wish::new(known.urgency, place)));
        wanted.sort_unstable();
    }

    /// Records that the viewer's input of this number is applied from the step `tick` on. Call it before the frames of that
    /// step are published, so that a payload never names an input whose effect it does not contain.
    pub fn set_controls(&mut self, tick: u32, number: u16) {
        if self.controls[0].1 != number {
            self.controls = [(tick, number), self.controls[0]];
        }
    }

    fn controls_at(&self, tick: u32) -> u16 {
        let [newest, before] = self.controls;
        if tick.wrapping_sub(newest.0) as i32 >= 0 { newest.1 } else { before.1 }
    }

    /// Whether there is something to send now.
    pub fn has_more(&self) -> bool {
        self.wants_tick || !self.wanted.is_empty()
    }

    /// Appends the most urgent groups for packet `number`, at most `room` bytes. Appends nothing if not even one group
    /// fits.
    pub fn fill(&mut self, frames: &Frames, number: u64, room: usize, out: &mut Vec<u8>) {
        let start = out.len();
        if room < HEAD_BYTES {
            return;
        }
        let end = start + room;
        out.extend_from_slice(&frames.tick().to_le_bytes());
        out.extend_from_slice(&self.controls_at(frames.tick()).to_le_bytes());
        let mut records = self.spare.pop().unwrap_or_default();
        let (mut misfits, mut count, mut head_before) = ([Wish::default(); MISFITS_MAX], 0, None);
        while count < MISFITS_MAX
            && !self.is_spent()
            && let Some(wish) = self.wanted.pop()
        {
            let (place, before) = (wish.place(), out.len());
            match self.write_record(frames, place, head_before.as_ref(), end, out) {
                Written::Record(head) => {
                    self.stats.whole += u64::from(head.baselines[0].is_none());
                    self.bytes_left = self.bytes_left.map(|left| left.saturating_sub(out.len() - before));
                    let known = &mut self.known[place];
                    (known.sent, known.is_wanted, known.urgency) = (Some(head.tick), false, 0.0);
                    // There are at most as many places as groups, so 16 bits hold each place.
                    let (group, place, tick) = (head.group, place as u16, head.tick);
                    records.push(Sent { group, place, arrival: known.arrival, tick });
                    head_before = Some(head);
                }
                Written::Misfit => {
                    misfits[count] = wish;
                    count += 1;
                }
                Written::Nothing => {
                    let known = &mut self.known[place];
                    (known.is_wanted, known.urgency) = (false, 0.0);
                }
            }
        }
        // They are more urgent than the groups that were not tried.
        self.wanted.extend(misfits[..count].iter().rev());
        if self.is_spent() {
            self.postpone();
        }
        if records.is_empty() && !self.wants_tick {
            out.truncate(start);
            return self.keep_spare(records);
        }
        self.wants_tick = false;
        self.stats.payloads += 1;
        self.stats.records += records.len() as u64;
        self.awaited_records += records.len();
        self.awaited.push_back(Awaited { packet: number, records });
        self.abandon();
    }

    /// Counts the oldest packets as lost, if too many outcomes are awaited.
    fn abandon(&mut self) {
        while self.awaited.len() > AWAITED_MAX || self.awaited_records > AWAITED_RECORDS_MAX {
            let Some(Awaited { records, .. }) = self.awaited.pop_front() else { return };
            self.awaited_records -= records.len();
            self.stats.abandoned += 1;
            self.lost(&records);
            self.keep_spare(records);
        }
    }

    fn keep_spare(&mut self, mut records: Vec<Sent>) {
        if self.spare.len() < SPARE_MAX {
            records.clear();
            self.spare.push(records);
        }
    }

    /// Appends the record of the group at this place, unless the payload then exceeds `end`.
    fn write_record(
        &mut self,
        frames: &Frames,
        place: usize,
        head_before: Option<&RecordHead>,
        end: usize,
        out: &mut Vec<u8>,
    ) -> Written {
        let Self { known, stats, .. } = self;
        let Known { group, sent, acked, .. } = &known[place];
        let Some(group_frames) = frames.group(*group) else { return Written::Nothing };
        let Some(newest) = group_frames.newest() else { return Written::Nothing };
        let tick = newest.frame.tick();
        if *sent == Some(tick) || acked.newest() == Some(tick) {
            return Written::Nothing;
        }
        let is_motion = newest.quantization.is_motion();
        let written = group_frames.with_delta(acked, frames.encoders(), |delta| {
            let Delta { baselines, unchanged_ticks, bytes, is_new } = delta;
            stats.encoded += u64::from(is_new);
            debug_assert!(bytes.len() <= RECORD_BYTES_MAX, "a group fits into a packet");
            let quantization = baselines[0].is_none().then_some(newest.quantization);
            let head =
                RecordHead { group: *group, is_motion, tick, baselines, unchanged_ticks, quantization };
            let before = out.len();
            head.write(frames.tick(), head_before, bytes, out);
            if out.len() <= end {
                return Written::Record(head);
            }
            out.truncate(before);
            Written::Misfit
        });
        written.unwrap_or(Written::Nothing)
    }

    fn is_spent(&self) -> bool {
        self.bytes_left == Some(0)
    }

    /// Postpones the remaining groups to the next round, in which they are more urgent.
    fn postpone(&mut self) {
        self.stats.postponed += self.wanted.len() as u64;
        self.wanted.clear();
        for known in &mut self.known {
            known.is_wanted = false;
        }
    }

    /// Handles the outcome of a packet that [`Viewer::fill`] wrote into. Unknown packets are ignored. Groups that were out
    /// of sight in the meantime are ignored, too.
    pub fn on_outcome(&mut self, packet: u64, arrived: bool) {
        let Ok(at) = self.awaited.binary_search_by_key(&packet, |awaited| awaited.packet) else { return };
        let Some(Awaited { records, .. }) = self.awaited.remove(at) else { return };
        self.awaited_records -= records.len();
        if arrived {
            self.arrived(&records);
        } else {
            self.lost(&records);
        }
        self.keep_spare(records);
    }

    fn arrived(&mut self, records: &[Sent]) {
        for &record in records {
            let Some(known) = self.find_sent(record) else { continue };
            known.acked.add(record.tick);
        }
    }

    /// Drops all baselines, because the viewer reported that it lost them.
    pub fn reset(&mut self) {
        self.awaited.clear();
        self.awaited_records = 0;
        for known in &mut self.known {
            *known = Known {
                is_wanted: true,
                urgency: 1.0,
                ..Known::new((known.group, known.section), known.arrival)
            };
        }
        self.sort();
    }

    fn lost(&mut self, records: &[Sent]) {
        let mut again = 0;
        for &record in records {
            let Some(known) = self.find_sent(record) else { continue };
            // If a newer frame of the group is in flight, that frame replaces the lost one.
            if known.sent == Some(record.tick) {
                known.sent = known.acked.newest();
                known.urgency += 1.0;
                again += u64::from(!known.is_wanted);
                known.is_wanted = true;
            }
        }
        self.stats.repeated += again;
        if again > 0 {
            self.sort();
        }
    }
}

/// Finds the sections that are only in `now` and those that are only in `before`. Both lists are in order.
fn compare(before: &[SectionId], now: &[SectionId], entered: &mut Vec<SectionId>, left: &mut Vec<SectionId>) {
    let mut now = now.iter().copied().peekable();
    for &section in before {
        while let Some(new) = now.next_if(|new| *new < section) {
            entered.push(new);
        }
        if now.next_if_eq(&section).is_none() {
            left.push(section);
        }
    }
    entered.extend(now);
}

fn bytes_of<T>(list: &Vec<T>) -> usize {
    list.capacity() * size_of::<T>()
}

/// Numbers the spans of `steps` steps in which a far group is sent once. The spans of half of the groups begin half a span later.
fn far_slot(tick: u32, group: u16, steps: u32) -> u32 {
    let steps = steps.max(1);
    tick.wrapping_add(u32::from(group & 1) * (steps / 2)) / steps
}

/// Returns the weight of a group for a viewer at `eye`, and its distance in metres. The weight of a resting group next to
/// the viewer is 1. It decreases with the distance, and is up to twice as great for fast groups. Large entities count as
/// near.
fn weight(newest: &Summary, eye: Option<[f32; 3]>) -> (f32, f32) {
    let speed = 1.0 + (newest.moved / FAST_METRES).min(1.0);
    let (Some(eye), Some([low, high])) = (eye, newest.bounds) else { return (speed, 0.0) };
    let away = (0..3).map(|axis| {
        let nearest = eye[axis].clamp(low[axis], high[axis]);
        let metres = nearest - eye[axis];
        metres * metres
    });
    let distance = (libm::sqrtf(away.sum()) - newest.size).max(0.0);
    (speed * NEAR_METRES / (NEAR_METRES + distance), distance)
}

const _: () = assert!(AWAITED_MAX >= FRAMES_KEPT);
// One packet of 64 KiB holds fewer groups, so the newest packet is always awaited.
const _: () = assert!(AWAITED_RECORDS_MAX * 8 >= 1 << 16);
