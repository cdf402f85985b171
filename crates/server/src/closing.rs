//! The close frames of the plain protocol, and the errors of the WebSocket library as reasons for a close.

use nowcast_room::Closing;
use tokio_tungstenite::tungstenite::error::{CapacityError, ProtocolError};
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::{Error, Utf8Bytes};

/// Returns the close frame, or `None` if the peer cannot read one.
pub(crate) fn frame(closing: &Closing) -> Option<CloseFrame> {
    match closing {
        Closing::Bye | Closing::Vanished => None,
        _ => Some(CloseFrame { code: closing.code().into(), reason: Utf8Bytes::from(closing.reason()) }),
    }
}

/// The reason for a close after an error of the WebSocket library.
pub(crate) fn of_error(error: Error) -> Closing {
    match error {
        Error::Capacity(CapacityError::MessageTooLong { .. }) => Closing::TooLarge,
        Error::Utf8(_) => Closing::NotUtf8,
        Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => Closing::Vanished,
        Error::Protocol(error) => Closing::Protocol(error.to_string()),
        Error::ConnectionClosed | Error::AlreadyClosed => Closing::Bye,
        _ => Closing::Vanished,
    }
}
