//! Random scenarios of a session. Each is checked against the laws at both ends.

mod restarts;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use nowcast_queue::Bounds;
use nowcast_queue::conformance::Random;
use nowcast_session::packet::{Hello, Resume};
use nowcast_session::{
    Carrier, Config, Entropy, LaneConfig, Limits, MessageKind, Notice, Refused, Session, Time,
};

use crate::durable::DURABLE_LANE;
use crate::endpoint::{Endpoint, Traffic};
use crate::link::LinkConfig;
use crate::pair::{End, Pair};
use crate::record::Direction;
use crate::script::{COMMAND_LANE, Operation, Script};
use crate::stream::{STREAM_EVERY, STREAM_LANE, Stream};
use restarts::{Engine, Gone};

/// A run that broke a law.
#[derive(Debug)]
pub struct Failure {
    /// The seed of the run. The function that found the failure, [`check`] or [`check_restarts`], repeats the run with this
    /// seed.
    pub seed: u64,
    /// The violation in the shortest script that was found.
    pub what: String,
    /// The shortest failing script that was found.
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

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lived {
    /// Virtual time that passed.
    pub time: Duration,
    /// Packets that left both ends.
    pub packets: u64,
    /// Messages shown to both applications.
    pub messages: u64,
    /// Number of streams whose ages were checked (law 5).
    pub streams: u64,
    /// Number of carriers that were killed.
    pub kills: u64,
    /// Number of processes that were killed, each with its carrier.
    pub restarts: u64,
    /// Durable actions that clients began.
    pub acts: u64,
}

/// An implementation of the session other than `nowcast-session`. It can be one of the two ends.
pub trait OtherImplementation: fmt::Debug {
    /// Begins a session. The previous session is dropped.
    ///
    /// Scenarios change only two fields of `limits`: the window and the maximum size of a message.
    fn begin(
        &self,
        end: End,
        now: Time,
        carrier: Carrier,
        limits: &Limits,
        entropy: Entropy,
    ) -> Box<dyn Endpoint>;
}

/// The implementations at the two ends.
#[derive(Clone, Copy, Debug)]
pub enum Cast<'a> {
    /// Our implementation at both ends.
    Rust,
    /// Our implementation at one end, and another one at the other.
    Across {
        /// The other implementation.
        peer: &'a dyn OtherImplementation,
        /// The end of the other implementation.
        end: End,
    },
}

impl<'a> Cast<'a> {
    /// Puts the other implementation at the initiator for even seeds, and at the acceptor for odd seeds.
    pub fn across(peer: &'a dyn OtherImplementation, seed: u64) -> Self {
        Self::Across { peer, end: End::BOTH[(seed % 2) as usize] }
    }

    fn begin(self, end: End, now: Time, carrier: Carrier, entropy: Entropy) -> Box<dyn Endpoint> {
        match self {
            Cast::Across { peer, end: foreign } if foreign == end => {
                peer.begin(end, now, carrier, &config().limits, entropy)
            }
            _ if end == End::Initiator => Box::new(Session::connect(now, config(), carrier, entropy)),
            _ => Box::new(Session::accept(now, config(), carrier, entropy)),
        }
    }
}

/// Runs the scenario of this seed.
///
/// # Errors
/// The law that was broken, with the shortest script that could be found.
pub fn check(seed: u64) -> Result<Lived, Box<Failure>> {
    check_with(seed, Cast::Rust)
}

/// Like [`check`], between the implementations of `cast`.
///
/// # Errors
/// The law that was broken, with the shortest script that could be found.
pub fn check_with(seed: u64, cast: Cast<'_>) -> Result<Lived, Box<Failure>> {
    check_script(seed, Script::random(seed), cast)
}

/// Like [`check_with`], but processes are killed at either end, and durable actions must survive the kills. The laws hold
/// within each session. Over all sessions, each confirmed action is applied once, and each other action at most once.
///
/// # Errors
/// The law that was broken, with the shortest script that could be found.
pub fn check_restarts(seed: u64, cast: Cast<'_>) -> Result<Lived, Box<Failure>> {
    check_script(seed, Script::with_restarts(seed), cast)
}

fn check_script(seed: u64, script: Script, cast: Cast<'_>) -> Result<Lived, Box<Failure>> {
    run(&script, cast).map_err(|what| {
        let (script, what) = script.shrink(what, |script| run(script, cast).err());
        Box::new(Failure { seed, what, script })
    })
}

