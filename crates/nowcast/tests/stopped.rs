//! A reader whose process is stopped (SIGSTOP) and continues later. Tests which messages it then receives, and the cost for the
//! sender.
//!
//! `NOWCAST_STOP_SECONDS=10 cargo test --release -p nowcast --test stopped -- --nocapture --test-threads=1` stops the process for
//! 10 s instead of 2 s and shows the figures.

#![cfg(unix)]

use std::collections::HashMap;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nowcast::{CarrierKind, Channel, Connector, Error, ListenConfig, Listener};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{ChildStdout, Command as AsyncCommand};

const KEYS: u64 = 1_000;
const PERIOD: Duration = Duration::from_micros(16_667);
/// Number of times that the reader received every key before it is stopped.
const ROUNDS_BEFORE: u32 = 20;
/// A reader that has not run for this long was stopped.
const STOPPED: Duration = Duration::from_secs(1);
/// The environment variable of the process that reads. It holds the address, and the carrier by its number.
const READER: &str = "NOWCAST_STOPPED_READER";
const CARRIERS: [CarrierKind; 3] =
    [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER];
/// Maximum growth of the sender's memory. The sender records at most 8,192 packets sent to a silent peer. The history of 10 s
/// would be 40 MB.
const GROWTH_MAX: u64 = 6 * 1_024 * 1_024;

fn stop_time() -> Duration {
    let seconds = std::env::var("NOWCAST_STOP_SECONDS");
    Duration::from_secs(
        seconds.map_or(2, |seconds| seconds.parse().expect("NOWCAST_STOP_SECONDS is a number")),
    )
}

fn now_micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("the clock is later than 1970").as_micros() as u64
}

