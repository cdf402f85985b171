//! Processes that are killed while they write.
//!
//! Covered: a process that steps a world in real time is killed by SIGKILL at random moments, and at each named step of its
//! writing. Data in the kernel survives the process, so these tests do not cover a power cut; `power.rs` does.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::time::Duration;

use nowcast_store::{ActionId, Moment, Options, Retention, SqliteReader, SqliteStore, Store};
use nowcast_world::{Command, Input, PlayerId, Random};

use super::garden::{self, Story};
use super::{Folder, name, seeds};

const FOLDER: &str = "NOWCAST_STORE_CHILD_FOLDER";
const ACKED: &str = "NOWCAST_STORE_CHILD_ACKED";
/// An environment variable that is set manually to measure the loss with another interval.
const INTERVAL_MS: &str = "NOWCAST_STORE_INTERVAL_MS";
/// The name of a step of writing at which the process ends, and the number of passes.
const FAIL_POINT: &str = "NOWCAST_FAIL_POINT";

const CLIENT: [u8; 16] = [7; 16];
const ADA: PlayerId = PlayerId(1);

/// The output of a killed process.
#[derive(Default)]
struct Said {
    /// Steps taken.
    tick: u64,
    /// The last durable action that was begun, and the last durable action that was confirmed.
    tried: u64,
    acked: u64,
}

/// The end of a process.
enum End {
    /// The process is killed this long after it is ready.
    After(Duration),
    /// The process kills itself at a step.
    #[cfg_attr(not(feature = "fail-points"), expect(dead_code, reason = "there are no steps"))]
    At(String),
}

/// Runs one process on the folder until the process ends, and returns its output.
fn run_and_kill(folder: &Path, acked: u64, end: &End) -> Said {
    let mut command = Process::new(std::env::current_exe().expect("a test knows its own program"));
    command
        .args(["--exact", "kill::the_process_that_writes_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(ACKED, acked.to_string())
        .stdout(Stdio::piped());
    if let End::At(step) = end {
        command.env(FAIL_POINT, step);
    }
    let mut child = command.spawn().expect("the program can run itself");
    let mut output = BufReader::new(child.stdout.take().expect("the output is piped"));
    if let End::After(after) = end {
        let mut line = String::new();
        while !line.contains("ready") {
            line.clear();
            assert!(
                output.read_line(&mut line).expect("the output is text") > 0,
                "the process ended before it was ready"
            );
        }
        std::thread::sleep(*after);
        child.kill().expect("the process still runs");
    }
    let mut text = String::new();
    output.read_to_string(&mut text).expect("the output is text");
    let status = child.wait().expect("the process is a child of this one");
    #[cfg(unix)]
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "{status}");
    let mut said = Said { acked, tried: acked, ..Said::default() };
    // The last line may be incomplete.
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
        let join = Command::join(ADA, "Ada");
        story.recorder.apply(&mut story.world, join).expect("the world accepts the command");
    }
    say("\nready\n".to_owned());
    let ends_at_step = std::env::var_os(FAIL_POINT).is_some();
    loop {
        let tick = story.world.tick();
        if ends_at_step && tick % 20 == 10 {
            story.snapshot(&store);
            // The time of a batch grows by a millisecond in each step.
            let retention = Retention { keep: Duration::from_millis(5), ..Retention::default() };
            store.prune(&retention, garden::BEGIN_MS + tick).expect("the disk works");
        }
        let input = Input::new(1.0, 0.0, tick as f32 * 0.1, false, false).expect("within bounds");
        let walk = Command::Input { player: ADA, input };
        story.recorder.apply(&mut story.world, walk).expect("the world accepts the command");
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
            story
                .recorder
                .apply_once(&mut story.world, id, count, then)
                .expect("the world accepts the command");
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

/// Compares the stored world with the output of a process, and returns the tick of the world, or `None` if nothing is
/// stored. Unconfirmed records of an earlier process may be stored.
fn examine(folder: &Folder, said: &Said, tried: u64, place: &str) -> Option<u64> {
    let reader = SqliteReader::open(folder.path()).expect("a kill damages nothing");
    let saved = reader.load(&name("plaza"), Moment::Last).expect("a kill damages nothing");
    let Some(saved) = saved else {
        assert_eq!(said.acked, 0, "{place}: something was confirmed, and nothing is kept");
        return None;
    };
    let world = garden::replay(&saved);
    let (count, once) = (garden::count(&world, 1) as u64, saved.once());
    assert!(said.acked <= count, "{place}: {} were confirmed, {count} are kept", said.acked);
    assert!(count <= tried, "{place}: {tried} were tried, and {count} happened");
    for number in 1..=tried {
        let is_done = once.contains(ActionId { client: CLIENT, number });
        assert_eq!(is_done, number <= count, "{place}: action {number}, {count} happened");
    }
    Some(saved.tick)
}

fn assert_undamaged(folder: &Folder) {
    let store = folder.open();
    let report = store.reader().unwrap().check(&name("plaza"), garden::restore).unwrap();
    assert_eq!(report.damage, Vec::<String>::new());
}

#[test]
fn a_kill_loses_no_confirmed_action_and_doubles_none() {
    let folder = Folder::new("kill");
    let mut random = Random::new(23);
    let (mut acked, mut tried, mut losses) = (0, 0, Vec::new());
    let kills = seeds(8);
    for kill in 0..kills {
        let end = End::After(Duration::from_millis(random.bits() % 700));
        let said = run_and_kill(folder.path(), acked, &end);
        tried = said.tried.max(tried);
        let Some(tick) = examine(&folder, &said, tried, &format!("kill {kill}")) else { continue };
        if said.tick > 0 {
            losses.push(said.tick.saturating_sub(tick));
        }
        acked = said.acked;
    }
    assert_undamaged(&folder);
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

#[cfg(feature = "fail-points")]
#[test]
fn a_kill_at_each_named_step_of_writing_loses_no_confirmed_action_and_doubles_none() {
    use nowcast_store::FailPoint;

    let mut random = Random::new(29);
    for point in FailPoint::ALL {
        let folder = Folder::new("step");
        let (mut acked, mut tried) = (0, 0);
        for round in 0..seeds(1).min(20) {
            // A database is created only in a folder without one.
            let passages = if point == FailPoint::DatabaseMade { 1 } else { 1 + random.bits() % 3 };
            let place = format!("{}:{passages}, round {round}", point.name());
            let end = match (point, round) {
                (FailPoint::DatabaseMade, 1..) => End::After(Duration::from_millis(100)),
                _ => End::At(format!("{}:{passages}", point.name())),
            };
            let said = run_and_kill(folder.path(), acked, &end);
            tried = said.tried.max(tried);
            if point == FailPoint::DatabaseMade && round == 0 {
                assert!(SqliteReader::open(folder.path()).is_err(), "it has no name yet");
                continue;
            }
            examine(&folder, &said, tried, &place);
            acked = said.acked;
        }
        // After a kill at any later moment, the next process continues from there.
        let said = run_and_kill(folder.path(), acked, &End::After(Duration::from_millis(300)));
        examine(&folder, &said, said.tried.max(tried), &format!("after {}", point.name()));
        assert_undamaged(&folder);
    }
}