/// Runs a script.
///
/// # Errors
/// The law that was broken, or the text of a panic.
pub fn run(script: &Script, cast: Cast<'_>) -> Result<Lived, String> {
    // The state that a panic leaves is dropped, and the next run starts with new state.
    catch_unwind(AssertUnwindSafe(|| live(script, cast))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        Err(format!("panicked: {}", text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no text")))
    })
}

fn live(script: &Script, cast: Cast<'_>) -> Result<Lived, String> {
    let mut life = Life::new(script, cast);
    life.begin_acts()?;
    for (wait, operation) in &script.operations {
        life.pass(life.pair.now() + *wait)?;
        life.act(operation)?;
    }
    life.wind_down()?;
    Ok(life.lived())
}

/// Interval at which the applications poll for messages.
const READ_EVERY: Duration = Duration::from_millis(5);
/// Time on a good link after which everything must have arrived.
const WIND_DOWN_MAX: Duration = Duration::from_secs(120);

struct Life<'c> {
    cast: Cast<'c>,
    pair: Pair<dyn Endpoint>,
    /// The two directions, indexed by the end that puts.
    directions: [Direction; 2],
    stalled_until: [Duration; 2],
    reads_at: Duration,
    /// The time at which a new carrier is attached, and its properties.
    joins_at: Option<(Duration, Carrier)>,
    gone: Option<Gone>,
    /// The stream at present, and the end that gets it.
    stream: Option<(End, Stream)>,
    streams: u64,
    /// The state of durable actions, in runs that have them.
    engine: Option<Engine>,
    kills: u64,
    restarts: u64,
    /// The traffic of the sessions of processes that have ended.
    past: Traffic,
}

fn config() -> Config {
    let lane = LaneConfig { bounds: Bounds { entries_max: 4_096, bytes_max: 4 << 20 }, ..Default::default() };
    let limits = Limits { window_bytes: 65_536, message_bytes_max: 16_384, ..Limits::default() };
    let mut lanes = vec![lane; 8];
    lanes[0].class = 0;
    lanes[2].bytes_per_second_max = Some(50_000);
    // The scenarios use few keys, so these lanes forget often.
    lanes.iter_mut().step_by(2).for_each(|lane| lane.known_keys_max = 3);
    Config { limits, lanes, ..Config::default() }
}

impl<'c> Life<'c> {
    fn new(script: &Script, cast: Cast<'c>) -> Self {
        let (carrier, link) = (script.carrier, link_for(script.carrier, &script.link));
        let links = [link.clone(), link];
        let pair = Pair::between(script.seed, carrier, links, |end, now, entropy| {
            cast.begin(end, now, carrier, entropy)
        });
        Self {
            cast,
            pair,
            directions: [Direction::default(), Direction::default()],
            stalled_until: [Duration::ZERO; 2],
            reads_at: READ_EVERY,
            joins_at: None,
            gone: None,
            stream: None,
            streams: 0,
            engine: script.is_durable().then(|| Engine::new(script.seed)),
            kills: 0,
            restarts: 0,
            past: Traffic::default(),
        }
    }

    fn lived(&self) -> Lived {
        let [first, second] = End::BOTH.map(|end| self.pair.session(end).traffic());
        let all = [first, second, self.past];
        Lived {
            time: self.pair.now(),
            packets: all.iter().map(|traffic| traffic.packets_sent).sum(),
            messages: all.iter().map(|traffic| traffic.messages_received).sum(),
            kills: self.kills,
            streams: self.streams,
            restarts: self.restarts,
            acts: self.engine.as_ref().map_or(0, |engine| engine.acts),
        }
    }

