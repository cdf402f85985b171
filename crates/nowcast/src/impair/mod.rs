//! Bad links for the connections of a program: delay, jitter, loss in bursts, narrow links and outages, by a seed.
//!
//! The presets and the decisions are those of `nowcast/impair` in TypeScript: with the same seed and the same packets at the same times, both
//! lose the same packets. Links between programs of one machine have no packets, so allow only carriers over a network:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use nowcast::impair::{Impairment, LinkPreset};
//! use nowcast::{CarrierKind, Connector, ListenConfig, Listener};
//!
//! let listener = Listener::bind(ListenConfig::loopback(0)).await?;
//! let mut service = listener.advertise("tracker").await?;
//!
//! let train = Impairment::new(LinkPreset::Train.conditions(), 7);
//! let connector = Connector::new().carriers([CarrierKind::WebTransport]).layer(&train);
//! let channel = connector.connect(&format!("nowcast://localhost:{}/tracker", listener.port())).await?;
//! let server = service.accept().await?;
//! channel.state(1, b"newest").await?;
//! assert_eq!(server.receive().await?.bytes, b"newest");
//! assert!(train.figures().up.packets > 0);
//! # Ok(())
//! # }
//! ```

mod carrier;
mod link;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::carrier::{Carrier, CarrierLayer};
use carrier::ImpairedCarrier;
use link::{Link, LinkType, Random};

/// The conditions of one direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConditions {
    /// Delay of every packet: half of the round trip.
    pub delay: Duration,
    /// The largest additional delay. Packets keep their order.
    pub jitter: Duration,
    /// The share of packets that are lost, 0 to 1.
    pub loss: f64,
    /// Mean number of packets that are lost in a row. With 1, each packet is lost independently.
    pub burst: f64,
    /// The capacity; `None` for no limit.
    pub bits_per_second: Option<u64>,
    /// Regular outages.
    pub outage: Option<Outage>,
}

/// Regular outages, in which all packets are lost. Each is at the end of its interval, so a session can begin before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outage {
    /// The interval.
    pub every: Duration,
    /// The duration, shorter than the interval.
    pub lasts: Duration,
}

impl LinkConditions {
    /// A link without any effect.
    pub const CLEAR: LinkConditions = LinkConditions {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        loss: 0.0,
        burst: 1.0,
        bits_per_second: None,
        outage: None,
    };
}

impl Default for LinkConditions {
    fn default() -> Self {
        Self::CLEAR
    }
}

/// The conditions of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathConditions {
    /// From this program to its peer.
    pub up: LinkConditions,
    /// From the peer to this program.
    pub down: LinkConditions,
}

impl PathConditions {
    /// The same conditions in both directions.
    #[must_use]
    pub const fn both(link: LinkConditions) -> Self {
        Self { up: link, down: link }
    }
}

/// Links as users have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPreset {
    /// No effect.
    Clear,
    /// Wireless at home: short losses, and pauses while the channel is taken.
    Wifi,
    /// A mobile network.
    FourG,
    /// A geostationary satellite.
    Satellite,
    /// A train: mobile with long bursts, and a tunnel of 1.5 s every 20 s.
    Train,
}

impl LinkPreset {
    /// Returns the conditions.
    #[must_use]
    pub const fn conditions(self) -> PathConditions {
        const fn link(
            delay: u64,
            jitter: u64,
            loss: f64,
            burst: f64,
            kilobits_per_second: u64,
        ) -> LinkConditions {
            LinkConditions {
                delay: Duration::from_millis(delay),
                jitter: Duration::from_millis(jitter),
                loss,
                burst,
                bits_per_second: Some(kilobits_per_second * 1_000),
                outage: None,
            }
        }
        match self {
            Self::Clear => PathConditions::both(LinkConditions::CLEAR),
            Self::Wifi => PathConditions::both(link(4, 12, 0.01, 2.0, 30_000)),
            Self::FourG => {
                PathConditions { up: link(25, 20, 0.005, 3.0, 5_000), down: link(25, 20, 0.005, 3.0, 20_000) }
            }
            Self::Satellite => PathConditions::both(link(290, 15, 0.005, 1.0, 10_000)),
            Self::Train => PathConditions::both(LinkConditions {
                outage: Some(Outage { every: Duration::from_secs(20), lasts: Duration::from_millis(1_500) }),
                ..link(45, 60, 0.03, 8.0, 4_000)
            }),
        }
    }
}

