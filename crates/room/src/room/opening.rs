//! The world of a room that opens: a new world, or the stored world.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_script::{Fault, Limits, Live, ResumeError, Sources};
use nowcast_store::{Moment, Recorder, ReturnError, SavedWorld, StoreError, WorldName, WorldStore};
use nowcast_world::journal::Record;
use nowcast_world::journal::ReplayError;
use nowcast_world::{Command, Input, PlayerId, RestoreError, World};
use tracing::{error, info, warn};

use super::followed::Followed;
use super::members::{HeldSeat, standing};
use crate::closing::Closing;
use crate::lobby::Lobby;
use crate::ownership::NotOwned;
use crate::persistence::{HostState, PersistenceThread, Recording, now_ms, origin};
use crate::recorded_world::{Engine, RecordedWorld};
use crate::refusal::Refusal;
use crate::rooms::Rooms;
use crate::worlds::{CurrentRules, MakeWorld, Offered};

/// A world that a room may step.
pub(super) struct Opened {
    pub(super) world: RecordedWorld,
    /// The number of the folder's newest version that the world has seen.
    pub(super) seen: u64,
    /// The highest number of a player so far.
    pub(super) last_player: u32,
    /// The seats of the players whose clients have keys.
    pub(super) held: Vec<HeldSeat>,
}

impl Opened {
    /// Creates the `Opened` of a world without players.
    pub(super) fn new(world: RecordedWorld, seen: u64) -> Self {
        Self { world, seen, last_player: 0, held: Vec::new() }
    }
}

/// The reason why a room has no world.
pub(super) enum OpenError {
    /// The rules raise an error when the world begins.
    Begin { world: String, fault: Fault },
    /// The stored world cannot be read.
    Store(StoreError),
    /// The stored world can be read, but its rules do not accept it.
    Unfit { room: String, cause: String },
    /// The requested history cannot be shown.
    Past(Refusal),
    /// Another server of the cluster owns the room, or the owner cannot be found.
    NotOwned(NotOwned),
}

impl From<StoreError> for OpenError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl OpenError {
    /// Logs the error for operators, and closes the connections of waiting clients.
    pub(super) fn report(self, room: &str, lobby: &Lobby, rooms: &Rooms) {
        let cause = match self {
            Self::Begin { world, fault } => {
                warn!(room, world, %fault, "the world does not begin");
                rooms.troubles.failed(&format!("the world {world} does not begin: {fault}"));
                return;
            }
            Self::NotOwned(NotOwned::Elsewhere) => {
                info!(room, "another server owns the room");
                // A client that joins again is told the address of the owner.
                return lobby.end(&Closing::RoomGone);
            }
            Self::NotOwned(NotOwned::Failed(cause)) => cause,
            Self::Past(refusal) => {
                info!(room, %refusal, "history cannot be shown");
                return lobby.end(&Closing::Refused(refusal));
            }
            Self::Store(cause) => cause.to_string(),
            Self::Unfit { room, cause } => format!(
                "the stored world of room {room} cannot continue: {cause}. Nothing was changed. Serve its former rules, or remove \
                 it with `nowcast world export` and `nowcast world remove`"
            ),
        };
        error!(room, cause, "the world cannot be loaded");
        rooms.persistence.cannot_load(&cause);
        lobby.end(&Closing::Refused(Refusal::NotLoaded(room.to_owned())));
    }
}

/// Creates the world of a room, or resumes the stored world. A world that was followed only lacks its last steps.
pub(super) fn open(
    room: &str,
    followed: Option<Followed>,
    offered: &Offered,
    rooms: &Rooms,
) -> Result<Opened, OpenError> {
    let Some(store) = rooms.persistence.store() else {
        let (engine, seen) = begin(offered, rooms)?;
        return Ok(Opened::new(RecordedWorld::new(engine, None), seen));
    };
    let name = WorldName::new(room).expect("a room's name is short and can be printed");
    if let Some(ownership) = rooms.persistence.ownership() {
        ownership.take(room).map_err(OpenError::NotOwned)?;
    }
    let stored = match &followed {
        // The owner before has stored everything before it gave the room to this server.
        Some(_) => store.load(&name, Moment::Last)?,
        None => rooms.persistence.load(&*store, &name)?,
    };
    let Some(saved) = stored else {
        let (engine, seen) = begin(offered, rooms)?;
        if !rooms.persistence.take_place() {
            warn!(
                room,
                "the store has reached its limit of worlds, so this one is not stored; remove some with `nowcast world remove`"
            );
            return Ok(Opened::new(RecordedWorld::new(engine, None), seen));
        }
        return Ok(begun(engine, seen, name, store, offered, rooms));
    };
    let unfit = |cause: String| OpenError::Unfit { room: room.to_owned(), cause };
    let state = HostState::from_bytes(&saved.snapshot.host).map_err(|error| unfit(error.to_string()))?;
    let resumed = match followed.and_then(|followed| followed.finish(&saved, offered)) {
        Some(resumed) => Some(resumed),
        None => resume(&saved, &state, offered, rooms).map_err(unfit)?,
    };
    let Some(resumed) = resumed else {
        let (engine, seen) = begin(offered, rooms)?;
        let aside = rooms.persistence.set_aside(&*store, &saved)?;
        warn!(
            room,
            world = offered.name,
            was = state.offered,
            aside = %aside,
            "the stored world belongs to another world or other rules: the room starts a new world, and the old one is kept under another name"
        );
        return Ok(begun(engine, seen, name, store, offered, rooms));
    };
    Ok(resumed.go_on(&saved, &state, store, offered, rooms))
}

