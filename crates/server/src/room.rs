//! One room: a world, its members, and the thread that steps it.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use nowcast_world::replication::History;
use nowcast_world::{EntityId, EntityRef, Event, Kind, Layout, STEP_HZ, World};
use tokio_tungstenite::tungstenite::Message;
use tracing::{debug, info};

use crate::closing::Closing;
use crate::member::{Command, Member};
use crate::metrics::thread_cpu_time;
use crate::outbox::Greeting;
use crate::plain::{Encoding, Entity, EntityKind, PROTOCOL, ServerMessage};
use crate::rooms::{Door, Rooms};
use crate::session::voice::News;
use crate::session::{self, FromWorld};
use crate::snapshot::{Snapshot, into_message, rounded};

/// Steps that a room makes up for after it was held up. What is beyond that is left out, so that a slow machine shows
/// a slow world instead of one that never catches up.
const CATCH_UP_STEPS_MAX: u32 = 6;

/// Clients of one rate are due in this many groups, one step after the other, because all at once would make a burst of
/// every snapshot. Inside of a group they share what is encoded for them.
const PHASES: u64 = 6;

/// Snapshots whose encodings are kept for clients that get to them a little late.
const SHARED_SNAPSHOTS_MAX: usize = PHASES as usize;

const STEP: Duration = Duration::from_nanos(1_000_000_000 / STEP_HZ as u64);

/// One room. It lives on a thread of its own, so that physics never holds up a socket.
pub(crate) struct Room {
    name: String,
    door: Arc<Door>,
    rooms: Arc<Rooms>,
    world: World,
    members: Vec<Present>,
    /// The newest snapshots, newest last, whose encodings are still shared.
    shared: VecDeque<Arc<Snapshot>>,
    /// What sessions are told of movement.
    history: Arc<RwLock<History>>,
    /// What this room has added to the gauge that counts the bodies of all rooms.
    awake_shown: i64,
}

/// The beginning of a tick, on the wall's clock and on the thread's own.
struct Started {
    at: Instant,
    cpu_time: Option<Duration>,
}

impl Started {
    fn now() -> Self {
        Self { at: Instant::now(), cpu_time: thread_cpu_time() }
    }
}

/// A member with an avatar.
struct Present {
    member: Arc<Member>,
    avatar: EntityId,
}

impl Room {
    /// Starts the room's thread.
    pub(crate) fn open(name: &str, door: Arc<Door>, rooms: Arc<Rooms>) -> io::Result<()> {
        let name = name.to_owned();
        thread::Builder::new().name(format!("room {name}")).spawn(move || {
            let world = World::new(nowcast_world::Config {
                seed: rooms.config.seed,
                avatars_max: rooms.config.limits.players_max,
                layout: Layout::default(),
            });
            info!(room = name, seed = rooms.config.seed, "room opened");
            let room = Self {
                name,
                door,
                rooms,
                world,
                members: Vec::new(),
                shared: VecDeque::new(),
                history: Arc::default(),
                awake_shown: 0,
            };
            room.run();
        })?;
        Ok(())
    }

    /// Ticks at a steady rate until the server stops or the room has been deserted for a while.
    fn run(mut self) {
        let mut due = Instant::now();
        let mut deserted_since = due;
        loop {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if self.rooms.is_stopping() {
                return;
            }
            let now = Instant::now();
            if !self.rooms.is_deserted(&self.name) || !self.members.is_empty() {
                deserted_since = now;
                self.tick();
            } else {
                // Nobody looks, so the world stands still.
                self.show_awake(0);
                let over = now - deserted_since >= self.rooms.config.timeouts.room_empty;
                if over && self.rooms.close_if_deserted(&self.name) {
                    return;
                }
            }
            due = self.next_due(due);
        }
    }

    /// What happens in a tick, in this order.
    fn tick(&mut self) {
        let started = Started::now();
        self.dismiss_leavers();
        self.take_commands();
        self.world.step();
        let newcomers = self.seat_newcomers();
        self.tell_events();
        self.greet(newcomers);
        self.publish_snapshot();
        self.publish_history();
        self.measure(started);
    }

    fn dismiss_leavers(&mut self) {
        let (world, metrics) = (&mut self.world, &self.rooms.metrics);
        self.members.retain(|present| {
            let stays = !present.member.has_left();
            if !stays {
                world.leave(present.avatar);
                metrics.clients.dec();
            }
            stays
        });
    }

    fn take_commands(&mut self) {
        for Present { member, avatar } in &self.members {
            for command in member.take_commands() {
                match command {
                    Command::Input(input) => self.world.set_input(*avatar, input),
                    Command::Act(action) => self.world.act(*avatar, action),
                }
            }
        }
    }

    /// Gives an avatar to everybody who waits at the door.
    fn seat_newcomers(&mut self) -> Vec<Present> {
        let mut newcomers = Vec::new();
        for member in self.door.take_waiting() {
            if member.has_left() {
                continue;
            }
            match self.world.join(&member.name) {
                Ok(avatar) => newcomers.push(Present { member, avatar }),
                Err(error) => {
                    // Seats are fewer than avatars, so this takes an embedder's own world with another limit.
                    debug!(room = self.name, %error, "the world refused a member");
                    member.close(Closing::RoomGone);
                }
            }
        }
        newcomers
    }

