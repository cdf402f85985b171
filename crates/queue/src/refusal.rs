//! The named ways in which a queue says no.

use std::fmt;

/// Why an operation was refused. Nothing that was accepted before is lost by any of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The queue holds as many entries or bytes as it may, and nothing of it can be replaced. The receiver is behind; try
    /// again later, or wait with the blocking call.
    Full,
    /// The value alone is larger than the queue's `bytes_max`: a mistake of the sender, waiting would not help.
    TooLarge {
        /// Size of the refused value.
        bytes: usize,
        /// The bound it broke.
        bytes_max: usize,
    },
    /// The other end closed the queue in good order. A receiver gets everything that was put before it hears this.
    Closed,
    /// The deadline of a blocking call passed.
    TimedOut,
    /// The process at the other end died without closing. A receiver gets everything that it had put before it hears this.
    PeerDied,
    /// The subscriber took so long that its publisher no longer keeps what it has not got. It is closed; one that subscribes
    /// anew begins with the newest values.
    Behind,
    /// The peer broke the protocol, or something else wrote where only the two ends may; the text names what was wrong.
    /// The queue cannot be used any longer.
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

/// A refusal that hands the value back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused<V> {
    /// Why.
    pub refusal: Refusal,
    /// The value that was not taken.
    pub value: V,
}

impl<V> fmt::Display for Refused<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.refusal.fmt(f)
    }
}

impl<V: fmt::Debug> std::error::Error for Refused<V> {}
