//! One room: a world, its players, and the thread that steps it.
//!
//! | file | contents |
//! | --- | --- |
//! | `context.rs` | the room's name, and the parts of the server that the room uses |
//! | `members.rs`, `members/` | players, reserved seats, names |
//! | `commands.rs`, `view_age.rs`, `durable.rs`, `editor_commands.rs` | players' commands |
//! | `chat.rs` | chat lines that wait |
//! | `editing.rs` | new rules and their outcomes |
//! | `replicated_state.rs`, `world_events.rs`, `publishing.rs` | a step's changes and events, and sending them |
//! | `rounds.rs` | the steps in which clients get their rounds of movement |
//! | `opening.rs`, `followed.rs`, `past.rs` | the world for a new room, for a room from another server, for a room that shows history |
//! | `step_watch.rs`, `registration.rs`, `tick_meter.rs` | ending a room, and measurements |
//! | `public_events.rs` | events for programs outside the room |
//! | `moving.rs` | the room's owner in a cluster, and moves to another server |
//! | `studio.rs`, `studio_clients.rs`, `studio_commands.rs` | requests by the studio, and by programs outside the room |

mod chat;
mod commands;
mod context;
mod durable;
mod editing;
mod editor_commands;
mod followed;
mod members;
mod moving;
mod opening;
pub(crate) mod past;
mod portals;
mod public_events;
mod publishing;
mod registration;
pub(crate) mod replicated_state;
mod resumed;
mod rounds;
mod step_watch;
mod studio;
mod studio_clients;
mod studio_commands;
mod tick_meter;
mod view_age;
pub(crate) mod world_events;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nowcast_cluster::{Report, RoomLease};
use nowcast_world::{Command as WorldCommand, STEP_HZ};
use tracing::info;

use self::chat::RoomChat;
use self::context::RoomContext;
use self::durable::Durable;
use self::editing::Editing;
use self::followed::Stopped;
use self::members::{Member, Members, Newcomer};
use self::moving::Moving;
use self::opening::Opened;
use self::past::Past;
use self::publishing::{Publishing, SteppedRoom};
use self::registration::RoomRegistration;
use self::replicated_state::Changes;
use self::step_watch::{OPENING_FACTOR, StepWatch, WatchOutcome};
use self::studio::PhaseClock;
use self::tick_meter::{Started, TickMeter};
use self::world_events::{Step, WorldEvent};
use crate::asked_room::AskedRoom;
use crate::client_sink::StepChanges;
use crate::dictionary::Dictionary;
use crate::lobby::Lobby;
use crate::recorded_world::RecordedWorld;
use crate::rooms::Rooms;

/// Maximum steps that a room catches up after a delay. Further steps are skipped. On a machine that is too slow, the world
/// therefore runs slower, but its clients stay up to date.
const CATCH_UP_STEPS_MAX: u32 = 6;

const STEP: Duration = Duration::from_nanos(1_000_000_000 / STEP_HZ as u64);

/// One room. It runs on its own thread, so that neither physics nor a script delays a socket or another room.
pub(crate) struct Room {
    context: RoomContext,
    /// Dropped after `Room::drop` has run, however the room ends.
    registration: RoomRegistration,
    /// Ends the room when a step takes too long.
    watch: Arc<StepWatch>,
    world: RecordedWorld,
    members: Members,
    chat: RoomChat,
    publishing: Publishing,
    editing: Editing,
    durable: Durable,
    meter: TickMeter,
    /// The shown moment. `None` unless the room shows history.
    past: Option<Past>,
    /// Steps since the room opened. A rollback of the world does not reset the count.
    tick: u64,
    /// Whether a player ever did anything in the room.
    was_used: bool,
    /// The number of the server's bans when the room last applied them.
    bans_seen: u64,
    /// Whether the clients know that the room waits for the lease of its server.
    has_waited: bool,
    /// The room's way to another server.
    moving: Moving,
    /// Whether programs outside the room know its end, or another server continues it.
    ends_silently: bool,
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

