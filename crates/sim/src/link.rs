//! One direction of a link. The link delays, loses, reorders and duplicates packets, limits their rate, and has outages. A seed determines all random choices.
//!
//! The model is sans-IO: packets enter with the time, and leave when they are due. The simulation drives it in virtual time. The
//! relay of the lab drives it in real time between the network stacks of real kernels. So a figure of the lab can be repeated in
//! the simulation, and the reverse.
//!
//! A packet passes these stages in order: an outage, a policer, the buffer in front of the narrowest hop (tail drop), the rate of
//! that hop, random loss, and the path with its delay and jitter. Every packet uses the same number of random values, even if it
//! is lost. So with the same seed, the n-th packet is treated in the same way in every run.

use std::collections::BinaryHeap;
use std::ops::Range;
use std::time::Duration;

use nowcast_queue::conformance::Random;

use crate::capacity::Capacity;
pub use crate::capacity::Variation;
pub use crate::policer::Policer;
use crate::policer::TokenBucket;

/// Time for which a reordered packet is held back, so that later packets overtake it.
pub const REORDER_HOLD: Duration = Duration::from_millis(5);

/// How one direction of a link affects packets.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkConfig {
    /// Minimum one-way travel time of a packet.
    pub delay: Duration,
    /// Additional delay of single packets.
    pub jitter: Jitter,
    /// Whether a packet with less jitter overtakes earlier packets. Otherwise packets keep their order: each waits for all
    /// packets that were sent earlier.
    pub overtakes: bool,
    /// The packets that are lost.
    pub loss: Loss,
    /// The share of packets, 0 to 1, that are held back by [`REORDER_HOLD`] and overtaken.
    pub reorder: f64,
    /// The share of packets, 0 to 1, that arrive twice.
    pub duplicate: f64,
    /// A limit that drops packets instead of delaying them.
    pub policer: Option<Policer>,
    /// The highest capacity of the narrowest hop, in bits a second; `None` for a hop that never delays packets.
    pub rate_bits: Option<u64>,
    /// How that capacity changes with time.
    pub variation: Variation,
    /// The buffer in front of the narrowest hop, in bytes. A packet that does not fit is dropped.
    pub queue_bytes: usize,
    /// Bytes that lower layers add to each packet in front of the narrowest hop, such as the headers of UDP and IP.
    pub header_bytes: usize,
    /// Times of total loss, counted from the start of the link.
    pub outages: Vec<Range<Duration>>,
}

impl Default for LinkConfig {
    /// Returns a link that neither delays nor changes packets.
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            jitter: Jitter::None,
            overtakes: false,
            loss: Loss::None,
            reorder: 0.0,
            duplicate: 0.0,
            policer: None,
            rate_bits: None,
            variation: Variation::Constant,
            queue_bytes: 64 * 1024,
            header_bytes: 0,
            outages: Vec::new(),
        }
    }
}

/// How the delay varies from packet to packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jitter {
    /// No jitter.
    None,
    /// Evenly distributed between zero and this delay.
    Uniform(Duration),
    /// Normally distributed with this standard deviation. The mean is [`NORMAL_JITTER_MEAN`] times this deviation, and no
    /// packet is faster than the delay of the link.
    Normal(Duration),
    /// No additional delay for most packets, as on Wi-Fi and mobile links. Now and then a packet takes longer, by an evenly
    /// distributed delay from [`SPIKE_MIN`] to [`SPIKE_MAX`].
    Spikes {
        /// Number of packets in 10,000 that take longer.
        per_10_000: u16,
    },
}

/// The mean of normal jitter, in standard deviations.
pub const NORMAL_JITTER_MEAN: f64 = 3.5;
/// Minimum delay that a spike adds.
pub const SPIKE_MIN: Duration = Duration::from_millis(20);
/// Maximum delay that a spike adds.
pub const SPIKE_MAX: Duration = Duration::from_millis(60);

impl Jitter {
    /// Makes jitter that is evenly distributed between zero and `most`.
    pub fn up_to(most: Duration) -> Self {
        if most.is_zero() { Self::None } else { Self::Uniform(most) }
    }

    /// Returns the additional delay of a packet. `share` is a random number, uniformly distributed in 0..1.
    fn of(self, share: f64) -> Duration {
        match self {
            Self::None => Duration::ZERO,
            Self::Uniform(most) => most.mul_f64(share),
            Self::Normal(deviation) => deviation.mul_f64(NORMAL_JITTER_MEAN + normal(share)),
            Self::Spikes { per_10_000 } => {
                let share_of_spikes = f64::from(per_10_000) / 10_000.0;
                if share >= share_of_spikes {
                    return Duration::ZERO;
                }
                SPIKE_MIN + (SPIKE_MAX - SPIKE_MIN).mul_f64(share / share_of_spikes)
            }
        }
    }
}

