//! One direction of an emulated link: a queue before a narrow hop, then loss, delay and jitter.

use std::time::Duration;

use super::{LinkConditions, LinkFigures, Outage};

/// Maximum bytes of datagrams that wait before the narrow hop. Further datagrams are dropped.
const QUEUE_BYTES_MAX: f64 = 65_536.0;

/// Maximum delay, and maximum jitter.
const DELAY_MAX: Duration = Duration::from_secs(60);

/// Time after which a stream without delay and jitter sends lost bytes again.
const RESEND: Duration = Duration::from_millis(20);

/// How a link treats a lost packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LinkType {
    /// The packet does not arrive.
    Datagrams,
    /// The bytes are sent again, and later packets wait for them.
    Stream,
}

/// SplitMix32. Its only state is the seed.
#[derive(Clone, Debug)]
pub(super) struct Random(u32);

impl Random {
    pub(super) fn new(seed: u32) -> Self {
        Self(seed)
    }

    /// Returns a number from 0 to 1, not 1 itself.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9);
        let mut mixed = (self.0 ^ (self.0 >> 16)).wrapping_mul(0x21f0_aaad);
        mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x735a_2d97);
        f64::from(mixed ^ (mixed >> 15)) / 4_294_967_296.0
    }
}

/// Panics if the conditions are invalid.
pub(super) fn check(conditions: &LinkConditions) {
    let LinkConditions { delay, jitter, loss, burst, bits_per_second, outage } = conditions;
    assert!(*delay <= DELAY_MAX && *jitter <= DELAY_MAX, "delay and jitter are at most 60 s");
    assert!((0.0..=1.0).contains(loss), "loss is a share from 0 to 1");
    assert!(*burst >= 1.0, "burst is at least 1");
    assert!(bits_per_second.is_none_or(|bits| bits > 0), "the capacity is greater than 0");
    assert!(
        outage.is_none_or(|outage| outage.lasts < outage.every),
        "an outage is shorter than its interval"
    );
}

/// The state of one direction. All times count from the beginning of the impairment.
#[derive(Debug)]
pub(super) struct Link {
    link_type: LinkType,
    free_at: Duration,
    last_arrival: Duration,
    was_lost: bool,
}

impl Link {
    pub(super) fn new(link_type: LinkType) -> Self {
        Self { link_type, free_at: Duration::ZERO, last_arrival: Duration::ZERO, was_lost: false }
    }

    /// Returns the time at which a packet that is sent now arrives; `None` if it is lost.
    pub(super) fn send(
        &mut self,
        conditions: &LinkConditions,
        random: &mut Random,
        now: Duration,
        bytes: usize,
        interrupted_until: Duration,
        figures: &mut LinkFigures,
    ) -> Option<Duration> {
        let LinkConditions { delay, jitter, bits_per_second, .. } = *conditions;
        // The number of draws for each packet is fixed, so a condition does not change the fate of later packets.
        let (fate, jitter_share) = (random.next(), random.next());
        figures.packets += 1;
        figures.bytes += bytes as u64;
        let is_stream = self.link_type == LinkType::Stream;
        if !is_stream && self.waiting_bytes(conditions, now) + bytes as f64 > QUEUE_BYTES_MAX {
            figures.lost += 1;
            return None;
        }
        let passing = bits_per_second
            .map_or(Duration::ZERO, |bits| Duration::from_secs_f64(bytes as f64 * 8.0 / bits as f64));
        self.free_at = now.max(self.free_at) + passing;
        let is_lost = self.is_lost(conditions, fate);
        let out_until = interrupted_until.max(outage_end(conditions.outage, now));
        let mut leaves = self.free_at;
        if is_stream {
            if is_lost {
                figures.lost += 1;
                leaves += 2 * delay + jitter + RESEND;
            }
            leaves = leaves.max(out_until);
        } else if is_lost || out_until > now {
            figures.lost += 1;
            return None;
        }
        self.last_arrival = self.last_arrival.max(leaves + delay + jitter.mul_f64(jitter_share));
        Some(self.last_arrival)
    }

    /// Returns the time until at most `bytes_max` wait before the narrow hop; `None` if no more wait now.
    pub(super) fn backlog(
        &self,
        conditions: &LinkConditions,
        now: Duration,
        bytes_max: usize,
    ) -> Option<Duration> {
        let beyond = self.waiting_bytes(conditions, now) - bytes_max as f64;
        let bits_per_second = conditions.bits_per_second.filter(|_| beyond > 0.0)?;
        Some(Duration::from_secs_f64(beyond * 8.0 / bits_per_second as f64))
    }

