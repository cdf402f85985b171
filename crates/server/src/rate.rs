//! How often a client may say what (section 4 of the plain protocol).

use std::time::Instant;

use nowcast::entry::{Allowance, Verdict};

use crate::plain::ClientMessage;

/// A kind of message with a rate of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MessageKind {
    /// `input`.
    Input,
    /// `act`.
    Action,
    /// `chat`.
    Chat,
    /// `name`.
    Name,
    /// `rate`.
    Rate,
    /// `ping`, and the ping and pong frames of WebSocket itself.
    Ping,
    /// `move`: thirty times a second for each of the entities that a client may own.
    Move,
    /// `set`.
    Set,
    /// `own`, `release`, `spawn` and `despawn`.
    Own,
}

impl MessageKind {
    const ALL: [Self; 9] = [
        Self::Input,
        Self::Action,
        Self::Chat,
        Self::Name,
        Self::Rate,
        Self::Ping,
        Self::Move,
        Self::Set,
        Self::Own,
    ];

    /// The kind of a message.
    pub(crate) fn of(message: &ClientMessage) -> Self {
        match message {
            ClientMessage::Input(_) => Self::Input,
            ClientMessage::Act { .. } => Self::Action,
            ClientMessage::Chat { .. } => Self::Chat,
            ClientMessage::Name { .. } => Self::Name,
            ClientMessage::Rate { .. } => Self::Rate,
            ClientMessage::Ping { .. } => Self::Ping,
            ClientMessage::Move { .. } => Self::Move,
            ClientMessage::Set { .. } => Self::Set,
            ClientMessage::Own { .. }
            | ClientMessage::Release { .. }
            | ClientMessage::Spawn { .. }
            | ClientMessage::Despawn { .. } => Self::Own,
        }
    }

    /// The word in a close reason.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Action => "act",
            Self::Chat => "chat",
            Self::Name => "name",
            Self::Rate => "rate",
            Self::Ping => "ping",
            Self::Move => "move",
            Self::Set => "set",
            Self::Own => "own",
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
            Self::Move => (1_000.0, 1_000.0),
            Self::Set => (60.0, 60.0),
            Self::Own => (20.0, 40.0),
        }
    }
}

/// The allowances of one client.
pub(crate) struct Rates {
    kinds: [Allowance; MessageKind::ALL.len()],
}

impl Rates {
    pub(crate) fn new(now: Instant) -> Self {
        let kinds = MessageKind::ALL.map(|kind| {
            let (per_second, burst) = kind.allowance();
            Allowance::new(per_second, burst, now)
        });
        Self { kinds }
    }

    /// Judges a message that arrives now.
    pub(crate) fn judge(&mut self, kind: MessageKind, now: Instant) -> Verdict {
        self.kinds[kind as usize].judge(now)
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