    /// Creates the world of a room, and steps it until the room ends.
    fn live(name: String, lobby: Arc<Lobby>, rooms: Arc<Rooms>, watch: Arc<StepWatch>) {
        // Created first, so that waiting clients are closed however the code below ends.
        let registration = RoomRegistration {
            name: name.clone(),
            lobby: Arc::clone(&lobby),
            rooms: Arc::clone(&rooms),
            watch: Arc::clone(&watch),
            has_ticked: false,
        };
        let asked = AskedRoom::parse(&name).expect("no room is opened with an invalid name");
        let offered = Arc::clone(rooms.catalogue.of_room(asked.room));
        let mut followed = None;
        if let (None, Some(ownership)) = (&asked.at, rooms.persistence.ownership()) {
            while ownership.must_follow(&name) {
                followed = match followed::follow(&name, followed, &offered, &rooms, &watch) {
                    Ok(followed) => followed,
                    Err(Stopped) => return,
                };
                ownership.report(&name, Report::Followed);
            }
        }
        watch.enter(OPENING_FACTOR);
        let opened = match asked.at {
            None => opening::open(&name, followed, &offered, &rooms).map(|opened| (opened, None)),
            Some(at) => past::open(asked.room, at, &offered, &rooms),
        };
        if !watch.leave(rooms.config.step) {
            return;
        }
        let (Opened { mut world, seen, last_player, held }, past) = match opened {
            Ok(opened) => opened,
            Err(error) => return error.report(&name, &lobby, &rooms),
        };
        info!(room = name, world = offered.name, tick = world.world().tick(), "room opened");
        // Discards events of the initial entities, because clients receive those entities with the greeting.
        while world.poll_event().is_some() {}
        let assets = offered.assets();
        let dictionary = Dictionary::new(world.world().scene().definition(), &assets, world.version());
        let metrics = rooms.metrics.open_room(&name, &offered.name);
        let durable = Durable::new(rooms.config.players_per_address_max);
        let mut room = Self {
            context: RoomContext { name, lobby, rooms, metrics, offered },
            registration,
            watch,
            tick: world.world().tick(),
            world,
            members: Members::new(held, last_player),
            chat: RoomChat::new(Instant::now()),
            publishing: Publishing::new(dictionary),
            editing: Editing::new(seen, assets),
            durable,
            meter: TickMeter::default(),
            past,
            was_used: false,
            bans_seen: 0,
            has_waited: false,
            moving: Moving::default(),
            ends_silently: false,
        };
        let mut stood = Duration::ZERO;
        if room.past.is_none() {
            // The replay changed no data that is not stored.
            drop(room.world.take_saved());
            room.members.hold_accounts(&room.context, &mut room.world);
            if let Some(ownership) = room.context.rooms.persistence.ownership() {
                stood = ownership.opened(&room.context.name);
            }
        }
        room.run(stood);
    }

    /// Ticks at a steady rate until the server stops or the room was empty for long enough. A room that stood still on its way
    /// from another server catches up first.
    fn run(mut self, stood: Duration) {
        let mut deserted_since = Instant::now();
        let catches_up = stood.min(STEP * CATCH_UP_STEPS_MAX);
        let mut due = deserted_since.checked_sub(catches_up).unwrap_or(deserted_since);
        loop {
            self.durable.wait_until(due, &self.context, &self.members);
            if self.context.rooms.is_stopping() {
                return;
            }
            match self.lease() {
                RoomLease::Held => (self.has_waited, self.moving) = (false, Moving::default()),
                RoomLease::Waiting => {
                    self.wait_for_lease();
                    due = self.next_due(due);
                    continue;
                }
                RoomLease::Leaving if self.leave() => {
                    self.ends_silently = true;
                    return;
                }
                RoomLease::Leaving => {}
                RoomLease::Lost => {
                    self.ends_silently = true;
                    info!(room = self.context.name, "another server owns the room now");
                    return;
                }
            }
            self.run_studio();
            let now = Instant::now();
            let is_empty = self.members.is_empty() && self.context.rooms.is_deserted(&self.context.name);
            self.context.lobby.note_empty(is_empty);
            let limits = &self.world.world().scene().definition().limits;
            self.context.lobby.note_players_max(limits.players_max);
            if !is_empty {
                deserted_since = now;
                if !self.tick() {
                    return;
                }
            } else {
                // The world does not run while the room has no client.
                self.meter.show_awake(&self.context, 0);
                if now - deserted_since >= self.patience() {
                    // The world is recorded before the room leaves the list, because the next room of its name continues
                    // from the stored world.
                    self.world.record_all();
                    self.release();
                    // Published before another room of this name can open.
                    if self.context.rooms.close_if_deserted(&self.context.name, || self.publish_end()) {
                        self.ends_silently = true;
                        self.world.end_recording();
                        return;
                    }
                }
            }
            due = self.next_due(due);
        }
    }

