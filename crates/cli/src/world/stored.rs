//! `nowcast world` manages the worlds that a server has stored.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Subcommand;
use nowcast_server::store::{
    At, Moment, Options, Retention, SqliteReader, SqliteStore, Store as _, Summary, WorldName, read_file,
};
use nowcast_server::{is_world_name, restore_kept};

use super::files::{read_world_file, write_new};
use super::past::{moment, now_ms};
use super::{accounts, bans, data, migrate, past, restore, salvage};
use crate::output::{self, printable};

/// Manage the worlds that a server has stored
///
/// `list`, `show`, `export`, `replay`, `backup`, `check`, `bans`, `players`, `migrate --plan` and `restore` without `--replace` work while a
/// server runs. `import`, `copy`, `migrate`, `restore`, `remove`, `prune`, `ban`, `unban` and `players --delete` require that no server uses the
/// folder. On the pages of a running server, editors can view history at `/r/NAME?at=-5m`, and enter `/ban` and `/unban` as lines
/// of chat.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The worlds' folder [default: this user's; `nowcast serve` prints the path]
    #[arg(long, global = true, value_name = "DIR")]
    data: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the worlds: name, time played, bytes, time of the last stored change
    List,
    /// Show a world's contents: the number of entities per kind, and the length of the history
    Show {
        /// The world's name, which is the room's name
        name: String,
        #[command(flatten)]
        at: AtArgs,
    },
    /// Write a world into one save file, which `nowcast save inspect` can read
    Export {
        /// The world's name
        name: String,
        /// The file to create, which must not exist
        file: PathBuf,
        #[command(flatten)]
        at: AtArgs,
    },
    /// Copy a world, in its current or an earlier state, to a new world, which a room with the new name then shows
    Copy {
        /// The world's name
        name: String,
        /// The new world's name, which no world may have yet
        new: String,
        #[command(flatten)]
        at: AtArgs,
    },
    /// Show an earlier state of a world in a browser, on this machine only. The world continues from that state, and nothing is
    /// stored
    Replay {
        /// The world's name
        name: String,
        #[command(flatten)]
        at: AtArgs,
        /// The port; 0 lets the system choose one
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
    /// Apply a folder's rules to a world, and print the changes. If the rules fail with this world, nothing is changed
    Migrate {
        /// Only print the changes
        #[arg(long)]
        plan: bool,
        /// A kind whose entities are to be removed; may be repeated
        #[arg(long = "lose", value_name = "KIND")]
        lost: Vec<String>,
        /// The world's name
        name: String,
        /// The folder with the rules
        dir: PathBuf,
    },
    /// Import a world from a save file, under a name that no world has yet
    Import {
        /// A file that `export` wrote
        file: PathBuf,
        /// The new world's name, and so the room's name [default: the earlier name]
        #[arg(long)]
        name: Option<String>,
    },
    /// Copy all worlds in their current state to one file
    Backup {
        /// The file to create, which must not exist. To use the copy, move the file into a separate folder as
        /// `worlds.db`
        file: PathBuf,
    },
    /// Restore a world from a file, or to an earlier state. Prints the differences, and changes nothing without --replace
    Restore {
        /// The world's name
        name: String,
        /// A file that `export`, or `check --salvage`, wrote
        #[arg(required_unless_present = "moment", conflicts_with = "moment")]
        file: Option<PathBuf>,
        #[command(flatten)]
        at: AtArgs,
        /// Replace the world. The current state and history are stored as NAME@STEP, a name that no room can have
        #[arg(long)]
        replace: bool,
    },
    /// Read and replay all stored data, and compare every checksum and hash
    Check {
        /// Check only this world
        name: Option<String>,
        /// Write the readable part of damaged worlds to save files, and print the losses; the store is not changed
        #[arg(long)]
        salvage: bool,
        /// The file to create for the one damaged world [default: NAME.salvaged.ncs in the current folder]
        #[arg(long, value_name = "FILE", requires = "salvage")]
        into: Option<PathBuf>,
    },
    /// Ban a client from a room, or from all rooms of a world
    Ban {
        #[command(flatten)]
        args: bans::Args,
    },
    /// Lift a ban
    Unban {
        /// The room or the world to which the ban applies
        place: String,
        /// The ban's name or id, which `bans` shows
        who: String,
    },
    /// List the bans: id, name, scope, criterion, end, reason
    Bans {
        /// List only the bans of this room or world
        place: Option<String>,
    },
    /// List the accounts for which worlds have saved data, or export or delete one account's data
    Players {
        #[command(flatten)]
        args: accounts::Args,
    },
    /// Delete worlds' history; their current state stays
    Prune {
        /// Hours of history to keep
        #[arg(long, default_value_t = 24)]
        keep_hours: u64,
        /// Maximum size of all worlds together, in megabytes. Above this size, the largest world's oldest history is
        /// deleted
        #[arg(long, default_value_t = Retention::default().bytes_max >> 20)]
        keep_mb: u64,
    },
    /// Delete a world with the whole history
    Remove {
        /// The world's name
        name: String,
    },
}

