//! Reads a store, even while another process writes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use nowcast_world::World;
use nowcast_world::journal::ReplayError;
use rusqlite::{OptionalExtension, params};

use crate::batch::{Batch, Span, may_follow};
use crate::error::{Problem, StoreError};
use crate::name::WorldName;
use crate::saved::{Moment, ReturnError, SavedWorld, Stretch};
use crate::snapshot::{FILE_BATCHES_BYTES_MAX, HEAD_BYTES, Origin, Snapshot, read_file, read_origin};
use crate::sqlite::row::{Row, kind_number};
use crate::sqlite::schema::{self, Database};
use crate::store::{Mark, MarkKind, Summary};

/// Reads the store of a folder. Any number of processes may read it at once, even while one process writes.
pub struct SqliteReader {
    database: Database,
    folder: PathBuf,
}

/// The findings of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Snapshots that were read.
    pub snapshots: u64,
    /// Batches that were read.
    pub batches: u64,
    /// Steps that were replayed.
    pub ticks: u64,
    /// Known holes: times without history.
    pub holes: u64,
    /// The faults; empty in normal operation.
    pub damage: Vec<String>,
}

/// A row of the table of worlds.
struct Place {
    id: i64,
    tick: u64,
    number: i64,
}

impl SqliteReader {
    /// Opens a store for reading, without changing it.
    ///
    /// # Errors
    /// Fails if there is no store in the folder, or if it cannot be read or is of a newer version.
    pub fn open(folder: &Path) -> Result<SqliteReader, StoreError> {
        Ok(SqliteReader { database: schema::open_reader(folder)?, folder: folder.to_owned() })
    }

