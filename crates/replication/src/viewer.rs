//! What one viewer has of a world, and what it is sent next.

use std::collections::VecDeque;

use crate::history::{Bounds, Encoder, History, Past};
use crate::payload::{HEAD_BYTES, RecordHead};
use crate::{FRAMES_KEPT, RECORD_BYTES_MAX, STEPS_PER_METRE};

/// Packets whose fate is awaited; older ones count as lost. More than a second of them at any rate.
const AWAITED_MAX: usize = 1_024;

/// Groups that may fail to fit into a packet before the next packet is waited for.
const MISFITS_MAX: usize = 3;

/// At this distance something counts half as much as beside the viewer.
const NEAR_METRES: f32 = 8.0;

/// One viewer: what it has acknowledged of each group, what is on its way, and what is due.
///
/// [`Viewer::due`] at the viewer's rate; [`Viewer::fill`] when a packet leaves; [`Viewer::settled`] when the session knows
/// what became of it. What was lost is sent again at once, with the newest values.
#[derive(Debug, Default)]
pub struct Viewer {
    groups: Vec<Known>,
    /// Groups with something new, the most urgent last.
    wanted: Vec<u16>,
    /// Packets whose fate is not known, in the order of their numbers.
    awaited: VecDeque<Awaited>,
    /// Whether the viewer is to hear of the time even if nothing moved.
    wants_tick: bool,
    encoder: Encoder,
    /// From which tick on which of the viewer's controls were in force: the newest, and those before them, because the newest
    /// are set before the history has their tick.
    controls: [(u32, u16); 2],
    bytes_left: Option<usize>,
    bytes_per_round_max: Option<usize>,
    /// What this viewer was sent.
    pub stats: ViewerStats,
}

/// What a viewer was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ViewerStats {
    /// Payloads.
    pub payloads: u64,
    /// Groups in them.
    pub records: u64,
    /// Groups sent again, because the packet was lost.
    pub repeated: u64,
    /// Groups sent as a whole, because the viewer has no baseline of them.
    pub whole: u64,
    /// Groups that had to wait for the next round, because the bytes of a round were spent.
    pub postponed: u64,
}

#[derive(Clone, Debug, Default)]
struct Known {
    /// The newest frames that the viewer has, newest first.
    acked: Past,
    /// The newest frame that was sent and not lost.
    sent: Option<u32>,
    /// Grows while it waits.
    urgency: f32,
    is_wanted: bool,
}

#[derive(Debug)]
struct Awaited {
    packet: u64,
    records: Vec<(u16, u32)>,
}

impl Viewer {
    /// A viewer that is sent at most so many bytes in a round; the nearest and longest waiting groups go first.
    pub fn with_bytes_per_round_max(bytes_per_round_max: usize) -> Self {
        Self { bytes_per_round_max: Some(bytes_per_round_max), ..Self::default() }
    }

    /// A round begins: what moved since the last one is to be sent, most urgently what is near to the entity `avatar`.
    pub fn due(&mut self, history: &History, avatar: Option<u32>) {
        self.wants_tick = true;
        self.bytes_left = self.bytes_per_round_max;
        self.groups.resize(history.groups().len().max(self.groups.len()), Known::default());
        let eye = avatar.and_then(|id| history.position(id));
        for (known, group) in self.groups.iter_mut().zip(history.groups()) {
            let Some(newest) = group.newest() else { continue };
            if known.sent != Some(newest.frame.tick()) {
                known.urgency += weight(newest.bounds, eye);
                known.is_wanted = true;
            }
        }
        self.sort();
    }

    fn sort(&mut self) {
        let Self { groups, wanted, .. } = self;
        wanted.clear();
        wanted.extend((0..groups.len()).filter(|at| groups[*at].is_wanted).map(|at| at as u16));
        let urgency = |at: &u16| groups[usize::from(*at)].urgency;
        wanted.sort_by(|a, b| urgency(a).total_cmp(&urgency(b)));
    }

    /// From the step `tick` on, the viewer's controls of this number are in force. To be said before the history has that step,
    /// so that no payload claims more than what is in it.
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

