//! A script as the rules of a world.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{FromLuaMulti, Function, IntoLuaMulti, Table, Value as Luau};
use nowcast_world::{Behaviour, Contact, Definition, Edit, EntityId, PlayerId, STEP_HZ, Scene, Timer, Value};

use crate::about::About;
use crate::console::Console;
use crate::convert::{Budget, kept_from_luau, to_luau, units_of};
use crate::fault::{Fault, FaultKind};
use crate::handle::{Handle, lend};
use crate::hook_times::{EngineCall, HookTimes};
use crate::limits::Limits;
use crate::module::{self, Module, SavedTables, arguments};
use crate::namespace::Shared;
use crate::sandbox::Sandbox;
use crate::sources::{MAIN, Sources};
use crate::writers::Writers;

/// Steps between two clean-ups of removed entities' data.
const SWEEP_STEPS: u64 = 256;

/// One version of a world's rules, written in Luau: it declares the world's definition, and is its [`Behaviour`].
///
/// ```
/// use nowcast_script::{Limits, Script, Sources};
/// use nowcast_world::World;
///
/// let text = r#"
///     local world = require("@nowcast/world")
///     local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.3 } })
///     world.on("start", function() Ball:spawn { at = vector.create(0, 10, 0) } end)
/// "#;
/// let script = Script::load(&Sources::of_main(text), Limits::DEFAULT)?;
/// let (definition, console) = (script.definition(), script.console());
/// let mut world = World::new(definition, 7, Box::new(script)).expect("a definition was checked");
/// world.step();
/// assert_eq!(world.scene().entities().len(), 1);
/// assert_eq!(console.poll_fault(), None);
/// # Ok::<(), nowcast_script::Fault>(())
/// ```
pub struct Script {
    sandbox: Sandbox,
    shared: Shared,
    hooks: Hooks,
    saved_tables: SavedTables,
    measuring: Table,
    /// Whether the functions of the rules are reported, for measurements or for watched values.
    reports_calls: bool,
    definition: Definition,
    /// The step whose work is counted.
    step: Option<u64>,
    was_stopped: bool,
}

/// The Luau functions behind the calls of the engine.
struct Hooks {
    start: Function,
    step: Function,
    join: Function,
    leave: Function,
    own: Function,
    release: Function,
    action: Function,
    message: Function,
    timer: Function,
    contact: Function,
    upgrade: Function,
    keep: Function,
    sweep: Function,
}

impl Script {
    /// Loads a version. Loading runs the modules, which contain the declarations. No world is changed.
    ///
    /// # Errors
    /// Fails if a module does not compile, raises an error, declares something that cannot be, or uses more work or memory than
    /// the limits allow.
    pub fn load(sources: &Sources, limits: Limits) -> Result<Script, Fault> {
        Self::load_with(sources, limits, &[], |_, _| Ok(Vec::new())).map_err(|fault| fault.explained(sources))
    }

