//! The faults of one life as data. A script can be random, printed, read back, and shortened.

use std::fmt;
use std::str::FromStr;

use nowcast_queue::conformance::Random;

/// Number of servers of the cluster.
pub(super) const SERVERS: u8 = 3;
/// Number of nats-servers.
pub(super) const NATS: u8 = 3;
/// Number of rooms.
pub(super) const ROOMS: u8 = 2;

/// Milliseconds in which a fault of a script begins.
const SPAN_MS: u64 = 10_000;

/// A fault, or an order of the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Kills a server (SIGKILL), and starts the next process later.
    KillServer(u8),
    /// Stops a server (SIGSTOP), and lets it continue later.
    StopServer(u8),
    /// Kills all servers.
    KillServers,
    /// Kills a nats-server, and starts it again later with its files.
    KillNats(u8),
    /// Kills two nats-servers of three. The number names the nats-server that keeps running.
    KillTwoNats(u8),
    /// Kills all nats-servers.
    KillAllNats,
    /// Stops a nats-server (SIGSTOP).
    StopNats(u8),
    /// Stops a nats-server for 30 of each 40 ms, so that it answers like a nats-server with a slow disk.
    SlowNats(u8),
    /// Fills the disk of the first nats-server. Afterwards, space is made and this nats-server starts again.
    FillDisk,
    /// Bytes between a server and a nats-server are held back.
    Hold(u8, u8),
    /// Connections between a server and a nats-server are closed and refused.
    Cut(u8, u8),
    /// A server reaches no nats-server.
    Isolate(u8),
    /// Bytes between two nats-servers are held back.
    SplitNats(u8, u8),
    /// Bytes between a nats-server and both others are held back.
    IsolateNats(u8),
    /// Each read between a server and its nats-servers is delayed by 80 ms.
    Delay(u8),
    /// A room moves to a server while clients are in it (`nowcast cluster move`).
    Move(u8, u8),
    /// A server gives all its rooms away (`nowcast cluster drain`). Later it is killed, and the next process starts.
    Drain(u8),
    /// A server gives all its rooms away. Later it ends by SIGTERM, and the next process starts, as in a rolling upgrade.
    Upgrade(u8),
}

/// A fault with its times.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Milliseconds from the beginning of the life.
    pub at_ms: u64,
    /// Milliseconds until the fault ends.
    pub for_ms: u64,
    /// The fault.
    pub fault: Fault,
}

/// The faults of one life, in the order of their times.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Script {
    /// The events.
    pub events: Vec<Event>,
}

impl Script {
    /// Makes the script of a seed with a number of faults.
    #[must_use]
    pub fn random(seed: u64, faults: usize) -> Script {
        let random = &mut Random::new(seed ^ 0x0001_ABC1);
        let mut events: Vec<Event> = (0..faults).map(|_| random_event(random)).collect();
        events.sort_by_key(|event| event.at_ms);
        Script { events }
    }

    /// Returns the script without a part of its events.
    #[must_use]
    pub fn without(&self, part: std::ops::Range<usize>) -> Script {
        let kept = self.events.iter().enumerate().filter(|(index, _)| !part.contains(index));
        Script { events: kept.map(|(_, event)| *event).collect() }
    }

    /// Returns the shortest script that was found for which `fails` returns a failure, and that failure. Parts are removed: halves
    /// first, single events last.
    pub fn shrink(self, first: String, mut fails: impl FnMut(&Script) -> Option<String>) -> (Script, String) {
        let (mut best, mut what) = (self, first);
        let mut size = best.events.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < best.events.len() {
                let shorter = best.without(from..from + size);
                match fails(&shorter) {
                    Some(failure) => (best, what) = (shorter, failure),
                    None => from += size,
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2) };
        }
        (best, what)
    }
}

fn random_event(random: &mut Random) -> Event {
    let server = random.below(SERVERS.into()) as u8;
    let nats = random.below(NATS.into()) as u8;
    let other = (nats + 1 + random.below(u64::from(NATS) - 1) as u8) % NATS;
    let for_ms_max = if random.percent(25) { 3_500 } else { 900 };
    let for_ms = 1 + random.below(for_ms_max);
    let fault = match random.below(100) {
        0..=11 => Fault::KillServer(server),
        12..=26 => Fault::StopServer(server),
        27..=28 => Fault::KillServers,
        29..=33 => Fault::KillNats(nats),
        34 => Fault::KillTwoNats(nats),
        35 => Fault::KillAllNats,
        36..=42 => Fault::StopNats(nats),
        43..=47 => Fault::SlowNats(nats),
        48..=49 => Fault::FillDisk,
        50..=58 => Fault::Hold(server, nats),
        59..=65 => Fault::Cut(server, nats),
        66..=74 => Fault::Isolate(server),
        75..=79 => Fault::SplitNats(nats, other),
        80..=83 => Fault::IsolateNats(nats),
        84..=89 => Fault::Delay(server),
        90..=95 => Fault::Move(random.below(ROOMS.into()) as u8, server),
        96..=97 => Fault::Drain(server),
        _ => Fault::Upgrade(server),
    };
    Event { at_ms: random.below(SPAN_MS), for_ms, fault }
}

