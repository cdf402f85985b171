//! Configuration of a session.

use std::time::Duration;

use crate::lane::LaneConfig;
use crate::limits::{Limits, PACKET_BYTES_MIN};

/// Parameters of a session. The handshake contains all parameters that the peer must know.
///
/// ```
/// use std::time::Duration;
///
/// use nowcast_session::{Carrier, Config, Entropy, LaneConfig, Limits, Session, Time};
///
/// // One lane each way, at most 250 kB/s, and three seconds to find the peer.
/// let config = Config {
///     limits: Limits { lanes_max: 1, ..Limits::default() },
///     lanes: vec![LaneConfig::default()],
///     bytes_per_second_max: Some(250_000),
///     handshake_timeout: Duration::from_secs(3),
///     ..Config::default()
/// };
/// assert_eq!(config.limits.check(), Ok(()));
/// let now = Time::from_millis(1);
/// let mut session = Session::connect(now, config, Carrier::DATAGRAMS, Entropy([7; 48]));
/// assert!(session.put_event(now, 0, b"on the only lane").is_ok());
/// assert!(session.put_event(now, 1, b"on a lane that it has not").is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    /// The limits that this side announces to the peer.
    pub limits: Limits,
    /// The lanes that this side sends on. Only as many lanes are usable as the peer accepts.
    pub lanes: Vec<LaneConfig>,
    /// Maximum cost of events' redundant copies, which are sent before any loss is known.
    pub redundancy_bits_per_second: u32,
    /// Maximum sending rate; `None` for no limit.
    pub bytes_per_second_max: Option<u64>,
    /// Time for which an initiator repeats HELLO before it gives up.
    pub handshake_timeout: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            lanes: vec![LaneConfig::default(); Limits::default().lanes_max.into()],
            redundancy_bits_per_second: 64_000,
            bytes_per_second_max: None,
            handshake_timeout: Duration::from_secs(10),
        }
    }
}

/// Properties of a carrier (`spec/SESSION.md`, section 3). Both ends must use the same properties. On every carrier, a packet
/// arrives unchanged or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// Whether packets arrive in order and are never lost while the carrier exists.
    pub is_reliable: bool,
    /// Size of the largest packet that the carrier moves, at least 1,200.
    pub packet_bytes_max: u16,
}

impl Carrier {
    /// Encrypted datagrams, as in WebTransport.
    pub const DATAGRAMS: Self = Self { is_reliable: false, packet_bytes_max: PACKET_BYTES_MIN };
    /// A reliable, ordered stream of messages, such as WebSocket.
    pub const STREAM: Self = Self { is_reliable: true, packet_bytes_max: 16_384 };
}

/// Random bytes from the caller, because this crate has no source of randomness. Never use the same bytes twice.
#[derive(Clone, Copy)]
pub struct Entropy(pub [u8; 48]);

impl Entropy {
    pub(crate) fn part<const N: usize>(&self, offset: usize) -> [u8; N] {
        self.0[offset..offset + N].try_into().expect("parts lie within the bytes")
    }

    pub(crate) fn seed(&self) -> u64 {
        u64::from_le_bytes(self.part(40))
    }
}

/// Secrets stay out of logs.
impl std::fmt::Debug for Entropy {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Entropy(..)")
    }
}
