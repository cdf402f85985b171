//! Finds local variables of modules that functions change, because a reload resets these variables.

use std::fmt;

use crate::sources::Sources;
use crate::tokens::{is_name, tokens};

/// A local variable of a module that a function changes. After a reload, after a restart and on another server, the variable
/// has its first value again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResetLocal {
    /// The module.
    pub file: String,
    /// The line in which a function changes the variable, from 1.
    pub line: u32,
    /// The name of the variable.
    pub name: String,
}

impl fmt::Display for ResetLocal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        write!(
            formatter,
            "a reload resets `{name}`; keep values that must last in `world.state` or `private`"
        )
    }
}

/// Searches every module except tests. The search reads only the text, so it misses a change through another name of the
/// same table.
pub fn reset_locals(sources: &Sources) -> Vec<ResetLocal> {
    let modules = sources.iter().filter(|(path, _)| !path.starts_with("tests/"));
    modules.flat_map(|(path, text)| of_module(path, text)).collect()
}

fn of_module(path: &str, text: &str) -> Vec<ResetLocal> {
    let tokens = tokens(text);
    let mut blocks = Blocks::default();
    let mut locals: Vec<&str> = Vec::new();
    let mut shadowed: Vec<&str> = Vec::new();
    let mut worlds: Vec<&str> = Vec::new();
    let mut found: Vec<ResetLocal> = Vec::new();
    for at in 0..tokens.len() {
        let (token, line) = tokens[at];
        let before = at.checked_sub(1).map_or("", |before| tokens[before].0);
        let is_inside = blocks.functions > 0;
        if token == "local" {
            let names = tokens[at + 1..].iter().map(|(name, _)| *name).take_while(|name| *name != "=");
            let names = names
                .take_while(|name| is_name(name) || matches!(*name, "," | ":" | "?"))
                .filter(|name| is_name(name));
            // A list of names ends where a name follows without a comma, because the next statement begins there.
            let names: Vec<_> = names.take(1).filter(|name| *name != "function").collect();
            if blocks.is_top() && is_the_world(&tokens[at + 2..]) {
                worlds.extend(&names);
            }
            if blocks.is_top() { locals.extend(names) } else { shadowed.extend(names) }
        } else if blocks.brackets.last() == Some(&"{") && matches!(before, "{" | "," | ";") {
            // This token is the name of a field of a table.
        } else if is_inside
            && locals.contains(&token)
            && !shadowed.contains(&token)
            && !matches!(before, "." | ":" | "local")
        {
            let is_kept = worlds.contains(&token) && is_state(&tokens[at + 1..]);
            let is_changed =
                !is_kept && (is_assigned(&tokens[at + 1..]) || is_handed_to_change(&tokens[..at]));
            if is_changed && !found.iter().any(|known| known.name == token) {
                found.push(ResetLocal { file: path.to_owned(), line, name: token.to_owned() });
            }
        }
        blocks.enter(token, before);
        if blocks.functions == 0 {
            shadowed.clear();
        }
    }
    found
}

/// Whether the tokens after the name of a local variable assign the module `@nowcast/world` to it.
fn is_the_world(rest: &[(&str, u32)]) -> bool {
    matches!(rest, [("=", _), ("require", _), ("(", _), (module, _), ..] if module.trim_matches(['"', '\'', '`']) == "@nowcast/world")
}

/// Whether the tokens after the name of the world are its state.
fn is_state(rest: &[(&str, u32)]) -> bool {
    matches!(rest, [(".", _), ("state", _), ..])
}

/// Whether the tokens after a name assign to it, or to one of its fields.
fn is_assigned(mut rest: &[(&str, u32)]) -> bool {
    const CHANGES: [&str; 9] = ["=", "+=", "-=", "*=", "/=", "//=", "%=", "^=", "..="];
    loop {
        match rest {
            [(".", _), (name, _), tail @ ..] if is_name(name) => rest = tail,
            [("[", _), ..] => {
                let mut depth = 0;
                let end = rest.iter().position(|(token, _)| {
                    depth += i32::from(*token == "[") - i32::from(*token == "]");
                    depth == 0
                });
                let Some(end) = end else { return false };
                rest = &rest[end + 1..];
            }
            [(token, _), ..] => return CHANGES.contains(token),
            [] => return false,
        }
    }
}