    /// Lets time pass. Applications read, and new carriers are attached.
    fn pass(&mut self, until: Duration) -> Result<(), String> {
        loop {
            let join = self.joins_at.map_or(Duration::MAX, |(at, _)| at);
            let begin = if let Some(Gone::Client(at)) = self.gone { at } else { Duration::MAX };
            let next = self.reads_at.min(join).min(begin).min(until);
            self.pair.run_until(next);
            if next == begin {
                self.begin_anew()?;
            }
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
                self.commit()?;
            }
            if next == until {
                return Ok(());
            }
        }
    }

    fn read(&mut self, end: End) -> Result<(), String> {
        if self.is_gone(end) {
            return Ok(());
        }
        let with_messages = self.stalled_until[end as usize] <= self.pair.now();
        let polled = self.pair.with(end, |session, now| session.read(now, with_messages));
        let mut has_to_begin_anew = false;
        for notice in &polled.notices {
            match self.is_refused_anew(end, notice) {
                true => has_to_begin_anew = true,
                false => self.noticed(end, notice)?,
            }
        }
        self.directions[end.peer() as usize].begin_go();
        for message in &polled.messages {
            match message.kind {
                MessageKind::Reply { command } => self.directions[end as usize].ended(command)?,
                _ if message.lane == DURABLE_LANE => self.got_act(end, message)?,
                MessageKind::State { key } if message.lane == STREAM_LANE => {
                    if let Some((_, stream)) = &mut self.stream {
                        stream.got(key, &message.payload);
                    }
                }
                _ => self.directions[end.peer() as usize].got(message)?,
            }
            if let MessageKind::Command { command } = message.kind {
                let (lane, payload) = (message.lane, &message.payload);
                let put = self.pair.with(end, |session, now| session.put_reply(now, lane, command, payload));
                if let Err(refused) = put
                    && !self.is_closing(&refused)
                {
                    return Err(format!("a reply was refused: {refused}"));
                }
            }
        }
        if let Some((_, stream)) = self.stream.as_mut().filter(|(to, _)| *to == end) {
            stream.sample(self.pair.now());
        }
        if has_to_begin_anew { self.begin_anew() } else { Ok(()) }
    }

    fn noticed(&mut self, end: End, notice: &Notice) -> Result<(), String> {
        self.directions[end as usize].noticed(notice)?;
        // If no packet passes for a long time, a carrier can also be detached because of its silence.
        if *notice == Notice::Detached && end == End::Initiator && self.joins_at.is_none() {
            let at = self.pair.now() + Duration::from_millis(50);
            self.pair.kill_carrier([false, false]);
            self.joins_at = Some((at, self.pair.carrier()));
        }
        Ok(())
    }

    fn act(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Put { end, .. }
            | Operation::Ask { end, .. }
            | Operation::Stall { end, .. }
            | Operation::Budget { end, .. }
            | Operation::Hostile { end, .. }
            | Operation::Stream { end, .. }
                if self.is_gone(*end) => {}
            Operation::Put { end, lane, key, bytes } => self.put(*end, *lane, *key, *bytes),
            Operation::Ask { end, millis } => {
                let number = self.directions[*end as usize].next_command();
                let patience = Duration::from_millis(*millis);
                let put = self.pair.with(*end, |session, now| {
                    session.put_command(now, COMMAND_LANE, &number.to_le_bytes(), patience)
                });
                match put {
                    Ok(id) => self.directions[*end as usize].put_command(id),
                    Err(refused) => assert!(self.is_closing(&refused), "few commands wait at once"),
                }
            }
            Operation::Stall { end, millis } => {
                self.stalled_until[*end as usize] = self.pair.now() + Duration::from_millis(*millis);
            }
            Operation::Kill { is_reported, millis, to_stream } => {
                self.kill(*is_reported, *millis, *to_stream)
            }
            Operation::Relink(link) => self.relink(link),
            Operation::Budget { end, bytes_per_second } => {
                self.pair.with(*end, |session, _| session.set_bytes_per_second_max(*bytes_per_second));
            }
            Operation::Hostile { end, number } => self.attack(*end, *number),
            Operation::Stream { end, keys, bytes, millis } => {
                return self.stream(*end, *keys, *bytes, *millis);
            }
            Operation::Act => return self.act_durably(),
            Operation::Restart { end, is_reported, millis, is_commit_kept } => {
                return self.restart(*end, *is_reported, *millis, *is_commit_kept);
            }
        }
        Ok(())
    }

    fn put(&mut self, end: End, lane: u8, key: u64, bytes: usize) {
        let direction = &mut self.directions[end as usize];
        let payload = direction.payload(lane, bytes);
        let put = self.pair.with(end, |session, now| match key {
            0 => session.put_event(now, lane, &payload),
            _ => session.put_state(now, lane, key, &payload),
        });
        match put {
            Ok(()) => direction.put(lane, key),
            Err(refused) if self.is_closing(&refused) => {}
            Err(refused) => assert_eq!(refused, Refused::Full, "puts have no other errors"),
        }
    }

    /// Lets one end put a steady stream of values, and checks law 5 at the other end. Without a carrier there is no stream.
    fn stream(&mut self, end: End, keys: u64, bytes: usize, millis: u64) -> Result<(), String> {
        if !self.can_cut() {
            return Ok(());
        }
        let until = self.pair.now() + Duration::from_millis(millis);
        self.stalled_until[end.peer() as usize] = Duration::ZERO;
        self.pair.with(end, |session, _| session.set_bytes_per_second_max(None));
        self.stream = Some((end.peer(), Stream::new(self.pair.now(), keys)));
        while self.can_cut() && self.pair.now() < until {
            let now = self.pair.now();
            let value = Stream::value(now, bytes);
            for key in 1..=keys {
                let put =
                    self.pair.with(end, |session, clock| session.put_state(clock, STREAM_LANE, key, &value));
                assert!(put.is_ok(), "few values wait at once: {put:?}");
            }
            self.pass(now + STREAM_EVERY)?;
        }
        match self.stream.take() {
            Some((_, stream)) if self.can_cut() && stream.is_long() => {
                self.streams += 1;
                stream.check()
            }
            _ => Ok(()),
        }
    }

    fn kill(&mut self, is_reported: [bool; 2], millis: u64, to_stream: bool) {
        if !self.can_cut() {
            return;
        }
        self.kills += 1;
        let carrier = if to_stream { Carrier::STREAM } else { Carrier::DATAGRAMS };
        self.pair.kill_carrier(is_reported);
        let now = self.pair.now();
        self.joins_at = Some((now + Duration::from_millis(millis), carrier));
    }

    /// Whether the ends have a session and a carrier, so that the carrier can be killed.
    fn can_cut(&self) -> bool {
        let is_open = self.pair.session(End::Initiator).status().is_open;
        is_open && self.joins_at.is_none() && self.gone.is_none()
    }

    fn relink(&mut self, link: &LinkConfig) {
        let config = link_for(self.pair.carrier(), link);
        for end in End::BOTH {
            self.pair.link(end).reconfigure(config.clone());
        }
    }

    /// Injects packets that must do no harm: old packets, and handshakes of strangers.
    fn attack(&mut self, end: End, number: u64) {
        let random = &mut Random::new(number);
        let bytes = if random.percent(50) && !self.pair.carrier().is_reliable && self.pair.is_joined() {
            let history = self.pair.history(end.peer());
            let Some(old) = history.get(random.below(64) as usize) else { return };
            old.clone()
        } else {
            let resume = Resume { session: [7; 8], token: [9; 16], epoch: 1 << 40 };
            let resume = random.percent(50).then_some(resume);
            let nonce = random.number().to_le_bytes();
            let limits = config().limits;
            let mut bytes = Vec::new();
            Hello { version_min: 1, version_max: 9, nonce, clock: number, limits, resume }.write(&mut bytes);
            bytes
        };
        // A HELLO in place of the first one would simply begin a session with another peer.
        if self.pair.session(end).status().knows_peer {
            self.pair.inject(end, &bytes);
        }
    }

    /// Ends a run: the link is repaired, the applications read, and everything must arrive.
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
            let is_settled = self.engine.as_ref().is_none_or(Engine::is_settled);
            let is_done = is_settled
                && self.joins_at.is_none()
                && self.gone.is_none()
                && End::BOTH.iter().all(|&end| {
                    let status = self.pair.session(end).status();
                    status.is_open && status.is_drained
                });
            if is_done {
                break;
            }
            if self.pair.now() > deadline {
                return Err(self.not_drained());
            }
        }
        // The deadlines of commands that were never answered pass.
        self.pass(self.pair.now() + Duration::from_secs(3))?;
        self.directions.iter().try_for_each(Direction::check)?;
        self.engine.as_ref().map_or(Ok(()), Engine::check)
    }

    fn not_drained(&self) -> String {
        let describe = |end: End| format!("{end:?} {}", self.pair.session(end).describe());
        format!("not drained in {WIND_DOWN_MAX:?}: {}; {}", describe(End::Initiator), describe(End::Acceptor))
    }
}

/// Returns the link for a carrier. A reliable carrier hides all effects of a link except delay.
fn link_for(carrier: Carrier, link: &LinkConfig) -> LinkConfig {
    if !carrier.is_reliable {
        return link.clone();
    }
    LinkConfig {
        delay: link.delay,
        jitter: link.jitter,
        rate_bits: link.rate_bits,
        variation: link.variation,
        queue_bytes: usize::MAX,
        ..LinkConfig::default()
    }
}
