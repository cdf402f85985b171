//! A room that shows the history of its world. It has no players. Its state cannot be changed. It can replay past steps.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use nowcast_script::Assets;
use nowcast_store::{At, Batch, Moment, SavedWorld, Stretch, UtcTime, WorldName, WorldStore};
use nowcast_world::journal::{Entry, Record};
use nowcast_world::{PlayerId, STEP_HZ, Value};
use nowcast_world_protocol::is_room_name;
use tracing::warn;

use super::Room;
use super::members::Newcomer;
use super::opening::{OpenError, Opened};
use super::resumed::{resume_program, resume_script};
use crate::client_handle::ClientHandle;
use crate::dictionary::Dictionary;
use crate::editor_command::{EditorCommand, is_command};
use crate::persistence::{HostState, LookBack, now_ms};
use crate::player_command::PlayerCommand;
use crate::recorded_world::{Engine, RecordedWorld};
use crate::refusal::Refusal;
use crate::rooms::Rooms;
use crate::worlds::{CurrentRules, Offered};

/// The place on screens where the page finds the shown moment. Its value is a map. `room` is the name of the room. `from`
/// and `to` are the oldest and the newest stored moment, and `at` is the shown one, in milliseconds since 1970. `playing`
/// states whether history is played. `exact` states whether the recorded hashes agree.
const PLACE: &str = "@past";

/// The duration of the history that is loaded after a moment.
const NEXT: Duration = Duration::from_secs(60);

/// Steps between two transmissions of the shown moment while history is played: half a second.
const SENT_TICKS: u64 = STEP_HZ as u64 / 2;

/// A moment that is less than this time ago counts as the present, which the live room shows.
const PRESENT_MS: u64 = 2_000;

/// A step in milliseconds, rounded up.
const MS_PER_STEP: u64 = 1_000_u64.div_ceil(STEP_HZ as u64);

/// The text that welcomes a viewer.
const WELCOME: &str = "This room shows the past: look around, nothing can be changed.";

/// The text for viewers of the first stored moment who requested an older one.
const OLDER: &str = "The requested moment is older than the stored history. This is the first stored moment; nothing can be changed.";

/// The refusal of an action.
const READ_ONLY: &str = "this is the past: nothing can be done here";

/// The refusal of a chat line.
const NOBODY_HEARS: &str =
    "Chat is not sent in the past. Commands of the server: /at -5m, /play, /pause, /copy NEW.";

/// The moment of history that a room shows.
pub(super) struct Past {
    name: WorldName,
    /// The world at the moment that was loaded.
    saved: SavedWorld,
    /// The time of the loaded moment, in milliseconds since 1970.
    loaded_ms: u64,
    /// The entries after the loaded moment that were already shown. `next` has the following entries.
    shown: Vec<Entry>,
    next: VecDeque<Entry>,
    /// The last tick of the loaded entries. `through_ms` is its time.
    through_tick: u64,
    through_ms: u64,
    /// The times of the oldest and the newest moment in the store.
    span: (u64, u64),
    assets: Assets,
    is_exact: bool,
    /// Whether the moment in the name of the room is older than the stored history.
    is_first: bool,
    is_playing: bool,
    /// The moment that a viewer requested last.
    wanted: Option<Moment>,
    /// Whether the shown moment has to be sent.
    is_changed: bool,
    /// The newest version of the definition that was sent.
    version: u64,
    /// The number of viewers so far.
    viewers: u32,
}

/// A moment that is loaded.
pub(crate) struct Loaded {
    pub(crate) engine: Engine,
    pub(crate) is_exact: bool,
    /// Whether the requested moment is older than the stored history.
    pub(crate) is_first: bool,
    pub(crate) stretch: Stretch,
    span: (u64, u64),
}

/// Creates the world of a room that shows history.
pub(super) fn open(
    room: &str,
    at: At,
    offered: &Offered,
    rooms: &Rooms,
) -> Result<(Opened, Option<Past>), OpenError> {
    let name = WorldName::new(room).expect("a room's name is short and can be printed");
    let Loaded { engine, is_exact, is_first, stretch, span } =
        load(&name, at.moment(now_ms()), NEXT, offered, rooms).map_err(OpenError::Past)?;
    let Stretch { saved, time_ms, next, through_tick, through_ms } = stretch;
    let past = Past {
        name,
        saved,
        loaded_ms: time_ms,
        shown: Vec::new(),
        next: next.into(),
        through_tick,
        through_ms,
        span,
        assets: offered.assets(),
        is_exact,
        is_first,
        is_playing: false,
        wanted: None,
        is_changed: true,
        version: 1,
        viewers: 0,
    };
    Ok((Opened::new(RecordedWorld::new(engine, None), 0), Some(past)))
}

