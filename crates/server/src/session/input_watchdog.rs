//! The input of one client. The avatar of a client that is silent stands still.

use std::time::Duration;

use nowcast_world::Input;

/// How often it is looked whether a client can be heard.
pub(super) const LOOK: Duration = Duration::from_millis(250);

/// Without an answer for so long beyond a round trip, a client does not steer. Until the session ends its avatar stays,
/// because it may come back.
pub(super) const SILENCE_MAX: Duration = Duration::from_millis(500);

/// The newest controls of a client, and whether they hold.
#[derive(Default)]
pub(super) struct InputWatchdog {
    newest: Input,
    is_halted: bool,
}

impl InputWatchdog {
    /// The client says something new.
    pub(super) fn steer(&mut self, input: Input) {
        *self = Self { newest: input, is_halted: false };
    }

    /// Notes whether the client can be heard now. Returns the controls that hold from now on, if that changes them.
    pub(super) fn hear(&mut self, is_heard: bool) -> Option<Input> {
        let standing = Input { forward: 0.0, right: 0.0, jump: false, ..self.newest };
        if is_heard != self.is_halted || standing == self.newest {
            return None;
        }
        self.is_halted = !is_heard;
        // Held keys stay held: input that arrived is not sent again.
        Some(if is_heard { self.newest } else { standing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_client_stands_still_and_continues_when_heard_again() {
        let walking = Input { forward: 1.0, yaw: 0.5, run: true, ..Input::default() };
        let mut watchdog = InputWatchdog::default();
        watchdog.steer(walking);
        assert_eq!(watchdog.hear(true), None);
        assert_eq!(watchdog.hear(false), Some(Input { forward: 0.0, ..walking }));
        assert_eq!(watchdog.hear(false), None, "it stands already");
        assert_eq!(watchdog.hear(true), Some(walking));
    }

    #[test]
    fn input_after_silence_holds_at_once() {
        let mut watchdog = InputWatchdog::default();
        watchdog.steer(Input { right: 1.0, ..Input::default() });
        assert!(watchdog.hear(false).is_some());
        watchdog.steer(Input { yaw: 1.0, ..Input::default() });
        assert_eq!(watchdog.hear(true), None);
        assert_eq!(watchdog.hear(false), None, "a client that stands need not be halted");
    }
}
