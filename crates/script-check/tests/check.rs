//! Mistakes that the text of a world shows before it runs.

use nowcast_script::{Limits, Script, Sources};
use nowcast_script_check::{Finding, check};
use nowcast_world::Definition;

const HEAD: &str = "local world = require('@nowcast/world')
local Ball = world.kind('ball', { attributes = { heat = 'u8' } })
local Person = world.kind('person', { walker = {}, attributes = { carrier = 'player?' } })
world.state { kicks = 0 }\n";

fn found_in(modules: &[(&str, &str)]) -> Vec<String> {
    let sources = Sources::from_iter(modules.iter().copied());
    let script = Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    let findings = check(&sources, &script.definition());
    let text = |found: Finding| {
        let kind = if found.is_error { "error" } else { "warning" };
        format!("{}:{}: {kind}: {}", found.file, found.line, found.message)
    };
    findings.into_iter().map(text).collect()
}

/// The findings in the functions of a world; the first line behind the head is 5.
fn found(text: &str) -> Vec<String> {
    found_in(&[("world.luau", &format!("{HEAD}{text}"))])
}

#[test]
fn undefined_names_are_errors_with_the_name_that_was_meant() {
    for (line, words) in [
        ("wurld.show('a', 1)", "`wurld` is not defined; did you mean `world`?"),
        ("tel()", "`tel` is not defined"),
        ("wait(1)", "a script cannot wait"),
        ("task.wait(1)", "a script cannot wait"),
        ("local at = Vector3.new(0, 1, 0)", "use `vector.create(x, y, z)`"),
        ("math.randomseed(1)", "there is no `math.randomseed`"),
        ("math.flor(1)", "`math` has no `flor`; did you mean `floor`?"),
        ("score = 1", "`score` is not defined, and globals cannot be set"),
        ("local function inner() local hidden = 1 end print(hidden)", "`hidden` is not defined"),
        ("do local gone = 1 end print(gone)", "`gone` is not defined"),
        ("print(`now {nwo}`)", "`nwo` is not defined"),
        ("local x = if true then yes else 2", "`yes` is not defined"),
        ("local t = { a = missing }", "`missing` is not defined"),
    ] {
        let found = found(&format!("world.on('start', function() {line} end)"));
        assert!(found.len() == 1 && found[0].starts_with("world.luau:5: error: "), "{line}: {found:?}");
        assert!(found[0].contains(words), "{line}: {found:?}");
    }
}

#[test]
fn unknown_fields_are_errors_where_the_type_of_the_value_is_known() {
    for (line, words) in [
        ("world.on('start', function() world.shw('a', 1) end)", "`world` has no `shw`; did you mean `show`?"),
        ("world.on('start', function() Ball:spwan({}) end)", "a kind has no `spwan`; did you mean `spawn`?"),
        (
            "world.on('start', function() local b = Ball:spawn {} b.haet = 1 end)",
            "kind `ball` has no attribute `haet`; did you mean `heat`?",
        ),
        (
            "world.on('start', function() for _, b in Ball:all() do print(b.velocty) end end)",
            "did you mean `velocity`?",
        ),
        (
            "world.on('start', function() for _, b in ipairs(Ball:all()) do b:dispawn() end end)",
            "did you mean `despawn`?",
        ),
        (
            "world.on('start', function() print(Ball:all()[1].carrier) end)",
            "kind `ball` has no attribute `carrier`",
        ),
        ("world.on('join', function(player) player.score = 1 end)", "a player has no field `score`"),
        (
            "world.on('join', function(player) player:spawn_avatar(Person).heat = 1 end)",
            "kind `person` has no attribute `heat`",
        ),
        (
            "world.on('join', function(player) print(player.avatar.helth) end)",
            "no kind has an attribute `helth`",
        ),
        (
            "Ball:on('contact', function(ball, other) print(ball.heat, other.carrier, other.colour) end)",
            "no kind has an attribute `colour`",
        ),
        (
            "Ball:on('own', function(ball, player) return player.carrier end)",
            "a player has no field `carrier`",
        ),
        ("world.action('go', {}, function(player) player.avtar.heat = 1 end, {})", "did you mean `avatar`?"),
    ] {
        let found = found(line);
        assert!(found.len() == 1 && found[0].starts_with("world.luau:5: error: "), "{line}: {found:?}");
        assert!(found[0].contains(words), "{line}: {found:?}");
    }
}