/// Loads the world at a moment, or at the first stored moment. Waits for the disk. Steps the world from the snapshot before
/// the moment to the moment. `next` is the duration of the history that is loaded after the moment.
pub(crate) fn load(
    name: &WorldName,
    moment: Moment,
    next: Duration,
    offered: &Offered,
    rooms: &Rooms,
) -> Result<Loaded, Refusal> {
    let failed = |cause: String| {
        warn!(room = %name, cause, "the past cannot be shown");
        Refusal::PastNotLoaded { room: name.to_string(), cause: "the server's log has the reason".into() }
    };
    let store = rooms.persistence.store().ok_or(Refusal::NoStore)?;
    let found = rooms.persistence.load_past(&*store, name, moment, next);
    let Some(LookBack { span, stretch, is_first }) = found.map_err(|error| failed(error.to_string()))? else {
        return Err(Refusal::NotKept(name.to_string()));
    };
    let (engine, is_exact) = restore(&stretch.saved, offered, rooms).map_err(failed)?;
    Ok(Loaded { engine, is_exact, is_first, stretch, span })
}

/// Restores the world with its rules of that time. Returns whether the result is exact to the last bit.
fn restore(saved: &SavedWorld, offered: &Offered, rooms: &Rooms) -> Result<(Engine, bool), String> {
    let state = HostState::from_bytes(&saved.snapshot.host).map_err(|error| error.to_string())?;
    let resumed = match (state.sources, offered.rules().0) {
        (Some(sources), _) => resume_script(saved, &sources, sources.clone())?,
        (None, CurrentRules::Program(make)) => {
            resume_program(saved, &make, rooms).ok_or("it belongs to another program")?
        }
        (None, CurrentRules::Script(_)) => return Err("its rules are a program's".into()),
    };
    Ok((resumed.engine, resumed.is_exact))
}

impl Past {
    /// Returns the time of the shown moment, in milliseconds since 1970. Accounts for a world that ran slower than real
    /// time.
    fn at_ms(&self, tick: u64) -> u64 {
        let (ticks, ms) = self.ahead();
        self.loaded_ms + ms * tick.saturating_sub(self.saved.tick).min(ticks) / ticks.max(1)
    }

    /// Returns the number of loaded steps after the loaded moment, and their duration in milliseconds.
    fn ahead(&self) -> (u64, u64) {
        (self.through_tick - self.saved.tick, self.through_ms.saturating_sub(self.loaded_ms))
    }

    /// Returns the tick of a moment that can be reached by steps, because it is loaded and later than the shown moment.
    fn tick_ahead(&self, moment: Moment, tick: u64) -> Option<u64> {
        let Moment::TimeMs(time_ms) = moment else { return None };
        let (ticks, ms) = self.ahead();
        let wanted_ms = time_ms.checked_sub(self.loaded_ms).filter(|wanted_ms| *wanted_ms <= ms)?;
        let wanted = self.saved.tick + ticks * wanted_ms / ms.max(1);
        (wanted > tick).then_some(wanted)
    }

    /// Returns the value that pages find on the screen.
    fn state(&self, tick: u64) -> Value {
        // Times are sent as `f64`, which holds them exactly and which every language can read.
        let time = |ms: u64| Value::F64(ms as f64);
        let pairs = [
            ("room", Value::from(self.name.as_str())),
            ("from", time(self.span.0)),
            ("to", time(self.span.1)),
            ("at", time(self.at_ms(tick))),
            ("playing", Value::Bool(self.is_playing)),
            ("exact", Value::Bool(self.is_exact)),
        ];
        Value::Map(pairs.map(|(key, value)| (Value::from(key), value)).into())
    }

