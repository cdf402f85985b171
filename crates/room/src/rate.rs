//! Message rates of a client for each kind of message (`spec/PLAIN.md`, section 4, and `spec/WORLD.md`, section 6).

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_limits::{Allowance, CREDIT_MAX, Verdict};
use parking_lot::Mutex;

use crate::client_key::ClientKey;

/// A kind of message with its own rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// `input`.
    Input,
    /// `act`.
    Action,
    /// `chat`.
    Chat,
    /// `name`.
    Name,
    /// `rate`.
    Rate,
    /// `ping`, and the ping and pong frames of WebSocket itself.
    Ping,
    /// `move`: thirty a second for each entity that a client may own.
    Move,
    /// `set`.
    Set,
    /// `own`, `release`, `spawn` and `despawn`.
    Ownership,
}

impl MessageKind {
    const ALL: [Self; 9] = [
        Self::Input,
        Self::Action,
        Self::Chat,
        Self::Name,
        Self::Rate,
        Self::Ping,
        Self::Move,
        Self::Set,
        Self::Ownership,
    ];

    /// Whether messages of the kind are state, so that only the newest has an effect.
    pub fn is_state(self) -> bool {
        matches!(self, Self::Input | Self::Move)
    }

    /// The words of the limit, the maximum messages a second, and the burst.
    fn row(self, actions_hz: u32) -> (Cow<'static, str>, f64, f64) {
        let (words, per_second, burst) = match self {
            Self::Action => {
                let words = format!("act: at most {actions_hz} a second, {actions_hz} at once");
                return (words.into(), actions_hz.into(), actions_hz.into());
            }
            Self::Input => ("input: at most 120 a second", 120.0, 120.0),
            Self::Chat => ("chat: at most 2 lines a second, 5 at once", 2.0, 5.0),
            Self::Name => ("name: at most 1 a second, 3 at once", 1.0, 3.0),
            Self::Rate => ("rate: at most 2 a second, 5 at once", 2.0, 5.0),
            Self::Ping => ("ping: at most 10 a second", 10.0, 10.0),
            Self::Move => ("move: at most 1000 a second", 1_000.0, 1_000.0),
            Self::Set => ("set: at most 60 a second", 60.0, 60.0),
            Self::Ownership => {
                ("own, release, spawn and despawn: at most 20 a second, 40 at once", 20.0, 40.0)
            }
        };
        (words.into(), per_second, burst)
    }
}

/// Default of the actions a second, and at once, that one client may send.
pub const ACTIONS_HZ: u32 = 20;

/// Maximum refused actions a second that are answered. A client that exceeds this rate for several seconds is removed.
const REFUSALS_HZ: f64 = 4.0;
const REFUSALS_BURST: f64 = 40.0;

/// The message allowances of one client.
pub struct Rates {
    actions_hz: u32,
    kinds: [Allowance; MessageKind::ALL.len()],
    /// Only the client's room takes this lock.
    pub(crate) refusals: Arc<Mutex<Refusals>>,
}

/// The allowances for answers to refused actions and poses.
pub(crate) struct Refusals {
    /// Answers to actions.
    pub(crate) actions: Allowance,
    /// Answers to target poses.
    pub(crate) moves: Allowance,
}

impl Refusals {
    fn new(now: Instant) -> Self {
        let actions = Allowance::new(REFUSALS_HZ, REFUSALS_BURST, now);
        Self { moves: actions.clone(), actions }
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.actions.is_full(now) && self.moves.is_full(now)
    }
}

impl Rates {
    /// Creates the allowances of a client that connects now, with this number of actions a second and at once.
    pub fn new(actions_hz: u32, now: Instant) -> Self {
        let kinds = MessageKind::ALL.map(|kind| {
            let (_, per_second, burst) = kind.row(actions_hz);
            Allowance::new(per_second, burst, now)
        });
        Self { actions_hz, kinds, refusals: Arc::new(Mutex::new(Refusals::new(now))) }
    }

