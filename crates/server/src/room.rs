//! One room: a world, its players, and the thread that steps it.

mod banning;
mod commands;
mod durable;
mod editing;
mod held;
mod naming;
mod opening;
mod past;
mod plain_delivery;
mod registration;
pub(crate) mod replicated_state;
mod session_delivery;
mod step_watch;
mod turns;
pub(crate) mod world_events;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nowcast::admission::{Allowance, Verdict};
use nowcast_replication::{History, InterestGrid};
use nowcast_world::{
    Command as WorldCommand, EntityId, Input, OwnerError, OwnerRequest, PlayerId, Refusal, STEP_HZ,
};
use tracing::{debug, info};

use self::durable::{Confirmed, Durable};
use self::editing::Editing;
use self::held::HeldSeat;
use self::opening::Opened;
use self::past::Past;
use self::registration::RoomRegistration;
use self::replicated_state::{Changes, ReplicatedState};
use self::step_watch::{OPENING_FACTOR, StepWatch, WatchOutcome};
use self::world_events::{Step, WorldEvent};
use crate::chat::{Chat, Line};
use crate::client_handle::Player;
use crate::closing::{Closing, REFUSED_ACTIONS};
use crate::dictionary::Dictionary;
use crate::lobby::Lobby;
use crate::names::{Name, Names};
use crate::process::thread_cpu_time;
use crate::recorded_world::RecordedWorld;
use crate::room_metrics::RoomMetrics;
use crate::room_name::{AskedRoom, room_of};
use crate::room_refusal::RoomRefusal;
use crate::rooms::Rooms;
use crate::session::LatestSnapshot;
use crate::snapshot::Snapshot;
use crate::worlds::Offered;

/// Steps that a room makes up for after it was held up. What is beyond that is left out, so that a slow machine shows
/// a slow world instead of one that never catches up.
const CATCH_UP_STEPS_MAX: u32 = 6;

/// Clients of one rate are due in this many groups, one step after the other, because all at once would make a burst of
/// every snapshot. Inside of a group they share what is encoded for them.
const PHASES: u64 = 6;

const STEP: Duration = Duration::from_nanos(1_000_000_000 / STEP_HZ as u64);

/// Refused actions a second that a client is told of; for one that has more refused for long there is no room.
const REFUSALS_HZ: f64 = 4.0;
const REFUSALS_BURST: f64 = 40.0;

/// One room. It lives on a thread of its own, so that neither physics nor a script holds up a socket or another room.
pub(crate) struct Room {
    name: String,
    lobby: Arc<Lobby>,
    rooms: Arc<Rooms>,
    /// What `/metrics` shows of this room.
    metrics: Arc<RoomMetrics>,
    /// Dropped after the room, whatever ends it.
    registration: RoomRegistration,
    /// Ends the room when a step takes too long.
    watch: Arc<StepWatch>,
    /// Which world it is, and where new rules for it come from.
    offered: Arc<Offered>,
    world: RecordedWorld,
    dictionary: Dictionary,
    /// What the clients know of the world.
    replicated: ReplicatedState,
    /// Where everything is, by sections that clients see or do not.
    interest_grid: InterestGrid,
    /// New rules, and what became of them.
    editing: Editing,
    players: Vec<SeatedPlayer>,
    /// Seats of clients that were lost, which the world has players of.
    held: Vec<HeldSeat>,
    /// What is told when it is kept, and which actions are since the last tick.
    durable: Durable,
    confirmed: Vec<Confirmed>,
    /// The number of the player who came last.
    last_player: u32,
    /// Steps since the room opened. It goes on where a world is taken back to an earlier step of its own.
    tick: u64,
    /// The newest snapshots, newest last, whose encodings are still shared.
    shared: VecDeque<Arc<Snapshot>>,
    /// What sessions are told of movement.
    history: History,
    /// Where the drivers of sessions find what the room looks like.
    latest_snapshot: Arc<LatestSnapshot>,
    /// The names that tokens gave.
    names: Names,
    /// What waits to be said.
    chat: Chat,
    /// What will not be said, because more is said than a room passes on.
    unsaid: Vec<Line>,
    /// Who owns what since this step, with the number of its request.
    granted: Vec<(PlayerId, EntityId, u32)>,
    /// Whether anybody ever did anything here.
    was_used: bool,
    /// The bans that it has looked at.
    bans_seen: u64,
    /// The moment that it shows, if it is a room of the past.
    past: Option<Past>,
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

/// A player in the world.
struct SeatedPlayer {
    player: Arc<Player>,
    id: PlayerId,
    /// What the controls said when the world was last told, and their number.
    input: Input,
    controls: u16,
    /// How long ago that was what it sees, as the world was told.
    behind_ms: u16,
    refusals: Allowance,
    moves_refused: Allowance,
}

/// A player who comes in this step, and what it is to be told beside its greeting.
struct Newcomer {
    player: Arc<Player>,
    id: PlayerId,
    /// Whether it is the player that it was before.
    is_resumed: bool,
    notice: Option<&'static str>,
}

impl Room {
    /// Starts the room's thread.
    pub(crate) fn open(name: &str, lobby: Arc<Lobby>, rooms: Arc<Rooms>) -> io::Result<()> {
        let name = name.to_owned();
        let watch = Arc::new(StepWatch::default());
        step_watch::watch(&name, &watch, &lobby, &rooms)?;
        thread::Builder::new().name(format!("room {name}")).spawn(move || {
            let stop = watch.stop.clone();
            stop.watch(|| Self::live(name, lobby, rooms, watch));
        })?;
        Ok(())
    }

