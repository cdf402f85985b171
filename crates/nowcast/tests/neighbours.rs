//! Subscribers in other processes on this machine. Each has its own queue in shared memory. A subscriber that dies or is stopped
//! does not affect the others.
//!
//! The long forms are `cargo xtask conformance --carriers` and `NOWCAST_KILLS=10000 cargo test --release -p nowcast --test neighbours`.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, mpsc};
use std::task::{Context, Poll};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use nowcast::blocking::{self, wait};
use nowcast::session::CloseCode;
use nowcast::{
    Bounds, Channel, Error, Key, ListenConfig, Listener, MessageKind, PublicationBounds, Publisher,
};
use nowcast_queue::conformance::publishers::{Implementation, Publish, Suite, check};
use nowcast_queue::conformance::{Random, laws};
use nowcast_queue::{Receiver, Refusal};
use tokio::runtime::Runtime;

const DEADLINE: Duration = Duration::from_secs(60);
/// The environment variable of the process that subscribes. It holds the name.
const NAME: &str = "NOWCAST_NEIGHBOUR";
/// Length of the value of the event that ends a test. No other value has this length.
const END_BYTES: usize = 9;

fn number_in(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("the variable holds a number"))
}

/// The runtime of all stations' tasks. It lives as long as this process, because subscribers receive all messages after a
/// publisher is dropped.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("threads can be started"));

/// An endpoint that publishes under a name of this machine.
struct Station {
    publisher: Publisher,
    listener: Option<Listener>,
}

impl Drop for Station {
    fn drop(&mut self) {
        // If the endpoint were dropped too, all channels would end at once.
        let listener = self.listener.take();
        RUNTIME.spawn(async move {
            tokio::time::sleep(DEADLINE).await;
            drop(listener);
        });
    }
}

impl Station {
    fn open(bounds: PublicationBounds) -> Station {
        static STATIONS: AtomicU64 = AtomicU64::new(0);
        let name = format!("neighbours-{}-{}", std::process::id(), STATIONS.fetch_add(1, Ordering::Relaxed));
        RUNTIME.block_on(async {
            let mut config = ListenConfig::on([[127, 0, 0, 1].into()], 0);
            (config.webtransport, config.name_server) = (false, None);
            let listener = Listener::bind(config).await.expect("loopback has free ports");
            let publisher = listener.publish_with(&name, bounds).await.expect("the name is free");
            Station { publisher, listener: Some(listener) }
        })
    }

    fn until(&self, what: &str, holds: impl Fn(&Publisher) -> bool) {
        let begin = Instant::now();
        while !holds(&self.publisher) {
            assert!(begin.elapsed() < DEADLINE, "never: {what}; {:?}", self.publisher.counters());
            sleep(Duration::from_millis(1));
        }
    }
}

/// The publisher for the suite. A task copies its messages to the subscribers. Therefore only those cases apply in which each
/// subscriber reads in its own thread.
struct SharedMemory;

impl Implementation for SharedMemory {
    type Publisher = Station;
    const NAME: &'static str = "publisher to tasks of this machine";

    fn publisher(&self, bounds: PublicationBounds) -> Station {
        Station::open(bounds)
    }
}

impl Publish for Station {
    type Subscriber = Neighbour;

    fn put(&mut self, key: Key, value: &[u8]) -> Result<(), Refusal> {
        let put = if key.is_event() { self.publisher.event(value) } else { self.publisher.state(key, value) };
        put.map_err(refusal)
    }

    fn subscribe(&mut self) -> Neighbour {
        let before = self.publisher.subscribers();
        let channel = wait(nowcast::connect(self.publisher.name())).expect("the name is known");
        self.until("the subscriber is here", |publisher| publisher.subscribers() > before);
        Neighbour(channel)
    }
}

struct Neighbour(Channel);

fn refusal(error: Error) -> Refusal {
    match error {
        Error::TimedOut => Refusal::TimedOut,
        Error::Closed(closed) if closed.code == CloseCode::DONE => Refusal::Closed,
        Error::Refused(_) => Refusal::Full,
        _ => Refusal::PeerDied,
    }
}

impl Receiver for Neighbour {
    fn try_get(&mut self, value: &mut Vec<u8>) -> Result<Option<Key>, Refusal> {
        let Some(message) = self.0.try_receive().map_err(refusal)? else { return Ok(None) };
        let key = message.key().unwrap_or(Key::EVENT);
        *value = message.bytes;
        Ok(Some(key))
    }

