//! Rules that judge by the positions that a player saw.

use nowcast_script::{Limits, Scenario, Script, Sources};

/// A ball that moves at 10 m/s, and an action that reads the position at which the acting player saw the ball.
const RULES: &str = "
    local Ball = world.kind('ball', { body = { motion = 'kinematic', shape = 'sphere', radius = 0.5 } })
    world.on('start', function() Ball:spawn { velocity = vector.create(10, 0, 0) } end)
    world.action('look', {}, function(player)
        local ball = Ball:all()[1]
        local seen = world.rewound(player, function() return ball.position.x end)
        world.emit('seen', { behind = ball.position.x - seen })
    end)";
const HEAD: &str = "local world = require('@nowcast/world') ";

fn records_its_past(text: &str) -> bool {
    let script = Script::load(&Sources::of_main(&format!("{HEAD}{text}")), Limits::DEFAULT);
    script.unwrap_or_else(|fault| panic!("{fault}")).definition().rewinds
}

#[test]
fn a_world_records_its_past_only_if_its_settings_say_so() {
    assert!(!records_its_past(RULES), "a mention of the function is not a setting");
    assert!(!records_its_past("-- rewound"));
    assert!(!records_its_past("world.settings { rewind = false }"));
    assert!(records_its_past("world.settings { rewind = true }"));
}

fn play(settings: &str) -> Option<String> {
    let test = "local test = require('@nowcast/test')
        test.case('look', function()
            local ada = test.join('Ada')
            test.see(ada, 0.2)
            test.wait(1)
            test.act(ada, 'look')
            test.step(2)
            test.near(test.events('seen')[1].payload.behind, 2, 0.2)
        end)";
    let sources = Sources::from_iter([
        ("world.luau", format!("{HEAD}{settings}{RULES}")),
        ("tests/look.luau", test.to_owned()),
    ]);
    let scenario =
        Scenario::new(sources, "tests/look.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    scenario.run(0, 1).failure.map(|fault| fault.to_string())
}

#[test]
fn a_rewound_position_is_the_one_that_the_player_saw() {
    assert_eq!(play("world.settings { rewind = true }"), None);
}

#[test]
fn rewound_without_the_setting_is_refused_with_the_cure() {
    let told = play("").expect("the past is not recorded");
    assert!(told.contains("add `rewind = true` to world.settings { … }"), "{told}");
}
