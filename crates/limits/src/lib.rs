//! Limits for each address and each client: rates, and counts of connections.
//!
//! **Time is an argument.** Nothing here reads a clock, and every table has a maximum.
//!
//! ```
//! use std::net::IpAddr;
//! use std::time::Instant;
//!
//! use nowcast_limits::{Addresses, Crowded};
//!
//! let now = Instant::now();
//! // 100 connections, of which 2 from one address, and 1 attempt a second.
//! let mut addresses = Addresses::new(100, 2, 1.0);
//! let address = IpAddr::from([192, 0, 2, 7]);
//! addresses.take(address, now)?;
//! addresses.take(address, now)?;
//! assert_eq!(addresses.take(address, now), Err(Crowded::Address));
//! addresses.free(address);
//! addresses.take(address, now)?;
//! # Ok::<_, Crowded>(())
//! ```

#![warn(clippy::missing_errors_doc)]

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// A token bucket, which fills with `per_second` tokens a second up to `burst`.
#[derive(Clone, Debug)]
pub struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    /// Makes a full bucket.
    #[must_use]
    pub fn new(per_second: f64, burst: f64, now: Instant) -> Bucket {
        Bucket { per_second, burst, tokens: burst, filled_at: now }
    }

    /// Takes a token. Returns false if there is none.
    pub fn take(&mut self, now: Instant) -> bool {
        self.take_many(1.0, now)
    }

    /// Takes `count` tokens. Takes none and returns false if there are fewer.
    pub fn take_many(&mut self, count: f64, now: Instant) -> bool {
        self.fill(now);
        let enough = self.tokens >= count;
        if enough {
            self.tokens -= count;
        }
        enough
    }

    /// Adds the tokens of `time`, even if the sum exceeds `burst`. A bucket never holds more than `burst` plus the tokens of
    /// [`CREDIT_MAX`].
    pub fn credit(&mut self, time: Duration, now: Instant) {
        self.fill(now);
        let most = self.burst + CREDIT_MAX.as_secs_f64() * self.per_second;
        self.tokens = (self.tokens + time.as_secs_f64() * self.per_second).min(most);
    }

    /// Whether the bucket holds all tokens that it can hold without credit.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.tokens >= self.burst
    }

    fn fill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.filled_at = self.filled_at.max(now);
        // Credited tokens above the burst are kept.
        let most = self.burst.max(self.tokens);
        self.tokens = (self.tokens + elapsed * self.per_second).min(most);
    }
}

/// Maximum time for which a bucket is credited.
pub const CREDIT_MAX: Duration = Duration::from_secs(20);

/// Number of excess messages after which the sender is closed, expressed in seconds of the rate.
const TOLERATED_SECONDS: f64 = 20.0;

/// The decision about a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The message is within its rate.
    Pass,
    /// The message is over its rate. It has no effect, and its sender is informed.
    Drop,
    /// The sender has exceeded twice the rate for a long time, and is closed.
    Close,
}

/// A rate limit that drops excess messages, and closes a sender after a long excess.
///
/// The allowance has two buckets. The first bucket fills with the rate; a message that finds no token in this bucket is
/// dropped. Every message, dropped or not, also takes a token of the second bucket. The second bucket fills with twice the
/// rate, and holds 20 s of the rate more than the first. A sender that empties the second bucket is closed.
#[derive(Clone, Debug)]
pub struct Allowance {
    rate: Bucket,
    limit: Bucket,
}

impl Allowance {
    /// Allows `per_second` messages a second, and `burst` at once.
    #[must_use]
    pub fn new(per_second: f64, burst: f64, now: Instant) -> Allowance {
        let limit_burst = burst + TOLERATED_SECONDS * per_second;
        Allowance {
            rate: Bucket::new(per_second, burst, now),
            limit: Bucket::new(2.0 * per_second, limit_burst, now),
        }
    }

