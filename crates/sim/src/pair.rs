//! Two sessions, two links, one virtual clock.

use std::time::Duration;

use nowcast_queue::conformance::Random;
use nowcast_session::packet::{Hello, Refuse};
use nowcast_session::{Carrier, CloseCode, Config, Entropy, NoSource, Session, Source, Time};

use crate::endpoint::Endpoint;
use crate::link::{Link, LinkConfig};

/// The two ends of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end that sent the first HELLO.
    Initiator = 0,
    /// The end that answered.
    Acceptor = 1,
}

impl End {
    /// Both ends.
    pub const BOTH: [End; 2] = [End::Initiator, End::Acceptor];

    /// The opposite end.
    pub fn peer(self) -> End {
        match self {
            End::Initiator => End::Acceptor,
            End::Acceptor => End::Initiator,
        }
    }
}

/// Two sessions that are joined by a link in each direction. Both sessions are driven in virtual time, in the same way as by a
/// real driver.
///
/// The clocks of the two sessions differ by an offset, as the clocks of two machines do. The ends are sessions in this process,
/// unless [`Pair::between`] was given other ends.
pub struct Pair<E: Endpoint + ?Sized = Session> {
    now: Duration,
    ends: [Node<E>; 2],
    random: Random,
    carrier: Carrier,
    /// The number of the carrier that each end uses. A kill begins a new one.
    generation: u64,
    /// The last packets that left each end. They can be replayed.
    history: [Vec<Vec<u8>>; 2],
    /// Foreign packets that have crossed the same link.
    crossed: Vec<Vec<u8>>,
}

struct Node<E: ?Sized> {
    session: Box<E>,
    clock_offset: Duration,
    link: Link,
    wakes_at: Option<Duration>,
    generation: u64,
    /// Whether the end is an acceptor whose process began after the other end. The first HELLO without a session then begins a
    /// session, and a HELLO that would resume another session is refused.
    is_new: bool,
    sources: Box<dyn Source>,
}

/// Maximum number of packets that are stored for replaying.
const HISTORY_MAX: usize = 64;
/// First byte of foreign packets on the same link. No packet of a session begins with it.
pub const CROSS_TRAFFIC: u8 = 0xFF;

impl Pair {
    /// Makes both ends and the links between them. `links` are the link from the initiator to the acceptor, and the link back.
    pub fn new(seed: u64, configs: [Config; 2], carrier: Carrier, links: [LinkConfig; 2]) -> Self {
        let mut configs = configs.map(Some);
        Self::between(seed, carrier, links, |end, now, entropy| {
            let config = configs[end as usize].take().expect("each end begins once");
            Box::new(match end {
                End::Initiator => Session::connect(now, config, carrier, entropy),
                End::Acceptor => Session::accept(now, config, carrier, entropy),
            })
        })
    }
}

impl<E: Endpoint + ?Sized> Pair<E> {
    /// Like [`Pair::new`], for ends of any kind. `begin` makes each end, the initiator first.
    pub fn between(
        seed: u64,
        carrier: Carrier,
        links: [LinkConfig; 2],
        mut begin: impl FnMut(End, Time, Entropy) -> Box<E>,
    ) -> Self {
        let mut random = Random::new(seed);
        let offsets = [Duration::from_secs(1_000), Duration::from_micros(random.below(1 << 40))];
        let sessions = End::BOTH.map(|end| {
            let entropy = entropy(&mut random);
            begin(end, Time::default() + offsets[end as usize], entropy)
        });
        let mut links = links.map(|link| Link::new(link, random.number())).into_iter();
        let mut offsets = offsets.into_iter();
        let ends = sessions.map(|session| Node {
            session,
            clock_offset: offsets.next().expect("there are two"),
            link: links.next().expect("there are two"),
            wakes_at: Some(Duration::ZERO),
            generation: 0,
            is_new: false,
            sources: Box::new(NoSource),
        });
        Self {
            now: Duration::ZERO,
            ends,
            random,
            carrier,
            generation: 0,
            history: [Vec::new(), Vec::new()],
            crossed: Vec::new(),
        }
    }

    /// Sets the source for the lanes of one end that have a source.
    pub fn set_source(&mut self, end: End, source: Box<dyn Source>) {
        self.ends[end as usize].sources = source;
    }

    /// Returns the virtual time since the start.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Returns the time on the clock of one end.
    pub fn clock(&self, end: End) -> Time {
        Time::default() + self.ends[end as usize].clock_offset + self.now
    }

    /// Returns the virtual time at which the clock of one end showed `time`.
    pub fn at(&self, end: End, time: Time) -> Duration {
        time.since(Time::default() + self.ends[end as usize].clock_offset)
    }

    /// Returns the session of one end, for inspection.
    pub fn session(&self, end: End) -> &E {
        &self.ends[end as usize].session
    }

    /// Calls `act` with the session of one end and the time of its clock. Afterwards the session is polled at once.
    pub fn with<T>(&mut self, end: End, act: impl FnOnce(&mut E, Time) -> T) -> T {
        let clock = self.clock(end);
        let node = &mut self.ends[end as usize];
        node.wakes_at = Some(self.now);
        act(&mut node.session, clock)
    }

    /// Like [`Self::with`], for calls after which the session has nothing to send.
    pub fn with_quietly<T>(&mut self, end: End, act: impl FnOnce(&mut E, Time) -> T) -> T {
        let clock = self.clock(end);
        act(&mut self.ends[end as usize].session, clock)
    }

    /// Returns the link from `end` to its peer.
    pub fn link(&mut self, end: End) -> &mut Link {
        &mut self.ends[end as usize].link
    }

