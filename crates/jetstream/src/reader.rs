//! Reads worlds from their journals and snapshots.

use nowcast_cluster::{Batch as FrameBatch, Epoch, Frame, ServerId};
use nowcast_store::{
    Batch, FILE_BATCHES_BYTES_MAX, Moment, Problem, Retention, SavedWorld, Snapshot, Summary, WorldName,
    read_file,
};

use crate::buckets::{Buckets, accounts_name, object_name};
use crate::envelope::{Envelope, SavedAccount};
use crate::journal::{Journal, Note};
use crate::prefetched::Known;

/// Messages that are read at once.
const PART: u64 = 256;

/// Loads the newest snapshot at or before a moment, and the batches after it, up to and including the first that reaches a
/// later moment. A snapshot that was read before is not read again.
pub(crate) async fn load_through(
    journal: &Journal,
    buckets: &Buckets,
    world: &WorldName,
    (moment, through): (Moment, Moment),
    known: Option<Known>,
) -> Result<Option<SavedWorld>, Problem> {
    let find = async {
        Ok::<_, Problem>(match moment {
            Moment::Last => journal.last_snapshot().await?,
            Moment::Tick(tick) => newest(journal.snapshots().await?, |note| note.snapshot.step <= tick),
            Moment::TimeMs(time_ms) => newest(journal.snapshots().await?, |note| note.time_ms <= time_ms),
        })
    };
    let (last, note) = match &known {
        Some(Known { note, last: Some(last), .. }) if moment == Moment::Last => (*last, note.clone()),
        Some(_) | None => {
            let ((_, last), found) = tokio::try_join!(journal.bounds(), find)?;
            let Some(note) = found else { return Ok(None) };
            (last, note)
        }
    };
    let snapshot = match known {
        Some(known) if known.note.snapshot == note.snapshot => known.snapshot,
        Some(_) | None => read_snapshot(buckets, world, &note).await?,
    };
    let mut saved = SavedWorld {
        name: world.clone(),
        tick: snapshot.tick,
        snapshot,
        batches: Vec::new(),
        damage: Vec::new(),
    };
    follow(journal, &note, last, through, &mut saved).await?;
    Ok(Some(saved))
}

fn newest(notes: Vec<Note>, is_early: impl Fn(&Note) -> bool) -> Option<Note> {
    notes.into_iter().rev().find(is_early)
}

pub(crate) async fn read_snapshot(
    buckets: &Buckets,
    world: &WorldName,
    note: &Note,
) -> Result<Snapshot, Problem> {
    let damaged = |what: String| Problem::Damaged {
        place: format!("the snapshot of step {}", note.snapshot.step),
        what,
    };
    let file = buckets.get(&object_name(world, &note.snapshot), note.snapshot.bytes as usize).await?;
    if ring::digest::digest(&ring::digest::SHA256, &file).as_ref() != note.snapshot.digest {
        return Err(damaged("its digest is another one".to_owned()));
    }
    let (_, snapshot, _) = read_file(&file).map_err(|error| damaged(error.to_string()))?;
    if (snapshot.tick, snapshot.time_ms) != (note.snapshot.step, note.time_ms) {
        return Err(damaged("it is that of another step".to_owned()));
    }
    Ok(snapshot)
}

fn open_envelope(journal: &Journal, sequence: u64, batch: &FrameBatch) -> Result<Envelope, Problem> {
    Envelope::from_bytes(&batch.bytes).map_err(|what| journal.damaged(sequence, &what))
}