    /// Loads a version with additional modules of this crate. After `world.luau`, the modules at the paths in `then` run.
    pub(crate) fn load_with(
        sources: &Sources,
        limits: Limits,
        then: &[&str],
        more: impl FnOnce(&Sandbox, &Shared) -> mlua::Result<Vec<(&'static str, Luau)>>,
    ) -> Result<Script, Fault> {
        let sandbox = Sandbox::new(limits)?;
        let shared = Shared {
            declarations: Rc::default(),
            console: Console::default(),
            meter: sandbox.meter(),
            kept: Rc::new(RefCell::new(None)),
            times: HookTimes::default(),
            writers: Writers::default(),
        };
        let (module, more) =
            sandbox.run(|_| Ok((module::install(&sandbox, &shared)?, more(&sandbox, &shared)?)))?;
        let own = more.into_iter().chain([("@nowcast/world", module.module.clone())]);
        sandbox.load_then::<()>(sources, own, then)?;
        let definition = close(&module, &shared)?;
        let hooks = sandbox.run(|_| Hooks::of(&module))?;
        Ok(Script {
            sandbox,
            shared,
            hooks,
            saved_tables: module.saved_tables,
            measuring: module.measuring,
            reports_calls: false,
            definition,
            step: None,
            was_stopped: false,
        })
    }

    /// Returns the world's definition.
    pub fn definition(&self) -> Definition {
        self.definition.clone()
    }

    /// Returns the description of the world for its visitors.
    pub fn about(&self) -> About {
        self.shared.declarations.borrow().about.clone()
    }

    /// Returns the queue of the script's faults, which stays valid after a world has taken the script.
    pub fn console(&self) -> Console {
        self.shared.console.clone()
    }

    /// Returns the sandbox of the script.
    pub fn sandbox(&self) -> &Sandbox {
        &self.sandbox
    }

    /// Returns the measurements of the script's functions.
    pub(crate) fn hook_times(&self) -> HookTimes {
        self.shared.times.clone()
    }

    /// Returns the record of the newest writers of watched values.
    pub(crate) fn writers(&self) -> Writers {
        self.shared.writers.clone()
    }

    /// Calls a hook, measures it if a host wants that, and saves the script's data into the world.
    fn call<R: FromLuaMulti>(
        &mut self,
        scene: &mut Scene,
        of: &EngineCall<'_>,
        hook: impl FnOnce(&Hooks) -> &Function,
        arguments: impl IntoLuaMulti,
    ) -> Option<R> {
        self.enter(scene.tick());
        let faults = self.shared.console.stats().faults;
        if self.reports_calls {
            self.shared.times.begin_hook(of);
        }
        self.shared.writers.begin_hook(scene, of);
        let result = self.call_unmeasured(scene, hook, arguments);
        if self.reports_calls {
            self.shared.times.end_hook(self.sandbox.work(), self.sandbox.byte_counter().bytes());
        }
        if self.shared.console.stats().faults > faults {
            self.shared.console.name_call(&of.describe(scene));
        }
        result
    }

    fn call_unmeasured<R: FromLuaMulti>(
        &mut self,
        scene: &mut Scene,
        hook: impl FnOnce(&Hooks) -> &Function,
        arguments: impl IntoLuaMulti,
    ) -> Option<R> {
        if self.shared.meter.is_exhausted() {
            self.shared.console.note_skipped();
            return None;
        }
        let hook = hook(&self.hooks).clone();
        let faults = self.shared.console.stats().faults;
        let called = lend(scene, || self.sandbox.run(|_| hook.call::<R>(arguments)));
        if self.shared.meter.is_exhausted() && !self.was_stopped {
            self.was_stopped = true;
            self.shared.console.note_stopped();
        }
        // A stopped script fails at the place where it was stopped, and then again in each caller.
        let is_told =
            |fault: &Fault| fault.kind == FaultKind::Work && self.shared.console.stats().faults > faults;
        let result = match called {
            Ok(result) => Some(result),
            Err(fault) => {
                if !is_told(&fault) {
                    self.shared.console.report(fault);
                }
                None
            }
        };
        self.sandbox.relieve();
        self.keep(scene);
        result
    }

    fn enter(&mut self, tick: u64) {
        if self.step != Some(tick) {
            self.step = Some(tick);
            self.was_stopped = false;
            self.shared.console.note_work(self.sandbox.work());
            self.sandbox.begin_step();
            self.shared.writers.expire(tick);
            let reports_calls = self.shared.times.clock().is_some() || self.shared.writers.is_on();
            // The key exists, so setting it needs no memory.
            if reports_calls != self.reports_calls && self.measuring.raw_set("on", reports_calls).is_ok() {
                self.reports_calls = reports_calls;
            }
        }
    }

    /// Saves the script's data after every hook, even after a failed one, without charging the script.
    fn keep(&self, scene: &mut Scene) {
        let keep = self.hooks.keep.clone();
        let meter = &self.shared.meter;
        let kept = lend(scene, || meter.freely(|| self.sandbox.run(|_| keep.call::<()>(()))));
        if let Err(fault) = kept {
            self.shared.console.report(fault);
        }
    }
}

/// Ends the declarations. The first values of the state are part of the definition.
fn close(module: &Module, shared: &Shared) -> Result<Definition, Fault> {
    let state = Luau::Table(module.saved_tables.state.clone());
    let state = kept_from_luau(&state, "world.state", None, &Budget::of_state());
    let mut declarations = shared.declarations.borrow_mut();
    declarations.is_closed = true;
    declarations.definition.state =
        state.map_err(|problem| Fault { file: None, ..Fault::of_file(FaultKind::State, MAIN, problem) })?;
    let checked = declarations.definition.validate();
    checked.map_err(|error| Fault::of_file(FaultKind::Runtime, MAIN, error.to_string()))?;
    declarations.targets.iter().try_for_each(|targets| targets.check(&declarations.definition))?;
    Ok(declarations.definition.clone())
}

fn is_program(scene: &Scene, player: PlayerId) -> bool {
    scene.player(player).is_some_and(|player| player.is_program)
}

impl Hooks {
    fn of(module: &Module) -> mlua::Result<Hooks> {
        Ok(Hooks {
            start: module.hook("start")?,
            step: module.hook("step")?,
            join: module.hook("join")?,
            leave: module.hook("leave")?,
            own: module.hook("own")?,
            release: module.hook("release")?,
            action: module.hook("action")?,
            message: module.hook("message")?,
            timer: module.hook("timer")?,
            contact: module.hook("contact")?,
            upgrade: module.hook("upgrade")?,
            keep: module.hook("keep")?,
            sweep: module.hook("sweep")?,
        })
    }
}

impl Behaviour for Script {
    fn start(&mut self, scene: &mut Scene) {
        self.call::<()>(scene, &EngineCall::of("start"), |hooks| &hooks.start, ());
        // The first step has a budget of its own, so the hook of a player who joins in it is not charged for the start.
        self.step = None;
    }

