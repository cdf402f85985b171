//! The world of a room that opens: a new world, or the stored world.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nowcast_cluster::TakeError;
use nowcast_script::{Fault, Limits, Live};
use nowcast_store::{Moment, Recorder, SavedWorld, StoreError, WorldName, WorldStore};
use nowcast_world::journal::Record;
use nowcast_world::{Command, Input, PlayerId};
use tracing::{debug, error, info, warn};

use super::followed::Followed;
use super::members::{HeldSeat, standing};
use super::resumed::{Resumed, resume};
use crate::closing::Closing;
use crate::lobby::Lobby;
use crate::persistence::{HostState, PersistenceThread, Recording, now_ms, origin};
use crate::recorded_world::{Engine, RecordedWorld};
use crate::refusal::Refusal;
use crate::rooms::Rooms;
use crate::worlds::{CurrentRules, Offered};

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
    Begin { world: String, fault: Box<Fault> },
    /// The stored world cannot be read.
    Store(StoreError),
    /// The stored world can be read, but its rules do not accept it.
    Unfit { room: String, cause: String },
    /// The requested history cannot be shown.
    Past(Refusal),
    /// Another server of the cluster owns the room, or the owner cannot be found.
    NotOwned(TakeError),
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
            Self::NotOwned(error) if error.is_elsewhere() => {
                info!(room, "another server owns the room");
                // A client that joins again is told the address of the owner.
                return lobby.end(&Closing::RoomGone);
            }
            Self::NotOwned(error) => error.to_string(),
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
    let began = Instant::now();
    if let Some(ownership) = rooms.persistence.ownership() {
        ownership.take(room).map_err(OpenError::NotOwned)?;
    }
    let taken = began.elapsed();
    let stored = match &followed {
        // The previous owner stored everything before it gave the room to this server.
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
    let loaded = began.elapsed();
    let is_followed = followed.is_some();
    let resumed = match followed.and_then(|followed| followed.finish(&saved, offered)) {
        Some(resumed) => Some(resumed),
        None => resume(&saved, &state, offered, rooms).map_err(unfit)?,
    };
    debug!(room, is_followed, ?taken, ?loaded, resumed = ?began.elapsed(), "times of the stored world, from its claim");
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
    Ok(continue_world(resumed, &saved, &state, store, offered, rooms))
}

/// Creates a new world.
fn begin(offered: &Offered, rooms: &Rooms) -> Result<(Engine, u64), OpenError> {
    let config = &rooms.config;
    let (rules, seen) = offered.rules();
    let engine =
        match rules {
            CurrentRules::Program(make) => Engine::Program(Box::new(make(config.seed, config.players_max))),
            CurrentRules::Script(sources) => {
                let live = Live::new(sources, config.seed, Limits::DEFAULT);
                Engine::Script(Box::new(live.map_err(|fault| OpenError::Begin {
                    world: offered.name.clone(),
                    fault: Box::new(fault),
                })?))
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

/// Continues the recording, removes players whose clients cannot return, and passes newer rules to the world.
fn continue_world(
    resumed: Resumed,
    saved: &SavedWorld,
    state: &HostState,
    store: Arc<dyn WorldStore>,
    offered: &Offered,
    rooms: &Rooms,
) -> Opened {
    let patience = seats_held_for(saved, rooms);
    let Resumed { engine, seen, is_exact, newer } = resumed;
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

/// Returns the time for which the seats of a resumed world are held. The time is counted from the world's newest record, or
/// from the start of this process if that is later. No client could return before this process started.
fn seats_held_for(saved: &SavedWorld, rooms: &Rooms) -> Duration {
    let since_kept = Duration::from_millis(now_ms().saturating_sub(saved.time_ms()));
    rooms.config.seat_held.saturating_sub(since_kept.min(rooms.began.elapsed()))
}

/// Returns the highest number of a player.
fn last_player(saved: &SavedWorld, state: &HostState) -> u32 {
    let joined = saved.entries().filter_map(|entry| match entry.record {
        Record::Command(Command::Join { player, .. }) => Some(player.0),
        _ => None,
    });
    joined.fold(state.last_player, u32::max)
}