    /// Returns all worlds, by name.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn list(&self) -> Result<Vec<Summary>, StoreError> {
        self.list_worlds().map_err(|problem| self.failed(problem))
    }

    /// Returns a stored world; `None` if there is no such world, or if that moment is not stored.
    ///
    /// # Errors
    /// Fails if the database cannot be read, or if a record of the world is damaged.
    pub fn load(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, StoreError> {
        self.load_world(world, moment).map_err(|problem| self.failed(problem).of(world))
    }

    /// Returns a world at a moment with the later changes, for the given time or until the journal restarts. Returns `None`
    /// in the cases of [`SqliteReader::load`].
    ///
    /// # Errors
    /// Fails if the database cannot be read, or if a record of the world is damaged.
    pub fn load_stretch(
        &self,
        world: &WorldName,
        moment: Moment,
        next: Duration,
    ) -> Result<Option<Stretch>, StoreError> {
        self.load_stretch_of(world, moment, next).map_err(|problem| self.failed(problem).of(world))
    }

    /// Returns the first and the last time of a world's history, in milliseconds since 1970; `None` if there is no such
    /// world.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn span(&self, world: &WorldName) -> Result<Option<(u64, u64)>, StoreError> {
        let select = "SELECT (SELECT min(time_ms) FROM snapshots WHERE world = id), changed_ms FROM worlds WHERE name = ?";
        let times = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, Option<i64>>(0)?.map(unsigned), unsigned(row.get(1)?)))
        };
        let found = self.database.connection.query_row(select, [world.as_str()], times).optional();
        let found = found.map_err(|error| self.failed(error.into()).of(world))?;
        Ok(found.and_then(|(since_ms, changed_ms)| Some((since_ms?, changed_ms))))
    }

    /// Returns the time of the next snapshot after a time, in milliseconds since 1970.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn next_snapshot(&self, world: &WorldName, after_ms: u64) -> Result<Option<u64>, StoreError> {
        let select = "SELECT min(snapshots.time_ms) FROM snapshots JOIN worlds ON worlds.id = snapshots.world \
             WHERE worlds.name = ? AND snapshots.time_ms > ?";
        let after_ms = i64::try_from(after_ms).unwrap_or(i64::MAX);
        let time = |row: &rusqlite::Row<'_>| row.get::<_, Option<i64>>(0);
        let found = self.database.connection.query_row(select, params![world.as_str(), after_ms], time);
        Ok(found.map_err(|error| self.failed(error.into()).of(world))?.map(unsigned))
    }

    /// Returns the readable part of a damaged world: the newest undamaged snapshot, and the batches that follow it without a
    /// hole. [`SavedWorld::damage`] lists the parts that were left out.
    ///
    /// # Errors
    /// Fails if the database cannot be read at all.
    pub fn salvage(&self, world: &WorldName) -> Result<Option<SavedWorld>, StoreError> {
        self.salvage_world(world).map_err(|problem| self.failed(problem).of(world))
    }

    /// Returns a world at a moment as one save file: the snapshot before it and the journal since.
    ///
    /// # Errors
    /// Fails if no world has the name, if the moment is not stored, or if the database cannot be read.
    pub fn export(&self, world: &WorldName, moment: Moment) -> Result<Vec<u8>, StoreError> {
        let Some(saved) = self.load(world, moment)? else {
            return Err(self.failed(Problem::Missing).of(world));
        };
        saved.to_file().map_err(|error| self.failed(Problem::damaged("the world", error)).of(world))
    }

    /// Copies the current state of the whole store into a new file. The copy may take a long time, but does not block a
    /// writing process.
    ///
    /// # Errors
    /// Fails if the file is there already, or if it cannot be written.
    pub fn backup(&self, to: &Path) -> Result<(), StoreError> {
        self.copy_to(to).map_err(|problem| StoreError::new(to, problem))
    }

    /// Reads and replays all data of a world: every checksum, every hash, and the journal between two snapshots. `make`
    /// restores a world from a snapshot.
    ///
    /// # Errors
    /// Fails if no world has the name, or if the database cannot be read. Faults of the world are in the result.
    pub fn check<E: std::fmt::Display>(
        &self,
        world: &WorldName,
        mut make: impl FnMut(&Snapshot) -> Result<World, E>,
    ) -> Result<Report, StoreError> {
        let mut report = Report::default();
        self.check_world(world, &mut make, &mut report).map_err(|problem| self.failed(problem).of(world))?;
        Ok(report)
    }

    /// Lets SQLite check the database. Returns the faults that SQLite reports; none in normal operation.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn check_database(&self) -> Result<Vec<String>, StoreError> {
        let ask = || {
            let mut statement = self.database.connection.prepare("PRAGMA integrity_check(100)")?;
            let lines =
                statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect())
        };
        ask().map_err(|error: rusqlite::Error| self.failed(error.into()))
    }

    /// Returns the valid marks of a kind.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn marks(&self, kind: MarkKind, now_ms: u64) -> Result<Vec<Mark>, StoreError> {
        let ask = || {
            let select =
                "SELECT key, note, expires_ms FROM marks WHERE kind = ? AND expires_ms > ? ORDER BY key";
            let mut statement = self.database.connection.prepare(select)?;
            let marks = statement.query_map(params![kind_number(kind), now_ms as i64], |row| {
                let expires_ms = unsigned(row.get(2)?);
                Ok(Mark { kind, key: row.get(0)?, note: row.get(1)?, expires_ms })
            })?;
            marks.collect::<Result<Vec<_>, _>>()
        };
        ask().map_err(|error: rusqlite::Error| self.failed(error.into()))
    }

    pub(super) fn connection(&self) -> &rusqlite::Connection {
        &self.database.connection
    }

    pub(super) fn failed(&self, problem: Problem) -> StoreError {
        StoreError::new(&schema::database(&self.folder), problem)
    }

    fn find(&self, world: &WorldName) -> Result<Option<Place>, Problem> {
        let select = "SELECT id, tick, number FROM worlds WHERE name = ?";
        let place = |row: &rusqlite::Row<'_>| {
            Ok(Place { id: row.get(0)?, tick: unsigned(row.get(1)?), number: row.get(2)? })
        };
        Ok(self.database.connection.query_row(select, [world.as_str()], place).optional()?)
    }

    fn list_worlds(&self) -> Result<Vec<Summary>, Problem> {
        let select = "SELECT id, name, created_ms, changed_ms, tick FROM worlds ORDER BY name";
        let mut statement = self.database.connection.prepare(select)?;
        let rows = statement.query_map([], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, [row.get(2)?, row.get(3)?, row.get(4)?]))
        })?;
        let mut summaries = Vec::new();
        for row in rows {
            let (id, name, numbers) = row?;
            let [created_ms, changed_ms, tick] = numbers.map(unsigned);
            let name =
                WorldName::new(&name).map_err(|error| Problem::damaged("the table of worlds", error))?;
            let totals = |select: &str| -> Result<[u64; 3], Problem> {
                let three = |row: &rusqlite::Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?]);
                Ok(self.database.connection.query_row(select, [id], three)?.map(unsigned))
            };
            let [snapshots, file_bytes, since_ms] = totals(
                "SELECT count(*), coalesce(sum(length(file)), 0), coalesce(min(time_ms), 0) \
                 FROM snapshots WHERE world = ?",
            )?;
            let [batches, body_bytes, _] =
                totals("SELECT count(*), coalesce(sum(length(body)), 0), 0 FROM journal WHERE world = ?")?;
            summaries.push(Summary {
                name,
                tick,
                created_ms,
                changed_ms,
                origin: self.origin(id)?,
                snapshots,
                batches,
                bytes: file_bytes + body_bytes,
                since_ms,
            });
        }
        Ok(summaries)
    }

    /// Returns the origin of a world. For a damaged snapshot it returns none: loading it fails, but a list can still show
    /// the other values.
    fn origin(&self, id: i64) -> Result<Origin, Problem> {
        let select = "SELECT substr(file, 1, ?) FROM snapshots WHERE world = ? ORDER BY number DESC LIMIT 1";
        let beginning: Option<Vec<u8>> = self
            .database
            .connection
            .query_row(select, [HEAD_BYTES as i64, id], |row| row.get(0))
            .optional()?;
        Ok(beginning.and_then(|beginning| read_origin(&beginning).ok()).unwrap_or_default())
    }

    /// Returns the numbers of the snapshots, the newest first.
    fn numbers_of_snapshots(&self, id: i64) -> Result<Vec<i64>, Problem> {
        let select = "SELECT number FROM snapshots WHERE world = ? ORDER BY number DESC";
        let mut statement = self.database.connection.prepare(select)?;
        Ok(statement.query_map([id], |row| row.get(0))?.collect::<Result<Vec<_>, _>>()?)
    }

    fn load_world(&self, world: &WorldName, moment: Moment) -> Result<Option<SavedWorld>, Problem> {
        let saved = self.load_through(world, moment, moment)?;
        Ok(saved.map(|saved| saved.until(moment)))
    }

    fn load_stretch_of(
        &self,
        world: &WorldName,
        moment: Moment,
        next: Duration,
    ) -> Result<Option<Stretch>, Problem> {
        let through = moment.plus(next);
        let saved = self.load_through(world, moment, through)?;
        Ok(saved.map(|saved| Stretch::new(saved, moment, through)))
    }

    /// Loads the newest snapshot before a moment, and the batches until a later moment and a little beyond.
    fn load_through(
        &self,
        world: &WorldName,
        moment: Moment,
        through: Moment,
    ) -> Result<Option<SavedWorld>, Problem> {
        // The transaction reads one consistent state of the database, even during writes.
        let _picture = self.database.connection.unchecked_transaction()?;
        let Some(place) = self.find(world)? else { return Ok(None) };
        let (column, limit) = match moment {
            Moment::Last => ("number", u64::MAX),
            Moment::Tick(tick) => ("tick", tick),
            Moment::TimeMs(time_ms) => ("time_ms", time_ms),
        };
        let select = format!(
            "SELECT number FROM snapshots WHERE world = ? AND {column} <= ? ORDER BY number DESC LIMIT 1"
        );
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let number = self
            .database
            .connection
            .query_row(&select, params![place.id, limit], |row| row.get(0))
            .optional()?;
        let number: i64 = match (number, moment) {
            (Some(number), _) => number,
            (None, Moment::Last) => return Err(Problem::damaged("the world", "it has no snapshot")),
            (None, _) => return Ok(None),
        };
        let snapshot = self.read_snapshot(place.id, number)?;
        let mut saved = SavedWorld {
            name: world.clone(),
            tick: snapshot.tick,
            snapshot,
            batches: Vec::new(),
            damage: Vec::new(),
        };
        self.follow(&place, number, through, &mut saved)?;
        Ok(Some(saved))
    }

    /// Adds the batches after a snapshot, as far as the moment needs them, up to the first hole.
    fn follow(
        &self,
        place: &Place,
        snapshot: i64,
        moment: Moment,
        saved: &mut SavedWorld,
    ) -> Result<(), Problem> {
        let mut bytes = 0;
        let mut number = snapshot;
        while number < place.number {
            let (batch, length) = match self.read_batch(place.id, number + 1)? {
                Some(found) => found,
                None if self.has_snapshot(place.id, number + 1)? => return Ok(()),
                None => return Err(missing(number + 1)),
            };
            number += 1;
            bytes += length;
            if bytes > FILE_BATCHES_BYTES_MAX {
                let max = FILE_BATCHES_BYTES_MAX as u64;
                return Err(Problem::TooLarge { what: "the journal", bytes: bytes as u64, max });
            }
            let is_enough = match moment {
                Moment::Last => false,
                Moment::Tick(tick) => batch.through_tick >= tick,
                Moment::TimeMs(time_ms) => batch.time_ms > time_ms,
            };
            add(saved, batch, number)?;
            if is_enough {
                return Ok(());
            }
        }
        if !may_follow(saved.tick, place.tick) {
            return Err(Problem::damaged(
                "the table of worlds",
                "a world's tick lies before its journal's end, or too long after it",
            ));
        }
        // Time without changes is not recorded in a batch.
        saved.tick = place.tick;
        Ok(())
    }

    fn has_snapshot(&self, id: i64, number: i64) -> Result<bool, Problem> {
        let select = "SELECT 1 FROM snapshots WHERE world = ? AND number = ?";
        let found = self.database.connection.query_row(select, [id, number], |_| Ok(())).optional()?;
        Ok(found.is_some())
    }

    fn read_snapshot(&self, id: i64, number: i64) -> Result<Snapshot, Problem> {
        let place = format!("snapshot {number}");
        let select = "SELECT tick, time_ms, file FROM snapshots WHERE world = ? AND number = ?";
        let read = self.database.connection.query_row(select, [id, number], |row| {
            Ok((unsigned(row.get(0)?), unsigned(row.get(1)?), row.get::<_, Vec<u8>>(2)?))
        });
        let (tick, time_ms, file) = read?;
        let (_, snapshot, _) = read_file(&file).map_err(|error| Problem::damaged(&place, error))?;
        if (snapshot.tick, snapshot.time_ms) != (tick, time_ms) {
            return Err(Problem::damaged(place, "it is that of another tick"));
        }
        Ok(snapshot)
    }

    /// Reads a batch and the length of its bytes; `None` if the number is missing.
    fn read_batch(&self, id: i64, number: i64) -> Result<Option<(Batch, usize)>, Problem> {
        let select = "SELECT from_tick, through_tick, time_ms, checksum, body FROM journal WHERE world = ? AND number = ?";
        let read = self.database.connection.query_row(select, [id, number], |row| {
            let [from_tick, through_tick, time_ms] = [row.get(0)?, row.get(1)?, row.get(2)?].map(unsigned);
            let span = Span { from_tick, through_tick, time_ms };
            Ok((span, row.get::<_, i64>(3)?, row.get::<_, Vec<u8>>(4)?))
        });
        let Some((span, checksum, body)) = read.optional()? else { return Ok(None) };
        let place = || format!("batch {number}");
        if i64::from((Row { world: id, number, span, body: &body }).checksum()) != checksum {
            return Err(Problem::damaged(place(), "its checksum is wrong"));
        }
        let batch = Batch::from_bytes(span, &body).map_err(|error| Problem::damaged(place(), error))?;
        Ok(Some((batch, body.len())))
    }

    fn salvage_world(&self, world: &WorldName) -> Result<Option<SavedWorld>, Problem> {
        let Some(place) = self.find(world)? else { return Ok(None) };
        let mut damage = Vec::new();
        for number in self.numbers_of_snapshots(place.id)? {
            let snapshot = match self.read_snapshot(place.id, number) {
                Ok(snapshot) => snapshot,
                Err(problem) => {
                    damage.push(problem.to_string());
                    continue;
                }
            };
            let mut saved = SavedWorld {
                name: world.clone(),
                tick: snapshot.tick,
                snapshot,
                batches: Vec::new(),
                damage,
            };
            if let Err(problem) = self.follow(&place, number, Moment::Last, &mut saved) {
                saved.damage.push(problem.to_string());
            }
            return Ok(Some(saved));
        }
        Err(Problem::damaged("every snapshot", damage.join("; ")))
    }

    fn check_world<E: std::fmt::Display>(
        &self,
        world: &WorldName,
        make: &mut impl FnMut(&Snapshot) -> Result<World, E>,
        report: &mut Report,
    ) -> Result<(), Problem> {
        let place = self.find(world)?.ok_or(Problem::Missing)?;
        let mut numbers = self.numbers_of_snapshots(place.id)?;
        numbers.reverse();
        if numbers.is_empty() {
            report.damage.push("the world has no snapshot".to_owned());
        }
        for (index, number) in numbers.iter().copied().enumerate() {
            let snapshot = match self.read_snapshot(place.id, number) {
                Ok(snapshot) => snapshot,
                Err(problem) => {
                    report.damage.push(problem.to_string());
                    continue;
                }
            };
            report.snapshots += 1;
            let next = numbers.get(index + 1).copied();
            let through = Place { number: next.unwrap_or(place.number), ..place };
            let before = report.batches;
            if let Err(what) = self.check_stretch(&through, number, snapshot, next, make, report) {
                report.damage.push(format!("after snapshot {number}: {what}"));
            }
            if next.is_some_and(|next| report.batches - before < (next - number) as u64) {
                report.holes += 1;
            }
        }
        Ok(())
    }

    /// Replays from one snapshot to the next, or to the end of the journal.
    fn check_stretch<E: std::fmt::Display>(
        &self,
        through: &Place,
        number: i64,
        snapshot: Snapshot,
        next: Option<i64>,
        make: &mut impl FnMut(&Snapshot) -> Result<World, E>,
        report: &mut Report,
    ) -> Result<(), String> {
        let text = |problem: Problem| problem.to_string();
        let name = WorldName::new("check").map_err(|error| error.to_string())?;
        let mut saved =
            SavedWorld { name, tick: snapshot.tick, snapshot, batches: Vec::new(), damage: Vec::new() };
        let to = match next {
            Some(next) => Some(self.read_snapshot(through.id, next).map_err(text)?),
            None => None,
        };
        let place = Place { tick: to.as_ref().map_or(through.tick, |to| to.tick), ..*through };
        let followed = self.follow(&place, number, Moment::Last, &mut saved);
        report.batches += saved.batches.len() as u64;
        followed.map_err(text)?;
        let world = saved.replay(&mut *make).map_err(|error| match error {
            ReturnError::Restore { .. } | ReturnError::Replay(_) => error.to_string(),
        })?;
        report.ticks += saved.tick - saved.snapshot.tick;
        let is_whole = number + saved.batches.len() as i64 == through.number;
        match to {
            Some(to) if is_whole && world.hash() != to.hash => {
                Err(ReplayError::Diverged { tick: to.tick, expected: to.hash, found: world.hash() }
                    .to_string())
            }
            _ => Ok(()),
        }
    }

    fn copy_to(&self, to: &Path) -> Result<(), Problem> {
        if to.exists() {
            return Err(Problem::Exists);
        }
        let mut unfinished = to.as_os_str().to_owned();
        unfinished.push(".new");
        let unfinished = PathBuf::from(unfinished);
        let text = unfinished.to_str().ok_or_else(|| Problem::Disk("its name is not a text".to_owned()))?;
        if unfinished.exists() {
            std::fs::remove_file(&unfinished)?;
        }
        // `VACUUM INTO` accepts an empty file.
        schema::create_private(&unfinished)?;
        let copied =
            self.database.connection.execute("VACUUM INTO ?", [text]).map_err(Problem::from).and_then(|_| {
                schema::sync_file(&unfinished)?;
                std::fs::rename(&unfinished, to)?;
                let folder = to.parent().filter(|folder| !folder.as_os_str().is_empty());
                schema::sync_folder(folder.unwrap_or(Path::new(".")))
            });
        if copied.is_err() {
            // An unfinished copy is useless, so it is removed. If the removal fails, too, nothing more can be done.
            let _ = std::fs::remove_file(&unfinished);
        }
        copied
    }
}

fn add(saved: &mut SavedWorld, batch: Batch, number: i64) -> Result<(), Problem> {
    if !may_follow(saved.tick, batch.from_tick) {
        return Err(Problem::damaged(
            format!("batch {number}"),
            "it begins before the preceding batch ends, or too long after it",
        ));
    }
    saved.tick = batch.through_tick;
    saved.batches.push(batch);
    Ok(())
}

fn missing(number: i64) -> Problem {
    Problem::damaged(format!("batch {number}"), "it is missing")
}

/// Negative numbers are never written. A later check detects such damage.
fn unsigned(number: i64) -> u64 {
    number.max(0) as u64
}
