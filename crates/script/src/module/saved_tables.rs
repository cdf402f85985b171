//! Saved data: the world's state, the private tables of entities and players, and the data of accounts.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{Lua, Table, Value as Luau};
use nowcast_world::limits::NAME_BYTES_MAX;
use nowcast_world::{EntityId, PlayerId, Scene, SceneError, Value};

use crate::console::Console;
use crate::convert::{Budget, charged_to_luau, kept_from_luau, shown, to_luau, with_article};
use crate::fault::{Fault, FaultKind};
use crate::handle::{Handle, refused, with_scene};
use crate::meter::Meter;
use crate::namespace::{Namespace, Shared};
use crate::writers::{Watched, Writers};

/// Maximum number of fields in a world's state; each may hold a table of any size.
const FIELDS_MAX: usize = 16_384;

pub(super) fn add(host: &Namespace<'_>, shared: &Shared) -> mlua::Result<()> {
    host.add("private", |lua, handle: Handle| {
        let value = with_scene(|scene| match handle {
            Handle::Entity(id) => private_of(scene, id).cloned(),
            Handle::Player(id) => player_private_of(scene, id).cloned(),
        })?;
        match value {
            Value::Nil => lua.create_table().map(Luau::Table),
            value => charged_to_luau(lua, &value),
        }
    })?;
    let keeper = Keeper::of(shared);
    host.add("keepPrivate", move |lua, (handle, value): (Handle, Luau)| {
        with_scene(|scene| keeper.keep_private(lua, scene, handle, value))
    })?;
    let keeper = Keeper::of(shared);
    host.add("keepState", move |lua, state: Table| {
        with_scene(|scene| keeper.keep_state(lua, scene, &state))
    })?;
    host.add("savedKey", |_, player: Handle| {
        let player = player.player()?;
        with_scene(|scene| {
            let player = scene.player(player).ok_or_else(|| refused(SceneError::UnknownPlayer(player)))?;
            Ok(player.saved_key())
        })
    })?;
    host.add("sharesAccount", |_, player: Handle| {
        let player = player.player()?;
        with_scene(|scene| Ok(scene.shares_account(player)))
    })?;
    host.add("saved", |lua, player: Handle| {
        let player = player.player()?;
        match with_scene(|scene| Ok(scene.saved(player).cloned()))? {
            Some(data) => Ok((Some(data.version), charged_to_luau(lua, &data.value)?)),
            None => Ok((None, Luau::Nil)),
        }
    })?;
    let keeper = Keeper::of(shared);
    host.add(
        "keepSaved",
        move |lua, (player, version, live, problem): (Handle, u32, Luau, Option<String>)| {
            with_scene(|scene| keeper.keep_saved(lua, scene, (player.player()?, version), live, problem))
        },
    )?;
    let kept = shared.kept.clone();
    host.add("isKept", move |_, table: Table| {
        Ok(table.metatable().is_some_and(|meta| kept.borrow().as_ref() == Some(&meta)))
    })
}

/// The saved tables of a script.
pub(crate) struct SavedTables {
    pub(crate) state: Table,
    /// The private tables, by handle.
    pub(crate) privates: Table,
    /// The data of accounts, by key ([`nowcast_world::Player::saved_key`]).
    pub(crate) saveds: Table,
}

impl SavedTables {
    /// Fills the tables with the world's values. The tables are changed in place, so references to them stay valid.
    pub(crate) fn refill(&self, lua: &Lua, scene: &Scene) -> mlua::Result<()> {
        for (key, value) in scene.all_state() {
            refill_field(lua, &self.state, key, value)?;
        }
        let mut held: Vec<(Handle, Table)> = Vec::new();
        self.privates.for_each(|handle: Handle, table: Table| {
            held.push((handle, table));
            Ok(())
        })?;
        for (handle, table) in held {
            let value = match handle {
                Handle::Entity(id) => scene.private(id),
                Handle::Player(id) => scene.player(id).map(|player| &player.private),
            };
            match value {
                Some(value) => refill(lua, &table, value)?,
                None => self.privates.raw_set(handle, Luau::Nil)?,
            }
        }
        let mut held: Vec<(String, Table)> = Vec::new();
        self.saveds.for_each(|key: String, table: Table| {
            held.push((key, table));
            Ok(())
        })?;
        for (key, table) in held {
            let player = scene.players().find(|player| player.saved_key() == key);
            match player.and_then(|player| scene.saved(player.id)) {
                Some(data) => refill(lua, &table, &data.value)?,
                None => self.saveds.raw_set(key, Luau::Nil)?,
            }
        }
        Ok(())
    }
}