    /// Appends what is most urgent for packet `number`, at most `room` bytes; nothing if not even that fits.
    pub fn fill(&mut self, history: &History, number: u64, room: usize, out: &mut Vec<u8>) {
        let start = out.len();
        if room < HEAD_BYTES {
            return;
        }
        let end = start + room;
        out.extend_from_slice(&history.tick().to_le_bytes());
        out.extend_from_slice(&self.controls_at(history.tick()).to_le_bytes());
        let mut records = Vec::new();
        let mut misfits = 0;
        let mut at = self.wanted.len();
        while at > 0 && misfits < MISFITS_MAX && !self.is_spent() {
            at -= 1;
            let group = self.wanted[at];
            let Some((head, delta)) = self.record(history, group) else {
                self.settle_wish(at);
                continue;
            };
            let before = out.len();
            head.write(history.tick(), &delta, out);
            if out.len() > end {
                out.truncate(before);
                misfits += 1;
                continue;
            }
            self.stats.whole += u64::from(head.past[0].is_none());
            self.bytes_left = self.bytes_left.map(|left| left.saturating_sub(out.len() - before));
            self.groups[usize::from(group)].sent = Some(head.tick);
            self.settle_wish(at);
            records.push((group, head.tick));
        }
        if self.is_spent() {
            self.postpone();
        }
        if records.is_empty() && !self.wants_tick {
            out.truncate(start);
            return;
        }
        self.wants_tick = false;
        self.stats.payloads += 1;
        self.stats.records += records.len() as u64;
        self.awaited.push_back(Awaited { packet: number, records });
        if self.awaited.len() > AWAITED_MAX
            && let Some(oldest) = self.awaited.pop_front()
        {
            self.lost(&oldest.records);
        }
    }

    /// How a group is sent; `None` if there is nothing new.
    fn record(&mut self, history: &History, group: u16) -> Option<(RecordHead, std::sync::Arc<[u8]>)> {
        let known = &self.groups[usize::from(group)];
        let frames = history.groups().get(usize::from(group))?;
        let newest = frames.newest()?;
        let tick = newest.frame.tick();
        if known.sent == Some(tick) {
            return None;
        }
        let mut past = known.acked;
        let is_kept = |tick: &Option<u32>| tick.is_some_and(|tick| frames.kept(tick).is_some());
        let kept = past.iter().take_while(|tick| is_kept(tick)).count();
        past[kept..].fill(None);
        if past[0] == Some(tick) {
            return None;
        }
        let delta = frames.delta(past, &mut self.encoder)?;
        let stay = past[0]
            .and_then(|tick| frames.kept(tick))
            .map_or(0, |kept| kept.until.wrapping_sub(kept.frame.tick()));
        debug_assert!(delta.len() <= RECORD_BYTES_MAX, "a group fits into a packet");
        Some((RecordHead { group, tick, past, stay }, delta))
    }

    fn settle_wish(&mut self, at: usize) {
        let group = self.wanted.remove(at);
        let known = &mut self.groups[usize::from(group)];
        known.is_wanted = false;
        known.urgency = 0.0;
    }

    fn is_spent(&self) -> bool {
        self.bytes_left == Some(0)
    }

    /// Leaves what is still wanted to the next round, where it is more urgent.
    fn postpone(&mut self) {
        self.stats.postponed += self.wanted.len() as u64;
        for group in self.wanted.drain(..) {
            self.groups[usize::from(group)].is_wanted = false;
        }
    }

    /// Hears what became of a packet that [`Viewer::fill`] put something into. Packets that are not awaited are ignored.
    pub fn settled(&mut self, packet: u64, arrived: bool) {
        let Ok(at) = self.awaited.binary_search_by_key(&packet, |awaited| awaited.packet) else { return };
        let Some(Awaited { records, .. }) = self.awaited.remove(at) else { return };
        if !arrived {
            return self.lost(&records);
        }
        for (group, tick) in records {
            let known = &mut self.groups[usize::from(group)];
            let Some(sent) = known.sent.or(known.acked[0]) else {
                known.acked[0] = Some(tick);
                continue;
            };
            // The newest first; ticks wrap, and none of these is newer than what was sent last.
            let age = |tick: u32| sent.wrapping_sub(tick) as i32;
            if known.acked.contains(&Some(tick)) {
                continue;
            }
            let place = known.acked.iter().position(|other| other.is_none_or(|other| age(other) > age(tick)));
            if let Some(place) = place {
                known.acked[place..].rotate_right(1);
                known.acked[place] = Some(tick);
            }
        }
    }

    /// Forgets what the viewer has, because it says that it lost it.
    pub fn reset(&mut self) {
        self.awaited.clear();
        for known in &mut self.groups {
            *known = Known { is_wanted: true, urgency: 1.0, ..Known::default() };
        }
        self.sort();
    }

    fn lost(&mut self, records: &[(u16, u32)]) {
        let mut again = 0;
        for &(group, tick) in records {
            let known = &mut self.groups[usize::from(group)];
            if known.sent == Some(tick) {
                known.sent = known.acked[0];
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

/// How much a group matters to somebody at `eye`: 1 beside it, less with the distance.
fn weight(bounds: Option<Bounds>, eye: Option<[i32; 3]>) -> f32 {
    let (Some(eye), Some([low, high])) = (eye, bounds) else { return 1.0 };
    let away = (0..3).map(|axis| {
        let nearest = eye[axis].clamp(low[axis], high[axis]);
        let metres = nearest.abs_diff(eye[axis]) as f32 / STEPS_PER_METRE;
        metres * metres
    });
    let distance = libm::sqrtf(away.sum());
    NEAR_METRES / (NEAR_METRES + distance)
}

const _: () = assert!(AWAITED_MAX >= FRAMES_KEPT);
