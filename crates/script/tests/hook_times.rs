//! Measurements of the functions of rules.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use nowcast_script::{Clock, Limits, Live, Sources};
use nowcast_world::{Command, PlayerId, Value};

const RULES: &str = r#"
local world = require("@nowcast/world")
local Ball = world.kind("ball", { body = { shape = "sphere", radius = 0.3 } })
local Floor = world.kind("floor", { body = { shape = "box", size = vector.create(9, 1, 9), motion = "fixed" } })
world.state { count = 0 }
world.timer("tick", function()
	world.state.count += 1
end)
world.on("start", function()
	Floor:spawn { at = vector.create(0, -0.5, 0) }
	for x = 1, 3 do
		Ball:spawn { at = vector.create(x, 0.5, 0) }
	end
	world.every(0.1, "tick")
end)
world.on("step", function()
	for number = 1, 10 do
		world.state.count += number % 2
	end
end)
Ball:on("step", function(ball)
	local list = {}
	for number = 1, 20 do
		table.insert(list, number)
	end
end)
Ball:on("contact", function(ball)
	world.state.count += 100
end)
world.command("double", {}, function(player)
	world.state.count *= 2
end)
"#;

/// A clock that advances by a microsecond with each reading.
fn clock() -> Clock {
    let reads = Cell::new(0);
    Rc::new(move || {
        reads.set(reads.get() + 1);
        Duration::from_micros(reads.get())
    })
}

fn live(limits: Limits, is_measured: bool) -> Live {
    let mut live = Live::new(Sources::of_main(RULES), 7, limits).expect("the rules load");
    live.measure_hooks(is_measured.then(clock));
    let join = Command::join(PlayerId(1), "Ada");
    live.apply(join).expect("the world has room");
    live
}

#[test]
fn each_function_is_measured_with_its_hook_name_kind_and_line() {
    let mut live = live(Limits::DEFAULT, true);
    let mut found = Vec::new();
    let mut total = Duration::ZERO;
    for step in 0..60 {
        if step == 30 {
            let name = "/double".to_owned();
            let arguments = Value::Map(Vec::new());
            live.apply(Command::Action { player: PlayerId(1), name, arguments }).expect("the action exists");
        }
        live.step();
        let (times, all) = live.take_hook_times();
        total += all;
        found.extend(times);
    }
    let kinds = &live.world().scene().definition().kinds;
    let one = |hook: &str, line: u32| {
        let of: Vec<_> = found.iter().filter(|time| time.hook == hook && time.line == line).collect();
        assert!(!of.is_empty(), "{hook} at line {line}: {found:?}");
        let kind = of[0].kind.map(|kind| kinds[usize::from(kind)].name.as_str());
        (kind, of[0].name.as_deref(), of.iter().map(|time| time.calls).sum::<u64>())
    };
    assert_eq!(one("step", 16), (None, None, 60));
    assert_eq!(one("step", 21), (Some("ball"), None, 60), "one call runs all entities of a kind");
    assert_eq!(one("timer", 6).1, Some("tick"));
    assert_eq!(one("contact", 27).0, Some("ball"));
    assert_eq!(one("action", 30), (None, Some("/double"), 1));
    assert!(found.iter().all(|time| time.file == "world.luau" && time.units > 0), "{found:?}");
    let lists: u64 = found.iter().filter(|time| time.line == 21).map(|time| time.bytes).sum();
    assert!(lists >= 60 * 3 * 20 * 16, "the lists of each step count: {lists} bytes");
    let sum: Duration = found.iter().map(|time| time.time).sum();
    assert!(sum > Duration::ZERO && sum < total, "the parts are less than the whole: {sum:?}, {total:?}");
    live.measure_hooks(None);
    live.step();
    assert_eq!(live.take_hook_times(), (Vec::new(), Duration::ZERO));
}

#[test]
fn a_measured_world_takes_the_same_course_at_every_budget() {
    for work_per_step_max in (10..400).step_by(13).chain([200_000]) {
        let limits = Limits { work_per_step_max, ..Limits::DEFAULT };
        let mut worlds = [live(limits, false), live(limits, true)];
        for step in 0..20 {
            let after = worlds.each_mut().map(|live| {
                live.step();
                let reports: Vec<_> = std::iter::from_fn(|| live.poll_report()).collect();
                (live.work(), live.stats(), format!("{reports:?}"), live.parts().0.snapshot())
            });
            assert_eq!(after[0].0, after[1].0, "work of step {step} with a budget of {work_per_step_max}");
            assert!(after[0] == after[1], "step {step} with a budget of {work_per_step_max}: {after:?}");
        }
    }
}
