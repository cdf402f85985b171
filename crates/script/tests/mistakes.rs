//! Mistakes of authors and their error messages: place, problem, and correction.

use nowcast_script::{Limits, Live, Report, Scenario, Script, Sources};
use nowcast_world::{Command, PlayerId, Value, World};

const HEAD: &str = "local world = require('@nowcast/world')\n";

/// Returns the faults of a world of this text after loading and start.
fn told(text: &str) -> String {
    let sources = Sources::of_main(&format!("{HEAD}{text}"));
    let script = match Script::load(&sources, Limits::DEFAULT) {
        Ok(script) => script,
        Err(fault) => return fault.to_string(),
    };
    let (definition, console) = (script.definition(), script.console());
    World::new(definition, 1, Box::new(script)).expect("a definition was checked");
    console.poll_fault().map_or_else(String::new, |fault| fault.to_string())
}

#[test]
fn a_description_for_visitors_names_the_field_that_is_wrong() {
    for (text, words) in [
        ("world.about {}", "about.goal: expected a sentence"),
        ("world.about { goal = ('g'):rep(201) }", "about.goal: expected at most 200 bytes, got 201 bytes"),
        (
            "world.about { goal = 'Win', how = { 'a', 'b', 'c', 'd', 'e', 'f', 'g' } }",
            "about.how: expected at most 6 steps, got 7",
        ),
        (
            "world.about { goal = 'Win', picture = 'assets/win.ogg' }",
            "about.picture: expected the name of a picture",
        ),
        ("world.about { goal = 'Win', gaol = 'Lose' }", "about.gaol is not a field; did you mean `goal`?"),
        ("world.on('start', function() world.about { goal = 'Win' } end)", "while the modules are loaded"),
    ] {
        let told = told(text);
        assert!(told.contains(words), "{text}: {told}");
    }
    let sources = Sources::of_main(&format!("{HEAD}world.about {{ goal = 'Win', how = 'Run' }}"));
    let about = Script::load(&sources, Limits::DEFAULT).expect("the script loads").about();
    assert_eq!((about.goal.as_str(), about.how, about.picture), ("Win", vec!["Run".to_owned()], None));
}

#[test]
fn a_misspelt_name_is_reported_with_the_nearest_known_name() {
    let ball = "local Ball = world.kind('ball', { body = { shape = 'sphere', radius = 1 }, attributes = { heat = 'u8' } })\n";
    for (text, words) in [
        ("world.onn('start', print)", "world has no \"onn\"; did you mean `on`?"),
        ("world.on('strat', print)", "no world has an event \"strat\"; did you mean `start`?"),
        (
            "world.kind('b', { body = { shape = 'sphere', radus = 1 } })",
            "b.body.radus is not a field; did you mean `radius`?",
        ),
        ("world.kind('b', { bdy = {} })", "did you mean `body`?"),
        ("Ball:spwan({})", "a kind has no \"spwan\"; did you mean `spawn`?"),
        (
            "world.on('start', function() Ball.spawn({ at = vector.zero }) end)",
            "called with a colon, as in Kind:spawn",
        ),
        (
            "world.on('start', function() local ball = Ball:spawn {} ball.despawn() end)",
            "as in entity:despawn()",
        ),
        (
            "world.on('start', function() world.after(1, function() end) end)",
            "a timer has a name, so that it can be saved",
        ),
        ("world.on('start', function() Ball:spawn({}).velocty = vector.one end)", "did you mean `velocity`?"),
        ("world.on('start', function() print(Ball:spawn({}).haet) end)", "did you mean `heat`?"),
        (
            "world.timer('boom', print) world.on('start', function() world.after(1, 'bom') end)",
            "did you mean `boom`?",
        ),
        ("require('@nowcast/wrld')", "did you mean `@nowcast/world`?"),
    ] {
        let told = told(&format!("{ball}{text}"));
        assert!(told.starts_with("world.luau:3: "), "{text}: {told}");
        assert!(told.contains(words), "{text}: {told}");
    }
}

