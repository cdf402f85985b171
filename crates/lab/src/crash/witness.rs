//! A client that walks and counts, remembers what it saw and when, and comes again after a kill.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nowcast::{CarrierKind, Channel, Connector, Message, MessageKind};
use nowcast_server::replication::{Replica, transform_of};
use nowcast_server::session::{
    CONTROLS_KEY, Controls, FromWorld, PROTOCOL, Player, Screen, StateKey, ToWorld, WORLD_LANE,
};
use nowcast_wire::{Value, decode, encode_to_vec};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

/// Between two acts: a server lets nobody act much faster for long.
const ACT_INTERVAL: Duration = Duration::from_millis(150);

/// Between two changes of the controls.
const TURN_INTERVAL: Duration = Duration::from_millis(50);

/// Between two tries to come in.
const RETRY: Duration = Duration::from_millis(20);

/// A try that takes longer is given up.
const TRY_MAX: Duration = Duration::from_secs(2);

/// So long after it came in, a witness that was told of no count begins with its first.
const COUNT_PATIENCE: Duration = Duration::from_secs(1);

/// How far its avatar has to come before it counts as moving, in metres: more than a fall onto the floor.
const MOVED_METRES: f32 = 0.2;

/// What one witness saw of one life of the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// The count that was there when it came; none until it was told.
    pub(super) found: Option<u64>,
    /// Acts that it sent.
    pub(super) sent: u64,
    /// The newest count, and when each was seen.
    pub(super) counts: Vec<(Instant, u64)>,
    /// The newest step of the world.
    pub(super) tick: u32,
    /// When it first heard of movement.
    pub(super) first_update: Option<Instant>,
    /// When its own avatar had moved.
    pub(super) moved: Option<Instant>,
    /// Why its last try to come in failed.
    pub(super) last_try: Option<String>,
    /// Why it had to come again while the server ran, what it was refused, and how often.
    pub(super) troubles: BTreeMap<String, u32>,
}

/// What a witness and the trial share.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<Mutex<Seen>>);

