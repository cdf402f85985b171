//! The peer: Luanti's server (<https://www.luanti.org>), killed in the same way, where it is installed.
//!
//! A mod counts in every step, keeps the count and the server's clock in its storage, which is the place for what a mod wants to
//! last, and says both. What it said before a kill and does not find after it is lost. Nobody plays: the mod alone acts.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nowcast_world::Random;

use super::{CrashError, Plan, TrialFolder};
use crate::report::Samples;

/// What the server is called, by its releases.
const PROGRAMS: [&str; 4] =
    ["luantiserver", "minetestserver", "/usr/games/luantiserver", "/usr/games/minetestserver"];

/// How long a server may take until its mod counts.
const PATIENCE: Duration = Duration::from_secs(60);

/// Luanti saves what mods keep ten seconds after its start and every 5.3 s from then on, unless it is told otherwise: each life is
/// longer than the first, and ends anywhere within the others.
const LIFE_MIN_MS: u64 = 12_000;
const LIFE_SPREAD_MS: u64 = 10_600;

/// More lives would tell nothing else, and each of them takes so long.
const KILLS_MAX: usize = 10;

const MOD: &str = r#"
local storage = minetest.get_mod_storage()
local count = storage:get_int("count")
local since = minetest.get_us_time()
local before_ms = storage:get_int("ms")
minetest.log("action", "nowcast found " .. count .. " " .. before_ms)
minetest.register_globalstep(function()
    count = count + 1
    local ms = before_ms + math.floor((minetest.get_us_time() - since) / 1000)
    storage:set_int("count", count)
    storage:set_int("ms", ms)
    minetest.log("action", "nowcast count " .. count .. " " .. ms)
end)
"#;

/// What kills did to it.
#[derive(Debug, Default)]
pub(super) struct Luanti {
    /// Its own words for its version.
    pub(super) version: String,
    /// Time of the mod's clock that was lost, in milliseconds.
    pub(super) lost_ms: Samples,
    /// Counts that were said and not found.
    pub(super) counts_lost: Samples,
    /// From the start of a process until its mod counted, in milliseconds.
    pub(super) started_ms: Samples,
}

/// A line of the mod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    is_found: bool,
    count: u64,
    ms: u64,
}

/// Kills it, if it is installed.
pub(super) fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Option<Luanti>, CrashError> {
    let Some((program, version)) = installed() else { return Ok(None) };
    let mut luanti = Luanti { version, ..Luanti::default() };
    let folder = TrialFolder::new("luanti").map_err(CrashError::Io)?;
    let world = make_world(&folder.path).map_err(CrashError::Io)?;
    let mut random = Random::new(plan.seed ^ 0x1ea7);
    let mut before: Option<Said> = None;
    for kill in 0..=plan.kills.min(KILLS_MAX) {
        let life = Duration::from_millis(LIFE_MIN_MS + random.bits() % LIFE_SPREAD_MS);
        let (found, last, started) = live(program, &folder.path, &world, life)?;
        if let Some(before) = before {
            luanti.lost_ms.push(before.ms.saturating_sub(found.ms) as f64);
            luanti.counts_lost.push(before.count.saturating_sub(found.count) as f64);
            luanti.started_ms.push(started.as_secs_f64() * 1e3);
            progress(&format!("{kill} kills of Luanti"));
        }
        before = Some(last);
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

/// A world of nothing but the mod, in a game of nothing.
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

/// One life: what the mod found, what it said last, and how long it took to count.
fn live(
    program: &str,
    user: &Path,
    world: &Path,
    life: Duration,
) -> Result<(Said, Said, Duration), CrashError> {
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
    let outcome = observe(&said, begun, life);
    // One that has ended by itself cannot be killed, and is told by what it did not say.
    let _ = child.kill();
    child.wait().map_err(CrashError::Io)?;
    let (found, mut last, started) = outcome?;
    // What it said until the kill is still in the pipe.
    while let Ok(one) = said.recv_timeout(PATIENCE) {
        last = one;
    }
    Ok((found, last, started))
}

fn listen(child: &mut Child) -> Receiver<Said> {
    let (tell, told) = channel();
    let output = child.stderr.take().expect("it is piped");
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if let Some(said) = parse(&line) {
                // Nobody listens any more after the trial.
                let _ = tell.send(said);
            }
        }
    });
    told
}

fn observe(
    said: &Receiver<Said>,
    begun: Instant,
    life: Duration,
) -> Result<(Said, Said, Duration), CrashError> {
    let silent = || CrashError::Peer("its mod does not count".to_owned());
    let found = said.recv_timeout(PATIENCE).map_err(|_| silent())?;
    let mut last = said.recv_timeout(PATIENCE).map_err(|_| silent())?;
    let started = begun.elapsed();
    if !found.is_found || last.is_found {
        return Err(silent());
    }
    let end = Instant::now() + life;
    while Instant::now() < end {
        last = said.recv_timeout(PATIENCE).map_err(|_| silent())?;
    }
    Ok((found, last, started))
}

/// "…ACTION[Main]: nowcast found 7 120" or "…ACTION[Server]: nowcast count 8 170".
fn parse(line: &str) -> Option<Said> {
    let mut words = line.trim().split_once("]: nowcast ")?.1.split(' ');
    let is_found = match words.next()? {
        "found" => true,
        "count" => false,
        _ => return None,
    };
    Some(Said { is_found, count: words.next()?.parse().ok()?, ms: words.next()?.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_mod_says_is_read_and_all_else_is_not() {
        assert_eq!(
            parse("2026-11-23 12:30:06: ACTION[Main]: nowcast found 7 120"),
            Some(Said { is_found: true, count: 7, ms: 120 })
        );
        assert_eq!(
            parse("12:30:06: ACTION[Server]: nowcast count 8 170\n"),
            Some(Said { is_found: false, count: 8, ms: 170 })
        );
        for other in ["", "nowcast", "ACTION[Main]: nowcast count 8", "ACTION[Main]: Ada: nowcast count 8 9"]
        {
            assert_eq!(parse(other), None, "{other}");
        }
    }
}