/// Adds the batches after a snapshot, as far as the moment needs them, up to the first hole.
async fn follow(
    journal: &Journal,
    note: &Note,
    last: u64,
    moment: Moment,
    saved: &mut SavedWorld,
) -> Result<(), Problem> {
    let (mut from, mut bytes_read) = (note.sequence + 1, 0);
    let mut number = note.snapshot.batch_number;
    while from <= last {
        let through = last.min(from + PART - 1);
        for (sequence, frame) in journal.read(from, through).await? {
            let batch = match frame {
                Frame::Head(_) => continue,
                Frame::Snapshot(snapshot)
                    if (snapshot.batch_number, snapshot.step) != (number, saved.tick) =>
                {
                    return Ok(());
                }
                Frame::Snapshot(_) => continue,
                Frame::Batch(batch) => batch,
            };
            if (batch.number, batch.from_step) != (number + 1, saved.tick) {
                return Err(journal.damaged(sequence, &"the batch does not follow the preceding batch"));
            }
            (number, saved.tick) = (batch.number, batch.through_step);
            let Envelope { time_ms, bytes, .. } = open_envelope(journal, sequence, &batch)?;
            if !bytes.is_empty() {
                bytes_read += bytes.len();
                if bytes_read > FILE_BATCHES_BYTES_MAX {
                    let max = FILE_BATCHES_BYTES_MAX as u64;
                    return Err(Problem::TooLarge { what: "the journal", bytes: bytes_read as u64, max });
                }
                let changes = Batch::read(batch.from_step, batch.through_step, time_ms, &bytes);
                saved.batches.push(changes.map_err(|error| journal.damaged(sequence, &error))?);
            }
            let is_enough = match moment {
                Moment::Last => false,
                Moment::Tick(tick) => saved.tick >= tick,
                Moment::TimeMs(at_ms) => time_ms > at_ms,
            };
            if is_enough {
                return Ok(());
            }
        }
        from = through + 1;
    }
    Ok(())
}

/// Returns the account data of the newest snapshot and of the messages after it. The previous owner may
/// have ended before it wrote the data into its bucket.
pub(crate) async fn accounts_since_snapshot(
    journal: &Journal,
    buckets: &Buckets,
    world: &WorldName,
    note: Option<&Note>,
    last: u64,
) -> Result<Vec<SavedAccount>, Problem> {
    let Some(note) = note else { return Ok(Vec::new()) };
    let (mut from, mut found) = (note.sequence + 1, accounts_of_snapshot(buckets, world, note).await?);
    while from <= last {
        let through = last.min(from + PART - 1);
        for (sequence, frame) in journal.read(from, through).await? {
            if let Frame::Batch(batch) = frame {
                found.extend(open_envelope(journal, sequence, &batch)?.accounts);
            }
        }
        from = through + 1;
    }
    Ok(found)
}

async fn accounts_of_snapshot(
    buckets: &Buckets,
    world: &WorldName,
    note: &Note,
) -> Result<Vec<SavedAccount>, Problem> {
    if note.accounts == 0 {
        return Ok(Vec::new());
    }
    let damaged = |what: String| Problem::Damaged {
        place: format!("the data of accounts at the snapshot of step {}", note.snapshot.step),
        what,
    };
    let file = buckets.get(&accounts_name(world, &note.snapshot), 0).await?;
    let accounts = Envelope::from_bytes(&file).map_err(damaged)?.accounts;
    if accounts.len() as u64 != note.accounts {
        return Err(damaged(format!("it has {} accounts instead of {}", accounts.len(), note.accounts)));
    }
    Ok(accounts)
}

/// Returns the owners in a journal, in the order of their heads.
pub(crate) async fn owners(journal: &Journal) -> Result<Vec<(Epoch, ServerId)>, Problem> {
    let (first, last) = journal.bounds().await?;
    let (mut from, mut owners) = (first.max(1), Vec::new());
    while from <= last {
        let through = last.min(from + PART - 1);
        for (_, frame) in journal.read(from, through).await? {
            if let Frame::Head(head) = frame {
                owners.push((head.epoch, head.owner));
            }
        }
        from = through + 1;
    }
    Ok(owners)
}