#[test]
fn arguments_that_cannot_have_the_type_of_their_parameter_are_errors() {
    for (line, words) in [
        ("Ball.spawn({ at = vector.zero })", "`spawn` is called with a colon, not with a dot"),
        ("Ball.spawn { at = vector.zero }", "`spawn` is called with a colon, not with a dot"),
        ("Ball:spawn {}.tag('hot')", "`tag` is called with a colon, not with a dot"),
        ("world.after(1, function() end)", "`after` takes the name of a timer, not a function"),
        ("world.every(1, function() end)", "`every` takes the name of a timer, not a function"),
        ("world.after({}, 'boom')", "`after` takes a number here, not a table"),
    ] {
        let found = found(&format!("world.timer('boom', print) world.on('start', function() {line} end)"));
        assert!(found.len() == 1 && found[0].starts_with("world.luau:5: error: "), "{line}: {found:?}");
        assert!(found[0].contains(words), "{line}: {found:?}");
    }
    assert_eq!(found("world.on('start', function() Ball.spawn(Ball, { at = vector.zero }) end)"), [""; 0]);
}

#[test]
fn bodies_that_forces_move_far_from_the_origin_are_warned_of() {
    let crates = "local Crate = world.kind('crate', { body = { shape = 'box', size = vector.one } })";
    let found = |line: &str| found(&format!("{crates} world.on('join', function(player) {line} end)"));
    for line in [
        "Crate:spawn { at = vector.create(0, 1, -3000) }",
        "player:spawn_avatar(Person, { yaw = 1, at = vector.create(2500, 1, 0) })",
    ] {
        let found = found(line);
        assert!(
            found.len() == 1 && found[0].contains("warning: forces and walkers are exact within 2000 m"),
            "{found:?}"
        );
    }
    for line in [
        "Crate:spawn { at = vector.create(0, 1, -2000) }",
        "Ball:spawn { at = vector.create(0, 1, -3000) }",
        "Crate:spawn { at = vector.create(0, 1, 3000 / 2) }",
    ] {
        assert_eq!(found(line), [""; 0], "{line}");
    }
}

#[test]
fn names_that_read_as_nil_are_warnings_and_errors_in_a_strict_module() {
    for (line, words) in [
        (
            "world.action('kick', { power = 'f32' }, function(_, kick) print(kick.pwoer) end, {})",
            "action `kick` has no `pwoer`; did you mean `power`?",
        ),
        (
            "world.on('start', function() print(world.state.kickz) end)",
            "nothing sets `world.state.kickz`, so it is nil; did you mean `kicks`?",
        ),
    ] {
        let lax = found(line);
        assert!(
            lax.len() == 1 && lax[0].contains(": warning: ") && lax[0].contains(words),
            "{line}: {lax:?}"
        );
        let strict = found_in(&[("world.luau", &format!("--!strict\n{HEAD}{line}"))]);
        assert!(strict.len() == 1 && strict[0].contains(":6: error: "), "{line}: {strict:?}");
        assert_eq!(found_in(&[("world.luau", &format!("--!nocheck\n{HEAD}{line}"))]), [""; 0], "{line}");
    }
}

#[test]
fn calls_of_the_api_with_a_wrong_number_of_arguments_are_found() {
    for (line, words) in [
        ("world.show()", "error: `show` takes at least 1 argument, and 0 are given"),
        ("world.after(1)", "error: `after` takes at least 2 arguments, and 1 are given"),
        ("world.time(1)", "warning: `time` takes 0 arguments, and 1 are given; the rest is ignored"),
        ("world.show('a', 1, nil, 2)", "warning: `show` takes at most 3 arguments, and 4 are given"),
        ("world:show('a', 1)", "error: `show` is called with a dot, not with a colon: world.show(…)"),
        ("Ball:count(1)", "warning: `count` takes 0 arguments, and 1 are given"),
        ("Ball:spawn {}:distance()", "error: `distance` takes 1 argument, and 0 are given"),
        ("Ball.count()", "error: `count` takes 1 argument, and 0 are given"),
    ] {
        let found = found(&format!("world.on('start', function() {line} end)"));
        assert!(found.len() == 1 && found[0].contains(words), "{line}: {found:?}");
    }
    for line in [
        "world.show(table.unpack({ 'a', 1 }))",
        "world.after((function() return 1, 'bell' end)())",
        "Ball.spawn(Ball, {})",
        "world.emit 'goal'",
    ] {
        assert_eq!(found(&format!("world.on('start', function() {line} end)")), [""; 0], "{line}");
    }
}