    fn resume(&mut self, scene: &Scene) {
        self.step = None;
        let saved_tables = &self.saved_tables;
        let meter = self.shared.meter.clone();
        let resumed = meter.freely(|| self.sandbox.run(|lua| saved_tables.refill(lua, scene)));
        if let Err(fault) = resumed {
            self.shared.console.report(fault);
        }
    }

    fn edited(&mut self, scene: &Scene, edit: &Edit) {
        if let Edit::State(key, Value::Nil) = edit
            && let Err(error) = self.saved_tables.state.raw_set(key.as_str(), mlua::Value::Nil)
        {
            self.shared.console.report(Fault::from_lua(&error, None));
        }
        self.shared.writers.edited(scene, edit);
        self.resume(scene);
    }

    fn set_by_owner(&mut self, scene: &Scene, entity: EntityId, player: PlayerId, attributes: &Value) {
        self.shared.writers.set_by_owner(scene, entity, player, attributes);
    }

    fn upgrade(&mut self, scene: &mut Scene, from: Option<u32>) {
        self.call::<()>(scene, &EngineCall::of("upgrade"), |hooks| &hooks.upgrade, from);
        self.step = None;
    }

    fn step(&mut self, scene: &mut Scene) {
        if scene.tick().is_multiple_of(SWEEP_STEPS) {
            self.call::<()>(scene, &EngineCall::of("sweep"), |hooks| &hooks.sweep, ());
        }
        self.call::<()>(scene, &EngineCall::of("step"), |hooks| &hooks.step, 1.0 / f64::from(STEP_HZ));
        self.sandbox.end_step();
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let is_program = is_program(scene, player);
        self.call::<()>(
            scene,
            &EngineCall::of("join").by(player),
            |hooks| &hooks.join,
            (Handle::Player(player), is_program),
        );
    }

