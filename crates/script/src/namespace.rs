//! Data that the functions of a module share, and methods that add functions.

use std::cell::RefCell;
use std::rc::Rc;

use mlua::{FromLua, FromLuaMulti, IntoLuaMulti, Lua, Table, Value as Luau};
use nowcast_world::limits::NAME_BYTES_MAX;

use crate::console::Console;
use crate::define::Declarations;
use crate::hook_times::HookTimes;
use crate::meter::Meter;
use crate::writers::Writers;

/// Data that the functions share with their script.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) declarations: Rc<RefCell<Declarations>>,
    pub(crate) console: Console,
    pub(crate) meter: Rc<Meter>,
    pub(crate) times: HookTimes,
    pub(crate) writers: Writers,
    /// The metatable of saved tables.
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

/// A text of a script. A longer text is refused before it is copied.
pub(crate) struct Text<const BYTES_MAX: usize>(pub(crate) String);

/// A name in a world.
pub(crate) type Name = Text<NAME_BYTES_MAX>;

/// The argument of `require`.
pub(crate) type ModulePath = Text<1_024>;

impl<const BYTES_MAX: usize> std::ops::Deref for Text<BYTES_MAX> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<const BYTES_MAX: usize> FromLua for Text<BYTES_MAX> {
    fn from_lua(value: Luau, lua: &Lua) -> mlua::Result<Self> {
        let bytes = value.as_string().map_or(0, |text| text.as_bytes().len());
        if bytes > BYTES_MAX {
            let message = format!("a name of {bytes} bytes is too long: the limit is {BYTES_MAX} bytes");
            return Err(mlua::Error::runtime(message));
        }
        String::from_lua(value, lua).map(Text)
    }
}

/// A text that is only quoted in an error. It is cut at the limit.
pub(crate) struct Quoted(pub(crate) String);

impl FromLua for Quoted {
    fn from_lua(value: Luau, lua: &Lua) -> mlua::Result<Quoted> {
        Ok(Quoted(match value.as_string() {
            Some(text) => {
                let bytes = text.as_bytes();
                String::from_utf8_lossy(&bytes[..bytes.len().min(NAME_BYTES_MAX)]).into_owned()
            }
            None => String::from_lua(value, lua)?,
        }))
    }
}