#[test]
fn an_action_without_a_binding_or_a_key_is_a_warning_unless_it_is_for_programs() {
    for (hint, words) in [
        ("", "action `kick` has no binding, so no page offers it"),
        (", { label = 'Kick' }", "action `kick` has no `key`, so no page offers it"),
    ] {
        let found = found(&format!("world.action('kick', {{}}, print{hint})"));
        assert!(found.len() == 1 && found[0].starts_with("world.luau:5: warning: "), "{hint}: {found:?}");
        assert!(found[0].contains(words), "{hint}: {found:?}");
    }
    for hint in [", {}", ", { key = 'f', label = 'Kick' }"] {
        assert_eq!(found(&format!("world.action('kick', {{}}, print{hint})")), [""; 0], "{hint}");
    }
}

#[test]
fn a_module_that_was_never_required_is_named_with_the_missing_line() {
    let text = format!("{HEAD}world.on('start', function() teams.pick() end)");
    let found = found_in(&[("world.luau", &text), ("teams.luau", "return {}")]);
    assert!(found.iter().any(|text| text.contains("write local teams = require(\"./teams\")")), "{found:?}");
}

#[test]
fn values_whose_type_the_text_does_not_show_are_not_judged() {
    let text = "
        type Pair<T> = { first: T, second: T }
        local limits: { [string]: number } = { low = 1 }
        local thing = Ball
        local function pick(list, n: number?): Pair<any>
            local best = Ball:spawn {}
            best = list[n or 1]
            print(best.anything, thing:count(), limits.nothing, list.whatever:call(1, ...))
            return { first = best, second = best }
        end
        function limits.more(self) return self end
        local function use()
            local a, b = pick({}, 1), function(...) return select('#', ...) end
            for i = 1, 2 do print(i, a.first, b(i), (a :: any).b) continue end
        end
        repeat local done = true until done
        while limits.low < 1 do limits.low += 1 end
        world.on('start', function()
            world.state.later = 1
            print(world.state.later, Person:count(), string.format('%d', 1), vector.one.x, use)
            local hit = world.raycast(vector.zero, vector.one, 1)
            if hit then print(hit.entity.carrier, hit.point.x) end
        end)";
    let sources =
        Sources::of_main(&format!("{HEAD}{}", text.replace("list.whatever:call(1, ...)", "list.whatever")));
    let script = Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(check(&sources, &script.definition()), []);
}

#[test]
fn all_sample_worlds_are_read_without_a_finding() {
    let worlds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../worlds");
    let mut modules = 0;
    for folder in std::fs::read_dir(worlds).unwrap().map(|entry| entry.unwrap().path()) {
        // A folder whose name begins with a dot contains files for editors.
        let is_hidden = folder.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if is_hidden || !folder.join("world.luau").exists() {
            continue;
        }
        let mut sources = Sources::default();
        read_folder(&folder, "", &mut sources);
        modules += sources.iter().count();
        let script = Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(check(&sources, &script.definition()), [], "{}", folder.display());
    }
    assert!(modules > 10, "{modules} modules");
}

fn read_folder(folder: &std::path::Path, prefix: &str, sources: &mut Sources) {
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()) {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_folder(&entry.path(), &format!("{name}/"), sources);
        } else if name.ends_with(".luau") {
            sources.insert(&name, std::fs::read_to_string(entry.path()).unwrap());
        }
    }
}