    fn waiting_bytes(&self, conditions: &LinkConditions, now: Duration) -> f64 {
        let Some(bits_per_second) = conditions.bits_per_second else { return 0.0 };
        self.free_at.saturating_sub(now).as_secs_f64() * bits_per_second as f64 / 8.0
    }

    /// The model of Gilbert: a state in which packets pass, and one in which all are lost.
    fn is_lost(&mut self, conditions: &LinkConditions, fate: f64) -> bool {
        let LinkConditions { loss, burst, .. } = *conditions;
        self.was_lost = if burst <= 1.0 || loss >= 1.0 {
            fate < loss
        } else if self.was_lost {
            fate < 1.0 - 1.0 / burst
        } else {
            fate < loss / (burst * (1.0 - loss))
        };
        self.was_lost
    }
}

/// Returns the end of the present outage, or zero.
fn outage_end(outage: Option<Outage>, now: Duration) -> Duration {
    let Some(Outage { every, lasts }) = outage else { return Duration::ZERO };
    let into = Duration::from_nanos((now.as_nanos() % every.as_nanos()) as u64);
    if into >= every - lasts { now - into + every } else { Duration::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impair::LinkPreset;

    fn send_all(
        conditions: &LinkConditions,
        link_type: LinkType,
        seed: u32,
    ) -> (Vec<Option<Duration>>, LinkFigures) {
        let (mut link, mut random, mut figures) =
            (Link::new(link_type), Random::new(seed), LinkFigures::default());
        let arrivals = (0..6_000).map(|number| {
            let now = Duration::from_millis(5 * number);
            link.send(conditions, &mut random, now, 100, Duration::ZERO, &mut figures)
        });
        (arrivals.collect(), figures)
    }

    #[test]
    fn the_numbers_of_a_seed_are_those_of_the_typescript_package() {
        let mut random = Random::new(1);
        let drawn: Vec<f64> = (0..3).map(|_| random.next()).collect();
        let expected = [0.3678755429573357, 0.08161311969161034, 0.8205357783008367];
        for (drawn, expected) in drawn.iter().zip(expected) {
            assert!((drawn - expected).abs() < 1e-12, "{drawn} instead of {expected}");
        }
    }

    #[test]
    fn packets_are_lost_in_bursts_delayed_and_kept_in_order() {
        let train = LinkPreset::Train.conditions().up;
        let (arrivals, figures) = send_all(&train, LinkType::Datagrams, 7);
        assert_eq!(send_all(&train, LinkType::Datagrams, 7).0, arrivals, "a seed decides everything");
        let lost = arrivals.iter().filter(|arrival| arrival.is_none()).count() as u64;
        assert_eq!((figures.packets, figures.lost), (6_000, lost));
        // 3 % of the packets, and one outage of 1.5 s in 30 s.
        assert!((300..800).contains(&lost), "{lost}");
        let tunnel = &arrivals[3_700..4_000];
        assert!(tunnel.iter().all(Option::is_none), "the outage is at the end of its interval");
        let known: Vec<_> = arrivals.iter().flatten().collect();
        assert!(known.is_sorted());
        for (number, arrival) in arrivals.iter().enumerate() {
            let sent = Duration::from_millis(5 * number as u64);
            assert!(arrival.is_none_or(|arrival| arrival >= sent + train.delay));
        }
    }

    #[test]
    fn a_stream_loses_nothing_and_a_narrow_link_drops_datagrams() {
        let wifi = LinkPreset::Wifi.conditions().up;
        let (arrivals, figures) = send_all(&wifi, LinkType::Stream, 3);
        assert!(arrivals.iter().all(Option::is_some) && figures.lost > 0, "{figures:?}");
        let narrow = LinkConditions { bits_per_second: Some(8_000), ..LinkConditions::CLEAR };
        let (arrivals, _) = send_all(&narrow, LinkType::Datagrams, 3);
        let arrived = arrivals.iter().flatten().count();
        // 30 s at 1,000 bytes a second, and a full queue.
        assert!((900..=1_000).contains(&arrived), "{arrived}");
        let link = Link { free_at: Duration::from_secs(3), ..Link::new(LinkType::Stream) };
        let wait = link.backlog(&narrow, Duration::from_secs(1), 500);
        assert_eq!(wait, Some(Duration::from_millis(1_500)));
        assert_eq!(link.backlog(&narrow, Duration::from_secs(3), 0), None);
    }
}
