//! Real processes are killed: at random moments under load, and at every named step of the protocol.
//!
//! A child process advertises a name, and writes or reads as fast as it can. This process at the other end kills the child and
//! checks the result. The long form is `NOWCAST_KILLS=10000 cargo test -p nowcast-shm --release --test death`.

#![cfg(target_os = "linux")]

use nowcast_queue::conformance::Random;
use nowcast_queue::conformance::laws::{self, Ended};
use nowcast_queue::{Bounds, Key, Put, Receiver, Refusal, Sender};
use nowcast_shm::{NameError, OpenError, ShmChannel, ShmSender, advertise, connect_until, steps};
use std::fs::File;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BOUNDS: Bounds = Bounds { entries_max: 24, bytes_max: 20_000 };
const SIGKILL: i32 = 9;

/// Returns how many writers die at random moments, and how many readers. Without a kill the tests would check nothing.
fn kills() -> u64 {
    let kills: NonZeroU64 = std::env::var("NOWCAST_KILLS")
        .map_or(const { NonZeroU64::new(40).unwrap() }, |kills| {
            kills.parse().expect("NOWCAST_KILLS is a number greater than 0")
        });
    kills.get()
}

#[test]
fn after_a_writer_is_killed_at_any_moment_all_its_messages_are_received() {
    let mut messages = 0;
    for seed in 1..=kills() {
        let mut writer = Peer::start("writer", &format!("random-writer-{seed}"), seed, None);
        messages += survive_writer(&mut writer, Some(Duration::from_micros(Random::new(seed).below(3_000))));
    }
    assert!(messages > 0, "no writer put a message before its death");
    println!("{} writers killed at random moments, seeds from 1; {messages} messages checked", kills());
}

#[test]
fn a_reader_killed_at_any_moment_neither_stops_nor_breaks_its_writer() {
    let mut messages = 0;
    for seed in 1..=kills() {
        let mut reader = Peer::start("reader", &format!("random-reader-{seed}"), seed, None);
        messages += survive_reader(&mut reader, Some(Duration::from_micros(Random::new(seed).below(3_000))));
    }
    assert!(messages > 0, "no message was put before a reader's death");
    println!("{} readers killed at random moments, seeds from 1; {messages} messages put", kills());
}

#[test]
fn a_process_killed_at_any_named_step_leaves_the_queue_readable() {
    for (index, step) in steps::STEPS.iter().enumerate() {
        for passes in [0, 1, 2, 50, 333] {
            let name = format!("step-{index}-{passes}");
            if step.starts_with("get") {
                survive_reader(&mut Peer::start("reader", &name, passes, Some((step, passes))), None);
            } else {
                survive_writer(&mut Peer::start("writer", &name, passes, Some((step, passes))), None);
            }
        }
    }
}

#[test]
fn a_stopped_reader_neither_blocks_its_writer_nor_loses_entries() {
    let mut reader = Peer::start("stopped reader", "stopped", 1, None);
    let mut channel = reader.connect();
    let mut value = Vec::new();
    channel.receiver.get(&mut value, soon()).expect("the reader says that it is about to stop");
    reader.stop();
    for sample in 0..100_000_u64 {
        channel.sender.try_put(Key::state(1), &sample.to_le_bytes()).expect("a known key always has room");
    }
    while channel.sender.try_put(Key::EVENT, b"event") == Ok(Put::Queued) {}
    assert_eq!(channel.sender.try_put(Key::EVENT, b"event"), Err(Refusal::Full));
    let deadline = Instant::now() + Duration::from_millis(20);
    assert_eq!(channel.sender.put(Key::EVENT, b"event", Some(deadline)), Err(Refusal::TimedOut));
    reader.signal(rustix::process::Signal::CONT);
    channel.receiver.get(&mut value, soon()).expect("the reader goes on");
    assert_eq!(value, 99_999_u64.to_le_bytes(), "the reader found the newest value first");
    reader.child.kill().expect("the child process runs");
}

/// A child process that the test will kill.
struct Peer {
    child: Child,
    name: String,
    progress: File,
    seed: u64,
}

