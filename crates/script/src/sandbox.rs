//! One sandboxed Luau state.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use mlua::chunk::{Chunk, ChunkMode, Compiler};
use mlua::{FromLuaMulti, Function, Lua, LuaOptions, MultiValue, StdLib, Table, Value, VmState};

use crate::absent::{ABSENT, absence};
use crate::fault::{Fault, FaultKind, OWN_CHUNK, place_on_stack};
use crate::garbage::ByteCounter;
use crate::library::{LIBRARY, library_text};
use crate::limits::Limits;
use crate::meter::Meter;
use crate::namespace::ModulePath;
use crate::printing::Lines;
use crate::sources::{MAIN, Sources};
use crate::suggest::instead;

/// A Luau state with a budget for work and memory. Its script can only use the frozen standard library and the modules of
/// its version. It can use no file, no clock, no bytecode and no other state.
///
/// Order of calls: [`Sandbox::new`], [`Sandbox::load`] once, then for each step of a world [`Sandbox::begin_step`], any number of
/// [`Sandbox::run`], and [`Sandbox::end_step`].
///
/// ```
/// use nowcast_script::{FaultKind, Limits, Sandbox, Sources};
///
/// let sources = Sources::from_iter([
///     ("world.luau", "local greet = require(\"./words\") return { hello = greet, hang = function() while true do end end }"),
///     ("words.luau", "return function(name) return `hello {name}` end"),
/// ]);
/// let sandbox = Sandbox::new(Limits::DEFAULT)?;
/// let world: mlua::Table = sandbox.load(&sources, [])?;
///
/// sandbox.begin_step();
/// let hello = sandbox.run(|_| world.get::<mlua::Function>("hello")?.call::<String>("Ada"))?;
/// assert_eq!(hello, "hello Ada");
/// let fault = sandbox.run(|_| world.get::<mlua::Function>("hang")?.call::<()>(())).unwrap_err();
/// assert_eq!((fault.kind, fault.line), (FaultKind::Work, Some(1)));
/// sandbox.end_step();
/// # Ok::<(), nowcast_script::Fault>(())
/// ```
pub struct Sandbox {
    lua: Lua,
    meter: Rc<Meter>,
    limits: Limits,
    printed: Lines,
    /// Every metatable that a script has set.
    metatables: RefCell<Option<Table>>,
    counter: ByteCounter,
    /// The interpreter's own `xpcall`, which works even when the script's memory is exhausted.
    raw_xpcall: RefCell<Option<Function>>,
}

/// The loader of modules.
struct Loader {
    sources: Sources,
    loaded: RefCell<BTreeMap<String, MultiValue>>,
    loading: RefCell<Vec<String>>,
    own: BTreeMap<&'static str, Value>,
}

impl Sandbox {
    /// Makes a state without modules.
    ///
    /// # Errors
    /// Fails if the memory limit leaves no room for the library.
    pub fn new(limits: Limits) -> Result<Sandbox, Fault> {
        let libraries = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::STRING
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::MATH
            | StdLib::BUFFER
            | StdLib::VECTOR;
        let built = Lua::new_with(libraries, LuaOptions::new());
        let lua = built.map_err(|error| Fault::from_lua(&error, None))?;
        let counter = ByteCounter::of(&lua);
        let sandbox = Sandbox {
            lua,
            counter,
            meter: Rc::new(Meter::new()),
            limits,
            printed: Lines::default(),
            metatables: RefCell::default(),
            raw_xpcall: RefCell::default(),
        };
        sandbox.meter.refill(limits.work_per_load_max);
        sandbox.meter.expect_declarations(DECLARED_BYTES_MAX, DECLARED_VALUES_MAX);
        sandbox.set_up().map_err(|error| Fault::from_lua(&error, None))?;
        Ok(sandbox)
    }

