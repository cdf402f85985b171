//! People in worlds of scripts.

use nowcast_script::{Limits, Live, Scenario, Sources};
use nowcast_world::{Command, Input, PlayerId, Value};

#[test]
fn a_teleported_person_keeps_its_yaw_until_the_next_input() {
    let text = "local world = require('@nowcast/world')
        local Person = world.kind('person', { walker = {} })
        world.on('join', function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0), yaw = -1.5 }) end)";
    let mut live = Live::new(Sources::of_main(text), 1, Limits::DEFAULT).expect("the script loads");
    let player = PlayerId(1);
    live.apply(Command::join(player, "Ada")).expect("the world accepts the command");
    for _ in 0..10 {
        live.step();
    }
    let yaw = |live: &Live| {
        let avatar = live.world().scene().player(player).and_then(|ada| ada.avatar).expect("Ada has a body");
        live.world().entity(avatar).expect("the avatar exists").pose.yaw()
    };
    assert!((yaw(&live) + 1.5).abs() < 0.01, "{}", yaw(&live));
    live.apply(Command::Input { player, input: Input::new(0.0, 0.0, 0.5, false, false).unwrap() }).unwrap();
    for _ in 0..10 {
        live.step();
    }
    assert!((yaw(&live) - 0.5).abs() < 0.01, "{}", yaw(&live));
}

#[test]
fn an_avatar_is_spawned_with_its_private_table() {
    let text = "local world = require('@nowcast/world')
        local Person = world.kind('person', { walker = {} })
        world.state { lives = 0 }
        world.on('join', function(player)
            world.state.lives = player:spawn_avatar(Person, { private = { lives = 3 } }).private.lives
        end)";
    let mut live = Live::new(Sources::of_main(text), 1, Limits::DEFAULT).expect("it loads");
    live.apply(Command::join(PlayerId(1), "Ada")).expect("there is room");
    live.step();
    assert_eq!(live.world().scene().state("lives").and_then(Value::as_f64), Some(3.0));
}