/// Resumes a stored world; `None` if it belongs to other rules.
pub(super) fn resume(
    saved: &SavedWorld,
    state: &HostState,
    offered: &Offered,
    rooms: &Rooms,
) -> Result<Option<Resumed>, String> {
    let is_same = state.offered == offered.name;
    Ok(match (offered.rules(), &state.sources) {
        ((CurrentRules::Script(newest), seen), Some(sources)) if is_same => {
            Some(resume_script(saved, sources, newest)?.map_seen(seen))
        }
        ((CurrentRules::Program(make), seen), None) if is_same => {
            resume_program(saved, &make, rooms).map(|resumed| resumed.map_seen(seen))
        }
        _ => None,
    })
}

/// Creates a new world.
fn begin(offered: &Offered, rooms: &Rooms) -> Result<(Engine, u64), OpenError> {
    let config = &rooms.config;
    let (rules, seen) = offered.rules();
    let engine = match rules {
        CurrentRules::Program(make) => Engine::Program(Box::new(make(config.seed, config.players_max))),
        CurrentRules::Script(sources) => {
            let live = Live::new(sources, config.seed, Limits::DEFAULT);
            Engine::Script(Box::new(
                live.map_err(|fault| OpenError::Begin { world: offered.name.clone(), fault })?,
            ))
        }
    };
    Ok((engine, seen))
}

/// Records a new world from its beginning.
fn begun(
    engine: Engine,
    seen: u64,
    name: WorldName,
    store: Arc<dyn WorldStore>,
    offered: &Offered,
    rooms: &Rooms,
) -> Opened {
    let seed = rooms.config.seed;
    let recorder = Recorder::new(name, origin(engine.world(), engine.sources(), seed), engine.world());
    let share = rooms.persistence.journal_share(&rooms.config.retention);
    let recording = Recording::new(store, recorder, share, &offered.name, seed);
    Opened::new(RecordedWorld::new(engine, Some(recording)), seen)
}

/// A world that is resumed.
pub(super) struct Resumed {
    pub(super) engine: Engine,
    pub(super) seen: u64,
    /// Whether the resumed world equals the stored world to the last bit.
    pub(super) is_exact: bool,
    /// Rules that are newer than those of the stored world.
    pub(super) newer: Option<Sources>,
}

impl Resumed {
    fn map_seen(self, seen: u64) -> Self {
        Self { seen, ..self }
    }

    /// Continues the recording, removes players whose clients cannot return, and passes newer rules to the world.
    fn go_on(
        self,
        saved: &SavedWorld,
        state: &HostState,
        store: Arc<dyn WorldStore>,
        offered: &Offered,
        rooms: &Rooms,
    ) -> Opened {
        let patience = seats_held_for(saved, rooms);
        let Self { engine, seen, is_exact, newer } = self;
        let last_player = last_player(saved, state);
        let seed = saved.snapshot.origin.seed;
        let mut recorder = Recorder::resume(saved);
        if !is_exact {
            recorder.set_origin(origin(engine.world(), engine.sources(), seed));
        }
        let seats = PersistenceThread::seats(saved, state);
        let share = rooms.persistence.journal_share(&rooms.config.retention);
        let recording = Recording::new(store, recorder, share, &offered.name, seed);
        let recording = recording.resumed(last_player, seats.clone());
        let mut world = RecordedWorld::new(engine, Some(recording));
        let players: Vec<(PlayerId, Input)> =
            world.world().scene().players().map(|player| (player.id, player.input)).collect();
        let until = Instant::now() + patience;
        let mut held = Vec::new();
        let mut left = 0;
        for (player, input) in players {
            // A leave is always accepted, and the queue for the first step has space for all players.
            let _ = match seats.get(&player) {
                Some(key) if !patience.is_zero() => {
                    held.push(HeldSeat { id: player, key: *key, until });
                    world.apply(Command::Input { player, input: standing(input) })
                }
                _ => {
                    left += 1;
                    world.apply(Command::Leave { player })
                }
            };
        }
        info!(
            room = %saved.name,
            tick = world.world().tick(),
            hash = format!("{:016x}", world.world().hash()),
            left,
            held = held.len(),
            "the stored world continues"
        );
        if let Some(newer) = newer {
            info!(room = %saved.name, "the rules changed while the world was not open");
            world.reload(newer);
        }
        Opened { world, seen, last_player, held }
    }
}