fn private_of(scene: &Scene, id: EntityId) -> mlua::Result<&Value> {
    scene.private(id).ok_or_else(|| refused(SceneError::UnknownEntity(id)))
}

fn player_private_of(scene: &Scene, id: PlayerId) -> mlua::Result<&Value> {
    let player = scene.player(id).ok_or_else(|| refused(SceneError::UnknownPlayer(id)))?;
    Ok(&player.private)
}

/// Saves the script's tables into the world.
struct Keeper {
    console: Console,
    kept: Rc<RefCell<Option<Table>>>,
    meter: Rc<Meter>,
    writers: Writers,
}

impl Keeper {
    fn of(shared: &Shared) -> Keeper {
        let Shared { console, kept, meter, writers, .. } = shared.clone();
        Keeper { console, kept, meter, writers }
    }

    /// Saves the private table of an entity or a player. Returns the table that is valid from now on: the given table or, if
    /// it cannot be saved, the last saved one.
    fn keep_private(&self, lua: &Lua, scene: &mut Scene, handle: Handle, live: Luau) -> mlua::Result<Luau> {
        let is_gone = match handle {
            Handle::Entity(id) => scene.private(id).is_none(),
            Handle::Player(id) => scene.player(id).is_none(),
        };
        if is_gone {
            return Ok(Luau::Nil);
        }
        let budget = Budget::of_value();
        let converted = kept_from_luau(&live, "private", self.kept.borrow().as_ref(), &budget);
        self.meter.note(budget.units());
        let done = converted.and_then(|value| {
            let done = match handle {
                Handle::Entity(id) => {
                    self.writers.saved(scene, Watched::Entity(id), None, &value);
                    scene.set_private(id, value)
                }
                Handle::Player(id) => scene.set_player_private(id, value),
            };
            done.map_err(|error| format!("private: {error}"))
        });
        match done {
            Ok(()) => Ok(live),
            Err(problem) => {
                self.console.report(not_kept(format!("{handle}: {problem}")));
                let before = match handle {
                    Handle::Entity(id) => scene.private(id).cloned(),
                    Handle::Player(id) => scene.player(id).map(|player| player.private.clone()),
                };
                match before {
                    None | Some(Value::Nil) => lua.create_table().map(Luau::Table),
                    Some(before) => to_luau(lua, &before),
                }
            }
        }
    }

    /// Saves the data of an account. Returns the table that is valid from now on: the given table, or if it cannot be saved or
    /// has a problem, the last saved one.
    fn keep_saved(
        &self,
        lua: &Lua,
        scene: &mut Scene,
        (player, version): (PlayerId, u32),
        live: Luau,
        problem: Option<String>,
    ) -> mlua::Result<Luau> {
        let budget = Budget::of_account();
        let converted = match problem {
            Some(problem) => Err(problem),
            None => kept_from_luau(&live, "saved", self.kept.borrow().as_ref(), &budget),
        };
        self.meter.note(budget.units());
        let done = converted.and_then(|value| {
            scene.set_saved(player, version, value).map_err(|error| format!("saved: {error}"))
        });
        let Err(problem) = done else { return Ok(live) };
        self.console.report(not_kept(format!("player {}: {problem}", player.0)));
        // Without saved data, the next access begins with the first values.
        scene.saved(player).map_or(Ok(Luau::Nil), |before| to_luau(lua, &before.value))
    }