    /// The time for which the room stays open without a client.
    fn patience(&self) -> Duration {
        let config = &self.context.rooms.config;
        match &self.past {
            // A room that shows history has nothing to keep, because the history stays in the store.
            Some(_) => Duration::ZERO,
            // Another room needs this room's slot.
            None if self.context.lobby.ends_if_empty() => Duration::ZERO,
            None if self.was_used => config.room_empty,
            None => config.room_unused.min(config.room_empty),
        }
    }

    /// Runs the parts of a tick, in this order. Returns false if the room ends because the step took too long.
    fn tick(&mut self) -> bool {
        let started = Started::now();
        let mut clock = PhaseClock::starting(started.at);
        self.remove_leavers(started.at);
        self.watch.enter(if self.past.is_some() { OPENING_FACTOR } else { 1 });
        let (newcomers, is_redefined) =
            if self.past.is_some() { self.look_back() } else { self.step_live(started.at) };
        if !self.watch.leave(self.context.rooms.config.step) {
            return false;
        }
        clock.end(0);
        let (changes, world_events) = self.collect_changes(!newcomers.is_empty());
        self.log_events(&world_events);
        let world_events = self.hold_back(world_events);
        self.publish_events(&world_events);
        clock.end(1);
        self.save_accounts();
        // A world is recorded from the step in which the first player joins, because timers may change it without
        // commands.
        self.world.record(self.was_used || self.world.world().scene().players().next().is_some());
        self.members.release_accounts(&self.world);
        clock.end(2);
        let step = StepChanges { changes: &changes, world_events: &world_events, is_redefined };
        self.publish(newcomers, &step);
        clock.end(3);
        self.measure(&started);
        clock.end(4);
        self.record_times(&clock);
        self.registration.ticked();
        true
    }

    /// Removes clients that are gone or banned.
    fn remove_leavers(&mut self, now: Instant) {
        let Self { context, world, members, chat, past, bans_seen, .. } = self;
        let bans = context.rooms.bans.number();
        if std::mem::replace(bans_seen, bans) != bans {
            members.remove_banned(context, world, chat);
        }
        members.give_up_accounts(context, world, chat);
        members.remove_departed(context, world, chat, (past.is_some(), now));
    }

    /// Records the data of accounts that the step changed. A room that shows history records nothing.
    fn save_accounts(&mut self) {
        if self.past.is_none() {
            let changed = self.world.take_saved();
            if !changed.is_empty() {
                let held = self.members.held_data(changed);
                self.context.rooms.accounts.remember(&self.context.offered.name, &held);
                self.world.save_accounts(held);
            }
        }
    }

    /// Reloads rules, applies commands, and steps the world. Returns the newcomers, and whether the rules or assets in force
    /// changed.
    fn step_live(&mut self, now: Instant) -> (Vec<Newcomer>, bool) {
        self.editing.reload(&self.context, &mut self.world, &self.members);
        self.take_commands(now);
        let Self { context, world, members, chat, publishing, .. } = self;
        members.refuse_lines(chat.flush(context, world, now));
        let newcomers = members.admit(context, world, chat, &publishing.replicated);
        self.step();
        let is_redefined = self.report_rules();
        (newcomers, is_redefined)
    }

    /// Advances the world, and the room's own count of steps.
    fn step(&mut self) {
        let version = self.world.version();
        let started = Instant::now();
        self.world.step();
        self.context.metrics.step_seconds.observe(started.elapsed().as_secs_f64());
        self.tick += 1;
        if self.world.version() != version {
            self.go_on_after_rollback();
        }
    }

    /// Steps the world once more after it was rolled back to its state before its newest rules. In this step, players who
    /// joined since those rules join again, and all inputs are applied again.
    fn go_on_after_rollback(&mut self) {
        let Self { context, world, members, .. } = self;
        for Member { id, input, .. } in &members.seated {
            context.count(world.apply(WorldCommand::Input { player: *id, input: *input }));
        }
        world.step();
    }

