//! Each rule function's time, work and memory, while a host measures them.
//!
//! `attempt` in `world.luau` calls `beginCall` and `endCall` around each function while `measuring.on` is set. These two calls
//! must not change a world's course. Their work units are taken back. An exhausted budget ends the hook at the same place,
//! because the instruction after each call is also charged one unit.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use mlua::{Function, Value as Luau};
use nowcast_world::{EntityId, PlayerId, Scene};

use crate::fault::{self, place_of};
use crate::handle::Handle;

/// Maximum functions that are measured in one step. The calls of further functions are not counted.
const FUNCTIONS_MAX: usize = 1_024;

/// Returns the time since a fixed moment. The host chooses the clock.
pub type Clock = Rc<dyn Fn() -> Duration>;

/// A rule function's time, work and memory in one step. Nested functions are not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookTime {
    /// The event, such as `step`, `join`, `contact`, `action` or `timer`.
    pub hook: &'static str,
    /// The name of an action, a command or a timer.
    pub name: Option<String>,
    /// The kind to which the hook belongs, as an index into the definition.
    pub kind: Option<u16>,
    /// The module of the function.
    pub file: String,
    /// The line at which the function begins, from 1.
    pub line: u32,
    /// Calls.
    pub calls: u64,
    /// The time of all calls.
    pub time: Duration,
    /// Units of work.
    pub units: u64,
    /// Bytes that the calls allocated, in steps of 1,024. Over many calls, the steps cancel out.
    pub bytes: u64,
}

/// The hook that the engine calls.
#[derive(Clone, Copy, Default)]
pub(crate) struct EngineCall<'a> {
    pub(crate) hook: &'static str,
    pub(crate) name: Option<&'a str>,
    /// The player whose input or arrival caused the call.
    pub(crate) player: Option<PlayerId>,
    /// The entities whose kinds have such hooks, with their kinds. An entity of `None` stands for each first argument.
    pub(crate) kinds: [Option<(Option<EntityId>, u16)>; 2],
}

impl EngineCall<'_> {
    pub(crate) const fn of(hook: &'static str) -> Self {
        Self { hook, name: None, player: None, kinds: [None; 2] }
    }

    pub(crate) const fn of_kind(hook: &'static str, kind: u16) -> Self {
        Self { hook, name: None, player: None, kinds: [Some((None, kind)), None] }
    }

    pub(crate) const fn by(self, player: PlayerId) -> Self {
        Self { player: Some(player), ..self }
    }

    /// Describes the call for the author of the rules.
    pub(crate) fn describe(&self, scene: &Scene) -> String {
        let name = self.name.map_or_else(String::new, |name| format!(" {name}"));
        let player = self.player.map_or_else(String::new, |id| {
            let name = scene.player(id).map_or("gone", |player| &player.name);
            format!(", player {} ({name})", id.0)
        });
        format!("{}{name}{player}", self.hook)
    }
}

/// The measurements of a script. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct HookTimes(Rc<RefCell<Measured>>);

#[derive(Default)]
struct Measured {
    clock: Option<Clock>,
    hook: &'static str,
    name: Option<String>,
    kinds: [Option<(Option<EntityId>, u16)>; 2],
    began: Duration,
    running: Vec<Call>,
    /// The files and lines of functions, by their address. Functions of this crate have none. Addresses are valid for one step.
    places: BTreeMap<usize, fault::Place>,
    times: BTreeMap<Key, Sums>,
    total: Duration,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    hook: &'static str,
    name: Option<String>,
    kind: Option<u16>,
    place: (String, u32),
}

#[derive(Clone, Copy, Default)]
struct Sums {
    calls: u64,
    time: Duration,
    units: u64,
    bytes: u64,
}

/// A call that has not ended.
struct Call {
    key: Option<Key>,
    began: (Duration, u64, usize),
    nested: Sums,
}

impl HookTimes {
    /// Begins or ends measurements.
    pub(crate) fn set_clock(&self, clock: Option<Clock>) {
        let mut measured = self.0.borrow_mut();
        if clock.is_none() {
            *measured = Measured::default();
        }
        measured.clock = clock;
    }

    /// Returns the clock, while a host measures.
    pub(crate) fn clock(&self) -> Option<Clock> {
        self.0.borrow().clock.clone()
    }

