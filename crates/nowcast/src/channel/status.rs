//! How a channel is.

use std::time::Duration;

use nowcast_session::{Closed, Gauges, Session, Stats};
use tokio::sync::watch;

use crate::carrier::CarrierKind;

/// Where a channel stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It was never open yet.
    Connecting,
    /// Packets flow.
    Open,
    /// The carrier is lost; what is put waits, and the channel goes on over the next carrier, or gives up after the resume
    /// time-out.
    Interrupted,
    /// It is over.
    Closed(Closed),
}

/// How a channel is now. Cheap to ask a few times a second.
#[derive(Clone, Debug)]
pub struct Status {
    /// The present carrier, or the last one when it is interrupted or closed; `None` before the first.
    pub carrier: Option<CarrierKind>,
    /// Where it stands.
    pub phase: Phase,
    /// Whether packets can flow.
    pub is_open: bool,
    /// The smoothed round-trip time, once it is known.
    pub rtt: Option<Duration>,
    /// The share of packets that were lost, 0 to 1.
    pub loss: f64,
    /// The age that half of the peer's values had at most when they arrived; the clocks' offset is estimated.
    pub freshness: Option<Duration>,
    /// The age that 99 of 100 had at most.
    pub freshness_p99: Option<Duration>,
    /// Values that were never sent, because a newer one replaced them.
    pub superseded: u64,
    /// Values and events that were sent again after a loss.
    pub resent: u64,
    /// How often the channel went on over a new carrier.
    pub resumed: u64,
    /// All that is measured now.
    pub gauges: Gauges,
    /// All that was counted.
    pub stats: Stats,
}

impl Status {
    pub(crate) fn of(session: &Session, carrier: Option<CarrierKind>, phase: Phase, resumed: u64) -> Status {
        let stats = session.stats().clone();
        let gauges = session.gauges();
        Status {
            carrier,
            is_open: phase == Phase::Open,
            phase,
            rtt: gauges.round_trip,
            loss: stats.loss(),
            freshness: stats.freshness.quantile(0.5),
            freshness_p99: stats.freshness.quantile(0.99),
            superseded: stats.superseded,
            resent: stats.states_resent + stats.events_resent,
            resumed,
            gauges,
            stats,
        }
    }
}

/// Hears when a channel opens, is interrupted, changes its carrier, or ends; see
/// [`Channel::status_changes`](super::Channel::status_changes).
#[derive(Clone, Debug)]
pub struct StatusChanges {
    pub(super) watch: watch::Receiver<(Phase, Option<CarrierKind>)>,
}

impl StatusChanges {
    /// Waits for the next change; changes in between are skipped. `None` when the channel has ended and that was told.
    pub async fn changed(&mut self) -> Option<(Phase, Option<CarrierKind>)> {
        self.watch.changed().await.ok()?;
        Some(self.now())
    }

    /// How it is now; the next [`changed`](Self::changed) waits for what comes after.
    pub fn now(&mut self) -> (Phase, Option<CarrierKind>) {
        self.watch.borrow_and_update().clone()
    }
}
