//! The newest writers of watched values.

use nowcast_script::{Limits, Live, Sources, WATCHED_STEPS, Watched, Writer};
use nowcast_world::{Command, Edit, EntityId, PlayerId, Value};

const RULES: &str = r#"
local world = require("@nowcast/world")
local tower = require("./tower")
world.state { score = 0, wave = 0, doubled = 1, idle = 0, order = "" }
world.on("start", function()
	tower.Tower:spawn { at = vector.zero }
	world.every(0.1, "wave")
end)
world.action("build", {}, function(player)
	tower.grow(1)
	world.state.score += 1
end)
world.timer("wave", function()
	world.state.wave += 1
end)
world.on("join", function(player)
	tower.first().private.visitor = player.name
end)
world.on("join", function()
	world.state.score = 10
end)
world.on("join", function() world.state.fresh = { zoe = 1, kim = 2, bo = 3, ann = 4, max = 5 } end)
world.on("join", function() for name in world.state.fresh do world.state.order ..= name end end)
world.command("double", {}, function()
	world.state.doubled *= 2
end)
world.action("drop", {}, function()
	world.state.idle = nil
end)
world.action("touch", {}, function()
	local _ = tower.first().private.visitor
	tower.first().height = tower.first().height
end)
world.action("fill", {}, function()
	for number = 1, 1100 do
		world.state[`key_{number}`] = number
	end
end)
"#;

const TOWER: &str = r#"
local world = require("@nowcast/world")
local tower = {}
tower.Tower = world.kind("tower", {
	attributes = { height = "u32", sign = "text" },
	owner = { by = "anyone", attributes = { "sign" } },
})
function tower.first()
	return tower.Tower:all()[1]
end
function tower.grow(by)
	tower.first().height += by
end
return tower
"#;

const ADA: PlayerId = PlayerId(1);
const TOWER_ID: EntityId = EntityId(1);
const TOWER_VALUES: Watched = Watched::Entity(TOWER_ID);

/// The world after its first step, with everything watched.
fn watched() -> Live {
    let mut live = unwatched();
    assert_eq!(live.writers(Watched::State), []);
    assert_eq!(live.writers(TOWER_VALUES), []);
    live.step();
    live
}

fn unwatched() -> Live {
    let sources = Sources::from_iter([("world.luau", RULES), ("tower.luau", TOWER)]);
    Live::new(sources, 7, Limits::DEFAULT).expect("the rules load")
}

fn act(live: &mut Live, name: &str) {
    let (name, arguments) = (name.to_owned(), Value::Map(Vec::new()));
    live.apply(Command::Action { player: ADA, name, arguments }).expect("the world has room");
    live.step();
}

fn join(live: &mut Live) {
    live.apply(Command::join(ADA, "Ada")).expect("the world has room");
    live.step();
}

fn edit(live: &mut Live, edit: Edit) {
    live.apply(Command::Edit { player: Edit::OUTSIDE, edit }).expect("the world has room");
    live.parts().0.apply_waiting();
}

/// The writer of a value, as one line without its tick.
fn writer(live: &Live, watched: Watched, name: Option<&str>) -> Option<String> {
    let writers = live.writers(watched);
    let (_, writer) = writers.into_iter().find(|(found, _)| found.as_deref() == name)?;
    let Writer { hook, name, player, place, .. } = writer;
    let place = place.map_or_else(String::new, |(file, line)| format!("{file}:{line} "));
    let name = name.map_or_else(String::new, |name| format!(" {name}"));
    Some(format!("{place}{hook}{name}{}", player.map_or_else(String::new, |player| format!(" by {player}"))))
}

fn of_state(live: &Live, key: &str) -> Option<String> {
    writer(live, Watched::State, Some(key))
}

fn of_tower(live: &Live, name: &str) -> Option<String> {
    writer(live, TOWER_VALUES, Some(name))
}

fn newest_tick(live: &Live) -> Option<u64> {
    live.writers(TOWER_VALUES).iter().map(|(_, writer)| writer.tick).max()
}

#[test]
fn an_attribute_has_the_line_of_a_required_module_and_the_action_that_set_it() {
    let mut live = watched();
    join(&mut live);
    assert_eq!(of_tower(&live, "height"), None, "nothing wrote it since the watch began");
    act(&mut live, "build");
    assert_eq!(of_tower(&live, "height").as_deref(), Some("tower.luau:12 action build by Ada"));
    let tick = newest_tick(&live);
    assert_eq!(tick, Some(live.world().tick()));
    assert_eq!(tick, live.world().entity(TOWER_ID).map(|tower| tower.changed_tick));
    act(&mut live, "touch");
    assert_eq!(newest_tick(&live), tick, "no value changed");
}

#[test]
fn a_key_of_the_state_has_the_function_that_changed_it() {
    let mut live = watched();
    join(&mut live);
    assert_eq!(
        of_state(&live, "score").as_deref(),
        Some("world.luau:19 join by Ada"),
        "the second of four functions"
    );
    act(&mut live, "build");
    assert_eq!(of_state(&live, "score").as_deref(), Some("world.luau:9 action build by Ada"));
    act(&mut live, "/double");
    assert_eq!(of_state(&live, "doubled").as_deref(), Some("world.luau:24 action /double by Ada"));
    (0..12).for_each(|_| live.step());
    assert_eq!(of_state(&live, "wave").as_deref(), Some("world.luau:13 timer wave"));
    assert_eq!(of_state(&live, "idle"), None, "nothing wrote it since the watch began");
    act(&mut live, "drop");
    assert_eq!(
        of_state(&live, "idle").as_deref(),
        Some("world.luau:27 action drop by Ada"),
        "the key was removed"
    );
}