#[test]
fn a_value_of_the_wrong_type_is_reported_by_its_luau_type() {
    let kind = "local Box = world.kind('box', { attributes = {
        count = 'u8', carrier = 'player?', heat = { 'f32', min = 0, max = 1 }, title = 'text' } })\n";
    for (line, words) in [
        ("box.count = 300", "count: a whole number from 0 to 255 (u8) is expected, not 300"),
        ("box.count = 1.5", "not 1.5"),
        ("box.carrier = 'Ada'", "carrier: a player or nil is expected, not a string"),
        ("box.heat = 'hot'", "heat: a number from 0 to 1 is expected, not text"),
        ("box.title = true", "title: a text is expected, not true"),
        ("world.state.seen = { [box] = true }", "has an entity as a key"),
    ] {
        let told =
            told(&format!("{kind}world.on('start', function() local box = Box:spawn {{}} {line} end)"));
        assert!(told.contains(words), "{line}: {told}");
    }
    for (attributes, words) in [
        ("heat = 'hot'", "box.attributes.heat: expected \"bool\""),
        ("heat = 7", "box.attributes.heat: expected \"bool\""),
        ("heat = { 'f32', min = 1, max = 0 }", "box.attributes.heat: `min` is less than `max`"),
        ("heat = { min = 1 }", "box.attributes.heat: "),
        ("heat = { 'text', min = 1, max = 2 }", "box.attributes.heat: only numbers have `min` and `max`"),
        ("heat = { 'player?', min = 1, max = 2 }", "box.attributes.heat: only numbers have `min` and `max`"),
    ] {
        let told = told(&format!("world.kind('box', {{ attributes = {{ {attributes} }} }})"));
        assert!(told.starts_with("world.luau:2: ") && told.contains(words), "{attributes}: {told}");
    }
}

#[test]
fn a_binding_accepts_declared_kinds_and_their_names_only() {
    let text = "
        world.action('open', { what = 'entity' }, print, { key = 'e', target = 'what', of = OF })
        local Door = world.kind('door', {})
        world.kind('lid', {})
        world.action('shut', { what = 'entity' }, print, { key = 'q', target = 'what', of = { Door, 'lid' } })";
    let sources = Sources::of_main(&format!("{HEAD}{}", text.replace("OF", "'door'")));
    let definition =
        Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}")).definition();
    let of = |action: &str| definition.action(action).and_then(|action| action.hint.get("of")).cloned();
    assert_eq!(of("open"), Some(Value::from("door")));
    assert_eq!(of("shut"), Some(Value::List(vec!["door".into(), "lid".into()])));
    for (of, words) in [
        ("'dor'", "no kind is called `dor`; did you mean `door`?"),
        ("{}", "expected a kind, its name, or a list of these"),
        ("7", "expected a kind, its name, or a list of these"),
    ] {
        let told = told(&text.replace("OF", of));
        assert!(told.starts_with("world.luau:3: ") && told.contains(words), "{of}: {told}");
    }
}

#[test]
fn a_missing_require_is_named_by_the_fault() {
    let told = |sources: Sources| Script::load(&sources, Limits::DEFAULT).err().unwrap().to_string();
    let world = told(Sources::of_main("\nworld.kind('k', {})"));
    assert!(world.starts_with("world.luau:2: `world` is not defined here"), "{world}");
    assert!(world.contains("local world = require(\"@nowcast/world\")"), "{world}");
    let other =
        told(Sources::from_iter([("world.luau", "print(1)\nteams.pick()"), ("teams.luau", "return {}")]));
    assert!(other.contains("local teams = require(\"./teams\")"), "{other}");
}