    /// Tells the members what happened. Newcomers don't hear it: their greeting says it all.
    fn tell_events(&mut self) {
        let events: Vec<Event> = std::iter::from_fn(|| self.world.poll_event()).collect();
        if events.is_empty() {
            return;
        }
        self.tell_plain_clients(&events);
        let news = News::of(&events, &self.world);
        for voice in self.members.iter().filter_map(|present| present.member.voice()) {
            voice.news(&news);
        }
    }

    fn tell_plain_clients(&self, events: &[Event]) {
        let mut news: Vec<ServerMessage> = Vec::new();
        for event in events.iter().cloned() {
            match (event, news.last_mut()) {
                (Event::Spawned(id), last) => {
                    let Some(entity) = self.world.entity(id).map(describe) else { continue };
                    match last {
                        Some(ServerMessage::Spawn { entities }) => entities.push(entity),
                        _ => news.push(ServerMessage::Spawn { entities: vec![entity] }),
                    }
                }
                (Event::Despawned(id), Some(ServerMessage::Despawn { ids })) => ids.push(id.0),
                (Event::Despawned(id), _) => news.push(ServerMessage::Despawn { ids: vec![id.0] }),
                (Event::Held { avatar, block }, _) => {
                    news.push(ServerMessage::Hold { avatar: avatar.0, block: block.map(|id| id.0) });
                }
                (Event::Renamed { id, name }, _) => news.push(ServerMessage::Rename { id: id.0, name }),
                (Event::Chat { from, name, text }, _) => {
                    news.push(ServerMessage::Chat { from: from.0, name, text });
                }
                // Its pose jumps with the next `move`; the plain protocol has no word for it.
                (Event::Returned(_), _) => {}
            }
        }
        for message in &news {
            let encoded = Encoded::new(message);
            for plain in self.members.iter().filter_map(|present| present.member.plain()) {
                plain.outbox.push_event(encoded.for_encoding(plain.encoding));
            }
        }
    }

    /// Tells newcomers who they are and everything that is there, and counts them in.
    fn greet(&mut self, newcomers: Vec<Present>) {
        let (sessions, plain): (Vec<_>, Vec<_>) =
            newcomers.into_iter().partition(|newcomer| newcomer.member.voice().is_some());
        self.greet_plain_clients(&plain);
        self.greet_sessions(&sessions);
        for newcomer in sessions.into_iter().chain(plain) {
            self.rooms.metrics.clients.inc();
            self.members.push(newcomer);
        }
    }

    fn greet_sessions(&self, newcomers: &[Present]) {
        if newcomers.is_empty() {
            return;
        }
        let all = News::all(&self.world);
        for Present { member, avatar } in newcomers {
            let Some(voice) = member.voice() else { continue };
            let welcome = FromWorld::Welcome {
                protocol: session::PROTOCOL,
                id: avatar.0,
                room: self.name.clone(),
                step_hz: STEP_HZ,
                network_hz: member.network_hz(),
                tick: self.world.tick(),
            };
            voice.welcome(&welcome, &all, &self.history);
        }
    }

    fn greet_plain_clients(&self, newcomers: &[Present]) {
        if newcomers.is_empty() {
            return;
        }
        let baseline = self.snapshot();
        let mut picture =
            vec![ServerMessage::Spawn { entities: self.world.entities().map(describe).collect() }];
        picture.extend(self.world.entities().filter(|entity| entity.kind == Kind::Avatar).filter_map(
            |avatar| {
                let block = avatar.held?;
                Some(ServerMessage::Hold { avatar: avatar.id.0, block: Some(block.0) })
            },
        ));
        let picture: Vec<Encoded<'_>> = picture.iter().map(Encoded::new).collect();
        for Present { member, avatar } in newcomers {
            let Some(plain) = member.plain() else { continue };
            let welcome = ServerMessage::Welcome {
                protocol: PROTOCOL,
                id: avatar.0,
                room: self.name.clone(),
                step_hz: STEP_HZ,
                network_hz: member.network_hz(),
                tick: self.world.tick(),
            };
            let welcome = Encoded::new(&welcome);
            let messages = std::iter::once(&welcome).chain(&picture);
            let messages = messages.map(|message| message.for_encoding(plain.encoding)).collect();
            plain.outbox.greet(Greeting { messages, baseline: Arc::clone(&baseline) });
        }
    }

    /// Puts the state of now into the outbox of everybody who is due for it, or who still has an older one there.
    fn publish_snapshot(&mut self) {
        let tick = self.world.tick();
        let mut fresh: Option<Arc<Snapshot>> = None;
        for Present { member, avatar } in &self.members {
            let Some(plain) = member.plain() else { continue };
            let due = is_due(tick + u64::from(avatar.0) % PHASES, member.network_hz());
            if !due && !plain.outbox.has_snapshot() {
                continue;
            }
            let snapshot = fresh.get_or_insert_with(|| self.snapshot());
            if plain.outbox.put_snapshot(Arc::clone(snapshot)) {
                self.rooms.metrics.snapshots_superseded.inc();
            }
        }
        self.shared.extend(fresh);
        while self.shared.len() > SHARED_SNAPSHOTS_MAX {
            self.shared.pop_front().expect("there are some").retire();
        }
    }

