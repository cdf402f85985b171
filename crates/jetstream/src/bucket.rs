//! A key-value bucket in which every change states the revision that it replaces.

use std::time::Duration;

use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{Config, LastRawMessageErrorKind, Stream};
use bytes::Bytes;
use futures_util::TryStreamExt as _;

use crate::{ClusterError, Link};

/// The header of NATS that tells a deletion from a value.
const OPERATION: &str = "KV-Operation";

/// Time for which a deletion can be seen. Afterwards the key is like a key that was never used.
const DELETION_KEPT: Duration = Duration::from_secs(3_600);

/// A bucket. It is one of NATS's own key-value buckets, so `nats kv` shows it.
///
/// A read is a hint: an old leader may answer it. So no change depends on a read alone. Each change names the revision that it
/// replaces, and the leader refuses the change if there is a newer one.
#[derive(Clone)]
pub struct Bucket {
    link: Link,
    stream: Stream,
    name: String,
}

/// A value with its revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The value; `None` if the key was deleted.
    pub value: Option<Bytes>,
    /// The revision, which the next change must name.
    pub revision: u64,
}

/// The reason why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// Another change came first.
    #[error("the entry has changed in the meantime")]
    Conflict,
    /// NATS did not answer. The change may have been made.
    #[error(transparent)]
    Failed(#[from] ClusterError),
}

impl Bucket {
    /// Opens a bucket of the cluster, or makes it. `what` is the last part of its name.
    ///
    /// # Errors
    /// Fails if a bucket with this name is not of this program, or cannot be made.
    pub async fn open(link: &Link, what: &str) -> Result<Bucket, ClusterError> {
        let name = link.name(what);
        let stream = link
            .open_stream(Config {
                name: format!("KV_{name}"),
                subjects: vec![format!("$KV.{name}.>")],
                max_messages_per_subject: 1,
                allow_rollup: true,
                deny_delete: true,
                allow_direct: true,
                allow_message_ttl: true,
                discard: async_nats::jetstream::stream::DiscardPolicy::New,
                ..Config::default()
            })
            .await?;
        Ok(Bucket { link: link.clone(), stream, name })
    }

    /// Returns the newest entry that the leader knows, deletions included; `None` if the key was never used. The answer is a
    /// hint.
    ///
    /// # Errors
    /// Fails if NATS does not answer.
    pub async fn get(&self, key: &str) -> Result<Option<Entry>, ClusterError> {
        match self.stream.get_last_raw_message_by_subject(&self.subject(key)).await {
            Ok(message) => {
                let is_value = message.headers.get(OPERATION).is_none();
                Ok(Some(Entry { value: is_value.then_some(message.payload), revision: message.sequence }))
            }
            Err(error) if matches!(error.kind(), LastRawMessageErrorKind::NoMessageFound) => Ok(None),
            Err(error) => Err(ClusterError::request(format!("cannot read {key} in {}", self.name), error)),
        }
    }

    /// Sets a value that replaces the entry with this revision; 0 for a key that was never used. Returns the new revision.
    ///
    /// # Errors
    /// Returns [`ChangeError::Conflict`] if the entry has another revision.
    pub async fn set(&self, key: &str, value: impl Into<Bytes>, replaces: u64) -> Result<u64, ChangeError> {
        self.change(key, PublishMessage::build().payload(value.into()), replaces).await
    }

    /// Deletes a key whose entry has this revision.
    ///
    /// # Errors
    /// Returns [`ChangeError::Conflict`] if the entry has another revision.
    pub async fn delete(&self, key: &str, replaces: u64) -> Result<u64, ChangeError> {
        let message = PublishMessage::build().header(OPERATION, "PURGE").header("Nats-Rollup", "sub");
        let message = message.ttl(DELETION_KEPT);
        self.change(key, message, replaces).await
    }

    async fn change(&self, key: &str, message: PublishMessage, replaces: u64) -> Result<u64, ChangeError> {
        let message = message.expected_last_subject_sequence(replaces);
        let failed = |error: &dyn std::fmt::Display| {
            ClusterError::request(format!("cannot change {key} in {}", self.name), error)
        };
        let sent = self.link.context().send_publish(self.subject(key), message).await;
        match sent.map_err(|error| failed(&error))?.await {
            Ok(ack) => Ok(ack.sequence),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Err(ChangeError::Conflict),
            Err(error) => Err(failed(&error).into()),
        }
    }

    /// Returns all keys with values, in the order of their last changes. The answer is a hint.
    ///
    /// # Errors
    /// Fails if NATS does not answer.
    pub async fn list(&self) -> Result<Vec<(String, Bytes, u64)>, ClusterError> {
        let failed = |error: &dyn std::fmt::Display| {
            ClusterError::request(format!("cannot list {}", self.name), error)
        };
        let subjects =
            self.stream.info_with_subjects(self.subject(">")).await.map_err(|error| failed(&error))?;
        let subjects: Vec<(String, usize)> = subjects.try_collect().await.map_err(|error| failed(&error))?;
        let prefix = self.subject("");
        let mut entries = Vec::new();
        for (subject, _) in subjects {
            let Some(key) = subject.strip_prefix(&prefix) else { continue };
            if let Some(Entry { value: Some(value), revision }) = self.get(key).await? {
                entries.push((key.to_owned(), value, revision));
            }
        }
        entries.sort_by_key(|(_, _, revision)| *revision);
        Ok(entries)
    }

    fn subject(&self, key: &str) -> String {
        format!("$KV.{}.{key}", self.name)
    }
}

/// Returns text as a part of a key or subject: in hexadecimal digits, because names of worlds may contain any character.
pub(crate) fn hex(text: &[u8]) -> String {
    text.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads the output of [`hex`].
pub(crate) fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pairs = digits.chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(text, 16).ok()
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_a_key_and_is_read_back() {
        for text in ["plaza", "a.b >*", "\u{1f40c}", ""] {
            assert!(hex(text.as_bytes()).bytes().all(|byte| byte.is_ascii_hexdigit()));
            assert_eq!(from_hex(&hex(text.as_bytes())).as_deref(), Some(text.as_bytes()));
        }
        assert_eq!((from_hex("abc"), from_hex("zz")), (None, None));
    }
}
