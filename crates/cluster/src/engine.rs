//! The assumptions of the core about JetStream, as a check. Only the simulation calls it. `crates/jetstream` has the weaker check that a server
//! makes at its start.

use std::fmt;

/// The version of nats-server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct NatsVersion(pub u16, pub u16, pub u16);

/// The oldest version that has the published fixes of lost acknowledged writes (jepsen.io/analyses/nats-2.12.1).
pub const NATS_VERSION_MIN: NatsVersion = NatsVersion(2, 12, 3);

/// The least number of replicas of streams and buckets.
pub const REPLICAS_MIN: u8 = 3;

/// Facts about a NATS server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EngineFacts {
    /// The version.
    pub version: NatsVersion,
    /// Whether JetStream is enabled.
    pub has_jetstream: bool,
    /// Whether each write is synced to the disk before it is acknowledged (`sync_interval: always`); `None` if the server does
    /// not say so.
    pub syncs_always: Option<bool>,
}

/// Facts about a stream, or about the stream of a bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StreamFacts {
    /// Number of replicas.
    pub replicas: u8,
    /// Whether messages are on disk.
    pub is_on_disk: bool,
    /// Whether messages may be dropped by age, size or number. A journal with such a limit loses frames without a snapshot.
    pub drops_messages: bool,
    /// Whether the stream mirrors another one, or has sources. Then its sequences are not those of our appends.
    pub is_copy: bool,
}

/// An engine on which a cluster's promises do not hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnsafeEngine {
    /// JetStream is off.
    #[error(
        "JetStream is not enabled on this NATS server. Start it with `jetstream {{ … }}` in its configuration"
    )]
    NoJetStream,
    /// The version has published losses of acknowledged writes.
    #[error(
        "nats-server {found} loses acknowledged writes (jepsen.io/analyses/nats-2.12.1). Install {NATS_VERSION_MIN} or newer"
    )]
    Old {
        /// The version.
        found: NatsVersion,
    },
    /// Writes are acknowledged before they are on disk.
    #[error(
        "this NATS server acknowledges writes before they are on disk. Set `sync_interval: always` in its `jetstream` block"
    )]
    NotSynced,
    /// The server does not say whether it syncs.
    #[error(
        "this NATS server does not report `sync_interval`. Pass the URL of its monitoring port, or set `sync_interval: always` and confirm it with --cluster-synced"
    )]
    SyncUnknown,
    /// Too few replicas.
    #[error(
        "the stream has {found} replicas, and an acknowledged write needs {REPLICAS_MIN}. Run three NATS servers, and update the stream to R3"
    )]
    Replicas {
        /// Number of replicas.
        found: u8,
    },
    /// The stream is in memory.
    #[error("the stream is stored in memory. Create it with file storage")]
    InMemory,
    /// The stream has a limit that drops messages.
    #[error(
        "the stream drops messages by age, size or number. Remove its limits: the owner purges it up to verified snapshots"
    )]
    Drops,
    /// The stream is a copy.
    #[error(
        "the stream mirrors another stream or has sources. Name the stream that takes the appends itself"
    )]
    Copy,
}

impl EngineFacts {
    /// Checks a NATS server.
    ///
    /// # Errors
    /// Names the missing property, and the cure.
    pub fn check(&self) -> Result<(), UnsafeEngine> {
        if !self.has_jetstream {
            return Err(UnsafeEngine::NoJetStream);
        }
        if self.version < NATS_VERSION_MIN {
            return Err(UnsafeEngine::Old { found: self.version });
        }
        match self.syncs_always {
            Some(true) => Ok(()),
            Some(false) => Err(UnsafeEngine::NotSynced),
            None => Err(UnsafeEngine::SyncUnknown),
        }
    }
}

impl StreamFacts {
    /// Checks a stream.
    ///
    /// # Errors
    /// Names the missing property, and the cure.
    pub fn check(&self) -> Result<(), UnsafeEngine> {
        if self.replicas < REPLICAS_MIN {
            return Err(UnsafeEngine::Replicas { found: self.replicas });
        }
        if !self.is_on_disk {
            return Err(UnsafeEngine::InMemory);
        }
        if self.drops_messages {
            return Err(UnsafeEngine::Drops);
        }
        if self.is_copy {
            return Err(UnsafeEngine::Copy);
        }
        Ok(())
    }
}

impl NatsVersion {
    /// Reads a version such as `2.15.2` or `2.12.3-RC.1`.
    #[must_use]
    pub fn parse(text: &str) -> Option<NatsVersion> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let core = text.split(['-', '+']).next()?;
        let mut numbers = core.split('.').map(str::parse::<u16>);
        let version = NatsVersion(numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?);
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for NatsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAFE: EngineFacts =
        EngineFacts { version: NatsVersion(2, 15, 2), has_jetstream: true, syncs_always: Some(true) };
    const STREAM: StreamFacts =
        StreamFacts { replicas: 3, is_on_disk: true, drops_messages: false, is_copy: false };

    #[test]
    fn an_engine_that_may_lose_acknowledged_writes_is_refused_by_name() {
        assert_eq!(SAFE.check(), Ok(()));
        let old = NatsVersion(2, 9, 10);
        assert_eq!(EngineFacts { version: old, ..SAFE }.check(), Err(UnsafeEngine::Old { found: old }));
        assert_eq!(EngineFacts { syncs_always: Some(false), ..SAFE }.check(), Err(UnsafeEngine::NotSynced));
        assert_eq!(EngineFacts { syncs_always: None, ..SAFE }.check(), Err(UnsafeEngine::SyncUnknown));
        assert_eq!(EngineFacts { has_jetstream: false, ..SAFE }.check(), Err(UnsafeEngine::NoJetStream));
    }

    #[test]
    fn a_stream_that_may_lose_frames_is_refused_by_name() {
        assert_eq!(STREAM.check(), Ok(()));
        assert_eq!(StreamFacts { replicas: 1, ..STREAM }.check(), Err(UnsafeEngine::Replicas { found: 1 }));
        assert_eq!(StreamFacts { is_on_disk: false, ..STREAM }.check(), Err(UnsafeEngine::InMemory));
        assert_eq!(StreamFacts { drops_messages: true, ..STREAM }.check(), Err(UnsafeEngine::Drops));
        assert_eq!(StreamFacts { is_copy: true, ..STREAM }.check(), Err(UnsafeEngine::Copy));
    }

    #[test]
    fn versions_are_read_with_their_suffixes() {
        assert_eq!(NatsVersion::parse("2.15.2"), Some(NatsVersion(2, 15, 2)));
        assert_eq!(NatsVersion::parse("v2.12.3-RC.1"), Some(NatsVersion(2, 12, 3)));
        for text in ["", "2", "2.x.1", "2.1.1.1"] {
            assert_eq!(NatsVersion::parse(text), None, "{text}");
        }
    }
}