impl Peer {
    fn start(role: &str, name: &str, seed: u64, death: Option<(&str, u64)>) -> Peer {
        let name = format!("death-{}-{name}", std::process::id());
        // The child writes the number of accepted puts into this file, so that the number is known after its death.
        let path = std::env::temp_dir().join(&name);
        let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let progress = open().expect("the temporary directory is writable");
        let mut command = Command::new(std::env::current_exe().expect("this test has a file"));
        command.args(["--exact", "child", "--ignored"]).stdout(Stdio::null());
        command.env("NOWCAST_ROLE", role).env("NOWCAST_NAME", &name).env("NOWCAST_PROGRESS", &path);
        command.env("NOWCAST_SEED", seed.to_string());
        if let Some((step, passes)) = death {
            command.env("NOWCAST_STEP", step).env("NOWCAST_PASSES", passes.to_string());
        }
        Peer { child: command.spawn().expect("this test can be run"), name, progress, seed }
    }

    fn connect(&mut self) -> ShmChannel {
        connect_until(&self.name, &[BOUNDS], soon().expect("a deadline"))
            .expect("the child advertises the name")
    }

    /// Stops the child. Returns once it has stopped.
    fn stop(&self) {
        self.signal(rustix::process::Signal::STOP);
        let pid = rustix::process::Pid::from_child(&self.child);
        let stopped = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::UNTRACED);
        assert!(stopped.is_ok_and(|status| status.is_some_and(|(_, status)| status.stopped())));
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("the child process runs");
    }

    fn accepted(&self) -> usize {
        let mut bytes = [0; 8];
        let read = self.progress.read_at(&mut bytes, 0).expect("the file is ours");
        if read == 8 { u64::from_le_bytes(bytes) as usize } else { 0 }
    }

    /// Checks that the child died as expected, and that its name is free.
    fn check_death(&mut self) {
        let status = self.child.wait().expect("the child process can be waited for");
        assert_eq!(
            status.signal(),
            Some(SIGKILL),
            "seed {}: the child failed by itself: {status}",
            self.seed
        );
        match advertise(&self.name, &[BOUNDS]) {
            Ok(listener) => drop(listener),
            Err(error) => panic!("seed {}: the name cannot be taken: {error}", self.seed),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(std::env::temp_dir().join(&self.name));
    }
}

/// Reads from a writer until it dies, and checks that all required messages arrived.
fn survive_writer(writer: &mut Peer, killed_after: Option<Duration>) -> usize {
    let mut channel = writer.connect();
    let mut stalls = Random::new(writer.seed);
    let (mut gets, mut value) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    let mut killed = false;
    let refusal = loop {
        if !killed && killed_after.is_some_and(|after| begin.elapsed() >= after) {
            writer.child.kill().expect("the child process runs");
            killed = true;
        }
        match channel.receiver.get(&mut value, Some(Instant::now() + Duration::from_millis(2))) {
            Ok(key) => gets.push((key, laws::put_of(&value).expect("no value is torn"))),
            Err(Refusal::TimedOut) => {
                assert!(begin.elapsed() < Duration::from_secs(20), "seed {}: a hang", writer.seed)
            }
            Err(refusal) => break refusal,
        }
        if stalls.percent(2) {
            std::thread::sleep(Duration::from_micros(stalls.below(300)));
        }
    };
    assert_eq!(refusal, Refusal::PeerDied, "seed {}", writer.seed);
    writer.check_death();
    // The writer may have died before it recorded its last put as accepted. So the reader may have seen one put more than the
    // record, but not two.
    let accepted = writer.accepted();
    let seen = gets.iter().map(|&(_, put)| put + 1).max().unwrap_or(0);
    assert!(seen <= accepted + 1, "seed {}: {seen} seen, {accepted} accepted", writer.seed);
    let mut script = PutScript::new(writer.seed);
    let puts: Vec<Key> = (0..accepted.max(seen)).map(|_| script.next().0).collect();
    if let Err(violation) = laws::check(&puts, &gets, Ended::Drained) {
        panic!("seed {}: {violation}, {accepted} accepted, {seen} seen", writer.seed);
    }
    gets.len()
}