    /// Takes the world down for sessions, which read it when their packets leave, and wakes those that are due.
    fn publish_history(&mut self) {
        if self.members.iter().all(|present| present.member.voice().is_none()) {
            return;
        }
        let started = Instant::now();
        self.history.write().expect("nobody panics while holding it").publish(&self.world);
        self.rooms.metrics.observe_encode(started.elapsed());
        let tick = self.world.tick();
        for Present { member, avatar } in &self.members {
            if let Some(voice) = member.voice()
                && is_due(tick + u64::from(avatar.0) % PHASES, member.network_hz())
            {
                voice.round(&self.history, *avatar);
            }
        }
    }

    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::new(Snapshot::new(&self.world, self.shared.back().map(Arc::as_ref)))
    }

    fn measure(&mut self, started: Started) {
        let awake = self.world.awake() as i64;
        self.show_awake(awake);
        let metrics = &self.rooms.metrics;
        metrics.tick_seconds.observe(started.at.elapsed().as_secs_f64());
        if let (Some(before), Some(after)) = (started.cpu_time, thread_cpu_time()) {
            metrics.tick_cpu_seconds.observe((after - before).as_secs_f64());
        }
    }

    fn show_awake(&mut self, awake: i64) {
        self.rooms.metrics.bodies_awake.inc_by(awake - self.awake_shown);
        self.awake_shown = awake;
    }

    /// When the next step is due, leaving out what cannot be made up for.
    fn next_due(&self, due: Instant) -> Instant {
        let next = due + STEP;
        let now = Instant::now();
        let oldest = now.checked_sub(STEP * CATCH_UP_STEPS_MAX).unwrap_or(now);
        if next >= oldest {
            return next;
        }
        let skipped = (oldest - next).as_nanos().div_ceil(STEP.as_nanos()) as u64;
        self.rooms.metrics.steps_skipped.inc_by(skipped);
        oldest
    }
}

impl Drop for Room {
    /// Runs when the room ends, and when its thread panics: nobody is left waiting for a room that is no more.
    fn drop(&mut self) {
        let closing = if self.rooms.is_stopping() { Closing::ShuttingDown } else { Closing::RoomGone };
        self.door.end(&closing);
        for Present { member, .. } in self.members.drain(..) {
            member.close(closing.clone());
            self.rooms.metrics.clients.dec();
        }
        self.show_awake(0);
        self.rooms.forget(&self.name, &self.door);
        info!(room = self.name, tick = self.world.tick(), "room closed");
    }
}

/// A message, encoded at most once for each encoding.
struct Encoded<'m> {
    message: &'m ServerMessage,
    json: OnceCell<Message>,
    msgpack: OnceCell<Message>,
}

impl<'m> Encoded<'m> {
    fn new(message: &'m ServerMessage) -> Self {
        Self { message, json: OnceCell::new(), msgpack: OnceCell::new() }
    }

    fn for_encoding(&self, encoding: Encoding) -> Message {
        let encoding = encoding.of_events();
        let cell = if encoding == Encoding::MsgPack { &self.msgpack } else { &self.json };
        cell.get_or_init(|| into_message(self.message.encode(encoding))).clone()
    }
}

/// Whether a client with this rate gets a snapshot at this step. Rates that don't divide 60 alternate between
/// neighbouring intervals.
fn is_due(tick: u64, hz: u32) -> bool {
    let snapshots_until = |tick: u64| tick * u64::from(hz) / u64::from(STEP_HZ);
    snapshots_until(tick) != snapshots_until(tick.saturating_sub(1))
}

fn describe(entity: EntityRef<'_>) -> Entity {
    let kind = match entity.kind {
        Kind::Static => EntityKind::Static,
        Kind::Block => EntityKind::Block,
        Kind::Avatar => EntityKind::Avatar,
    };
    let (p, r) = rounded(&entity.pose);
    Entity {
        id: entity.id.0,
        kind,
        name: entity.name.map(str::to_owned),
        // Sizes are round decimals as f32; going through text keeps them round as f64.
        size: (kind != EntityKind::Avatar).then(|| entity.size.map(round_size)),
        color: entity.color,
        p,
        r,
    }
}

/// Rounds to 0.1 mm: sizes are round numbers that an `f32` cannot hold exactly.
fn round_size(value: f32) -> f64 {
    (f64::from(value) * 10_000.0).round() / 10_000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_is_kept_to_the_snapshot() {
        for hz in 5..=60 {
            let snapshots = (1..=u64::from(STEP_HZ) * 10).filter(|tick| is_due(*tick, hz)).count();
            assert_eq!(snapshots, hz as usize * 10);
        }
    }
}
