//! Measures the age of shown state: many keys at 60 Hz and a few events over a link, in virtual time.

use std::collections::VecDeque;
use std::time::Duration;

use nowcast_queue::Bounds;
use nowcast_session::{Carrier, Config, LaneConfig, MessageKind, Refused};
use nowcast_sim::link::LinkConfig;
use nowcast_sim::pair::{CROSS_TRAFFIC, End, Pair};

use super::tcp::{Control, PACKET_BYTES, Tcp};

/// The load and its link.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The link in each direction.
    pub link: LinkConfig,
    /// The link back, if it differs.
    pub back: Option<LinkConfig>,
    /// Seed for the loss and delay of packets.
    pub seed: u64,
    /// Duration of the updates.
    pub duration: Duration,
    /// Number of keys that are updated in every interval.
    pub keys: u64,
    /// Number of bytes of a value, at least 8.
    pub value_bytes: usize,
    /// Interval between two updates of a key.
    pub interval: Duration,
    /// Interval between two events; `None` for none.
    pub event_interval: Option<Duration>,
    /// The kind of queue for values and events.
    pub queueing: Queueing,
    /// A TCP sender with unlimited data that shares the link until this time of the run.
    pub beside: Option<(Control, Duration)>,
}

/// The kind of queue for values and events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// Values and events on separate lanes, for programs whose events need not wait for values.
    TwoLanes,
    /// Values and events on the same lane, where an event is a barrier between values.
    OneLane,
    /// Every value is an event. The queue is first in, first out, and nothing becomes obsolete.
    Fifo,
}

impl Default for Workload {
    /// Returns the default load on a perfect link: for one minute, 100 keys of 64 bytes at 60 Hz, and 10 events a second.
    fn default() -> Self {
        Self {
            link: LinkConfig::default(),
            back: None,
            seed: 1,
            duration: Duration::from_secs(60),
            keys: 100,
            value_bytes: 64,
            interval: Duration::from_micros(16_667),
            event_interval: Some(Duration::from_millis(100)),
            queueing: Queueing::TwoLanes,
            beside: None,
        }
    }
}

/// The result of a run.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Age of every key, sampled every millisecond, sorted, in ms.
    pub ages: Vec<f32>,
    /// The 99th percentile of the age of each key, in ms.
    pub age_p99_by_key: Vec<f32>,
    /// The mean age of each key, in ms.
    pub age_mean_by_key: Vec<f32>,
    /// Times from the put of an event to its arrival, sorted, in ms.
    pub event_latencies: Vec<f32>,
    /// Events put.
    pub events_put: u64,
    /// Values put.
    pub states_put: u64,
    /// Values shown to the application.
    pub states_shown: u64,
    /// Values replaced before they were sent.
    pub superseded: u64,
    /// Overhead bytes of a packet, in addition to keys, payloads and values: (bytes − payload − 3 × values) / packets.
    pub overhead_bytes_per_packet: f64,
    /// Utilisation of the link, in per cent of its rate; 0 without a rate.
    pub utilisation: f64,
    /// Bits a second of the session's packets that crossed the link, from [`SETTLED`] on.
    pub session_bits: f64,
    /// Bits a second of the TCP sender's packets that crossed the link, from [`SETTLED`] on.
    pub tcp_bits: f64,
    /// The mean capacity of the link in the same time, bits a second; 0 without a rate.
    pub capacity_bits: f64,
    /// The standing queue of the link, sampled every millisecond, sorted, in ms.
    pub link_queue: Vec<f32>,
    /// Packets lost or dropped by the link.
    pub packets_lost: u64,
    /// Packets that the session considered lost.
    pub packets_taken_for_lost: u64,
    /// Values and events that were sent again after a loss.
    pub resent: u64,
    /// Packets that entered the link.
    pub packets_sent: u64,
    /// Packets that entered the link back: acknowledgements.
    pub packets_back: u64,
    /// For each outage, the time from its end until every key showed a value that was produced after the outage, in ms.
    pub current_after_outage: Vec<f32>,
    /// For each outage, the time from its end until all events that were put before that time had arrived, in ms.
    pub events_after_outage: Vec<f32>,
    /// The largest number of values of one key that were produced during an outage and shown in the first 100 ms after the
    /// outage.
    pub shown_of_outage_max: u64,
}