/// Whether the preceding tokens are `table.insert(` or another call that changes its first argument.
fn is_handed_to_change(before: &[(&str, u32)]) -> bool {
    const CHANGING: [&str; 5] = ["insert", "remove", "clear", "sort", "move"];
    matches!(before, [.., ("table", _), (".", _), (name, _), ("(", _)] if CHANGING.contains(name))
}

/// Nesting of blocks and functions around a token.
#[derive(Default)]
struct Blocks<'a> {
    open: Vec<&'a str>,
    brackets: Vec<&'a str>,
    functions: usize,
    /// Open conditional expressions, which have no `end`; true after their `then`.
    choices: Vec<bool>,
    is_choice_before: bool,
}

impl<'a> Blocks<'a> {
    fn is_top(&self) -> bool {
        self.open.is_empty()
    }

    fn enter(&mut self, token: &'a str, before: &str) {
        const BEFORE_VALUE: &str =
            "= ( , { [ return and or not + - * / // % ^ .. == ~= < > <= >= += -= *= /= ..= in #";
        let was_choice = std::mem::take(&mut self.is_choice_before);
        match token {
            "if" if was_choice || BEFORE_VALUE.split(' ').any(|known| known == before) => {
                self.choices.push(false)
            }
            "then" if self.choices.last() == Some(&false) => {
                *self.choices.last_mut().expect("a choice was pushed before") = true;
                self.is_choice_before = true;
            }
            "elseif" if self.choices.last() == Some(&true) => {
                *self.choices.last_mut().expect("a choice was pushed before") = false
            }
            "else" if self.choices.last() == Some(&true) => {
                self.choices.pop();
                self.is_choice_before = true;
            }
            "(" | "[" | "{" => self.brackets.push(token),
            ")" | "]" | "}" => drop(self.brackets.pop()),
            "function" => {
                self.functions += 1;
                self.open.push(token);
            }
            "if" | "do" | "repeat" => self.open.push(token),
            "end" | "until" if self.open.pop() == Some("function") => self.functions -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<(String, u32)> {
        reset_locals(&Sources::of_main(text)).into_iter().map(|found| (found.name, found.line)).collect()
    }

    #[test]
    fn a_local_that_a_function_changes_is_reset_by_a_reload() {
        for (text, name, line) in [
            ("local count = 0\nworld.on('step', function()\ncount += 1\nend)", "count", 3),
            ("local list = {}\nlocal function f(x)\nif x then list[x.id] = true end\nend", "list", 3),
            ("local list = {}\nfunction f() table.insert(list, 1) end", "list", 2),
            (
                "local s: { n: number } = { n = 0 }\nlocal function f()\ns.n = if s.n > 1 then 0 else 1\nend",
                "s",
                3,
            ),
            ("local team = require('./team')\nlocal function f() team.state.size = 1 end", "team", 2),
            ("local a = if x then 1 else 2\nlocal last = nil\nlocal function f() last = a end", "last", 3),
        ] {
            assert_eq!(names(text), [(name.to_owned(), line)], "{text}");
        }
    }

    #[test]
    fn a_local_that_no_function_changes_is_not_reported() {
        for text in [
            "local world = require('@nowcast/world')\nlocal SPEED = 3\nlocal function f(e) e.speed = SPEED end",
            "local t = {}\nt.x = 1\nfor i = 1, 3 do t[i] = i end\nreturn t",
            "local n = 1\nlocal function f() local n = 2 n = 3 return n end",
            "local n = 1 -- n = 2\nlocal s = 'function() n = 3 end'\nlocal function f() return n == 2, `n = {n}` end",
            "local n = 1\nlocal function f(x) x.n = 2 return { n = n } end",
            "--[[ local a = 1 ]]\nlocal function f() world.state.a = 2 end",
            "local world = require('@nowcast/world')\nlocal function f() world.state.kicks += 1 end",
        ] {
            assert_eq!(names(text), [], "{text}");
        }
    }
}