    fn set_up(&self) -> mlua::Result<()> {
        let lua = &self.lua;
        lua.set_memory_limit(self.limits.memory_bytes_max)?;
        lua.set_compiler(compiler());
        let (charging, weighing, catching) = (self.meter.clone(), self.meter.clone(), self.meter.clone());
        let charge = lua.create_function(move |_, units: f64| charging.charge(units as u64))?;
        let weigh = lua.create_function(move |_, weight: f64| {
            weighing.weigh(weight as u64);
            Ok(())
        })?;
        let absences = lua.create_table_from(ABSENT)?;
        let caught = lua.create_function(move |_, ()| {
            catching.caught();
            Ok(())
        })?;
        let (metatables, raw_xpcall): (Table, Function) = self.own(include_str!("sandbox.luau")).call((
            charge,
            weigh,
            caught,
            self.limits.memory_bytes_max,
            absences,
        ))?;
        self.metatables.replace(Some(metatables));
        self.raw_xpcall.replace(Some(raw_xpcall));
        crate::maths::install(lua)?;
        crate::printing::install(lua, self.printed.clone(), self.limits.reports_max)?;
        let counting = self.meter.clone();
        lua.set_interrupt(move |lua| match counting.tick() {
            Ok(()) => Ok(VmState::Continue),
            Err(_) => Err(stopped_at(lua, counting.why_exhausted())),
        });
        Ok(())
    }

