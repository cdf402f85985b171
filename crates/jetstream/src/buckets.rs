//! Everything besides journals: snapshots, the data of accounts, and marks.

use std::time::Duration;

use async_nats::jetstream::object_store::ObjectStore;
use async_nats::jetstream::stream::{Config, DiscardPolicy};
use nowcast_cluster::SnapshotRef;
use nowcast_store::{Mark, MarkKind, Problem, WorldName};
use nowcast_wire::{Effort, Limits, Wire};
use nowcast_world::SavedData;
use tokio::io::AsyncReadExt as _;

use crate::bucket::{from_hex, hex};
use crate::envelope::SavedAccount;
use crate::{Bucket, ChangeError, ClusterError, Link};

/// Attempts to change an entry that others change at the same time.
const TRIES: u32 = 32;

/// Time for the transfer of one snapshot.
const TRANSFER_WITHIN: Duration = Duration::from_secs(30);

const LIMITS: Limits = Limits { memory_bytes_max: 8 << 20, ..Limits::MESSAGE };

/// The buckets of a cluster.
#[derive(Clone)]
pub(crate) struct Buckets {
    snapshots: ObjectStore,
    accounts: Bucket,
    marks: Bucket,
}

#[derive(Wire)]
struct SavedMark {
    note: String,
    expires_ms: u64,
}

impl Buckets {
    pub(crate) async fn open(link: &Link) -> Result<Buckets, ClusterError> {
        let name = link.name("snapshots");
        link.open_stream(Config {
            name: format!("OBJ_{name}"),
            subjects: vec![format!("$O.{name}.C.>"), format!("$O.{name}.M.>")],
            discard: DiscardPolicy::New,
            allow_rollup: true,
            ..Config::default()
        })
        .await?;
        let opened = link.context().get_object_store(&name).await;
        let snapshots =
            opened.map_err(|error| ClusterError::request(format!("cannot open {name}"), error))?;
        let accounts = Bucket::open(link, "accounts").await?;
        let marks = Bucket::open(link, "marks").await?;
        Ok(Buckets { snapshots, accounts, marks })
    }

    /// Stores a file, reads it back, and compares every byte.
    pub(crate) async fn put_verified(&self, object: &str, file: &[u8]) -> Result<(), Problem> {
        let put = tokio::time::timeout(TRANSFER_WITHIN, self.snapshots.put(object, &mut &*file)).await;
        let put = put.map_err(|_| Problem::Unreachable(format!("snapshot {object}: NATS took too long")))?;
        put.map_err(|error| Problem::Unreachable(format!("snapshot {object} cannot be stored: {error}")))?;
        if self.get(object, file.len()).await? == file {
            Ok(())
        } else {
            Err(Problem::Unreachable(format!("snapshot {object} was read back with other bytes")))
        }
    }

    /// Reads a file, whose checksum NATS's object store compares.
    pub(crate) async fn get(&self, object: &str, bytes: usize) -> Result<Vec<u8>, Problem> {
        let failed = |error: &dyn std::fmt::Display| {
            Problem::Unreachable(format!("snapshot {object} cannot be read: {error}"))
        };
        let read = async {
            let mut reader = self.snapshots.get(object).await.map_err(|error| failed(&error))?;
            let mut file = Vec::with_capacity(bytes);
            reader.read_to_end(&mut file).await.map_err(|error| failed(&error))?;
            Ok(file)
        };
        let read = tokio::time::timeout(TRANSFER_WITHIN, read).await;
        read.unwrap_or_else(|_| Err(failed(&"NATS took too long")))
    }

    pub(crate) async fn remove(&self, object: &str) -> Result<(), Problem> {
        let removed = self.snapshots.delete(object).await;
        removed.map_err(|error| Problem::Unreachable(format!("snapshot {object} cannot be removed: {error}")))
    }

