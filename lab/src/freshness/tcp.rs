//! A model of a TCP sender that always has data to send and shares a link. It models the window, but not the bytes.
//!
//! The model numbers packets instead of bytes, and each packet is acknowledged. Congestion control sees a receiver with SACK in
//! the same way. Reno follows RFC 5681, CUBIC follows RFC 9438, and the retransmission timeout follows RFC 6298.

use std::collections::VecDeque;
use std::time::Duration;

/// The window's reaction to loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Reno (RFC 5681).
    Reno,
    /// CUBIC (RFC 9438), the default of Linux, macOS and Windows.
    Cubic,
}

/// Size in bytes of a full packet with its headers.
pub const PACKET_BYTES: usize = 1_500;

const INITIAL_WINDOW: f64 = 10.0;
/// A packet counts as lost if its number is this far below an acknowledged one.
const REORDERING_MAX: u64 = 3;
const TIMEOUT_MIN: Duration = Duration::from_millis(200);
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;

/// One sender.
#[derive(Clone, Debug)]
pub struct Tcp {
    control: Control,
    /// The window in packets.
    window: f64,
    threshold: f64,
    next: u64,
    in_flight: VecDeque<(u64, Duration)>,
    /// Losses below this number belong to the previous reduction of the window.
    recovers_at: u64,
    smoothed: Option<Duration>,
    variation: Duration,
    heard_at: Duration,
    cubic: Cubic,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cubic {
    began: Option<Duration>,
    window_max: f64,
    /// Time from the beginning of the epoch until the window is back at its maximum, in seconds.
    until_max: f64,
    /// The window that Reno would have.
    reno: f64,
}

impl Tcp {
    /// Begins in slow start.
    pub fn new(control: Control) -> Self {
        Self {
            control,
            window: INITIAL_WINDOW,
            threshold: f64::INFINITY,
            next: 0,
            in_flight: VecDeque::new(),
            recovers_at: 0,
            smoothed: None,
            variation: Duration::ZERO,
            heard_at: Duration::ZERO,
            cubic: Cubic::default(),
        }
    }

    /// Returns the number of the next packet, if the window has room. Call it until it returns `None`.
    pub fn poll_packet(&mut self, now: Duration) -> Option<u64> {
        if self.in_flight.len() as f64 + 1.0 > self.window.max(1.0) {
            return None;
        }
        if self.in_flight.is_empty() {
            self.heard_at = now;
        }
        self.in_flight.push_back((self.next, now));
        self.next += 1;
        Some(self.next - 1)
    }

    /// Handles the acknowledgement of a packet.
    pub fn acknowledged(&mut self, now: Duration, number: u64) {
        let Some(index) = self.in_flight.iter().position(|&(sent, _)| sent == number) else { return };
        let Some((_, sent_at)) = self.in_flight.remove(index) else { return };
        self.heard_at = now;
        self.sample(now - sent_at);
        let mut newest_lost = None;
        while let Some((lost, _)) = self.in_flight.pop_front_if(|(sent, _)| *sent + REORDERING_MAX <= number)
        {
            newest_lost = Some(lost);
        }
        if newest_lost.is_some_and(|lost| lost >= self.recovers_at) {
            self.reduce();
        } else if number >= self.recovers_at {
            self.grow(now);
        }
    }

    /// Returns the time at which [`Self::handle_timeout`] must be called, if no acknowledgement arrives before.
    pub fn next_timeout(&self) -> Option<Duration> {
        let smoothed = self.smoothed.unwrap_or(Duration::from_secs(1));
        let wait = (smoothed + 4 * self.variation).max(TIMEOUT_MIN);
        (!self.in_flight.is_empty()).then(|| self.heard_at + wait)
    }

