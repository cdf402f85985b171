//! How often a client may say what (section 4 of the plain protocol).

use std::time::Instant;

use crate::plain::ClientMessage;

/// A kind of message with a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// `input`.
    Input,
    /// `grab` and `throw`.
    Action,
    /// `chat`.
    Chat,
    /// `name`.
    Name,
    /// `rate`.
    Rate,
    /// `ping`, and the ping and pong frames of WebSocket itself.
    Ping,
}

impl MessageKind {
    const ALL: [Self; 6] = [Self::Input, Self::Action, Self::Chat, Self::Name, Self::Rate, Self::Ping];

    /// The kind of a message.
    pub(crate) fn of(message: &ClientMessage) -> Self {
        match message {
            ClientMessage::Input(_) => Self::Input,
            ClientMessage::Grab { .. } | ClientMessage::Throw { .. } => Self::Action,
            ClientMessage::Chat { .. } => Self::Chat,
            ClientMessage::Name { .. } => Self::Name,
            ClientMessage::Rate { .. } => Self::Rate,
            ClientMessage::Ping { .. } => Self::Ping,
        }
    }

    /// The word in a close reason.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Action => "grab and throw",
            Self::Chat => "chat",
            Self::Name => "name",
            Self::Rate => "rate",
            Self::Ping => "ping",
        }
    }

    /// Messages a second, and how many may come at once.
    fn allowance(self) -> (f64, f64) {
        match self {
            Self::Input => (120.0, 120.0),
            Self::Action => (20.0, 20.0),
            Self::Chat => (2.0, 5.0),
            Self::Name => (1.0, 3.0),
            Self::Rate => (2.0, 5.0),
            Self::Ping => (10.0, 10.0),
        }
    }
}

/// What is to become of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is within its rate.
    Pass,
    /// It is over its rate, and without effect.
    Drop,
    /// The client has been over twice the rate for two seconds.
    Close,
}

/// The allowances of one client.
pub(crate) struct Rates {
    kinds: [Pair; MessageKind::ALL.len()],
}

/// One bucket for the rate itself, one for twice the rate over two seconds.
struct Pair {
    rate: Bucket,
    limit: Bucket,
}

impl Rates {
    pub(crate) fn new(now: Instant) -> Self {
        let kinds = MessageKind::ALL.map(|kind| {
            let (per_second, burst) = kind.allowance();
            let limit_burst = (4.0 * per_second).max(2.0 * burst);
            Pair {
                rate: Bucket::new(per_second, burst, now),
                limit: Bucket::new(2.0 * per_second, limit_burst, now),
            }
        });
        Self { kinds }
    }

    /// Judges a message that arrives now.
    pub(crate) fn judge(&mut self, kind: MessageKind, now: Instant) -> Verdict {
        let pair = &mut self.kinds[kind as usize];
        if !pair.limit.take(now) {
            Verdict::Close
        } else if !pair.rate.take(now) {
            Verdict::Drop
        } else {
            Verdict::Pass
        }
    }
}

/// A token bucket.
pub(crate) struct Bucket {
    per_second: f64,
    burst: f64,
    tokens: f64,
    filled_at: Instant,
}

impl Bucket {
    pub(crate) fn new(per_second: f64, burst: f64, now: Instant) -> Self {
        Self { per_second, burst, tokens: burst, filled_at: now }
    }

    /// Takes a token, if there is one.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let elapsed = now.saturating_duration_since(self.filled_at).as_secs_f64();
        self.tokens = (self.tokens + elapsed * self.per_second).min(self.burst);
        self.filled_at = now;
        let enough = self.tokens >= 1.0;
        if enough {
            self.tokens -= 1.0;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Sends `count` messages, `hz` a second, and counts the verdicts: passed, dropped, closed.
    fn send(kind: MessageKind, hz: f64, count: u32) -> [u32; 3] {
        let start = Instant::now();
        let mut rates = Rates::new(start);
        let mut verdicts = [0; 3];
        for index in 0..count {
            let now = start + Duration::from_secs_f64(f64::from(index) / hz);
            verdicts[rates.judge(kind, now) as usize] += 1;
        }
        verdicts
    }

    #[test]
    fn an_honest_client_is_never_limited() {
        assert_eq!(send(MessageKind::Input, 120.0, 12_000), [12_000, 0, 0]);
        assert_eq!(send(MessageKind::Chat, 2.0, 1_000), [1_000, 0, 0]);
    }

    #[test]
    fn a_burst_passes_and_what_follows_it_is_dropped() {
        assert_eq!(send(MessageKind::Chat, 1e6, 7), [5, 2, 0]);
    }

    #[test]
    fn below_twice_the_rate_nobody_is_closed() {
        let [passed, dropped, closed] = send(MessageKind::Action, 39.0, 4_000);
        assert_eq!(closed, 0);
        assert!(passed.abs_diff(4_000 * 20 / 39) < 30, "passed {passed}, dropped {dropped}");
    }

    #[test]
    fn a_flood_is_closed_within_two_seconds() {
        let verdicts = send(MessageKind::Input, 1_000.0, 2_000);
        assert!(verdicts[2] > 0, "{verdicts:?}");
    }
}
