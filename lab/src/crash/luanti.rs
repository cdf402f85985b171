//! Luanti's server (<https://www.luanti.org>), for comparison. An installed Luanti server is killed in the same way as our own.
//!
//! A mod counts in every step and prints each count. Luanti has two places for the durable data of a mod: the mod's own storage,
//! and the map (the metadata of a node). Each place is a separate SQLite database. The mod stores the count and the server's
//! clock in both places. A count that was printed before a kill and is missing afterwards is lost. There are no players, so
//! attributes of players are not tested.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nowcast_world::Random;

use super::{CrashError, Plan, TrialFolder};
use crate::report::Samples;

/// Names of the server's program in its releases.
const PROGRAMS: [&str; 4] =
    ["luantiserver", "minetestserver", "/usr/games/luantiserver", "/usr/games/minetestserver"];

/// Maximum time until the mod of a server counts.
const PATIENCE: Duration = Duration::from_secs(60);

/// By default Luanti saves a mod's data ten seconds after its start, and then every 5.3 s. Each run is longer than the first
/// interval, and ends at a random time within a later one.
const LIFE_MIN_MS: u64 = 12_000;
const LIFE_SPREAD_MS: u64 = 10_600;

/// Maximum number of kills. More kills would give no new information, and each takes a long time.
const KILLS_MAX: usize = 10;

const MOD: &str = r#"
local storage = minetest.get_mod_storage()
local place = { x = 8, y = 8, z = 8 }
minetest.register_node("counts:mark", { description = "a mark" })

local function begin()
    minetest.forceload_block(place, true)
    if minetest.get_node(place).name ~= "counts:mark" then
        minetest.set_node(place, { name = "counts:mark" })
    end
    local meta = minetest.get_meta(place)
    local stored, mapped = storage:get_int("count"), meta:get_int("count")
    local stored_ms, mapped_ms = storage:get_int("ms"), meta:get_int("ms")
    minetest.log("action", "nowcast found " .. table.concat({ stored, stored_ms, mapped, mapped_ms }, " "))
    local count, before_ms = math.max(stored, mapped), math.max(stored_ms, mapped_ms)
    local since = minetest.get_us_time()
    minetest.register_globalstep(function()
        count = count + 1
        local ms = before_ms + math.floor((minetest.get_us_time() - since) / 1000)
        for _, keeper in ipairs({ storage, minetest.get_meta(place) }) do
            keeper:set_int("count", count)
            keeper:set_int("ms", ms)
        end
        minetest.log("action", "nowcast count " .. count .. " " .. ms)
    end)
end

minetest.after(0, function()
    minetest.emerge_area(place, place, function(_, _, left)
        if left == 0 then
            begin()
        end
    end)
end)
"#;

/// The effects of kills on Luanti.
#[derive(Debug, Default)]
pub(super) struct Luanti {
    /// The version that the server printed.
    pub(super) version: String,
    /// Losses of the mod's storage.
    pub(super) storage: Lost,
    /// Losses of the map.
    pub(super) map: Lost,
    /// Differences between the two counts after a kill. While the server runs, both counts are the same.
    pub(super) torn: Samples,
    /// Times from the start of a process until its mod counted, in milliseconds.
    pub(super) started_ms: Samples,
}

/// Losses in one of the two places.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Loss of the mod's clock, in milliseconds.
    pub(super) lost_ms: Samples,
    /// Numbers of counts that were printed and not found after a kill.
    pub(super) counts_lost: Samples,
}

impl Lost {
    fn note(&mut self, said: Mark, found: Mark) {
        self.lost_ms.push(said.ms.saturating_sub(found.ms) as f64);
        self.counts_lost.push(said.count.saturating_sub(found.count) as f64);
    }
}

/// The progress of the mod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mark {
    count: u64,
    ms: u64,
}

/// A line that the mod printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Found { storage: Mark, map: Mark },
    Counted(Mark),
}

/// One run of a server.
struct Life {
    storage: Mark,
    map: Mark,
    /// The last count that was printed.
    last: Mark,
    /// Time from the start until the mod counted.
    started: Duration,
}

/// Kills the server repeatedly, if it is installed.
pub(super) fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Option<Luanti>, CrashError> {
    let Some((program, version)) = installed() else { return Ok(None) };
    let mut luanti = Luanti { version, ..Luanti::default() };
    let folder = TrialFolder::new("luanti").map_err(CrashError::Io)?;
    let world = make_world(&folder.path).map_err(CrashError::Io)?;
    let mut random = Random::new(plan.seed ^ 0x1ea7);
    let mut before: Option<Mark> = None;
    let kills = plan.kills.min(KILLS_MAX);
    for kill in 0..=kills {
        let length = Duration::from_millis(LIFE_MIN_MS + random.bits() % LIFE_SPREAD_MS);
        let life = live(program, &folder.path, &world, length)?;
        if let Some(said) = before.replace(life.last) {
            luanti.storage.note(said, life.storage);
            luanti.map.note(said, life.map);
            luanti.torn.push(life.storage.count.abs_diff(life.map.count) as f64);
            luanti.started_ms.push(life.started.as_secs_f64() * 1e3);
            progress(&format!("{kill} of {kills} kills of Luanti"));
        }
    }
    Ok(Some(luanti))
}

