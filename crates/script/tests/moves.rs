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
    local Block = world.kind('block', { body = { motion = 'fixed', shape = 'box', size = vector.one } })
    world.action('swing', {}, function() world.tagged('door')[1]:turn_to(math.pi / 2, { seconds = 1 }) end)
    world.action('build', {}, function()
        local function put(x, y, z, width, height, depth)
            Block:spawn { at = vector.create(x, y, z), scale = vector.create(width, height, depth) }
        end
        put(39, -0.4, 0, 12, 1, 12) -- the floor, which ends at x = 45
        put(40, 1, 0.5, 6, 2, 1) -- a wall
        put(36.5, 1.6, 4.5, 1.4, 0.2, 1.4) -- a ceiling too low to stand under
    end)
    world.action('tour', { options = 'any' }, function(_, a)
        world.tagged('door')[1]:follow({ vector.create(4, 0, 0), vector.create(4, 0, -4) }, a.options)
    end)
    world.action('maze', { count = 'u16' }, function(_, a)
        local places = {} for i = 1, a.count do places[i] = vector.create(i, 0, 0) end
        world.tagged('door')[1]:follow(places)
    end)
    world.action('odd', { place = 'any' }, function(_, a) world.tagged('door')[1]:follow({ a.place }) end)
    world.action('roll', {}, function() world.tagged('ball')[1]:follow { vector.zero } end)
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
fn a_door_follows_a_path_and_stops_at_its_end() {
    let case = "test.act(ada, 'tour', { options = { seconds = 2, face = true } }) test.wait(1)
        test.near(door.position, vector.create(4, 0, 0), 0.1)
        test.wait(0.6)
        test.near(door.position, vector.create(4, 0, -2.4), 0.1)
        test.near(door.yaw, 0, 0.01)
        test.wait(1)
        test.near(door.position, vector.create(4, 0, -4))
        test.near(door.yaw, 0, 0.01)
        test.equal(door.velocity, vector.zero)";
    assert_eq!(play(case), None);
}

#[test]
fn a_path_that_loops_leads_back_and_begins_again_until_another_move() {
    // 4 m, 4 m and the diagonal, at 4 m/s.
    let case = "local round = (8 + math.sqrt(32)) / 4
        test.act(ada, 'tour', { options = { speed = 4, loop = true } }) test.wait(round)
        test.near(door.position, vector.zero, 0.15)
        test.wait(1)
        test.near(door.position, vector.create(4, 0, 0), 0.15)
        test.wait(2 * round)
        test.near(door.position, vector.create(4, 0, 0), 0.3)
        test.near(vector.magnitude(door.velocity), 4, 0.7)
        test.act(ada, 'open') test.wait(3)
        test.near(door.position, vector.create(0, 3, 0))
        test.equal(door.velocity, vector.zero)";
    assert_eq!(play(case), None);
}

