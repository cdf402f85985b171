//! A model of JetStream: two buckets, a stream for each room, and an object store.
//!
//! The model has the documented guarantees: an update with an expected revision and an append with an expected last sequence are
//! linearizable, and an acknowledged write stays. It also has the published failures that a cluster must survive: stale reads,
//! lost acknowledgements of stored writes, requests that are carried out long after their sender gave up, and times without a
//! leader.

use std::collections::BTreeMap;

use nowcast_cluster::{Epoch, Frame, Name, Revision, RoomEntry, Sequence, ServerEntry, Stored};

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

    pub(super) fn keys(&self) -> Vec<Name> {
        self.values.keys().copied().collect()
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
struct Stream {
    /// Number of purged frames.
    first: u64,
    frames: Vec<Frame>,
}

impl Stream {
    fn last(&self) -> Sequence {
        Sequence(self.first + self.frames.len() as u64)
    }

    fn frame(&self, sequence: Sequence) -> Option<&Frame> {
        let index = sequence.0.checked_sub(self.first + 1)?;
        self.frames.get(index as usize)
    }
}

/// The state of a room as its journal describes it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loaded {
    pub(super) world: World,
    /// The number of the last batch.
    pub(super) number: u64,
}

/// All of JetStream.
#[derive(Debug)]
pub(super) struct JetStream {
    pub(super) servers: Bucket<ServerEntry>,
    pub(super) rooms: Bucket<RoomEntry>,
    streams: BTreeMap<Name, Stream>,
    /// The worlds of stored snapshots.
    objects: BTreeMap<(Name, Epoch, u64), World>,
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
        let stream = self.streams.entry(room).or_default();
        if stream.last() != expected {
            return Stored::Refused;
        }
        stream.frames.push(frame);
        Stored::Yes(stream.last())
    }

    /// The first and the last sequence, as of `age` frames ago.
    pub(super) fn bounds(&self, room: Name, age: usize) -> (Sequence, Sequence) {
        let first = self.streams.get(&room).map_or(0, |stream| stream.first);
        (Sequence(first + 1), self.end(room, age).0)
    }

    /// The last sequence and its frame, as of `age` frames ago.
    pub(super) fn end(&self, room: Name, age: usize) -> (Sequence, Option<Frame>) {
        let Some(stream) = self.streams.get(&room) else { return (Sequence(0), None) };
        // A purge happened after all frames before it, so an old read shows them.
        let count = stream.frames.len().saturating_sub(age).max(stream.frames.len().min(1));
        let last = Sequence(stream.first + count as u64);
        (last, stream.frame(last).cloned())
    }

    /// A frame, unless it is one of the `age` newest.
    pub(super) fn frame(&self, room: Name, sequence: Sequence, age: usize) -> Option<Frame> {
        let stream = self.streams.get(&room)?;
        let is_shown = sequence.0 + age as u64 <= stream.last().0;
        stream.frame(sequence).filter(|_| is_shown).cloned()
    }

    /// Restores a room up to a frame; `None` if its frames are purged already.
    pub(super) fn load(&self, room: Name, through: Sequence) -> Option<Loaded> {
        let stream = self.streams.get(&room)?;
        let frames = &stream.frames[..through.0.checked_sub(stream.first)? as usize];
        let newest = frames.iter().rposition(|frame| matches!(frame, Frame::Snapshot(_)));
        let mut loaded = match newest.map(|index| &frames[index]) {
            Some(Frame::Snapshot(snapshot)) => Loaded {
                world: *self.objects.get(&(room, snapshot.epoch, snapshot.step))?,
                number: snapshot.batch_number,
            },
            _ if stream.first > 0 => return None,
            _ => Loaded::default(),
        };
        for frame in &frames[newest.unwrap_or(0)..] {
            if let Frame::Batch(batch) = frame {
                loaded.world.step(batch.through_step, &batch.bytes).ok()?;
                loaded.number = batch.number;
            }
        }
        Some(loaded)
    }

    /// Removes all frames before a snapshot's.
    pub(super) fn purge_before(&mut self, room: Name, sequence: Sequence) {
        let Some(stream) = self.streams.get_mut(&room) else { return };
        let count = sequence.0.saturating_sub(stream.first + 1).min(stream.frames.len() as u64);
        stream.frames.drain(..count as usize);
        stream.first += count;
    }

    pub(super) fn put_object(&mut self, room: Name, epoch: Epoch, world: World) {
        self.objects.insert((room, epoch, world.step), world);
    }
}
