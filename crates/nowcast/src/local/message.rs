//! Messages as a channel delivers them, and how they lie in the queue.
//!
//! A state is its bytes. Anything under key 0 begins with one byte that says what it is; commands and replies then have
//! eight bytes of id.

use super::Error;
use crate::pack::{Pack, UnpackError, Unpacker};
use nowcast_queue::Key;

pub(crate) const EVENT: u8 = 0;
pub(crate) const COMMAND: u8 = 1;
pub(crate) const REPLY: u8 = 2;

/// What was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// The newest value of a key.
    State {
        /// The key, at least 1.
        key: u64,
        /// The value.
        bytes: Vec<u8>,
    },
    /// Something that happened.
    Event {
        /// What.
        bytes: Vec<u8>,
    },
    /// Something that wants a reply, by [`Channel::reply`](super::Channel::reply).
    Command(Command),
}

/// A command that was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub(super) id: u64,
    /// What is asked.
    pub bytes: Vec<u8>,
}

impl Message {
    /// The message's bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        match self {
            Message::State { bytes, .. } | Message::Event { bytes } => bytes,
            Message::Command(command) => &command.bytes,
        }
    }

    /// The message as a value of some type.
    ///
    /// # Errors
    /// When it is not one.
    pub fn unpack<T: Pack>(&self) -> Result<T, UnpackError> {
        Unpacker::message(self.bytes())
    }
}

impl Command {
    /// What is asked, as a value of some type.
    ///
    /// # Errors
    /// When it is not one.
    pub fn unpack<T: Pack>(&self) -> Result<T, UnpackError> {
        Unpacker::message(&self.bytes)
    }
}

/// What is put under key 0.
#[derive(Debug, Clone, Copy)]
pub(super) enum Envelope {
    Event,
    Command(u64),
    Reply(u64),
}

impl Envelope {
    pub(super) fn seal(self, value: &impl Pack, into: &mut crate::pack::Packer) {
        into.clear();
        match self {
            Envelope::Event => into.put(&EVENT),
            Envelope::Command(id) => into.put(&COMMAND).put(&id),
            Envelope::Reply(id) => into.put(&REPLY).put(&id),
        };
        into.put(value);
    }
}

/// The message that these bytes are, or `None` for a reply.
pub(super) fn open(key: Key, bytes: Vec<u8>) -> Result<Option<Message>, Error> {
    if !key.is_event() {
        return Ok(Some(Message::State { key: key.raw(), bytes }));
    }
    let (&kind, rest) = bytes.split_first().ok_or(Error::Message("an event without a kind"))?;
    if kind == EVENT {
        return Ok(Some(Message::Event { bytes: rest.to_vec() }));
    }
    let (id, rest) = rest.split_first_chunk().ok_or(Error::Message("a command without an id"))?;
    match kind {
        COMMAND => {
            let command = Command { id: u64::from_le_bytes(*id), bytes: rest.to_vec() };
            Ok(Some(Message::Command(command)))
        }
        REPLY => Ok(None),
        _ => Err(Error::Message("an event of an unknown kind")),
    }
}

/// The id and the bytes of a reply, if it is one.
pub(super) fn reply_of(key: Key, bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&kind, rest) = bytes.split_first()?;
    let (id, rest) = rest.split_first_chunk()?;
    (key.is_event() && kind == REPLY).then_some((u64::from_le_bytes(*id), rest))
}
