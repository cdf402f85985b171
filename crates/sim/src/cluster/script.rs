//! The script of one simulated cluster, as data. A script is generated from a seed, printed as text, and shortened after a failure.

use std::fmt;

use nowcast_queue::conformance::Random;

/// Milliseconds of virtual time in which faults begin and end.
pub const FAULTS_MS: u64 = 2_500;
/// Milliseconds of virtual time without faults, in which every room must be found again.
pub const CALM_MS: u64 = 4_000;
/// Maximum number of servers.
pub(super) const SERVERS_MAX: u8 = 4;
/// Maximum number of rooms.
pub(super) const ROOMS_MAX: u8 = 2;
/// Maximum number of clients.
pub(super) const CLIENTS_MAX: usize = 4;

/// A fault, or an order of the operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// Stops a server's process (SIGSTOP), and resumes it later.
    Pause {
        /// The server.
        server: u8,
        /// Duration.
        ms: u64,
    },
    /// Kills a server's process, and starts the next one later.
    Kill {
        /// The server.
        server: u8,
        /// Time until the start.
        ms: u64,
    },
    /// Cuts a server off from NATS.
    CutNats {
        /// The server.
        server: u8,
        /// Duration.
        ms: u64,
    },
    /// NATS has no leader. Requests are lost, or carried out late.
    NatsDown {
        /// Duration.
        ms: u64,
    },
    /// The bucket of rooms has no leader, while all other streams have theirs: updates of rooms' entries are lost, or carried out
    /// late. Followers answer reads.
    RoomsDown {
        /// Duration.
        ms: u64,
    },
    /// The disks of NATS are full: it refuses to store anything, and answers reads.
    NatsFull {
        /// Duration.
        ms: u64,
    },
    /// The disks of NATS are slow.
    NatsSlow {
        /// Duration.
        ms: u64,
        /// Additional delay of each request.
        by_ms: u64,
    },
    /// The operator moves a room.
    Move {
        /// The room.
        room: u8,
        /// The target.
        to: u8,
    },
    /// The operator drains a server, and starts it again later.
    Drain {
        /// The server.
        server: u8,
        /// Duration.
        ms: u64,
    },
    /// A server ends in order (SIGTERM), and the next process starts later.
    Leave {
        /// The server.
        server: u8,
        /// Time until the start.
        ms: u64,
    },
    /// All clients leave a room for a moment.
    Desert {
        /// The room.
        room: u8,
    },
    /// The clock of a server jumps. This exceeds the bound, so the script has wild clocks.
    Jump {
        /// The server.
        server: u8,
        /// Milliseconds forward.
        ms: u64,
    },
}

/// The life of a cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct Script {
    /// The seed, from which all delays and losses are derived.
    pub seed: u64,
    /// Number of servers.
    pub servers: u8,
    /// Number of rooms.
    pub rooms: u8,
    /// Number of clients.
    pub clients: u8,
    /// Percentage of NATS answers that are lost although the request was carried out.
    pub lost_answers: u64,
    /// Percentage of reads that are old.
    pub stale_reads: u64,
    /// Percentage of messages between servers that are lost.
    pub lost_messages: u64,
    /// The rate error of each server's clock, in parts per million.
    pub clock_ppm: [i64; SERVERS_MAX as usize],
    /// Whether clocks exceed the bound. Then only the promises of the journal hold, and only they are checked.
    pub has_wild_clocks: bool,
    /// Whether the last server has the name of the first one, and starts in the middle of the faults.
    pub has_twin: bool,
    /// The faults, each with its time in milliseconds.
    pub faults: Vec<(u64, Fault)>,
}

impl Script {
    /// Makes the script of a seed.
    #[must_use]
    pub fn random(seed: u64) -> Script {
        let random = &mut Random::new(seed ^ 0xC1_0573);
        let servers = 2 + random.below(u64::from(SERVERS_MAX) - 1) as u8;
        let rooms = if random.percent(25) { ROOMS_MAX } else { 1 };
        let has_wild_clocks = random.percent(10);
        let ppm_max = if has_wild_clocks { 300_000 } else { nowcast_cluster::RATE_ERROR_PPM_MAX };
        let clock_ppm = [(); SERVERS_MAX as usize]
            .map(|()| if random.percent(50) { ppm_max as i64 } else { -(ppm_max as i64) })
            .map(|worst| if random.percent(50) { worst } else { worst / (1 + random.below(9) as i64) });
        let has_twin = servers > 2 && random.percent(10);
        let count = random.below(9);
        let mut faults: Vec<(u64, Fault)> = (0..count)
            .map(|_| (random.below(FAULTS_MS), random_fault(random, servers, rooms, has_wild_clocks)))
            .collect();
        faults.sort_by_key(|(at, _)| *at);
        Script {
            seed,
            servers,
            rooms,
            clients: 1 + random.below(CLIENTS_MAX as u64) as u8,
            lost_answers: if random.percent(50) { random.below(12) } else { 0 },
            stale_reads: if random.percent(60) { random.below(50) } else { 0 },
            lost_messages: if random.percent(40) { random.below(10) } else { 0 },
            clock_ppm,
            has_wild_clocks,
            has_twin,
            faults,
        }
    }