#[test]
fn a_path_out_of_bounds_is_refused_by_name() {
    for (case, problem) in [
        (
            "test.act(ada, 'tour', { options = { seconds = 2, speed = 2 } })",
            "`seconds` or a `speed`, not both",
        ),
        ("test.act(ada, 'tour', { options = { speed = 0 } })", "options.speed: expected a number above 0"),
        ("test.act(ada, 'tour', { options = { easing = 'inout' } })", "options.easing: expected \"in_out\""),
        ("test.act(ada, 'tour', { options = { laps = 2 } })", "options.laps is not a field"),
        ("test.act(ada, 'tour', { options = { seconds = 0 } })", "seconds"),
        ("test.act(ada, 'maze', { count = 0 })", "a list of 1 to 64 places, and this one has 0"),
        ("test.act(ada, 'maze', { count = 65 })", "a list of 1 to 64 places, and this one has 65"),
        ("test.act(ada, 'odd', { place = 3 })", "path[1]: expected vector.create(x, y, z)"),
        ("test.act(ada, 'roll')", "motion = \"kinematic\""),
    ] {
        let told = play(case).unwrap_or_default();
        assert!(told.contains(problem), "{case}: {told}");
    }
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

#[test]
fn a_door_turns_at_its_place() {
    let case = "test.act(ada, 'swing') test.wait(0.5)
        test.near(door.yaw, math.pi / 4, 0.1)
        test.wait(1)
        test.near(door.yaw, math.pi / 2)
        test.near(door.position, vector.zero)
        test.equal(door.spin, vector.zero)";
    assert_eq!(play(case), None);
}

#[test]
fn a_moving_shape_hits_what_a_ray_passes() {
    let case = "test.wait(0.1)
        local from, ahead = vector.create(-5, 0, 0.8), vector.create(1, 0, 0)
        test.equal(world.raycast(from, ahead, 20), nil)
        local hit = world.shapecast(from, { shape = 'sphere', radius = 0.5 }, ahead, 20)
        test.equal(hit.entity, door)
        test.near(hit.distance, 4.1, 0.01)
        test.equal(world.shapecast(from, { shape = 'sphere', radius = 0.5 }, ahead, 20, { motion = 'fixed' }), nil)
        test.equal(world.raycast(vector.create(-5, 0, 0), ahead, 20, { motion = 'kinematic' }).entity, door)";
    assert_eq!(play(case), None);
    let told = play("world.overlap(vector.zero, { shape = 'sphere', radius = 1 }, { motion = 'still' })");
    let told = told.expect("no body has this motion");
    assert!(told.contains("options.motion: expected \"dynamic\", \"fixed\""), "{told}");
}

#[test]
fn a_grid_knows_walls_edges_slopes_and_low_ceilings() {
    let case = "test.act(ada, 'build') test.wait(0.1)
        local grid = world.grid { at = vector.create(40, 2, 0), size = vector.create(12, 4, 12), cell = 1 }
        test.equal(grid.width, 12) test.equal(grid.depth, 12)
        test.equal(grid.at, vector.create(34, 0, -6))
        local function blocked(x, z) return grid.blocked[(x - 34) // 1 + 1 + ((z + 6) // 1) * 12] or false end
        test.equal(blocked(35.5, -4.5), false)
        test.equal(blocked(40.5, 0.5), true)
        test.equal(blocked(45.5, 0.5), true)
        test.equal(blocked(36.5, 4.5), true) test.equal(blocked(35.5, 4.5), true)
        test.equal(blocked(42.5, 4.5), false)
        local way = world.path(grid, vector.create(40.5, 0, -3.5), vector.create(40.5, 0, 3.2))
        test.equal(way[#way], vector.create(40.5, 0, 3.2))
        assert(#way >= 2, 'around the wall')
        test.equal(world.path(grid, vector.create(0, 0, 0), vector.create(40.5, 0, 3.2)), nil)";
    assert_eq!(play(case), None);
    let told = play("world.path({ width = 2, depth = 2, blocked = {} }, vector.zero, vector.zero)");
    assert!(told.expect("the grid has no place").contains("a grid of world.grid"));
    let told = play("world.grid { at = vector.zero, size = vector.create(900, 1, 900) }");
    assert!(told.expect("the area is too large").contains("take larger cells"));
}

#[test]
fn a_kind_ignores_the_layers_that_it_names() {
    let text = "local world = require('@nowcast/world')
        local Wall = world.kind('wall', { layer = 'walls', body = { motion = 'fixed', shape = 'box', size = vector.create(8, 4, 1) } })
        local Floor = world.kind('floor', { body = { motion = 'fixed', shape = 'box', size = vector.create(40, 1, 40) } })
        local Ghost = world.kind('ghost', { walker = {}, layer = 'ghosts', ignores = { 'walls' }, tags = { 'ghost' } })
        local Person = world.kind('person', { walker = {}, ignores = { 'ghosts', 'ghosts' }, tags = { 'person' } })
        world.on('start', function()
            Floor:spawn { at = vector.create(0, -0.5, 0) }
            Wall:spawn { at = vector.create(0, 2, -3) }
            for _, kind in { Ghost, Person } do
                kind:spawn({ at = vector.create(0, 0.95, 0) }):walk(vector.create(0, 0, -1))
            end
        end)";
    let test = "local test, world = require('@nowcast/test'), require('@nowcast/world')
        test.case('c', function()
            test.wait(3)
            assert(world.tagged('ghost')[1].position.z < -6)
            test.near(world.tagged('person')[1].position.z, -2.15, 0.02)
        end)";
    let sources = Sources::from_iter([("world.luau", text.to_owned()), ("tests/c.luau", test.to_owned())]);
    let scenario =
        Scenario::new(sources, "tests/c.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(scenario.run(0, 1).failure.map(|fault| fault.to_string()), None);
    let names: Vec<_> = (0..16).map(|at| format!("'l{at}'")).collect();
    let text = format!(
        "local world = require('@nowcast/world') world.kind('x', {{ ignores = {{ {} }} }})",
        names.join(", ")
    );
    let fault = Script::load(&Sources::of_main(&text), Limits::DEFAULT).err().expect("there are 16 layers");
    assert!(fault.message.contains("layer \"l15\" is one too many"), "{fault}");
}
