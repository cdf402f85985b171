//! The only thread that writes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_world::SavedData;
use rusqlite::{ErrorCode, OptionalExtension, Statement, Transaction, TransactionBehavior, params};

use crate::account::{ACCOUNTS_MAX, AccountRecord};
use crate::batch::{Batch, Span};
use crate::error::{Problem, StoreError};
use crate::fail_point::{FailPoint, pass};
use crate::name::WorldName;
use crate::snapshot::{Snapshot, write_file};
use crate::sqlite::pack::pack;
use crate::sqlite::prune::prune;
use crate::sqlite::queue::{Content, Job, Queue, Work};
use crate::sqlite::row::{Row, kind_number};
use crate::sqlite::schema::{Database, FolderLock};
use crate::store::{Continuity, MARKS_MAX, Mark};

/// Minimum and maximum pause before a retry.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(2);

/// Interval of checks whether removed or replaced files are back.
const GONE_PAUSE: Duration = Duration::from_millis(250);

/// Pages that are returned to the file system between two checks of the queue.
const PAGES_FREED: u32 = 1_024;

/// Writes the jobs of the queue, a group in one transaction, until the queue closes.
pub(super) struct Writer {
    pub(super) database: Database,
    pub(super) queue: Arc<Queue>,
    /// Released when the writer ends, even if that is late.
    pub(super) lock: FolderLock,
    pub(super) commit_interval: Duration,
    /// Whether the database may have unused pages to return to the file system.
    pub(super) has_unused_pages: bool,
}

/// The outcome of a job in a committed transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    /// The job does not fit the state of the database, so it can never be written.
    Lost,
}

impl Writer {
    /// Runs until the queue closes.
    pub(super) fn run(mut self) {
        let mut group = Vec::new();
        let mut not_before = Instant::now();
        let mut pause = PAUSE_MIN;
        loop {
            let goes_on = self.queue.take(&mut group, not_before);
            not_before = Instant::now() + self.commit_interval;
            if !group.is_empty() {
                match self.commit(&mut group) {
                    Ok(()) => pause = PAUSE_MIN,
                    Err(Problem::Gone(path)) => {
                        // Data that is written now would not be found by the next process.
                        self.queue.detach(path);
                        self.queue.lose(std::mem::take(&mut group));
                        self.wait_for_files();
                    }
                    Err(problem) => {
                        self.report(problem);
                        if goes_on {
                            self.queue.pause(pause);
                            pause = (pause * 2).min(PAUSE_MAX);
                        }
                    }
                }
            }
            if !goes_on {
                break;
            }
            self.return_pages();
        }
        self.queue.lose(group);
        let Writer { database, queue, lock, .. } = self;
        drop(database);
        drop(lock);
        queue.ended();
    }

    fn report(&self, problem: Problem) {
        let (cure, file) = (problem.cure(), self.lock.database());
        let cause = StoreError { file, world: None, problem };
        self.queue.fail(format!("{}: {}", cause.file.display(), cause.problem), cure);
    }

    /// Waits until the files are back, or the queue closes.
    fn wait_for_files(&self) {
        while self.queue.pause(GONE_PAUSE) {
            if self.lock.places().check().is_ok() {
                return self.queue.attach();
            }
        }
    }

