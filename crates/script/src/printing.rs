//! `print`: formats values as one line of text, and queues the lines.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use mlua::{Function, Table, Value as Luau, Variadic};

use crate::convert::type_name;
use crate::limits::LINE_BYTES_MAX;
use crate::meter::charge;

/// Maximum depth of nested tables that are written out.
const DEPTH_MAX: usize = 4;
/// Maximum number of entries of one table that are written out.
const ENTRIES_MAX: usize = 64;
/// Number of entries that can be read and sorted for one unit of work.
const ENTRIES_A_UNIT: u64 = 8;

/// The queue of printed lines. Clones share one queue.
#[derive(Clone, Default)]
pub(crate) struct Lines(Rc<RefCell<Waiting>>);

#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    dropped: u64,
}

impl Lines {
    /// Returns the oldest line.
    pub(crate) fn poll(&self) -> Option<String> {
        self.0.borrow_mut().lines.pop_front()
    }

    /// Returns all lines.
    pub(crate) fn take(&self) -> Vec<String> {
        self.0.borrow_mut().lines.drain(..).collect()
    }

    /// Puts earlier lines before those that wait. The newest are dropped and counted if there are more than `lines_max`.
    pub(crate) fn put_before(&self, earlier: Vec<String>, lines_max: usize) {
        let mut waiting = self.0.borrow_mut();
        for line in earlier.into_iter().rev() {
            waiting.lines.push_front(line);
        }
        let dropped = waiting.lines.len().saturating_sub(lines_max);
        waiting.lines.truncate(lines_max);
        waiting.dropped += dropped as u64;
    }

    /// Returns the number of dropped lines.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.borrow().dropped
    }

    /// Counts a line as dropped if the queue is full.
    fn is_full(&self, lines_max: usize) -> bool {
        let mut waiting = self.0.borrow_mut();
        let is_full = waiting.lines.len() >= lines_max;
        waiting.dropped += u64::from(is_full);
        is_full
    }

    fn push(&self, line: String) {
        self.0.borrow_mut().lines.push_back(line);
    }
}

/// Installs `print`, which writes to `lines`. At most `lines_max` lines wait there; further lines are dropped and counted.
pub(crate) fn install(lua: &mlua::Lua, lines: Lines, lines_max: usize) -> mlua::Result<()> {
    // Read before scripts run, so that no script can replace it.
    let to_text: Function = lua.globals().get("tostring")?;
    let print = lua.create_function(move |_, values: Variadic<Luau>| {
        if lines.is_full(lines_max) {
            return Ok(());
        }
        let mut line = Line::default();
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                line.add(" ");
            }
            if line.is_full {
                break;
            }
            line.add_value(value, &to_text, 0)?;
        }
        // A `__tostring` may have printed in the meantime.
        if !lines.is_full(lines_max) {
            lines.push(line.text);
        }
        Ok(())
    })?;
    lua.globals().set("print", print)
}

/// A line under construction. It never grows beyond [`LINE_BYTES_MAX`] plus the sign of a cut.
#[derive(Default)]
struct Line {
    text: String,
    is_full: bool,
}

impl Line {
    fn add(&mut self, text: &str) {
        if self.is_full {
            return;
        }
        let room = LINE_BYTES_MAX - self.text.len();
        if text.len() <= room {
            self.text.push_str(text);
            return;
        }
        let end = (0..=room).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        self.text.push_str(&text[..end]);
        self.text.push('…');
        self.is_full = true;
    }

    /// Only the part of a text that fits into the line is read.
    fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(&String::from_utf8_lossy(head(bytes)));
    }

    /// `depth` is the number of tables around the value; texts in tables are quoted.
    fn add_value(&mut self, value: &Luau, to_text: &Function, depth: usize) -> mlua::Result<()> {
        match value {
            Luau::String(text) if depth == 0 => self.add_bytes(&text.as_bytes()),
            Luau::String(text) => self.add_quoted(&text.as_bytes()),
            Luau::Table(table) if !has_text_of_its_own(table)? => self.add_table(table, to_text, depth)?,
            Luau::Function(_) | Luau::Thread(_) | Luau::Buffer(_) => self.add(type_name(value)),
            other => self.add_bytes(&to_text.call::<mlua::LuaString>(other)?.as_bytes()),
        }
        Ok(())
    }

    fn add_quoted(&mut self, bytes: &[u8]) {
        self.add("\"");
        let text = String::from_utf8_lossy(head(bytes));
        for c in text.chars() {
            match c {
                '"' => self.add("\\\""),
                '\\' => self.add("\\\\"),
                '\n' => self.add("\\n"),
                c => self.add(c.encode_utf8(&mut [0; 4])),
            }
            if self.is_full {
                return;
            }
        }
        self.add("\"");
    }

    fn add_table(&mut self, table: &Table, to_text: &Function, depth: usize) -> mlua::Result<()> {
        if depth == DEPTH_MAX {
            self.add("{…}");
            return Ok(());
        }
        let (entries, is_whole) = first_entries(table)?;
        if entries.is_empty() {
            self.add("{}");
            return Ok(());
        }
        self.add("{ ");
        for (index, (key, value)) in entries.iter().enumerate() {
            if index > 0 {
                self.add(", ");
            }
            match key {
                // A list is written without its indices up to the first missing index.
                Key::Place(place) if *place == index + 1 => {}
                Key::Place(place) => self.add(&format!("[{place}] = ")),
                Key::Name(name) if is_word(name) => self.add(&format!("{name} = ")),
                Key::Name(name) => {
                    self.add("[");
                    self.add_quoted(name.as_bytes());
                    self.add("] = ");
                }
                Key::Other(key) => {
                    self.add("[");
                    self.add_value(key, to_text, DEPTH_MAX)?;
                    self.add("] = ");
                }
            }
            self.add_value(value, to_text, depth + 1)?;
            if self.is_full {
                return Ok(());
            }
        }
        self.add(if is_whole { " }" } else { ", … }" });
        Ok(())
    }
}

