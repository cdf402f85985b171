//! One room: a world, its players, and the thread that steps it.

mod naming;
mod plain_delivery;
mod tenancy;

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use self::tenancy::Tenancy;
use nowcast_replication::{History, Transform};
use nowcast_world::text::sanitize;
use nowcast_world::{CHAT_CHARS_MAX, EntityId, Pose, STEP_HZ};
use tracing::{debug, info};

use crate::chat::{Chat, Line};
use crate::closing::Closing;
use crate::lobby::Lobby;
use crate::names::{Name, Names};
use crate::player::{Command, Player};
use crate::playground::{Action, Event, Playground};
use crate::process::thread_cpu_time;
use crate::rooms::Rooms;
use crate::session::writer::News;
use crate::session::{self, FromWorld};
use crate::snapshot::Snapshot;

/// Steps that a room makes up for after it was held up. What is beyond that is left out, so that a slow machine shows
/// a slow world instead of one that never catches up.
const CATCH_UP_STEPS_MAX: u32 = 6;

/// Clients of one rate are due in this many groups, one step after the other, because all at once would make a burst of
/// every snapshot. Inside of a group they share what is encoded for them.
const PHASES: u64 = 6;

/// What a speaker is told whose line is left out.
const UNSAID: &str = "Your line was left out: too much is said here at once. Say it again in a moment.";

const STEP: Duration = Duration::from_nanos(1_000_000_000 / STEP_HZ as u64);

