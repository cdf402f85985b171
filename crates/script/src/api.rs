//! The API of scripts. The type definitions that editors read are its only table: the checker, error messages and the reference
//! in docs/how-to/rules.md read their names, types and comments.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The type definitions for editors: the name of each module after `@nowcast/`, and the text. They lie in the folder `.nowcast`
/// of a world, where the aliases of `.luaurc` name them.
pub const TYPES: [(&str, &str); 12] = [
    ("world", include_str!("types/world.luau")),
    ("test", include_str!("types/test.luau")),
    ("dialogue", include_str!("types/dialogue.luau")),
    ("headset", include_str!("types/headset.luau")),
    ("inventory", include_str!("types/inventory.luau")),
    ("leaderboard", include_str!("types/leaderboard.luau")),
    ("notices", include_str!("types/notices.luau")),
    ("npc", include_str!("types/npc.luau")),
    ("rotation", include_str!("types/rotation.luau")),
    ("rounds", include_str!("types/rounds.luau")),
    ("teams", include_str!("types/teams.luau")),
    ("vehicles", include_str!("types/vehicles.luau")),
];

/// One name of the API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ApiEntry {
    /// The name in its type.
    pub name: &'static str,
    /// The type of the named value in Luau. The first parameter of a method is `self`.
    pub ty: &'static str,
    /// The description, with units.
    pub doc: &'static str,
}

static ENTRIES: LazyLock<BTreeMap<&str, Vec<ApiEntry>>> = LazyLock::new(|| {
    let mut entries: BTreeMap<&str, Vec<ApiEntry>> = BTreeMap::new();
    for (module, text) in TYPES {
        read_types(module, text, &mut entries);
    }
    entries
});

/// Reads one file of [`TYPES`]. Each name has a line of its own, below a line with its description.
fn read_types(module: &'static str, text: &'static str, entries: &mut BTreeMap<&str, Vec<ApiEntry>>) {
    let (mut of, mut doc) = ("", "");
    for line in text.lines() {
        if let Some(text) = line.trim_start().strip_prefix("-- ") {
            doc = text;
        } else if let Some((name, ty)) =
            line.strip_prefix("export type ").and_then(|rest| rest.split_once(" = "))
        {
            if ty == "{" {
                of = if name == "Module" { module } else { name };
            } else {
                entries.entry("").or_default().push(ApiEntry { name, ty, doc });
            }
        } else if let Some((name, ty)) = line.strip_prefix('\t').and_then(|rest| rest.split_once(": ")) {
            // Entities may have any attributes: a key in brackets, which is no name.
            if !name.starts_with('[') {
                entries.entry(of).or_default().push(ApiEntry { name, ty: ty.trim_end_matches(','), doc });
            }
        }
    }
}

/// Returns the entries of the type `World`, `Kind`, `Entity` (and players), `Panel` or `Test`, or of a library module. For "",
/// returns the types of tables that functions take and return. Returns nothing for any other name.
pub fn api_entries(of: &str) -> &'static [ApiEntry] {
    ENTRIES.get(of).map_or(&[], Vec::as_slice)
}

/// Returns the names of [`api_entries`].
pub fn names_of(of: &str) -> Vec<&'static str> {
    api_entries(of).iter().map(|entry| entry.name).collect()
}

/// Returns the minimum and maximum number of an API function's arguments, and whether the function is a method
/// (`subject:name(…)`). The subject is not counted. `None` for names that are not functions.
pub fn arguments_of(of: &str, name: &str) -> Option<Arity> {
    let ty = api_entries(of).iter().find(|entry| entry.name == name)?.ty;
    let rest = ty.strip_prefix('(')?;
    let mut parameters = parameters(rest);
    let is_method = parameters.first().is_some_and(|first| first.starts_with("self:"));
    if is_method {
        parameters.remove(0);
    }
    let is_open = parameters.iter().any(|parameter| parameter.starts_with("..."));
    // A parameter of the type `any` may be nil, so the argument may be missing.
    let needed = parameters.iter().rposition(|ty| {
        let may_be_nil = ty.ends_with('?') || ty.ends_with(": any") || ty.starts_with("...");
        !may_be_nil
    });
    Some(Arity {
        least: needed.map_or(0, |last| last + 1),
        greatest: if is_open { usize::MAX } else { parameters.len() },
        is_method,
    })
}