/// Sends the current time as the value of every key, until the reader has all that it needs and leaves.
async fn put_rounds(channel: &Channel) {
    let mut beat = tokio::time::interval(PERIOD);
    loop {
        beat.tick().await;
        let mut batch = channel.batch();
        let value = now_micros().to_le_bytes();
        for key in 1..=KEYS {
            match batch.try_state(0, key, &value) {
                Ok(()) => {}
                // The other future of this test reads the messages that the reader sent before it left.
                Err(Error::Closed(_)) => return std::future::pending().await,
                Err(error) => panic!("the lane holds all keys: {error}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_reader_continues_with_the_newest_values_over_webtransport() {
    stop_and_go(0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_reader_continues_with_the_newest_values_over_websocket() {
    stop_and_go(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_reader_continues_with_the_newest_values_on_its_own_machine() {
    stop_and_go(2).await;
}

async fn stop_and_go(carrier: usize) {
    let listener = Listener::bind(ListenConfig::on([[127, 0, 0, 1].into()], 0)).await.unwrap();
    let name = format!("stopped-{}-{carrier}", std::process::id());
    let mut service = listener.advertise(&name).await.unwrap();
    let url = match CARRIERS[carrier] {
        kind if kind.is_local() => format!("nowcast://localhost/{name}"),
        _ => format!("nowcast://127.0.0.1:{}/{name}", listener.port()),
    };
    let mut reader = Reader::start(&url, carrier);
    let channel = service.accept().await.unwrap();
    let script = async {
        assert_eq!(reader.says().await, "current");
        let before = resident_bytes();
        reader.signal("-STOP");
        tokio::time::sleep(stop_time()).await;
        let waiting = channel.status().gauges.waiting;
        let grown = resident_bytes().saturating_sub(before);
        reader.signal("-CONT");
        let report = reader.says().await;
        let kind = CARRIERS[carrier];
        println!("{kind}, stopped for {:?}: {report}; the sender grew by {} KiB", stop_time(), grown / 1_024);
        assert!(waiting <= 2 * KEYS as usize, "{kind}: {waiting} messages wait for {KEYS} keys");
        assert!(grown < GROWTH_MAX, "{kind}: the sender grew by {grown} bytes");
        let most: u64 = report
            .split(' ')
            .nth(1)
            .and_then(|word| word.parse().ok())
            .expect("the report contains the count");
        assert!(most <= 8, "{kind}: a key arrived {most} times, so history was kept");
    };
    tokio::select! {
        () = script => {}
        () = put_rounds(&channel) => {}
    }
}

/// The process that reads.
struct Reader {
    process: tokio::process::Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Reader {
    fn start(url: &str, carrier: usize) -> Self {
        let program = std::env::current_exe().expect("this program has a path");
        let mut process = AsyncCommand::new(program)
            .args(["--exact", "the_reader", "--ignored", "--nocapture"])
            .env(READER, format!("{url} {carrier}"))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("this program can be started again");
        let lines = BufReader::new(process.stdout.take().expect("the standard output is piped")).lines();
        Self { process, lines }
    }

    /// Returns the next line of the process that is meant for this test.
    async fn says(&mut self) -> String {
        let listening = async {
            while let Some(line) = self.lines.next_line().await.expect("the output is UTF-8") {
                if let Some((_, said)) = line.split_once("reader: ") {
                    return said.to_owned();
                }
            }
            panic!("the reader is gone")
        };
        tokio::time::timeout(Duration::from_secs(60), listening).await.expect("the reader reports in time")
    }

    fn signal(&self, signal: &str) {
        let id = self.process.id().expect("the process runs").to_string();
        let kill: std::io::Result<Child> = Command::new("kill").args([signal, &id]).spawn();
        assert!(kill.and_then(|mut kill| kill.wait()).expect("kill is installed").success());
    }
}

/// Resident bytes of this process, if the system reports them.
fn resident_bytes() -> u64 {
    if !cfg!(target_os = "linux") {
        return 0;
    }
    let status = std::fs::read_to_string("/proc/self/status").expect("this is Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("the system reports the memory");
    let kib = line.split_whitespace().nth(1).and_then(|word| word.parse::<u64>().ok());
    kib.expect("the value is a number") * 1_024
}

/// The process that is stopped. It reports as soon as it has every key. After the stop, it reports as soon as every key has
/// a value that was put after the end of the stop. It also reports how often the most frequent key arrived until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the other tests start this test in a separate process"]
async fn the_reader() {
    let Ok(wanted) = std::env::var(READER) else { return };
    let (url, carrier) = wanted.rsplit_once(' ').expect("an address and a carrier");
    let kind = CARRIERS[carrier.parse::<usize>().expect("a number")];
    let channel = Connector::new().carriers([kind]).connect(url).await.unwrap();
    assert_eq!(channel.status().carrier, Some(kind));
    // Messages flow at the full rate before the process is stopped.
    for _ in 0..ROUNDS_BEFORE {
        read_all(&channel, now_micros()).await;
    }
    // The process may be stopped before the next line runs.
    let looked = now_micros();
    println!("reader: current");
    let woken = wait_for_the_stop(&channel, looked).await;
    let round_trip = channel.status().gauges.round_trip.unwrap_or_default();
    let times = read_all(&channel, woken).await;
    let after = Duration::from_micros(now_micros() - woken);
    let most = times.values().max().expect("there are keys");
    println!(
        "reader: most {most} times a key; current {after:.1?} after it woke, round trip {round_trip:.1?}"
    );
}

/// Reads until it finds a gap after `looked` in which the process did not run. Returns the end of the gap.
async fn wait_for_the_stop(channel: &Channel, mut looked: u64) -> u64 {
    loop {
        let _ = tokio::time::timeout(PERIOD, channel.receive()).await;
        let now = now_micros();
        if Duration::from_micros(now - looked) > STOPPED {
            return now;
        }
        looked = now;
    }
}

/// Reads until every key has a value of `since` or later. Returns how often each key arrived.
async fn read_all(channel: &Channel, since: u64) -> HashMap<u64, u64> {
    let (mut times, mut current) = (HashMap::new(), std::collections::HashSet::new());
    while current.len() < KEYS as usize {
        let message = channel.receive().await.expect("nobody closes");
        let key = message.key().expect("only states are put").raw();
        *times.entry(key).or_default() += 1;
        if u64::from_le_bytes(message.bytes.try_into().expect("a time")) >= since {
            current.insert(key);
        }
    }
    times
}