/// One room. It lives on a thread of its own, so that physics never holds up a socket.
pub(crate) struct Room {
    name: String,
    lobby: Arc<Lobby>,
    rooms: Arc<Rooms>,
    /// Dropped after the room, whatever ends it.
    tenancy: Tenancy,
    world: Playground,
    players: Vec<SeatedPlayer>,
    /// The newest snapshots, newest last, whose encodings are still shared.
    shared: VecDeque<Arc<Snapshot>>,
    /// What sessions are told of movement.
    history: Arc<RwLock<History>>,
    /// The names that tokens gave.
    names: Names,
    /// What waits to be said.
    chat: Chat,
    /// What will not be said, because more is said than a room passes on.
    unsaid: Vec<Line>,
    /// Whether anybody ever did anything here.
    was_used: bool,
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

/// A player with an avatar.
struct SeatedPlayer {
    player: Arc<Player>,
    avatar: EntityId,
}

impl Room {
    /// Starts the room's thread.
    pub(crate) fn open(name: &str, lobby: Arc<Lobby>, rooms: Arc<Rooms>) -> io::Result<()> {
        let name = name.to_owned();
        thread::Builder::new().name(format!("room {name}")).spawn(move || {
            // First of all: nothing that follows may end without anybody hearing of it.
            let tenancy = Tenancy {
                name: name.clone(),
                lobby: Arc::clone(&lobby),
                rooms: Arc::clone(&rooms),
                has_ticked: false,
            };
            let world = (rooms.make_world)(&rooms.config);
            info!(room = name, seed = rooms.config.seed, "room opened");
            let room = Self {
                name,
                lobby,
                rooms,
                tenancy,
                world,
                players: Vec::new(),
                shared: VecDeque::new(),
                history: Arc::default(),
                names: Names::default(),
                was_used: false,
                chat: Chat::new(Instant::now()),
                unsaid: Vec::new(),
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
            if !self.rooms.is_deserted(&self.name) || !self.players.is_empty() {
                deserted_since = now;
                self.tick();
            } else {
                // Nobody looks, so the world stands still.
                self.show_awake(0);
                let timeouts = &self.rooms.config.timeouts;
                let unused = timeouts.room_unused.min(timeouts.room_empty);
                let patience = if self.was_used { timeouts.room_empty } else { unused };
                let over = now - deserted_since >= patience;
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
        self.take_commands(started.at);
        self.let_speak(started.at);
        self.world.step();
        let newcomers = self.seat_newcomers();
        self.tell_events();
        self.greet(newcomers);
        self.publish_snapshot();
        self.publish_history();
        self.measure(started);
        self.tenancy.ticked();
    }

    fn dismiss_leavers(&mut self) {
        let Self { world, chat, names, .. } = self;
        let metrics = &self.rooms.metrics;
        self.players.retain(|seated| {
            let stays = !seated.player.has_left();
            if !stays {
                world.leave(seated.avatar);
                chat.forget(seated.avatar);
                names.forget(seated.avatar);
                metrics.clients.dec();
            }
            stays
        });
    }

    fn take_commands(&mut self, now: Instant) {
        for index in 0..self.players.len() {
            let SeatedPlayer { player, avatar } = &self.players[index];
            let (player, avatar) = (Arc::clone(player), *avatar);
            for command in player.take_commands() {
                self.was_used |= command.is_felt();
                match command {
                    Command::Input(input) => self.world.set_input(avatar, input),
                    Command::Act(Action::Chat { text }) => {
                        let text = sanitize(&text, CHAT_CHARS_MAX);
                        if !text.is_empty() {
                            self.unsaid.extend(self.chat.offer(Line { speaker: avatar, text }, now));
                        }
                    }
                    Command::Act(Action::Rename { name }) => {
                        // What was said before is said under the name of then.
                        self.let_speak(now);
                        self.rename(&player, avatar, name);
                    }
                    Command::Act(action) => self.world.act(avatar, action),
                }
            }
        }
    }

    /// Hands the world the lines whose turn it is, and tells those whose lines will not be said.
    fn let_speak(&mut self, now: Instant) {
        while let Some(Line { speaker, text }) = self.chat.next(now) {
            self.world.act(speaker, Action::Chat { text });
        }
        for Line { speaker, .. } in self.unsaid.drain(..) {
            self.rooms.metrics.drop_message("chat_budget");
            if let Some(seated) = self.players.iter().find(|seated| seated.avatar == speaker) {
                seated.player.notice(UNSAID);
            }
        }
    }

    /// Gives an avatar to everybody who waits in the lobby; some are to be told something beside their greeting.
    fn seat_newcomers(&mut self) -> Vec<(SeatedPlayer, Option<&'static str>)> {
        let mut newcomers = Vec::new();
        let mut waiting = self.lobby.take_waiting();
        // Those whose names are somebody else's word come first, so that nobody takes theirs in the same tick.
        waiting.sort_by_key(|player| matches!(player.name, Name::Asked(_)));
        for player in waiting {
            if player.has_left() {
                continue;
            }
            let (name, notice) = self.name_of(&player);
            match self.world.join(&name) {
                Ok(avatar) => {
                    self.bind_name(&player, avatar);
                    newcomers.push((SeatedPlayer { player, avatar }, notice));
                }
                Err(error) => {
                    // Seats are fewer than avatars, so this takes an embedder's own world with another limit.
                    debug!(room = self.name, %error, "the world refused a player");
                    player.close(Closing::RoomGone);
                }
            }
        }
        newcomers
    }

    /// Tells the players what happened. Newcomers don't hear it: their greeting says it all.
    fn tell_events(&mut self) {
        let events: Vec<Event> = std::iter::from_fn(|| self.world.poll_event()).collect();
        if events.is_empty() {
            return;
        }
        self.tell_plain_clients(&events);
        let news = News::of(&events, &self.world);
        for writer in self.players.iter().filter_map(|seated| seated.player.session_writer()) {
            self.count_missed(writer.news(&news));
        }
    }

    fn count_missed(&self, lines: u64) {
        if lines > 0 {
            self.rooms.metrics.lines_missed.inc_by(lines);
        }
    }

    /// Tells newcomers who they are and everything that is there, and counts them in.
    fn greet(&mut self, newcomers: Vec<(SeatedPlayer, Option<&'static str>)>) {
        let (newcomers, notices): (Vec<_>, Vec<_>) = newcomers.into_iter().unzip();
        self.greet_plain_clients(&newcomers);
        self.greet_sessions(&newcomers);
        for (newcomer, notice) in newcomers.into_iter().zip(notices) {
            if let Some(notice) = notice {
                newcomer.player.notice(notice);
            }
            self.rooms.metrics.clients.inc();
            self.players.push(newcomer);
        }
    }

    fn greet_sessions(&self, newcomers: &[SeatedPlayer]) {
        if newcomers.iter().all(|newcomer| newcomer.player.session_writer().is_none()) {
            return;
        }
        let all = News::all(&self.world);
        for SeatedPlayer { player, avatar } in newcomers {
            let Some(writer) = player.session_writer() else { continue };
            let welcome = FromWorld::Welcome {
                protocol: session::PROTOCOL,
                id: avatar.0,
                room: self.name.clone(),
                step_hz: STEP_HZ,
                network_hz: player.network_hz(),
                tick: self.world.tick(),
            };
            writer.welcome(&welcome, &all, &self.history);
        }
    }

    /// Takes the world down for sessions, which read it when their packets leave, and wakes those that are due.
    fn publish_history(&mut self) {
        if self.players.iter().all(|seated| seated.player.session_writer().is_none()) {
            return;
        }
        let started = Instant::now();
        let tick = self.world.tick();
        self.history
            .write()
            .expect("only this thread writes, and it ends when it panics")
            .publish(tick as u32, self.world.poses().map(|(id, pose)| (id.0, transform_of(pose))));
        self.rooms.metrics.observe_encode(started.elapsed());
        for SeatedPlayer { player, avatar } in &self.players {
            if let Some(writer) = player.session_writer()
                && is_due(tick + u64::from(avatar.0) % PHASES, player.network_hz())
            {
                writer.round(&self.history, *avatar);
            }
        }
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
    /// Runs when the room ends, and when its thread panics.
    fn drop(&mut self) {
        self.rooms.metrics.clients.dec_by(self.players.len() as i64);
        self.show_awake(0);
        info!(room = self.name, tick = self.world.tick(), "room closed");
    }
}

/// Whether a client with this rate gets a snapshot at this step. Rates that don't divide 60 alternate between
/// neighbouring intervals.
fn is_due(tick: u64, hz: u32) -> bool {
    let snapshots_until = |tick: u64| tick * u64::from(hz) / u64::from(STEP_HZ);
    snapshots_until(tick) != snapshots_until(tick.saturating_sub(1))
}

fn transform_of(pose: Pose) -> Transform {
    Transform { position: pose.position, rotation: pose.rotation }
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