    /// Returns the shown world in the form that the store accepts.
    fn saved_at(&self, name: WorldName, tick: u64) -> SavedWorld {
        let mut saved = SavedWorld { name, ..self.saved.clone() };
        if tick > saved.tick {
            let (from_tick, through_tick, time_ms) = (saved.tick, tick, self.at_ms(tick));
            let entries = self.shown.clone();
            saved.batches.push(Batch { from_tick, through_tick, time_ms, entries, ..Batch::default() });
            saved.tick = tick;
        }
        saved
    }
}

impl Room {
    /// Runs the tick of a room that shows history: runs the commands of viewers, and shows the next moment. Returns the
    /// newcomers, and whether clients need the definition again.
    pub(super) fn look_back(&mut self) -> (Vec<Newcomer>, bool) {
        let Some(mut past) = self.past.take() else { return (Vec::new(), false) };
        self.take_viewer_commands(&mut past);
        let newcomers = self.admit_viewers(&mut past);
        let is_redefined = match past.wanted.take() {
            Some(moment) => self.go_to(&mut past, moment),
            None if past.is_playing => self.play_on(&mut past),
            None => false,
        };
        self.tick += 1;
        let world = self.world.world();
        if past.is_changed || (past.is_playing && world.tick().is_multiple_of(SENT_TICKS)) {
            past.is_changed = false;
            self.publishing.replicated.show(PLACE, past.state(world.tick()));
        }
        self.past = Some(past);
        (newcomers, is_redefined)
    }

    fn take_viewer_commands(&mut self, past: &mut Past) {
        for index in 0..self.members.seated.len() {
            let member = &mut self.members.seated[index];
            let client = Arc::clone(&member.client);
            let commands = member.take_commands(&self.context);
            member.commands.input.take(|| false);
            for command in commands {
                match command {
                    PlayerCommand::Say { text } => self.run_past_command(past, &client, &text),
                    PlayerCommand::Act { action, number, .. } => {
                        client.refuse(&action, READ_ONLY, number.map(|numbered| numbered.number));
                    }
                    PlayerCommand::Input { .. } => {}
                    _ => self.context.rooms.metrics.drop_message("past"),
                }
            }
        }
    }

    /// Runs a viewer's line of chat.
    fn run_past_command(&self, past: &mut Past, client: &ClientHandle, line: &str) {
        if !is_command(line) {
            return client.notice(NOBODY_HEARS);
        }
        match EditorCommand::parse(line) {
            Err(expected) => client.notice(&expected),
            Ok(EditorCommand::At(at)) => past.wanted = Some(at.moment(now_ms())),
            Ok(EditorCommand::Play) => (past.is_playing, past.is_changed) = (true, true),
            Ok(EditorCommand::Pause) => (past.is_playing, past.is_changed) = (false, true),
            Ok(EditorCommand::Copy(new)) => {
                client.notice(&match self.copy(past, &new) {
                    Ok(when) => format!("room {new} begins as {} was at {when}: /r/{new}", past.name),
                    Err(why) => format!("no copy was made: {why}"),
                });
            }
            Ok(EditorCommand::Ban(_) | EditorCommand::Unban(_) | EditorCommand::Bans) => {
                client.notice("say that in the room itself, not in its past");
            }
        }
    }

    /// Stores the shown moment as the world of a new room. Waits for the disk.
    fn copy(&self, past: &Past, new: &str) -> Result<UtcTime, String> {
        if !is_room_name(new) {
            return Err("a room is called by 1 to 32 of a-z 0-9 - _".into());
        }
        let shown = &self.context.rooms.catalogue.of_room(new).name;
        if *shown != self.context.offered.name {
            let offered = &self.context.offered.name;
            return Err(format!("a room of that name shows the world {shown}: call it {offered}-{new}"));
        }
        let Some(store) = self.context.rooms.persistence.store() else {
            return Err(Refusal::NoStore.to_string());
        };
        let tick = self.world.world().tick();
        let name = WorldName::new(new).expect("a room's name is short and can be printed");
        let copied = copy_closed(&self.context.rooms, &*store, new, &past.saved_at(name, tick));
        copied.map(|()| UtcTime(past.at_ms(tick)))
    }

