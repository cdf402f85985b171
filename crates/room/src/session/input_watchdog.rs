//! The input of one client that counts no steps. The watchdog stops the avatar of a silent client.

use std::time::Duration;

use nowcast_world::Input;

/// A client loses control of its avatar if nothing arrives from it for this time plus a round trip. The avatar stays until
/// the session ends, because the client may return.
pub(super) const SILENCE_MAX: Duration = Duration::from_millis(500);

/// The newest input of a client, and whether it is in force.
#[derive(Default)]
pub(super) struct InputWatchdog {
    newest: Input,
    /// The number of the newest input.
    number: u16,
    is_halted: bool,
}

impl InputWatchdog {
    /// Records new input of the client.
    pub(super) fn steer(&mut self, input: Input, number: u16) {
        *self = Self { newest: input, number, is_halted: false };
    }

    /// Records whether the client is silent now. If the input in force changes, returns the new input and its
    /// number.
    pub(super) fn update(&mut self, is_silent: bool) -> Option<(Input, u16)> {
        let standing = Input { forward: 0.0, right: 0.0, jump: false, ..self.newest };
        if is_silent == self.is_halted || standing == self.newest {
            return None;
        }
        self.is_halted = is_silent;
        // The earlier input is in force again, because the client does not repeat it.
        Some((if is_silent { standing } else { self.newest }, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_client_stands_still_and_continues_when_its_messages_arrive_again() {
        let walking = Input { forward: 1.0, yaw: 0.5, run: true, ..Input::default() };
        let mut watchdog = InputWatchdog::default();
        watchdog.steer(walking, 7);
        assert_eq!(watchdog.update(false), None);
        assert_eq!(watchdog.update(true), Some((Input { forward: 0.0, ..walking }, 7)));
        assert_eq!(watchdog.update(true), None, "the avatar already stands still");
        assert_eq!(watchdog.update(false), Some((walking, 7)));
    }

    #[test]
    fn input_after_silence_holds_at_once() {
        let mut watchdog = InputWatchdog::default();
        watchdog.steer(Input { right: 1.0, ..Input::default() }, 1);
        assert!(watchdog.update(true).is_some());
        watchdog.steer(Input { yaw: 1.0, ..Input::default() }, 1);
        assert_eq!(watchdog.update(false), None);
        assert_eq!(watchdog.update(true), None, "a client that stands still need not be stopped");
    }
}