    fn leave(&mut self, scene: &mut Scene, player: PlayerId) {
        let is_program = is_program(scene, player);
        self.call::<()>(
            scene,
            &EngineCall::of("leave").by(player),
            |hooks| &hooks.leave,
            (Handle::Player(player), is_program),
        );
    }

    /// Refuses the owner if the rules cannot decide, because they fail or have used up the budget of this step.
    fn own(&mut self, scene: &mut Scene, entity: EntityId, player: PlayerId) -> bool {
        let Some(kind) = scene.entity(entity).map(|entity| entity.kind.0) else { return false };
        self.call::<bool>(
            scene,
            &EngineCall::of_kind("own", kind).by(player),
            |hooks| &hooks.own,
            (kind, Handle::Entity(entity), Handle::Player(player)),
        )
        .unwrap_or(false)
    }

    fn release(&mut self, scene: &mut Scene, entity: EntityId, player: PlayerId) {
        let Some(kind) = scene.entity(entity).map(|entity| entity.kind.0) else { return };
        self.call::<()>(
            scene,
            &EngineCall::of_kind("release", kind).by(player),
            |hooks| &hooks.release,
            (kind, Handle::Entity(entity), Handle::Player(player)),
        );
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, action: &str, given: &Value) -> bool {
        self.enter(scene.tick());
        self.shared.meter.note(units_of(given));
        let arguments = self.sandbox.run(|lua| {
            let declarations = self.shared.declarations.borrow();
            arguments(lua, given, declarations.action_specials(action))
        });
        if self.shared.meter.is_exhausted() {
            self.shared.console.note_skipped();
            return false;
        }
        match arguments {
            Ok(arguments) => {
                let of = EngineCall { name: Some(action), ..EngineCall::of("action").by(player) };
                self.call::<()>(
                    scene,
                    &of,
                    |hooks| &hooks.action,
                    (action, Handle::Player(player), arguments),
                );
            }
            Err(fault) => self.shared.console.report(fault),
        }
        true
    }

    fn contact(&mut self, scene: &mut Scene, contact: &Contact) {
        let kind = |id: EntityId| {
            let kind = scene.entity(id)?.kind;
            scene.kind_of(kind).reports_contacts.then_some(kind.0)
        };
        let (kind_a, kind_b) = (kind(contact.a), kind(contact.b));
        let event = if contact.is_begin { "contact" } else { "contact_end" };
        let (a, b) = (Handle::Entity(contact.a), Handle::Entity(contact.b));
        let kinds = [(contact.a, kind_a), (contact.b, kind_b)];
        let kinds = kinds.map(|(id, kind)| kind.map(|kind| (Some(id), kind)));
        let of = EngineCall { kinds, ..EngineCall::of(event) };
        self.call::<()>(scene, &of, |hooks| &hooks.contact, (event, a, kind_a, b, kind_b, contact.impulse));
    }

    fn timer(&mut self, scene: &mut Scene, timer: &Timer) {
        self.enter(scene.tick());
        self.shared.meter.note(units_of(&timer.data));
        if self.shared.meter.is_exhausted() {
            return self.shared.console.note_skipped();
        }
        match self.sandbox.run(|lua| to_luau(lua, &timer.data)) {
            Ok(data) => {
                let of = EngineCall { name: Some(&timer.name), ..EngineCall::of("timer") };
                self.call::<()>(scene, &of, |hooks| &hooks.timer, (timer.name.as_str(), data));
            }
            Err(fault) => self.shared.console.report(fault),
        }
    }

    fn message(&mut self, scene: &mut Scene, player: PlayerId, text: &str) -> bool {
        self.call::<bool>(
            scene,
            &EngineCall::of("message").by(player),
            |hooks| &hooks.message,
            (Handle::Player(player), text),
        )
        .unwrap_or(true)
    }
}
