//! The laws of `spec/QUEUE.md`, checked on a record of puts and gets.

use crate::Key;
use std::collections::HashMap;
use std::fmt;

/// The state of the queue at the end of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// The sender stopped and the receiver got everything: all laws apply.
    Drained,
    /// Some messages still waited: the delivered messages must follow the laws, but need not be complete.
    Early,
}

/// A violated law, and the put at which it was violated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Violation {
    /// The number of the law in `spec/QUEUE.md`.
    pub law: u8,
    /// A description of the violation.
    pub what: &'static str,
    /// The number of the affected put.
    pub put: usize,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "law {} broken: {} (put {})", self.law, self.what, self.put)
    }
}

impl std::error::Error for Violation {}

/// Checks laws 1 to 4. These laws hold at every receiver, for any interleaving of the two sides.
///
/// `puts` are the keys of all accepted puts in order. `gets` are the delivered messages, each with the index of its put. Laws 5
/// to 7 concern single instants. Only the comparison with the model can check them.
///
/// # Errors
/// The first violation.
pub fn check(puts: &[Key], gets: &[(Key, usize)], ended: Ended) -> Result<(), Violation> {
    let events: Vec<usize> = (0..puts.len()).filter(|&put| puts[put].is_event()).collect();
    let broken = |law, what, put| Err(Violation { law, what, put });
    let mut delivered: HashMap<Key, usize> = HashMap::new();
    let mut events_delivered = 0;
    // For each key, the newest put before the barrier that was delivered last.
    let mut newest: HashMap<Key, usize> = HashMap::new();
    let mut archived = 0;
    for &(key, put) in gets {
        if puts.get(put) != Some(&key) {
            return broken(1, "a message was delivered that was never put", put);
        }
        if key.is_event() {
            if events.get(events_delivered) != Some(&put) {
                return broken(1, "an event was delivered out of order, twice, or after one was lost", put);
            }
            newest.extend((archived..put).map(|index| (puts[index], index)));
            archived = put + 1;
            newest.remove(&Key::EVENT);
            if newest.iter().any(|(key, put)| delivered.get(key) != Some(put)) {
                return broken(2, "an event was delivered before the last value put before it", put);
            }
            events_delivered += 1;
        } else {
            if events.partition_point(|&event| event < put) > events_delivered {
                return broken(3, "a state was delivered before an event put before it", put);
            }
            if delivered.insert(key, put).is_some_and(|before| before >= put) {
                return broken(4, "a key went backwards or was delivered twice", put);
            }
        }
    }
    if ended == Ended::Drained {
        if events_delivered < events.len() {
            return broken(1, "an event was lost", events[events_delivered]);
        }
        newest.extend((archived..puts.len()).map(|index| (puts[index], index)));
        newest.remove(&Key::EVENT);
        if let Some((_, &put)) = newest.iter().find(|(key, put)| delivered.get(key) != Some(put)) {
            return broken(4, "the last value of a key was not delivered", put);
        }
    }
    Ok(())
}

/// Returns a value of at least eight bytes. Every word contains the number of its put, so that torn values are detected.
#[must_use]
pub fn value(put: usize, bytes: usize) -> Vec<u8> {
    let word = (put as u64).to_le_bytes();
    (0..bytes.max(8)).map(|index| word[index % 8] ^ (index / 8) as u8).collect()
}

/// Returns the number of the put that made a [`value`]; `None` if the bytes are no such value.
#[must_use]
pub fn put_of(bytes: &[u8]) -> Option<usize> {
    let put = u64::from_le_bytes(bytes.first_chunk().copied()?) as usize;
    (value(put, bytes.len()) == bytes).then_some(put)
}