const STATE_LANE: u8 = 1;
const EVENT_LANE: u8 = 0;
const SAMPLE_EVERY: Duration = Duration::from_millis(1);
/// Time that is not measured, because the session starts and finds its rate.
const WARM_UP: Duration = Duration::from_secs(2);
/// Time after which two senders on one link have found their shares.
pub const SETTLED: Duration = Duration::from_secs(10);

struct Run<'a> {
    workload: &'a Workload,
    pair: Pair,
    outcome: Outcome,
    newest: Vec<Option<Duration>>,
    by_key: Vec<Vec<f32>>,
    events_got: u64,
    outages: Vec<Outage>,
    rival: Option<Rival>,
    /// Number of bytes that had crossed the link at [`SETTLED`], and the number of TCP's bytes among them.
    crossed_when_settled: Option<(u64, u64)>,
}

struct Outage {
    start: Duration,
    end: Duration,
    current_at: Option<Duration>,
    events_due: Option<u64>,
    events_at: Option<Duration>,
    shown: Vec<u64>,
}

/// Runs the workload.
pub fn measure(workload: &Workload) -> Outcome {
    let mut run = Run::new(workload);
    let mut next_put = Duration::from_millis(500);
    let mut next_event = workload.event_interval.map(|interval| next_put + interval / 3);
    let mut next_sample = WARM_UP;
    let end = WARM_UP + workload.duration;
    while run.pair.now() < end {
        let event = next_event.unwrap_or(Duration::MAX);
        let own = run.pair.next_event().unwrap_or(Duration::MAX);
        let rival = run.rival.as_ref().and_then(Rival::next_event).unwrap_or(Duration::MAX);
        let next = next_put.min(event).min(next_sample).min(own).min(rival).min(end);
        run.pair.run_until(next);
        if let Some(rival) = &mut run.rival {
            rival.settle(&mut run.pair);
        }
        run.read();
        if next == next_put {
            run.put_states();
            next_put += workload.interval;
        }
        if next == event {
            run.put_event();
            next_event = workload.event_interval.map(|interval| event + interval);
        }
        if next == next_sample {
            run.sample();
            next_sample += SAMPLE_EVERY;
        }
    }
    run.finish(end)
}

impl Outcome {
    /// Returns the mean age of the worst key, relative to the mean age of all keys (law 5).
    pub fn unfairness(&self) -> f32 {
        let worst = self.age_mean_by_key.iter().copied().fold(0.0, f32::max);
        worst / mean(&self.age_mean_by_key)
    }
}

impl<'a> Run<'a> {
    fn new(workload: &'a Workload) -> Self {
        let bounds = Bounds { entries_max: 1 << 22, bytes_max: 1 << 30 };
        let lane = LaneConfig { bounds, ..LaneConfig::default() };
        let mut lanes = vec![lane; 2];
        lanes[usize::from(EVENT_LANE)].class = 0;
        let config = Config { lanes, ..Config::default() };
        let outages = workload.link.outages.iter().map(|outage| Outage {
            start: outage.start,
            end: outage.end,
            current_at: None,
            events_due: None,
            events_at: None,
            shown: vec![0; workload.keys as usize],
        });
        Self {
            workload,
            outages: outages.collect(),
            rival: workload.beside.map(|(control, until)| Rival::new(control, until, workload.link.delay)),
            crossed_when_settled: None,
            pair: Pair::new(
                workload.seed,
                [config.clone(), config],
                Carrier::DATAGRAMS,
                [workload.link.clone(), workload.back.as_ref().unwrap_or(&workload.link).clone()],
            ),
            outcome: Outcome::default(),
            newest: vec![None; workload.keys as usize],
            by_key: vec![Vec::new(); workload.keys as usize],
            events_got: 0,
        }
    }

    fn put_states(&mut self) {
        let now = self.pair.now();
        let workload = self.workload;
        let mut value = vec![0; workload.value_bytes];
        value[..8].copy_from_slice(&(now.as_micros() as u64).to_le_bytes());
        for key in 1..=workload.keys {
            self.outcome.states_put += 1;
            value[8..16].copy_from_slice(&key.to_le_bytes());
            let put = self.pair.with(End::Initiator, |session, clock| match workload.queueing {
                Queueing::Fifo => session.put_event(clock, STATE_LANE, &value),
                _ => session.put_state(clock, STATE_LANE, key, &value),
            });
            assert!(matches!(put, Ok(()) | Err(Refused::Full)), "puts are right: {put:?}");
        }
    }

