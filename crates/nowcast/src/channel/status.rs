//! Status of a channel.

use std::time::Duration;

use nowcast_engine::carrier::CarrierKind;
use nowcast_engine::{DrivenSession, Phase, clock};
use nowcast_session::{Gauges, Stats};
use tokio::sync::watch;

/// The present status of a channel. Cheap to read a few times a second.
#[derive(Clone, Debug)]
pub struct Status {
    /// The current carrier, or the last one if the channel is interrupted or closed. `None` before the first carrier.
    pub carrier: Option<CarrierKind>,
    /// The phase.
    pub phase: Phase,
    /// Whether packets can flow.
    pub is_open: bool,
    /// The smoothed round-trip time, once it is known.
    pub rtt: Option<Duration>,
    /// How long nothing has arrived, counted from the first unanswered packet; zero if no answer is expected. If this time is much
    /// longer than the round trip, the peer is gone or the path is cut.
    pub silence: Duration,
    /// Time since the newest packet of the peer arrived, also after the end of the channel. Zero for links without packets.
    pub since_heard: Duration,
    /// The share of lost packets, 0 to 1.
    pub loss: f64,
    /// Median age of the peer's values at their arrival. The offset of the clocks is estimated.
    pub freshness: Option<Duration>,
    /// 99th percentile of the age that the peer's values had on arrival.
    pub freshness_p99: Option<Duration>,
    /// Values that were never sent because a newer value replaced them.
    pub superseded: u64,
    /// Values and events that were sent again after a loss.
    pub resent: u64,
    /// Number of times that the channel continued over a new carrier.
    pub resumed: u64,
    /// All present measurements.
    pub gauges: Gauges,
    /// All counters.
    pub stats: Stats,
}

impl Status {
    pub(crate) fn of(driven: &DrivenSession) -> Status {
        let session = &driven.protocol;
        let now = clock::now();
        let (gauges, stats) = (session.gauges(), session.stats().clone());
        Status {
            carrier: Some(driven.latest_kind()),
            is_open: driven.is_open(),
            phase: driven.phase().clone(),
            rtt: gauges.round_trip,
            silence: session.unanswered_since().map_or(Duration::ZERO, |since| now.since(since)),
            since_heard: now.since(session.last_heard()),
            loss: stats.loss(),
            freshness: stats.freshness.quantile(0.5),
            freshness_p99: stats.freshness.quantile(0.99),
            superseded: stats.superseded,
            resent: stats.states_resent + stats.events_resent,
            resumed: driven.resumed(),
            gauges,
            stats,
        }
    }
}

/// Watches when a channel opens, is interrupted, changes its carrier, or ends; see
/// [`Channel::status_changes`](super::Channel::status_changes).
#[derive(Clone, Debug)]
pub struct StatusChanges {
    pub(super) watch: watch::Receiver<(Phase, Option<CarrierKind>)>,
}

impl StatusChanges {
    /// Waits for the next change. If several changes happen between two calls, only the newest is returned. Returns `None`
    /// after it has returned the end of the channel.
    pub async fn changed(&mut self) -> Option<(Phase, Option<CarrierKind>)> {
        self.watch.changed().await.ok()?;
        Some(self.now())
    }

    /// Returns the present status. The next [`changed`](Self::changed) waits for a later change.
    pub fn now(&mut self) -> (Phase, Option<CarrierKind>) {
        self.watch.borrow_and_update().clone()
    }
}
