//! The newest writer of each watched value, for the author of the rules.
//!
//! A host watches the state or an entity for [`WATCHED_STEPS`] after each question. Only a write to a watched value looks for its
//! place. The rules cannot read the record, which is not part of the world.
//!
//! An attribute is set by a call, so its writer has the line of that call. The state and private values are plain tables, which
//! are compared before and after each function of the rules. Their writer has the line at which that function begins.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use mlua::{Function, Table, Value as Luau};
use nowcast_world::limits::NAME_BYTES_MAX;
use nowcast_world::{Edit, EntityId, PlayerId, Scene, Value};

use crate::convert::{Budget, kept_from_luau};
use crate::fault::{Place, place_of};
use crate::handle::{Handle, with_scene};
use crate::hook_times::EngineCall;

/// Number of steps for which values are watched after a question.
pub const WATCHED_STEPS: u64 = 600;

/// Maximum watched entities and states. A further one replaces the one whose watch ends first.
const WATCHED_MAX: usize = 64;

/// Maximum writers of one entity or state. Further values have no writer.
const WRITERS_MAX: usize = 1_024;

/// The owner of watched values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Watched {
    /// The state of the world.
    State,
    /// The attributes and the private value of an entity.
    Entity(EntityId),
}

/// The newest change of a value.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Writer {
    /// The first tick at which the value is visible.
    pub tick: u64,
    /// The event, such as `step`, `join`, `contact`, `action` or `timer`; `edit` for [`Edit`]s; `owner` for attributes that the
    /// owner of an entity set.
    pub hook: &'static str,
    /// The name of an action, a command or a timer.
    pub name: Option<String>,
    /// The name of the player whose input or arrival caused the call.
    pub player: Option<String>,
    /// The module and the line: where an attribute was set, or where the function begins that changed other data.
    pub place: Option<(String, u32)>,
}

/// The name of an attribute or of a key of the state; `None` for the private value of an entity.
pub type ValueName = Option<String>;

/// The writers of a script. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Writers(Rc<Shared>);

#[derive(Default)]
struct Shared {
    /// Whether anything is watched.
    is_on: Cell<bool>,
    record: RefCell<Record>,
    /// The state, and the private tables by handle.
    tables: RefCell<Option<(Table, Table)>>,
}

#[derive(Default)]
struct Record {
    watches: BTreeMap<Watched, Watch>,
    /// The running hook, without a place.
    cause: Writer,
    /// Number of hooks so far.
    hooks: u64,
    /// The functions that have not ended.
    running: Vec<Called>,
    /// The function that ran last in this hook.
    newest: Option<Called>,
}

/// A function, and its first argument if that is a function, too: a function of this crate gets the rules' function.
type Called = (Function, Option<Function>);

#[derive(Default)]
struct Watch {
    /// The last tick.
    until: u64,
    noted: BTreeMap<ValueName, Noted>,
}

struct Noted {
    writer: Writer,
    /// The written value. If the world has another value, something else changed it.
    value: Value,
    /// The number of the hook.
    hook: u64,
}

impl Writers {
    /// Whether anything is watched.
    pub(crate) fn is_on(&self) -> bool {
        self.0.is_on.get()
    }

    /// Takes the tables that are compared: the state, and the private tables by handle.
    pub(crate) fn compare_tables(&self, state: Table, privates: Table) {
        self.0.tables.replace(Some((state, privates)));
    }

    /// Watches values for the next steps. Returns the writers of present values since the watch began.
    pub(crate) fn watch(&self, scene: &Scene, watched: Watched) -> Vec<(ValueName, Writer)> {
        self.expire(scene.tick());
        let watches = &mut self.0.record.borrow_mut().watches;
        if watches.len() >= WATCHED_MAX && !watches.contains_key(&watched) {
            let first = watches.iter().min_by_key(|(_, watch)| watch.until).map(|(watched, _)| *watched);
            if let Some(first) = first {
                watches.remove(&first);
            }
        }
        let watch = watches.entry(watched).or_default();
        watch.until = scene.tick() + WATCHED_STEPS;
        self.0.is_on.set(true);
        let is_present = |name: &ValueName, noted: &Noted| {
            is_same(value_of(scene, watched, name.as_deref()), Some(&noted.value))
        };
        let present = watch.noted.iter().filter(|(name, noted)| is_present(name, noted));
        present.map(|(name, noted)| (name.clone(), noted.writer.clone())).collect()
    }

