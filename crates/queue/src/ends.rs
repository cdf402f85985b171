//! Traits for a queue's two ends, for any transport.

use crate::{Key, Refusal};
use std::task::{Context, Poll};
use std::time::Instant;

/// The effect of a put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// The value became a new entry at the end of the queue.
    Queued,
    /// The value replaced an undelivered value of the same key.
    Replaced,
}

/// The sending end of a queue. It has one owner at a time, because every direction has a single writer.
pub trait Sender {
    /// Puts a value without waiting.
    ///
    /// # Errors
    /// [`Refusal::Full`] if there is no room, and the error that ended the queue.
    fn try_put(&mut self, key: Key, value: &[u8]) -> Result<Put, Refusal>;

    /// Puts a value. If there is no room, waits until the deadline.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`] at the deadline, and the error that ended the queue. Never returns [`Refusal::Full`].
    fn put(&mut self, key: Key, value: &[u8], deadline: Option<Instant>) -> Result<Put, Refusal>;

    /// Puts a value, or registers the task to be woken when a retry may succeed.
    ///
    /// # Errors
    /// Like [`put`](Self::put), without a deadline.
    fn poll_put(&mut self, context: &mut Context<'_>, key: Key, value: &[u8]) -> Poll<Result<Put, Refusal>>;
}

/// The receiving end of a queue. It has one owner at a time, because every direction has a single reader.
pub trait Receiver {
    /// Gets the next message without waiting. Returns its key, and replaces the content of `value` by its bytes. Returns `None`
    /// if no message waits.
    ///
    /// # Errors
    /// The error that ended the queue, after all earlier messages have been delivered.
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal>;

    /// Gets the next message. If there is none, waits until the deadline.
    ///
    /// # Errors
    /// [`Refusal::TimedOut`] at the deadline, and the error that ended the queue.
    fn get(&mut self, value: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Key, Refusal>;

    /// Gets the next message, or registers the task to be woken when there is one.
    ///
    /// # Errors
    /// Like [`get`](Self::get), without a deadline.
    fn poll_get(&mut self, context: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>>;
}