    /// Writes a group as one transaction and empties the group. After an error, no job of the group is confirmed, and the
    /// group still has all jobs that can be tried again.
    fn commit(&mut self, group: &mut Vec<Job>) -> Result<(), Problem> {
        pack(group);
        pass(FailPoint::GroupTaken);
        let begun = Instant::now();
        let mut fates = Vec::with_capacity(group.len());
        let transaction =
            self.database.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // This process holds SQLite's lock for writing here. If another process replaced the file `lock`, that process waits
        // in `open` until this transaction ends. This process then writes nothing more.
        self.lock.places().check()?;
        if let Err(error) = write_all(&transaction, group, &mut fates) {
            drop(transaction);
            let is_of_the_job = group.get(fates.len()).is_some_and(|job| is_of_the_job(&job.work, &error));
            let problem = Problem::from(error);
            if is_of_the_job {
                // This job would fail in every retry, and the other jobs of the group would fail with it.
                let bad = group.remove(fates.len());
                bad.work.refuse(Problem::damaged("the database", &problem));
                self.queue.lose(vec![bad]);
            }
            return Err(problem);
        }
        pass(FailPoint::BeforeCommit);
        transaction.commit()?;
        pass(FailPoint::AfterCommit);
        // If the folder was removed in the meantime, the transaction is lost, too.
        self.lock.places().check()?;
        let has_freed = group.iter().any(|job| matches!(job.work, Work::Prune { .. } | Work::Remove { .. }));
        let (kept, lost): (Vec<_>, Vec<_>) =
            group.drain(..).zip(fates).partition(|(_, fate)| *fate == Fate::Kept);
        self.queue.keep(kept.into_iter().map(|(job, _)| job).collect(), begun.elapsed());
        self.queue.lose(lost.into_iter().map(|(job, _)| job).collect());
        pass(FailPoint::AfterConfirmations);
        if has_freed {
            pass(FailPoint::AfterPrune);
            self.has_unused_pages = true;
        }
        Ok(())
    }

    /// Returns unused pages to the file system. If no jobs wait, all free pages are returned. While jobs wait, one portion
    /// is returned after each transaction.
    fn return_pages(&mut self) {
        while self.has_unused_pages {
            // SQLite reuses pages that remain, so an error here loses nothing.
            self.has_unused_pages = self.return_some_pages().unwrap_or(false);
            if self.queue.has_work() {
                return;
            }
        }
    }

    /// Frees some unused pages. Returns whether more of them are left.
    fn return_some_pages(&self) -> rusqlite::Result<bool> {
        let connection = &self.database.connection;
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES_FREED})"))?;
        // Each step frees one page.
        let mut rows = statement.query([])?;
        while rows.next()?.is_some() {}
        let unused: i64 = connection.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        Ok(unused > 0)
    }
}

/// Whether an error is caused by the job and not by the disk. For batches and snapshots this is never assumed: damage that
/// prevents writing them is reported until it is repaired.
fn is_of_the_job(work: &Work, error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    let is_bad_value =
        matches!(code, Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch));
    let is_damage = matches!(code, Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
    is_bad_value || is_damage && !matches!(work, Work::Batch { .. } | Work::Snapshot { .. })
}

fn write_all(
    transaction: &Transaction<'_>,
    group: &mut [Job],
    fates: &mut Vec<Fate>,
) -> rusqlite::Result<()> {
    let mut tables = Tables::new(transaction)?;
    for job in group {
        if !fates.is_empty() {
            pass(FailPoint::BetweenRows);
        }
        let fate = match &mut job.work {
            Work::Batch { world, span, content: Content::Row(body), accounts } => {
                // The data of accounts is not behind the journal, even if the journal has a hole here.
                for record in accounts.iter() {
                    tables.account(record, span.time_ms)?;
                }
                tables.append(world, *span, body.as_deref())?
            }
            // `pack` has packed all batches.
            Work::Batch { content: Content::Given(_), .. } => Fate::Lost,
            Work::Snapshot { world, snapshot, file: Some(file), continuity, accounts } => {
                for record in accounts.iter() {
                    tables.account(record, snapshot.time_ms)?;
                }
                tables.snapshot(world, snapshot, file, *continuity)?;
                Fate::Kept
            }
            Work::Snapshot { file: None, .. } => Fate::Lost,
            Work::Mark { mark, now_ms, is_new, .. } => tables.mark(mark, *now_ms, is_new)?,
            Work::Unmark { kind, key } => {
                transaction.execute(
                    "DELETE FROM marks WHERE kind = ? AND key = ?",
                    params![kind_number(*kind), &*key],
                )?;
                Fate::Kept
            }
            Work::Prune { retention, now_ms, pruned, is_more, .. } => {
                (*pruned, *is_more) = prune(transaction, retention, *now_ms)?;
                Fate::Kept
            }
            Work::Import { world, aside, snapshot, batches, answer } => {
                match tables.import(world, aside.as_ref(), snapshot, batches)? {
                    Ok(()) => Fate::Kept,
                    Err(problem) => {
                        let _ = answer.try_send(Err(problem));
                        Fate::Lost
                    }
                }
            }
            Work::RemoveAccount { world, account, answer } => {
                let removed = transaction.execute(
                    "DELETE FROM accounts WHERE account = ?1 AND (?2 IS NULL OR world = ?2)",
                    params![&*account, &*world],
                )?;
                let _ = answer.try_send(Ok(removed as u64));
                Fate::Kept
            }
            Work::Remove { world, answer } => match tables.remove(world)? {
                Ok(()) => Fate::Kept,
                Err(problem) => {
                    let _ = answer.try_send(Err(problem));
                    Fate::Lost
                }
            },
        };
        fates.push(fate);
    }
    Ok(())
}