    /// Ends the watches whose steps are over. Their writers are dropped, because later writes are not seen.
    pub(crate) fn expire(&self, tick: u64) {
        if self.is_on() {
            let watches = &mut self.0.record.borrow_mut().watches;
            watches.retain(|_, watch| watch.until >= tick);
            self.0.is_on.set(!watches.is_empty());
        }
    }

    /// Continues the watches of an earlier version of the rules, without its writers.
    pub(crate) fn watch_again(&self, earlier: &Writers) {
        let watches = std::mem::take(&mut earlier.0.record.borrow_mut().watches);
        self.0.is_on.set(!watches.is_empty());
        let anew =
            |(watched, watch): (Watched, Watch)| (watched, Watch { until: watch.until, ..Watch::default() });
        self.0.record.borrow_mut().watches = watches.into_iter().map(anew).collect();
    }

    /// Records that the engine calls a hook.
    pub(crate) fn begin_hook(&self, scene: &Scene, call: &EngineCall<'_>) {
        if !self.is_on() {
            return;
        }
        let name = call.name.map(str::to_owned);
        let cause = Writer { name, ..Writer::new(scene, call.hook, call.player) };
        let mut record = self.0.record.borrow_mut();
        *record = Record {
            cause,
            hooks: record.hooks + 1,
            running: Vec::new(),
            newest: None,
            watches: std::mem::take(&mut record.watches),
        };
    }

    /// Records that a function begins, with its first argument.
    pub(crate) fn begin_call(&self, function: &Function, first: &Luau) {
        if self.is_on() {
            self.compare();
            let called = (function.clone(), first.as_function().cloned());
            let mut record = self.0.record.borrow_mut();
            record.running.push(called.clone());
            record.newest = Some(called);
        }
    }

    /// Records that a function ends.
    pub(crate) fn end_call(&self) {
        if self.is_on() {
            let is_nested = self.0.record.borrow().running.len() > 1;
            if is_nested {
                self.compare();
            }
            let mut record = self.0.record.borrow_mut();
            record.running.pop();
            if is_nested {
                record.newest = record.running.last().cloned();
            }
        }
    }

    /// Finds the watched tables that the newest function changed. The end of the hook compares them again, when it saves them.
    fn compare(&self) {
        let tables = self.0.tables.borrow();
        let (Some((state, privates)), true) = (&*tables, self.0.record.borrow().newest.is_some()) else {
            return;
        };
        let watched: Vec<_> = self.0.record.borrow().watches.keys().copied().collect();
        // The scene exists while functions of the rules run. A value that cannot be saved has no writer.
        let _ = with_scene(|scene| {
            watched.into_iter().try_for_each(|watched| match watched {
                Watched::State => self.compare_state(scene, state),
                Watched::Entity(id) => {
                    let table: Luau = privates.raw_get(Handle::Entity(id))?;
                    if table.is_table()
                        && let Ok(value) = kept_from_luau(&table, "private", None, &Budget::of_value())
                    {
                        self.saved(scene, watched, None, &value);
                    }
                    Ok(())
                }
            })
        });
    }

    fn compare_state(&self, scene: &Scene, state: &Table) -> mlua::Result<()> {
        let (mut live, budget) = (BTreeSet::new(), Budget::of_state());
        state.for_each(|key: Luau, value: Luau| {
            let Some(name) = key.as_string().map(|name| name.to_string_lossy()) else { return Ok(()) };
            if let Ok(value) = kept_from_luau(&value, &name, None, &budget) {
                self.saved(scene, Watched::State, Some(&name), &value);
            }
            live.insert(name);
            Ok(())
        })?;
        for (key, _) in scene.all_state().filter(|(key, _)| !live.contains(*key)) {
            self.saved(scene, Watched::State, Some(key), &Value::Nil);
        }
        Ok(())
    }