    /// Handles a timeout. If no acknowledgement arrived before [`Self::next_timeout`], all packets in flight count as lost.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            self.in_flight.clear();
            self.reduce();
            self.window = 1.0;
        }
    }

    fn sample(&mut self, sample: Duration) {
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(sample);
            self.variation = sample / 2;
            return;
        };
        self.variation = (3 * self.variation + smoothed.abs_diff(sample)) / 4;
        self.smoothed = Some((7 * smoothed + sample) / 8);
    }

    fn reduce(&mut self) {
        self.recovers_at = self.next;
        let share = match self.control {
            Control::Reno => 0.5,
            Control::Cubic => CUBIC_BETA,
        };
        // Fast convergence: a window that did not reach its last maximum leaves capacity to others.
        let shrank = self.window < self.cubic.window_max;
        self.cubic.window_max = if shrank { self.window * (1.0 + CUBIC_BETA) / 2.0 } else { self.window };
        self.cubic.began = None;
        self.window = (self.window * share).max(2.0);
        self.threshold = self.window;
    }

    fn grow(&mut self, now: Duration) {
        if self.window < self.threshold {
            self.window += 1.0;
            return;
        }
        match self.control {
            Control::Reno => self.window += 1.0 / self.window,
            Control::Cubic => self.grow_cubic(now),
        }
    }

    fn grow_cubic(&mut self, now: Duration) {
        let cubic = &mut self.cubic;
        let began = *cubic.began.get_or_insert_with(|| {
            cubic.window_max = cubic.window_max.max(self.window);
            cubic.until_max = ((cubic.window_max - self.window) / CUBIC_C).cbrt();
            cubic.reno = self.window;
            now
        });
        let ahead = (now - began + self.smoothed.unwrap_or_default()).as_secs_f64();
        let target = CUBIC_C * (ahead - cubic.until_max).powi(3) + cubic.window_max;
        let alpha =
            if cubic.reno < cubic.window_max { 3.0 * (1.0 - CUBIC_BETA) / (1.0 + CUBIC_BETA) } else { 1.0 };
        cubic.reno += alpha / self.window;
        let target = target.clamp(self.window, 1.5 * self.window);
        self.window = (self.window + (target - self.window) / self.window).max(cubic.reno);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nowcast_sim::link::{Link, LinkConfig};

    /// Returns the share of a link that a single sender uses.
    fn utilisation(control: Control, queue_bytes: usize) -> f64 {
        let delay = Duration::from_millis(25);
        let config = LinkConfig { delay, rate_bits: Some(10_000_000), queue_bytes, ..LinkConfig::default() };
        let (mut link, mut tcp) = (Link::new(config, 1), Tcp::new(control));
        let mut acks = VecDeque::new();
        let (mut now, end) = (Duration::ZERO, Duration::from_secs(60));
        while now < end {
            while let Some(number) = tcp.poll_packet(now) {
                let mut packet = vec![0; PACKET_BYTES];
                packet[..8].copy_from_slice(&number.to_le_bytes());
                link.send(now, packet);
            }
            let ack = acks.front().map(|&(due, _)| due);
            now = [link.next_due(), ack, tcp.next_timeout()]
                .into_iter()
                .flatten()
                .min()
                .expect("there is a next event");
            tcp.handle_timeout(now);
            while let Some(delivery) = link.receive(now) {
                acks.push_back((now + delay, u64::from_le_bytes(delivery.packet[..8].try_into().unwrap())));
            }
            while let Some((_, number)) = acks.pop_front_if(|(due, _)| *due <= now) {
                tcp.acknowledged(now, number);
            }
        }
        link.counters().delivered_bytes as f64 * 8.0 / (10_000_000.0 * end.as_secs_f64())
    }

    #[test]
    fn a_single_sender_fills_a_link_whose_buffer_holds_a_round_trip() {
        for control in [Control::Reno, Control::Cubic] {
            let share = utilisation(control, 62_500);
            assert!(share > 0.93, "{control:?}: {share}");
        }
    }

    #[test]
    fn with_a_small_buffer_cubic_holds_more_than_reno() {
        let [reno, cubic] = [Control::Reno, Control::Cubic].map(|control| utilisation(control, 15_000));
        assert!(cubic > reno && reno > 0.7, "Reno {reno}, CUBIC {cubic}");
    }
}
