//! The two ends of a carrier.

use super::{LocalError, Message};

/// The end that sends.
pub trait Outlet {
    /// Sends one message. Waits if the carrier makes its senders wait.
    ///
    /// # Errors
    /// Fails if the carrier refuses the message, or if the receiver is gone.
    fn send(&mut self, message: &Message) -> Result<(), LocalError>;
}

/// The end that receives.
pub trait Inlet {
    /// Returns the next message, if there is one.
    ///
    /// # Errors
    /// Fails if the carrier fails, or if a message is damaged.
    fn try_receive(&mut self) -> Result<Option<Message>, LocalError>;

    /// Sleeps until there is a message, in the carrier's own way. After `None`, the caller must check the page for a request to
    /// stop.
    ///
    /// # Errors
    /// Fails if the carrier fails, or if a message is damaged.
    fn receive(&mut self) -> Result<Option<Message>, LocalError> {
        self.try_receive()
    }
}

/// How a receiver waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Patience {
    /// Polls repeatedly.
    Spin,
    /// Sleeps.
    Sleep,
}
