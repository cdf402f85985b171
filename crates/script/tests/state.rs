//! Saved data: the world's state, and the private data of entities and players.

use nowcast_script::{Console, FaultKind, Limits, Script, Sources};
use nowcast_world::{Command, Event, PlayerId, Value, World};

use crate::one_case;

#[test]
fn ends_and_default_of_a_range_are_as_exact_as_its_numbers() {
    for [min, max, default] in [
        [0.0, 1.0, 0.5],
        [0.0, 1.0, 0.3],
        [-1.0, 1.0, 0.1],
        [0.1, 0.7, 0.2],
        [-100.0, 250.0, 37.5],
        [0.0, 3.0, 1.1],
    ] {
        let size = if default == 0.5 { 0.0 } else { 4.0 * f64::max(f64::abs(min), f64::abs(max)) };
        let world = format!(
            "local world = require('@nowcast/world')
            local Note = world.kind('note', {{ tags = {{ 'note' }}, attributes = {{ n = {{ 'f32', min = {min}, max = {max}, default = {default} }} }} }})
            world.on('start', function() Note:spawn {{}} end)
            world.action('set', {{ n = 'f64' }}, function(_, set) Note:all()[1].n = set.n end, {{}})"
        );
        let case = format!(
            "for _, n in {{ {default}, {min}, {max}, {default} }} do
                test.act(ada, 'set', {{ n = n }})
                test.near(world.tagged('note')[1].n, n, 1e-16 * {size})
            end"
        );
        assert_eq!(one_case::play(&world, &case), None, "{min} {max} {default}");
    }
}

#[test]
fn a_range_of_an_integer_has_whole_numbers_and_may_be_optional() {
    let world = "local world = require('@nowcast/world')
        local Note = world.kind('note', { tags = { 'note' }, attributes = {
            n = { 'u16', min = 0, max = 100 }, maybe = { 'u8?', min = 1, max = 10 }, share = { 'f32?', min = 0, max = 1 } } })
        world.on('start', function() Note:spawn {} end)
        world.action('set', { n = 'f64' }, function(_, set)
            local note = Note:all()[1]
            note.n, note.maybe, note.share = set.n, set.n, set.n
        end, {})";
    let case = "local note = world.tagged('note')[1]
        test.equal(note.maybe, nil) test.equal(note.share, nil)
        for n = 1, 10 do
            test.act(ada, 'set', { n = n + 0.2 })
            test.equal(note.n, n) test.equal(note.maybe, n) test.equal(note.share, 1)
        end";
    assert_eq!(one_case::play(world, case), None);
}

#[test]
fn attribute_of_an_entity_becomes_nil_when_the_entity_is_removed() {
    let world = "local world = require('@nowcast/world')
        local Lamp = world.kind('lamp', {})
        local Person = world.kind('person', { walker = {}, attributes = { lamp = 'entity?', number = 'u32?' } })
        world.on('join', function(player)
            local lamp = Lamp:spawn {}
            local person = player:spawn_avatar(Person, { at = vector.create(0, 1, 0) })
            person.lamp, person.number = lamp, lamp.id
        end)
        world.action('break', {}, function(player) player.avatar.lamp:despawn() end, {})";
    let case = "assert(ada.avatar.lamp.alive) test.act(ada, 'break')
        test.equal(ada.avatar.lamp, nil) assert(ada.avatar.number ~= nil, 'a plain number stays')";
    assert_eq!(one_case::play(world, case), None);
}