/// Returns an approximately normally distributed number with a deviation of 1, at most 3.47 from 0. It is the sum of four
/// uniform numbers (Irwin and Hall), which are the digits of one random number. For every kind of jitter, each packet uses
/// exactly one random number.
fn normal(share: f64) -> f64 {
    const DIGIT: f64 = 8_192.0;
    let mut rest = share;
    let mut sum = 0.0;
    for _ in 0..4 {
        rest *= DIGIT;
        let digit = rest.floor();
        sum += (digit + 0.5) / DIGIT;
        rest -= digit;
    }
    (sum - 2.0) * 3f64.sqrt()
}

/// The packets that are lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    /// No packet.
    None,
    /// Each packet is lost with this probability, 0 to 1, independently of the others.
    Random(f64),
    /// Packets in bursts (Gilbert model): a chain with two states, which loses all packets in its bad state.
    Bursts {
        /// The share of packets lost in the long run, 0 to 1.
        share: f64,
        /// The mean number of consecutive packets that are lost, at least 1.
        length: f64,
    },
}

/// A packet that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The time at which the packet was due.
    pub due: Duration,
    /// The bytes of the packet.
    pub packet: Vec<u8>,
}

/// Counters of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Packets that entered the link.
    pub sent: u64,
    /// Packets that were delivered, including duplicates.
    pub delivered: u64,
    /// Bytes that were delivered.
    pub delivered_bytes: u64,
    /// Packets lost at random.
    pub lost: u64,
    /// Packets dropped by the policer.
    pub policed: u64,
    /// Packets dropped in front of the narrowest hop.
    pub overflowed: u64,
    /// Packets lost to an outage.
    pub cut: u64,
    /// Packets that were held back.
    pub reordered: u64,
    /// Packets that were duplicated.
    pub duplicated: u64,
    /// Maximum number of bytes that waited in front of the narrowest hop.
    pub queue_bytes_max: usize,
}

/// One direction of a link.
///
/// Call [`Link::send`] with packets in the order of time. [`Link::next_due`] returns the time at which to call [`Link::receive`],
/// until that returns `None`.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    seed: u64,
    bucket: Option<TokenBucket>,
    capacity: Option<Capacity>,
    random: Random,
    in_bad_state: bool,
    hop_free_at: Duration,
    last_arrival: Duration,
    in_hop: std::collections::VecDeque<(Duration, usize)>,
    in_hop_bytes: usize,
    under_way: BinaryHeap<UnderWay>,
    order: u64,
    counters: LinkCounters,
}