#[test]
fn a_private_value_has_the_function_that_changed_it() {
    let mut live = watched();
    join(&mut live);
    assert_eq!(writer(&live, TOWER_VALUES, None).as_deref(), Some("world.luau:16 join by Ada"));
    let earlier = live.writers(TOWER_VALUES);
    act(&mut live, "touch");
    assert_eq!(live.writers(TOWER_VALUES), earlier, "the value was only read");
}

#[test]
fn edits_and_owners_are_writers_without_a_line() {
    let mut live = watched();
    join(&mut live);
    act(&mut live, "build");
    edit(&mut live, Edit::Attribute(TOWER_ID, "height".into(), Value::Int(9)));
    edit(&mut live, Edit::Private(TOWER_ID, Value::Map(Vec::new())));
    edit(&mut live, Edit::State("score".into(), Value::Int(5)));
    assert_eq!(of_tower(&live, "height").as_deref(), Some("edit"));
    assert_eq!(writer(&live, TOWER_VALUES, None).as_deref(), Some("edit"));
    assert_eq!(of_state(&live, "score").as_deref(), Some("edit"));
    live.apply(Command::Own { player: ADA, entity: TOWER_ID, number: 1 }).expect("the world has room");
    let attributes = Value::Map(vec![("sign".into(), "Babel".into())]);
    live.apply(Command::Set { player: ADA, entity: TOWER_ID, attributes }).expect("the world has room");
    live.step();
    assert_eq!(of_tower(&live, "sign").as_deref(), Some("owner by Ada"));
}

#[test]
fn a_watch_ends_after_its_steps_and_forgets_its_writers() {
    let mut live = watched();
    join(&mut live);
    act(&mut live, "build");
    (0..WATCHED_STEPS / 2).for_each(|_| live.step());
    assert!(of_tower(&live, "height").is_some(), "the question prolongs the watch");
    (0..=WATCHED_STEPS).for_each(|_| live.step());
    assert_eq!(of_tower(&live, "height"), None);
    act(&mut live, "build");
    assert!(of_tower(&live, "height").is_some(), "the question began a new watch");
}

#[test]
fn a_watch_continues_with_new_rules_and_drops_the_writers_of_the_old_ones() {
    let mut live = watched();
    join(&mut live);
    act(&mut live, "build");
    let moved = format!("\n\n{TOWER}");
    let sources = Sources::from_iter([("world.luau", RULES), ("tower.luau", moved.as_str())]);
    live.reload(sources).expect("the rules load");
    assert_eq!(of_tower(&live, "height"), None);
    act(&mut live, "build");
    assert_eq!(of_tower(&live, "height").as_deref(), Some("tower.luau:14 action build by Ada"));
}

#[test]
fn a_room_keeps_a_limited_number_of_watches_and_writers() {
    let mut live = watched();
    join(&mut live);
    act(&mut live, "fill");
    assert_eq!(live.writers(Watched::State).len(), 1_024);
    act(&mut live, "build");
    let other = |number: u32| Watched::Entity(EntityId(TOWER_ID.0 + number));
    assert!(of_tower(&live, "height").is_some());
    live.step();
    (1..63).for_each(|number| drop(live.writers(other(number))));
    live.step();
    assert!(of_tower(&live, "height").is_some(), "64 are watched, with the state");
    live.step();
    (1..65).for_each(|number| drop(live.writers(other(number))));
    assert_eq!(of_tower(&live, "height"), None, "the watch that would end first gave way");
}

#[test]
fn a_watched_world_takes_the_same_course_at_every_budget() {
    let mut found = 0;
    for work_per_step_max in (10..400).step_by(13).chain([200_000]) {
        let sources = || Sources::from_iter([("world.luau", RULES), ("tower.luau", TOWER)]);
        let limits = Limits { work_per_step_max, ..Limits::DEFAULT };
        let mut worlds = [(); 2].map(|()| Live::new(sources(), 7, limits).expect("the rules load"));
        for step in 0..20 {
            let after = worlds.each_mut().map(|live| {
                match step {
                    2 => live.apply(Command::join(ADA, "Ada")).expect("the world has room"),
                    3 => act(live, "build"),
                    4 => act(live, "/double"),
                    _ => {}
                }
                live.step();
                let reports: Vec<_> = std::iter::from_fn(|| live.poll_report()).collect();
                (live.work(), live.stats(), format!("{reports:?}"), live.parts().0.snapshot())
            });
            assert_eq!(after[0].0, after[1].0, "work of step {step} with a budget of {work_per_step_max}");
            assert!(after[0] == after[1], "step {step} with a budget of {work_per_step_max}");
            found += worlds[1].writers(Watched::State).len() + worlds[1].writers(TOWER_VALUES).len();
        }
    }
    assert!(found > 0, "the watched worlds found writers");
}