/// Writes to a reader until it dies. The reader itself checks the messages that it gets.
fn survive_reader(reader: &mut Peer, killed_after: Option<Duration>) -> usize {
    let mut channel = reader.connect();
    let begin = Instant::now();
    let (mut killed, mut puts) = (false, 0);
    let mut script = PutScript::new(reader.seed);
    let refusal = loop {
        if !killed && killed_after.is_some_and(|after| begin.elapsed() >= after) {
            reader.child.kill().expect("the child process runs");
            killed = true;
        }
        let (key, bytes) = script.next();
        match channel.sender.put(key, &laws::value(puts, bytes), soon()) {
            Ok(_) => puts += 1,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refusal, Refusal::PeerDied, "seed {}", reader.seed);
    reader.check_death();
    puts
}

/// The puts of a seed. They are the same in both processes.
struct PutScript(Random);

impl PutScript {
    fn new(seed: u64) -> PutScript {
        PutScript(Random::new(seed.wrapping_mul(77)))
    }

    fn next(&mut self) -> (Key, usize) {
        let key = self.0.below(9);
        let large = self.0.percent(3);
        (Key::from_raw(key), self.0.below(if large { 3_000 } else { 100 }) as usize)
    }
}

fn soon() -> Option<Instant> {
    Some(Instant::now() + Duration::from_secs(20))
}

/// The process that the other tests start and kill. If it is run alone, it does nothing.
#[test]
#[ignore = "the other tests run this test in a separate process"]
fn child() {
    let Ok(role) = std::env::var("NOWCAST_ROLE") else { return };
    let variable = |name: &str| std::env::var(name).expect("the parent sets the variable");
    let seed: u64 = variable("NOWCAST_SEED").parse().expect("a number");
    let mut listener = advertise(&variable("NOWCAST_NAME"), &[BOUNDS]).expect("the name is fresh");
    let mut channel = listener.accept(soon()).expect("the parent connects");
    if let Ok(step) = std::env::var("NOWCAST_STEP") {
        steps::die_at(&step, variable("NOWCAST_PASSES").parse().expect("a number"));
    }
    let ended = match role.as_str() {
        "writer" => write_for_ever(&mut channel.sender, seed, &variable("NOWCAST_PROGRESS")),
        "reader" => read_for_ever(&mut channel),
        _ => stop_once(&mut channel),
    };
    panic!("the parent should have killed this process: {ended}");
}

fn write_for_ever(sender: &mut ShmSender, seed: u64, progress: &str) -> Refusal {
    let progress = File::options().write(true).open(progress).expect("the parent created the file");
    let mut script = PutScript::new(seed);
    for put in 0.. {
        let (key, bytes) = script.next();
        if let Err(refusal) = sender.put(key, &laws::value(put, bytes), soon()) {
            return refusal;
        }
        progress.write_all_at(&(put as u64 + 1).to_le_bytes(), 0).expect("the file is ours");
    }
    unreachable!("no test puts that often")
}

fn read_for_ever(channel: &mut ShmChannel) -> Refusal {
    let mut value = Vec::new();
    loop {
        match channel.receiver.get(&mut value, soon()) {
            Ok(_) => assert!(laws::put_of(&value).is_some(), "a torn value"),
            Err(refusal) => return refusal,
        }
    }
}

fn stop_once(channel: &mut ShmChannel) -> Refusal {
    channel.sender.put(Key::EVENT, b"stopping", soon()).expect("there is room");
    let mut value = Vec::new();
    // The parent stops this process before it puts, so the first value that this process finds is the newest.
    loop {
        match channel.receiver.get(&mut value, soon()) {
            Ok(_) => channel.sender.put(Key::EVENT, &value, soon()).map(drop).expect("there is room"),
            Err(refusal) => return refusal,
        }
    }
}

#[test]
fn a_name_is_refused_while_its_process_is_alive() {
    let name = format!("death-{}-twice", std::process::id());
    let listener = advertise(&name, &[BOUNDS]).expect("fresh");
    match advertise(&name, &[BOUNDS]) {
        Err(OpenError::Name(NameError::Taken { pid, .. })) => assert_eq!(pid, std::process::id()),
        other => panic!("{other:?}"),
    }
    drop(listener);
    advertise(&name, &[BOUNDS]).expect("free again");
}