    /// Compiles our own Luau code, which may change the globals of scripts.
    pub(crate) fn own(&self, text: &'static str) -> Chunk<'_> {
        self.lua.load(text).set_name(format!("={OWN_CHUNK}")).set_mode(ChunkMode::Text)
    }

    /// Returns the interpreter's `xpcall`, for our own Luau code.
    pub(crate) fn raw_xpcall(&self) -> Option<Function> {
        self.raw_xpcall.borrow().clone()
    }

    /// Returns the state, for adding functions that scripts may call.
    pub fn lua(&self) -> &Lua {
        &self.lua
    }

    /// Returns the oldest printed line.
    pub fn poll_line(&self) -> Option<String> {
        self.printed.poll()
    }

    /// Returns the counter of the bytes of all values.
    pub(crate) fn byte_counter(&self) -> &ByteCounter {
        &self.counter
    }

    /// Returns the queue of printed lines, which stays valid when a world owns the sandbox.
    pub(crate) fn lines(&self) -> Lines {
        self.printed.clone()
    }

    /// Returns the number of printed lines that were dropped because the queue was full.
    pub fn lines_dropped(&self) -> u64 {
        self.printed.dropped()
    }

    /// Freezes the globals of scripts and runs the modules, beginning with `world.luau`, whose value is returned. `own`
    /// are modules of the embedder, whose names begin with `@`.
    ///
    /// # Errors
    /// Fails if a module does not compile, raises an error, is not there, or uses more work or memory than the limits allow.
    pub fn load<R: FromLuaMulti>(
        &self,
        sources: &Sources,
        own: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Result<R, Fault> {
        self.load_then(sources, own, &[])
    }

    /// Loads a version as [`Self::load`] does, and then runs the modules at the paths in `then`, which no module requires.
    pub(crate) fn load_then<R: FromLuaMulti>(
        &self,
        sources: &Sources,
        own: impl IntoIterator<Item = (&'static str, Value)>,
        then: &[&str],
    ) -> Result<R, Fault> {
        sources.check(&self.limits)?;
        let loader = Rc::new(Loader {
            sources: sources.clone(),
            loaded: RefCell::default(),
            loading: RefCell::default(),
            own: own.into_iter().collect(),
        });
        self.meter.refill(self.limits.work_per_load_max);
        self.run(|lua| {
            let requiring = loader.clone();
            let require =
                lua.create_function(move |lua, name: ModulePath| requiring.require(lua, &name.0))?;
            lua.globals().set("require", require)?;
            lua.sandbox(true)?;
            lua.globals().set_readonly(true);
            // Garbage of a step counts until the step ends, so a loop of long texts is not cheap.
            lua.gc_stop();
            let returned = loader.load(lua, MAIN)?;
            then.iter().try_for_each(|path| loader.load(lua, path).map(drop))?;
            R::from_lua_multi(returned, lua)
        })
    }

    pub(crate) fn meter(&self) -> Rc<Meter> {
        self.meter.clone()
    }

    /// Gives the script the work budget for loading, for code that runs outside of steps.
    pub(crate) fn begin_load(&self) {
        self.meter.refill(self.limits.work_per_load_max);
    }

    /// Sets the script's budget to one step's.
    pub fn begin_step(&self) {
        self.meter.refill(self.limits.work_per_step_max);
    }

    /// Runs code that may call a script, and returns its fault with its place.
    ///
    /// # Errors
    /// Fails if the script raises an error, or uses more work or memory than the limits allow.
    pub fn run<R>(&self, work: impl FnOnce(&Lua) -> mlua::Result<R>) -> Result<R, Fault> {
        self.meter.reset_weight();
        self.meter.measure(|| work(&self.lua)).map_err(|error| self.fault(&error))
    }

    fn fault(&self, error: &mlua::Error) -> Fault {
        let fault = Fault::from_lua(error, self.meter.is_exhausted().then_some(FaultKind::Work));
        if fault.kind == FaultKind::Memory {
            // Without a full collection, the memory in use would stay at the limit.
            self.collect_all();
        }
        fault
    }

    /// Frees memory if the script has used nearly all of its limit. Otherwise the garbage of one hook could make the next
    /// hook fail.
    pub(crate) fn relieve(&self) {
        if self.lua.used_memory() > self.limits.memory_bytes_max / 8 * 7 {
            self.collect_all();
        }
    }

    /// Collects garbage of the step in slices.
    pub fn end_step(&self) {
        if self.meter.take_errors_caught() > ERRORS_HELD_MAX {
            return self.collect_all();
        }
        self.forbid_weak_tables();
        crate::garbage::collect(&self.lua, self.limits.memory_bytes_max);
    }

    fn collect_all(&self) {
        self.forbid_weak_tables();
        // A collection fails only if a finaliser fails, and scripts have no finalisers.
        let _ = self.lua.gc_collect();
        self.lua.gc_stop();
    }

    /// Removes the weak modes of metatables: a weak table would show when memory is collected. `setmetatable` refuses weak
    /// tables; this function also removes a mode that was set afterwards, before a collection uses the mode.
    fn forbid_weak_tables(&self) {
        let metatables = self.metatables.borrow();
        let Some(metatables) = &*metatables else { return };
        let mut weak = Vec::new();
        // The iteration fails only if its function fails.
        let _ = metatables.for_each(|meta: Table, _: Value| {
            if !matches!(meta.raw_get::<Value>("__mode"), Ok(Value::Nil)) {
                weak.push(meta);
            }
            Ok(())
        });
        for meta in weak {
            let is_readonly = meta.is_readonly();
            meta.set_readonly(false);
            // The key exists, so setting it needs no memory.
            let _ = meta.raw_set("__mode", Value::Nil);
            meta.set_readonly(is_readonly);
        }
    }

    /// Returns the units of work spent in this step.
    pub fn work(&self) -> u64 {
        self.meter.spent()
    }
}

/// Maximum number of caught errors before garbage is collected at the end of the step, because the interpreter does not
/// count their memory.
const ERRORS_HELD_MAX: u64 = 256;

/// Limits of all looks and bindings that a script declares, in bytes and values. One message to each client has all looks and
/// bindings.
const DECLARED_BYTES_MAX: usize = 1 << 20;
const DECLARED_VALUES_MAX: usize = 1 << 16;

/// Makes the error of a script that used up its budget, with the line in which it was stopped.
#[cold]
fn stopped_at(lua: &Lua, why: &str) -> mlua::Error {
    let place = place_on_stack(lua);
    let place = place.map_or_else(String::new, |(file, line)| format!("{file}:{line}: "));
    mlua::Error::runtime(format!("{place}{why}"))
}

/// Functions that `sandbox.luau` replaces; the compiler must not treat them as built-in either.
const CHARGED: [&str; 6] = ["setmetatable", "tostring", "tonumber", "string.sub", "table.unpack", "unpack"];

/// Compiler options: line numbers for errors, and all optimisations that preserve line numbers. Native code is off, because
/// it is interrupted at other places.
fn compiler() -> Compiler {
    let replaced = crate::maths::REPLACED.map(|name| format!("math.{name}"));
    let disabled = replaced.into_iter().chain(CHARGED.map(str::to_owned));
    Compiler::new().set_optimization_level(1).set_debug_level(1).set_disabled_builtins(disabled)
}

impl Loader {
    fn require(&self, lua: &Lua, name: &str) -> mlua::Result<MultiValue> {
        if let Some(module) = self.own.get(name) {
            return Ok(MultiValue::from_iter([module.clone()]));
        }
        if name.starts_with('@') {
            return match library_text(name) {
                Some(text) => self.run(lua, name, OWN_CHUNK, text),
                None => Err(self.no_module(name)),
            };
        }
        let from = lua.inspect_stack(1, |frame| frame.source().short_src.map(|name| name.into_owned()));
        let from = from.flatten().unwrap_or_else(|| MAIN.into());
        let path = self.sources.resolve(&from, name).map_err(mlua::Error::runtime)?;
        self.load(lua, &path)
    }

    fn no_module(&self, name: &str) -> mlua::Error {
        let library = LIBRARY.iter().map(|(name, _)| *name);
        let known: Vec<_> = self.own.keys().copied().chain(library).collect();
        mlua::Error::runtime(format!("no module `{name}`; {}", instead(name, &known)))
    }

    fn load(&self, lua: &Lua, path: &str) -> mlua::Result<MultiValue> {
        let text = self.sources.text(path).expect("only existing modules are resolved");
        self.run(lua, path, path, text)
    }

    /// Runs a module once, and returns its values. Errors name the place `chunk`.
    fn run(&self, lua: &Lua, path: &str, chunk: &str, text: &str) -> mlua::Result<MultiValue> {
        if let Some(values) = self.loaded.borrow().get(path) {
            return Ok(values.clone());
        }
        if let Some(at) = self.loading.borrow().iter().position(|loading| loading == path) {
            let circle: Vec<_> = self.loading.borrow()[at..].to_vec();
            return Err(mlua::Error::runtime(format!(
                "modules require each other in a circle: {} → {path}",
                circle.join(" → ")
            )));
        }
        self.loading.borrow_mut().push(path.to_owned());
        let values =
            lua.load(text).set_name(format!("={chunk}")).set_mode(ChunkMode::Text).call::<MultiValue>(());
        self.loading.borrow_mut().pop();
        let values = values?;
        self.loaded.borrow_mut().insert(path.to_owned(), values.clone());
        Ok(values)
    }
}

/// Returns every global name of the standard library, and the fields of each library.
pub fn global_names() -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::from([("require".to_owned(), Vec::new())]);
    // If no state can be made, there are no names to check against. Then every load fails with the same error.
    let Ok(sandbox) = Sandbox::new(Limits::DEFAULT) else { return names };
    for (name, value) in sandbox.lua().globals().pairs::<String, Value>().flatten() {
        if absence(&name).is_some() {
            continue;
        }
        let fields = value.as_table().map(|library| {
            let fields = library.pairs::<String, Value>().flatten().map(|(field, _)| field);
            fields.filter(|field| absence(&format!("{name}.{field}")).is_none()).collect()
        });
        names.insert(name, fields.unwrap_or_default());
    }
    names
}
