//! Sources fill a channel with messages that do not come from a queue.

use std::time::Instant;

use nowcast_queue::Key;
use nowcast_session::{PacketOutcome, Refused, Replication, Session, Time};

use super::LaneId;
use super::shapes::as_event;
use crate::clock;

/// Capacity of the buffer that is kept for the next call.
const KEPT_BYTES: usize = 1_024;

/// Fills a channel from its driver. A source writes states that depend on the peer's data into its own lanes (see
/// [`Replication`]). It can also put other messages before packets are filled.
///
/// The source is called without any lock, just before a packet may leave. It may therefore call its channel. The delays of the
/// source affect only the packets of that channel, if the runtime has another thread. A source that holds its channel keeps the
/// channel open. If the source panics, or writes more than there is room for, the channel ends with the code `APPLICATION` on
/// both sides.
///
/// If other messages take the room in the meantime, the written bytes do not leave. The source then learns at once that the bytes
/// did not arrive. The source is called again, possibly for a packet of the same number.
///
/// ```no_run
/// use nowcast::session::{LaneConfig, PacketOutcome, Replication};
/// use nowcast::{ListenConfig, Listener, Source};
///
/// /// Sends the newest picture of a camera: after a loss, the one that is newest then.
/// struct Camera {
///     newest: Vec<u8>,
///     is_sent: bool,
/// }
///
/// impl Replication for Camera {
///     fn has_more(&self, _lane: u8) -> bool {
///         !self.is_sent
///     }
///
///     fn fill(&mut self, _lane: u8, _number: u64, room: usize, out: &mut Vec<u8>) {
///         if self.newest.len() <= room {
///             out.extend_from_slice(&self.newest);
///             self.is_sent = true;
///         }
///     }
/// }
///
/// impl Source for Camera {
///     fn on_outcome(&mut self, outcome: PacketOutcome) {
///         self.is_sent = outcome.arrived;
///     }
/// }
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let mut config = ListenConfig::loopback(0);
/// config.accept.session.lanes = vec![LaneConfig { has_source: true, ..LaneConfig::default() }];
/// let listener = Listener::bind(config).await?;
/// let mut service = listener.advertise("camera").await?;
/// let channel = service.accept().await.expect("the listener is open");
/// channel.set_source(Box::new(Camera { newest: vec![0; 600], is_sent: false }));
/// # Ok(())
/// # }
/// ```
pub trait Source: Replication + Send {
    /// Receives the outcome of a packet that the source wrote into.
    fn on_outcome(&mut self, outcome: PacketOutcome);

    /// Puts new messages. Called when the source was set, after [`Channel::source_has_more`](super::Channel::source_has_more),
    /// and once more if a put was refused.
    fn feed(&mut self, _feed: &mut PutBatch) {}
}

/// The messages that [`Source::feed`] puts into its channel. They are all put after the call, and leave together like a batch.
#[derive(Debug, Default)]
pub struct PutBatch {
    puts: Vec<FedPut>,
    /// The payloads of all puts, in order.
    bytes: Vec<u8>,
    refused: Vec<RefusedPut>,
    closing: Option<(u32, String)>,
    event_bytes: usize,
}

/// A state with its key and time, or an event.
#[derive(Debug)]
struct FedPut {
    lane: LaneId,
    state: Option<(Key, Instant)>,
    /// The end of the put's payload in `bytes`.
    end: usize,
}

/// A put of a source that the channel has refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPut {
    /// The lane.
    pub lane: LaneId,
    /// The state's key; `None` for an event.
    pub key: Option<Key>,
    /// The reason.
    pub why: Refused,
}

impl PutBatch {
    /// Puts a state that was produced at `at`; see [`Lane::try_state`](super::Lane::try_state).
    pub fn state(&mut self, lane: impl Into<LaneId>, key: impl Into<Key>, value: &[u8], at: Instant) {
        self.bytes.extend_from_slice(value);
        self.put(lane.into(), Some((key.into(), at)));
    }

    /// Puts an event; see [`Lane::try_event`](super::Lane::try_event).
    pub fn event(&mut self, lane: impl Into<LaneId>, payload: &[u8]) {
        self.bytes.extend_from_slice(&as_event(payload));
        self.put(lane.into(), None);
    }

    fn put(&mut self, lane: LaneId, state: Option<(Key, Instant)>) {
        self.puts.push(FedPut { lane, state, end: self.bytes.len() });
    }

    /// Returns the refused puts of the previous call, in their order. If a put on a lane is refused, all later puts of the same
    /// call on that lane are refused, too.
    pub fn take_refused(&mut self) -> Vec<RefusedPut> {
        std::mem::take(&mut self.refused)
    }

    /// Memory of the events that waited in the channel after the previous call, in bytes.
    #[must_use]
    pub fn event_bytes(&self) -> usize {
        self.event_bytes
    }

    /// Closes the channel as [`Channel::close`](super::Channel::close) does. If this method is called several times, the first
    /// call counts.
    pub fn close(&mut self, code: u32, reason: &str) {
        self.closing.get_or_insert_with(|| (code, reason.to_owned()));
    }

    /// Puts all messages into the session. Returns whether all were accepted.
    pub(crate) fn put_into(&mut self, session: &mut Session, now: Time) -> bool {
        self.refused.clear();
        let mut begin = 0;
        for FedPut { lane, state, end } in self.puts.drain(..) {
            let payload = &self.bytes[begin..end];
            begin = end;
            let refused_before = self.refused.iter().find(|refused| refused.lane == lane);
            let put = match (refused_before, state) {
                (Some(refused), _) => Err(refused.why),
                (None, Some((key, at))) => {
                    session.put_state(clock::at(at).min(now), lane.number(), key.raw(), payload)
                }
                (None, None) => session.put_event(now, lane.number(), payload),
            };
            if let Err(why) = put {
                self.refused.push(RefusedPut { lane, key: state.map(|(key, _)| key), why });
            }
        }
        self.bytes.clear();
        self.bytes.shrink_to(KEPT_BYTES);
        self.puts.shrink_to(KEPT_BYTES / size_of::<FedPut>());
        self.event_bytes = session.event_bytes();
        self.refused.is_empty()
    }

    /// Returns the code and the reason if the source closes the channel.
    pub(crate) fn take_closing(&mut self) -> Option<(u32, String)> {
        self.closing.take()
    }
}
