//! Random lives of a session, checked against the laws at both ends.

use std::fmt;
use std::time::Duration;

use nowcast_queue::Bounds;
use nowcast_queue::conformance::Random;
use nowcast_session::packet::{self, HELLO_BYTES_MIN, Hello, Resume};
use nowcast_session::{Carrier, Config, LaneConfig, Limits, MessageKind, Notice, Refused, Session};

use crate::link::LinkConfig;
use crate::pair::{End, Pair};
use crate::record::Direction;
use crate::script::{COMMAND_LANE, MORTAL_LANE, Operation, Script};

/// A life that broke a law.
#[derive(Debug)]
pub struct Failure {
    /// `check(seed)` lives it again.
    pub seed: u64,
    /// What went wrong, in the shortest script found.
    pub what: String,
    /// The shortest script found that fails.
    pub script: Script,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            formatter,
            "{} (seed {}, {} operations)",
            self.what,
            self.seed,
            self.script.operations.len()
        )?;
        write!(formatter, "{}", self.script)
    }
}

impl std::error::Error for Failure {}

/// What a life consisted of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lived {
    /// Virtual time that passed.
    pub time: Duration,
    /// Packets that left both ends.
    pub packets: u64,
    /// Messages shown to both applications.
    pub messages: u64,
    /// Carriers that died.
    pub kills: u64,
}

/// Lives the life of this seed.
///
/// # Errors
/// The broken law, with a script as short as could be found.
pub fn check(seed: u64) -> Result<Lived, Box<Failure>> {
    let script = Script::random(seed);
    run(&script).map_err(|what| {
        let (script, what) = script.shrink(what, |script| run(script).err());
        Box::new(Failure { seed, what, script })
    })
}

/// Lives a script.
///
/// # Errors
/// The broken law, or the text of a panic.
pub fn run(script: &Script) -> Result<Lived, String> {
    std::panic::catch_unwind(|| live(script)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("panicked: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no text")))
    })
}

fn live(script: &Script) -> Result<Lived, String> {
    let mut life = Life::new(script);
    for (wait, operation) in &script.operations {
        life.pass(life.pair.now() + *wait)?;
        life.act(operation);
    }
    life.wind_down()?;
    Ok(life.lived())
}

/// Applications look for messages this often.
const READ_EVERY: Duration = Duration::from_millis(5);
/// After this long with a good link, everything must have arrived.
const WIND_DOWN_MAX: Duration = Duration::from_secs(120);

struct Life {
    pair: Pair,
    /// By the end that puts.
    directions: [Direction; 2],
    stalled_until: [Duration; 2],
    reads_at: Duration,
    /// A new carrier comes then.
    joins_at: Option<(Duration, Carrier)>,
    payload: Vec<u8>,
    kills: u64,
}

fn config() -> Config {
    let lane = LaneConfig { bounds: Bounds { entries_max: 4_096, bytes_max: 4 << 20 }, ..Default::default() };
    let limits = Limits { window_bytes: 65_536, message_bytes_max: 16_384, ..Limits::default() };
    let mut lanes = vec![lane; 8];
    lanes[0].class = 0;
    lanes[2].bytes_per_second_max = Some(50_000);
    Config { limits, lanes, ..Config::default() }
}

impl Life {
    fn new(script: &Script) -> Self {
        let link = link_for(script.carrier, &script.link);
        Self {
            pair: Pair::new(script.seed, [config(), config()], script.carrier, [link.clone(), link]),
            directions: [Direction::default(), Direction::default()],
            stalled_until: [Duration::ZERO; 2],
            reads_at: READ_EVERY,
            joins_at: None,
            payload: Vec::new(),
            kills: 0,
        }
    }

    fn lived(&self) -> Lived {
        let stats = End::BOTH.map(|end| self.pair.session(end).stats());
        Lived {
            time: self.pair.now(),
            packets: stats.iter().map(|stats| stats.packets_sent).sum(),
            messages: stats.iter().map(|stats| stats.messages_received).sum(),
            kills: self.kills,
        }
    }

