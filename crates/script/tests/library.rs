//! The standard library: each module is played by the tests of a small world, and keeps its data over a reload.

use std::path::Path;

use nowcast_script::{LIBRARY, Limits, Live, Scenario, Script, Sources};
use nowcast_world::{Command, PlayerId, Value};

use crate::one_case;
use crate::samples::sources_of;

fn world_of(module: &str) -> Sources {
    let name = module.trim_start_matches("@nowcast/");
    sources_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/library").join(name))
}

#[test]
fn every_module_of_the_library_passes_the_tests_of_its_world() {
    let mut cases = 0;
    for (module, _) in LIBRARY {
        let sources = world_of(module);
        let tests = sources.iter().map(|(path, _)| path).filter(|path| path.starts_with("tests/"));
        for test in tests {
            let scenario = Scenario::new(sources.clone(), test, Limits::DEFAULT)
                .unwrap_or_else(|fault| panic!("{module}: {fault}"));
            assert!(scenario.cases().len() > 1, "{module}");
            for (index, name) in scenario.cases().iter().enumerate() {
                let outcome = scenario.run(index, 1);
                let failure = outcome.failure.map(|fault| fault.to_string());
                assert_eq!(failure, None, "{module}: {name}: {:?}", outcome.printed);
                cases += 1;
            }
        }
    }
    assert!(cases > LIBRARY.len());
}

#[test]
fn all_modules_of_the_library_fit_into_one_world() {
    let requires: Vec<_> = LIBRARY.iter().map(|(module, _)| format!("require({module:?})")).collect();
    let text = requires.join("\n");
    Script::load(&Sources::of_main(&text), Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    for (module, text) in LIBRARY {
        assert!(text.lines().count() < 300, "{module}");
        assert!(text.starts_with(&format!("--!strict\n-- {module}: ")), "{module}");
    }
}

#[test]
fn the_survey_of_a_large_area_is_read_back_within_a_step() {
    let text = "
        local world, npc = require('@nowcast/world'), require('@nowcast/npc')
        local function block(name, size)
            return world.kind(name, { body = { motion = 'fixed', shape = 'box', size = size } })
        end
        local Floor, Block = block('floor', vector.create(80, 1, 80)), block('block', vector.create(48, 4, 40))
        npc.setup { at = vector.create(0, 2, 0), size = vector.create(48, 4, 48), cell = 0.5 }
        world.state { ways = 0 }
        world.on('start', function()
            Floor:spawn { at = vector.create(0, -0.5, 0) }
            Block:spawn { at = vector.create(0, 2, 4) }
        end)
        world.on('step', function()
            if world.tick() > 2 and npc.path(vector.create(-23, 0, -23), vector.create(23, 0, -23)) then
                world.state.ways += 1
            end
        end)";
    let mut live = Live::new(Sources::of_main(text), 1, Limits::DEFAULT).unwrap();
    for _ in 0..5 {
        live.step();
    }
    live.reload(Sources::of_main(&format!("{text} -- again"))).unwrap();
    for _ in 0..3 {
        live.step();
    }
    assert_eq!(live.world().scene().state("ways").and_then(Value::as_f64), Some(5.0));
    assert_eq!(live.stats().faults, 0);
}

#[test]
fn rounds_write_nothing_on_screens_unless_the_author_asks_for_it() {
    let world = "require('@nowcast/rounds').setup { players = 2, countdown = 2, seconds = 5 }";
    let case = "
        test.join('Bo')
        for _ = 1, 12 do
            test.wait(1)
            for _, place in { 'clock', 'message', 'prompt' } do test.equal(test.screen(place), nil, place) end
        end
        assert(require('@nowcast/rounds').number() > 0)";
    assert_eq!(one_case::play(world, case), None);
}

#[test]
fn an_error_of_the_library_names_the_line_of_the_world() {
    let text = "local teams = require('@nowcast/teams')\n\nteams.add('red')\nteams.add('red')";
    let fault = Script::load(&Sources::of_main(text), Limits::DEFAULT).map(drop).unwrap_err();
    assert_eq!((fault.file.as_deref(), fault.line), (Some("world.luau"), Some(4)));
    assert!(fault.message.contains("two teams are called \"red\""), "{fault}");
}

#[test]
fn an_unknown_module_is_refused_with_the_one_that_was_meant() {
    let fault =
        Script::load(&Sources::of_main("require('@nowcast/team')"), Limits::DEFAULT).map(drop).unwrap_err();
    assert!(fault.message.contains("did you mean `@nowcast/teams`?"), "{fault}");
}

#[test]
fn a_reload_keeps_the_round_the_scores_and_the_items() {
    let text = r#"
        local world = require("@nowcast/world")
        local rounds, teams, inventory = require("@nowcast/rounds"), require("@nowcast/teams"), require("@nowcast/inventory")
        rounds.setup { countdown = 0, seconds = 30 }
        teams.add("red")
        teams.add("blue")
        inventory.setup {}
        inventory.item("coin")
        world.state { told = "" }
        world.on("join", function(player)
            teams.join(player)
            teams.add_score("red", 2)
            inventory.give(player, "coin", 5)
        end)
        world.on("step", function()
            for _, player in world.players() do
                world.state.told = `{VERSION} {rounds.phase()} {rounds.number()} {rounds.seconds_left()} {teams.score("red")} {inventory.count(player, "coin")} {teams.of(player)}`
            end
        end)"#;
    let version = |number: &str| Sources::of_main(&text.replace("VERSION", number));
    let mut live = Live::new(version("1"), 1, Limits::DEFAULT).unwrap();
    let told = |live: &Live| live.world().scene().state("told").and_then(Value::as_text).map(str::to_owned);
    live.apply(Command::join(PlayerId(1), "Ada")).unwrap();
    (0..100).for_each(|_| live.step());
    assert_eq!(told(&live).as_deref(), Some("1 playing 1 29 2 5 red"));
    live.reload(version("2")).unwrap();
    (0..60).for_each(|_| live.step());
    assert_eq!(told(&live).as_deref(), Some("2 playing 1 28 2 5 red"));
}
