//! Reads the data of accounts.

use nowcast_world::SavedData;
use rusqlite::{OptionalExtension, Row, params};

use super::reader::SqliteReader;
use crate::account::AccountRecord;
use crate::error::{Problem, StoreError};

/// An entry in the list of accounts.
#[derive(Clone, PartialEq, Debug)]
pub struct AccountSummary {
    /// The world by its folder.
    pub world: String,
    /// The name of the account.
    pub account: String,
    /// The version of the data's format, as the rules declared it.
    pub version: u32,
    /// Number of changes so far.
    pub revision: u64,
    /// The time of the last change, in milliseconds since 1970.
    pub changed_ms: u64,
    /// Bytes of the stored data.
    pub bytes: u64,
}

impl SqliteReader {
    /// Returns the stored data of an account in a world; `None` if nothing is stored.
    ///
    /// # Errors
    /// Fails if the database cannot be read, or if the data is damaged.
    pub fn account(&self, world: &str, account: &str) -> Result<Option<SavedData>, StoreError> {
        let select = "SELECT version, revision, body FROM accounts WHERE world = ? AND account = ?";
        let read =
            |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, Vec<u8>>(2)?));
        let found = self.connection().query_row(select, params![world, account], read).optional();
        let Some((version, revision, body)) = found.map_err(|error| self.failed(error.into()))? else {
            return Ok(None);
        };
        let damaged = |what: String| {
            self.failed(Problem::damaged(
                "accounts",
                format!("the data of account {account} in world {world}: {what}"),
            ))
        };
        let value = AccountRecord::read_value(&body).map_err(&damaged)?;
        let version = u32::try_from(version).map_err(|_| damaged("its version is invalid".to_owned()))?;
        Ok(Some(SavedData { version, revision: revision.max(0) as u64, value }))
    }

    /// Returns the accounts with stored data in all worlds or in one, by world and name.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn accounts(&self, world: Option<&str>) -> Result<Vec<AccountSummary>, StoreError> {
        let read = || -> rusqlite::Result<Vec<AccountSummary>> {
            let mut statement = self.connection().prepare(
                "SELECT world, account, version, revision, changed_ms, length(body) FROM accounts \
                 WHERE ?1 IS NULL OR world = ?1 ORDER BY world, account",
            )?;
            let rows = statement.query_map([world], |row| {
                Ok(AccountSummary {
                    world: row.get(0)?,
                    account: row.get(1)?,
                    version: row.get::<_, i64>(2)?.clamp(0, u32::MAX.into()) as u32,
                    revision: row.get::<_, i64>(3)?.max(0) as u64,
                    changed_ms: row.get::<_, i64>(4)?.max(0) as u64,
                    bytes: row.get::<_, i64>(5)?.max(0) as u64,
                })
            })?;
            rows.collect()
        };
        read().map_err(|error| self.failed(error.into()))
    }
}