/// A time in the history of a world.
#[derive(clap::Args)]
struct AtArgs {
    /// The time in the history: an age, such as -5m (s, m, h or d), a time, such as 2026-11-23T10:00Z, or a number of steps
    /// [default: now]
    #[arg(long = "at", value_name = "MOMENT", allow_hyphen_values = true)]
    moment: Option<At>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<ExitCode> {
    let folder = data::folder(args.data)?;
    let reader = || SqliteReader::open(&folder);
    match args.command {
        Command::List => list(&reader()?)?,
        Command::Show { name, at } => show(&reader()?, &world_name(&name)?, moment(at.moment))?,
        Command::Copy { name, new, at } => {
            return past::copy(&folder, &world_name(&name)?, &world_name(&new)?, moment(at.moment));
        }
        Command::Replay { name, at, port } => {
            return past::replay(&folder, &world_name(&name)?, moment(at.moment), port);
        }
        Command::Migrate { plan, lost, name, dir } => {
            return migrate::run(&folder, &world_name(&name)?, &dir, &lost, plan);
        }
        Command::Export { name, file, at } => {
            let saved = past::load(&reader()?, &world_name(&name)?, moment(at.moment))?;
            let bytes = saved.to_file()?;
            write_new(&file, &bytes)?;
            output::line(format_args!("{} has {name}, {} bytes", file.display(), bytes.len()))?;
        }
        Command::Import { file, name } => import(&folder, &file, name)?,
        Command::Backup { file } => {
            reader()?.backup(&file)?;
            output::line(format_args!("{} has all worlds of {}", file.display(), folder.display()))?;
        }
        Command::Restore { name, file, at, replace } => {
            let world = world_name(&name)?;
            let to = match &file {
                Some(file) => restore::To::Saved(Box::new(restore::load_file(file, &world)?)),
                None => restore::To::Moment(moment(at.moment)),
            };
            return restore::run(&folder, &world, to, replace);
        }
        Command::Check { name, salvage, into } => {
            let reader = reader()?;
            let worlds = worlds(&reader, name)?;
            if salvage {
                return salvage::run(&reader, &worlds, into.as_deref());
            }
            return check(&reader, worlds);
        }
        Command::Ban { args } => bans::ban(&folder, args)?,
        Command::Unban { place, who } => bans::unban(&folder, &place, &who)?,
        Command::Bans { place } => bans::list(&reader()?, place.as_deref())?,
        Command::Players { args } => accounts::run(&folder, args)?,
        Command::Prune { keep_hours, keep_mb } => prune(&folder, keep_hours, keep_mb)?,
        Command::Remove { name } => {
            writer(&folder)?.remove(&world_name(&name)?)?;
            output::line(format_args!("{name} was removed"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn world_name(text: &str) -> anyhow::Result<WorldName> {
    Ok(WorldName::new(text)?)
}

/// Opens the existing store for changes. Does not create a store.
fn writer(folder: &Path) -> anyhow::Result<SqliteStore> {
    drop(SqliteReader::open(folder)?);
    Ok(SqliteStore::open(folder, Options::default())?)
}

fn list(reader: &SqliteReader) -> anyhow::Result<()> {
    let worlds = reader.list()?;
    if worlds.is_empty() {
        output::note("no world is stored yet");
    }
    for Summary { name, tick, bytes, changed_ms, .. } in worlds {
        let name = printable(name.as_str());
        let played = duration(tick / u64::from(nowcast_server::world::STEP_HZ));
        let ago = duration(now_ms().saturating_sub(changed_ms) / 1_000);
        output::line(format_args!("{name:<32}  played {played}  {bytes} bytes  changed {ago} ago"))?;
    }
    Ok(())
}

fn show(reader: &SqliteReader, name: &WorldName, moment: Moment) -> anyhow::Result<()> {
    let summary = reader.list()?.into_iter().find(|world| world.name == *name);
    let Some(summary) = summary else { bail!("there is no world {name}; `nowcast world list` lists them") };
    let saved = past::load(reader, name, moment)?;
    let Summary { tick, created_ms, changed_ms, origin, snapshots, batches, bytes, since_ms, .. } = summary;
    let ago = |time_ms: u64| duration(now_ms().saturating_sub(time_ms) / 1_000);
    output::line(format_args!(
        "{}\n  tick        {tick} (60 a second)\n  seed        {}\n  first kept  {} ago\n  last kept   {} ago\n  \
         looks back  {}\n  snapshots   {snapshots}\n  batches     {batches}\n  bytes       {bytes}\n  \
         rules       {}",
        printable(name.as_str()),
        origin.seed,
        ago(created_ms),
        ago(changed_ms),
        ago(since_ms),
        hex(&origin.sources[..8]),
    ))?;
    if moment != Moment::Last {
        output::line(format_args!("  as it was {}:", past::moment_text(&saved)))?;
    }
    match saved.replay_unchecked(restore_kept) {
        Err(cause) => {
            output::note(format_args!(
                "the content of the world cannot be shown: {}",
                printable(&cause.to_string())
            ));
        }
        Ok(world) => {
            let scene = world.scene();
            for (index, kind) in scene.definition().kinds.iter().enumerate() {
                let count = world.entities().kinds().iter().filter(|id| usize::from(id.0) == index).count();
                output::line(format_args!("  {count:>9} {}", printable(&kind.name)))?;
            }
        }
    }
    Ok(())
}

fn import(folder: &Path, file: &Path, name: Option<String>) -> anyhow::Result<()> {
    let bytes = read_world_file(file)?;
    let (own, ..) = read_file(&bytes).with_context(|| format!("{} is not a world", file.display()))?;
    let name = name.unwrap_or(own);
    // A world with an invalid name could never be shown.
    if !is_world_name(&name) {
        bail!(
            "{} is not a valid name of a room, so nothing was imported: a name is 1 to 32 of a-z, 0-9, - and _; give one with --name",
            printable(&name)
        );
    }
    let name = world_name(&name)?;
    SqliteStore::open(folder, Options::default())?.import(&name, &bytes)?;
    output::line(format_args!("{} is stored in {}", printable(name.as_str()), folder.display()))?;
    Ok(())
}

/// Returns the named world, or all worlds.
fn worlds(reader: &SqliteReader, name: Option<String>) -> anyhow::Result<Vec<WorldName>> {
    match name {
        Some(name) => Ok(vec![world_name(&name)?]),
        None => Ok(reader.list()?.into_iter().map(|world| world.name).collect()),
    }
}

fn check(reader: &SqliteReader, worlds: Vec<WorldName>) -> anyhow::Result<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    let mut tell = |what: &str, damage: &[String]| {
        for line in damage {
            code = ExitCode::FAILURE;
            output::note(format_args!("{}: {}", printable(what), printable(line)));
        }
    };
    tell("the database", &reader.check_database()?);
    for world in worlds {
        let report = reader.check(&world, restore_kept)?;
        tell(world.as_str(), &report.damage);
        output::line(format_args!(
            "{}: {} snapshots, {} batches, {} steps replayed, {} holes, {} faults",
            printable(world.as_str()),
            report.snapshots,
            report.batches,
            report.ticks,
            report.holes,
            report.damage.len()
        ))?;
    }
    Ok(code)
}

fn prune(folder: &Path, keep_hours: u64, keep_mb: u64) -> anyhow::Result<()> {
    let keep = Duration::from_secs(keep_hours.saturating_mul(3_600));
    let retention = Retention { keep, bytes_max: keep_mb.saturating_mul(1 << 20) };
    let pruned = writer(folder)?.prune(&retention, now_ms())?;
    output::line(format_args!("{} snapshots and {} batches were deleted", pruned.snapshots, pruned.batches))?;
    Ok(())
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_printed_in_one_unit() {
        for (seconds, said) in [(0, "0 s"), (59, "59 s"), (60, "1 min"), (7_200, "2 h"), (259_200, "3 days")]
        {
            assert_eq!(duration(seconds), said);
        }
    }
}
