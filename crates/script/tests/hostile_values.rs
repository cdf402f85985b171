//! Worlds that try to use memory outside of their own limits: each is refused, and the error names the excess.

use nowcast_script::{Console, Fault, FaultKind, Limits, Sandbox, Script, Sources};
use nowcast_world::World;

/// Makes a world that runs `before` once and `work` in every step.
fn world(before: &str, work: &str) -> (World, Console) {
    let text = format!(
        "local world = require('@nowcast/world')
        local Crate = world.kind('crate', {{ attributes = {{ label = 'text', any = 'any' }} }})
        world.timer('bell', function(data) end)
        world.state {{ steps = 0 }}
        {before}
        world.on('step', function() world.state.steps += 1 end)
        world.on('step', function() {work} end)"
    );
    let script = Script::load(&Sources::of_main(&text), Limits::DEFAULT).expect("the rules load");
    let (definition, console) = (script.definition(), script.console());
    (World::new(definition, 1, Box::new(script)).expect("a definition was checked"), console)
}

/// Plays a world for some steps without polling its events, and returns its faults.
fn faults(before: &str, work: &str, steps: u64) -> (World, Vec<Fault>) {
    let (mut world, console) = world(before, work);
    (0..steps).for_each(|_| world.step());
    assert_eq!(world.scene().state("steps").and_then(|steps| steps.as_f64()), Some(steps as f64), "{work}");
    let faults = std::iter::from_fn(|| console.poll_fault()).collect();
    (world, faults)
}

/// Tables in 15 levels, where each table holds the table of the next level 40 times: a few kilobytes that expand to 10^24
/// values.
const LAUGHS: &str = "local laughs = { 1 }
    for _ = 1, 14 do local next = {} for i = 1, 40 do next[i] = laughs end laughs = next end";

#[test]
fn a_table_of_more_values_than_fit_into_memory_is_refused_by_every_function() {
    for work in [
        "world.state.laughs = laughs",
        "world.show('score', laughs)",
        "world.emit('joke', laughs)",
        "world.after(1, 'bell', laughs)",
        "Crate:spawn { any = laughs }",
        "Crate:spawn {}.any = laughs",
        "Crate:spawn {}.private.laughs = laughs",
        "Crate:spawn { private = { laughs } }",
    ] {
        let (_, faults) = faults(LAUGHS, work, 2);
        assert!(faults.iter().any(|fault| fault.message.contains("too large")), "{work}: {faults:?}");
    }
}

#[test]
fn a_look_or_state_of_more_values_than_fit_into_memory_does_not_load() {
    for work in [
        "world.kind('joke', { look = laughs })",
        "world.state { laughs = laughs }",
        "world.action('laugh', {}, function() end, { label = 'Laugh', of = laughs })",
        "world.kind('joke', { attributes = { any = { 'any', default = laughs } } })",
    ] {
        let text = format!("local world = require('@nowcast/world')\n{LAUGHS}\n{work}");
        let fault = Script::load(&Sources::of_main(&text), Limits::DEFAULT).err().expect(work);
        assert!(fault.message.contains("too large") || fault.message.contains("expected"), "{work}: {fault}");
    }
}

#[test]
fn printing_many_long_texts_takes_only_the_memory_of_a_line() {
    let text = "local t = table.create(250, ('x'):rep(8e6)) return function() for _ = 1, 100 do print(table.unpack(t)) end end";
    let sandbox = Sandbox::new(Limits::DEFAULT).unwrap();
    let print: mlua::Function = sandbox.load(&Sources::of_main(text), []).unwrap();
    sandbox.begin_step();
    sandbox.run(|_| print.call::<()>(())).unwrap();
    let line = sandbox.poll_line().expect("the script printed a line");
    assert!(line.len() <= nowcast_script::LINE_BYTES_MAX + "…".len(), "{} bytes", line.len());
}

#[test]
fn a_tostring_that_prints_is_printed_too() {
    let text =
        "local t = setmetatable({}, { __tostring = function() print('inner') return 'outer' end }) print(t)";
    let sandbox = Sandbox::new(Limits::DEFAULT).unwrap();
    sandbox.load::<()>(&Sources::of_main(text), []).unwrap();
    assert_eq!(
        [sandbox.poll_line(), sandbox.poll_line()],
        ["inner", "outer"].map(|line| Some(line.to_owned()))
    );
}

