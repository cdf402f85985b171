//! Runs `nowcast serve` with worlds of hostile authors. The server reports the rooms that it ends, uses little memory, and ends
//! on request.
//!
//! `cargo test --workspace --test program -- --nocapture hostile_worlds` prints the figures.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::Read as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nowcast_server::figures::Figures;
use rustix::process::Signal;

use crate::own;
use crate::serve::{end, get, join, port_of, upgrade};

/// Maximum wait for a condition, on a machine that is busy with other work.
const PATIENCE: Duration = Duration::from_secs(240);

/// Maximum time for the program to end after a request, even while its scripts run. On an idle machine it takes 3 s. A program that
/// waited for such a script would never end.
const SHUTDOWN_MAX: Duration = Duration::from_secs(30);

/// Maximum memory of the process with a hostile world, in kilobytes.
const MEMORY_KB_MAX: u64 = 300_000;

/// Work that no budget counts and that no interrupt can stop soon.
const HANG: &str = "local a, b = ('x'):rep(4e6) .. 'a', ('x'):rep(4e6) .. 'b'
    while true do local _ = a < b end";

/// A server with a hostile world in one folder, and with a quiet world. The test removes both folders.
struct Server {
    child: Child,
    port: u16,
    folder: PathBuf,
}

impl Server {
    /// Starts a server with these rules for the world `hostile`.
    fn start(name: &str, rules: &str, arguments: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("nowcast-hostile-{name}-{}", std::process::id()));
        for (world, rules) in [("hostile", rules), ("quiet", QUIET)] {
            fs::create_dir_all(folder.join(world)).expect("the temporary folder can be written");
            fs::write(folder.join(world).join("world.luau"), rules).expect("the file can be written");
        }
        Self::again(folder, arguments)
    }

    /// Starts a server with the worlds in an existing folder.
    fn again(folder: PathBuf, arguments: &[&str]) -> Self {
        let mut child = Self::spawn(&folder, arguments);
        let port = port_of(&mut child);
        Self { child, port, folder }
    }

    fn spawn(folder: &std::path::Path, arguments: &[&str]) -> Child {
        let mut command = own::program();
        command.args(["serve", "--port", "0"]).args(["hostile", "quiet"].map(|world| folder.join(world)));
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().expect("the program starts")
    }

    fn figures(&self) -> Figures {
        Figures::parse(&get(self.port, "/metrics"))
    }

    /// Waits until a page of the server has this text.
    fn until_page(&self, path: &str, text: &str) {
        until(&format!("{text:?} on {path}"), || get(self.port, path).contains(text));
    }

    /// Requests the end of the program. Returns the time that it took.
    fn terminate(&mut self) -> Duration {
        let begun = Instant::now();
        assert_eq!(end(&mut self.child, Signal::TERM), Some(0));
        begun.elapsed()
    }

    /// Returns a figure of `/proc/PID/status`, in kilobytes.
    fn memory_kb(&self, name: &str) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.child.id())).expect("the process runs");
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux reports the value");
        let digits = line.trim_start_matches(':').trim().trim_end_matches("kB").trim();
        digits.parse().expect("the value is a number")
    }

    /// Waits until a thread of the server has computed for a while.
    fn until_thread_is_busy(&self, name: &str) {
        busy(self.child.id(), name);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A world with a moving entity.
const QUIET: &str = "local world = require('@nowcast/world')
    local Ball = world.kind('ball', { body = { shape = 'sphere', radius = 0.5 } })
    world.on('start', function()
        for n = 1, 20 do Ball:spawn { at = vector.create(2 * n, 50, 0) } end
    end)";

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "{what} does not appear");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until a thread of a process has computed for 300 ms. An idle room or loader needs much less.
fn busy(pid: u32, name: &str) {
    until(&format!("a busy thread {name:?}"), || {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
        threads.flatten().any(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            let Some((head, rest)) = stat.rsplit_once(')') else { return false };
            // User and system time, in ticks of 10 ms.
            let ticks =
                rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok());
            head.ends_with(&format!("({name}")) && ticks.sum::<u64>() >= 30
        })
    });
}

/// Reads what the server sends until the connection ends. The server closes clients that do not read.
fn read_on(mut stream: TcpStream) -> JoinHandle<()> {
    std::thread::spawn(move || while stream.read(&mut [0; 4_096]).is_ok_and(|length| length > 0) {})
}

fn hang_on_join() -> String {
    format!("local world = require('@nowcast/world')\nworld.on('join', function()\n{HANG}\nend)")
}

#[test]
fn a_room_with_a_hanging_step_is_named_by_healthz_and_counted_by_metrics() {
    let server = Server::start("healthz", &hang_on_join(), &["--no-data", "--step-timeout", "1"]);
    let _client = upgrade(server.port, "hostile");
    server.until_page("/healthz", "ok, but room hostile was ended: a step of its world took too long");
    server.until_page("/metrics", "nowcast_rooms_ended_total{reason=\"stopped\"} 1");
    let _other = join(server.port, "quiet");
}

#[test]
fn server_in_a_step_that_hangs_ends_on_request() {
    let mut server = Server::start("step", &hang_on_join(), &["--no-data"]);
    let _client = upgrade(server.port, "hostile");
    server.until_thread_is_busy("room hostile");
    let took = server.terminate();
    assert!(took < SHUTDOWN_MAX, "{took:?}");
}

