use std::collections::BTreeSet;

use crate::{Limits, Scenario, Script, Sources};

use super::*;

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
    let names: Vec<_> = crate::LIBRARY.iter().map(|(name, _)| name.trim_start_matches("@nowcast/")).collect();
    assert_eq!(library_modules(), names);
    for module in names {
        let documented: BTreeSet<String> = names_of(module).into_iter().map(str::to_owned).collect();
        assert_eq!(keys(&format!("require('@nowcast/{module}')")), documented, "{module}");
    }
}

#[test]
fn the_types_for_editors_load_as_luau() {
    let mut sources =
        Sources::from_iter([("types/world.luau", world_types()), ("types/test.luau", test_types())]);
    let mut text = "require('./types/world') require('./types/test')".to_owned();
    for (name, types) in library_types() {
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