    /// Notes the running hook if a value of a saved table differs from the value before, which is that of the
    /// scene or of an earlier function in this hook.
    pub(crate) fn saved(&self, scene: &Scene, watched: Watched, name: Option<&str>, now: &Value) {
        if !self.is_on() {
            return;
        }
        let mut record = self.0.record.borrow_mut();
        let Record { watches, cause, hooks, newest, .. } = &mut *record;
        let Some(watch) = watches.get_mut(&watched) else { return };
        let stored = value_of(scene, watched, name);
        let name = name.map(str::to_owned);
        let earlier = watch.noted.get(&name).filter(|noted| noted.hook == *hooks);
        if !is_same(earlier.map_or(stored, |noted| Some(&noted.value)), Some(now)) {
            let place = newest.as_ref().and_then(|(function, first)| {
                place_of(function).or_else(|| first.as_ref().and_then(place_of))
            });
            watch.note(
                name,
                Noted { writer: Writer { place, ..cause.clone() }, value: now.clone(), hook: *hooks },
            );
        }
    }

    /// Whether an entity is watched.
    pub(crate) fn watches(&self, id: EntityId) -> bool {
        self.is_on() && self.0.record.borrow().watches.contains_key(&Watched::Entity(id))
    }

    /// Notes the running hook as the writer of an attribute.
    pub(crate) fn set(&self, id: EntityId, name: &str, value: &Value, place: Place) {
        let mut record = self.0.record.borrow_mut();
        let Record { watches, cause, hooks, .. } = &mut *record;
        if let Some(watch) = watches.get_mut(&Watched::Entity(id)) {
            let writer = Writer { place, ..cause.clone() };
            watch.note(Some(name.to_owned()), Noted { writer, value: value.clone(), hook: *hooks });
        }
    }

    /// Notes an edit.
    pub(crate) fn edited(&self, scene: &Scene, edit: &Edit) {
        match edit {
            Edit::Attribute(id, name, _) => {
                self.set_by_engine(scene, "edit", None, (Watched::Entity(*id), Some(name)))
            }
            Edit::Private(id, _) => self.set_by_engine(scene, "edit", None, (Watched::Entity(*id), None)),
            Edit::State(key, _) => self.set_by_engine(scene, "edit", None, (Watched::State, Some(key))),
            _ => {}
        }
    }

    /// Notes the owner of an entity as the writer of attributes.
    pub(crate) fn set_by_owner(&self, scene: &Scene, id: EntityId, player: PlayerId, attributes: &Value) {
        if let Value::Map(pairs) = attributes {
            for name in pairs.iter().filter_map(|(name, _)| name.as_text()) {
                self.set_by_engine(scene, "owner", Some(player), (Watched::Entity(id), Some(name)));
            }
        }
    }

    fn set_by_engine(
        &self,
        scene: &Scene,
        hook: &'static str,
        player: Option<PlayerId>,
        of: (Watched, Option<&str>),
    ) {
        if !self.is_on() {
            return;
        }
        let (watched, name) = of;
        if let Some(watch) = self.0.record.borrow_mut().watches.get_mut(&watched) {
            let value = value_of(scene, watched, name).cloned().unwrap_or(Value::Nil);
            let writer = Writer::new(scene, hook, player);
            watch.note(name.map(str::to_owned), Noted { writer, value, hook: 0 });
        }
    }
}

impl Writer {
    fn new(scene: &Scene, hook: &'static str, player: Option<PlayerId>) -> Writer {
        let player = player.and_then(|id| scene.player(id)).map(|player| player.name.clone());
        Writer { tick: scene.tick() + 1, hook, player, ..Writer::default() }
    }
}

impl Watch {
    fn note(&mut self, name: ValueName, noted: Noted) {
        let is_short = name.as_ref().is_none_or(|name| name.len() <= NAME_BYTES_MAX);
        if is_short && (self.noted.len() < WRITERS_MAX || self.noted.contains_key(&name)) {
            self.noted.insert(name, noted);
        }
    }
}

fn value_of<'a>(scene: &'a Scene, watched: Watched, name: Option<&str>) -> Option<&'a Value> {
    match (watched, name) {
        (Watched::State, name) => scene.state(name?),
        (Watched::Entity(id), Some(name)) => scene.attribute(id, name),
        (Watched::Entity(id), None) => scene.private(id),
    }
}

/// Whether two values are equal. An absent value, nil and an empty table are equal: reading a private table makes an empty one.
fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    let content = |value: &&Value| match value {
        Value::Nil => false,
        Value::Map(pairs) => !pairs.is_empty(),
        Value::List(items) => !items.is_empty(),
        _ => true,
    };
    a.filter(content) == b.filter(content)
}