    /// Describes a kind and its limit for people, in close reasons and in answers to dropped messages.
    pub(crate) fn limit(&self, kind: MessageKind) -> Cow<'static, str> {
        kind.row(self.actions_hz).0
    }

    fn is_full(&mut self, now: Instant) -> bool {
        self.kinds.iter_mut().all(|allowance| allowance.is_full(now)) && self.refusals.lock().is_full(now)
    }

    /// Creates allowances for a client whose messages waited before they could be sent.
    pub fn of_waiting(actions_hz: u32, now: Instant) -> Self {
        let mut rates = Self::new(actions_hz, now);
        rates.credit(CREDIT_MAX, now);
        rates
    }

    /// Returns the verdict on a message that arrives now.
    pub(crate) fn judge(&mut self, kind: MessageKind, now: Instant) -> Verdict {
        self.kinds[kind as usize].judge(now)
    }

    /// Adds the allowance for the messages that waited during `time`, in which nothing arrived from the client.
    fn credit(&mut self, time: Duration, now: Instant) {
        for kind in &mut self.kinds {
            kind.credit(time, now);
        }
    }
}

/// The allowances of the clients that may return, by their keys. A client that reconnects keeps its allowances.
pub(crate) struct KnownRates {
    actions_hz: u32,
    known: HashMap<ClientKey, Arc<Mutex<Rates>>>,
    /// The table is cleared of full allowances at this size.
    tidy_at: usize,
}

/// Minimum size at which the table of [`KnownRates`] is cleared of full allowances.
const KNOWN_MIN: usize = 1_024;

impl KnownRates {
    /// Creates an empty table for clients with this number of actions a second.
    pub(crate) fn new(actions_hz: u32) -> Self {
        Self { actions_hz, known: HashMap::new(), tidy_at: 0 }
    }

    /// Returns the allowances of a client, and whether they are new.
    pub(crate) fn of(&mut self, key: Option<ClientKey>, now: Instant) -> (Arc<Mutex<Rates>>, bool) {
        if let Some(known) = key.and_then(|key| self.known.get(&key)) {
            return (Arc::clone(known), false);
        }
        if self.known.len() >= self.tidy_at {
            // A connected client shares its allowances.
            self.known.retain(|_, rates| Arc::strong_count(rates) > 1 || !rates.lock().is_full(now));
            self.tidy_at = KNOWN_MIN.max(2 * self.known.len());
        }
        let rates = Arc::new(Mutex::new(Rates::new(self.actions_hz, now)));
        self.known.extend(key.map(|key| (key, Arc::clone(&rates))));
        (rates, true)
    }
}

/// Detects times in which nothing arrives from a client. The messages that waited during such a time do not count as over
/// the rate.
#[derive(Default)]
pub struct Quiet {
    /// The start of the current silence, if there is one.
    since: Option<Instant>,
}

impl Quiet {
    /// The shortest silence that is credited. Bursts cover shorter silences.
    const MIN: Duration = Duration::from_millis(250);

    /// Whether the client is silent now. The next message may end the silence.
    pub fn lasts(&self) -> bool {
        self.since.is_some()
    }

