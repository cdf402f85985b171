//! A model of JetStream: two buckets, a stream for each room, and an object store.
//!
//! The model has the documented guarantees: an update with an expected revision and an append with an expected last sequence are
//! linearizable, and an acknowledged write stays. It also has the published failures that a cluster must survive: reads of the
//! past, acknowledgements that are lost although the write is stored, requests that are carried out long after their sender gave
//! up, and times without a leader. If the engine is unsafe, a power failure takes the last acknowledged writes.

use std::collections::BTreeMap;

use nowcast_cluster::{
    Epoch, Frame, JournalPage, Name, Revision, RoomEntry, Sequence, ServerEntry, SnapshotRef, Stored,
};

use super::world::World;

/// Number of old values that a stale read may return.
const HISTORY: usize = 4;

/// A bucket.
#[derive(Debug)]
pub(super) struct Bucket<T> {
    /// The newest values of each key, oldest first.
    values: BTreeMap<Name, Vec<(Revision, T)>>,
    last: Revision,
}

impl<T: Clone> Bucket<T> {
    fn new() -> Bucket<T> {
        Bucket { values: BTreeMap::new(), last: Revision(0) }
    }

    /// Returns a value that is `age` updates old.
    pub(super) fn read(&self, key: Name, age: usize) -> Option<(Revision, T)> {
        let values = self.values.get(&key)?;
        values.len().checked_sub(1 + age).map(|index| values[index].clone())
    }

    pub(super) fn update(&mut self, key: Name, expected: Revision, value: T) -> Stored<Revision> {
        let values = self.values.entry(key).or_default();
        if values.last().map_or(Revision(0), |(revision, _)| *revision) != expected {
            return Stored::Refused;
        }
        self.last = self.last.next();
        if values.len() == HISTORY {
            values.remove(0);
        }
        values.push((self.last, value));
        Stored::Yes(self.last)
    }
}

/// The journal of a room.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// Number of purged frames.
    first: u64,
    /// The last sequence at the last purge. A stale read still shows the frames up to this sequence, because the purge
    /// happened after them.
    last_at_purge: u64,
    frames: Vec<Frame>,
}

impl Stream {
    fn last(&self) -> Sequence {
        Sequence(self.first + self.frames.len() as u64)
    }

    fn append(&mut self, expected: Sequence, frame: Frame) -> Stored<Sequence> {
        if self.last() != expected {
            return Stored::Refused;
        }
        self.frames.push(frame);
        Stored::Yes(self.last())
    }

    /// Reads the frames after a sequence, as of `age` frames ago.
    fn read(&self, after: Sequence, age: usize) -> JournalPage {
        let least = self.last_at_purge.saturating_sub(self.first) as usize;
        let count = self.frames.len().saturating_sub(age).max(least.min(self.frames.len()));
        let skip = after.0.saturating_sub(self.first).min(count as u64) as usize;
        let sequence = |index: usize| Sequence(self.first + 1 + index as u64);
        JournalPage {
            first: sequence(0),
            last: Sequence(self.first + count as u64),
            frames: (skip..count).map(|index| (sequence(index), self.frames[index].clone())).collect(),
        }
    }

    fn purge(&mut self, through: Sequence) {
        let count = through.0.saturating_sub(self.first).min(self.frames.len() as u64);
        self.frames.drain(..count as usize);
        self.first += count;
        self.last_at_purge = self.last().0;
    }
}

/// All of JetStream.
#[derive(Debug)]
pub(super) struct JetStream {
    pub(super) servers: Bucket<ServerEntry>,
    pub(super) rooms: Bucket<RoomEntry>,
    pub(super) streams: BTreeMap<Name, Stream>,
    /// The worlds of stored snapshots; `None` for a damaged object.
    objects: BTreeMap<(Name, Epoch, u64), Option<World>>,
}

impl JetStream {
    pub(super) fn new() -> JetStream {
        JetStream {
            servers: Bucket::new(),
            rooms: Bucket::new(),
            streams: BTreeMap::new(),
            objects: BTreeMap::new(),
        }
    }

    pub(super) fn append(&mut self, room: Name, expected: Sequence, frame: Frame) -> Stored<Sequence> {
        self.streams.entry(room).or_default().append(expected, frame)
    }

    pub(super) fn read(&mut self, room: Name, after: Sequence, age: usize) -> JournalPage {
        self.streams.entry(room).or_default().read(after, age)
    }

    pub(super) fn purge(&mut self, room: Name, through: Sequence) {
        self.streams.entry(room).or_default().purge(through);
    }

    pub(super) fn put_object(&mut self, room: Name, epoch: Epoch, step: u64, world: Option<World>) {
        self.objects.insert((room, epoch, step), world);
    }

    pub(super) fn object(&self, room: Name, snapshot: &SnapshotRef) -> Option<World> {
        *self.objects.get(&(room, snapshot.epoch, snapshot.step))?
    }

    /// Takes the last writes of each stream.
    pub(super) fn lose(&mut self, writes: usize) {
        for stream in self.streams.values_mut() {
            stream.frames.truncate(stream.frames.len().saturating_sub(writes).max(1));
        }
    }
}
