//! Two sessions, two links, one virtual clock.

use std::time::Duration;

use nowcast_queue::conformance::Random;
use nowcast_session::packet::{self, Hello};
use nowcast_session::{Carrier, CloseCode, Config, Entropy, NoReplication, Replication, Session, Time};

use crate::endpoint::Endpoint;
use crate::link::{Link, LinkConfig};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It sent the first HELLO.
    Initiator = 0,
    /// It answered.
    Acceptor = 1,
}

impl End {
    /// Both.
    pub const BOTH: [End; 2] = [End::Initiator, End::Acceptor];

    /// The opposite end.
    pub fn peer(self) -> End {
        match self {
            End::Initiator => End::Acceptor,
            End::Acceptor => End::Initiator,
        }
    }
}

/// Two sessions joined by a link in each direction, driven in virtual time as a real driver would do it.
///
/// Their clocks differ by an offset, like the clocks of two machines. The ends are sessions of this process, unless
/// [`Pair::between`] received others.
pub struct Pair<E: Endpoint + ?Sized = Session> {
    now: Duration,
    ends: [Node<E>; 2],
    random: Random,
    carrier: Carrier,
    /// The carrier each end uses; a kill begins a new one.
    generation: u64,
    /// The last packets that left each end, for replaying.
    history: [Vec<Vec<u8>>; 2],
    /// Foreign packets on the same link that arrived.
    crossed: Vec<Vec<u8>>,
}

struct Node<E: ?Sized> {
    session: Box<E>,
    clock_offset: Duration,
    link: Link,
    wakes_at: Option<Duration>,
    generation: u64,
    /// Whether it is an acceptor whose process began after the other end: the first HELLO without a session begins one,
    /// and a HELLO that would resume another is refused.
    is_new: bool,
    sources: Box<dyn Replication>,
}

/// Maximum packets that are kept for replaying.
const HISTORY_MAX: usize = 64;
/// First byte of foreign packets on the same link; no packet of a session begins with it.
pub const CROSS_TRAFFIC: u8 = 0xFF;

impl Pair {
    /// Both ends and the links between them; `links` go from the initiator to the acceptor and back.
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
    /// Like [`Pair::new`], with ends of any kind: `begin` makes each, initiator first.
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
            sources: Box::new(NoReplication),
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

    /// Feeds the lanes of one end that have a source.
    pub fn set_source(&mut self, end: End, source: Box<dyn Replication>) {
        self.ends[end as usize].sources = source;
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Returns the time on the clock of one end.
    pub fn clock(&self, end: End) -> Time {
        Time::default() + self.ends[end as usize].clock_offset + self.now
    }

    /// Virtual time at which the clock of one end showed `time`.
    pub fn at(&self, end: End, time: Time) -> Duration {
        time.since(Time::default() + self.ends[end as usize].clock_offset)
    }

    /// The session of one end, for inspection.
    pub fn session(&self, end: End) -> &E {
        &self.ends[end as usize].session
    }

    /// Runs `act` with the session of one end and its clock; the session is polled at once afterwards.
    pub fn with<T>(&mut self, end: End, act: impl FnOnce(&mut E, Time) -> T) -> T {
        let clock = self.clock(end);
        let node = &mut self.ends[end as usize];
        node.wakes_at = Some(self.now);
        act(&mut node.session, clock)
    }

    /// Like [`Self::with`], for calls that give the session nothing to send.
    pub fn with_quietly<T>(&mut self, end: End, act: impl FnOnce(&mut E, Time) -> T) -> T {
        let clock = self.clock(end);
        act(&mut self.ends[end as usize].session, clock)
    }

    /// The link from `end` to its peer.
    pub fn link(&mut self, end: End) -> &mut Link {
        &mut self.ends[end as usize].link
    }

    /// Takes the foreign packets ([`CROSS_TRAFFIC`]) that have crossed a link since the last call.
    pub fn take_crossed(&mut self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.crossed)
    }

    /// The packets that left `end` last.
    pub fn history(&self, end: End) -> &[Vec<u8>] {
        &self.history[end as usize]
    }

    /// Hands bytes to `end` as if its carrier had brought them.
    pub fn inject(&mut self, end: End, bytes: &[u8]) {
        self.deliver(end, bytes);
    }

    /// Whether both ends use the same carrier.
    pub fn is_joined(&self) -> bool {
        self.ends.iter().all(|node| node.generation == self.generation)
    }

    /// The link between the ends.
    pub fn carrier(&self) -> Carrier {
        self.carrier
    }

    /// The carrier dies with all packets on it; `told` lists the ends that learn it at once.
    pub fn kill_carrier(&mut self, told: [bool; 2]) {
        self.generation += 1;
        for (end, told) in End::BOTH.into_iter().zip(told) {
            let config = self.ends[end as usize].link.config().clone();
            let seed = self.random.number();
            self.ends[end as usize].link = Link::new(shifted(config), seed);
            if told {
                self.with(end, |session, now| session.detach(now));
            }
        }
    }

    /// The initiator gets a new carrier; the acceptor gets it with the HELLO on it.
    pub fn attach(&mut self, carrier: Carrier) {
        self.carrier = carrier;
        let entropy = entropy(&mut self.random);
        self.ends[0].generation = self.generation;
        self.with(End::Initiator, |session, now| session.attach(now, carrier, entropy));
    }

    /// A new process replaces one end, with a session without state. An acceptor waits for a HELLO on the next carrier;
    /// an initiator begins on `carrier` at once. The previous carrier must be dead ([`Self::kill_carrier`]).
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

    /// Lets time pass up to `until`, not beyond; returns early at nothing.
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

    /// When the next event happens without a call.
    pub fn next_event(&self) -> Option<Duration> {
        let of_node = |node: &Node<E>| [node.link.next_due(), node.wakes_at];
        self.ends.iter().flat_map(of_node).flatten().min()
    }

    /// Does all that is due now.
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
            // Handles the first packet of a carrier that a server does not know.
            let body = if carrier.is_checked { Some(packet) } else { packet::open(packet) };
            let Some(hello) = body.and_then(|body| Hello::read(body).ok()) else { return };
            match &hello.resume {
                Some(resume) if node.session.may_resume(resume) => {
                    node.session.attach(clock, carrier, entropy(&mut self.random));
                }
                Some(_) if node.is_new => {
                    let mut refusal = Vec::new();
                    let (code, text) = (CloseCode::UNKNOWN_SESSION, "there is no such session here");
                    Session::refuse(&hello, code, text, carrier, &mut refusal);
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
            // A session that asks to be called now, but has nothing to send, is called a microsecond later.
            at.max(self.now + Duration::from_micros(1))
        });
    }
}

fn entropy(random: &mut Random) -> Entropy {
    let mut bytes = [0; 48];
    bytes.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&random.number().to_le_bytes()));
    Entropy(bytes)
}

/// A new link of the same kind. Its time begins at 0, so outages of the old one are over.
fn shifted(config: LinkConfig) -> LinkConfig {
    LinkConfig { outages: Vec::new(), ..config }
}