    /// Decides about one more message.
    pub fn judge(&mut self, now: Instant) -> Verdict {
        if !self.limit.take(now) {
            Verdict::Close
        } else if !self.rate.take(now) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }

    /// Whether a new allowance would allow no more than this one.
    pub fn is_full(&mut self, now: Instant) -> bool {
        self.rate.is_full(now) && self.limit.is_full(now)
    }

    /// Allows the messages that waited during `time` without a connection.
    pub fn credit(&mut self, time: Duration, now: Instant) {
        self.rate.credit(time, now);
        self.limit.credit(time, now);
    }
}

/// The connections and attempts of each address.
#[derive(Debug)]
pub struct Addresses {
    connections_max: usize,
    connections_per_address_max: usize,
    attempts_per_address_hz: f64,
    connections: usize,
    uses: HashMap<IpAddr, AddressUse>,
}

#[derive(Debug)]
struct AddressUse {
    connections: usize,
    attempts: Bucket,
}

/// The reason why an address has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Crowded {
    /// The maximum number of connections is reached.
    #[error("the maximum number of connections is reached")]
    Full,
    /// The address has reached its limit of connections.
    #[error("this address has the maximum number of connections")]
    Address,
    /// This address makes too many attempts.
    #[error("this address tries too often")]
    TooOften,
}

impl Addresses {
    /// Makes an empty table. `attempts_per_address_hz` is one address's rate of [attempts](Self::attempt), after a
    /// burst of `connections_per_address_max`.
    #[must_use]
    pub fn new(
        connections_max: usize,
        connections_per_address_max: usize,
        attempts_per_address_hz: f64,
    ) -> Addresses {
        Addresses {
            connections_max,
            connections_per_address_max,
            attempts_per_address_hz,
            connections: 0,
            uses: HashMap::new(),
        }
    }

    /// Reserves a slot for a connection. [`free`](Self::free) releases it.
    ///
    /// # Errors
    /// [`Crowded::Full`] and [`Crowded::Address`].
    pub fn take(&mut self, address: IpAddr, now: Instant) -> Result<(), Crowded> {
        self.take_within(self.connections_per_address_max, address, now)
    }

    /// Like [`take`](Self::take), for an address that many clients share, such as a proxy's. Only the limit of all connections
    /// applies.
    ///
    /// # Errors
    /// [`Crowded::Full`].
    pub fn take_shared(&mut self, address: IpAddr, now: Instant) -> Result<(), Crowded> {
        self.take_within(usize::MAX, address, now)
    }

    fn take_within(&mut self, most: usize, address: IpAddr, now: Instant) -> Result<(), Crowded> {
        if self.connections >= self.connections_max {
            return Err(Crowded::Full);
        }
        let used = self.use_of(address, now);
        if used.connections >= most {
            return Err(Crowded::Address);
        }
        used.connections += 1;
        self.connections += 1;
        Ok(())
    }

    /// Releases a place. The address stays known, so that its attempts are counted.
    pub fn free(&mut self, address: IpAddr) {
        self.connections = self.connections.saturating_sub(1);
        if let Some(used) = self.uses.get_mut(&network_of(address)) {
            used.connections = used.connections.saturating_sub(1);
        }
    }

    /// Counts an attempt at an expensive operation.
    ///
    /// # Errors
    /// [`Crowded::TooOften`].
    pub fn attempt(&mut self, address: IpAddr, now: Instant) -> Result<(), Crowded> {
        if self.use_of(address, now).attempts.take(now) { Ok(()) } else { Err(Crowded::TooOften) }
    }

    /// Number of connections.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections
    }

    /// Number of known addresses, at most twice the maximum of connections.
    #[must_use]
    pub fn remembered(&self) -> usize {
        self.uses.len()
    }

    fn use_of(&mut self, address: IpAddr, now: Instant) -> &mut AddressUse {
        let network = network_of(address);
        if self.uses.len() >= 2 * self.connections_max && !self.uses.contains_key(&network) {
            // Only addresses without a connection are removed. At least half of the addresses have none.
            self.uses.retain(|_, used| used.connections > 0);
        }
        self.uses.entry(network).or_insert_with(|| AddressUse {
            connections: 0,
            attempts: Bucket::new(self.attempts_per_address_hz, self.connections_per_address_max as f64, now),
        })
    }
}