    fn put_event(&mut self) {
        let lane = match self.workload.queueing {
            Queueing::TwoLanes => EVENT_LANE,
            Queueing::OneLane | Queueing::Fifo => STATE_LANE,
        };
        let mut payload = [0; 32];
        payload[..8].copy_from_slice(&(self.pair.now().as_micros() as u64).to_le_bytes());
        let put = self.pair.with(End::Initiator, |session, clock| session.put_event(clock, lane, &payload));
        self.outcome.events_put += u64::from(put.is_ok());
    }

    fn read(&mut self) {
        let mut payload = Vec::new();
        let now = self.pair.now();
        while let Some(message) =
            self.pair.with_quietly(End::Acceptor, |session, clock| session.poll_message(clock, &mut payload))
        {
            let word = |at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().expect("eight bytes"));
            let produced = Duration::from_micros(word(0));
            let is_state = payload.len() == self.workload.value_bytes && payload.len() != 32;
            match message.kind {
                MessageKind::State { .. } | MessageKind::Event if is_state => {
                    self.show_state(word(8) as usize - 1, produced, now);
                }
                _ => self.show_event(produced, now),
            }
        }
    }

    fn show_state(&mut self, key: usize, produced: Duration, now: Duration) {
        self.outcome.states_shown += 1;
        self.newest[key] = self.newest[key].max(Some(produced));
        for outage in &mut self.outages {
            if now >= outage.end && produced >= outage.start && produced < outage.end {
                outage.shown[key] += 1;
            }
            let is_current = |newest: &Option<Duration>| {
                newest.is_some_and(|newest| newest + self.workload.interval >= outage.end)
            };
            if now >= outage.end && outage.current_at.is_none() && self.newest.iter().all(is_current) {
                outage.current_at = Some(now);
            }
        }
    }

    fn show_event(&mut self, produced: Duration, now: Duration) {
        self.events_got += 1;
        self.outcome.event_latencies.push(millis(now - produced));
        for outage in &mut self.outages {
            if outage.events_due.is_some_and(|due| self.events_got >= due) && outage.events_at.is_none() {
                outage.events_at = Some(now);
            }
        }
    }

    fn sample(&mut self) {
        let now = self.pair.now();
        if now >= SETTLED && self.crossed_when_settled.is_none() {
            self.crossed_when_settled = Some(self.crossed_bytes());
        }
        for outage in &mut self.outages {
            if now >= outage.end {
                outage.events_due.get_or_insert(self.outcome.events_put);
            }
        }
        for (newest, ages) in self.newest.iter().zip(&mut self.by_key) {
            if let Some(newest) = newest {
                ages.push(millis(now - *newest));
            }
        }
        if self.workload.link.rate_bits.is_some() {
            let waits = self.pair.link(End::Initiator).queueing_delay(now);
            self.outcome.link_queue.push(millis(waits));
        }
    }

    /// Returns the number of bytes that have crossed the link, and the number of TCP's bytes among them.
    fn crossed_bytes(&mut self) -> (u64, u64) {
        let all = self.pair.link(End::Initiator).counters().delivered_bytes;
        (all, self.rival.as_ref().map_or(0, |rival| rival.crossed_bytes))
    }

    fn finish(mut self, end: Duration) -> Outcome {
        let (all, tcp) = self.crossed_bytes();
        if let Some((all_before, tcp_before)) = self.crossed_when_settled {
            let bits = |bytes: u64| bytes as f64 * 8.0 / (end - SETTLED).as_secs_f64();
            self.outcome.tcp_bits = bits(tcp - tcp_before);
            self.outcome.session_bits = bits(all - all_before) - self.outcome.tcp_bits;
        }
        let counters = self.pair.link(End::Initiator).counters();
        let stats = self.pair.session(End::Initiator).stats();
        let mut outcome = self.outcome;
        outcome.superseded = stats.superseded;
        outcome.packets_taken_for_lost = stats.packets_lost;
        outcome.resent = stats.states_resent + stats.events_resent;
        let values = (stats.states_sent + stats.states_resent) as f64;
        let events = (stats.events_sent + stats.events_repeated + stats.events_resent) as f64;
        let payload = stats.payload_bytes_sent as f64
            + stats.states_resent as f64 * (self.workload.value_bytes as f64 + 1.0)
            + (events - stats.events_sent as f64) * 32.0;
        let packets = (stats.packets_sent - stats.acks_sent) as f64;
        // The fields of an event cost at most 8 bytes. All other bytes that are neither payload nor values are overhead of
        // packets.
        outcome.overhead_bytes_per_packet =
            (stats.bytes_sent as f64 - payload - 3.0 * values - 8.0 * events) / packets;
        outcome.packets_sent = counters.sent;
        outcome.packets_back = self.pair.link(End::Acceptor).counters().sent;
        outcome.packets_lost = counters.lost + counters.policed + counters.overflowed + counters.cut;
        if let Some(bits) = self.pair.link(End::Initiator).capacity_bits(Duration::ZERO, end) {
            outcome.utilisation = counters.delivered_bytes as f64 * 800.0 / bits;
        }
        let measured = end.saturating_sub(SETTLED);
        if !measured.is_zero()
            && let Some(bits) = self.pair.link(End::Initiator).capacity_bits(SETTLED, end)
        {
            outcome.capacity_bits = bits / measured.as_secs_f64();
        }
        for ages in &mut self.by_key {
            ages.sort_unstable_by(f32::total_cmp);
            outcome.age_p99_by_key.push(quantile(ages, 0.99));
            outcome.age_mean_by_key.push(mean(ages));
        }
        outcome.ages = self.by_key.into_iter().flatten().collect();
        outcome.ages.sort_unstable_by(f32::total_cmp);
        outcome.event_latencies.sort_unstable_by(f32::total_cmp);
        outcome.link_queue.sort_unstable_by(f32::total_cmp);
        let since =
            |at: Option<Duration>, outage: &Outage| at.map_or(f32::INFINITY, |at| millis(at - outage.end));
        for outage in &self.outages {
            outcome.current_after_outage.push(since(outage.current_at, outage));
            outcome.events_after_outage.push(since(outage.events_at, outage));
            let most = outage.shown.iter().copied().max().unwrap_or(0);
            outcome.shown_of_outage_max = outcome.shown_of_outage_max.max(most);
        }
        outcome
    }
}

