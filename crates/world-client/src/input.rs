//! The input of a client that does not predict its avatar.

use nowcast_world::Input;
use nowcast_world_protocol::session::Controls;

/// Numbers the input of a client that does not predict its avatar (`spec/WORLD.md`, section 3).
///
/// ```
/// use nowcast_world::Input;
/// use nowcast_world_client::InputSender;
///
/// let mut sender = InputSender::default();
/// let ahead = Input { forward: 1.0, ..Input::default() };
/// assert_eq!(sender.next(&ahead).number, 1);
/// assert_eq!(sender.next(&ahead).number, 1, "the same input has the same number");
/// assert_eq!(sender.next(&Input::default()).number, 2);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct InputSender {
    newest: Controls,
}

impl InputSender {
    /// Returns the input to send. The input gets the next number if it is the first one or differs from the preceding one.
    pub fn next(&mut self, input: &Input) -> Controls {
        let Input { forward, right, yaw, run, jump } = *input;
        let before = self.newest.number;
        let same_number = Controls { number: before, forward, right, yaw, run, jump };
        if before == 0 || same_number != self.newest {
            // 0 stands for no input.
            self.newest = Controls { number: before.checked_add(1).unwrap_or(1), ..same_number };
        }
        self.newest
    }

    /// Returns the newest input; its number is 0 if there was no input yet.
    pub fn newest(&self) -> Controls {
        self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_input_grows_with_each_change_and_is_never_0() {
        let ahead = Input { forward: 1.0, ..Input::default() };
        let mut sender = InputSender::default();
        assert_eq!(sender.next(&Input::default()).number, 1);
        assert_eq!((sender.next(&ahead).number, sender.next(&ahead).number), (2, 2));
        sender.newest.number = u16::MAX;
        assert_eq!(sender.next(&Input::default()).number, 1);
    }
}