#[test]
fn server_with_a_new_version_that_hangs_while_it_loads_answers_and_ends_on_request() {
    let mut server = Server::start("reload", QUIET, &["--no-data"]);
    let _client = join(server.port, "hostile");
    fs::write(server.folder.join("hostile/world.luau"), HANG).expect("the file can be written");
    server.until_thread_is_busy("world load");
    assert!(get(server.port, "/api/worlds").starts_with("HTTP/1.1 200"));
    let took = server.terminate();
    assert!(took < SHUTDOWN_MAX, "{took:?}");
}

#[test]
fn a_server_whose_world_hangs_at_the_start_ends_on_request() {
    let folder = std::env::temp_dir().join(format!("nowcast-hostile-begin-{}", std::process::id()));
    for (world, rules) in [("hostile", HANG), ("quiet", QUIET)] {
        fs::create_dir_all(folder.join(world)).expect("the temporary folder can be written");
        fs::write(folder.join(world).join("world.luau"), rules).expect("the file can be written");
    }
    let mut server = Server { child: Server::spawn(&folder, &["--no-data"]), port: 0, folder };
    server.until_thread_is_busy("world load");
    let took = server.terminate();
    assert!(took < SHUTDOWN_MAX, "{took:?}");
}

/// Rules that count joins, and hang when the second player joins.
const COUNTING: &str = "local world = require('@nowcast/world')
    world.state { joins = 0 }
    local Mark = world.kind('mark', { body = { motion = 'fixed', shape = 'sphere', radius = 0.5 } })
    world.on('join', function()
        world.state.joins += 1
        Mark:spawn { at = vector.zero }
        if world.state.joins == 2 then HANG end
    end)";

#[test]
fn journal_of_a_room_that_was_ended_has_every_step_before_the_one_that_hung() {
    let rules = COUNTING.replace("HANG", HANG);
    let folder = std::env::temp_dir().join(format!("nowcast-hostile-data-{}", std::process::id()));
    let data = folder.to_str().expect("the path is UTF-8");
    let mut server = Server::start("journal", &rules, &["--data", data, "--step-timeout", "1"]);
    let _first = join(server.port, "hostile");
    let _second = upgrade(server.port, "hostile");
    server.until_page("/healthz", "room hostile was ended");
    server.terminate();
    let world = |arguments: &[&str]| {
        let output = own::program()
            .args(["world", "--data", data])
            .args(arguments)
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("the output is UTF-8")
    };
    let checked = world(&["check", "hostile"]);
    assert!(checked.contains("0 faults"), "{checked}");
    let shown = world(&["show", "hostile"]);
    assert!(shown.contains("1 mark"), "the step of the second player was not recorded: {shown}");
    let _ = fs::remove_dir_all(&folder);
}

/// Worlds that once took gigabytes of memory. Each text is the body of a hook that runs in every step.
const GREEDY: [(&str, &str); 7] = [
    ("prints", "print(table.unpack(texts))"),
    ("state", "world.state.laughs = laughs"),
    ("show", "world.show('laughs', laughs)"),
    ("emit", "world.emit('laughs', laughs)"),
    ("look", "for _, mark in Mark:all() do mark.look = laughs end"),
    ("events", "for n = 1, 500 do world.emit('text', { text = long .. n }) end"),
    (
        "entities",
        "for n = 1, 500 do local mark = Mark:spawn { at = vector.zero } mark.private.text = long .. n end",
    ),
];

#[test]
#[allow(clippy::disallowed_macros, reason = "the test harness shows the figures of a test")]
fn with_hostile_worlds_the_process_stays_small_and_a_neighbouring_room_runs_on_time() {
    for (name, work) in GREEDY {
        let rules = format!(
            "local world = require('@nowcast/world')
            local Mark = world.kind('mark', {{ body = {{ motion = 'fixed', shape = 'sphere', radius = 0.5 }} }})
            world.state {{ laughs = 0 }}
            local texts, laughs, long = table.create(250, ('x'):rep(4e6)), {{}}, ('x'):rep(15000)
            for _ = 1, 15 do laughs = table.create(40, laughs) end
            world.on('start', function() Mark:spawn {{ at = vector.zero }} end)
            world.on('step', function() {work} end)"
        );
        let server = Server::start(name, &rules, &["--no-data"]);
        read_on(join(server.port, "quiet"));
        let ticks = |room: &str| server.figures().histogram("nowcast_room_tick_seconds", &[("room", room)]);
        let before = ticks("quiet");
        until("a second of the neighbour", || ticks("quiet").since(&before).count() >= 60.0);
        let alone = ticks("quiet").since(&before);
        let client = read_on(upgrade(server.port, "hostile"));
        let is_over = || {
            let figures = server.figures();
            let ended = ["stopped", "abandoned"].map(|reason| {
                figures.value("nowcast_rooms_ended_total", &[("reason", reason)]).unwrap_or_default()
            });
            ticks("hostile").count() >= 40.0 || ended.iter().sum::<f64>() > 0.0 || client.is_finished()
        };
        let before = ticks("quiet");
        until("forty steps of the hostile world, or its end", is_over);
        until("a step of the neighbour", || ticks("quiet").since(&before).count() > 0.0);
        let beside = ticks("quiet").since(&before);
        let peak_kb = server.memory_kb("VmHWM");
        let p99 = |ticks: &nowcast_server::figures::Buckets| ticks.quantile(0.99).unwrap_or_default() * 1e3;
        println!(
            "{name:>9}: {:>4} MB at most; the neighbour's tick p99 {:.2} ms alone, {:.2} ms beside it",
            peak_kb / 1_000,
            p99(&alone),
            p99(&beside),
        );
        assert!(peak_kb < MEMORY_KB_MAX, "{name}: {peak_kb} kB");
    }
}
