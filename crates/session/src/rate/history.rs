//! What is remembered of earlier rounds.

use std::time::Duration;

use crate::time::Time;

/// The least delay is that of the last two such spans.
const BASE_SPAN: Duration = Duration::from_secs(5);
/// While others keep the queue full, an empty one is rarer.
const BASE_SPAN_RIVALRY: Duration = Duration::from_secs(30);

/// The least one-way delay of late; it contains the offset of the clocks, which cancels out in differences.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BaseDelay {
    current: Option<(Time, i64)>,
    previous: Option<i64>,
}

impl BaseDelay {
    pub(super) fn excess(&mut self, now: Time, delay: i64, has_rivals: bool) -> i64 {
        let span = if has_rivals { BASE_SPAN_RIVALRY } else { BASE_SPAN };
        let least = match &mut self.current {
            Some((began, least)) if now.since(*began) < span => {
                *least = (*least).min(delay);
                *least
            }
            current => {
                self.previous = current.map(|(_, least)| least);
                *current = Some((now, delay));
                delay
            }
        };
        let least = self.previous.map_or(least, |previous| previous.min(least));
        delay.wrapping_sub(least)
    }
}

/// The highest delivery rate of late: the link's is not lower.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peak {
    began: Time,
    current: f64,
    previous: f64,
}

impl Peak {
    pub(super) fn note(&mut self, now: Time, delivered: f64) {
        if now.since(self.began) >= BASE_SPAN {
            *self = Self { began: now, current: 0.0, previous: self.current };
        }
        self.current = self.current.max(delivered);
    }

    pub(super) fn highest(&self) -> f64 {
        self.current.max(self.previous)
    }
}