fn installed() -> Option<(&'static str, String)> {
    PROGRAMS.into_iter().find_map(|program| {
        let said = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&said.stdout).into_owned();
        Some((program, text.lines().next().unwrap_or(program).to_owned()))
    })
}

/// Makes a world that has only the mod, in an empty game.
fn make_world(folder: &Path) -> std::io::Result<std::path::PathBuf> {
    let game = folder.join("games/nothing");
    let mods = game.join("mods/counts");
    std::fs::create_dir_all(&mods)?;
    std::fs::write(game.join("game.conf"), "title = Nothing\n")?;
    std::fs::write(mods.join("mod.conf"), "name = counts\n")?;
    std::fs::write(mods.join("init.lua"), MOD)?;
    let world = folder.join("worlds/counts");
    std::fs::create_dir_all(&world)?;
    let settings = "gameid = nothing\nbackend = sqlite3\nmod_storage_backend = sqlite3\nplayer_backend = sqlite3\nauth_backend = sqlite3\n";
    std::fs::write(world.join("world.mt"), settings)?;
    std::fs::write(folder.join("luanti.conf"), "mg_name = singlenode\nserver_announce = false\n")?;
    Ok(world)
}

fn live(program: &str, user: &Path, world: &Path, length: Duration) -> Result<Life, CrashError> {
    let begun = Instant::now();
    let mut child = Command::new(program)
        .arg("--world")
        .arg(world)
        .arg("--config")
        .arg(user.join("luanti.conf"))
        .args(["--gameid", "nothing", "--port", "0"])
        .env("MINETEST_USER_PATH", user)
        .env("LUANTI_USER_PATH", user)
        .env("MINETEST_SUBGAME_PATH", user.join("games"))
        .env("MINETEST_GAME_PATH", user.join("games"))
        .env("LUANTI_GAME_PATH", user.join("games"))
        .env("HOME", user)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|cause| CrashError::Peer(format!("it does not start: {cause}")))?;
    let said = listen(&mut child);
    let outcome = observe(&said, begun, length);
    // A server that ended by itself cannot be killed. The missing output shows that the server ended.
    let _ = child.kill();
    child.wait().map_err(CrashError::Io)?;
    let mut life = outcome?;
    // The counts that the mod printed before the kill are still in the pipe.
    while let Ok(Said::Counted(mark)) = said.recv_timeout(PATIENCE) {
        life.last = mark;
    }
    Ok(life)
}

fn listen(child: &mut Child) -> Receiver<Said> {
    let (tell, told) = channel();
    let output = child.stderr.take().expect("the standard error is piped");
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(said) = parse(&line) {
                // After the trial the receiver is dropped.
                let _ = tell.send(said);
            }
        }
    });
    told
}

fn observe(said: &Receiver<Said>, begun: Instant, length: Duration) -> Result<Life, CrashError> {
    let silent = || CrashError::Peer("its mod does not count".to_owned());
    let next = || said.recv_timeout(PATIENCE).map_err(|_| silent());
    let Said::Found { storage, map } = next()? else { return Err(silent()) };
    let Said::Counted(last) = next()? else { return Err(silent()) };
    let mut life = Life { storage, map, last, started: begun.elapsed() };
    let end = Instant::now() + length;
    while Instant::now() < end {
        let Said::Counted(mark) = next()? else { return Err(silent()) };
        life.last = mark;
    }
    Ok(life)
}

/// Parses lines such as "…ACTION[Server]: nowcast found 7 120 6 100" or "…ACTION[Server]: nowcast count 8 170".
fn parse(line: &str) -> Option<Said> {
    let mut words = line.trim().split_once("]: nowcast ")?.1.split(' ');
    let what = words.next()?;
    let mut mark = || Some(Mark { count: words.next()?.parse().ok()?, ms: words.next()?.parse().ok()? });
    match what {
        "found" => Some(Said::Found { storage: mark()?, map: mark()? }),
        "count" => Some(Said::Counted(mark()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_counts_of_the_mod_are_read() {
        assert_eq!(
            parse("2026-11-23 12:30:06: ACTION[Main]: nowcast found 7 120 6 100"),
            Some(Said::Found { storage: Mark { count: 7, ms: 120 }, map: Mark { count: 6, ms: 100 } })
        );
        assert_eq!(
            parse("12:30:06: ACTION[Server]: nowcast count 8 170\n"),
            Some(Said::Counted(Mark { count: 8, ms: 170 }))
        );
        for other in ["", "nowcast", "ACTION[Main]: nowcast count 8", "ACTION[Main]: Ada: nowcast count 8 9"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_printed_count_that_is_not_found_is_lost() {
        let mut lost = Lost::default();
        lost.note(Mark { count: 90, ms: 4_500 }, Mark { count: 40, ms: 2_000 });
        lost.note(Mark { count: 90, ms: 4_500 }, Mark { count: 91, ms: 4_550 });
        assert_eq!(
            (lost.counts_lost.values(), lost.lost_ms.values()),
            (&[50.0, 0.0][..], &[2_500.0, 0.0][..])
        );
    }
}