    /// Makes the world of a room, and steps it until the room ends.
    fn live(name: String, lobby: Arc<Lobby>, rooms: Arc<Rooms>, watch: Arc<StepWatch>) {
        // First of all: nothing that follows may end without anybody hearing of it.
        let registration = RoomRegistration {
            name: name.clone(),
            lobby: Arc::clone(&lobby),
            rooms: Arc::clone(&rooms),
            watch: Arc::clone(&watch),
            has_ticked: false,
        };
        watch.enter(OPENING_FACTOR);
        let asked = AskedRoom::parse(&name).expect("no room is opened under another name");
        let offered = Arc::clone(rooms.catalogue.of_room(asked.room));
        let opened = match asked.at {
            None => opening::open(&name, &offered, &rooms).map(|opened| (opened, None)),
            Some(at) => past::open(asked.room, at, &offered, &rooms),
        };
        if !watch.leave(rooms.config.timeouts.step) {
            return;
        }
        let (Opened { mut world, seen, last_player, held }, past) = match opened {
            Ok(opened) => opened,
            Err(error) => return error.tell(&name, &lobby, &rooms),
        };
        info!(room = name, world = offered.name, tick = world.world().tick(), "room opened");
        // Initial entities cause no events.
        while world.poll_event().is_some() {}
        let assets = offered.assets();
        let dictionary = Dictionary::new(world.world().scene().definition(), &assets, world.version());
        let metrics = rooms.metrics.open_room(&name, &offered.name);
        let room = Self {
            name,
            lobby,
            rooms,
            metrics,
            registration,
            watch,
            offered,
            tick: world.world().tick(),
            world,
            dictionary,
            replicated: ReplicatedState::default(),
            interest_grid: InterestGrid::default(),
            editing: Editing::new(seen, assets),
            players: Vec::new(),
            held,
            durable: Durable::default(),
            confirmed: Vec::new(),
            last_player,
            shared: VecDeque::new(),
            history: History::default(),
            latest_snapshot: Arc::default(),
            names: Names::default(),
            was_used: false,
            chat: Chat::new(Instant::now()),
            unsaid: Vec::new(),
            granted: Vec::new(),
            bans_seen: 0,
            past,
            awake_shown: 0,
        };
        room.run();
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
            let is_empty =
                self.players.is_empty() && self.held.is_empty() && self.rooms.is_deserted(&self.name);
            self.lobby.note_empty(is_empty);
            if !is_empty {
                deserted_since = now;
                if !self.tick() {
                    return;
                }
            } else {
                // Nobody looks, so the world stands still.
                self.show_awake(0);
                let timeouts = &self.rooms.config.timeouts;
                let unused = timeouts.room_unused.min(timeouts.room_empty);
                let patience = match &self.past {
                    // What was is kept anyway.
                    Some(_) => Duration::ZERO,
                    // Another room needs the place.
                    None if self.lobby.gives_way() => Duration::ZERO,
                    None if self.was_used => timeouts.room_empty,
                    None => unused,
                };
                if now - deserted_since >= patience {
                    // Before the room is off the list, because the next of its name goes on from what is kept.
                    self.world.record_all();
                    if self.rooms.close_if_deserted(&self.name) {
                        self.world.end_recording();
                        return;
                    }
                }
            }
            due = self.next_due(due);
        }
    }

