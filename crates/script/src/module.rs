//! The functions behind `@nowcast/world`.

mod attributes;
mod entities;
mod moves;
mod output;
mod people;
mod queries;
mod saved_tables;
mod ui;

pub(crate) use attributes::arguments;
pub(crate) use entities::rotation;
pub(crate) use saved_tables::SavedTables;
pub(crate) use ui::place_of;

use std::rc::Rc;

use mlua::{Function, LightUserData, Table, Value as Luau};

use crate::absent::renamed;
use crate::fault::{Fault, FaultKind, place_on_stack};
use crate::namespace::{Name, Namespace, Quoted, Shared};
use crate::sandbox::Sandbox;
use crate::sources::MAIN;
use crate::suggest::instead;

/// The hooks as Luau functions, and the module for scripts.
pub(crate) struct Module {
    pub(crate) module: Luau,
    pub(crate) entry: Table,
    pub(crate) saved_tables: SavedTables,
    /// The table with the switch `on`: whether the functions of the rules are reported to the host.
    pub(crate) measuring: Table,
}

/// Makes the module. The state must not be frozen yet.
pub(crate) fn install(sandbox: &Sandbox, shared: &Shared) -> mlua::Result<Module> {
    let lua = sandbox.lua();
    let host = Namespace::new(lua)?;
    declare(&host, shared)?;
    let measuring = measuring_of(&host, shared, sandbox)?;
    entities::add(&host)?;
    moves::add(&host)?;
    people::add(&host)?;
    attributes::add(&host, shared)?;
    saved_tables::add(&host, shared)?;
    queries::add(&host)?;
    output::add(&host)?;
    ui::add(&host, shared)?;
    host.table.raw_set("xpcall", sandbox.raw_xpcall())?;
    host.table.raw_set("screens", sandbox.own(include_str!("screens.luau")).into_function()?)?;
    host.table.raw_set("ui", sandbox.own(include_str!("ui.luau")).into_function()?)?;
    host.table.raw_set("commands", sandbox.own(include_str!("commands.luau")).into_function()?)?;
    host.add("setHandleMeta", |lua, meta: Table| {
        lua.set_type_metatable::<LightUserData>(Some(meta));
        Ok(())
    })?;
    let (module, entry, state, kept): (Luau, Table, Table, Table) =
        sandbox.own(include_str!("world.luau")).call(host.table.clone())?;
    *shared.kept.borrow_mut() = Some(kept);
    let saved_tables =
        SavedTables { state, privates: entry.raw_get("privates")?, saveds: entry.raw_get("saveds")? };
    shared.writers.compare_tables(saved_tables.state.clone(), saved_tables.privates.clone());
    Ok(Module { module, entry, saved_tables, measuring })
}

/// Adds the functions with which `world.luau` reports calls. Returns the table with the switch `on`.
fn measuring_of(host: &Namespace<'_>, shared: &Shared, sandbox: &Sandbox) -> mlua::Result<Table> {
    let (began, measuring, memory) =
        (shared.times.clone(), Rc::clone(&shared.meter), sandbox.byte_counter().clone());
    let writers = shared.writers.clone();
    host.add("beginCall", move |_, (function, first, second): (Function, Luau, Luau)| {
        measuring.take_back();
        began.begin_call(&function, &first, &second, (measuring.spent(), memory.bytes()));
        writers.begin_call(&function, &first);
        Ok(())
    })?;
    let (ended, measuring, memory) =
        (shared.times.clone(), Rc::clone(&shared.meter), sandbox.byte_counter().clone());
    let writers = shared.writers.clone();
    host.add("endCall", move |_, ()| {
        measuring.take_back();
        ended.end_call(measuring.spent(), memory.bytes());
        writers.end_call();
        Ok(())
    })?;
    let switch = host.lua.create_table()?;
    switch.raw_set("on", false)?;
    host.table.raw_set("measuring", &switch)?;
    Ok(switch)
}

fn declare(host: &Namespace<'_>, shared: &Shared) -> mlua::Result<()> {
    let declarations = shared.declarations.clone();
    host.add("kind", move |_, (name, fields): (Name, Table)| {
        declarations.borrow_mut().kind(&name, &fields).map_err(mlua::Error::runtime)
    })?;
    let declarations = shared.declarations.clone();
    host.add("action", move |lua, (name, shape, binding): (Name, Table, Option<Table>)| {
        let place = place_on_stack(lua);
        let declared = declarations.borrow_mut().action(&name, &shape, binding.as_ref(), place);
        declared.map_err(mlua::Error::runtime)
    })?;
    let declarations = shared.declarations.clone();
    host.add("command", move |_, (name, shape, usage, help): (Name, Table, String, String)| {
        let declared = declarations.borrow_mut().command(&name, &shape, usage, help);
        declared.map_err(mlua::Error::runtime)
    })?;
    let declarations = shared.declarations.clone();
    host.add("event", move |_, (name, shape): (Name, Table)| {
        declarations.borrow_mut().event(&name, &shape).map_err(mlua::Error::runtime)
    })?;
    let declarations = shared.declarations.clone();
    host.add("settings", move |_, fields: Table| {
        declarations.borrow_mut().settings(&fields).map_err(mlua::Error::runtime)
    })?;
    let declarations = shared.declarations.clone();
    host.add("about", move |_, fields: Table| {
        declarations.borrow_mut().about(&fields).map_err(mlua::Error::runtime)
    })?;
    let declarations = shared.declarations.clone();
    host.add("reportContacts", move |_, kind: usize| {
        declarations.borrow_mut().report_contacts(kind).map_err(mlua::Error::runtime)
    })?;
    host.add("instead", |_, (name, known): (Quoted, Vec<String>)| Ok(instead(&name.0, &known)))?;
    host.add("renamed", |_, (owner, name): (Quoted, Quoted)| Ok(renamed(&owner.0, &name.0)))?;
    let declarations = shared.declarations.clone();
    let saving = shared.declarations.clone();
    host.add("declareSaved", move |_, ()| {
        let mut declarations = saving.borrow_mut();
        declarations.open("saved").map_err(mlua::Error::runtime)?;
        declarations.definition.saves = true;
        Ok(())
    })?;
    let arriving = shared.declarations.clone();
    host.add("declareArrivals", move |_, ()| arriving.borrow_mut().arrivals().map_err(mlua::Error::runtime))?;
    host.add("mayDeclare", move |_, what: Quoted| {
        declarations.borrow().open(&what.0).map_err(mlua::Error::runtime)
    })?;
    let console = shared.console.clone();
    let meter = shared.meter.clone();
    // The handler of `xpcall` runs before the stack is unwound, so it can find the place of the error. It returns true to
    // show that the fault is reported.
    host.add("report", move |lua, error: Luau| {
        let kind = meter.is_exhausted().then_some(FaultKind::Work);
        console.report(Fault::raised(lua, &error, kind));
        Ok(true)
    })?;
    let console = shared.console.clone();
    host.add("missingTimer", move |_, Quoted(name): Quoted| {
        let message = format!("a timer {name:?} is due, but this version declares no timer of that name");
        let fault = Fault::of_file(FaultKind::Runtime, MAIN, message);
        console.report(fault.with_cure("declare it with world.timer, or ignore this"));
        Ok(())
    })
}

impl Module {
    /// Returns a hook.
    pub(crate) fn hook(&self, name: &str) -> mlua::Result<Function> {
        self.entry.raw_get(name)
    }
}