#[test]
fn text_that_the_parser_cannot_read_is_a_warning_without_consequences() {
    let sources = Sources::from_iter([("world.luau", HEAD), ("half.luau", "local x = = 1\nwurld.show()")]);
    let script = Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    let findings = check(&sources, &script.definition());
    assert_eq!(findings.len(), 1);
    assert!(!findings[0].is_error && findings[0].message.contains("cannot read"), "{findings:?}");
    assert_eq!((findings[0].line, findings[0].column), (1, 11));

    // The checker ends for every prefix of a text with all features of the language, with or without a finding.
    for text in [
        WITH_EVERYTHING,
        "(((((",
        "`{`{`{",
        "a.b:",
        "if",
        "for i",
        "local function",
        "{[",
        "@",
        "::",
        "type A<",
    ] {
        for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
            let sources = Sources::from_iter([("world.luau", HEAD), ("half.luau", &text[..end])]);
            check(&sources, &script.definition());
        }
    }
}

/// Statements and types of Luau that few worlds use.
const WITH_EVERYTHING: &str = "
    type Map<K, V = { [string]: any }> = { [K]: V, read first: (K, ...V) -> (V?, ...number) }
    export type Either = | 'a' | \"b\" | (nil & typeof(world.state))
    local function generic<T, U...>(a: T, ...: U...): (T, U...) return a, ... end
    local a: number, b: string? = 0x1F + 1_000 // 2, `x {1 + 2} { `{b}` }`
    local t: { number } = { 1, [2] = 3; four = 4, function() end }
    t.four, t[1] = 5, -#t ^ 2
    t.four //= 2 t.four ..= 'x'
    function t.f(x) return if x then 1 elseif t then 2 else 3 end
    function t:g() return self.four end
    for i: number = 1, 10, 2 do if i == 2 then continue elseif i ~= 3 then break else end end
    for key, value in t do local _ = (key :: any) .. value end
    repeat local done = not true until done or 1 < 2
    while false do end
    do local _ = t:g { 1 }, t.f 'x', t.f [[y]] end
    local continue, type = 1, typeof
    return type(continue), ...
";

#[test]
fn statements_and_types_of_luau_are_read() {
    let text = WITH_EVERYTHING
        .replace("local a: number, b: string?", "local b: string? = 'b' local a: number, c: string?");
    // The module is only read: its statements would fail.
    let script = Script::load(&Sources::from_iter([("world.luau", HEAD)]), Limits::DEFAULT);
    let definition = script.unwrap_or_else(|fault| panic!("{fault}")).definition();
    let main = format!("{HEAD}require('./all')");
    let module = text.replace("typeof(world.state)", "typeof(1)");
    let sources = Sources::from_iter([("world.luau", main.as_str()), ("all.luau", module.as_str())]);
    assert_eq!(check(&sources, &definition), []);
}

#[test]
fn deep_nesting_that_luau_loads_is_read_without_an_overflow() {
    let deep = format!("local x = {}1{}", "(".repeat(190), ")".repeat(190));
    assert_eq!(found(&deep), [""; 0]);
}

#[test]
fn functions_of_the_library_are_known() {
    let head = "local world, teams = require('@nowcast/world'), require('@nowcast/teams')\n";
    let judged = |line: &str| found_in(&[("world.luau", &format!("{head}{line}"))]);
    for (line, words) in [
        (
            "world.on('start', function() teams.scor('red') end)",
            "`teams` has no `scor`; did you mean `score`?",
        ),
        ("world.on('start', function() teams.score() end)", "`score` takes 1 argument, and 0 are given"),
        ("world.on('start', function() teams:reset() end)", "with a dot, not with a colon: teams.reset(…)"),
        (
            "world.on('start', function() rounds.stop() end)",
            "write local rounds = require(\"@nowcast/rounds\") at the top of the file",
        ),
        (
            "local headset = require('@nowcast/headset') world.on('start', function() headset.Hand:al() end)",
            "a kind has no `al`; did you mean `all`?",
        ),
    ] {
        let found = judged(line);
        assert!(found.len() == 1 && found[0].starts_with("world.luau:2: error: "), "{line}: {found:?}");
        assert!(found[0].contains(words), "{line}: {found:?}");
    }
    let line =
        "world.on('join', function(player) teams.join(player) print(teams.members('red')[1].name) end)";
    assert_eq!(judged(line), [""; 0]);
}