/// Counts of one direction since the impairment was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkFigures {
    /// Packets that entered the link.
    pub packets: u64,
    /// Those of them that were lost. A stream sends their bytes again.
    pub lost: u64,
    /// Bytes that entered the link.
    pub bytes: u64,
}

/// Counts of both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathFigures {
    /// From this program to its peer.
    pub up: LinkFigures,
    /// From the peer to this program.
    pub down: LinkFigures,
}

/// A bad link for all connections of a [`Connector`](crate::Connector) or an [`AcceptConfig`](crate::AcceptConfig). Clones share
/// conditions and counts.
#[derive(Clone)]
pub struct Impairment {
    shared: Arc<Mutex<Shared>>,
}

struct Shared {
    conditions: PathConditions,
    random: Random,
    interrupted_until: Option<Instant>,
    figures: PathFigures,
    began: Instant,
}

/// A direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Impairment {
    /// Makes an impairment. The seed decides all losses and all jitter.
    ///
    /// # Panics
    /// If the conditions are invalid: a loss outside of 0 to 1, a burst below 1, a capacity of 0, an outage that is not shorter than its
    /// interval, or a delay of more than 60 s.
    #[must_use]
    pub fn new(conditions: PathConditions, seed: u32) -> Self {
        link::check(&conditions.up);
        link::check(&conditions.down);
        let shared = Shared {
            conditions,
            random: Random::new(seed),
            interrupted_until: None,
            figures: PathFigures::default(),
            began: Instant::now(),
        };
        Self { shared: Arc::new(Mutex::new(shared)) }
    }

    /// Changes the conditions, also of open connections. Packets on their way arrive as decided.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn set_conditions(&self, conditions: PathConditions) {
        link::check(&conditions.up);
        link::check(&conditions.down);
        self.lock().conditions = conditions;
    }

    /// Loses all packets of both directions for a time.
    pub fn interrupt(&self, time: Duration) {
        self.lock().interrupted_until = Some(Instant::now() + time);
    }

    /// Returns the counts since the impairment was made.
    #[must_use]
    pub fn figures(&self) -> PathFigures {
        self.lock().figures
    }

    /// Decides when a packet that enters a link now arrives; `None` if it is lost.
    fn send(&self, link: &mut Link, direction: Direction, now: Instant, bytes: usize) -> Option<Instant> {
        let mut shared = self.lock();
        let Shared { conditions, random, interrupted_until, figures, began } = &mut *shared;
        let (conditions, figures) = match direction {
            Direction::Up => (&conditions.up, &mut figures.up),
            Direction::Down => (&conditions.down, &mut figures.down),
        };
        let at = |instant: Instant| instant.saturating_duration_since(*began);
        let out_until = interrupted_until.map(at).unwrap_or_default();
        let arrives = link.send(conditions, random, at(now), bytes, out_until, figures);
        arrives.map(|arrives| *began + arrives)
    }

    /// Returns the time until at most `bytes_max` wait before the narrow hop of the link up; `None` if no more wait now.
    fn backlog(&self, link: &Link, bytes_max: usize) -> Option<Duration> {
        let shared = self.lock();
        link.backlog(&shared.conditions.up, shared.began.elapsed(), bytes_max)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // Each statement leaves the values valid, so poisoning is ignored.
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CarrierLayer for Impairment {
    fn wrap(&self, carrier: Box<dyn Carrier>) -> Box<dyn Carrier> {
        let link_type = if carrier.properties().is_reliable { LinkType::Stream } else { LinkType::Datagrams };
        Box::new(ImpairedCarrier::new(carrier, self.clone(), link_type))
    }
}

impl fmt::Debug for Impairment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shared = self.lock();
        formatter
            .debug_struct("Impairment")
            .field("conditions", &shared.conditions)
            .field("figures", &shared.figures)
            .finish_non_exhaustive()
    }
}
