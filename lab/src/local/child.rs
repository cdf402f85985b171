//! The other process. It is this program again, with arguments for its task.

use std::io::Read;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Carrier, Control, Inlet, LocalError, Meeting, Message, Outlet, Patience, Pinned, Word, now_ns};

/// The task of the child.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub enum Task {
    /// Answers the sender through a cache line.
    Echo,
    /// Receives messages and records how long each was under way. Between messages, either sleeps or polls.
    Latency {
        /// Whether the receiver sleeps.
        asleep: bool,
    },
    /// Receives all available messages.
    Drain {
        /// Whether the receiver sleeps.
        asleep: bool,
    },
    /// Reads up to ten messages, works, and repeats until it has the last one.
    Lag {
        /// The time that it works, in milliseconds.
        work_ms: u64,
        /// The number of the last message.
        last: u64,
    },
    /// Sends in phases, while the parent counts its system calls.
    Send {
        /// Number of updates without a reader, with an awake reader, and with a sleeping reader.
        counts: [u64; 3],
    },
    /// Reads for [`Task::Send`].
    Attend,
}

/// All data that a child needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Orders {
    /// The task.
    pub task: Task,
    /// The name of the carrier ([`Carrier::word`]).
    pub carrier: String,
    /// The address of the carrier.
    pub address: String,
    /// The path of the shared page.
    pub page: String,
    /// The number of the core on which the child runs.
    pub core: usize,
}

/// The report of [`Task::Latency`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Latencies {
    /// Nanoseconds from before the sending to after the receiving of each message.
    pub ns: Vec<u64>,
}

/// The report of [`Task::Drain`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Drained {
    /// Number of received messages.
    pub received: u64,
}

/// The report of [`Task::Lag`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Lagged {
    /// Number of read messages.
    pub read: u64,
    /// Time from sending the last message to its reading, in nanoseconds.
    pub lag_ns: u64,
}

/// The handle of a child in its parent.
#[derive(Debug)]
pub struct Companion {
    process: Child,
}

impl Companion {
    /// Starts this program again with orders.
    ///
    /// # Errors
    /// Fails if the system cannot start a process.
    pub fn start(orders: &Orders, piped: bool) -> Result<Companion, LocalError> {
        let failed = LocalError::system("this program could not be started again");
        let start = || {
            Command::new(std::env::current_exe()?)
                .args(["child", &serde_json::to_string(orders)?])
                .stdin(if piped { Stdio::piped() } else { Stdio::null() })
                .stdout(Stdio::piped())
                .spawn()
        };
        Ok(Companion { process: start().map_err(failed)? })
    }