    fn get(&mut self, value: &mut Vec<u8>, deadline: Option<Instant>) -> Result<Key, Refusal> {
        let deadline = deadline.unwrap_or_else(|| Instant::now() + DEADLINE);
        let message = blocking::receive(&self.0, Some(deadline)).map_err(refusal)?;
        let key = message.key().unwrap_or(Key::EVENT);
        *value = message.bytes;
        Ok(key)
    }

    fn poll_get(&mut self, context: &mut Context<'_>, value: &mut Vec<u8>) -> Poll<Result<Key, Refusal>> {
        match self.try_get(value) {
            Ok(None) => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Ok(Some(key)) => Poll::Ready(Ok(key)),
            Err(refusal) => Poll::Ready(Err(refusal)),
        }
    }
}

#[test]
fn the_suite_of_publishers_holds_for_subscribers_of_this_machine() {
    for case in 0..number_in("NOWCAST_CARRIER_CASES", 20) {
        // Every tenth seed is a case with threads.
        let passed = Suite { seed: 10 * case + 9, cases: 1 }.run(&SharedMemory);
        if let Err(failure) = passed {
            panic!("{failure}");
        }
    }
}

/// Another process that subscribes, and reports the messages that it receives.
struct Process {
    child: Child,
    listening: JoinHandle<Heard>,
    /// The number of the last received put.
    newest: Arc<AtomicUsize>,
    /// Number of puts before the process joined.
    joined: usize,
}

/// The messages that a process received.
#[derive(Default)]
struct Heard {
    record: Vec<(Key, usize)>,
    /// Whether the channel ended before the end of the test.
    is_closed: bool,
}

impl Process {
    fn subscribe(station: &Station, joined: usize) -> Process {
        let before = station.publisher.subscribers();
        let mut child = Command::new(std::env::current_exe().expect("this program has a path"))
            .args(["--exact", "the_neighbour", "--ignored", "--nocapture"])
            .env(NAME, station.publisher.name())
            .stdout(Stdio::piped())
            .spawn()
            .expect("this program can be started again");
        let said = BufReader::new(child.stdout.take().expect("the standard output is piped"));
        let newest = Arc::new(AtomicUsize::new(0));
        let (here, is_here) = mpsc::channel();
        let listening = std::thread::spawn({
            let newest = Arc::clone(&newest);
            move || listen(said, &newest, &here)
        });
        station.until("the process is here", |publisher| publisher.subscribers() > before);
        // If a subscriber is stopped before it knows of its admission, it gives up and retries later.
        is_here.recv_timeout(DEADLINE).expect("the process reports that it is ready");
        Process { child, listening, newest, joined }
    }

    fn signal(&self, signal: &str) {
        let done = Command::new("kill").args([signal, &self.child.id().to_string()]).status();
        assert!(done.expect("kill is installed").success());
    }

    /// Kills the process, as the kernel does when memory is short.
    fn kill(mut self) {
        self.child.kill().expect("the child process runs");
        self.child.wait().expect("the child process can be waited for");
    }

    /// Waits until the process ends, and checks its messages against the laws. Returns whether its channel was closed before the
    /// end of the test.
    fn check(mut self, puts: &Puts, ended: laws::Ended) -> bool {
        let Heard { record, is_closed } = self.listening.join().expect("no panic");
        self.child.wait().expect("the child process can be waited for");
        if let Err(violation) = check(&puts.keys, self.joined, &record, ended) {
            panic!("seed {}: {violation}", puts.seed);
        }
        is_closed
    }
}

fn listen(said: BufReader<ChildStdout>, newest: &AtomicUsize, here: &mpsc::Sender<()>) -> Heard {
    let mut heard = Heard::default();
    for line in said.lines() {
        let line = line.expect("the output is UTF-8");
        let Some((_, told)) = line.split_once("neighbour: ") else { continue };
        let Some((key, put)) = told.split_once(' ') else {
            match told {
                "here" => _ = here.send(()),
                _ => heard.is_closed = true,
            }
            continue;
        };
        // A process may be killed while it writes a line.
        let (Ok(key), Ok(put)) = (key.parse(), put.parse()) else { continue };
        heard.record.push((Key::from_raw(key), put));
        newest.store(put, Ordering::Relaxed);
    }
    heard
}

