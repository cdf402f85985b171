//! `nowcast world players` lists, exports and deletes the data that worlds have saved for accounts.

use std::path::Path;

use anyhow::bail;
use nowcast_server::store::{Options, SqliteReader, SqliteStore, UtcTime};
use serde_json::{Map, Value as Json, json};

use crate::output::{self, printable};

/// The action, and the accounts.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Only accounts in this world, which the folder names
    #[arg(long, value_name = "WORLD")]
    world: Option<String>,
    /// Print all stored data of this account as JSON
    #[arg(long, value_name = "ACCOUNT", conflicts_with = "delete")]
    export: Option<String>,
    /// Delete all stored data of this account. No server may use the folder
    #[arg(long, value_name = "ACCOUNT")]
    delete: Option<String>,
}

pub(super) fn run(folder: &Path, args: Args) -> anyhow::Result<()> {
    let Args { world, export, delete } = args;
    let world = world.as_deref();
    match (export, delete) {
        (Some(account), _) => self::export(&SqliteReader::open(folder)?, world, &account),
        (None, Some(account)) => self::delete(folder, world, &account),
        (None, None) => list(&SqliteReader::open(folder)?, world),
    }
}

/// Lists the accounts: world, account, version of the form, number of changes, bytes, time of the last change.
fn list(reader: &SqliteReader, world: Option<&str>) -> anyhow::Result<()> {
    let accounts = reader.accounts(world)?;
    if accounts.is_empty() {
        output::note("no world has saved data of an account");
    }
    for it in accounts {
        let (world, account) = (printable(&it.world), printable(&it.account));
        let changed = UtcTime(it.changed_ms);
        output::line(format_args!(
            "{world}  {account}  version {}  {} changes  {} bytes  {changed}",
            it.version, it.revision, it.bytes
        ))?;
    }
    Ok(())
}

fn export(reader: &SqliteReader, world: Option<&str>, account: &str) -> anyhow::Result<()> {
    let mut worlds = Map::new();
    for it in reader.accounts(world)?.into_iter().filter(|it| it.account == account) {
        let Some(saved) = reader.account(&it.world, account)? else { continue };
        let data = json!({
            "version": saved.version,
            "changes": saved.revision,
            "changedMs": it.changed_ms,
            "data": serde_json::to_value(saved.value)?,
        });
        worlds.insert(it.world, data);
    }
    if worlds.is_empty() {
        bail!("no world has saved data of this account; `nowcast world players` lists all accounts");
    }
    let whole = json!({ "account": account, "worlds": Json::Object(worlds) });
    output::line(serde_json::to_string_pretty(&whole)?)?;
    Ok(())
}

fn delete(folder: &Path, world: Option<&str>, account: &str) -> anyhow::Result<()> {
    drop(SqliteReader::open(folder)?);
    let removed = SqliteStore::open(folder, Options::default())?.remove_account(world, account)?;
    if removed == 0 {
        bail!("no world has saved data of this account; `nowcast world players` lists all accounts");
    }
    output::line(format_args!("the saved data of {} was deleted in {removed} worlds", printable(account)))?;
    Ok(())
}