const LAUNCHED: &str = "
    local test, world = require('@nowcast/test'), require('@nowcast/world')
    test.case('a launched walker leaves the ground', function()
        local ada = test.join('Ada')
        test.wait(1)
        test.near(ada.avatar.position.y, 0.9, 0.01)
        ada.avatar:launch(vector.create(3, 6, 0))
        local highest = 0
        for _ = 1, 60 do
            test.step()
            highest = math.max(highest, ada.avatar.position.y)
        end
        test.near(highest, 0.9 + 36 / 2 / 9.81, 0.15)
        assert(ada.avatar.position.x > 0.3, tostring(ada.avatar.position))
        test.wait(1)
        test.near(ada.avatar.position.y, 0.9, 0.01)
    end)
    test.case('only walkers are launched', function()
        local is_done, why = pcall(function() world.tagged('floor')[1]:launch(vector.one) end)
        assert(not is_done and string.find(tostring(why), 'no body that can do this'), tostring(why))
    end)
    test.case('rules know the roles of a player, which are not tags', function()
        local ada = test.join('Ada', { 'builder', 'editor', 'builder' })
        test.equal(ada.roles, { 'builder', 'editor' })
        test.equal({ ada:has_role('builder'), ada:has_role('keeper') }, { true, false })
        test.equal(ada.tags, {})
        ada:tag('red')
        test.equal(ada.tags, { 'red' })
        test.equal({ ada:has_tag('@builder'), #world.players('@builder') }, { false, 0 })
        test.equal(world.state.joined, 'builder editor')
        assert(not pcall(function() ada:tag('@keeper') end), 'rules cannot give roles')
        test.equal(test.join('Bo').roles, {})
    end)";

#[test]
fn walkers_are_launched_and_players_have_roles() {
    let text = "local world = require('@nowcast/world')
        local Person = world.kind('person', { walker = {} })
        local Floor = world.kind('floor', { tags = { 'floor' }, body = { motion = 'fixed', shape = 'box', size = vector.create(60, 1, 60) } })
        world.on('start', function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
        world.state { joined = '' }
        world.on('join', function(player)
            world.state.joined = table.concat(player.roles, ' ')
            player:spawn_avatar(Person, { at = vector.create(0, 0.9, 0) })
        end)";
    let sources = Sources::from_iter([("world.luau", text), ("tests/people.luau", LAUNCHED)]);
    let scenario = Scenario::new(sources, "tests/people.luau", Limits::DEFAULT).expect("it loads");
    assert_eq!(scenario.cases().len(), 3);
    for (case, name) in scenario.cases().iter().enumerate() {
        let failure = scenario.run(case, 1).failure.map(|fault| fault.to_string());
        assert_eq!(failure, None, "{name}");
    }
}

#[test]
fn players_choose_the_outfit_and_emote_of_an_avatar_that_allows_it() {
    let text = "local world = require('@nowcast/world')
        local Person = world.kind('person', { walker = {}, appearance = true, attributes = { lives = 'u8' } })
        world.on('join', function(player) player:spawn_avatar(Person, {}) end)";
    let mut live = Live::new(Sources::of_main(text), 1, Limits::DEFAULT).expect("it loads");
    let player = PlayerId(1);
    live.apply(Command::join(player, "Ada")).expect("there is room");
    live.step();
    let entity = live.world().scene().player(player).and_then(|ada| ada.avatar).expect("Ada has a body");
    let set = |name: &str, value: i64| Command::Set {
        player,
        entity,
        attributes: Value::Map(vec![(name.into(), Value::Int(value))]),
    };
    for command in [set("outfit", 0x321), set("emote", 7), set("emote", 70_000), set("lives", 9)] {
        live.apply(command).unwrap();
        live.step();
    }
    let scene = live.world().scene();
    for (name, value) in [("outfit", 0x321), ("emote", 7), ("lives", 0)] {
        assert_eq!(scene.attribute(entity, name), Some(&Value::Int(value)), "{name}");
    }
    for (fields, cause) in [
        ("appearance = true", "`appearance` needs a `walker`"),
        ("walker = {}, appearance = true, attributes = { emote = 'text' }", "`appearance` adds `emote`"),
    ] {
        let text = format!("require('@nowcast/world').kind('person', {{ {fields} }})");
        let refused = Live::new(Sources::of_main(&text), 1, Limits::DEFAULT).err().expect("it does not load");
        assert!(refused.to_string().contains(cause), "{refused}");
    }
}

/// Plays one case in a world with adjustable walkers, a cart and a drone.
fn play(case: &str) -> Option<String> {
    let world = "
        local world = require('@nowcast/world')
        local Floor = world.kind('floor', { body = { motion = 'fixed', shape = 'box', size = vector.create(200, 1, 200) } })
        local Person = world.kind('person', { walker = { adjustable = true, pitch = true } })
        local Cart = world.kind('cart', { tags = { 'cart' }, body = { shape = 'box', size = vector.create(2, 0.6, 3), mass = 100, friction = 0 } })
        local Drone = world.kind('drone', { tags = { 'drone' }, body = { motion = 'kinematic', shape = 'sphere', radius = 0.3 } })
        world.on('start', function()
            Floor:spawn { at = vector.create(0, -0.5, 0) }
            Cart:spawn { at = vector.create(4, 0.31, 0) }
            Drone:spawn { at = vector.create(0, 3, 5) }
        end)
        Drone:on('step', function(drone)
            local pilot = drone.player
            drone.velocity = if pilot then vector.create(pilot.input.right, 0, -pilot.input.forward) else vector.zero
        end)
        Cart:on('step', function(cart)
            local driver = cart.player
            if driver then cart.velocity = vector.create(driver.input.right * 3, 0, 0) end
        end)
        world.on('join', function(player) player:spawn_avatar(Person, { at = vector.create(player.id, 1, 0) }) end)
        world.action('control', { what = 'entity', sits = 'bool' }, function(player, a)
            player:control(a.what, { seat = if a.sits then vector.create(0, 0.8, 0) else nil })
        end)
        world.action('respawn', {}, function(player) player:spawn_avatar(Person, { at = vector.create(8, 1, 8) }) end)";
    crate::one_case::play(world, &format!("local bo = test.join('Bo') {case}"))
}

#[test]
fn speed_jump_and_frozen_change_one_walker() {
    let case = "test.wait(1)
        assert(ada.is_on_ground and ada.avatar.is_on_ground)
        ada.avatar.speed, ada.avatar.jump = 2, 0
        test.input(ada, { forward = 1 })
        test.input(bo, { forward = 1, jump = true })
        test.wait(0.5)
        test.near(vector.magnitude(ada.velocity), 6.4, 0.05)
        assert(not bo.is_on_ground and bo.position.y > 1.2)
        test.input(bo, { forward = 1 })
        test.input(ada, { forward = 1, jump = true })
        test.wait(1)
        assert(ada.is_on_ground)
        ada.avatar.frozen = true
        test.step()
        local at = ada.position
        test.wait(1)
        test.equal(ada.position, at)
        test.equal(ada.velocity, vector.zero)
        ada.avatar.frozen = false
        ada.avatar.speed = 0.5
        test.wait(1)
        test.near(vector.magnitude(ada.velocity), 1.6, 0.05)";
    assert_eq!(play(case), None);
}

#[test]
fn new_avatar_of_a_player_who_controls_a_drone_keeps_the_drone_and_removes_the_body() {
    let case = "local drone, body_kind, body = world.tagged('drone')[1], ada.avatar.kind, ada.avatar
        test.act(ada, 'control', { what = drone, sits = false })
        test.step(2)
        test.equal(ada.avatar, drone)
        test.act(ada, 'respawn', {})
        test.step(2)
        assert(drone.alive and drone.player == nil, 'the drone stays')
        assert(not body.alive, 'the body is removed')
        assert(ada.avatar.alive and ada.avatar ~= drone and ada.avatar.kind == body_kind)
        local second = ada.avatar
        test.act(ada, 'respawn', {})
        test.step(2)
        assert(not second.alive and ada.avatar ~= second)";
    assert_eq!(play(case), None);
}

#[test]
fn rules_read_where_a_player_looks() {
    let case = "test.input(ada, { yaw = 1.5 })
        test.set(ada, ada.avatar, { pitch = 0.5 })
        test.step(2)
        local look = ada.look
        test.near(look.yaw, 1.5, 0.001)
        test.near(look.pitch, 0.5, 0.01)
        test.near(look.direction, vector.create(-math.sin(1.5) * math.cos(0.5), math.sin(0.5), -math.cos(1.5) * math.cos(0.5)), 0.02)
        test.near(ada.avatar.look.pitch, 0.5, 0.01)
        test.equal(bo.look.pitch, 0)
        test.near(world.tagged('drone')[1].look.direction, vector.create(0, 0, -1), 0.01)";
    assert_eq!(play(case), None);
}

#[test]
fn a_drone_is_controlled_while_the_body_stands_still() {
    let case = "local drone, body = world.tagged('drone')[1], ada.avatar
        test.input(ada, { forward = 1 })
        test.act(ada, 'control', { what = drone, sits = false })
        test.equal(ada.avatar, drone)
        test.wait(0.5)
        local at, start = body.position, drone.position
        test.wait(1)
        test.near(drone.position, start + vector.create(0, 0, -1), 0.05)
        test.near(body.position, at, 0.01)
        test.act(bo, 'control', { what = drone, sits = false })
        test.equal(bo.avatar.kind.name, 'person')";
    let told = play(case).unwrap_or_default();
    assert!(told.contains("is the avatar of another player"), "{told}");
    let case = "local drone, body = world.tagged('drone')[1], ada.avatar
        test.act(ada, 'control', { what = drone, sits = false })
        test.act(ada, 'control', { what = body, sits = false })
        test.equal(ada.avatar, body)
        test.act(bo, 'control', { what = drone, sits = false })
        test.equal(bo.avatar, drone)
        local left = bo
        test.leave(bo)
        assert(drone.alive, 'the drone stays')
        test.equal(#world.players(), 1)
        test.act(ada, 'control', { what = drone, sits = false })
        test.leave(ada)
        assert(drone.alive and not body.alive, 'the body goes with its player')";
    assert_eq!(play(case), None);
}

#[test]
fn a_seated_person_rides_and_gets_out_again() {
    let case = "local cart, body = world.tagged('cart')[1], ada.avatar
        test.act(ada, 'control', { what = cart, sits = true })
        test.equal(body.parent, cart)
        test.input(ada, { right = 1 })
        test.wait(2)
        assert(cart.position.x > 8, tostring(cart.position))
        test.near(body.position - cart.position, vector.create(0, 0.8, 0), 0.05)
        test.input(ada, {})
        test.act(ada, 'control', { what = body, sits = false })
        test.equal(body.parent, nil)
        test.input(ada, { right = -1 })
        test.wait(1.5)
        assert(body.position.x < cart.position.x - 2, tostring(body.position))
        test.near(body.position.y, 0.9, 0.02)";
    assert_eq!(play(case), None);
    let case = "local cart, body = world.tagged('cart')[1], ada.avatar
        test.act(ada, 'control', { what = cart, sits = true })
        cart:despawn()
        test.step(2)
        test.equal(ada.avatar, body)
        test.equal(body.parent, nil)";
    assert_eq!(play(case), None);
}
