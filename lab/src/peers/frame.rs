//! Frames for peers that carry a stream of bytes, or packets with several messages. A frame consists of a key, a length and a
//! body.

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::{Message, PeerError};

const HEADER_BYTES: usize = 4;
const BODY_BYTES_MAX: usize = 1_024;

/// Appends a frame.
pub(super) fn push(out: &mut Vec<u8>, key: u16, bytes: &[u8]) {
    let length = u16::try_from(bytes.len()).expect("messages of the lab are short");
    out.extend_from_slice(&key.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(bytes);
}

/// An empty event, which opens a stream and is not a message.
pub(super) const HELLO: [u8; HEADER_BYTES] = [0; HEADER_BYTES];

/// Extracts frames from bytes that arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct Deframer {
    bytes: Vec<u8>,
    read: usize,
}

impl Deframer {
    /// Appends arrived bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        // Consumed bytes are removed once they fill most of the buffer. So every byte is moved about once.
        if self.read > self.bytes.len() / 2 {
            self.bytes.drain(..self.read);
            self.read = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete message.
    pub(super) fn next(&mut self) -> Result<Option<Message>, PeerError> {
        loop {
            let rest = &self.bytes[self.read..];
            let Some((header, body)) = rest.split_at_checked(HEADER_BYTES) else { return Ok(None) };
            let key = u16::from_le_bytes([header[0], header[1]]);
            let length = usize::from(u16::from_le_bytes([header[2], header[3]]));
            if length > BODY_BYTES_MAX {
                return Err(PeerError::Frame("its length"));
            }
            let Some(body) = body.get(..length) else { return Ok(None) };
            let message = Message { key, bytes: body.to_vec() };
            self.read += HEADER_BYTES + length;
            if length > 0 {
                return Ok(Some(message));
            }
        }
    }

    /// Moves complete messages to `inbox` until it has grown by `messages_max`. Returns whether there was one.
    pub(super) fn take(&mut self, messages_max: usize, inbox: &mut Vec<Message>) -> Result<bool, PeerError> {
        let before = inbox.len();
        while inbox.len() - before < messages_max {
            let Some(message) = self.next()? else { break };
            inbox.push(message);
        }
        Ok(inbox.len() > before)
    }
}

/// Takes messages that a task of the peer passes as frames. Takes all that have arrived, or waits for the first one.
pub(super) async fn receive(
    arrived: &mut mpsc::Receiver<Vec<u8>>,
    incoming: &mut Deframer,
    until: Instant,
    messages_max: usize,
    inbox: &mut Vec<Message>,
) -> Result<(), PeerError> {
    let before = inbox.len();
    loop {
        incoming.take(messages_max - (inbox.len() - before), inbox)?;
        let taken = inbox.len() - before;
        if taken == messages_max {
            return Ok(());
        }
        match arrived.try_recv() {
            Ok(frames) => incoming.feed(&frames),
            Err(_) if taken > 0 => return Ok(()),
            Err(_) => match timeout_at(until, arrived.recv()).await {
                Err(_) => return Ok(()),
                Ok(None) => return Err(PeerError::Closed),
                Ok(Some(frames)) => incoming.feed(&frames),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_complete_however_the_bytes_are_cut() {
        let mut bytes = HELLO.to_vec();
        for key in 0..300 {
            push(&mut bytes, key, &vec![key as u8; 1 + usize::from(key)]);
        }
        for piece in [1, 3, 1000, bytes.len()] {
            let (mut deframer, mut inbox) = (Deframer::default(), Vec::new());
            for piece in bytes.chunks(piece) {
                deframer.feed(piece);
                deframer.take(usize::MAX, &mut inbox).unwrap();
            }
            assert_eq!(inbox.len(), 300);
            assert!(
                inbox.iter().zip(0..).all(|(message, key)| message.key == key
                    && message.bytes == vec![key as u8; 1 + usize::from(key)])
            );
        }
    }
}