#[test]
fn a_failed_test_names_the_file_and_the_difference() {
    let play = |world: &str, case: &str| {
        let test = format!(
            "local test, world = require('@nowcast/test'), require('@nowcast/world')\ntest.case('c', function()\n{case}\nend)"
        );
        let sources = Sources::from_iter([("world.luau", format!("{HEAD}{world}")), ("tests/c.luau", test)]);
        match Scenario::new(sources, "tests/c.luau", Limits::DEFAULT) {
            Ok(scenario) => scenario.run(0, 1).failure.map_or_else(String::new, |fault| fault.to_string()),
            Err(fault) => fault.to_string(),
        }
    };
    assert!(play("error('broken')", "").starts_with("world.luau:2: broken"));
    assert!(play("local x =", "").starts_with("world.luau:2: "));
    assert!(
        play("world.on('start', function() error('late') end)", "test.step(2)")
            .starts_with("world.luau:2: late")
    );
    assert_eq!(play("", "test.equal(1, 2)"), "tests/c.luau:3: value: expected 2, got 1");
    let deep =
        play("", "test.equal({ score = { 1, 2 }, who = 'a' }, { score = { 1, 3 }, who = 'a' }, 'state')");
    assert_eq!(
        deep,
        "tests/c.luau:3: state.score[2]: expected 3, got 2; as a whole: expected { score = { 1, 3 }, who = \"a\" }, got \
         { score = { 1, 2 }, who = \"a\" }"
    );
    assert_eq!(play("", "test.equal({ 1, n = {} }, { 1, n = {} })"), "");
    assert!(play("", "test.equl(1, 1)").contains("did you mean `equal`?"));
}

#[test]
fn a_fault_is_formatted_as_a_link_with_line_and_column() {
    let sources = Sources::of_main(&format!("{HEAD}\tworld.onn('start', print)"));
    let fault = Script::load(&sources, Limits::DEFAULT).err().unwrap();
    let link = fault.in_folder("worlds/park/", &sources);
    assert!(link.starts_with("worlds/park/world.luau:2:8: world has no \"onn\""), "{link}");
}

