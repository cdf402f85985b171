//! Harmful scripts: each is stopped with an error that names its line, and leaves a usable state.

use nowcast_script::{Fault, FaultKind, Limits, Sandbox, Sources};

fn sandbox() -> Sandbox {
    Sandbox::new(Limits::DEFAULT).expect("a state is made")
}

fn fault_of(text: &str) -> Fault {
    sandbox().load::<()>(&Sources::of_main(text), []).expect_err(text)
}

/// Checks that a script is stopped by the expected limit.
fn is_stopped(kind: FaultKind, text: &str) {
    let fault = fault_of(text);
    assert_eq!(fault.kind, kind, "{text}: {fault}");
}

/// Checks that a script is refused in line 1 with this text.
fn is_refused(text: &str, words: &str) {
    let fault = fault_of(text);
    assert!(fault.to_string().contains(words), "{text}: {fault}");
    assert_eq!((fault.file.as_deref(), fault.line), (Some("world.luau"), Some(1)), "{text}: {fault}");
}

#[test]
fn an_endless_loop_is_stopped_with_its_line() {
    for text in [
        "\nwhile true do end",
        "local function spin()\nwhile true do end end spin()",
        "\nrepeat pcall(function() while true do end end) until false",
        "\nwhile true do xpcall(error, function() while true do end end) end",
        "\nwhile true do coroutine.wrap(function() for i = 1, 1e3 do end end)() end",
    ] {
        let fault = fault_of(text);
        assert_eq!((fault.kind, fault.line), (FaultKind::Work, Some(2)), "{text}: {fault}");
        assert!(fault.cure.is_some());
    }
}

#[test]
fn endless_text_and_tables_hit_the_memory_limit() {
    for text in [
        "local t = {} while true do t[#t + 1] = {} end",
        "local s = 'x' while true do s = s .. s end",
        "while true do local s = string.rep('x', 1e6) end",
        "while true do local s = ('x'):rep(1e6):upper() end",
        "local t = table.create(1e5, 'xxxxxxxxxxxxxxxxxxxx') while true do table.concat(t) end",
        "while true do coroutine.wrap(function() coroutine.yield() end)() end",
        "local keep = {} while true do table.insert(keep, coroutine.create(print)) end",
        "local b = buffer.create(1e9)",
    ] {
        is_stopped(FaultKind::Memory, text);
    }
}

#[test]
fn a_library_function_is_charged_by_the_size_of_its_data() {
    for text in [
        "local s = string.rep('x', 1e9)",
        "table.create(1e9)",
        "local t = table.create(1e6, 1) while true do table.insert(t, 1, 0) table.remove(t, 1) end",
        "local t = table.create(1e6, 1) while true do table.sort(t) end",
        "local t = table.create(1e6, 1) while true do table.find(t, 2) end",
        "local t = table.create(1e6, 1) while true do table.move(t, 1, 1e6, 2) end",
        "local b = buffer.create(1e6) while true do buffer.fill(b, 0, 1) end",
        "local s = ('x'):rep(1e6) while true do utf8.len(s) end",
    ] {
        is_stopped(FaultKind::Work, text);
    }
}

#[test]
fn a_backtracking_pattern_is_stopped() {
    for text in [
        "local s = ('a'):rep(1e5) s:find('.-.-.-.-b')",
        "local s = ('a'):rep(4e5) s:find(('a'):rep(2e5) .. 'b', 1, true)",
        "local s = ('a'):rep(1e5) s:gsub('a*a*a*b', '')",
        "local s = ('a'):rep(1e5) s:match('a*a*a*b')",
        "for x in (('a'):rep(1e5)):gmatch('.-.-.-.-b') do end",
    ] {
        is_stopped(FaultKind::Work, text);
    }
}

#[test]
fn call_depth_is_limited() {
    is_refused("local function f() return 1 + f() end f()", "stack overflow");
    is_refused("local function f() coroutine.wrap(f)() end f()", "stack overflow");
    is_refused(
        "local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end local x = t.x",
        "stack overflow",
    );
    is_refused("string.format('%999999999d', 1)", "too long");
}

#[test]
fn a_script_reaches_nothing_outside_of_its_world() {
    is_refused("io.open('/etc/passwd')", "no files");
    is_refused("os.clock()", "no clock");
    is_refused("debug.info(1, 'l')", "no `debug`");
    is_refused("loadstring('return 1')()", "no `loadstring`");
    is_refused("getfenv()", "nil value");
    is_refused("collectgarbage('count')", "nil value");
    is_refused("newproxy()", "nil value");
    is_refused("require('@nowcast/fs')", "no module `@nowcast/fs`");
    is_refused("require('other')", "require(\"./other\")");
    is_refused("require('../other')", "leaves the world's folder");
    is_refused("require('/etc/passwd')", "no module");
    is_refused("setmetatable({}, { __mode = 'k' })", "weak tables");
}

#[test]
fn bytecode_is_refused_as_source_text() {
    for text in ["\x1bLua", "\x06\x03", "\x01"] {
        assert_eq!(fault_of(text).kind, FaultKind::Syntax);
    }
}

#[test]
fn shared_tables_of_scripts_are_read_only() {
    for text in [
        "string.rep = nil",
        "math.sin = 1",
        "x = 1",
        "print = nil",
        "getmetatable('').__index = nil",
        "rawset(string, 'rep', 1)",
        "os.clock = 1",
        "table.clear(string)",
    ] {
        is_refused(text, "readonly");
    }
}

#[test]
fn a_script_never_sees_an_address() {
    let texts = sandbox().load::<Vec<String>>(
        &Sources::of_main(
            "return { tostring({}), tostring(print), tostring(coroutine.create(print)), tostring(5) }",
        ),
        [],
    );
    assert_eq!(texts.unwrap(), ["table", "function", "thread", "5"]);
}

#[test]
fn a_state_is_usable_after_every_limit() {
    let text = "
        local kept = {}
        return {
            spin = function() while true do end end,
            fill = function() while true do kept[#kept + 1] = ('x'):rep(#kept + 1e4) end end,
            forget = function() kept = {} end,
            answer = function() return 42 end,
        }";
    let sandbox = sandbox();
    let world: mlua::Table = sandbox.load(&Sources::of_main(text), []).unwrap();
    let call = |name: &str| {
        sandbox.begin_step();
        let result = sandbox.run(|_| world.get::<mlua::Function>(name)?.call::<Option<i32>>(()));
        sandbox.end_step();
        result
    };
    for _ in 0..3 {
        assert_eq!(call("spin").unwrap_err().kind, FaultKind::Work);
        assert_eq!(call("answer").unwrap(), Some(42));
        assert_eq!(call("fill").unwrap_err().kind, FaultKind::Memory);
        assert_eq!(call("forget").unwrap(), None);
        assert_eq!(call("answer").unwrap(), Some(42));
    }
}

#[test]
fn a_script_is_stopped_at_the_same_place_in_every_run() {
    let text = "
        local count = 0
        return { spin = function() while true do count += 1 end end, count = function() return count end }";
    let counts = [0; 3].map(|_| {
        let sandbox = sandbox();
        let world: mlua::Table = sandbox.load(&Sources::of_main(text), []).unwrap();
        sandbox.begin_step();
        sandbox.run(|_| world.get::<mlua::Function>("spin")?.call::<()>(())).unwrap_err();
        sandbox.begin_step();
        sandbox.run(|_| world.get::<mlua::Function>("count")?.call::<u64>(())).unwrap()
    });
    assert!(counts[0] > 1_000);
    assert_eq!(counts, [counts[0]; 3]);
}