impl Notes {
    /// What was seen since the last call; a new life begins.
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut self.lock())
    }

    /// Whether its avatar moves, and some of its acts were seen.
    pub(super) fn is_settled(&self) -> bool {
        let seen = self.lock();
        seen.moved.is_some() && !seen.counts.is_empty()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Seen> {
        // Each observation is noted as a whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the clients.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub(super) index: u8,
    pub(super) carrier: CarrierKind,
    pub(super) url: String,
    pub(super) notes: Notes,
}

impl Witness {
    /// Plays in every life of the server; `lives` says when one ends, and is closed at the end of all.
    pub(super) async fn play(self, mut lives: watch::Receiver<u32>) {
        loop {
            tokio::select! {
                () = self.live() => {}
                changed = lives.changed() => if changed.is_err() { return },
            }
        }
    }

    /// One life of the server: a connection that ends by itself is followed by another. Nothing but a kill ends it.
    async fn live(&self) {
        loop {
            let connector = Connector::new().carriers([self.carrier]);
            match timeout(TRY_MAX, connector.connect(&self.url)).await {
                Ok(Ok(channel)) => {
                    let trouble = self.visit(channel).await;
                    *self.notes.lock().troubles.entry(trouble).or_default() += 1;
                }
                // A server that starts does not listen yet.
                Ok(Err(error)) => self.notes.lock().last_try = Some(error.to_string()),
                Err(_) => self.notes.lock().last_try = Some("no answer".to_owned()),
            }
            sleep(RETRY).await;
        }
    }

    /// Walks and counts until the connection ends, and says why it did.
    async fn visit(&self, channel: Channel) -> String {
        let join = ToWorld::Join {
            protocol: PROTOCOL,
            name: format!("witness-{}", self.index),
            network_hz: 60,
            key: Vec::new(),
        };
        let mut visit = Visit {
            witness: self,
            channel,
            replica: Replica::default(),
            controls: Controls::default(),
            player: None,
            avatar: None,
            began_at: None,
            may_act_from: None,
        };
        if let Err(error) = visit.say(&join) {
            return error.to_string();
        }
        let mut acts = interval(ACT_INTERVAL);
        let mut turns = interval(TURN_INTERVAL);
        for clock in [&mut acts, &mut turns] {
            clock.set_missed_tick_behavior(MissedTickBehavior::Skip);
        }
        loop {
            let outcome = tokio::select! {
                received = visit.channel.receive() => match received {
                    Ok(message) => visit.hear(&message),
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
    channel: Channel,
    replica: Replica,
    controls: Controls,
    player: Option<u32>,
    avatar: Option<u32>,
    /// Where its avatar was first.
    began_at: Option<[f32; 3]>,
    /// When it is clear that nobody tells it of an earlier count.
    may_act_from: Option<Instant>,
}

impl Visit<'_> {
    fn say(&self, message: &ToWorld) -> Result<(), String> {
        self.channel.try_event(&encode_to_vec(message)).map_err(|error| error.to_string())
    }

    /// Ahead, and a little to the left.
    fn turn(&mut self) -> Result<(), String> {
        if self.player.is_none() {
            return Ok(());
        }
        let Controls { number, yaw, .. } = self.controls;
        let yaw = (yaw + 0.02) % std::f32::consts::TAU;
        self.controls = Controls { number: number.wrapping_add(1), forward: 1.0, yaw, ..Controls::default() };
        let state = encode_to_vec(&self.controls);
        self.channel.try_state(CONTROLS_KEY, &state).map_err(|error| error.to_string())
    }

    /// Counts, once it is known how far that had come before.
    fn act(&mut self) -> Result<(), String> {
        if self.may_act_from.is_none_or(|from| Instant::now() < from) {
            return Ok(());
        }
        {
            let mut seen = self.witness.notes.lock();
            seen.found.get_or_insert(0);
            seen.sent += 1;
        }
        let client = Value::F64(self.witness.index.into());
        self.say(&ToWorld::Act {
            action: "count".into(),
            arguments: Value::Map(vec![("client".into(), client)]),
            number: None,
            step: None,
        })
    }

    fn hear(&mut self, message: &Message) -> Result<(), String> {
        match (message.kind, message.lane.number()) {
            (MessageKind::Replication { .. }, _) => self.see(&message.bytes),
            (MessageKind::State { key }, WORLD_LANE) if !message.bytes.is_empty() => {
                self.read(key.raw(), &message.bytes).map_err(|error| error.to_string())
            }
            (MessageKind::Event, WORLD_LANE) => {
                match decode(&message.bytes).map_err(|error| error.to_string())? {
                    FromWorld::Welcome { player, .. } => {
                        self.player = Some(player);
                        self.may_act_from = Some(Instant::now() + COUNT_PATIENCE);
                    }
                    FromWorld::Refused { action, reason, .. } => {
                        let trouble = format!("{action}: {reason}");
                        *self.witness.notes.lock().troubles.entry(trouble).or_default() += 1;
                    }
                    _ => {}
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn read(&mut self, key: u64, bytes: &[u8]) -> nowcast_wire::Result<()> {
        match StateKey::of(key) {
            Some(StateKey::Player(id)) if Some(id.0) == self.player => {
                self.avatar = decode::<Player>(bytes)?.avatar;
            }
            Some(StateKey::Screen(_)) => {
                let Screen { place, value, .. } = decode(bytes)?;
                if place == format!("count-{}", self.witness.index)
                    && let Some(count) = value.as_f64()
                {
                    let mut seen = self.witness.notes.lock();
                    seen.found.get_or_insert(count as u64);
                    seen.counts.push((Instant::now(), count as u64));
                    self.may_act_from = Some(Instant::now());
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn see(&mut self, bytes: &[u8]) -> Result<(), String> {
        let applied = self.replica.apply(bytes).map_err(|error| error.to_string())?;
        let now = Instant::now();
        let own = self.avatar.and_then(|avatar| self.replica.rows().find(|(id, _)| *id == avatar));
        let mut seen = self.witness.notes.lock();
        seen.tick = seen.tick.max(applied.tick);
        seen.first_update.get_or_insert(now);
        if let Some((_, row)) = own {
            let at = transform_of(&row).position;
            let [x, _, z] = *self.began_at.get_or_insert(at);
            if (at[0] - x).hypot(at[2] - z) > MOVED_METRES {
                seen.moved.get_or_insert(now);
            }
        }
        Ok(())
    }
}