impl Link {
    /// Makes a link at time zero.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            bucket: bucket(&config, seed),
            capacity: capacity(&config, seed),
            config,
            seed,
            random: Random::new(seed),
            in_bad_state: false,
            hop_free_at: Duration::ZERO,
            last_arrival: Duration::ZERO,
            in_hop: std::collections::VecDeque::new(),
            in_hop_bytes: 0,
            under_way: BinaryHeap::new(),
            order: 0,
            counters: LinkCounters::default(),
        }
    }

    /// Changes how later packets are treated, for instance because the path changes.
    pub fn reconfigure(&mut self, config: LinkConfig) {
        if config.policer != self.config.policer {
            self.bucket = bucket(&config, self.seed);
        }
        self.capacity = capacity(&config, self.seed);
        self.config = config;
    }

    /// Returns the number of bits that fit through the narrowest hop between two times; `None` for a hop that never delays
    /// packets.
    pub fn capacity_bits(&self, from: Duration, to: Duration) -> Option<f64> {
        capacity(&self.config, self.seed).map(|mut capacity| capacity.bits_between(from, to))
    }

    /// Returns the configuration of this link.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Returns the counters of this link.
    pub fn counters(&self) -> LinkCounters {
        self.counters
    }

    /// Returns the number of bytes that wait in front of the narrowest hop, or pass it, at `now`.
    pub fn queued_bytes(&mut self, now: Duration) -> usize {
        self.leave_hop(now);
        self.in_hop_bytes
    }

    /// Returns the time for which a packet that enters the link at `now` waits, until it begins to pass the narrowest hop.
    pub fn queueing_delay(&self, now: Duration) -> Duration {
        self.hop_free_at.saturating_sub(now)
    }

    /// Lets a packet enter the link.
    pub fn send(&mut self, now: Duration, packet: Vec<u8>) {
        self.counters.sent += 1;
        let impairments = self.draw_impairments();
        if self.config.outages.iter().any(|outage| outage.contains(&now)) {
            self.counters.cut += 1;
            return;
        }
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.passes(now, packet.len())) {
            self.counters.policed += 1;
            return;
        }
        let Some(past_hop) = self.pass_hop(now, packet.len()) else {
            self.counters.overflowed += 1;
            return;
        };
        if impairments.lost {
            self.counters.lost += 1;
            return;
        }
        let mut arrival = past_hop + self.config.delay + self.config.jitter.of(impairments.jitter);
        if impairments.reordered {
            self.counters.reordered += 1;
            arrival += REORDER_HOLD;
        } else if !self.config.overtakes {
            arrival = arrival.max(self.last_arrival);
            self.last_arrival = arrival;
        }
        if impairments.duplicated {
            self.counters.duplicated += 1;
            self.schedule(arrival, packet.clone());
        }
        self.schedule(arrival, packet);
    }

    /// Returns the time at which the next packet is due, if one is under way.
    pub fn next_due(&self) -> Option<Duration> {
        self.under_way.peek().map(|next| next.due)
    }

    /// Returns the next packet that is due at `now`.
    pub fn receive(&mut self, now: Duration) -> Option<Delivery> {
        if self.next_due()? > now {
            return None;
        }
        let UnderWay { due, packet, .. } = self.under_way.pop()?;
        self.counters.delivered += 1;
        self.counters.delivered_bytes += packet.len() as u64;
        Some(Delivery { due, packet })
    }

    fn schedule(&mut self, due: Duration, packet: Vec<u8>) {
        self.order += 1;
        self.under_way.push(UnderWay { due, order: self.order, packet });
    }

    /// Returns the time at which a packet of this size has passed the narrowest hop; `None` if the buffer in front of the hop is
    /// full.
    fn pass_hop(&mut self, now: Duration, bytes: usize) -> Option<Duration> {
        self.leave_hop(now);
        let Some(capacity) = &mut self.capacity else { return Some(now) };
        let bytes = bytes + self.config.header_bytes;
        if self.in_hop_bytes + bytes > self.config.queue_bytes {
            return None;
        }
        self.hop_free_at = capacity.passed(self.hop_free_at.max(now), bytes);
        self.in_hop.push_back((self.hop_free_at, bytes));
        self.in_hop_bytes += bytes;
        self.counters.queue_bytes_max = self.counters.queue_bytes_max.max(self.in_hop_bytes);
        Some(self.hop_free_at)
    }

    fn leave_hop(&mut self, now: Duration) {
        while let Some((_, bytes)) = self.in_hop.pop_front_if(|(leaves, _)| *leaves <= now) {
            self.in_hop_bytes -= bytes;
        }
    }

    fn draw_impairments(&mut self) -> Impairments {
        // Two numbers are unused. They stay, so that each seed still treats packets as in the measurements that name it.
        let [loss, chain, jitter, reorder, duplicate, _, _] = [(); 7].map(|()| self.random.share());
        let lost = match self.config.loss {
            Loss::None => false,
            Loss::Random(probability) => loss < probability,
            Loss::Bursts { share, length } => {
                // The chain leaves the bad state with probability 1/length, so bursts have that mean length. It enters the bad
                // state with probability share / (length (1 - share)), so the losses have the required share in the long run.
                let leave = 1.0 / length.max(1.0);
                let enter = (share * leave / (1.0 - share).max(f64::EPSILON)).min(1.0);
                let change = if self.in_bad_state { leave } else { enter };
                self.in_bad_state ^= chain < change;
                self.in_bad_state
            }
        };
        Impairments {
            lost,
            jitter,
            reordered: reorder < self.config.reorder,
            duplicated: duplicate < self.config.duplicate,
        }
    }
}

fn bucket(config: &LinkConfig, seed: u64) -> Option<TokenBucket> {
    config.policer.map(|policer| TokenBucket::new(policer, seed))
}

fn capacity(config: &LinkConfig, seed: u64) -> Option<Capacity> {
    config.rate_bits.map(|high_bits| Capacity::new(high_bits, config.variation, seed))
}

/// The effects of the link on one packet.
struct Impairments {
    lost: bool,
    jitter: f64,
    reordered: bool,
    duplicated: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct UnderWay {
    due: Duration,
    order: u64,
    packet: Vec<u8>,
}

impl Ord for UnderWay {
    /// The heap returns its greatest element. So the packet that is due first must be the greatest, and among equal ones the
    /// packet that was sent first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (other.due, other.order).cmp(&(self.due, self.order))
    }
}

impl PartialOrd for UnderWay {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn arrivals(
        config: LinkConfig,
        seed: u64,
        packets: u32,
        spacing: Duration,
    ) -> (Vec<(u32, Duration)>, LinkCounters) {
        let mut link = Link::new(config, seed);
        for number in 0..packets {
            link.send(spacing * number, number.to_le_bytes().to_vec());
        }
        let mut seen = Vec::new();
        while let Some(due) = link.next_due() {
            let delivery = link.receive(due).expect("a delivery is due");
            seen.push((u32::from_le_bytes(delivery.packet.try_into().unwrap()), delivery.due));
        }
        (seen, link.counters())
    }