    /// Runs the steps of a tick, in this order. Returns whether the room goes on: it ends if the step took too long.
    fn tick(&mut self) -> bool {
        let started = Started::now();
        self.apply_bans();
        self.dismiss_leavers(started.at);
        self.watch.enter(if self.past.is_some() { OPENING_FACTOR } else { 1 });
        let (newcomers, is_redefined) =
            if self.past.is_some() { self.look_back() } else { self.step_live(started.at) };
        if !self.watch.leave(self.rooms.config.timeouts.step) {
            return false;
        }
        let (changes, world_events) = self.collect_changes();
        let world_events = self.hold_back(world_events);
        // A world is kept from the step in which the first player joins: timers may change it although nobody does anything.
        self.world.record(self.was_used || self.world.world().scene().players().next().is_some());
        let newcomers = self.seat(newcomers);
        self.tell(&changes, &world_events, is_redefined);
        self.send_ownership();
        self.greet(newcomers, &world_events);
        self.confirm();
        self.publish_snapshot();
        self.publish_room_snapshot();
        self.measure(started);
        self.registration.ticked();
        true
    }

    /// What the world goes through in a tick of a room that is no past. Returns who comes, and whether other rules or files hold
    /// now than before.
    fn step_live(&mut self, now: Instant) -> (Vec<Newcomer>, bool) {
        self.reload_rules();
        self.take_commands(now);
        self.flush_chat(now);
        let newcomers = self.admit_newcomers();
        self.step();
        let is_redefined = self.report_rules();
        (newcomers, is_redefined)
    }

    /// Puts everybody who waits in the lobby to the world.
    fn admit_newcomers(&mut self) -> Vec<Newcomer> {
        let mut newcomers = Vec::new();
        let mut waiting = self.lobby.take_waiting();
        // Those whose names are somebody else's word come first, so that nobody takes theirs in the same tick.
        waiting.sort_by_key(|player| matches!(player.name, Name::Asked(_)));
        for player in waiting {
            if player.has_left() {
                continue;
            }
            let seat = player.key.and_then(|key| self.take_seat_of(key, &mut newcomers));
            newcomers.push(match seat {
                Some(id) => self.resume(player, id),
                None => {
                    self.make_room(newcomers.len());
                    self.join(player)
                }
            });
        }
        newcomers
    }

    /// Somebody comes.
    fn join(&mut self, player: Arc<Player>) -> Newcomer {
        let (name, notice) = self.name_of(&player);
        self.last_player += 1;
        let id = PlayerId(self.last_player);
        self.bind_name(&player, id, &name);
        self.apply(if player.is_program {
            WorldCommand::JoinProgram { player: id, name }
        } else {
            WorldCommand::Join { player: id, name }
        });
        if let Some(key) = player.key {
            self.world.seat(id, key);
        }
        Newcomer { player, id, is_resumed: false, notice }
    }

    /// Somebody comes back to the player that it was.
    fn resume(&mut self, player: Arc<Player>, id: PlayerId) -> Newcomer {
        let name = self.world.world().scene().player(id).map(|known| known.name.clone());
        self.bind_name(&player, id, &name.unwrap_or_default());
        self.rooms.metrics.players_resumed.inc();
        Newcomer { player, id, is_resumed: true, notice: None }
    }

    /// Advances the world, and with it the room's own count of steps.
    fn step(&mut self) {
        let version = self.world.version();
        let started = Instant::now();
        self.world.step();
        self.metrics.step_seconds.observe(started.elapsed().as_secs_f64());
        self.tick += 1;
        if self.world.version() != version {
            self.go_on_after_rollback();
        }
    }