#[test]
fn players_with_a_tag_are_listed_as_a_team() {
    let sources = Sources::from_iter([
        (
            "world.luau",
            format!(
                "{HEAD}world.on('join', function(player) player:tag(if player.id % 2 == 1 then 'red' else 'blue') end)"
            ),
        ),
        (
            "tests/teams.luau",
            "local test, world = require('@nowcast/test'), require('@nowcast/world')
            test.case('two teams', function()
                local ada, bo, cleo = test.join('Ada'), test.join('Bo'), test.join('Cleo')
                test.equal(world.players('red'), { ada, cleo })
                test.equal(world.players('blue'), { bo })
                test.equal(#world.players(), 3)
            end)"
                .to_owned(),
        ),
    ]);
    let scenario =
        Scenario::new(sources, "tests/teams.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(scenario.run(0, 1).failure, None);
}

#[test]
fn a_name_of_another_engine_is_refused_with_its_replacement() {
    for (line, words) in [
        ("wait(1)", "a script cannot wait: declare a timer with world.timer"),
        ("task.wait(1)", "a script cannot wait: declare a timer with world.timer"),
        ("coroutine.yield()", "a script cannot wait"),
        ("math.randomseed(7)", "there is no `math.randomseed`"),
        ("game:GetService('Players')", "use `world`"),
        ("local part = Instance.new('Part')", "declare a kind with `world.kind`"),
        ("local at = Vector3.new(0, 1, 0)", "use `vector.create(x, y, z)`"),
    ] {
        let told = told(&format!("world.on('start', function()\n{line} end)"));
        assert!(told.starts_with("world.luau:3: ") && told.contains(words), "{line}: {told}");
    }
}

#[test]
fn an_old_name_of_the_api_is_refused_with_the_new_one() {
    let kinds = "local Ball = world.kind('ball', { body = { shape = 'sphere', radius = 1 } })
        world.on('start', function() local ball = Ball:spawn {}\n";
    for (line, words) in [
        ("world.part(1)", "world has no \"part\"; `part` is called `remove_joint` now"),
        ("Ball:on('part', print)", "no kind has an event \"part\"; `part` is called `contact_end` now"),
        ("ball:impulse(vector.one)", "entities have no `impulse`; `impulse` is called `apply_impulse` now"),
        ("ball:twist(vector.one)", "entities have no `twist`; `twist` is called `apply_angular_impulse` now"),
        ("ball:push(vector.one)", "entities have no `push`; `push` is called `apply_force` now"),
    ] {
        let told = told(&format!("{kinds}{line} end)"));
        assert!(told.starts_with("world.luau:4: ") && told.contains(words), "{line}: {told}");
    }
}

#[test]
fn an_attribute_may_have_an_old_name_of_the_api() {
    let text = "local Ball = world.kind('ball', { attributes = { push = 'f32' } })
        world.on('start', function() local ball = Ball:spawn { push = 2 } assert(ball.push == 2) end)";
    assert_eq!(told(text), "");
}

#[test]
fn a_wrong_assignment_to_a_field_is_refused_with_the_cure() {
    let kinds = "local Ball = world.kind('ball', { body = { shape = 'sphere', radius = 1 } })
        local Post = world.kind('post', { body = { motion = 'fixed', shape = 'sphere', radius = 1 } })
        world.on('start', function() local ball, post = Ball:spawn {}, Post:spawn {}\n";
    for (line, words) in [
        ("ball.kind = Post", "kind cannot be set: an entity keeps its kind"),
        ("ball.facing = vector.one", "facing cannot be set: set `yaw`"),
        ("ball.apply_impulse = 3", "apply_impulse cannot be set: every entity has a function of that name"),
        (
            "ball.position = { 0, 1, 0 }",
            "position: a vector is expected, as in vector.create(0, 1, 0), not a table",
        ),
        ("ball.velocity = 3", "velocity: a vector is expected, as in vector.create(x, y, z), not a number"),
        ("ball.yaw = 'left'", "yaw: a number of radians is expected, not a string"),
        ("ball.rotation = 1", "a rotation is four numbers"),
        ("ball.position.x = 3", "a vector is never changed: make a new one"),
        (
            "ball:apply_impulse({ 0, 3, 0 })",
            "a vector is expected, as in vector.create(0, 3, 0), not a table",
        ),
        ("ball.parent = post", "so it cannot have a parent; declare motion = \"kinematic\""),
    ] {
        let told = told(&format!("{kinds}{line} end)"));
        assert!(told.starts_with("world.luau:5: ") && told.contains(words), "{line}: {told}");
    }
}

#[test]
fn event_fields_and_action_arguments_may_have_names_of_entity_fields() {
    assert_eq!(
        told("world.event('won', { name = 'text' }) world.action('go', { position = 'vector' }, print)"),
        ""
    );
    let attribute = told("world.kind('b', { attributes = { name = 'text' } })");
    assert!(attribute.contains("every entity has `name`; choose another name"), "{attribute}");
}

#[test]
fn a_value_that_cannot_be_saved_is_reported_with_its_line() {
    for (text, message) in [
        ("world.state { cb = print }", "world.luau:2: world.state.cb is a function"),
        (
            "world.state { cb = 0 }\nworld.on('start', function()\nprint(world.state.cb)\nworld.state.cb = print end)",
            "world.luau:5: world.state.cb is a function",
        ),
        (
            "world.state { s = {} }\nworld.on('start', function()\nworld.state.s.other = 1\nworld.state.s.red = { print } end)",
            "world.luau:5: world.state.s.red[1] is a function",
        ),
        (
            "local K = world.kind('k', {})\nworld.on('start', function() local k = K:spawn {}\nk.private.f = print end)",
            "world.luau:4: entity 1: private.f is a function",
        ),
    ] {
        let sources = Sources::of_main(&format!("{HEAD}{text}"));
        let told = match Live::new(sources.clone(), 1, Limits::DEFAULT) {
            Err(fault) => fault.in_folder("m28", &sources),
            Ok(mut live) => {
                live.step();
                let failed = std::iter::from_fn(|| live.poll_report()).find_map(|report| match report {
                    Report::Failed { fault, .. } => Some(fault),
                    _ => None,
                });
                failed.expect("the value cannot be kept").in_folder("m28", &sources)
            }
        };
        let (file, rest) = message.split_once(": ").unwrap();
        assert!(told.starts_with(&format!("m28/{file}:")) && told.contains(rest), "{text}: {told}");
    }
}

#[test]
fn a_fault_without_a_file_is_not_joined_to_the_name_of_the_folder() {
    let sources = Sources::of_main("");
    let fault = nowcast_script::Fault {
        kind: nowcast_script::FaultKind::State,
        file: None,
        line: None,
        message: "world.state.cb is a function".into(),
        cure: None,
        callers: Box::default(),
        during: None,
    };
    assert_eq!(fault.in_folder("m28/", &sources), "m28: world.state.cb is a function");
}

#[test]
fn an_error_names_its_callers_the_action_and_the_player() {
    let text = "local function near(ball)\n\treturn ball.at\nend\nlocal function kick()\n\tlocal at = near(nil)\n\treturn at\nend\n\
                world.action('kick', {}, function() kick() end)";
    let mut live = Live::new(Sources::of_main(&format!("{HEAD}{text}")), 1, Limits::DEFAULT).unwrap();
    live.apply(Command::join(PlayerId(3), "Ada")).unwrap();
    live.step();
    let (name, arguments) = ("kick".into(), Value::Map(Vec::new()));
    live.apply(Command::Action { player: PlayerId(3), name, arguments }).unwrap();
    live.step();
    let failed = std::iter::from_fn(|| live.poll_report()).find_map(|report| match report {
        Report::Failed { fault, .. } => Some(fault.with_calls()),
        _ => None,
    });
    let told = failed.expect("the action fails");
    let (_, calls) = told.split_once('\n').expect("further lines");
    assert_eq!(
        calls, "  called at world.luau:6\n  called at world.luau:9\n  in action kick, player 3 (Ada)",
        "{told}"
    );
}

#[test]
fn an_error_that_is_an_object_has_the_message_of_the_object() {
    for (raised, words) in [
        ("{ name = 'RangeError', message = 'too far' }", "world.luau:2: RangeError: too far"),
        ("{ message = 'too far' }", "world.luau:2: too far"),
        ("{ message = {} }", "world.luau:2: a table was raised as an error"),
        (
            "setmetatable({}, { __index = function() error('never called') end })",
            "world.luau:2: a table was raised",
        ),
    ] {
        let told = told(&format!("world.on('start', function() error({raised}, 0) end)"));
        assert!(told.starts_with(words), "{raised}: {told}");
    }
}

#[test]
fn an_error_of_a_compiled_module_has_the_place_in_its_source() {
    // The map says that the second line is line 17 of world.ts.
    let map = "eyJ2ZXJzaW9uIjozLCJzb3VyY2VzIjpbIndvcmxkLnRzIl0sIm5hbWVzIjpbXSwibWFwcGluZ3MiOiI7QUFnQkEifQ==";
    let told = told(&format!("error('no ball')\n--# sourceMappingURL=data:application/json;base64,{map}\n"));
    assert_eq!(told, "world.ts:17: no ball");
}

#[test]
fn a_kind_knows_its_entities_and_names_are_returned_by_their_declarations() {
    let rules = "
        local Ball = world.kind('ball', { attributes = { heat = { type = 'f32', min = 0, max = 1, default = 0.5 } } })
        local Door = world.kind('door', {})
        local goal, bell = world.event('goal', {}), world.timer('bell', print)
        world.command('give', { arguments = { { name = 'count', type = 'integer', min = 1 } } }, print)
        world.ui.panel('hud', { parts = { { type = 'text', name = 'coins' } } })
        world.on('start', function()
            local ball = Ball:spawn({})
            assert(Ball:is(ball) and not Door:is(ball) and not Ball:is(nil) and not Ball:is({}))
            ball:despawn()
            assert(not Ball:is(ball) and goal == 'goal' and bell == 'bell')
        end)";
    assert_eq!(told(rules), "");
}
