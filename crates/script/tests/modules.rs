//! Modules: their lookup, and the errors of invalid modules.

use nowcast_script::{Fault, FaultKind, Limits, Sandbox, Sources};

fn load<R: mlua::FromLuaMulti>(modules: &[(&str, &str)]) -> Result<R, Fault> {
    Sandbox::new(Limits::DEFAULT)?.load(&Sources::from_iter(modules.iter().copied()), [])
}

#[test]
fn a_module_runs_once_and_is_found_relative_to_its_requirer() {
    let count: u32 = load(&[
        ("world.luau", "require('./rules/goals') require('./rules/teams') return require('./counter').count"),
        ("rules/goals.luau", "local c = require('../counter') c.count += 1 return require('./teams')"),
        ("rules/teams.luau", "local c = require('../counter') c.count += 1 return {}"),
        ("counter.luau", "return { count = 0 }"),
    ])
    .unwrap();
    assert_eq!(count, 2);
}

#[test]
fn a_require_cycle_is_refused_with_the_names_of_its_modules() {
    let fault = load::<()>(&[
        ("world.luau", "require('./a')"),
        ("a.luau", "return require('./b')"),
        ("b.luau", "\nreturn require('./a')"),
    ])
    .unwrap_err();
    assert!(fault.message.contains("a.luau → b.luau → a.luau"), "{fault}");
    assert_eq!((fault.file.as_deref(), fault.line), (Some("b.luau"), Some(2)));
}

#[test]
fn a_fault_names_its_file_and_line() {
    let cases: [(&str, u32, FaultKind, &str); 5] = [
        ("local x = 1\nlocal y == 2", 2, FaultKind::Syntax, "'=='"),
        ("local x\n\nprint(x.y)", 3, FaultKind::Runtime, "check it first"),
        ("\nerror('own words')", 2, FaultKind::Runtime, "own words"),
        ("\n\n\nscore = 0", 4, FaultKind::Runtime, "local"),
        ("\nlocal t = {} + 1", 2, FaultKind::Runtime, "tonumber"),
    ];
    for (text, line, kind, words) in cases {
        let fault = load::<()>(&[("world.luau", "require('./m')"), ("m.luau", text)]).unwrap_err();
        assert_eq!(
            (fault.file.as_deref(), fault.line, fault.kind),
            (Some("m.luau"), Some(line), kind),
            "{fault}"
        );
        assert!(fault.to_string().contains(words), "{fault}");
    }
}

#[test]
fn a_world_without_its_first_module_is_refused() {
    let fault = load::<()>(&[("other.luau", "")]).unwrap_err();
    assert!(fault.to_string().starts_with("world.luau: "), "{fault}");
}

#[test]
fn too_many_or_too_long_modules_are_refused() {
    let long = " ".repeat(Limits::DEFAULT.module_bytes_max + 1);
    assert!(load::<()>(&[("world.luau", &long)]).unwrap_err().message.contains("bytes"));
    let many = (0..Limits::DEFAULT.modules_max).map(|n| (format!("m{n}.luau"), ""));
    let mut sources = Sources::from_iter(many);
    sources.insert("world.luau", "");
    let fault = Sandbox::new(Limits::DEFAULT).unwrap().load::<()>(&sources, []).unwrap_err();
    assert!(fault.message.contains("modules"), "{fault}");
}

#[test]
fn a_hash_of_a_version_depends_on_its_text() {
    let one = Sources::from_iter([("world.luau", "a"), ("b.luau", "c")]);
    assert_eq!(one.hash(), Sources::from_iter([("b.luau", "c"), ("world.luau", "a")]).hash());
    for other in [[("world.luau", "a"), ("b.luau", "d")], [("world.lua", "ua"), ("b.luau", "c")]] {
        assert_ne!(one.hash(), Sources::from_iter(other).hash());
    }
}

#[test]
fn printed_lines_beyond_the_queue_are_dropped_and_counted() {
    let sandbox = Sandbox::new(Limits { reports_max: 2, ..Limits::DEFAULT }).unwrap();
    sandbox.load::<()>(&Sources::of_main("print('a', 1, nil) print({}) print('lost')"), []).unwrap();
    assert_eq!(sandbox.poll_line().as_deref(), Some("a 1 nil"));
    assert_eq!(sandbox.poll_line().as_deref(), Some("{}"));
    assert_eq!((sandbox.poll_line(), sandbox.lines_dropped()), (None, 1));
}

#[test]
fn mathematics_has_the_same_bits_everywhere() {
    let text = "local s = 0 for i = 1, 100 do s += math.sin(i) * math.exp(-i / 50) + math.atan2(i, 3) + math.log(i) end return string.format('%.17g', s)";
    let sum: String = load(&[("world.luau", text)]).unwrap();
    let mut expected = 0.0;
    for i in 1..=100 {
        let i = f64::from(i);
        expected += libm::sin(i) * libm::exp(-i / 50.0) + libm::atan2(i, 3.0) + libm::log(i);
    }
    assert_eq!(sum.parse(), Ok(expected));
}