    /// Reports the outcomes of new rules. Returns whether the rules or assets in force changed.
    fn report_rules(&mut self) -> bool {
        let Self { context, world, members, editing, publishing, .. } = self;
        let reloaded = editing.report_rules(context, world, members);
        if reloaded.is_redefined {
            publishing.redefine(world, editing.assets());
        }
        if reloaded.has_new_rules {
            publishing.replicated.invalidate();
            members.hold_accounts(context, world);
        }
        reloaded.is_redefined
    }

    /// Returns the changes and events of the step, and answers refused commands.
    fn collect_changes(&mut self, has_newcomers: bool) -> (Changes, Vec<WorldEvent>) {
        let events: Vec<_> = std::iter::from_fn(|| self.world.poll_event()).collect();
        self.publish_members(&events);
        let step = Step::of(events.into_iter(), self.world.world());
        let Step { mut world_events, refused, granted, mut kicked, banned, sent } = step;
        let refused = self.refuse_skipped(refused);
        let Self { context, world, members, chat, publishing, tick, .. } = self;
        for (player, refusal) in refused {
            members.refuse(context, player, &refusal, None);
        }
        members.note_granted(granted);
        kicked.extend(members.ban(context, world.world().scene(), banned));
        world_events.extend(members.send_to(context, world.world().scene(), sent));
        members.kick(context, world, chat, kicked);
        (publishing.collect_changes(world.world(), *tick, members, has_newcomers), world_events)
    }

    /// Sends the step to all clients: first changes and events, then the answers that refer to them, then poses.
    fn publish(&mut self, newcomers: Vec<Newcomer>, step: &StepChanges<'_>) {
        let Self { context, world, members, publishing, editing, durable, past, tick, .. } = self;
        // Viewers of history have no players, so the world cannot refuse them.
        let newcomers =
            if past.is_some() { newcomers } else { members.remove_refused(context, world, newcomers) };
        let room = SteppedRoom { context, world: world.world(), tick: *tick };
        publishing.send_changes(room, members, step);
        members.send_granted();
        for newcomer in newcomers {
            publishing.greet(room, &newcomer, step.world_events);
            let client = &newcomer.client;
            if let Some(notice) = newcomer.notice {
                client.notice(notice);
            }
            // A client that resumes its player knows the room, also after the room has moved to another server.
            let world_notice = room.context.world_notice().filter(|_| !newcomer.is_resumed);
            world_notice.into_iter().for_each(|notice| client.notice(&notice));
            if client.may_edit {
                editing.catch_up(client);
            }
            let behind_ms = room.world.scene().player(newcomer.id).map_or(0, |known| known.behind_ms);
            members.seat(room.context, newcomer, behind_ms);
        }
        durable.confirm(room.context, members);
        publishing.publish(room, members);
    }

    fn measure(&mut self, started: &Started) {
        let Self { context, world, members, meter, tick, .. } = self;
        let room = SteppedRoom { context, world: world.world(), tick: *tick };
        meter.measure(started, room, members.seated.len(), world.script_work());
    }

    /// Returns when the next step is due. Steps that the room cannot catch up are skipped.
    fn next_due(&mut self, due: Instant) -> Instant {
        let next = due + STEP;
        let now = Instant::now();
        let oldest = now.checked_sub(STEP * CATCH_UP_STEPS_MAX).unwrap_or(now);
        if next >= oldest {
            return next;
        }
        let skipped = (oldest - next).as_nanos().div_ceil(STEP.as_nanos()) as u64;
        self.context.rooms.metrics.steps_skipped.inc_by(skipped);
        self.context.metrics.steps_skipped.inc_by(skipped);
        for Member { commands, .. } in &mut self.members.seated {
            commands.input.leave_out(u32::try_from(skipped).unwrap_or(u32::MAX));
        }
        oldest
    }
}

impl Drop for Room {
    /// Runs when the room ends, and when its thread panics.
    fn drop(&mut self) {
        // The result of an interrupted step depends on a clock, so it is not recorded.
        if !thread::panicking() && self.watch.outcome() == WatchOutcome::InTime {
            self.world.record_all();
        }
        self.world.end_recording();
        if !self.ends_silently {
            self.publish_end();
        }
        self.context.rooms.metrics.clients.dec_by(self.members.seated.len() as i64);
        self.meter.show_awake(&self.context, 0);
        info!(room = self.context.name, tick = self.tick, "room closed");
    }
}