    /// Returns the times of the functions since the last call, and the time of all hooks.
    pub(crate) fn take(&self) -> (Vec<HookTime>, Duration) {
        let mut measured = self.0.borrow_mut();
        measured.places.clear();
        let times = std::mem::take(&mut measured.times).into_iter().map(|(key, sums)| {
            let Key { hook, name, kind, place: (file, line) } = key;
            let Sums { calls, time, units, bytes } = sums;
            HookTime { hook, name, kind, file, line, calls, time, units, bytes }
        });
        (times.collect(), std::mem::take(&mut measured.total))
    }

    /// Records that the engine calls a hook.
    pub(crate) fn begin_hook(&self, call: &EngineCall<'_>) {
        let mut measured = self.0.borrow_mut();
        let Some(clock) = measured.clock.clone() else { return };
        measured.hook = call.hook;
        measured.name = call.name.map(str::to_owned);
        measured.kinds = call.kinds;
        measured.began = clock();
    }

    /// Records that the hook has returned. A hook that was stopped leaves calls without an end.
    pub(crate) fn end_hook(&self, units: u64, bytes: usize) {
        while !self.0.borrow().running.is_empty() {
            self.end_call(units, bytes);
        }
        let mut measured = self.0.borrow_mut();
        if let Some(clock) = measured.clock.clone() {
            let took = clock().saturating_sub(measured.began);
            measured.total += took;
        }
    }

    /// Records that a function begins, with its first arguments, and with the units and bytes so far.
    pub(crate) fn begin_call(&self, function: &Function, first: &Luau, second: &Luau, spent: (u64, usize)) {
        let mut measured = self.0.borrow_mut();
        let Some(clock) = measured.clock.clone() else { return };
        // The loop over the entities of a kind is a function of this crate. It passes the function of the rules, and the kind.
        let (place, kind) = match (measured.place(function), first) {
            (None, Luau::Function(of_rules)) => {
                (measured.place(of_rules), second.as_integer().and_then(|kind| u16::try_from(kind).ok()))
            }
            (place, first) => (place, measured.kind_of(first)),
        };
        let key = place.map(|place| Key { hook: measured.hook, name: measured.name.clone(), kind, place });
        measured.running.push(Call { key, began: (clock(), spent.0, spent.1), nested: Sums::default() });
    }

    /// Records that a function ends.
    pub(crate) fn end_call(&self, units: u64, bytes: usize) {
        let mut measured = self.0.borrow_mut();
        let Some(clock) = measured.clock.clone() else { return measured.running.clear() };
        let Some(Call { key, began, nested }) = measured.running.pop() else { return };
        let whole = Sums {
            calls: 0,
            time: clock().saturating_sub(began.0),
            units: units.saturating_sub(began.1),
            bytes: bytes.saturating_sub(began.2) as u64,
        };
        if let Some(outer) = measured.running.last_mut() {
            outer.nested.add(whole);
        }
        let Some(key) = key else { return };
        if measured.times.len() < FUNCTIONS_MAX || measured.times.contains_key(&key) {
            measured.times.entry(key).or_default().add(Sums {
                calls: 1,
                time: whole.time.saturating_sub(nested.time),
                units: whole.units.saturating_sub(nested.units),
                bytes: whole.bytes.saturating_sub(nested.bytes),
            });
        }
    }
}

impl Measured {
    fn place(&mut self, function: &Function) -> fault::Place {
        let address = function.to_pointer().addr();
        self.places.entry(address).or_insert_with(|| place_of(function)).clone()
    }

    /// Returns the kind whose hook runs, by the first argument of the hook.
    fn kind_of(&self, first: &Luau) -> Option<u16> {
        let entity = match first {
            Luau::LightUserData(light) => match Handle::from_light(*light) {
                Some(Handle::Entity(id)) => Some(id),
                _ => None,
            },
            _ => None,
        };
        let found = self.kinds.iter().flatten().find(|(id, _)| id.is_none() || *id == entity);
        found.map(|(_, kind)| *kind)
    }
}

impl Sums {
    fn add(&mut self, more: Sums) {
        self.calls += more.calls;
        self.time += more.time;
        self.units += more.units;
        self.bytes += more.bytes;
    }
}
