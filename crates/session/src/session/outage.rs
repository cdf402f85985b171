//! The end of a long silence (`spec/SESSION.md`, section 10): the peer was stopped, or the network was away.

use std::time::Duration;

use super::Session;
use super::handshake::Phase;
use crate::message::Notice;
use crate::sent::Settled;
use crate::time::Time;

/// A silence of at least this, and of so many probe time-outs, is an outage.
const OUTAGE: Duration = Duration::from_secs(1);
const OUTAGE_PROBES: u32 = 3;
/// What arrives after so long is acknowledged at once: the peer may have waited for it all that time.
const QUIET: Duration = Duration::from_secs(1);

/// What is known since the last outage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outage {
    /// Packets below this number were sent before it ended: how long they took says nothing of the way.
    told_from: u64,
    /// No later packet has told anything yet.
    is_untold: bool,
}

impl Session {
    /// A packet arrives, before anything of it takes effect. After an outage the peer is sent what is newest at once: at
    /// the rate of before, without the back-off of the silence, and whatever is still under way.
    pub(super) fn note_life(&mut self, now: Time) {
        let Some(since) = self.waits_since else { return };
        let silent = now.since(since.max(self.last_heard));
        if silent < OUTAGE.max(OUTAGE_PROBES * self.rtt.probe_timeout()) {
            return;
        }
        self.probes = 0;
        self.probed_at = now;
        self.waits_since = (self.sent.in_flight() > 0).then_some(now);
        self.sent.write_off_flight();
        self.rate.go_on();
        // Where every answer takes so long, the way itself does, and the next one tells.
        if !self.outage.is_untold {
            self.outage = Outage { told_from: self.sent.next_number(), is_untold: true };
        }
    }

    /// The carrier whose silence detached the session is heard again, before another took its place.
    pub(super) fn return_to_carrier(&mut self) {
        self.phase = Phase::Open;
        self.tell(Notice::Opened { resumed: true });
    }

    /// Whether the fate of this packet says anything of the way.
    pub(super) fn tells(&self, settled: &Settled) -> bool {
        settled.number >= self.outage.told_from
    }

    /// A packet told how long the way is.
    pub(super) fn note_told(&mut self) {
        self.outage.is_untold = false;
    }

    /// Whether nothing had arrived for long.
    pub(super) fn was_quiet(&self, now: Time) -> bool {
        now.since(self.last_heard) >= QUIET
    }
}
