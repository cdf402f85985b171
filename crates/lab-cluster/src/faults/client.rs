//! A client that counts: it repeats each durable action until a server confirms it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nowcast_queue::conformance::Random;

use super::checker::{Answer, Before, Checker};

/// Time for an answer.
const ANSWER_WITHIN: Duration = Duration::from_millis(2_500);
/// Pause before a request that must wait is repeated.
const AGAIN: Duration = Duration::from_millis(20);

/// One client of one room.
pub(super) struct Client {
    pub(super) room: u8,
    pub(super) number: u8,
    /// The ports of the servers `s0`, `s1`, …
    pub(super) ports: Arc<[u16]>,
    pub(super) checker: Arc<Checker>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) random: Random,
}

/// An answer in words.
enum Said {
    Confirmed(Answer),
    State(Answer),
    At(usize),
    Wait,
}

impl Client {
    /// Counts until the life ends.
    pub(super) fn run(mut self) {
        let mut server = usize::from(self.number) % self.ports.len();
        let mut line = None;
        let mut action = 0;
        while !self.is_over() {
            action += 1;
            let first_sent = Instant::now();
            while !self.is_over() {
                let is_read = self.random.percent(25);
                let before = self.checker.begins(self.room, self.number, (!is_read).then_some(action));
                let request = match is_read {
                    true => format!("read r{} {}\n", self.room, self.number),
                    false => format!("count r{} {} {action}\n", self.room, self.number),
                };
                match self.ask(server, &mut line, &request) {
                    Some(Said::Confirmed(answer)) => {
                        self.checker.confirms(self.room, self.number, action, before, &answer, first_sent);
                        break;
                    }
                    Some(Said::State(answer)) => self.show(before, &answer),
                    Some(Said::At(other)) if other != server => {
                        (server, line) = (other, None);
                    }
                    Some(Said::At(_) | Said::Wait) => {
                        std::thread::sleep(AGAIN);
                        if self.random.percent(15) {
                            (server, line) = (self.another(), None);
                        }
                    }
                    None => {
                        std::thread::sleep(AGAIN);
                        (server, line) = (self.another(), None);
                    }
                }
            }
            std::thread::sleep(Duration::from_millis(self.random.below(25)));
        }
    }

    fn show(&self, before: Before, answer: &Answer) {
        self.checker.shows(self.room, self.number, before, answer);
    }

    fn is_over(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.checker.violation().is_some()
    }

    fn another(&mut self) -> usize {
        self.random.below(self.ports.len() as u64) as usize
    }

    /// Sends a request, and waits for its answer; `None` if the server does not answer.
    fn ask(&self, server: usize, line: &mut Option<BufReader<TcpStream>>, request: &str) -> Option<Said> {
        if line.is_none() {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[server]));
            let stream = TcpStream::connect_timeout(&address, ANSWER_WITHIN).ok()?;
            stream.set_read_timeout(Some(ANSWER_WITHIN)).ok()?;
            stream.set_nodelay(true).ok()?;
            *line = Some(BufReader::new(stream));
        }
        let reader = line.as_mut()?;
        reader.get_mut().write_all(request.as_bytes()).ok()?;
        let mut text = String::new();
        if reader.read_line(&mut text).ok()? == 0 {
            return None;
        }
        self.parse(text.trim())
    }

    fn parse(&self, text: &str) -> Option<Said> {
        let answer = |owner: &str, epoch: &str, count: &str| {
            Some(Answer { owner: owner.to_owned(), epoch: epoch.parse().ok()?, count: count.parse().ok()? })
        };
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["wait"] => Some(Said::Wait),
            ["at", name] => {
                let index = name.strip_prefix('s')?.parse::<usize>().ok()?;
                Some(if index < self.ports.len() { Said::At(index) } else { Said::Wait })
            }
            ["done", owner, epoch, count] => answer(owner, epoch, count).map(Said::Confirmed),
            ["state", owner, epoch, count] => answer(owner, epoch, count).map(Said::State),
            ["broken", ..] => {
                self.checker.fail(format!("room {}: {text}", self.room));
                None
            }
            _ => None,
        }
    }
}

/// Orders the owner of a room to release it. Each server is asked, because any may be the owner.
pub(super) fn release(ports: &[u16], room: u8) {
    for port in ports {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
        if let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(50)) {
            // A server that is stopped reads the order later.
            let _ = stream.write_all(format!("release r{room}\n").as_bytes());
        }
    }
}