    /// Stores the data of an account, unless newer data is stored already.
    pub(crate) async fn put_account(&self, saved: &SavedAccount) -> Result<(), ClusterError> {
        let key = account_key(&saved.world, &saved.account);
        let bytes = saved.to_bytes();
        for _ in 0..TRIES {
            let entry = self.accounts.get(&key).await?;
            let revision = entry.as_ref().map_or(0, |entry| entry.revision);
            // Damaged data is replaced.
            let stored =
                entry.and_then(|entry| entry.value).and_then(|value| SavedAccount::from_bytes(&value).ok());
            if stored.is_some_and(|stored| stored.revision >= saved.revision) {
                return Ok(());
            }
            match self.accounts.set(&key, bytes.clone(), revision).await {
                Ok(_) => return Ok(()),
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error),
            }
        }
        let what = format!("cannot store the data of account {}", saved.account);
        Err(ClusterError::request(what, "it changes all the time"))
    }

    pub(crate) async fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, Problem> {
        let entry = self.accounts.get(&account_key(world, account)).await?;
        let Some(value) = entry.and_then(|entry| entry.value) else { return Ok(None) };
        let saved = SavedAccount::from_bytes(&value).and_then(|saved| saved.read());
        saved.map(Some).map_err(|what| Problem::Damaged {
            place: format!("the data of account {account} in world {world}"),
            what,
        })
    }

    /// Stores a mark. Returns whether it was new: no other mark with this key was valid.
    pub(crate) async fn mark(&self, mark: &Mark, now_ms: u64) -> Result<bool, ClusterError> {
        let key = mark_key(mark.kind, &mark.key);
        let value = SavedMark { note: mark.note.clone(), expires_ms: mark.expires_ms };
        let mut bytes = Vec::new();
        nowcast_wire::encode_with(&value, Effort::Small, &mut bytes);
        for _ in 0..TRIES {
            let entry = self.marks.get(&key).await?;
            let revision = entry.as_ref().map_or(0, |entry| entry.revision);
            let stored =
                entry.and_then(|entry| entry.value).and_then(|value| read_mark(mark.kind, &key, &value));
            let is_new = stored.is_none_or(|stored| stored.expires_ms <= now_ms);
            match self.marks.set(&key, bytes.clone(), revision).await {
                Ok(_) => return Ok(is_new),
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error),
            }
        }
        Err(ClusterError::request("cannot store a mark", "it changes all the time"))
    }

    pub(crate) async fn unmark(&self, kind: MarkKind, key: &[u8]) -> Result<(), ClusterError> {
        let key = mark_key(kind, key);
        for _ in 0..TRIES {
            let Some(entry) = self.marks.get(&key).await?.filter(|entry| entry.value.is_some()) else {
                return Ok(());
            };
            match self.marks.delete(&key, entry.revision).await {
                Ok(_) => return Ok(()),
                Err(ChangeError::Conflict) => {}
                Err(ChangeError::Failed(error)) => return Err(error),
            }
        }
        Err(ClusterError::request("cannot remove a mark", "it changes all the time"))
    }

    /// Returns all marks of a kind that are valid at a time, by their keys.
    pub(crate) async fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, ClusterError> {
        let all = self.marks.list().await?;
        let marks = all.iter().filter(|(key, _, _)| key.starts_with(kind_name(kind)));
        let marks = marks.filter_map(|(key, value, _)| read_mark(kind, key, value));
        let mut marks: Vec<Mark> = marks.filter(|mark| mark.expires_ms > now_ms).collect();
        marks.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(marks)
    }

    /// Removes the marks that have expired. Returns their number.
    pub(crate) async fn prune_marks(&self, now_ms: u64) -> Result<u64, ClusterError> {
        let mut removed = 0;
        for (key, value, revision) in self.marks.list().await? {
            let is_over = nowcast_wire::decode_with::<SavedMark>(&value, &LIMITS)
                .is_ok_and(|mark| mark.expires_ms <= now_ms);
            if is_over {
                match self.marks.delete(&key, revision).await {
                    Ok(_) => removed += 1,
                    // The mark was made again.
                    Err(ChangeError::Conflict) => {}
                    Err(ChangeError::Failed(error)) => return Err(error),
                }
            }
        }
        Ok(removed)
    }
}

/// The name of a snapshot's object. The sequence number tells two snapshots of one step apart.
pub(crate) fn object_name(world: &WorldName, snapshot: &SnapshotRef) -> String {
    let SnapshotRef { epoch, sequence, step, .. } = snapshot;
    format!("{}/{epoch}-{sequence}-{step}", hex(world.as_str().as_bytes()))
}

/// The name of the object with the data of accounts that belongs to a snapshot.
pub(crate) fn accounts_name(world: &WorldName, snapshot: &SnapshotRef) -> String {
    format!("{}-accounts", object_name(world, snapshot))
}

fn account_key(world: &str, account: &str) -> String {
    format!("w{}.a{}", hex(world.as_bytes()), hex(account.as_bytes()))
}

fn kind_name(kind: MarkKind) -> &'static str {
    match kind {
        MarkKind::TokenUsed => "token.",
        MarkKind::Ban => "ban.",
    }
}

fn mark_key(kind: MarkKind, key: &[u8]) -> String {
    format!("{}k{}", kind_name(kind), hex(key))
}

fn read_mark(kind: MarkKind, key: &str, value: &[u8]) -> Option<Mark> {
    let key = from_hex(key.strip_prefix(kind_name(kind))?.strip_prefix('k')?)?;
    let SavedMark { note, expires_ms } = nowcast_wire::decode_with::<SavedMark>(value, &LIMITS).ok()?;
    Some(Mark { kind, key, note, expires_ms })
}
