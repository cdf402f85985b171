//! Hostile bytes as input, for the fuzz targets and for a short form in the tests.

use std::time::Duration;

use nowcast_session::packet::Packet;
use nowcast_session::{Carrier, Config, Entropy, LaneConfig, Limits, NoSource, Session, Time};

use crate::link::LinkConfig;
use crate::pair::End;
use crate::scenario::{self, Cast};
use crate::script::{LAWFUL_LANES, Operation, Script};

/// Reads a packet, and passes it to sessions in every phase. No session may panic, and parsed packets must be consistent.
pub fn noise(bytes: &[u8]) {
    if let Ok(Packet::Data(data)) = Packet::read(bytes) {
        assert!(data.frames().count() <= bytes.len(), "a frame takes at least a byte");
    }
    let now = Time::from_millis(1);
    let mut listening = Session::accept(now, config(), Carrier::DATAGRAMS, Entropy([1; 48]));
    listening.handle_packet(now, bytes);
    assert!(reply_bytes(&mut listening, now) <= bytes.len(), "no reply is longer than its request");
    let mut joined = Joined::new();
    for end in &mut joined.ends {
        end.handle_packet(joined.now, bytes);
    }
    joined.exchange(&mut |_| {});
}

/// Runs two sessions whose packets are changed on the path by `bytes`. So each peer breaks rules. No
/// session may panic or grow without bound. If a rule is broken, the session closes with a named reason.
pub fn mutations(bytes: &[u8]) {
    let mut joined = Joined::new();
    let mut orders = bytes.chunks_exact(4);
    for round in 0u64.. {
        if orders.len() == 0 || joined.ends.iter().any(Session::is_closed) {
            break;
        }
        for end in &mut joined.ends {
            let _ = end.put_state(joined.now, 0, 1 + round % 5, &round.to_le_bytes());
            if round % 3 == 0 {
                let _ = end.put_event(joined.now, (round % 4) as u8, &[7; 40]);
            }
            if round % 7 == 0 {
                let _ = end.put_state(joined.now, 1, 9, &[9; 3_000]);
            }
        }
        joined.exchange(&mut |packet| {
            if let Some(&[what, place, low, high]) = orders.next().and_then(|order| order.first_chunk()) {
                change(packet, what, place, u16::from_le_bytes([low, high]));
            }
        });
        for end in &joined.ends {
            assert!(end.gauges().unread <= 20_000, "unread messages are bounded");
        }
    }
}

fn change(packet: &mut Vec<u8>, what: u8, place: u8, number: u16) {
    let at = usize::from(place) % packet.len().max(1);
    match what % 8 {
        0 => packet[at] = number as u8,
        1 => packet[at] ^= 1 << (number % 8),
        2 => packet.truncate(at),
        3 => drop(packet.splice(at..at, number.to_le_bytes())),
        4 => packet.extend_from_slice(&number.to_le_bytes()),
        _ => {}
    }
}

/// Makes a script of `bytes`, runs it, and checks it against the laws.
///
/// # Panics
/// If a law is broken.
pub fn script(bytes: &[u8]) {
    let Some((&[link, keys], orders)) = bytes.split_first_chunk() else { return };
    let operations = orders.chunks_exact(4).take(400).map(|order| operation(order, u64::from(keys % 16) + 1));
    let script = Script {
        seed: link.into(),
        carrier: if link % 5 == 0 { Carrier::STREAM } else { Carrier::DATAGRAMS },
        link: link_of(link),
        operations: operations.collect(),
    };
    if let Err(what) = scenario::run(&script, Cast::Rust) {
        panic!("{what}\n{script}");
    }
}

fn link_of(number: u8) -> LinkConfig {
    let share = |bits: u8| f64::from(number >> bits & 3) / 20.0;
    LinkConfig {
        delay: Duration::from_millis(u64::from(number % 64)),
        loss: crate::link::Loss::Random(share(0)),
        reorder: share(2),
        duplicate: share(4),
        ..LinkConfig::default()
    }
}

fn operation(order: &[u8], keys: u64) -> (Duration, Operation) {
    let (what, a, b) = (order[0], u64::from(order[1]), u64::from(order[2]));
    let wait = Duration::from_micros(u64::from(order[3]) * 150);
    let end = End::BOTH[usize::from(what & 1)];
    let lane = (a % u64::from(LAWFUL_LANES)) as u8;
    let operation = match what >> 1 & 15 {
        0..=6 => Operation::Put { end, lane, key: 1 + b % keys, bytes: (a * 5) as usize },
        7..=9 => Operation::Put { end, lane, key: 0, bytes: b as usize },
        10 => Operation::Put { end, lane, key: b % 2, bytes: 1_000 + (a * 30) as usize },
        11..=12 => Operation::Ask { end, millis: a * 4 },
        13 => Operation::Stall { end, millis: a * 8 },
        14 => Operation::Kill { is_reported: [b & 1 == 0, b & 2 == 0], millis: a * 4, to_stream: b & 4 == 0 },
        _ => Operation::Hostile { end, number: a << 8 | b },
    };
    (wait, operation)
}

/// Two open sessions without a link between them.
struct Joined {
    ends: [Session; 2],
    now: Time,
}

fn config() -> Config {
    let limits = Limits { window_bytes: 16_384, message_bytes_max: 4_096, ..Limits::default() };
    let mut lanes = vec![LaneConfig::default(); 4];
    lanes[1].known_keys_max = 3;
    Config { limits, lanes, ..Config::default() }
}

impl Joined {
    fn new() -> Self {
        let now = Time::from_millis(1);
        let ends = [
            Session::connect(now, config(), Carrier::DATAGRAMS, Entropy([1; 48])),
            Session::accept(now, config(), Carrier::DATAGRAMS, Entropy([2; 48])),
        ];
        let mut joined = Self { ends, now };
        (0..4).for_each(|_| joined.exchange(&mut |_| {}));
        joined
    }

    /// Runs both ends for ten milliseconds. `change` changes every packet.
    fn exchange(&mut self, change: &mut dyn FnMut(&mut Vec<u8>)) {
        self.now += Duration::from_millis(10);
        let mut payload = Vec::new();
        for from in [0, 1] {
            self.ends[from].handle_timeout(self.now);
            let mut packet = Vec::new();
            for _ in 0..64 {
                packet.clear();
                if !self.ends[from].poll_packet(self.now, &mut NoSource, &mut packet) {
                    break;
                }
                change(&mut packet);
                self.ends[1 - from].handle_packet(self.now, &packet);
            }
            while self.ends[from].poll_message(self.now, &mut payload).is_some() {}
            while self.ends[from].poll_notice().is_some() {}
        }
    }
}

fn reply_bytes(session: &mut Session, now: Time) -> usize {
    let mut reply = Vec::new();
    while session.poll_packet(now, &mut NoSource, &mut reply) {}
    reply.len()
}
