//! Repeating timers, planned moves and kicked players.

use nowcast_script::{Limits, Scenario, Script, Sources};

const RULES: &str = "
    local world = require('@nowcast/world')
    world.state { beats = 0 }
    local Door = world.kind('door', { tags = { 'door' }, body = { motion = 'kinematic', shape = 'box', size = vector.one } })
    local Ball = world.kind('ball', { tags = { 'ball' }, body = { shape = 'sphere', radius = 0.5 } })
    world.timer('beat', function(data) world.state.beats += data.by end)
    world.on('start', function()
        Door:spawn {}
        Ball:spawn { at = vector.create(9, 9, 9) }
        world.state.timer = world.every(0.5, 'beat', { by = 2 })
    end)
    world.action('open', {}, function()
        world.tagged('door')[1]:move_to(vector.create(0, 3, 0), { seconds = 2, easing = 'in_out', turn = math.pi / 2 })
    end)
    world.action('halt', {}, function() world.tagged('door')[1].velocity = vector.zero end)
    world.action('mute', {}, function() assert(world.cancel(world.state.timer)) end)
    world.action('out', {}, function(player) player:kick('enough') player:kick() end)
    world.on('leave', function(player) world.emit('left', { name = player.name }) end)
    world.action('throw', {}, function() world.tagged('ball')[1]:move_to(vector.zero) end)";

fn play(case: &str) -> Option<String> {
    let test = format!(
        "local test, world = require('@nowcast/test'), require('@nowcast/world')
        test.case('c', function()
            local ada = test.join('Ada')
            local door = world.tagged('door')[1]
            {case}
        end)"
    );
    let sources = Sources::from_iter([("world.luau", RULES.to_owned()), ("tests/c.luau", test)]);
    let scenario =
        Scenario::new(sources, "tests/c.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    scenario.run(0, 1).failure.map(|fault| fault.to_string())
}

#[test]
fn a_repeating_timer_is_called_until_it_is_cancelled() {
    let case = "test.wait(1.6) test.equal(world.state.beats, 6)
        test.act(ada, 'mute') test.wait(2) test.equal(world.state.beats, 6)";
    assert_eq!(play(case), None);
}

#[test]
fn a_repeating_timer_needs_a_declared_name() {
    let text = "local world = require('@nowcast/world') world.every(1, 'beat')";
    let fault = Script::load(&Sources::of_main(text), Limits::DEFAULT).err().expect("no timer is declared");
    assert!(fault.message.contains("no timer is called \"beat\""), "{fault}");
    assert_eq!(fault.line, Some(1));
}

#[test]
fn a_door_moves_turns_and_stops_by_its_plan() {
    let case = "test.act(ada, 'open') test.wait(0.95)
        test.near(door.position.y, 1.5, 0.1)
        test.wait(2)
        test.near(door.position, vector.create(0, 3, 0))
        test.near(door.yaw, math.pi / 2)
        test.equal(door.velocity, vector.zero)";
    assert_eq!(play(case), None);
}

#[test]
fn setting_the_velocity_ends_a_planned_move() {
    let case = "test.act(ada, 'open') test.wait(1) test.act(ada, 'halt') local y = door.position.y
        test.wait(2) test.near(door.position.y, y)";
    assert_eq!(play(case), None);
}

#[test]
fn a_dynamic_body_cannot_follow_a_planned_move() {
    let told = play("test.act(ada, 'throw')").expect("a ball is dynamic");
    assert!(told.contains("motion = \"kinematic\""), "{told}");
}

#[test]
fn a_kicked_bot_leaves_once() {
    let case = "test.act(ada, 'out') test.step(2)
        test.equal(#world.players(), 0)
        test.equal(test.events('left')[1].payload, { name = 'Ada' })
        test.equal(#test.events('left'), 1)
        test.equal(test.refusals(), {})";
    assert_eq!(play(case), None);
}
