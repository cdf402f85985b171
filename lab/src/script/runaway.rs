//! One room runs scripts that never end. Meanwhile other rooms step as on a server: in one thread for each room, sixty times a
//! second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nowcast_script::{Limits, Live, Sources};
use nowcast_world::{Command, Input, PlayerId, STEP_HZ};

use super::{Plan, Result, ScriptError, football, milliseconds};
use crate::report::Samples;

/// Number of rooms of football that run at the same time as the room with the script.
pub(super) const ROOMS: usize = 4;
/// Number of players in each room.
pub(super) const PLAYERS: u32 = 10;
/// A step counts as lost if it begins this many periods late.
const LATE_PERIODS: u32 = 1;

/// The actions of the runaway scripts. Each is repeated in every step.
pub(super) const KINDS: [(&str, &str); 6] = [
    ("while true", "while true do end"),
    ("memory", "local kept = {} while true do kept[#kept + 1] = string.rep('x', 1000) .. #kept end"),
    ("patterns", "while true do string.find(string.rep('a', 1e5), '.-.-.-.-b') end"),
    ("coroutines", "local kept = {} while true do table.insert(kept, coroutine.create(print)) end"),
    ("deep calls", "local function deep() return 1 + deep() end while true do pcall(deep) end"),
    (
        "a million spawns",
        "for n = 1, 1e6 do Crate:spawn { at = vector.create(n % 128 * 2, n // 128 % 128 * 2, n // 16384) } end",
    ),
];

/// The effect of one script on the other rooms.
pub(super) struct Beside {
    pub(super) name: &'static str,
    /// Milliseconds of the steps of the other rooms, while the additional room runs football, too.
    pub(super) before: Samples,
    /// Milliseconds of the steps of the other rooms, while the runaway script runs.
    pub(super) during: Samples,
    /// Number of steps of the other rooms that began at least one period late, without and with the script.
    pub(super) late: [usize; 2],
    /// Number of steps of the additional room. The next field is the number of failures of its script.
    pub(super) steps: usize,
    pub(super) failed: u64,
}

/// Measures each script, alternately with a well-behaved room.
pub(super) fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Vec<Beside>> {
    let mut all: Vec<Beside> = KINDS.iter().map(|(name, _)| Beside::new(name)).collect();
    for round in 1..=plan.rounds {
        for (beside, (name, text)) in all.iter_mut().zip(KINDS) {
            progress(&format!("round {round} of {}: {name} next to {ROOMS} rooms", plan.rounds));
            let seed = plan.seed + round as u64;
            let (others, _) = rooms(plan, football(), seed)?;
            beside.before.merge(others.times);
            beside.late[0] += others.late;
            let (others, room) = rooms(plan, runaway(text), seed)?;
            beside.during.merge(others.times);
            beside.late[1] += others.late;
            beside.steps += room.times.len();
            beside.failed += room.failed;
        }
    }
    Ok(all)
}

impl Beside {
    fn new(name: &'static str) -> Beside {
        let (before, during) = (Samples::new(), Samples::new());
        Beside { name, before, during, late: [0; 2], steps: 0, failed: 0 }
    }
}

fn runaway(text: &str) -> Sources {
    Sources::of_main(&format!(
        "local world = require('@nowcast/world')
        local Crate = world.kind('crate', {{ body = {{ shape = 'box', size = vector.one }} }})
        world.on('step', function() {text} end)"
    ))
}

/// The results of one room, or of several together.
#[derive(Default)]
struct Stepped {
    times: Samples,
    late: usize,
    failed: u64,
}

/// Steps `ROOMS` rooms of football, and at the same time a room with `neighbour`. Returns the results of the rooms of football,
/// and of the other room.
fn rooms(plan: &Plan, neighbour: Sources, seed: u64) -> Result<(Stepped, Stepped)> {
    let is_over = Arc::new(AtomicBool::new(false));
    let room = |sources: Sources, seed: u64| {
        let is_over = Arc::clone(&is_over);
        thread::spawn(move || step_room(sources, seed, &is_over))
    };
    let neighbour = room(neighbour, seed);
    let others: Vec<_> = (0..ROOMS as u64).map(|index| room(football(), seed + 1 + index)).collect();
    thread::sleep(Duration::from_secs(plan.room_seconds));
    is_over.store(true, Ordering::Relaxed);
    let mut all = Stepped::default();
    for other in others {
        let stepped = joined(other)?;
        all.times.merge(stepped.times);
        all.late += stepped.late;
    }
    Ok((all, joined(neighbour)?))
}

fn joined(room: thread::JoinHandle<Result<Stepped>>) -> Result<Stepped> {
    let ended = |panic: Box<dyn std::any::Any + Send>| {
        ScriptError::Room(
            panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "the room panicked".into()),
        )
    };
    room.join().map_err(ended)?
}

fn step_room(sources: Sources, seed: u64, is_over: &AtomicBool) -> Result<Stepped> {
    let rules = |fault| ScriptError::Rules { of: "a room", fault };
    let mut live = Live::new(sources, seed, Limits::DEFAULT).map_err(rules)?;
    for player in 1..=PLAYERS {
        enter(&mut live, Command::join(PlayerId(player), format!("player {player}")))?;
    }
    let period = Duration::from_secs(1) / STEP_HZ;
    let mut stepped = Stepped::default();
    let mut due = Instant::now() + period;
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        run_about(&mut live)?;
        let begun = Instant::now();
        live.step();
        while live.poll_event().is_some() {}
        while live.poll_report().is_some() {}
        stepped.times.push(milliseconds(begun.elapsed()));
        due += period;
        // If the schedule is late, it starts again, as in a server.
        if Instant::now() > due + period * LATE_PERIODS {
            stepped.late += 1;
            due = Instant::now();
        }
    }
    stepped.failed = live.stats().faults;
    Ok(stepped)
}

fn enter(live: &mut Live, command: Command) -> Result<()> {
    let refused =
        |error: nowcast_world::ApplyError| ScriptError::Wrong { of: "a room", reason: error.to_string() };
    live.apply(command).map_err(refused)
}

/// Lets all players run in circles.
fn run_about(live: &mut Live) -> Result<()> {
    let tick = live.world().tick() as f32;
    for player in 1..=PLAYERS {
        let yaw = player as f32 + tick * 0.02;
        let input = Input::new(1.0, 0.0, yaw, true, false).expect("these are directions");
        enter(live, Command::Input { player: PlayerId(player), input })?;
    }
    Ok(())
}