    /// Makes the script of a seed in which a hand-over commits, and no server can correct the room's entry: its bucket has no leader,
    /// and the source is killed. The entry still names the source as the owner when the source's lease is over, and reads are often old.
    #[must_use]
    pub fn around_hand_over(seed: u64) -> Script {
        let random = &mut Random::new(seed ^ 0x0A_4D0);
        let moved_at = 700 + random.below(200);
        let to = random.below(3) as u8;
        let source = (to + 1 + random.below(2) as u8) % 3;
        let faults = vec![
            (moved_at, Fault::Move { room: 0, to }),
            (moved_at + 100 + random.below(150), Fault::RoomsDown { ms: 900 + random.below(500) }),
            (moved_at + 200 + random.below(400), Fault::Kill { server: source, ms: 1_200 }),
        ];
        Script {
            seed,
            servers: 3,
            rooms: 1,
            clients: 2,
            lost_answers: 0,
            stale_reads: 45,
            lost_messages: 0,
            clock_ppm: [0; SERVERS_MAX as usize],
            has_wild_clocks: false,
            has_twin: false,
            faults,
        }
    }

    /// Makes the script of a seed in which the room's entry cannot be corrected after a move that was given up, and the room moves
    /// again.
    #[must_use]
    pub fn around_second_move(seed: u64) -> Script {
        let random = &mut Random::new(seed ^ 0x25_4D0);
        let down_at = 300 + random.below(200);
        let down_ms = 1_300 + random.below(500);
        let (first, second) = (random.below(3) as u8, random.below(3) as u8);
        let again_at = down_at + down_ms - random.below(300);
        let faults = vec![
            (down_at, Fault::RoomsDown { ms: down_ms }),
            (down_at + random.below(200), Fault::Move { room: 0, to: first }),
            (again_at, Fault::Move { room: 0, to: second }),
        ];
        let lost_answers = random.below(6);
        Script { servers: 3, lost_answers, faults, ..Script::around_hand_over(seed) }
    }

    /// Makes a seed's script in which the source of a move is suspended for longer than its lease, and then gets the room back.
    #[must_use]
    pub fn around_paused_source(seed: u64) -> Script {
        let random = &mut Random::new(seed ^ 0x9A_05E);
        let moved_at = 400 + random.below(200);
        let source = random.below(3) as u8;
        let to = (source + 1 + random.below(2) as u8) % 3;
        let (paused_at, ms) = (moved_at + 50 + random.below(300), 500 + random.below(200));
        let faults = vec![
            (moved_at, Fault::Move { room: 0, to }),
            (paused_at, Fault::Pause { server: source, ms }),
            (paused_at + ms + random.below(400), Fault::Move { room: 0, to: source }),
        ];
        Script { servers: 3, faults, ..Script::around_hand_over(seed) }
    }

    /// Returns the shortest script that was found and still fails, and its failure.
    #[must_use]
    pub fn shrink(self, first: String, fails: impl Fn(&Script) -> Option<String>) -> (Script, String) {
        let (mut best, mut what) = (self, first);
        let mut index = 0;
        while index < best.faults.len() {
            let mut shorter = best.clone();
            shorter.faults.remove(index);
            match fails(&shorter) {
                Some(failure) => (best, what) = (shorter, failure),
                None => index += 1,
            }
        }
        for simpler in [
            Script { lost_messages: 0, ..best.clone() },
            Script { lost_answers: 0, ..best.clone() },
            Script { stale_reads: 0, ..best.clone() },
        ] {
            let simpler = Script { faults: best.faults.clone(), ..simpler };
            if let Some(failure) = fails(&simpler) {
                (best, what) = (simpler, failure);
            }
        }
        (best, what)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}: {} servers, {} rooms, {} clients; lost answers {} %, old reads {} %, lost messages {} %, clocks {:?} ppm",
            self.seed,
            self.servers,
            self.rooms,
            self.clients,
            self.lost_answers,
            self.stale_reads,
            self.lost_messages,
            &self.clock_ppm[..usize::from(self.servers)],
        )?;
        self.faults.iter().try_for_each(|(at, fault)| writeln!(f, "  {at:>5} ms  {fault:?}"))
    }
}

fn random_fault(random: &mut Random, servers: u8, rooms: u8, has_wild_clocks: bool) -> Fault {
    let server = random.below(servers.into()) as u8;
    let room = random.below(rooms.into()) as u8;
    let ms_max = if random.percent(30) { 2_000 } else { 600 };
    let ms = 1 + random.below(ms_max);
    match random.below(100) {
        0..=19 => Fault::Pause { server, ms },
        20..=33 => Fault::Kill { server, ms },
        34..=43 => Fault::CutNats { server, ms },
        44..=48 => Fault::Leave { server, ms },
        49..=52 => Fault::Desert { room },
        53..=56 => Fault::NatsDown { ms },
        57..=58 => Fault::NatsFull { ms },
        59..=62 => Fault::NatsSlow { ms, by_ms: random.below(80) },
        63..=65 => Fault::RoomsDown { ms },
        66..=89 => Fault::Move { room, to: server },
        90..=96 => Fault::Drain { server, ms },
        _ if has_wild_clocks => Fault::Jump { server, ms },
        _ => Fault::Pause { server, ms: ms.min(100) },
    }
}