    /// Saves changes of the world's state. The cost is charged afterwards: a state is saved regardless of the budget, and a
    /// large state leaves less budget for the following hooks.
    fn keep_state(&self, lua: &Lua, scene: &mut Scene, state: &Table) -> mlua::Result<()> {
        let live = self.named_fields(state)?;
        let mut units = 0;
        for (name, value) in &live {
            let path = format!("world.state.{name}");
            let budget = Budget::of_field(units);
            let read = kept_from_luau(value, &path, self.kept.borrow().as_ref(), &budget);
            units += budget.units();
            let done = read.and_then(|value| {
                self.writers.saved(scene, Watched::State, Some(name), &value);
                if scene.state(name) == Some(&value) {
                    return Ok(());
                }
                scene.set_state(name, value).map_err(|error| format!("{path}: {error}"))
            });
            if let Err(problem) = done {
                self.console.report(not_kept(problem));
                let before = scene.state(name).map_or(Ok(Luau::Nil), |before| to_luau(lua, before))?;
                state.raw_set(name.as_str(), before)?;
            }
        }
        let is_live = |key: &str| live.binary_search_by(|(name, _)| name.as_str().cmp(key)).is_ok();
        let gone: Vec<_> =
            scene.all_state().map(|(key, _)| key.to_owned()).filter(|key| !is_live(key)).collect();
        for key in gone {
            self.writers.saved(scene, Watched::State, Some(&key), &Value::Nil);
            scene.set_state(&key, Value::Nil).map_err(refused)?;
        }
        self.meter.note(units);
        Ok(())
    }

    /// Returns the named fields of a state, ordered by name. Fields without a name, with a name that is too long, or
    /// beyond [`FIELDS_MAX`] are reported and removed.
    fn named_fields(&self, state: &Table) -> mlua::Result<Vec<(String, Luau)>> {
        let mut live: Vec<(String, Luau)> = Vec::new();
        let mut foreign = Vec::new();
        state.for_each(|key: Luau, value: Luau| {
            match key.as_string() {
                Some(name) if live.len() < FIELDS_MAX && name.as_bytes().len() <= NAME_BYTES_MAX => {
                    live.push((name.to_string_lossy(), value));
                }
                _ => foreign.push(key),
            }
            Ok(())
        })?;
        self.meter.note((live.len() + foreign.len()) as u64);
        let mut problem = None;
        for key in foreign {
            problem.get_or_insert_with(|| match key.as_string() {
                Some(name) => format!(
                    "world.state.{} has a name that is too long, or exceeds the number of fields: at most {FIELDS_MAX} fields with names of {NAME_BYTES_MAX} bytes",
                    shown(&name.to_string_lossy())
                ),
                None => format!("world.state has {} as a key; keys are texts", with_article(&key)),
            });
            state.raw_set(key, Luau::Nil)?;
        }
        if let Some(problem) = problem {
            self.console.report(not_kept(problem));
        }
        live.sort_by(|(a, _), (b, _)| a.cmp(b));
        Ok(live)
    }
}

fn not_kept(problem: String) -> Fault {
    Fault::new(FaultKind::State, problem).with_cure("the last saved value was restored; saved data may hold nil, booleans, numbers, texts, vectors, entities, players, lists, and tables with texts as keys")
}

/// Changes the contents of a table to `value`. The table is changed in place, so references to it see the new contents.
fn refill(lua: &Lua, table: &Table, value: &Value) -> mlua::Result<()> {
    match value {
        Value::Map(pairs) => {
            let mut stale = Vec::new();
            table.for_each(|key: Luau, _: Luau| {
                let name = key.as_string().map(|key| key.to_string_lossy().to_string());
                if name.and_then(|name| value.get(&name)).is_none() {
                    stale.push(key);
                }
                Ok(())
            })?;
            stale.into_iter().try_for_each(|key| table.raw_set(key, Luau::Nil))?;
            pairs.iter().try_for_each(|(key, value)| match key {
                Value::Text(key) => refill_field(lua, table, key.as_str(), value),
                _ => Ok(()),
            })
        }
        Value::List(items) => {
            table.clear()?;
            items
                .iter()
                .enumerate()
                .try_for_each(|(index, item)| table.raw_set(index + 1, to_luau(lua, item)?))
        }
        _ => table.clear(),
    }
}

fn refill_field(lua: &Lua, table: &Table, key: &str, value: &Value) -> mlua::Result<()> {
    match (table.raw_get(key)?, value) {
        (Luau::Table(inner), Value::Map(_) | Value::List(_)) => refill(lua, &inner, value),
        (_, value) => table.raw_set(key, to_luau(lua, value)?),
    }
}