#[test]
fn events_of_one_step_are_bounded_in_bytes() {
    let flood = "local text = ('x'):rep(16000) for _ = 1, 1000 do world.emit('flood', text) end";
    let (mut world, faults) = faults("", flood, 3);
    assert!(faults.iter().all(|fault| fault.message.contains("bytes of events in one step")), "{faults:?}");
    assert_eq!(faults.len(), 3);
    let kept = world.scene().definition().limits.event_bytes_max * 8;
    let events = std::iter::from_fn(|| world.poll_event()).count();
    assert!((100..=kept / 16_000).contains(&events), "{events} events wait");
}

#[test]
fn all_values_of_a_world_together_are_bounded_in_bytes() {
    for work in [
        "for _ = 1, 100 do Crate:spawn { label = ('x'):rep(16000) } end",
        "for _ = 1, 100 do Crate:spawn {}.private.text = ('x'):rep(16000) end",
        "for i = 1, 100 do world.after(1000, 'bell', ('x'):rep(16000)) end",
        "for i = 1, 100 do world.show(`place {world.tick()} {i}`, ('x'):rep(16000)) end",
        "local list = table.create(2000, true) for _ = 1, 100 do Crate:spawn { any = list } end",
    ] {
        let (world, faults) = faults("", work, 60);
        assert!(
            faults.iter().any(|fault| fault.message.contains("bytes of values in a world")),
            "{work}: {faults:?}"
        );
        let max = world.scene().definition().limits.kept_bytes_max;
        let kept = world.scene().kept_bytes();
        assert!(kept <= max && kept > max / 2, "{work}: {kept} bytes");
    }
}

#[test]
fn caught_errors_are_charged_to_the_script() {
    let text = "return function() local caught = 0 while true do pcall(error, {}) caught += 1 end end";
    let sandbox = Sandbox::new(Limits::DEFAULT).unwrap();
    let catch: mlua::Function = sandbox.load(&Sources::of_main(text), []).unwrap();
    sandbox.begin_step();
    assert_eq!(sandbox.run(|_| catch.call::<()>(())).unwrap_err().kind, FaultKind::Work);
}

#[test]
fn a_very_long_name_is_refused_before_it_is_copied() {
    for work in [
        "world.emit(('x'):rep(1e5), 1)",
        "world.show(('x'):rep(1e5), 1)",
        "world.tagged(('x'):rep(1e5))",
        "Crate:spawn {}:tag(('x'):rep(1e5))",
        "local x = Crate:spawn {}[('x'):rep(1e5)]",
    ] {
        let (_, faults) = faults("", work, 1);
        assert!(faults[0].message.contains("100000 bytes is too long"), "{work}: {faults:?}");
    }
}

#[test]
fn a_shape_that_contains_itself_is_refused() {
    let text = "local world = require('@nowcast/world')
        local shape = { shape = 'compound' } shape.parts = { shape }
        world.kind('knot', { body = shape })";
    let fault =
        Script::load(&Sources::of_main(text), Limits::DEFAULT).err().expect("the script does not end");
    assert!(fault.message.contains("a part cannot be a compound"), "{fault}");
}

#[test]
fn screen_places_that_begin_with_an_at_sign_are_refused() {
    let (world, faults) = faults("", "world.show('@past', { at = 1 })", 1);
    assert!(faults[0].message.contains("begins with `@`"), "{faults:?}");
    assert_eq!(world.scene().screens().count(), 0);
}

#[test]
fn a_metatable_that_becomes_weak_later_still_keeps_its_values() {
    let text = "
        local meta = {}
        local weak = setmetatable({}, meta)
        meta.__mode = 'v'
        for i = 1, 100 do weak[i] = {} end
        return function() return #weak, meta.__mode end";
    let sandbox = Sandbox::new(Limits::DEFAULT).unwrap();
    let count: mlua::Function = sandbox.load(&Sources::of_main(text), []).unwrap();
    for _ in 0..2_000 {
        sandbox.begin_step();
        sandbox.end_step();
    }
    let found = sandbox.run(|_| count.call::<(u64, Option<String>)>(())).unwrap();
    assert_eq!(found, (100, None));
}

#[test]
fn formatted_values_show_no_address() {
    let text = "local t, f = {}, print return { `{t}`, `{t} {f}`, ('%s'):format(t), string.format('%*', f), `{t}{f}{t}` }";
    let sandbox = Sandbox::new(Limits::DEFAULT).unwrap();
    let texts: Vec<String> = sandbox.load(&Sources::of_main(text), []).unwrap();
    assert_eq!(texts, ["table", "table function", "table", "function", "tablefunctiontable"]);
}
