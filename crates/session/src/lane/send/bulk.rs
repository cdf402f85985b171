//! The limit of a bulk lane in bytes a second.

use std::time::Duration;

use super::SendLane;
use crate::time::Time;

impl SendLane {
    /// Returns the time at which a bulk lane may send again.
    pub(crate) fn next_at(&mut self, now: Time) -> Option<Time> {
        let per_second = f64::from(self.config.bytes_per_second_max?);
        let missing = -self.tokens(now, per_second);
        (missing > 0.0).then(|| now + Duration::from_secs_f64(missing / per_second + 1e-5))
    }

    pub(super) fn may_send(&mut self, now: Time) -> bool {
        let Some(per_second) = self.config.bytes_per_second_max else { return true };
        self.tokens(now, f64::from(per_second)) >= 0.0
    }

    fn tokens(&mut self, now: Time, per_second: f64) -> f64 {
        self.bucket.tokens(now, per_second, (per_second / 50.0).max(1_200.0))
    }
}
