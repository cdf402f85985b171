//! A client that walks and counts with durable actions. It records its observations with their times. After a kill it rejoins as
//! the same player.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Channel, Connector};
use nowcast_wire::Value;
use nowcast_world::Input;
use nowcast_world_client::{Identity, Join, Update, WorldClient};
use nowcast_world_protocol::session::{FromWorld, Screen};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::ledger::{Carried, Ledger, SavedTally, Tally};

/// Interval between two actions. A server does not allow a much higher rate for long.
const ACT_INTERVAL: Duration = Duration::from_millis(150);

/// Interval between two changes of the input.
const TURN_INTERVAL: Duration = Duration::from_millis(50);

/// Interval between two attempts to join.
const RETRY: Duration = Duration::from_millis(20);

/// Maximum time of an attempt.
const TRY_MAX: Duration = Duration::from_secs(2);

/// If a witness receives no count for this time after it has joined, the witness concludes that the world has no count. A witness
/// with confirmed actions waits longer, because it would report all these actions as lost.
const COUNT_PATIENCE: Duration = Duration::from_secs(1);
const COUNT_PATIENCE_CONFIRMED: Duration = Duration::from_secs(20);

/// Distance after which the avatar counts as moving, in metres. This distance is greater than that of a fall onto the floor.
const MOVED_METRES: f32 = 0.2;

/// The observations of one witness during one run of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Number of confirmed actions.
    pub(super) confirmed: u64,
    /// The newest step of the world that the witness has received.
    pub(super) tick: u32,
    /// The time at which the witness first received movement.
    pub(super) first_update: Option<Instant>,
    /// The time at which the witness's own avatar had moved.
    pub(super) moved: Option<Instant>,
    /// The reason why the last attempt to join failed.
    pub(super) last_try: Option<String>,
    /// The reasons why connections ended and requests were refused, each with its time.
    pub(super) troubles: Vec<(Instant, String)>,
}

/// State shared by a witness and the trial.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    /// The observations during the server process with the number `life`.
    seen: Seen,
    life: u32,
    /// The durable actions over all server processes.
    ledger: Ledger,
    /// The direction of the witness. It continues over all server processes, so the witness walks in circles.
    yaw: f32,
}

impl Notes {
    /// Returns the observations since the last call, and begins a new record.
    pub(super) fn take(&self) -> Seen {
        let mut noted = self.lock();
        noted.life += 1;
        std::mem::take(&mut noted.seen)
    }

    /// Returns the outcomes of the witness's durable actions so far.
    pub(super) fn tally(&self) -> Tally {
        self.lock().ledger.tally()
    }

    /// Compares the witness's confirmed actions with the data of its account.
    pub(super) fn compare_saved(&self, carried: &Carried) {
        self.lock().ledger.compare_saved(carried);
    }

    /// Returns the outcomes of these comparisons so far.
    pub(super) fn saved(&self) -> SavedTally {
        self.lock().ledger.saved()
    }

    /// Whether the witness's avatar moves, and some of its actions were confirmed.
    pub(super) fn is_settled(&self) -> bool {
        let Seen { moved, confirmed, .. } = &self.lock().seen;
        moved.is_some() && *confirmed > 0
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        // Each observation is recorded as a whole, so the state is consistent.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the clients that observe the kills.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub(super) index: u8,
    pub(super) carrier: CarrierKind,
    pub(super) url: String,
    /// The key by which the server recognises the witness.
    pub(super) key: [u8; 16],
    /// The private key of the witness's account.
    pub(super) identity: Identity,
    pub(super) notes: Notes,
}

impl Witness {
    /// Plays with every server process. `lives` announces the end of each process, and is closed at the end of the trial.
    pub(super) async fn play(self, mut lives: watch::Receiver<u32>) {
        loop {
            tokio::select! {
                () = self.live() => {}
                changed = lives.changed() => if changed.is_err() { return },
            }
        }
    }

    /// Plays with one server process. If a connection ends by itself, another one follows. Only a kill ends this call.
    async fn live(&self) {
        loop {
            let connector = Connector::new().carriers([self.carrier]);
            match timeout(TRY_MAX, connector.connect(&self.url)).await {
                Ok(Ok(channel)) => {
                    let trouble = self.visit(channel).await;
                    self.note_trouble(trouble);
                }
                // A server that is starting does not listen yet.
                Ok(Err(error)) => self.notes.lock().seen.last_try = Some(error.to_string()),
                Err(_) => self.notes.lock().seen.last_try = Some("no answer".to_owned()),
            }
            sleep(RETRY).await;
        }
    }

    fn note_trouble(&self, trouble: String) {
        self.notes.lock().seen.troubles.push((Instant::now(), trouble));
    }