/// The process that subscribes.
#[test]
#[ignore = "the other tests start this test in a separate process"]
fn the_neighbour() {
    let Ok(name) = std::env::var(NAME) else { return };
    let channel = wait(nowcast::connect(&name)).expect("the name is known");
    println!("neighbour: here");
    loop {
        let Ok(message) = blocking::receive(&channel, None) else {
            println!("neighbour: closed");
            return;
        };
        let put = laws::put_of(&message.bytes).expect("no payload is torn");
        println!("neighbour: {} {put}", message.key().unwrap_or(Key::EVENT).raw());
        if message.kind == MessageKind::Event && message.bytes.len() == END_BYTES {
            return;
        }
    }
}

struct Puts {
    keys: Vec<Key>,
    random: Random,
    seed: u64,
}

impl Puts {
    fn new(seed: u64) -> Puts {
        Puts { keys: Vec::new(), random: Random::new(seed), seed }
    }

    fn some(&mut self, station: &Station, count: u64, events_percent: u64) {
        for _ in 0..count {
            let is_event = self.random.percent(events_percent);
            let key = if is_event { Key::EVENT } else { Key::state(1 + self.random.below(6)) };
            let bytes = END_BYTES + 1 + self.random.below(200) as usize;
            self.one(station, key, bytes);
        }
    }

    fn one(&mut self, station: &Station, key: Key, bytes: usize) {
        let value = laws::value(self.keys.len(), bytes);
        let put = match key {
            Key::EVENT => station.publisher.event(&value),
            key => station.publisher.state(key, &value),
        };
        put.expect("no subscriber causes a refusal");
        self.keys.push(key);
    }
}

#[test]
fn dead_and_stopped_subscribers_affect_no_other() {
    for seed in 0..number_in("NOWCAST_KILLS", 20).div_ceil(10) {
        let station = Station::open(PublicationBounds::default());
        let mut puts = Puts::new(seed);
        let stopped = Process::subscribe(&station, 0);
        let mut living = vec![Process::subscribe(&station, 0)];
        puts.some(&station, 100, 20);
        stopped.signal("-STOP");
        for death in 0..10 {
            let doomed = Process::subscribe(&station, puts.keys.len());
            puts.some(&station, 60, 20);
            if death % 4 == 0 {
                living.push(Process::subscribe(&station, puts.keys.len()));
            }
            // The subscriber dies while messages are written to it.
            let count = puts.random.below(30);
            puts.some(&station, count, 20);
            let before = station.publisher.subscribers();
            doomed.kill();
            puts.some(&station, 20, 20);
            station.until("the dead subscriber is forgotten", |publisher| publisher.subscribers() < before);
        }
        stopped.signal("-CONT");
        puts.one(&station, Key::EVENT, END_BYTES);
        living.push(stopped);
        for process in living {
            let is_closed = process.check(&puts, laws::Ended::Drained);
            assert!(!is_closed, "seed {seed}: the kept messages were within the bounds");
        }
        assert_eq!(station.publisher.counters().behind, 0, "seed {seed}");
    }
}

#[test]
fn a_subscriber_that_stays_stopped_falls_behind_and_affects_no_other() {
    let backlog = Bounds { entries_max: 300, bytes_max: 1 << 20 };
    let station = Station::open(PublicationBounds { backlog, ..PublicationBounds::default() });
    let mut puts = Puts::new(1);
    let (stopped, living) = (Process::subscribe(&station, 0), Process::subscribe(&station, 0));
    stopped.signal("-STOP");
    let begin = Instant::now();
    while station.publisher.counters().behind == 0 {
        assert!(begin.elapsed() < DEADLINE, "nobody fell behind");
        puts.some(&station, 60, 50);
        puts.one(&station, Key::EVENT, END_BYTES + 1);
        // The other subscriber keeps up, so nothing is stored for it.
        let newest = puts.keys.len() - 1;
        station.until("the subscriber has the event", |_| living.newest.load(Ordering::Relaxed) == newest);
    }
    puts.one(&station, Key::EVENT, END_BYTES);
    stopped.signal("-CONT");
    assert!(!living.check(&puts, laws::Ended::Drained), "the other subscriber was not disturbed");
    assert!(stopped.check(&puts, laws::Ended::Early), "the stopped subscriber learns that it is closed");
}