    /// Records that nothing has arrived for `silence`, and credits a silence that is over. Call it several times a second.
    /// During a silence, also call it before the rate of a message is checked.
    pub fn note(&mut self, silence: Duration, now: Instant, rates: &mut Rates) {
        let heard_at = now.checked_sub(silence).unwrap_or(now);
        if let Some(since) = self.since
            && heard_at > since
        {
            rates.credit(heard_at - since, now);
            self.since = None;
        }
        if silence >= Self::MIN {
            self.since.get_or_insert(heard_at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Sends `count` messages at `hz` messages a second. Counts the verdicts: passed, dropped, closed.
    fn send(kind: MessageKind, hz: f64, count: u32) -> [u32; 3] {
        let start = Instant::now();
        let mut rates = Rates::new(ACTIONS_HZ, start);
        let mut verdicts = [0; 3];
        for index in 0..count {
            let now = start + Duration::from_secs_f64(f64::from(index) / hz);
            verdicts[rates.judge(kind, now) as usize] += 1;
        }
        verdicts
    }

    #[test]
    fn a_client_within_its_rate_is_never_limited() {
        assert_eq!(send(MessageKind::Input, 120.0, 12_000), [12_000, 0, 0]);
        assert_eq!(send(MessageKind::Chat, 2.0, 1_000), [1_000, 0, 0]);
    }

    #[test]
    fn messages_after_a_burst_are_dropped_and_a_pasted_text_closes_no_client() {
        assert_eq!(send(MessageKind::Chat, 1e6, 25), [5, 20, 0]);
        assert_eq!(send(MessageKind::Action, 1e6, 100), [20, 80, 0]);
    }

    #[test]
    fn below_twice_the_rate_no_client_is_closed() {
        let [passed, dropped, closed] = send(MessageKind::Action, 39.0, 4_000);
        assert_eq!(closed, 0);
        assert!(passed.abs_diff(4_000 * 20 / 39) < 30, "passed {passed}, dropped {dropped}");
    }

    #[test]
    fn a_configured_rate_of_actions_replaces_the_default() {
        let start = Instant::now();
        let mut rates = Rates::new(64, start);
        let passed = (0..100).filter(|_| rates.judge(MessageKind::Action, start) == Verdict::Pass).count();
        assert_eq!(
            (passed, &*rates.limit(MessageKind::Action)),
            (64, "act: at most 64 a second, 64 at once")
        );
        assert_eq!(rates.limit(MessageKind::Name), "name: at most 1 a second, 3 at once");
    }

    #[test]
    fn a_flood_is_closed_within_four_seconds() {
        let verdicts = send(MessageKind::Input, 1_000.0, 4_000);
        assert!(verdicts[2] > 0, "{verdicts:?}");
    }

    /// Interrupts the connection for `cut`, delivers all messages of that time at once, and counts the verdicts.
    fn resume(kind: MessageKind, hz: f64, cut: Duration) -> [u32; 3] {
        let start = Instant::now();
        let (mut rates, mut quiet) = (Rates::new(ACTIONS_HZ, start), Quiet::default());
        let looks = (1..=cut.as_millis() / 250).map(|look| Duration::from_millis(250 * look as u64));
        for silence in looks {
            quiet.note(silence, start + silence, &mut rates);
        }
        let now = start + cut;
        let mut verdicts = [0; 3];
        for _ in 0..(cut.as_secs_f64() * hz) as u32 {
            quiet.note(Duration::ZERO, now, &mut rates);
            verdicts[rates.judge(kind, now) as usize] += 1;
        }
        verdicts
    }

    #[test]
    fn messages_that_waited_through_a_cut_of_20_seconds_all_pass() {
        let cut = Duration::from_secs(20);
        assert_eq!(resume(MessageKind::Action, 20.0, cut), [400, 0, 0]);
        assert_eq!(resume(MessageKind::Chat, 1.0, cut), [20, 0, 0]);
        assert_eq!(resume(MessageKind::Ownership, 20.0, cut), [400, 0, 0]);
    }

    #[test]
    fn a_client_without_silences_gets_no_credit() {
        let start = Instant::now();
        let (mut rates, mut quiet) = (Rates::new(ACTIONS_HZ, start), Quiet::default());
        for look in 0..100 {
            let now = start + Duration::from_millis(250 * look);
            quiet.note(Duration::from_millis(100), now, &mut rates);
        }
        let now = start + Duration::from_secs(25);
        let passed = (0..100).filter(|_| rates.judge(MessageKind::Action, now) == Verdict::Pass).count();
        assert_eq!(passed, 20);
    }

    #[test]
    fn client_that_reconnects_keeps_its_rates_until_they_are_full_again() {
        let start = Instant::now();
        let mut known = KnownRates::new(ACTIONS_HZ);
        let key = ClientKey([7; 16]);
        let mut passed = 0;
        // Ten connections a second, each of which sends as much as it can.
        for connection in 0..100 {
            let now = start + Duration::from_millis(100 * connection);
            let (rates, is_new) = known.of(Some(key), now);
            assert_eq!(is_new, connection == 0);
            passed +=
                (0..5).filter(|_| rates.lock().judge(MessageKind::Action, now) == Verdict::Pass).count();
        }
        assert!(passed <= 20 + 20 * 10, "{passed} actions in ten seconds");
        let other = known.of(None, start).0;
        assert_eq!(other.lock().judge(MessageKind::Action, start), Verdict::Pass);
        for number in 0..3 * KNOWN_MIN as u64 {
            let mut key = [0; 16];
            key[..8].copy_from_slice(&number.to_le_bytes());
            known.of(Some(ClientKey(key)), start + Duration::from_secs(60));
        }
        assert!(known.known.len() <= 2 * KNOWN_MIN && !known.known.contains_key(&key));
    }

    #[test]
    fn the_text_of_each_limit_names_its_rate_and_its_burst() {
        for (kind, actions_hz) in
            MessageKind::ALL.into_iter().flat_map(|kind| [(kind, ACTIONS_HZ), (kind, 64)])
        {
            let (words, per_second, burst) = kind.row(actions_hz);
            assert!(words.contains(&format!("at most {per_second}")), "{words}");
            assert!(per_second == burst || words.contains(&format!("{burst} at once")), "{words}");
        }
    }
}
