//! Processes that are really killed while they write.
//!
//! Covered: SIGKILL at random moments of a process that steps a world in real time. What the kernel has is not lost with the
//! process, so nothing is learnt here about a power cut: that is `power.rs`.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use nowcast_store::{ActionId, Moment, Options, SqliteReader, SqliteStore, Store};
use nowcast_world::{Command, Input, PlayerId, Random};

use super::garden::{self, Story};
use super::{Folder, name, seeds};

const FOLDER: &str = "NOWCAST_STORE_CHILD_FOLDER";
const ACKED: &str = "NOWCAST_STORE_CHILD_ACKED";
/// Set by hand to learn what another interval loses.
const INTERVAL_MS: &str = "NOWCAST_STORE_INTERVAL_MS";

const CLIENT: [u8; 16] = [7; 16];
const ADA: PlayerId = PlayerId(1);

/// What a killed process had said before.
#[derive(Default)]
struct Said {
    /// Steps taken.
    tick: u64,
    /// The last durable action that was begun, and the last that was confirmed.
    tried: u64,
    acked: u64,
}

/// Runs one process on the folder, kills it so long after it is ready, and returns what it said.
fn run_and_kill(folder: &Path, acked: u64, after: Duration) -> Said {
    let mut child = Process::new(std::env::current_exe().expect("a test knows its own program"))
        .args(["--exact", "kill::the_process_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(ACKED, acked.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program can run itself");
    let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    while !line.contains("ready") {
        line.clear();
        assert!(
            output.read_line(&mut line).expect("it is text") > 0,
            "the process ended before it was ready"
        );
    }
    std::thread::sleep(after);
    child.kill().expect("it runs until then");
    child.wait().expect("it is ours");
    let mut text = String::new();
    output.read_to_string(&mut text).expect("it is text");
    let mut said = Said { acked, tried: acked, ..Said::default() };
    // The last line may be cut off.
    let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    for line in lines.lines() {
        match line.split_once(' ').and_then(|(what, number)| Some((what, number.parse().ok()?))) {
            Some(("tick", number)) => said.tick = number,
            Some(("tried", number)) => said.tried = number,
            Some(("acked", number)) => said.acked = number,
            _ => {}
        }
    }
    said
}

#[test]
fn the_process_that_writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut number: u64 = std::env::var(ACKED).expect("the parent says it").parse().expect("a number");
    let say = |line: String| drop(std::io::stdout().write_all(line.as_bytes()));
    let mut options = Options::default();
    if let Ok(interval_ms) = std::env::var(INTERVAL_MS) {
        options.commit_interval = Duration::from_millis(interval_ms.parse().expect("a number"));
    }
    let store = SqliteStore::open(Path::new(&folder), options).expect("nobody else has it");
    let mut story = match store.load(&name("plaza"), Moment::Last).expect("a kill damages nothing") {
        Some(saved) => Story::resume(&saved, 1),
        None => {
            let mut story = Story::new(&name("plaza"), 1);
            story.snapshot(&store);
            story
        }
    };
    if story.world.scene().player(ADA).is_none() {
        let join = Command::Join { player: ADA, name: "Ada".into() };
        story.recorder.apply(&mut story.world, join).expect("there is room");
    }
    say("\nready\n".to_owned());
    loop {
        let tick = story.world.tick();
        let input = Input::new(1.0, 0.0, tick as f32 * 0.1, false, false).expect("within bounds");
        let walk = Command::Input { player: ADA, input };
        story.recorder.apply(&mut story.world, walk).expect("there is room");
        if tick.is_multiple_of(4) {
            number += 1;
            say(format!("tried {number}\n"));
            let then = Box::new(move |outcome: Result<(), _>| {
                if outcome.is_ok() {
                    drop(std::io::stdout().write_all(format!("acked {number}\n").as_bytes()));
                }
            });
            let id = ActionId { client: CLIENT, number };
            let count = garden::action(ADA, "count");
            story.recorder.apply_once(&mut story.world, id, count, then).expect("there is room");
        }
        if tick % 120 == 60 || story.recorder.is_snapshot_due(&story.world, &store) {
            story.snapshot(&store);
        }
        story.world.step();
        while story.world.poll_event().is_some() {}
        story.recorder.flush(&story.world, &store, garden::BEGIN_MS + tick);
        say(format!("tick {}\n", story.world.tick()));
        std::thread::sleep(Duration::from_micros(1_000_000 / 60));
    }
}

#[test]
fn a_kill_loses_no_confirmed_action_and_doubles_none() {
    let folder = Folder::new("kill");
    let mut random = Random::new(23);
    let (mut acked, mut tried, mut losses) = (0, 0, Vec::new());
    let kills = seeds(8);
    for kill in 0..kills {
        let said = run_and_kill(folder.path(), acked, Duration::from_millis(random.bits() % 700));
        let reader = SqliteReader::open(folder.path()).expect("a kill damages nothing");
        let saved = reader.load(&name("plaza"), Moment::Last).expect("a kill damages nothing");
        let Some(saved) = saved else {
            assert_eq!(said.acked, 0, "kill {kill}: something was confirmed, and nothing is kept");
            continue;
        };
        let world = garden::replay(&saved);
        let (count, once) = (garden::count(&world, 1) as u64, saved.once());
        assert!(said.acked <= count, "kill {kill}: {} were confirmed, {count} are kept", said.acked);
        // What an earlier process tried may be kept without a word to anybody.
        tried = said.tried.max(tried);
        assert!(count <= tried, "kill {kill}: {tried} were tried, and {count} happened");
        for number in 1..=tried {
            let is_done = once.contains(ActionId { client: CLIENT, number });
            assert_eq!(is_done, number <= count, "kill {kill}: action {number}, {count} happened");
        }
        if said.tick > 0 {
            losses.push(said.tick.saturating_sub(saved.tick));
        }
        acked = said.acked;
    }
    let store = folder.open();
    let report = store.reader().unwrap().check(&name("plaza"), garden::restore).unwrap();
    assert_eq!(report.damage, Vec::<String>::new());
    losses.sort_unstable();
    let at = |share: usize| {
        losses.get(losses.len() * share / 100).or(losses.last()).copied().unwrap_or(0) * 1_000 / 60
    };
    println!(
        "{kills} kills, {acked} durable actions confirmed, none lost or doubled; movement lost: p50 {} ms, \
         p99 {} ms, at most {} ms",
        at(50),
        at(99),
        at(100)
    );
}