    /// Walks and counts until the connection ends. Returns the reason of the end.
    async fn visit(&self, channel: Channel) -> String {
        if let Err(error) = self.identity.present(&channel) {
            return error.to_string();
        }
        let join = Join::new(format!("witness-{}", self.index)).network_hz(60).key(self.key);
        let client = match WorldClient::join(channel, join) {
            Ok(client) => client,
            Err(error) => return error.to_string(),
        };
        let mut visit = Visit {
            witness: self,
            life: self.notes.lock().life,
            client,
            began_at: None,
            carried: None,
            nothing_from: None,
            again: VecDeque::new(),
        };
        let mut acts = interval(ACT_INTERVAL);
        let mut turns = interval(TURN_INTERVAL);
        for clock in [&mut acts, &mut turns] {
            clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
        }
        loop {
            let outcome = tokio::select! {
                received = visit.client.receive() => match received {
                    Ok(update) => visit.handle(update),
                    Err(error) => Err(error.to_string()),
                },
                _ = turns.tick() => visit.turn(),
                _ = acts.tick() => visit.act(),
            };
            if let Err(trouble) = outcome {
                return trouble;
            }
        }
    }
}

/// One connection of a witness.
struct Visit<'w> {
    witness: &'w Witness,
    /// The number of the server process in which the visit began. Late messages of a killed server are not counted for the next
    /// server.
    life: u32,
    client: WorldClient,
    /// The first position of the witness's avatar.
    began_at: Option<[f32; 3]>,
    /// The actions that the world shows as applied; `None` until they are received.
    carried: Option<Carried>,
    /// The time from which a missing count means that the world has no count.
    nothing_from: Option<Instant>,
    /// The numbers of the actions that must be sent again.
    again: VecDeque<u32>,
}

impl Visit<'_> {
    /// Walks ahead and turns a little to the left.
    fn turn(&mut self) -> Result<(), String> {
        if self.client.view().welcome().is_none() {
            return Ok(());
        }
        let yaw = {
            let mut noted = self.witness.notes.lock();
            noted.yaw = (noted.yaw + 0.02) % std::f32::consts::TAU;
            noted.yaw
        };
        let input = Input { forward: 1.0, yaw, ..Input::default() };
        self.client.set_input(&input).map_err(|error| error.to_string())
    }

    /// Sends the next action, once the earlier count is known. Unanswered actions are sent first.
    fn act(&mut self) -> Result<(), String> {
        if self.carried.is_none() && self.nothing_from.is_some_and(|from| Instant::now() >= from) {
            self.find(Carried::default());
        }
        if self.carried.is_none() {
            return Ok(());
        }
        let begin = || self.witness.notes.lock().ledger.begin();
        let Some(number) = self.again.pop_front().or_else(begin) else { return Ok(()) };
        let client = Value::F64(self.witness.index.into());
        let arguments = vec![("client".into(), client), ("number".into(), Value::F64(number.into()))];
        let sent = self.client.act_once(number, "count", Value::Map(arguments));
        sent.map_err(|error| error.to_string())
    }

    /// Records the actions that the world shows as applied.
    fn find(&mut self, carried: Carried) {
        let ledger = &mut self.witness.notes.lock().ledger;
        if self.carried.is_none() {
            self.again = ledger.begin_session(&carried).into();
        } else {
            ledger.compare(&carried);
        }
        self.carried = Some(carried);
    }

    fn welcomed(&mut self, resumed: bool) {
        let was_confirmed = self.witness.notes.tally().confirmed > 0;
        if was_confirmed && !resumed {
            self.witness.note_trouble("rejoined as another player".to_owned());
        }
        let patience = if was_confirmed { COUNT_PATIENCE_CONFIRMED } else { COUNT_PATIENCE };
        self.nothing_from = Some(Instant::now() + patience);
    }

    fn done(&mut self, number: u32) {
        let Some(carried) = &self.carried else { return };
        let mut noted = self.witness.notes.lock();
        noted.ledger.confirm(number);
        noted.ledger.compare(carried);
        if noted.life == self.life {
            noted.seen.confirmed += 1;
        }
    }

    fn handle(&mut self, update: Update) -> Result<(), String> {
        match update {
            Update::Welcome => {
                self.welcomed(self.client.view().welcome().is_some_and(|welcome| welcome.resumed));
            }
            Update::Moved(applied) => self.see(applied.tick),
            Update::Screen(number) => self.read(number)?,
            Update::Event(FromWorld::Refused { action, reason, number }) => {
                self.witness.note_trouble(format!("{action}: {reason}"));
                // A refused action stays open until it is applied.
                self.again.extend(number);
            }
            Update::Event(FromWorld::Done { number }) => self.done(number),
            _ => {}
        }
        Ok(())
    }

    fn read(&mut self, number: u32) -> Result<(), String> {
        let Some(Screen { place, value, .. }) = self.client.view().screen(number) else { return Ok(()) };
        if *place == format!("count-{}", self.witness.index) {
            let carried = value.as_text().and_then(Carried::read);
            self.find(carried.ok_or_else(|| format!("the count is {value:?}"))?);
        }
        Ok(())
    }

    fn see(&mut self, tick: u32) {
        let now = Instant::now();
        let view = self.client.view();
        let own = view.avatar().and_then(|avatar| view.transform(avatar));
        let mut noted = self.witness.notes.lock();
        if noted.life != self.life {
            return;
        }
        let seen = &mut noted.seen;
        seen.tick = seen.tick.max(tick);
        seen.first_update.get_or_insert(now);
        if let Some(own) = own {
            let at = own.position;
            let [x, _, z] = *self.began_at.get_or_insert(at);
            if (at[0] - x).hypot(at[2] - z) > MOVED_METRES {
                seen.moved.get_or_insert(now);
            }
        }
    }
}