    /// The world was taken back to what it was before its newest rules. Those who came meanwhile are only about to come in, and
    /// the controls are those of then: a step more, and everybody is there and moves as they want now.
    fn go_on_after_rollback(&mut self) {
        for index in 0..self.players.len() {
            let SeatedPlayer { id, input, .. } = self.players[index];
            self.apply(WorldCommand::Input { player: id, input });
        }
        self.world.step();
    }

    /// Looks what changed in the world, what happened, and what was refused.
    fn collect_changes(&mut self) -> (Changes, Vec<WorldEvent>) {
        let events: Vec<_> = std::iter::from_fn(|| self.world.poll_event()).collect();
        let Step { world_events, refused, granted, kicked } =
            Step::of(events.into_iter(), self.world.world());
        for (player, refusal) in refused {
            self.refuse(player, &refusal);
        }
        self.granted = granted;
        self.kick(kicked);
        let changes = self.replicated.update(self.world.world(), &self.dictionary);
        let Self { interest_grid, world, dictionary, tick, .. } = self;
        let placed = world.world().entities().iter().map(|entity| dictionary.placed(&entity));
        interest_grid.update(*tick as u32, placed);
        (changes, world_events)
    }

    /// Tells a player that what it did was not carried out. One that has very much refused may not stay.
    fn refuse(&mut self, player: PlayerId, refusal: &Refusal) {
        if let Refusal::Owner { request, entity, number, why } = refusal {
            return self.deny(player, *request, *entity, *number, why);
        }
        let action = match refusal {
            Refusal::UnknownAction(action) | Refusal::Arguments { action, .. } => action,
            _ => return,
        };
        self.rooms.metrics.drop_message("action_refused");
        let Some(seated) = self.players.iter_mut().find(|seated| seated.id == player) else { return };
        match seated.refusals.judge(Instant::now()) {
            Verdict::Pass => seated.player.refuse(action, &refusal.to_string(), None),
            Verdict::Drop => {}
            Verdict::Close => seated.player.close(Closing::TooMany(REFUSED_ACTIONS)),
        }
    }

    /// Tells an owner that its request was not carried out. What is said of where entities are to be is said many times a
    /// second, so nobody is sent away for that.
    fn deny(
        &mut self,
        player: PlayerId,
        request: OwnerRequest,
        entity: Option<EntityId>,
        number: u32,
        why: &OwnerError,
    ) {
        self.rooms.metrics.drop_message("owner_refused");
        let Some(seated) = self.players.iter_mut().find(|seated| seated.id == player) else { return };
        let is_state = request == OwnerRequest::Move;
        let replicated = if is_state { &mut seated.moves_refused } else { &mut seated.refusals };
        match replicated.judge(Instant::now()) {
            Verdict::Pass => seated.player.deny(request, entity, number, &why.to_string()),
            Verdict::Close if !is_state => seated.player.close(Closing::TooMany(REFUSED_ACTIONS)),
            Verdict::Drop | Verdict::Close => {}
        }
    }

    /// Tells owners what they own now, once they know that it is there.
    fn send_ownership(&mut self) {
        for (player, entity, number) in std::mem::take(&mut self.granted) {
            if let Some(seated) = self.players.iter().find(|seated| seated.id == player) {
                seated.player.grant(entity, number);
            }
        }
    }

    /// Sends away newcomers for whom the world had no room.
    fn seat(&mut self, mut newcomers: Vec<Newcomer>) -> Vec<Newcomer> {
        if self.past.is_some() {
            // They look on, and are not in it.
            return newcomers;
        }
        let Self { name, names, world, .. } = self;
        let scene = world.world().scene();
        newcomers.retain(|newcomer| {
            let is_in = scene.player(newcomer.id).is_some();
            if !is_in {
                debug!(room = name, "the world refused a player");
                names.forget(newcomer.id);
                let players_max = scene.definition().limits.players_max;
                let refusal = RoomRefusal::Full { room: name.clone(), players_max };
                newcomer.player.close(Closing::Refused(refusal));
            }
            is_in
        });
        newcomers
    }

    /// Tells the players what is news. Newcomers don't hear it: their greeting says it all.
    fn tell(&self, changes: &Changes, world_events: &[WorldEvent], is_redefined: bool) {
        let is_quiet = *changes == Changes::default()
            && self.interest_grid.relocations().is_empty()
            && world_events.is_empty()
            && !is_redefined;
        if is_quiet || self.players.is_empty() {
            return;
        }
        self.send_to_plain_clients(changes, world_events, is_redefined);
        self.send_to_sessions(changes, world_events, is_redefined);
    }