fn world_of(text: &str) -> (World, Console) {
    let text = format!("local world = require(\"@nowcast/world\")\n{text}");
    let script =
        Script::load(&Sources::of_main(&text), Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    let (definition, console) = (script.definition(), script.console());
    (World::new(definition, 7, Box::new(script)).unwrap(), console)
}

fn join(world: &mut World, player: u32) {
    world.apply(Command::join(PlayerId(player), format!("p{player}"))).unwrap();
}

fn say(world: &mut World, text: &str) {
    world.apply(Command::Message { player: PlayerId(1), text: text.into() }).unwrap();
    world.step();
}

/// Makes a world in which a chat message selects one of these lines.
fn with_lines(setup: &str, lines: &[&str]) -> (World, Console) {
    let mut text = format!("{setup}\nlocal lines = {{\n");
    for line in lines {
        text.push_str(&format!("function() {line} end,\n"));
    }
    text.push_str("}\nworld.on(\"message\", function(player, text) lines[tonumber(text)]() end)");
    let (mut world, console) = world_of(&text);
    join(&mut world, 1);
    world.step();
    (world, console)
}

#[test]
fn saved_values_come_back_unchanged() {
    let setup = "
        local Box = world.kind('box', { body = { shape = 'box', size = vector.one } })
        world.state { score = { 0, 0 }, names = { ada = 1 } }
        world.on('start', function() world.state.first = Box:spawn { at = vector.create(0, 5, 0) } end)";
    let check = "
        local s = world.state
        assert(s.score[1] == 1.5 and s.score[2] == 0 and s.names.ada == 'x' and s.flag == false)
        assert(s.place == vector.create(1, 2, 3) and s.first.position.y < 5 and s.who.name == 'p1')
        assert(s.empty ~= nil and next(s.empty) == nil)
        world.emit('checked', {})";
    let change = "
        local s = world.state
        s.score[1] = 1.5 s.names.ada = 'x' s.flag = false s.place = vector.create(1, 2, 3)
        s.who = world.players()[1] s.empty = {}";
    let (mut world, console) = with_lines(setup, &[change, check]);
    say(&mut world, "1");
    say(&mut world, "2");
    assert_eq!(console.poll_fault(), None);
    let bytes = world.snapshot();
    let (other, _) = with_lines(setup, &[change, check]);
    drop(other);
    let text = format!(
        "local world = require(\"@nowcast/world\")\n{setup}\nworld.on('message', function() {check} end)"
    );
    let script = Script::load(&Sources::of_main(&text), Limits::DEFAULT).unwrap();
    let (definition, console) = (script.definition(), script.console());
    let mut restored = World::restore(definition, Box::new(script), &bytes).unwrap();
    say(&mut restored, "check");
    assert_eq!(console.poll_fault(), None);
    let told = std::iter::from_fn(|| restored.poll_event())
        .any(|event| matches!(event, Event::Emitted { name, .. } if name == "checked"));
    assert!(told);
}

#[test]
fn values_that_cannot_be_saved_are_reported_by_path_and_reset() {
    let cases = [
        ("world.state.f = print", "world.state.f is a function"),
        (
            "world.state.kept.deep = { ok = 1, bad = { coroutine.create(print) } }",
            "world.state.kept.deep.bad[1] is a thread",
        ),
        ("world.state.kept[{}] = 1", "world.state.kept has a table as a key"),
        ("local t = {} t.t = t world.state.kept = t", "too deep"),
        ("world.state.kept = { 1, 2, name = 'x' }", "is a list and also has names"),
        ("world.state.kept = { [1] = 1, [3] = 3 }", "after a gap"),
        ("world.state[1] = 2", "world.state has a number as a key"),
        ("world.state.kept = ('x'):rep(2e6)", "world.state.kept"),
        ("world.players()[1].private.f = print", "private.f is a function"),
    ];
    let lines: Vec<_> =
        cases.iter().map(|(line, _)| *line).chain(["assert(world.state.kept.here == 1)"]).collect();
    let (mut world, console) = with_lines("world.state { kept = { here = 1 } }", &lines);
    for (index, (line, words)) in cases.iter().enumerate() {
        say(&mut world, &(index + 1).to_string());
        let fault = console.poll_fault().unwrap_or_else(|| panic!("{line}: no fault"));
        assert_eq!(fault.kind, FaultKind::State, "{line}: {fault}");
        assert!(fault.message.contains(words), "{line}: {fault}");
        assert_eq!(console.poll_fault(), None, "{line}");
        say(&mut world, &lines.len().to_string());
        assert_eq!(console.poll_fault(), None, "{line}");
    }
}

#[test]
fn a_saved_table_is_visited_in_the_order_of_its_keys() {
    let setup = "world.state { names = {} }";
    let lines = [
        "for _, name in { 'zoe', 'ada', 'mia', 'bo' } do world.state.names[name] = #name end",
        "local seen = {} for name in world.state.names do table.insert(seen, name) end
         for name in pairs(world.state.names) do table.insert(seen, name) end
         world.show('seen', table.concat(seen, ' '))",
    ];
    let (mut world, console) = with_lines(setup, &lines);
    say(&mut world, "1");
    say(&mut world, "2");
    assert_eq!(console.poll_fault(), None);
    let seen = world.scene().screens().next().map(|(_, _, value)| value.clone());
    assert_eq!(seen, Some(Value::Text("ada bo mia zoe ada bo mia zoe".into())));
}

#[test]
fn a_world_restored_at_any_step_stays_equal() {
    let text = "
        local Crate = world.kind('crate', {
            body = { shape = 'box', size = vector.one },
            attributes = { heat = { 'f32', min = 0, max = 1, step = 0.01 }, friend = 'entity?' },
        })
        local Floor = world.kind('floor', { body = { motion = 'fixed', shape = 'box', size = vector.create(50, 1, 50) } })
        world.state { hits = 0, log = {} }
        world.on('start', function()
            Floor:spawn { at = vector.create(0, -1, 0) }
            for n = 1, 10 do Crate:spawn { at = vector.create(math.random(-3, 3), 2 * n, 0), private = { n = n } } end
            world.after(0.1, 'drop', { left = 20 })
        end)
        world.timer('drop', function(data)
            local crate = Crate:spawn { at = vector.create(math.random(), 12, math.random()) }
            crate.friend = Crate:all()[math.random(Crate:count())]
            table.insert(world.state.log, crate)
            if data.left > 0 then world.after(0.1, 'drop', { left = data.left - 1 }) end
        end)
        Crate:on('contact', function(crate, other, impulse)
            world.state.hits += 1
            crate.private.hits = (crate.private.hits or 0) + 1
            crate.heat = math.min(1, crate.heat + impulse / 100)
        end)
        Crate:on('step', function(crate, dt)
            crate.heat = math.max(0, crate.heat - dt / 10)
            if math.random() < 0.01 then crate:apply_impulse(vector.create(0, 50, 0)) end
        end)";
    let source = format!("local world = require(\"@nowcast/world\")\n{text}");
    for restore_at in [1, 7, 60, 149] {
        let (mut straight, console) = world_of(text);
        for _ in 0..restore_at {
            straight.step();
        }
        let bytes = straight.snapshot();
        let script = Script::load(&Sources::of_main(&source), Limits::DEFAULT).unwrap();
        let mut restored = World::restore(script.definition(), Box::new(script), &bytes).unwrap();
        for step in 0..120 {
            assert_eq!(straight.hash(), restored.hash(), "restored at {restore_at}, {step} steps later");
            straight.step();
            restored.step();
        }
        assert_eq!(console.poll_fault(), None);
    }
}