    /// Returns the child's standard input, if it was requested.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.process.stdin.take()
    }

    /// Returns the process id of the child.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for the child's report.
    ///
    /// # Errors
    /// Fails if the process failed, or if its report cannot be read.
    pub fn report<T: DeserializeOwned>(mut self) -> Result<T, LocalError> {
        let mut text = String::new();
        if let Some(mut output) = self.process.stdout.take() {
            output.read_to_string(&mut text).map_err(LocalError::system("the report could not be read"))?;
        }
        let status = self.process.wait().map_err(LocalError::system("the child could not be waited for"))?;
        if !status.success() {
            return Err(LocalError::Child);
        }
        serde_json::from_str(&text).map_err(|_| LocalError::Child)
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        // After `report`, the child has already ended. In any other case the parent has failed and no longer needs the child.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The main function of the child.
///
/// # Errors
/// Fails if the orders cannot be read, or if the measurement fails.
pub fn main(orders: &str) -> Result<(), LocalError> {
    end_with_parent();
    let orders: Orders =
        serde_json::from_str(orders).map_err(|error| LocalError::carrier("the lab's child", error))?;
    let _pinned = Pinned::to(orders.core);
    let control = Arc::new(Control::open(&orders.page)?);
    let carrier = Carrier::from_word(&orders.carrier)
        .ok_or_else(|| LocalError::carrier("the lab's child", "unknown carrier"))?;
    let inlet = |patience, batch| carrier.receive_at(&orders.address, &control, patience, batch);
    let patience = |asleep| if asleep { Patience::Sleep } else { Patience::Spin };
    let report = match orders.task {
        Task::Echo => echo(&control),
        Task::Latency { asleep } => {
            let patience = patience(asleep);
            to_json(&latency(inlet(patience, 1)?, &control, patience)?)
        }
        Task::Drain { asleep } => {
            let patience = patience(asleep);
            to_json(&drain(inlet(patience, 800)?, &control, patience)?)
        }
        Task::Lag { work_ms, last } => to_json(&lag(inlet(Patience::Spin, 10)?, &control, work_ms, last)?),
        Task::Send { counts } => send(carrier, &orders.address, &control, counts)?,
        Task::Attend => attend(carrier, &orders.address, &control)?,
    };
    print!("{report}");
    Ok(())
}

fn to_json(report: &impl Serialize) -> String {
    serde_json::to_string(report).expect("reports are plain data")
}

/// Ends this child when its parent is killed, so that it does not keep spinning.
fn end_with_parent() {
    let parent = rustix::process::getppid();
    std::thread::spawn(move || {
        while rustix::process::getppid() == parent {
            std::thread::sleep(Duration::from_millis(500));
        }
        std::process::exit(1);
    });
}

fn is_over(control: &Control) -> bool {
    control.word(Word::Stop).load(Ordering::Acquire) > 0
}

fn ready(control: &Control) {
    control.word(Word::Ready).store(1, Ordering::Release);
}

fn echo(control: &Control) -> String {
    ready(control);
    let (ping, pong) = (control.word(Word::Ping), control.word(Word::Pong));
    let mut answered = 0;
    while !is_over(control) {
        for _ in 0..10_000 {
            let asked = ping.load(Ordering::Acquire);
            if asked != answered {
                answered = asked;
                pong.store(asked, Ordering::Release);
            }
        }
    }
    "null".into()
}

fn next(inlet: &mut dyn Inlet, patience: Patience) -> Result<Option<Message>, LocalError> {
    match patience {
        Patience::Spin => inlet.try_receive(),
        Patience::Sleep => inlet.receive(),
    }
}

fn latency(
    mut inlet: Box<dyn Inlet>,
    control: &Control,
    patience: Patience,
) -> Result<Latencies, LocalError> {
    let mut ns = Vec::with_capacity(1 << 18);
    ready(control);
    loop {
        match next(inlet.as_mut(), patience)? {
            Some(message) => {
                let now = now_ns();
                ns.push(now.saturating_sub(message.time_ns()));
                message.check()?;
                control.word(Word::Taken).store(message.number(), Ordering::Release);
            }
            None if is_over(control) => return Ok(Latencies { ns }),
            None => std::hint::spin_loop(),
        }
    }
}

fn drain(mut inlet: Box<dyn Inlet>, control: &Control, patience: Patience) -> Result<Drained, LocalError> {
    let (mut received, mut newest) = (0, 0);
    ready(control);
    loop {
        match next(inlet.as_mut(), patience)? {
            Some(message) => {
                received += 1;
                newest = message.number();
                if received % 32 == 0 {
                    control.word(Word::Figure).store(received, Ordering::Relaxed);
                }
            }
            None => {
                control.word(Word::Taken).store(newest, Ordering::Release);
                if is_over(control) {
                    return Ok(Drained { received });
                }
                std::hint::spin_loop();
            }
        }
    }
}

/// The receiver of the paper's experiment (its section 6).
fn lag(mut inlet: Box<dyn Inlet>, control: &Control, work_ms: u64, last: u64) -> Result<Lagged, LocalError> {
    let mut read = 0;
    ready(control);
    loop {
        for _ in 0..10 {
            let Some(message) = inlet.try_receive()? else { break };
            read += 1;
            if message.number() == last {
                let lag_ns = now_ns().saturating_sub(message.time_ns());
                control.word(Word::Taken).store(last, Ordering::Release);
                return Ok(Lagged { read, lag_ns });
            }
        }
        if is_over(control) {
            return Err(LocalError::Late { waiting_for: "the last message", seconds: 0 });
        }
        if work_ms > 0 {
            std::thread::sleep(Duration::from_millis(work_ms));
        }
    }
}

/// The phases of [`Task::Send`], as [`Word::Phase`] numbers them.
pub const PHASES: [&str; 3] = ["no reader, every put replaces", "the reader is awake", "the reader sleeps"];

fn send(
    carrier: Carrier,
    name: &str,
    control: &Arc<Control>,
    counts: [u64; 3],
) -> Result<String, LocalError> {
    let meeting = Meeting::prepare(carrier, name, control)?;
    control.word(Word::Pong).store(1, Ordering::Release);
    let mut outlet: Box<dyn Outlet> = meeting.connect(None)?;
    control.wait(Word::Ready, 1, 10, "the reader")?;
    control.word(Word::Ping).store(1, Ordering::Release);
    control.wait(Word::Go, 1, 10, "go")?;
    let mut number = 0;
    for (phase, count) in (1..).zip(counts) {
        control.word(Word::Figure).store(phase, Ordering::Release);
        // The sender waits until the reader sleeps, or has woken up.
        spin_ns(50_000_000);
        // Messages that were not read before this phase do not count in the phase.
        control.word(Word::Phase).store(phase, Ordering::Release);
        for _ in 0..count {
            number += 1;
            let mut message = Message::new(number, 0);
            message.stamp(now_ns());
            outlet.send(&message)?;
            if phase > 1 {
                control.wait(Word::Taken, number, 5, "the reader to take a message")?;
            }
            if phase == 3 {
                spin_ns(1_000_000);
            }
        }
        control.word(Word::Phase).store(0, Ordering::Release);
    }
    control.word(Word::Stop).store(1, Ordering::Release);
    Ok("null".into())
}

fn attend(carrier: Carrier, address: &str, control: &Arc<Control>) -> Result<String, LocalError> {
    let mut inlet = carrier.receive_at(address, control, Patience::Sleep, 1)?;
    // This stream was opened with `Patience::Sleep`, so it cannot be polled without waiting. The reader of a stream therefore
    // always sleeps.
    let looks = !matches!(carrier, Carrier::Unix | Carrier::Tcp | Carrier::Pipe);
    ready(control);
    while !is_over(control) {
        let got = match control.word(Word::Figure).load(Ordering::Acquire) {
            0 | 1 => None,
            2 if looks => inlet.try_receive()?,
            _ => inlet.receive()?,
        };
        if let Some(message) = got {
            control.word(Word::Taken).store(message.number(), Ordering::Release);
        }
    }
    Ok("null".into())
}

fn spin_ns(ns: u64) {
    let until = now_ns() + ns;
    while now_ns() < until {
        std::hint::spin_loop();
    }
}