/// The prepared statements of one transaction.
struct Tables<'t> {
    transaction: &'t Transaction<'t>,
    find: Statement<'t>,
    append: Statement<'t>,
    advance: Statement<'t>,
    /// The number of marks, if it was counted already.
    marks: Option<u64>,
    /// The number of accounts, if it was counted already.
    accounts: Option<u64>,
}

/// A row of the table `worlds`.
struct Place {
    id: i64,
    tick: u64,
    number: i64,
}

impl<'t> Tables<'t> {
    fn new(transaction: &'t Transaction<'t>) -> rusqlite::Result<Tables<'t>> {
        Ok(Tables {
            transaction,
            find: transaction.prepare("SELECT id, tick, number FROM worlds WHERE name = ?")?,
            append: transaction.prepare("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)")?,
            advance: transaction
                .prepare("UPDATE worlds SET tick = ?, number = ?, changed_ms = ? WHERE id = ?")?,
            marks: None,
            accounts: None,
        })
    }

    fn find(&mut self, world: &WorldName) -> rusqlite::Result<Option<Place>> {
        let place = |row: &rusqlite::Row<'_>| {
            Ok(Place { id: row.get(0)?, tick: row.get::<_, i64>(1)?.max(0) as u64, number: row.get(2)? })
        };
        self.find.query_row([world.as_str()], place).optional()
    }

    fn advance(&mut self, id: i64, tick: u64, number: i64, time_ms: u64) -> rusqlite::Result<()> {
        self.advance.execute(params![tick as i64, number, time_ms as i64, id]).map(drop)
    }

    fn append(&mut self, world: &WorldName, span: Span, body: Option<&[u8]>) -> rusqlite::Result<Fate> {
        let Some(place) = self.find(world)?.filter(|place| place.tick == span.from_tick) else {
            return Ok(Fate::Lost);
        };
        let number = place.number + i64::from(body.is_some());
        if let Some(body) = body {
            self.insert(place.id, number, span, body)?;
        }
        self.advance(place.id, span.through_tick, number, span.time_ms)?;
        Ok(Fate::Kept)
    }

    fn insert(&mut self, world: i64, number: i64, span: Span, body: &[u8]) -> rusqlite::Result<()> {
        let row = Row { world, number, span, body };
        let Span { from_tick, through_tick, time_ms } = span;
        let (from, through, time) = (from_tick as i64, through_tick as i64, time_ms as i64);
        self.append.execute(params![world, number, from, through, time, row.checksum(), body]).map(drop)
    }

    fn snapshot(
        &mut self,
        world: &WorldName,
        snapshot: &Snapshot,
        file: &[u8],
        continuity: Continuity,
    ) -> rusqlite::Result<()> {
        let Snapshot { tick, time_ms, .. } = *snapshot;
        let (id, number) = match self.find(world)? {
            Some(place) => {
                // A skipped number marks a hole.
                let is_hole = continuity == Continuity::BeginsAnew || place.tick != tick;
                (place.id, place.number + i64::from(is_hole))
            }
            None => (self.make(world, time_ms)?, 0),
        };
        self.transaction.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
            params![id, number, tick as i64, time_ms as i64, file],
        )?;
        pass(FailPoint::SnapshotHalfWritten);
        self.advance(id, tick, number, time_ms)
    }

    fn make(&mut self, world: &WorldName, time_ms: u64) -> rusqlite::Result<i64> {
        self.transaction.execute(
            "INSERT INTO worlds (name, tick, number, created_ms, changed_ms) VALUES (?, 0, 0, ?, 0)",
            params![world.as_str(), time_ms as i64],
        )?;
        Ok(self.transaction.last_insert_rowid())
    }

    fn import(
        &mut self,
        world: &WorldName,
        aside: Option<&WorldName>,
        snapshot: &Snapshot,
        batches: &[Batch],
    ) -> rusqlite::Result<Result<(), Problem>> {
        let file = match write_file(world.as_str(), snapshot, &[]) {
            Ok(file) => file,
            Err(error) => return Ok(Err(Problem::damaged("the file", error))),
        };
        match (self.find(world)?, aside) {
            (None, _) => {}
            (Some(_), None) => return Ok(Err(Problem::Exists)),
            (Some(Place { id, .. }), Some(aside)) => {
                if self.find(aside)?.is_some() {
                    return Ok(Err(Problem::Exists));
                }
                let rename = "UPDATE worlds SET name = ? WHERE id = ?";
                self.transaction.execute(rename, params![aside.as_str(), id])?;
            }
        }
        self.snapshot(world, snapshot, &file, Continuity::BeginsAnew)?;
        let Some(Place { id, mut number, .. }) = self.find(world)? else { return Ok(Err(Problem::Missing)) };
        for batch in batches {
            number += 1;
            self.insert(id, number, batch.span(), &batch.to_bytes())?;
            self.advance(id, batch.through_tick, number, batch.time_ms)?;
        }
        Ok(Ok(()))
    }

    fn remove(&mut self, world: &WorldName) -> rusqlite::Result<Result<(), Problem>> {
        let Some(Place { id, .. }) = self.find(world)? else { return Ok(Err(Problem::Missing)) };
        for table in ["journal", "snapshots"] {
            self.transaction.execute(&format!("DELETE FROM {table} WHERE world = ?"), [id])?;
        }
        self.transaction.execute("DELETE FROM worlds WHERE id = ?", [id])?;
        Ok(Ok(()))
    }

    /// Stores the data of an account. Beyond the maximum number of accounts it is dropped.
    fn account(&mut self, record: &AccountRecord, time_ms: u64) -> rusqlite::Result<()> {
        let AccountRecord { world, account: name, saved: SavedData { version, revision, .. } } = record;
        let body = record.value_bytes();
        let (version, revision, time_ms) = (i64::from(*version), *revision as i64, time_ms as i64);
        let changed = self.transaction.execute(
            "UPDATE accounts SET version = ?, revision = ?, changed_ms = ?, body = ? \
             WHERE world = ? AND account = ?",
            params![version, revision, time_ms, body, world, name],
        )?;
        if changed > 0 {
            return Ok(());
        }
        let count = match self.accounts {
            Some(count) => count,
            None => {
                self.transaction.query_row("SELECT count(*) FROM accounts", [], |row| row.get::<_, i64>(0))?
                    as u64
            }
        };
        if count >= ACCOUNTS_MAX {
            return Ok(());
        }
        self.transaction.execute(
            "INSERT INTO accounts VALUES (?, ?, ?, ?, ?, ?)",
            params![world, name, version, revision, time_ms, body],
        )?;
        self.accounts = Some(count + 1);
        Ok(())
    }

    fn mark(&mut self, mark: &Mark, now_ms: u64, is_new: &mut bool) -> rusqlite::Result<Fate> {
        let kind = kind_number(mark.kind);
        let holds = "SELECT 1 FROM marks WHERE kind = ? AND key = ? AND expires_ms > ?";
        let known: Option<i64> = self
            .transaction
            .query_row(holds, params![kind, mark.key, now_ms as i64], |row| row.get(0))
            .optional()?;
        *is_new = known.is_none();
        if *is_new {
            let count = match self.marks {
                Some(count) => count,
                None => self
                    .transaction
                    .query_row("SELECT count(*) FROM marks", [], |row| row.get::<_, i64>(0))?
                    as u64,
            };
            if count >= MARKS_MAX {
                return Ok(Fate::Lost);
            }
            self.marks = Some(count + 1);
        }
        self.transaction.execute(
            "INSERT OR REPLACE INTO marks VALUES (?, ?, ?, ?)",
            params![kind, mark.key, mark.note, mark.expires_ms as i64],
        )?;
        Ok(Fate::Kept)
    }
}