/// Describes a world; `None` if it has no snapshot.
pub(crate) async fn summary(
    journal: &Journal,
    buckets: &Buckets,
    world: WorldName,
) -> Result<Option<Summary>, Problem> {
    let (_, last) = journal.bounds().await?;
    let notes = journal.snapshots().await?;
    let (Some(first), Some(newest)) = (notes.first(), notes.last()) else { return Ok(None) };
    let snapshot = read_snapshot(buckets, &world, newest).await?;
    // The batches before the first snapshot are purged.
    let later = notes.iter().skip(1);
    let mut summary = Summary {
        name: world,
        tick: newest.snapshot.step,
        created_ms: first.time_ms,
        changed_ms: newest.time_ms,
        origin: snapshot.origin,
        snapshots: notes.len() as u64,
        batches: later.clone().map(|note| note.since.1).sum(),
        bytes: later.map(|note| note.since.0).sum::<u64>()
            + notes.iter().map(|note| note.snapshot.bytes).sum::<u64>(),
        since_ms: first.time_ms,
    };
    for (sequence, frame) in journal.read(newest.sequence + 1, last).await? {
        if let Frame::Batch(batch) = frame {
            let envelope = open_envelope(journal, sequence, &batch)?;
            summary.bytes += envelope.bytes.len() as u64;
            summary.batches += u64::from(!envelope.bytes.is_empty());
            (summary.tick, summary.changed_ms) = (batch.through_step, envelope.time_ms);
        }
    }
    Ok(Some(summary))
}

/// A snapshot in the history of a world, with the bytes up to the next snapshot.
struct Part {
    sequence: u64,
    object: String,
    /// The object with the data of accounts, if there is one.
    accounts: Option<String>,
    time_ms: u64,
    bytes: u64,
}

/// A world and its snapshots, the oldest first.
pub(crate) struct History {
    journal: Journal,
    parts: Vec<Part>,
    /// Index of the first snapshot that stays.
    first: usize,
}

impl History {
    pub(crate) async fn read(journal: Journal, world: &WorldName) -> Result<History, Problem> {
        let mut parts: Vec<Part> = Vec::new();
        for note in journal.snapshots().await? {
            if let Some(before) = parts.last_mut() {
                before.bytes += note.since.0;
            }
            let object = object_name(world, &note.snapshot);
            parts.push(Part {
                sequence: note.sequence,
                object,
                accounts: (note.accounts > 0).then(|| accounts_name(world, &note.snapshot)),
                time_ms: note.time_ms,
                bytes: note.snapshot.bytes,
            });
        }
        Ok(History { journal, parts, first: 0 })
    }

    fn bytes(&self) -> u64 {
        self.parts[self.first..].iter().map(|part| part.bytes).sum()
    }
}

/// Decides which snapshots are kept: as many snapshots of the period as fit. The newest snapshot of each world is always kept.
pub(crate) fn choose(histories: &mut [History], retention: &Retention, now_ms: u64) {
    let keep_ms = u64::try_from(retention.keep.as_millis()).unwrap_or(u64::MAX);
    let cutoff_ms = now_ms.saturating_sub(keep_ms);
    for history in histories.iter_mut() {
        history.first = history.parts.iter().rposition(|part| part.time_ms <= cutoff_ms).unwrap_or(0);
    }
    let mut total: u64 = histories.iter().map(History::bytes).sum();
    while total > retention.bytes_max {
        let shrinkable = histories.iter_mut().filter(|history| history.first + 1 < history.parts.len());
        let Some(largest) = shrinkable.max_by_key(|history| history.bytes()) else { return };
        total -= largest.parts[largest.first].bytes;
        largest.first += 1;
    }
}

impl History {
    /// Removes everything before the first snapshot that stays, after it was read back. Returns the numbers of removed
    /// snapshots and messages.
    pub(crate) async fn purge(&self, buckets: &Buckets) -> Result<(u64, u64), Problem> {
        let Some(stays) = self.parts.get(self.first) else { return Ok((0, 0)) };
        let (begin, _) = self.journal.bounds().await?;
        if begin >= stays.sequence {
            return Ok((0, 0));
        }
        let file = buckets.get(&stays.object, 0).await?;
        let read = read_file(&file);
        read.map_err(|error| Problem::Damaged { place: stays.object.clone(), what: error.to_string() })?;
        let purged = self.journal.purge_before(stays.sequence).await?;
        for part in &self.parts[..self.first] {
            buckets.remove(&part.object).await?;
            if let Some(accounts) = &part.accounts {
                buckets.remove(accounts).await?;
            }
        }
        Ok((self.first as u64, purged - (self.first as u64).min(purged)))
    }
}
