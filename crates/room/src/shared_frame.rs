//! An encoded message of the plain protocol that many clients share.

use bytes::Bytes;
use nowcast_world_protocol::plain::Frame;

/// An encoded message of the plain protocol. Clones share the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SharedFrame {
    /// UTF-8, for a text frame.
    Text(Bytes),
    /// Bytes for a binary frame.
    Binary(Bytes),
}

impl SharedFrame {
    /// The length, in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether the message has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes().is_empty()
    }

    /// The bytes of the message.
    #[must_use]
    pub fn bytes(&self) -> &Bytes {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes,
        }
    }

    /// The text of a text frame.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).expect("a text frame is UTF-8"),
            Self::Binary(_) => panic!("no text: {self:?}"),
        }
    }
}

impl From<Frame> for SharedFrame {
    fn from(frame: Frame) -> Self {
        match frame {
            Frame::Text(text) => Self::Text(text.into()),
            Frame::Binary(bytes) => Self::Binary(bytes.into()),
        }
    }
}

impl From<&str> for SharedFrame {
    fn from(text: &str) -> Self {
        Self::Text(Bytes::copy_from_slice(text.as_bytes()))
    }
}