#[test]
fn advice_reads_every_key_of_an_action() {
    let text = "local world = require('@nowcast/world')
        world.action('kick', {}, function() end, { key = { 'f', 'left', 'f' } })
        world.action('wave', {}, function() end, { key = { 'F12', 'left', 'w' } })";
    let found = found_in(&[("world.luau", text)]);
    assert_eq!(found.len(), 4, "{found:?}");
    for cause in [
        "action `kick`: the key \"f\" is named twice",
        "action `wave`: no page has the key \"F12\"",
        "action `wave`: the key \"left\" does `kick` already",
        "action `wave`: the key \"w\" walks",
    ] {
        assert!(found.iter().any(|message| message.contains(cause)), "{cause}: {found:?}");
    }
}

#[test]
fn likely_mistakes_are_named_with_their_line() {
    let head = "local world = require('@nowcast/world')\n";
    for (text, line, words) in [
        ("world.action('a', {}, print, { key = 'E' })", 2, "did you mean \"e\"?"),
        ("world.action('a', {}, print, { key = 'enter' })", 2, "no page has the key"),
        ("world.action('a', {}, print, { key = 'w' })", 2, "walks"),
        (
            "world.action('a', {}, print, { key = 'e' })\nworld.action('b', {}, print, { key = 'e' })",
            3,
            "`a` already",
        ),
        ("world.kind('k', { look = { colour = '#fff' } })", 2, "did you mean `color`?"),
        ("world.kind('k', { look = { color = 'red' } })", 2, "\"red\" is not a colour"),
        (
            "world.timer('boom', print)\nworld.on('start', function() world.after(math.max(1, 2), 'bom') end)",
            3,
            "\"boom\"",
        ),
    ] {
        let found = found_in(&[("world.luau", &format!("{head}{text}")), ("teams.luau", "return {}")]);
        let is_told =
            |found: &&String| found.starts_with(&format!("world.luau:{line}: ")) && found.contains(words);
        assert_eq!(found.iter().filter(is_told).count(), 1, "{text}: {found:?}");
    }
    let idle = found_in(&[("world.luau", head), ("teams.luau", "return {}")]);
    assert!(idle[0].starts_with("teams.luau:1: warning: no module requires this one"), "{idle:?}");
}

#[test]
fn a_world_without_mistakes_gets_no_advice() {
    let text = "
        local world, teams = require('@nowcast/world'), require('./teams')
        local Door = world.kind('door', { look = { color = '#abc', opacity = 0.5 }, attributes = { color = 'text' } })
        world.kind('table', { look = { shape = 'compound', parts = { { shape = 'box', size = vector.one } } } })
        world.action('open', { door = 'entity' }, print, { key = 'e', target = 'door', of = Door })
        world.action('close', { door = 'entity' }, print, { key = 'e', target = 'door', of = Door, needs = 'x' })
        world.timer('tick', print)
        world.on('start', function() world.after(teams.pause, 'tick') world.after(1, teams.name) end)";
    assert_eq!(
        found_in(&[("world.luau", text), ("teams.luau", "return { pause = 1, name = 'tick' }")]),
        [""; 0]
    );
}

/// The locals that a reload resets, with the line that changes each of them.
fn reset(text: &str) -> Vec<(String, u32)> {
    let findings = check(&Sources::of_main(text), &Definition::default());
    let resets = findings.iter().filter_map(|found| {
        let (name, _) = found.message.strip_prefix("a reload resets `")?.split_once('`')?;
        Some((name.to_owned(), found.line))
    });
    resets.collect()
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
        assert_eq!(reset(text), [(name.to_owned(), line)], "{text}");
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
        "local world = require('@nowcast/world')\nlocal function f() table.insert(world.state.log, 1) end",
        "local world = require('@nowcast/world')\nlocal s = world.state { n = 0 }\nlocal function f() s.n += 1 end",
        "local world = require('@nowcast/world')\nlocal s = world.state\nlocal function f() s.n += 1 end",
    ] {
        assert_eq!(reset(text), [], "{text}");
    }
}
