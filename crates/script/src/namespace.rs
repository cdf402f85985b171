//! What the functions of a module share, and how they are added.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Table};

use crate::console::Console;
use crate::define::Declarations;
use crate::meter::Meter;

/// What the functions share with the script that they belong to.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) declarations: Rc<RefCell<Declarations>>,
    pub(crate) console: Console,
    pub(crate) meter: Rc<Meter>,
    /// The metatable of tables that last.
    pub(crate) kept: Rc<RefCell<Option<Table>>>,
}

/// Adds functions to a table by name.
pub(crate) struct Namespace<'a> {
    pub(crate) lua: &'a Lua,
    pub(crate) table: Table,
}

impl<'a> Namespace<'a> {
    pub(crate) fn new(lua: &'a Lua) -> mlua::Result<Namespace<'a>> {
        Ok(Namespace { lua, table: lua.create_table()? })
    }

    pub(crate) fn add<A: FromLuaMulti, R: IntoLuaMulti>(
        &self,
        name: &str,
        function: impl Fn(&Lua, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()> {
        self.table.raw_set(name, self.lua.create_function(function)?)
    }
}