/// Returns the network that counts as one address: an IPv4 address, or the /64 of an IPv6 address, which is the network
/// of one customer.
#[must_use]
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn one_address_cannot_take_the_places_of_all() {
        let now = Instant::now();
        let mut addresses = Addresses::new(100, 3, 1.0);
        let (greedy, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let taken = (0..10).filter(|_| addresses.take(greedy, now).is_ok()).count();
        assert_eq!((taken, addresses.take(greedy, now)), (3, Err(Crowded::Address)));
        assert_eq!(addresses.take(other, now), Ok(()));
        addresses.free(greedy);
        assert_eq!(addresses.take(greedy, now), Ok(()));
        assert_eq!(addresses.connections(), 4);
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address() {
        let now = Instant::now();
        let mut addresses = Addresses::new(100, 1, 1.0);
        assert_eq!(addresses.take("2001:db8:1:2::1".parse().unwrap(), now), Ok(()));
        assert_eq!(addresses.take("2001:db8:1:2:ffff::9".parse().unwrap(), now), Err(Crowded::Address));
        assert_eq!(addresses.take("2001:db8:1:3::1".parse().unwrap(), now), Ok(()));
    }

    #[test]
    fn attempts_of_a_million_addresses_are_remembered_in_bounded_memory() {
        let now = Instant::now();
        let mut addresses = Addresses::new(50, 5, 1.0);
        for _ in 0..10 {
            addresses.take([203, 0, 113, 7].into(), now).ok();
        }
        for number in 0..1_000_000_u32 {
            let _ = addresses.attempt(Ipv4Addr::from(number).into(), now);
            assert!(addresses.remembered() <= 100);
        }
        assert_eq!(
            addresses.take([203, 0, 113, 7].into(), now),
            Err(Crowded::Address),
            "an address with connections is not forgotten"
        );
    }

    #[test]
    fn attempts_are_allowed_again_after_a_while() {
        let now = Instant::now();
        let mut addresses = Addresses::new(10, 4, 2.0);
        let address = [192, 0, 2, 1].into();
        let passed = (0..20).filter(|_| addresses.attempt(address, now).is_ok()).count();
        assert_eq!(passed, 4);
        assert_eq!(addresses.attempt(address, now + Duration::from_millis(500)), Ok(()));
        assert_eq!(addresses.attempt(address, now + Duration::from_millis(500)), Err(Crowded::TooOften));
    }

    #[test]
    fn a_clock_that_runs_backwards_adds_no_tokens() {
        let now = Instant::now() + Duration::from_secs(10);
        let mut bucket = Bucket::new(1.0, 1.0, now);
        assert!(bucket.take(now));
        assert!(!bucket.take(now - Duration::from_secs(5)));
        assert!(!bucket.take(now), "the five seconds were not counted twice");
    }

    #[test]
    fn credited_time_admits_waiting_messages_and_is_bounded() {
        let start = Instant::now();
        let mut bucket = Bucket::new(2.0, 5.0, start);
        let after = start + Duration::from_secs(12);
        bucket.credit(Duration::from_secs(12), after);
        let later = after + Duration::from_secs(60);
        let passed = (0..100).filter(|_| bucket.take(later)).count();
        assert_eq!(passed, 5 + 24, "the burst, and the rate for 12 s");
        bucket.credit(Duration::from_secs(3_600), later);
        bucket.credit(Duration::from_secs(3_600), later);
        let passed = (0..100).filter(|_| bucket.take(later)).count();
        assert_eq!(passed, 5 + 40, "the burst, and the rate for 20 s at most");
    }
}
