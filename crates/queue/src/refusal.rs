//! The reasons for which a queue refuses an operation.

use std::fmt;

/// The reason why an operation was refused. Messages that were accepted before are not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue has the maximum number of entries or bytes, and the put would not replace an entry. The receiver is too slow:
    /// try again later, or use the blocking call, which waits.
    Full,
    /// The value alone is larger than the queue's `bytes_max`. Such a value is a mistake of the sender; waiting does not help.
    TooLarge {
        /// Size of the refused value.
        bytes: usize,
        /// The limit.
        bytes_max: usize,
    },
    /// The other end closed the queue. A receiver gets all earlier messages before this error.
    Closed,
    /// The deadline of a blocking call passed.
    TimedOut,
    /// The process at the other end died without closing. A receiver gets all its earlier messages before this error.
    PeerDied,
    /// The subscriber was so slow that its publisher dropped messages that it had not received. The subscriber is closed. A new
    /// subscription begins with the newest values.
    Behind,
    /// The peer broke the protocol, or another program wrote into the shared memory. The text describes the fault. The queue can
    /// no longer be used.
    Corrupt(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Full => f.write_str("the queue is full: the receiver is behind"),
            Refusal::TooLarge { bytes, bytes_max } => {
                write!(f, "the value has {bytes} bytes, but this queue may hold {bytes_max}")
            }
            Refusal::Closed => f.write_str("the other end has closed"),
            Refusal::TimedOut => f.write_str("the deadline passed"),
            Refusal::PeerDied => f.write_str("the peer's process died"),
            Refusal::Behind => f.write_str("the subscriber fell behind the bound of its publisher's backlog"),
            Refusal::Corrupt(what) => write!(f, "the peer broke the queue: {what}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// A refusal that returns the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused<V> {
    /// The reason.
    pub refusal: Refusal,
    /// The refused value.
    pub value: V,
}

impl<V> fmt::Display for Refused<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(f)
    }
}

impl<V: fmt::Debug> std::error::Error for Refused<V> {}