    /// Takes the foreign packets ([`CROSS_TRAFFIC`]) that have crossed a link since the last call.
    pub fn take_crossed(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.crossed)
    }

    /// Returns the packets that left `end` last.
    pub fn history(&self, end: End) -> &[Vec<u8>] {
        &self.history[end as usize]
    }

    /// Passes bytes to `end` as if its carrier had delivered them.
    pub fn inject(&mut self, end: End, bytes: &[u8]) {
        self.deliver(end, bytes);
    }

    /// Whether both ends use the same carrier.
    pub fn is_joined(&self) -> bool {
        self.ends.iter().all(|node| node.generation == self.generation)
    }

    /// Returns the properties of the carrier between the ends.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// Kills the carrier, with all packets on it. `is_reported` states which ends learn of the kill at once.
    pub fn kill_carrier(&mut self, is_reported: [bool; 2]) {
        self.generation += 1;
        for (end, is_reported) in End::BOTH.into_iter().zip(is_reported) {
            let config = self.ends[end as usize].link.config().clone();
            let seed = self.random.number();
            self.ends[end as usize].link = Link::new(shifted(config), seed);
            if is_reported {
                self.with(end, |session, now| session.detach(now));
            }
        }
    }

    /// Attaches a new carrier to the initiator. The acceptor gets the carrier when the HELLO arrives on it.
    pub fn attach(&mut self, carrier: Carrier) {
        self.carrier = carrier;
        let entropy = entropy(&mut self.random);
        self.ends[0].generation = self.generation;
        self.with(End::Initiator, |session, now| session.attach(now, carrier, entropy));
    }

    /// Replaces one end by a new process. The session of the new process has no state. An acceptor waits for a HELLO on the next
    /// carrier. An initiator begins on `carrier` at once. The previous carrier must be dead ([`Self::kill_carrier`]).
    pub fn replace(&mut self, end: End, carrier: Carrier, begin: impl FnOnce(Time, Entropy) -> Box<E>) {
        let clock = self.clock(end);
        let entropy = entropy(&mut self.random);
        self.history[end as usize].clear();
        let node = &mut self.ends[end as usize];
        node.session = begin(clock, entropy);
        node.wakes_at = Some(self.now);
        node.is_new = end == End::Acceptor;
        if end == End::Initiator {
            self.carrier = carrier;
            node.generation = self.generation;
        }
    }

    /// Lets time pass up to `until`, and not beyond.
    pub fn run_until(&mut self, until: Duration) {
        loop {
            self.settle();
            match self.next_event() {
                Some(next) if next <= until => self.now = self.now.max(next),
                _ => break,
            }
        }
        self.now = self.now.max(until);
        self.settle();
    }

    /// Returns the time of the next event that happens without a call.
    pub fn next_event(&self) -> Option<Duration> {
        let of_node = |node: &Node<E>| [node.link.next_due(), node.wakes_at];
        self.ends.iter().flat_map(of_node).flatten().min()
    }

    /// Does everything that is due now.
    fn settle(&mut self) {
        for end in End::BOTH {
            while let Some(delivery) = self.ends[end as usize].link.receive(self.now) {
                if delivery.packet.first() == Some(&CROSS_TRAFFIC) {
                    self.crossed.push(delivery.packet);
                } else {
                    self.deliver(end.peer(), &delivery.packet);
                }
            }
        }
        for end in End::BOTH {
            if self.ends[end as usize].wakes_at.is_some_and(|wakes_at| wakes_at <= self.now) {
                self.wake(end);
            }
        }
    }

    fn deliver(&mut self, end: End, packet: &[u8]) {
        let clock = self.clock(end);
        let carrier = self.carrier;
        let node = &mut self.ends[end as usize];
        node.wakes_at = Some(self.now);
        if node.generation != self.generation {
            // This is the first packet of a carrier that the server does not know.
            let Ok(hello) = Hello::read(packet) else { return };
            match &hello.resume {
                Some(resume) if node.session.may_resume(resume) => {
                    node.session.attach(clock, carrier, entropy(&mut self.random));
                }
                Some(_) if node.is_new => {
                    let mut refusal = Vec::new();
                    let (code, text) = (CloseCode::UNKNOWN_SESSION, "there is no such session here");
                    Refuse::new(hello.nonce, code, text).write(&mut refusal);
                    node.link.send(self.now, refusal);
                    return;
                }
                None if node.is_new => node.is_new = false,
                _ => return,
            }
            node.generation = self.generation;
        }
        node.session.handle_packet(clock, packet);
    }

    fn wake(&mut self, end: End) {
        let clock = self.clock(end);
        let is_attached = self.ends[end as usize].generation == self.generation;
        let node = &mut self.ends[end as usize];
        let mut packets = Vec::new();
        let wakes_at = node.session.wake(clock, node.sources.as_mut(), &mut packets);
        let history = &mut self.history[end as usize];
        for packet in packets.into_iter().filter(|_| is_attached) {
            if history.len() == HISTORY_MAX {
                history.remove(0);
            }
            history.push(packet.clone());
            node.link.send(self.now, packet);
        }
        node.wakes_at = wakes_at.map(|at| {
            let at = at.since(Time::default() + node.clock_offset);
            // If a session requests a call now but has nothing to send, the session is called a microsecond later.
            at.max(self.now + Duration::from_micros(1))
        });
    }
}

fn entropy(random: &mut Random) -> Entropy {
    let mut bytes = [0; 48];
    bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.number().to_le_bytes()));
    Entropy(bytes)
}

/// Returns a new link with the same properties. Its time begins at 0, so the outages of the old link are in the past.
fn shifted(config: LinkConfig) -> LinkConfig {
    LinkConfig { outages: Vec::new(), ..config }
}