    /// Time passes; applications read and carriers come.
    fn pass(&mut self, until: Duration) -> Result<(), String> {
        loop {
            let join = self.joins_at.map_or(Duration::MAX, |(at, _)| at);
            let next = self.reads_at.min(join).min(until);
            self.pair.run_until(next);
            if let Some((_, carrier)) = self.joins_at.take_if(|_| next == join) {
                self.pair.attach(carrier);
                let link = self.pair.link(End::Initiator).config().clone();
                self.relink(&link);
            }
            if next == self.reads_at {
                self.reads_at += READ_EVERY;
                for end in End::BOTH {
                    self.read(end)?;
                }
            }
            if next == until {
                return Ok(());
            }
        }
    }

    fn read(&mut self, end: End) -> Result<(), String> {
        self.notices(end)?;
        if self.stalled_until[end as usize] > self.pair.now() {
            return Ok(());
        }
        self.directions[end.peer() as usize].begin_go();
        let mut payload = std::mem::take(&mut self.payload);
        while let Some(message) = self.pair.with(end, |session, now| session.poll_message(now, &mut payload))
        {
            match message.kind {
                MessageKind::Reply { command } => self.directions[end as usize].ended(command)?,
                _ => self.directions[end.peer() as usize].got(&message, &payload)?,
            }
            if let MessageKind::Command { command } = message.kind {
                let reply =
                    |session: &mut Session, now| session.put_reply(now, message.lane, command, &payload);
                self.pair.with(end, reply).map_err(|refused| format!("a reply was refused: {refused}"))?;
            }
        }
        self.payload = payload;
        Ok(())
    }

    fn notices(&mut self, end: End) -> Result<(), String> {
        while let Some(notice) = self.pair.with(end, |session, _| session.poll_notice()) {
            self.directions[end as usize].noticed(&notice)?;
            // A carrier can also fall silent by itself, when nothing gets through for long.
            if notice == Notice::Detached && end == End::Initiator && self.joins_at.is_none() {
                let at = self.pair.now() + Duration::from_millis(50);
                self.pair.kill_carrier([false, false]);
                self.joins_at = Some((at, self.pair.carrier()));
            }
        }
        Ok(())
    }

    fn act(&mut self, operation: &Operation) {
        match operation {
            Operation::Put { end, lane, key, bytes } => self.put(*end, *lane, *key, *bytes),
            Operation::PutMortal { end, millis } => {
                let number = self.directions[*end as usize].put_mortal();
                let time_to_live = Some(Duration::from_millis(*millis));
                let put = self.pair.with(*end, |session, now| {
                    session.put_event(now, MORTAL_LANE, &number.to_le_bytes(), time_to_live)
                });
                assert_eq!(put, Ok(number), "events are named in the order put");
            }
            Operation::Ask { end, millis } => {
                let number = self.directions[*end as usize].next_command();
                let patience = Duration::from_millis(*millis);
                let put = self.pair.with(*end, |session, now| {
                    session.put_command(now, COMMAND_LANE, &number.to_le_bytes(), patience)
                });
                self.directions[*end as usize].put_command(put.expect("few commands wait at once"));
            }
            Operation::Stall { end, millis } => {
                self.stalled_until[*end as usize] = self.pair.now() + Duration::from_millis(*millis);
            }
            Operation::Kill { told, millis, to_stream } => self.kill(*told, *millis, *to_stream),
            Operation::Relink(link) => self.relink(link),
            Operation::Budget { end, bytes_per_second } => {
                self.pair.with(*end, |session, _| session.set_bytes_per_second_max(*bytes_per_second));
            }
            Operation::Hostile { end, number } => self.attack(*end, *number),
        }
    }

    fn put(&mut self, end: End, lane: u8, key: u64, bytes: usize) {
        let direction = &mut self.directions[end as usize];
        let payload = direction.payload(lane, bytes);
        let put = self.pair.with(end, |session, now| match key {
            0 => session.put_event(now, lane, &payload, None).map(drop),
            _ => session.put_state(now, lane, key, &payload),
        });
        match put {
            Ok(()) => direction.put(lane, key),
            Err(refused) => assert_eq!(refused, Refused::Full, "nothing else is wrong with the puts"),
        }
    }