/// Returns an API function's parameter types, without a method's subject.
pub fn parameter_types(of: &str, name: &str) -> Vec<&'static str> {
    let entry = api_entries(of).iter().find(|entry| entry.name == name);
    let Some(rest) = entry.and_then(|entry| entry.ty.strip_prefix('(')) else { return Vec::new() };
    let named = parameters(rest).into_iter().filter_map(|parameter| parameter.split_once(": "));
    named.filter(|(name, _)| *name != "self").map(|(_, ty)| ty).collect()
}

/// How many arguments an API function takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arity {
    /// Fewer arguments raise an error.
    pub least: usize,
    /// Further arguments are ignored.
    pub greatest: usize,
    /// Whether the function is called with a colon. The subject is not counted.
    pub is_method: bool,
}

/// Splits the parameters of a type of a function, whose text begins after the first parenthesis.
fn parameters(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' | '[' => depth += 1,
            ',' if depth == 0 => {
                found.push(text[begin..at].trim());
                begin = at + 1;
            }
            ')' if depth == 0 => {
                found.push(text[begin..at].trim());
                break;
            }
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    found.retain(|parameter| !parameter.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Limits, Scenario, Script, Sources};

    /// The keys of the table to which an expression of a script evaluates.
    fn keys(expression: &str) -> BTreeSet<String> {
        let text = format!(
            "local world = require('@nowcast/world')\nlocal Kind = world.kind('k', {{}})\n\
             local names = {{}} for name in {expression} do table.insert(names, name) end\n\
             table.sort(names) print(table.concat(names, ' '))"
        );
        let script = Script::load(&Sources::of_main(&text), Limits::DEFAULT).unwrap();
        script.sandbox().poll_line().unwrap().split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_reference_names_every_function_and_no_other() {
        let documented = |of: &str| names_of(of).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(keys("world"), documented("World"));
        let mut kind = keys("getmetatable(Kind).__index");
        kind.insert("name".into());
        assert_eq!(kind, documented("Kind"));
    }

    #[test]
    fn numbers_of_arguments_follow_from_the_types() {
        let arity = |of, name| arguments_of(of, name).map(|it| (it.least, it.greatest, it.is_method));
        assert_eq!(arity("World", "show"), Some((1, 3, false)));
        assert_eq!(arity("World", "after"), Some((2, 3, false)));
        assert_eq!(arity("World", "players"), Some((0, 1, false)));
        assert_eq!(arity("World", "time"), Some((0, 0, false)));
        assert_eq!(arity("World", "rewound"), Some((2, 2, false)));
        assert_eq!(arity("World", "action"), Some((3, 4, false)));
        assert_eq!(arity("Kind", "spawn"), Some((0, 1, true)));
        assert_eq!(arity("Entity", "glide_to"), Some((1, 2, true)));
        assert_eq!(arity("World", "state"), None);
        assert_eq!(arity("Entity", "position"), None);
    }

    #[test]
    fn the_reference_names_every_function_of_the_library_and_no_other() {
        for (name, _) in crate::LIBRARY {
            let module = name.trim_start_matches("@nowcast/");
            let documented: BTreeSet<String> = names_of(module).into_iter().map(str::to_owned).collect();
            assert_eq!(keys(&format!("require('@nowcast/{module}')")), documented, "{module}");
        }
    }

    #[test]
    fn the_types_for_editors_load_as_luau() {
        let (mut sources, mut text) = (Sources::default(), String::new());
        for (name, types) in TYPES {
            sources.insert(format!("types/{name}.luau"), types);
            text += &format!(" require('./types/{name}')");
        }
        sources.insert("world.luau", text);
        Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    }

    #[test]
    fn the_test_module_has_every_documented_function() {
        let names = names_of("Test").join(" ");
        let sources = Sources::from_iter([
            ("world.luau", String::new()),
            (
                "tests/names.luau",
                format!(
                    "local test = require('@nowcast/test') for name in string.gmatch('{names}', '%S+') do \
                     assert(type(test[name]) == 'function', name) end"
                ),
            ),
        ]);
        Scenario::new(sources, "tests/names.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    }
}
