//! The two ends of a carrier.

use super::{LocalError, Message};

/// The end that sends.
pub trait Outlet {
    /// Sends one message; waits where the carrier makes its senders wait.
    ///
    /// # Errors
    /// Fails if the carrier refuses the message, or if the receiver is gone.
    fn send(&mut self, message: &Message) -> Result<(), LocalError>;
}

/// The end that receives.
pub trait Inlet {
    /// The next message, if there is one.
    ///
    /// # Errors
    /// Fails if the carrier fails, or if a message is damaged.
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError>;

    /// Sleeps until there is a message, in the carrier's own way. `None` means: check the page whether to stop.
    ///
    /// # Errors
    /// Fails if the carrier fails, or if a message is damaged.
    fn receive(&mut self) -> Result<Option<Message>, LocalError> {
        self.try_receive()
    }
}

/// A receiver's way of waiting.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Polls repeatedly.
    Spin,
    /// It sleeps.
    Sleep,
}