/// A TCP sender on the same link. Its acknowledgements return on a separate path.
struct Rival {
    tcp: Tcp,
    until: Duration,
    delay: Duration,
    acks: VecDeque<(Duration, u64)>,
    crossed_bytes: u64,
}

impl Rival {
    fn new(control: Control, until: Duration, delay: Duration) -> Self {
        Self { tcp: Tcp::new(control), until, delay, acks: VecDeque::new(), crossed_bytes: 0 }
    }

    fn next_event(&self) -> Option<Duration> {
        let ack = self.acks.front().map(|&(due, _)| due);
        [ack, self.tcp.next_timeout()].into_iter().flatten().min()
    }

    /// Does everything that is due now.
    fn settle(&mut self, pair: &mut Pair) {
        let now = pair.now();
        for packet in pair.take_crossed() {
            self.crossed_bytes += packet.len() as u64;
            let number = u64::from_le_bytes(packet[1..9].try_into().expect("eight bytes"));
            self.acks.push_back((now + self.delay, number));
        }
        while let Some((_, number)) = self.acks.pop_front_if(|(due, _)| *due <= now) {
            self.tcp.acknowledged(now, number);
        }
        self.tcp.handle_timeout(now);
        while now < self.until {
            let Some(number) = self.tcp.poll_packet(now) else { break };
            let mut packet = vec![CROSS_TRAFFIC; PACKET_BYTES];
            packet[1..9].copy_from_slice(&number.to_le_bytes());
            pair.link(End::Initiator).send(now, packet);
        }
    }
}

fn millis(duration: Duration) -> f32 {
    duration.as_secs_f32() * 1e3
}

fn mean(figures: &[f32]) -> f32 {
    figures.iter().sum::<f32>() / figures.len().max(1) as f32
}

/// Returns the `fraction` quantile of sorted figures; 0 if there are no figures.
pub fn quantile(sorted: &[f32], fraction: f64) -> f32 {
    let rank = ((sorted.len() as f64 * fraction).ceil() as usize).clamp(1, sorted.len().max(1));
    sorted.get(rank - 1).copied().unwrap_or(0.0)
}
