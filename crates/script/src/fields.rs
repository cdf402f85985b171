//! Reads tables of scripts field by field, with errors that name the field.

use std::borrow::Cow;

use mlua::{Table, Value as Luau, Vector};
use nowcast_world::{Input, Value};

use crate::convert::{declared_from_luau, shown};
use crate::meter::charge_declared;
use crate::suggest::instead;

/// Maximum fields in a table, bytes in a text, and items in a list. Shapes have the longest lists: each
/// triangle has three corners of three numbers.
const FIELDS_MAX: usize = 256;
const TEXT_BYTES_MAX: usize = 4_096;
/// Bytes of text that cost one unit of work.
const BYTES_A_UNIT: usize = 256;
const ITEMS_MAX: usize = 9 * nowcast_world::TRIANGLES_MAX;

/// A value that was read, or an error message for the author.
pub(crate) type Declared<T> = Result<T, String>;

/// The fields of a script's table, with the path to the table for errors.
pub(crate) struct Fields<'a> {
    pub(crate) table: Cow<'a, Table>,
    pub(crate) path: String,
}

impl<'a> Fields<'a> {
    pub(crate) fn of(table: &'a Table, path: &str) -> Fields<'a> {
        Fields { table: Cow::Borrowed(table), path: path.to_owned() }
    }

    pub(crate) fn expected(&self, name: &str, expected: &str, found: &str) -> String {
        format!("{}.{name}: expected {expected}, got {found}", self.path)
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// Reads one name, or a list of names.
    pub(crate) fn names_of(&self, name: &str) -> Declared<Vec<String>> {
        match self.luau(name)? {
            Luau::String(text) => Ok(vec![self.short(name, &text)?]),
            _ => self.texts(name),
        }
    }

    pub(crate) fn luau(&self, name: &str) -> Declared<Luau> {
        self.table.raw_get(name).map_err(|error| error.to_string())
    }

    /// Returns the names of all fields.
    pub(crate) fn names(&self) -> Declared<Vec<String>> {
        let mut names = Vec::new();
        for (count, pair) in self.table.pairs::<Luau, Luau>().flatten().enumerate() {
            if count == FIELDS_MAX {
                return Err(format!("{}: more than {FIELDS_MAX} fields, which is the limit", self.path));
            }
            if let Luau::String(name) = pair.0 {
                names.push(self.short("a name", &name)?);
            }
        }
        charge_declared(names.len() as u64)?;
        Ok(names)
    }

    /// Reads a text; fails if it is too long.
    fn short(&self, name: &str, text: &mlua::LuaString) -> Declared<String> {
        match text.as_bytes().len() {
            0..=TEXT_BYTES_MAX => Ok(text.to_string_lossy()),
            bytes => {
                Err(self.expected(name, &format!("at most {TEXT_BYTES_MAX} bytes"), &format!("{bytes}")))
            }
        }
    }

    /// Reads a list, and charges for its length.
    fn list(&self, name: &str) -> Declared<Option<Fields<'static>>> {
        let Some(list) = self.table_in(name)? else { return Ok(None) };
        let items = list.table.raw_len();
        if items > ITEMS_MAX {
            return Err(self.expected(name, &format!("at most {ITEMS_MAX} items"), &format!("{items}")));
        }
        charge_declared(items as u64)?;
        Ok(Some(list))
    }

    pub(crate) fn nothing_else(&self, known: &[&str]) -> Declared<()> {
        let unknown = self.names()?.into_iter().filter(|name| !known.contains(&name.as_str())).min();
        match unknown {
            Some(name) => {
                let name = shown(&name);
                Err(format!("{}.{name} is not a field; {}", self.path, instead(name, known)))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn table_in(&self, name: &str) -> Declared<Option<Fields<'static>>> {
        match self.luau(name)? {
            Luau::Nil => Ok(None),
            Luau::Table(table) => {
                Ok(Some(Fields { table: Cow::Owned(table), path: format!("{}.{name}", self.path) }))
            }
            other => Err(self.expected(name, "a table", other.type_name())),
        }
    }

    pub(crate) fn tables(&self, name: &str) -> Declared<Vec<Fields<'static>>> {
        let Some(list) = self.list(name)? else { return Ok(Vec::new()) };
        let mut tables = Vec::new();
        for (index, table) in list.table.sequence_values::<Table>().enumerate() {
            let path = format!("{}[{}]", list.path, index + 1);
            let table = table.map_err(|_| format!("{path}: expected a table"))?;
            tables.push(Fields { table: Cow::Owned(table), path });
        }
        Ok(tables)
    }

    pub(crate) fn text(&self, name: &str) -> Declared<Option<String>> {
        match self.luau(name)? {
            Luau::Nil => Ok(None),
            Luau::String(text) => Ok(Some(self.short(name, &text)?)),
            other => Err(self.expected(name, "a text", other.type_name())),
        }
    }

    pub(crate) fn texts(&self, name: &str) -> Declared<Vec<String>> {
        let Some(list) = self.list(name)? else { return Ok(Vec::new()) };
        let mut texts = Vec::new();
        for text in list.table.sequence_values::<mlua::LuaString>() {
            let text = text.map_err(|_| self.expected(name, "a list of texts", "something else"))?;
            charge_declared((text.as_bytes().len() / BYTES_A_UNIT) as u64)?;
            texts.push(self.short(name, &text)?);
        }
        Ok(texts)
    }

    pub(crate) fn double(&self, name: &str) -> Declared<Option<f64>> {
        match self.luau(name)? {
            Luau::Nil => Ok(None),
            Luau::Integer(value) => Ok(Some(value as f64)),
            Luau::Number(value) => Ok(Some(value)),
            other => Err(self.expected(name, "a number", other.type_name())),
        }
    }

    pub(crate) fn number(&self, name: &str) -> Declared<Option<f32>> {
        Ok(self.double(name)?.map(|value| value as f32))
    }

    pub(crate) fn numbers(&self, name: &str) -> Declared<Vec<f32>> {
        let Some(list) = self.list(name)? else { return Ok(Vec::new()) };
        let numbers = list.table.sequence_values::<f32>().collect::<mlua::Result<_>>();
        numbers.map_err(|_| self.expected(name, "a list of numbers", "something else"))
    }

    pub(crate) fn truth(&self, name: &str) -> Declared<Option<bool>> {
        match self.luau(name)? {
            Luau::Nil => Ok(None),
            Luau::Boolean(value) => Ok(Some(value)),
            other => Err(self.expected(name, "true or false", other.type_name())),
        }
    }

    pub(crate) fn vector(&self, name: &str) -> Declared<Option<[f32; 3]>> {
        match self.luau(name)? {
            Luau::Nil => Ok(None),
            Luau::Vector(vector) => Ok(Some(array(vector))),
            other => Err(self.expected(name, "vector.create(x, y, z)", other.type_name())),
        }
    }

    /// Reads a vector, or one number for all three axes.
    pub(crate) fn scale(&self, name: &str) -> Declared<Option<[f32; 3]>> {
        match self.luau(name)? {
            Luau::Integer(_) | Luau::Number(_) => Ok(self.number(name)?.map(|scale| [scale; 3])),
            _ => self.vector(name),
        }
    }

    pub(crate) fn vectors(&self, name: &str) -> Declared<Vec<[f32; 3]>> {
        let Some(list) = self.list(name)? else { return Ok(Vec::new()) };
        let vectors = list.table.sequence_values::<Vector>().map(|vector| vector.map(array));
        let vectors = vectors.collect::<mlua::Result<_>>();
        vectors.map_err(|_| self.expected(name, "a list of vectors", "something else"))
    }

    /// Reads the fields of an input.
    pub(crate) fn input(&self) -> Declared<Input> {
        let number = |name: &str| Ok::<_, String>(self.number(name)?.unwrap_or(0.0));
        let truth = |name: &str| Ok::<_, String>(self.truth(name)?.unwrap_or(false));
        self.nothing_else(&["forward", "right", "yaw", "run", "jump"])?;
        let input =
            Input::new(number("forward")?, number("right")?, number("yaw")?, truth("run")?, truth("jump")?);
        input.map_err(|error| format!("{}: {error}", self.path))
    }

    pub(crate) fn value(&self, name: &str) -> Declared<Value> {
        declared_from_luau(&self.luau(name)?, &format!("{}.{name}", self.path))
    }
}

pub(crate) fn array(vector: Vector) -> [f32; 3] {
    [vector.x(), vector.y(), vector.z()]
}