    /// Admits waiting clients as viewers. Their numbers differ from those of all players of the world.
    fn admit_viewers(&mut self, past: &mut Past) -> Vec<Newcomer> {
        let notice = Some(if past.is_first { OLDER } else { WELCOME });
        let waiting = self.context.lobby.take_waiting(|_| false).into_iter();
        waiting
            .map(|client| {
                let id = PlayerId(u32::MAX - past.viewers);
                past.viewers += 1;
                Newcomer { client, id, is_resumed: false, notice }
            })
            .collect()
    }

    /// Shows another moment. If that moment cannot be shown, the viewers are informed, and the shown moment stays.
    fn go_to(&mut self, past: &mut Past, moment: Moment) -> bool {
        past.is_changed = true;
        if let Some(tick) = past.tick_ahead(moment, self.world.world().tick()) {
            while self.world.world().tick() < tick {
                self.step_on(past);
            }
            // Discards events, because viewers do not receive the events of skipped steps.
            while self.world.poll_event().is_some() {}
            return false;
        }
        match load(&past.name, moment, NEXT, &self.context.offered, &self.context.rooms) {
            Ok(loaded) => {
                if loaded.is_first {
                    self.members.seated.iter().for_each(|member| member.client.notice(OLDER));
                }
                self.show(past, loaded)
            }
            Err(refusal) => {
                past.is_playing = false;
                let text = refusal.to_string();
                self.members.seated.iter().for_each(|member| member.client.notice(&text));
                false
            }
        }
    }

    /// Shows a moment that was loaded. Returns whether its definition differs.
    fn show(&mut self, past: &mut Past, loaded: Loaded) -> bool {
        let Loaded { engine, is_exact, stretch, span, .. } = loaded;
        let Stretch { saved, time_ms, next, through_tick, through_ms } = stretch;
        (past.saved, past.loaded_ms, past.span, past.is_exact) = (saved, time_ms, span, is_exact);
        (past.next, past.through_tick, past.through_ms) = (next.into(), through_tick, through_ms);
        past.shown.clear();
        self.world.replace(engine);
        // The new world may have an entity with the same number that changed in the same step.
        self.publishing.replicated.invalidate();
        let definition = self.world.world().scene().definition();
        let mut dictionary = Dictionary::new(definition, &past.assets, past.version);
        if dictionary.message == self.publishing.dictionary.message {
            return false;
        }
        past.version += 1;
        dictionary.message.version = past.version;
        self.publishing.dictionary = dictionary;
        true
    }

    /// Shows the next step. Loads more history at the end of the loaded history.
    fn play_on(&mut self, past: &mut Past) -> bool {
        let tick = self.world.world().tick();
        if tick >= past.through_tick {
            return self.load_on(past, tick);
        }
        self.step_on(past);
        false
    }

    /// Applies the recorded commands of the next step, and steps the world.
    fn step_on(&mut self, past: &mut Past) {
        let tick = self.world.world().tick();
        while let Some(entry) = past.next.pop_front_if(|entry| entry.tick <= tick) {
            past.shown.push(entry.clone());
            let is_hash = matches!(entry.record, Record::Hash(_));
            if (past.is_exact || !is_hash) && self.world.take_entries([entry]).is_err() {
                (past.is_exact, past.is_changed) = (false, true);
            }
        }
        self.world.step();
        while self.world.poll_report().is_some() {}
    }

    /// Loads the history after the loaded history, up to the present. Passes over a gap if the rules changed or the server
    /// was down.
    fn load_on(&mut self, past: &mut Past, tick: u64) -> bool {
        let at_ms = past.at_ms(tick);
        let next = if at_ms + PRESENT_MS >= now_ms() {
            None
        } else if past.through_tick > past.saved.tick {
            Some(at_ms + MS_PER_STEP)
        } else {
            self.context.rooms.persistence.next_past(&past.name, at_ms)
        };
        match next {
            Some(time_ms) => self.go_to(past, Moment::TimeMs(time_ms)),
            None => {
                (past.is_playing, past.is_changed) = (false, true);
                false
            }
        }
    }
}

/// Stores a world under the name of a room that is not open.
fn copy_closed(rooms: &Rooms, store: &dyn WorldStore, new: &str, saved: &SavedWorld) -> Result<(), String> {
    if rooms.is_open(new) {
        return Err("a room of that name has players: choose another name".into());
    }
    rooms.persistence.copy(store, saved).map_err(|error| error.to_string())
}