    fn kill(&mut self, told: [bool; 2], millis: u64, to_stream: bool) {
        if !self.pair.session(End::Initiator).is_open() || self.joins_at.is_some() {
            return;
        }
        self.kills += 1;
        let carrier = if to_stream { Carrier::STREAM } else { Carrier::BARE_DATAGRAMS };
        self.pair.kill_carrier(told);
        let now = self.pair.now();
        self.joins_at = Some((now + Duration::from_millis(millis), carrier));
    }

    fn relink(&mut self, link: &LinkConfig) {
        let config = link_for(self.pair.carrier(), link);
        for end in End::BOTH {
            self.pair.link(end).reconfigure(config.clone());
        }
    }

    /// Bytes that must not harm: noise, old packets again, handshakes of strangers.
    fn attack(&mut self, end: End, number: u64) {
        let random = &mut Random::new(number);
        let carrier = self.pair.carrier();
        let bytes = match random.below(4) {
            0 if !carrier.is_checked => (0..random.below(1_500)).map(|_| random.number() as u8).collect(),
            1 if !carrier.is_reliable && self.pair.is_joined() => {
                let history = self.pair.history(end.peer());
                let Some(old) = history.get(random.below(64) as usize) else { return };
                old.clone()
            }
            2 => {
                let resume = Resume { session: [7; 8], token: [9; 16], epoch: 1 << 40 };
                let resume = random.percent(50).then_some(resume);
                let nonce = random.number().to_le_bytes();
                let limits = config().limits;
                let hello = Hello { version_min: 1, version_max: 9, nonce, clock: number, limits, resume };
                let mut bytes = Vec::with_capacity(HELLO_BYTES_MIN + 4);
                hello.write(&mut bytes);
                sealed(bytes, carrier)
            }
            _ => {
                let mut bytes = vec![if random.percent(50) { 0x81 } else { 0x82 }];
                bytes.extend((0..random.below(120)).map(|_| random.number() as u8));
                // Handshake packets that cannot be read close an open session, as the specification demands.
                if carrier.is_checked { return } else { bytes }
            }
        };
        // A HELLO in the place of the first one is just a session with somebody else.
        if self.pair.session(end).identity().is_some() {
            self.pair.inject(end, &bytes);
        }
    }

    /// The link heals, applications read, and all must arrive.
    fn wind_down(&mut self) -> Result<(), String> {
        let good = LinkConfig { delay: Duration::from_millis(20), ..LinkConfig::default() };
        self.relink(&good);
        self.stalled_until = [Duration::ZERO; 2];
        for end in End::BOTH {
            self.pair.with(end, |session, _| session.set_bytes_per_second_max(None));
        }
        let deadline = self.pair.now() + WIND_DOWN_MAX;
        loop {
            self.pass(self.pair.now() + Duration::from_millis(200))?;
            let is_done = self.joins_at.is_none()
                && End::BOTH.iter().all(|&end| {
                    let session = self.pair.session(end);
                    session.is_open() && session.is_drained()
                });
            if is_done {
                break;
            }
            if self.pair.now() > deadline {
                return Err(self.not_drained());
            }
        }
        // Deadlines of commands that were never answered pass.
        self.pass(self.pair.now() + Duration::from_secs(3))?;
        self.directions.iter().try_for_each(Direction::check)
    }

    fn not_drained(&self) -> String {
        let describe = |end: End| {
            let session = self.pair.session(end);
            format!(
                "{end:?}: open {}, detached {}, drained {}, {:?}",
                session.is_open(),
                session.is_detached(),
                session.is_drained(),
                session.gauges()
            )
        };
        format!("not drained in {WIND_DOWN_MAX:?}: {}; {}", describe(End::Initiator), describe(End::Acceptor))
    }
}

/// A reliable carrier hides what a link does, but for the time it takes.
fn link_for(carrier: Carrier, link: &LinkConfig) -> LinkConfig {
    if !carrier.is_reliable {
        return link.clone();
    }
    LinkConfig {
        delay: link.delay,
        jitter: link.jitter,
        rate_bits: link.rate_bits,
        queue_bytes: usize::MAX,
        ..LinkConfig::default()
    }
}

fn sealed(mut bytes: Vec<u8>, carrier: Carrier) -> Vec<u8> {
    if !carrier.is_checked {
        packet::seal(&mut bytes, 0);
    }
    bytes
}