impl Fault {
    /// The name of the fault in scripts and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fault::KillServer(_) => "kill-server",
            Fault::StopServer(_) => "stop-server",
            Fault::KillServers => "kill-servers",
            Fault::KillNats(_) => "kill-nats",
            Fault::KillTwoNats(_) => "kill-two-nats",
            Fault::KillAllNats => "kill-all-nats",
            Fault::StopNats(_) => "stop-nats",
            Fault::SlowNats(_) => "slow-nats",
            Fault::FillDisk => "fill-disk",
            Fault::Hold(..) => "hold",
            Fault::Cut(..) => "cut",
            Fault::Isolate(_) => "isolate",
            Fault::SplitNats(..) => "split-nats",
            Fault::IsolateNats(_) => "isolate-nats",
            Fault::Delay(_) => "delay",
            Fault::Move(..) => "move",
            Fault::Drain(_) => "drain",
            Fault::Upgrade(_) => "upgrade",
        }
    }

    fn numbers(self) -> Vec<u8> {
        match self {
            Fault::KillServers | Fault::KillAllNats | Fault::FillDisk => vec![],
            Fault::Hold(a, b) | Fault::Cut(a, b) | Fault::SplitNats(a, b) | Fault::Move(a, b) => vec![a, b],
            Fault::KillServer(a)
            | Fault::StopServer(a)
            | Fault::KillNats(a)
            | Fault::KillTwoNats(a)
            | Fault::StopNats(a)
            | Fault::SlowNats(a)
            | Fault::Isolate(a)
            | Fault::IsolateNats(a)
            | Fault::Delay(a)
            | Fault::Drain(a)
            | Fault::Upgrade(a) => vec![a],
        }
    }

    fn read(name: &str, numbers: &[u8]) -> Option<Fault> {
        let below = |max: u8| move |number: &u8| *number < max;
        let two = |first: u8, second: u8| match *numbers {
            [a, b] if a < first && b < second => Some((a, b)),
            _ => None,
        };
        let one = |max: u8| match numbers {
            [number] => Some(*number).filter(below(max)),
            _ => None,
        };
        Some(match name {
            "kill-server" => Fault::KillServer(one(SERVERS)?),
            "stop-server" => Fault::StopServer(one(SERVERS)?),
            "kill-servers" => Fault::KillServers,
            "kill-nats" => Fault::KillNats(one(NATS)?),
            "kill-two-nats" => Fault::KillTwoNats(one(NATS)?),
            "kill-all-nats" => Fault::KillAllNats,
            "stop-nats" => Fault::StopNats(one(NATS)?),
            "slow-nats" => Fault::SlowNats(one(NATS)?),
            "fill-disk" => Fault::FillDisk,
            "hold" => two(SERVERS, NATS).map(|(a, b)| Fault::Hold(a, b))?,
            "cut" => two(SERVERS, NATS).map(|(a, b)| Fault::Cut(a, b))?,
            "isolate" => Fault::Isolate(one(SERVERS)?),
            "split-nats" => two(NATS, NATS).filter(|(a, b)| a != b).map(|(a, b)| Fault::SplitNats(a, b))?,
            "isolate-nats" => Fault::IsolateNats(one(NATS)?),
            "delay" => Fault::Delay(one(SERVERS)?),
            "move" => two(ROOMS, SERVERS).map(|(a, b)| Fault::Move(a, b))?,
            "drain" => Fault::Drain(one(SERVERS)?),
            "upgrade" => Fault::Upgrade(one(SERVERS)?),
            _ => return None,
        })
    }
}

impl fmt::Display for Script {
    /// Writes a line for each event: its time, its duration, its name, and its numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.iter().try_for_each(|event| {
            write!(f, "{} {} {}", event.at_ms, event.for_ms, event.fault.name())?;
            event.fault.numbers().iter().try_for_each(|number| write!(f, " {number}"))?;
            writeln!(f)
        })
    }
}

/// A line of a script is not an event.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the script is not `AT_MS FOR_MS FAULT NUMBERS…`, such as `1200 800 stop-server 0`")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Script, ScriptError> {
        let event = |line: &str| {
            let mut words = line.split_whitespace();
            let (at_ms, for_ms) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            let name = words.next()?;
            let numbers: Vec<u8> = words.map(str::parse).collect::<Result<_, _>>().ok()?;
            Some(Event { at_ms, for_ms, fault: Fault::read(name, &numbers)? })
        };
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let events = lines.map(|(index, line)| event(line).ok_or(ScriptError { line: index + 1 }));
        let mut events: Vec<Event> = events.collect::<Result<_, _>>()?;
        events.sort_by_key(|event| event.at_ms);
        Ok(Script { events })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_a_function_of_its_seed_and_is_read_back_from_its_text() {
        let script = Script::random(7, 2_000);
        assert_eq!(script, Script::random(7, 2_000));
        assert_ne!(script, Script::random(8, 2_000));
        assert_eq!(script.to_string().parse(), Ok(script.clone()));
        let mut names: Vec<&str> = script.events.iter().map(|event| event.fault.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 18, "each kind of fault occurs: {names:?}");
        for text in ["x", "1 2", "1 2 stop-server", "1 2 stop-server 9", "1 2 split-nats 1 1", "1 2 rain"] {
            let text = format!("5 6 fill-disk\n{text}");
            assert_eq!(text.parse::<Script>(), Err(ScriptError { line: 2 }), "{text}");
        }
    }

    #[test]
    fn a_failure_that_needs_two_events_is_shortened_to_them() {
        let script = Script::random(3, 40);
        let needed = [script.events[5], script.events[31]];
        let fails = |script: &Script| {
            needed.iter().all(|event| script.events.contains(event)).then(|| "lost".to_owned())
        };
        let (shortest, what) = script.shrink("first".to_owned(), fails);
        assert_eq!((shortest.events.as_slice(), what.as_str()), (&needed[..], "lost"));
    }
}