/// Returns the part of a text that fits into a line, and one byte more, so that a cut is noticed.
fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(LINE_BYTES_MAX + 1)]
}

/// A key, in the order of output: indices of a list, then names, then all other keys.
enum Key {
    Place(usize),
    Name(String),
    Other(Luau),
}

/// Returns the first entries of a table in the order of output, and whether these are all.
fn first_entries(table: &Table) -> mlua::Result<(Vec<(Key, Luau)>, bool)> {
    let mut entries: Vec<(Key, Luau)> = Vec::new();
    let length = table.raw_len();
    let mut is_whole = true;
    let walked = table.for_each(|key: Luau, value: Luau| {
        if entries.len() == ENTRIES_MAX {
            is_whole = false;
            // Only an error ends the iteration early.
            return Err(mlua::Error::runtime(""));
        }
        let key = match key {
            Luau::Integer(place) if (1..=length as i64).contains(&place) => Key::Place(place as usize),
            Luau::Number(place) if place.fract() == 0.0 && (1.0..=length as f64).contains(&place) => {
                Key::Place(place as usize)
            }
            Luau::String(name) => Key::Name(String::from_utf8_lossy(head(&name.as_bytes())).into_owned()),
            other => Key::Other(other),
        };
        entries.push((key, value));
        Ok(())
    });
    if is_whole {
        walked?;
    }
    charge(entries.len() as u64 / ENTRIES_A_UNIT)?;
    entries.sort_by(|(a, _), (b, _)| match (a, b) {
        (Key::Place(a), Key::Place(b)) => a.cmp(b),
        (Key::Name(a), Key::Name(b)) => a.cmp(b),
        (a, b) => rank(a).cmp(&rank(b)),
    });
    Ok((entries, is_whole))
}

fn rank(key: &Key) -> u8 {
    match key {
        Key::Place(_) => 0,
        Key::Name(_) => 1,
        Key::Other(_) => 2,
    }
}

fn is_word(name: &str) -> bool {
    !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

fn has_text_of_its_own(table: &Table) -> mlua::Result<bool> {
    match table.metatable() {
        Some(meta) => Ok(!meta.raw_get::<Luau>("__tostring")?.is_nil()),
        None => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Limits, Sandbox, Sources};

    use super::*;

    fn printed(text: &str) -> Vec<String> {
        let sandbox = Sandbox::new(Limits::DEFAULT).unwrap();
        sandbox.load::<()>(&Sources::of_main(text), []).unwrap_or_else(|fault| panic!("{text}: {fault}"));
        std::iter::from_fn(|| sandbox.poll_line()).collect()
    }

    #[test]
    fn tables_are_printed_with_their_contents() {
        for (text, line) in [
            ("print({ 1, 2 })", "{ 1, 2 }"),
            ("print({})", "{}"),
            ("print('score', { red = 1, blue = { 2, nil, 3 } })", "score { blue = { 2, [3] = 3 }, red = 1 }"),
            (
                "print({ ['a b'] = 'x\\ny', [true] = 'say \"no\"' })",
                "{ [\"a b\"] = \"x\\ny\", [true] = \"say \\\"no\\\"\" }",
            ),
            ("local t = {} t.t = t print(t)", "{ t = { t = { t = { t = {…} } } } }"),
            ("print({ print, vector.create(1, 2, 3) })", "{ function, 1, 2, 3 }"),
            ("print(setmetatable({ 1 }, { __tostring = function() return 'mine' end }))", "mine"),
            ("print(nil, true, 1.5, 'x')", "nil true 1.5 x"),
        ] {
            assert_eq!(printed(text), [line], "{text}");
        }
    }

    #[test]
    fn a_long_line_is_cut_and_costs_no_more_than_it_shows() {
        let long = "local text = string.rep('x', 4000000) local t = {} for i = 1, 250 do t[i] = text end";
        for values in ["table.unpack(t)", "t", "{ [text] = t }", "string.rep('ä', 2000)"] {
            let lines = printed(&format!("{long} print({values})"));
            assert!(lines[0].len() <= LINE_BYTES_MAX + '…'.len_utf8() && lines[0].ends_with('…'), "{values}");
        }
        let many = printed("local t = {} for i = 1, 1000 do t[i] = i end print(t)");
        assert!(many[0].ends_with("63, 64, … }"), "{many:?}");
    }

    #[test]
    fn a_text_function_that_prints_is_printed_before_the_line_that_called_it() {
        let text = "local t = setmetatable({}, { __tostring = function() print('inner') return 'outer' end }) print(t)";
        assert_eq!(printed(text), ["inner", "outer"]);
    }
}