    fn count_missed(&self, lines: u64) {
        if lines > 0 {
            self.rooms.metrics.lines_missed.inc_by(lines);
        }
    }

    /// Tells newcomers who they are and everything that is there, and counts them in.
    fn greet(&mut self, newcomers: Vec<Newcomer>, world_events: &[WorldEvent]) {
        if newcomers.is_empty() {
            return;
        }
        self.greet_plain_clients(&newcomers);
        self.greet_sessions(&newcomers);
        for Newcomer { player, id, notice, .. } in newcomers {
            // What the rules tell all is over; what they tell this player as it comes is not.
            self.send_personal_events(&player, id, world_events);
            if let Some(notice) = notice {
                player.notice(notice);
            }
            if let Some(notice) = self.world_notice() {
                player.notice(&notice);
            }
            if player.may_edit {
                self.editing.catch_up(&player);
            }
            self.rooms.metrics.clients.inc();
            let refusals = Allowance::new(REFUSALS_HZ, REFUSALS_BURST, Instant::now());
            let moves_refused = refusals.clone();
            let input = Input::default();
            self.players.push(SeatedPlayer {
                player,
                id,
                input,
                controls: 0,
                behind_ms: self.world.world().scene().player(id).map_or(0, |known| known.behind_ms),
                refusals,
                moves_refused,
            });
        }
    }

    /// Returns the notice for newcomers where no world has the room's name.
    fn world_notice(&self) -> Option<String> {
        let asked = room_of(&self.name);
        (!self.rooms.catalogue.names(asked)).then(|| {
            let world = &self.offered.name;
            format!("No world is called {asked}: this room shows {world}. /api/worlds lists the worlds of this server.")
        })
    }

    fn avatar(&self, player: PlayerId) -> Option<EntityId> {
        self.replicated.player(player).and_then(|player| player.avatar)
    }

    fn measure(&mut self, started: Started) {
        let awake = self.world.world().awake() as i64;
        self.show_awake(awake);
        let metrics = &self.rooms.metrics;
        let took = started.at.elapsed().as_secs_f64();
        metrics.tick_seconds.observe(took);
        self.metrics.tick_seconds.observe(took);
        self.metrics.clients.set(self.players.len() as i64);
        self.metrics.entities.set(self.world.world().entities().ids().len() as i64);
        if let Some(share) = self.world.script_work() {
            self.metrics.show_script_work(share);
        }
        if self.tick.is_multiple_of(u64::from(STEP_HZ)) {
            self.metrics.forget_ages();
        }
        if let (Some(before), Some(after)) = (started.cpu_time, thread_cpu_time()) {
            metrics.tick_cpu_seconds.observe((after - before).as_secs_f64());
        }
    }

    fn show_awake(&mut self, awake: i64) {
        self.rooms.metrics.bodies_awake.inc_by(awake - self.awake_shown);
        self.metrics.bodies_awake.set(awake);
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
        self.metrics.steps_skipped.inc_by(skipped);
        for SeatedPlayer { player, .. } in &self.players {
            player.leave_out(u32::try_from(skipped).unwrap_or(u32::MAX));
        }
        oldest
    }
}

impl Drop for Room {
    /// Runs when the room ends, and when its thread panics.
    fn drop(&mut self) {
        // Where a step that was stopped led depends on a clock, so it is not recorded.
        if !thread::panicking() && self.watch.outcome() == WatchOutcome::InTime {
            self.world.record_all();
        }
        self.world.end_recording();
        self.rooms.metrics.clients.dec_by(self.players.len() as i64);
        self.show_awake(0);
        info!(room = self.name, tick = self.tick, "room closed");
    }
}

/// Whether a client with this rate gets a snapshot at this step. Rates that don't divide 60 alternate between
/// neighbouring intervals.
fn is_due(tick: u64, hz: u32) -> bool {
    let snapshots_until = |tick: u64| tick * u64::from(hz) / u64::from(STEP_HZ);
    snapshots_until(tick) != snapshots_until(tick.saturating_sub(1))
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
