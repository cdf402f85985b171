//! The sky, the weather and the loops of worlds.

use crate::one_case;

const WORLD: &str = "
    local world = require('@nowcast/world')
    local Kart = world.kind('kart', {})
    world.action('sky', { value = 'any', mine = 'bool' }, function(player, a) world.sky(a.value, if a.mine then player else nil) end)
    world.action('weather', { value = 'any', mine = 'bool' }, function(player, a)
        if a.value and a.value.wind then a.value.wind = vector.create(a.value.wind, 0, 0) end
        world.weather(a.value, if a.mine then player else nil)
    end)
    world.action('loop', { value = 'any', mine = 'bool' }, function(_, a) world.loop('music', a.value) end)
    world.action('engine', {}, function()
        local kart = Kart:spawn { at = vector.one }
        world.loop('engine', { file = 'assets/engine.ogg', on = kart, at = vector.one, pitch = 2 })
    end)
    world.action('light', { value = 'any', mine = 'bool' }, function(player, a)
        local fields = a.value
        if fields then
            fields.at = fields.at and vector.create(fields.at[1], fields.at[2], fields.at[3])
            fields.direction = fields.direction and vector.create(0, -1, 0)
        end
        world.light('lamp', fields, if a.mine then player else nil)
    end)
    world.action('lamps', {}, function() for i = 1, 33 do world.light('lamp' .. i, { at = vector.zero }) end end)
    world.action('camera', { value = 'any' }, function(player, a)
        if a.value and a.value.at then a.value.at, a.value.look_at = vector.one, vector.zero end
        if a.value and a.value.rail == true then a.value.rail = { vector.create(0, 2, 0), vector.create(0, 2, -9) } end
        world.camera(a.value, player)
    end)
    world.action('shake', { strength = 'f32' }, function(player, a) world.shake({ strength = a.strength, seconds = 1 }, player) end)";

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
fn weather_is_for_all_players_or_for_one_until_it_ends() {
    let case = "test.act(ada, 'weather', { value = { rain = 0.5, wind = 3 }, mine = false })
        test.equal(test.screen('@weather'), { rain = 0.5, wind = { 3, 0, 0 } })
        test.act(ada, 'weather', { value = { snow = 1 }, mine = true })
        test.equal(test.screen('@weather', ada), { snow = 1 })
        test.act(ada, 'weather', { mine = false })
        test.equal(test.screen('@weather'), nil)";
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
        ("weather", "{ rain = 2 }", "world.weather: rain is a number from 0 to 1"),
        ("weather", "{ snow = 0/0 }", "world.weather: snow is a number from 0 to 1"),
        ("weather", "{ wind = 41 }", "wind is a vector of at most 40 metres a second"),
        ("weather", "{ wind = 0/0 }", "wind is a vector of at most 40 metres a second"),
        ("weather", "{ hail = 1 }", "world.weather has no hail"),
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

#[test]
fn a_light_is_for_all_players_or_for_one_until_it_is_removed() {
    let case = "test.act(ada, 'light', { value = { at = { 1, 2, 3 }, color = '#ffcc88', brightness = 2 }, mine = false })
        test.equal(test.light('lamp'), { light = 'point', at = { 1, 2, 3 }, color = '#ffcc88', brightness = 2 })
        test.act(ada, 'light', { value = { type = 'sun', direction = true }, mine = true })
        test.equal(test.light('lamp', ada), { light = 'sun', direction = { 0, -1, 0 } })
        test.act(ada, 'light', { mine = false })
        test.equal(test.light('lamp'), nil)";
    assert_eq!(play(case), None);
    for (fields, problem) in [
        ("{ type = 'lamp', at = { 0, 0, 0 } }", "light lamp.type is \"point\", \"spot\" or \"sun\""),
        ("{ color = '#fff' }", "light lamp needs a place"),
        ("{ type = 'spot', at = { 0, 0, 0 } }", "light lamp needs the direction"),
        ("{ at = { 0, 0, 0 }, range = 1000 }", "light lamp.range is a number from 0.1 to 100"),
        ("{ at = { 0, 0, 0 }, colour = '#fff' }", "did you mean `color`?"),
    ] {
        let told = play(&format!("test.act(ada, 'light', {{ value = {fields}, mine = false }})"))
            .unwrap_or_default();
        assert!(told.contains(problem), "{fields}: {told}");
    }
    let told = play("test.act(ada, 'lamps')").unwrap_or_default();
    assert!(told.contains("light lamp33 is one too many: a world has at most 32 lights"), "{told}");
}

#[test]
fn a_camera_follows_stands_still_runs_on_a_rail_or_sees_with_the_eyes_of_the_avatar() {
    let case = "test.act(ada, 'camera', { value = { mode = 'first_person', fov = 70 } })
        test.equal(test.screen('@camera', ada), { mode = 'first_person', fov = 70 })
        test.act(ada, 'camera', { value = { mode = 'fixed', at = true, seconds = 2 } })
        test.equal(test.screen('@camera', ada), { mode = 'fixed', at = { 1, 1, 1 }, look_at = { 0, 0, 0 }, seconds = 2 })
        test.act(ada, 'camera', { value = { mode = 'rail', rail = true } })
        test.equal(test.screen('@camera', ada), { mode = 'rail', rail = { { 0, 2, 0 }, { 0, 2, -9 } } })
        test.act(ada, 'camera', {})
        test.equal(test.screen('@camera', ada), nil)
        test.act(ada, 'shake', { strength = 0.25 })
        test.equal(test.events('shake')[1].payload, { strength = 0.25, seconds = 1 })";
    assert_eq!(play(case), None);
    for (fields, problem) in [
        ("{ mode = 'fixd' }", "did you mean `fixed`?"),
        ("{ mode = 'fixed' }", "a fixed camera needs its place and its target"),
        ("{ mode = 'rail' }", "a rail belongs to mode = \"rail\", which needs one"),
        ("{ rail = true }", "a rail belongs to mode = \"rail\", which needs one"),
        ("{ mode = 'rail', rail = {} }", "rail is a list of 2 to 32 places, and this one has 0"),
        ("{ min = 9, max = 3 }", "min is greater than max"),
        ("{ fov = 200 }", "world.camera: fov is a number from 20 to 110"),
    ] {
        let told = play(&format!("test.act(ada, 'camera', {{ value = {fields} }})")).unwrap_or_default();
        assert!(told.contains(problem), "{fields}: {told}");
    }
    let told = play("test.act(ada, 'shake', { strength = 3 })").unwrap_or_default();
    assert!(told.contains("world.shake: strength is a number from 0 to 1"), "{told}");
}