/// Resumes a world of scripts with the rules that are stored with it. Reports faults.
pub(super) fn resume_script(
    saved: &SavedWorld,
    sources: &Sources,
    newest: Sources,
) -> Result<Resumed, String> {
    let replay = |sources: &Sources, is_checked: bool| {
        Live::resume(sources.clone(), Limits::DEFAULT, |definition, rules| {
            let restore =
                |snapshot: &nowcast_store::Snapshot| World::restore(definition, rules, &snapshot.world);
            if is_checked { saved.replay(restore) } else { saved.replay_unchecked(restore) }
        })
    };
    let resumed = |live: Live, is_exact, newer| Resumed {
        engine: Engine::Script(Box::new(live)),
        seen: 0,
        is_exact,
        newer,
    };
    let newer = (newest != *sources).then(|| newest.clone());
    match replay(sources, true) {
        Ok(live) => Ok(resumed(live, true, newer)),
        Err(ResumeError::World(error)) if is_divergence(&error) => {
            warn!(
                room = %saved.name,
                %error,
                "the stored world continues with differences: its rules keep state in variables, which a new process loses \
                 (`nowcast check` names them), or another release recorded it"
            );
            let live = replay(sources, false).map_err(|error| error.to_string())?;
            Ok(resumed(live, false, newer))
        }
        Err(ResumeError::World(error)) => Err(error.to_string()),
        // This release refuses rules that an older release accepted.
        Err(ResumeError::Rules(fault)) => {
            warn!(room = %saved.name, %fault, "the former rules of the world no longer load: it continues with the present rules");
            let mut live =
                replay(&newest, false).map_err(|error| format!("{fault}; with the rules of now: {error}"))?;
            live.upgrade_from_unknown();
            Ok(resumed(live, false, None))
        }
    }
}

/// Resumes a program's world, if the program still creates the same world.
pub(super) fn resume_program(saved: &SavedWorld, make: &MakeWorld, rooms: &Rooms) -> Option<Resumed> {
    let config = &rooms.config;
    let made = make(config.seed, config.players_max);
    let of_now = origin(&made, None, config.seed);
    if saved.snapshot.origin != of_now {
        return None;
    }
    match saved.replay(|snapshot| made.resume_from(&snapshot.world)) {
        Ok(world) => {
            let engine = Engine::Program(Box::new(world));
            Some(Resumed { engine, seen: 0, is_exact: true, newer: None })
        }
        Err(error) => {
            warn!(room = %saved.name, %error, "the program does not continue the stored world");
            None
        }
    }
}

fn is_divergence(error: &ReturnError<RestoreError>) -> bool {
    matches!(error, ReturnError::Replay(ReplayError::Diverged { .. } | ReplayError::Refused { .. }))
}

/// Returns the time for which the seats of a resumed world are held. The time is counted from the world's newest record, or
/// from the start of this process if that is later. No client could return before this process started.
fn seats_held_for(saved: &SavedWorld, rooms: &Rooms) -> Duration {
    let since_kept = Duration::from_millis(now_ms().saturating_sub(saved.time_ms()));
    rooms.config.seat_held.saturating_sub(since_kept.min(rooms.began.elapsed()))
}

/// Returns the highest number of a player.
fn last_player(saved: &SavedWorld, state: &HostState) -> u32 {
    let joined = saved.entries().filter_map(|entry| match entry.record {
        Record::Command(command) if command.is_join() => Some(command.player().0),
        _ => None,
    });
    joined.fold(state.last_player, u32::max)
}
