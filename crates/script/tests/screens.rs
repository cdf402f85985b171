//! The sky and the loops of worlds.

use crate::one_case;

const WORLD: &str = "
    local world = require('@nowcast/world')
    local Kart = world.kind('kart', {})
    world.action('sky', { value = 'any', mine = 'bool' }, function(player, a) world.sky(a.value, if a.mine then player else nil) end)
    world.action('loop', { value = 'any', mine = 'bool' }, function(_, a) world.loop('music', a.value) end)
    world.action('engine', {}, function()
        local kart = Kart:spawn { at = vector.one }
        world.loop('engine', { file = 'assets/engine.ogg', on = kart, at = vector.one, pitch = 2 })
    end)";

fn play(case: &str) -> Option<String> {
    one_case::play(WORLD, case)
}

#[test]
fn a_sky_is_for_all_players_or_for_one() {
    let case = "test.act(ada, 'sky', { value = { time = 20.5, fog = 0.25 }, mine = false })
        test.equal(test.screen('@sky'), { time = 20.5, fog = 0.25 })
        test.act(ada, 'sky', { value = { time = 0 }, mine = true })
        test.equal(test.screen('@sky', ada), { time = 0 })
        test.act(ada, 'sky', { mine = false })
        test.equal(test.screen('@sky'), nil)";
    assert_eq!(play(case), None);
}

#[test]
fn a_loop_plays_until_it_is_stopped() {
    let case = "test.act(ada, 'loop', { value = { file = 'assets/theme.ogg', volume = 0.5, fade = 2 } })
        local function playing()
            local found = nil
            for _, place in { 'music', 'engine' } do
                found = found or test.loop(place)
            end
            return found
        end
        test.equal(playing(), { loop = 'assets/theme.ogg', volume = 0.5, fade = 2 })
        test.act(ada, 'loop', {})
        test.equal(playing(), nil)
        test.act(ada, 'engine')
        test.equal(playing().on, 1)
        test.equal(playing().at, { 1, 1, 1 })";
    assert_eq!(play(case), None);
}

#[test]
fn values_out_of_bounds_are_refused_by_name() {
    for (action, value, problem) in [
        ("sky", "{ time = 25 }", "world.sky: time is a number from 0 to 24"),
        ("sky", "{ fog = -1 }", "world.sky: fog is a number from 0 to 1"),
        ("sky", "{ time = 0/0 }", "world.sky: time is a number from 0 to 24"),
        ("sky", "{ tiem = 3 }", "did you mean `time`?"),
        ("sky", "3", "needs a table of time, fog"),
        ("loop", "{ volume = 1 }", "needs a file"),
        ("loop", "{ file = 'a.ogg', volume = 2 }", "loop music.volume is a number from 0 to 1"),
        ("loop", "{ file = 'a.ogg', pitch = 9 }", "loop music.pitch is a number from 0.25 to 4"),
        ("loop", "{ file = 'a.ogg', fade = 60 }", "loop music.fade is a number from 0 to 10"),
        ("loop", "{ file = 'a.ogg', loud = 1 }", "world.loop(\"music\", …) has no loud"),
    ] {
        let told = play(&format!("test.act(ada, '{action}', {{ value = {value}, mine = false }})"))
            .unwrap_or_default();
        assert!(told.contains(problem), "{action} {value}: {told}");
    }
}