    #[test]
    fn a_clean_link_only_delays() {
        let (seen, _) = arrivals(LinkConfig { delay: 25 * MS, ..LinkConfig::default() }, 1, 100, MS);
        assert_eq!(seen, (0..100).map(|n| (n, MS * n + 25 * MS)).collect::<Vec<_>>());
    }

    #[test]
    fn the_same_seed_loses_the_same_packets_whatever_the_other_effects_of_the_link() {
        let lossy = LinkConfig { loss: Loss::Random(0.1), ..LinkConfig::default() };
        let lossy_and_jittery =
            LinkConfig { jitter: Jitter::Uniform(20 * MS), duplicate: 0.0, ..lossy.clone() };
        let numbers =
            |config| arrivals(config, 7, 1000, MS).0.into_iter().map(|(n, _)| n).collect::<Vec<_>>();
        assert_eq!(numbers(lossy), numbers(lossy_and_jittery));
    }

    #[test]
    fn bursts_have_the_stated_share_and_length() {
        let config = LinkConfig { loss: Loss::Bursts { share: 0.05, length: 3.0 }, ..LinkConfig::default() };
        let (seen, counters) = arrivals(config, 11, 200_000, MS);
        let share = counters.lost as f64 / counters.sent as f64;
        assert!((0.045..0.055).contains(&share), "{share}");
        let bursts = seen.windows(2).filter(|pair| pair[1].0 > pair[0].0 + 1).count();
        let length = counters.lost as f64 / bursts as f64;
        assert!((2.8..3.2).contains(&length), "{length}");
    }

    #[test]
    fn jitter_keeps_the_order_and_reordering_breaks_it() {
        let ordered = |seen: &[(u32, Duration)]| seen.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let jittery = LinkConfig { jitter: Jitter::Uniform(10 * MS), ..LinkConfig::default() };
        assert!(ordered(&arrivals(jittery.clone(), 3, 1000, MS).0));
        assert!(!ordered(&arrivals(LinkConfig { overtakes: true, ..jittery }, 3, 1000, MS).0));
        let (seen, counters) = arrivals(LinkConfig { reorder: 0.1, ..LinkConfig::default() }, 3, 1000, MS);
        assert!(!ordered(&seen) && counters.reordered > 50);
    }

    /// Returns the jitter of 100,000 packets, sorted, in ms.
    fn jitters(jitter: Jitter) -> Vec<f64> {
        let config = LinkConfig { jitter, overtakes: true, ..LinkConfig::default() };
        let (seen, _) = arrivals(config, 17, 100_000, MS);
        let mut late: Vec<f64> = seen.iter().map(|(n, at)| (*at - MS * *n).as_secs_f64() * 1e3).collect();
        late.sort_unstable_by(f64::total_cmp);
        late
    }

    #[test]
    fn jitter_has_its_stated_distribution() {
        let near = |found: f64, expected: f64| (found - expected).abs() < 0.15;
        let uniform = jitters(Jitter::Uniform(10 * MS));
        assert!(near(uniform[10_000], 1.0) && near(uniform[50_000], 5.0) && near(uniform[99_999], 10.0));
        let normal = jitters(Jitter::Normal(2 * MS));
        assert!(normal[0] >= 0.0 && near(normal[50_000], 7.0));
        assert!(near(normal[15_866], 5.0) && near(normal[84_134], 9.0), "one deviation to each side");
        let spikes = jitters(Jitter::Spikes { per_10_000: 100 });
        assert!(spikes[98_500] == 0.0 && (20.0..60.0).contains(&spikes[99_200]));
    }

    #[test]
    fn a_narrow_hop_passes_its_rate_and_drops_packets_beyond_its_buffer() {
        let mut link = Link::new(
            LinkConfig { rate_bits: Some(1_000_000), queue_bytes: 10_000, ..LinkConfig::default() },
            5,
        );
        for n in 0..1000 {
            link.send(MS * n, vec![0; 1000]); // 8 Mbit/s offered
        }
        let mut passed = 0;
        while link.receive(Duration::from_secs(1)).is_some() {
            passed += 1;
        }
        assert!((120..=126).contains(&passed), "{passed} packets of 8,000 bits in a second of 1 Mbit/s");
        assert!(link.counters().queue_bytes_max <= 10_000 && link.counters().overflowed > 800);
    }

    #[test]
    fn an_outage_drops_the_packets_sent_in_it() {
        let outage = 100 * MS..200 * MS;
        let (seen, counters) =
            arrivals(LinkConfig { outages: vec![outage], ..LinkConfig::default() }, 1, 300, MS);
        assert_eq!((seen.len(), counters.cut), (200, 100));
    }
}
