//! Panels of worlds: their declarations, values and presses.

use nowcast_script::{Limits, Live, Scenario, Script, Sources};
use nowcast_world::{Command, Event, PlayerId, Value};

const WORLD: &str = "
    local world = require('@nowcast/world')
    world.state { pressed = '' }
    local hud = world.ui.panel('hud', { at = 'right', title = 'You', parts = {
        { 'text', name = 'coins', label = 'Coins', text = '0' },
        { 'bar', name = 'health', max = 10 },
        { 'button', name = 'heal', text = 'Heal', press = function(player) world.state.pressed ..= player.name .. '; ' end },
        { 'picture', name = 'icon', text = 'assets/coin.png', label = 'A coin', max = 32 },
        { 'input', name = 'wish', label = 'Wish', max = 12, press = function(player, text) world.state.pressed ..= `{player.name} wishes {text}; ` end },
        { 'list', name = 'goods', press = function(player, row) world.state.pressed ..= `{player.name} {row}; ` end },
    } })
    local shop = world.ui.panel('shop', { open = false, parts = {
        { 'button', name = 'buy', press = function(player) world.state.pressed ..= 'bought; ' end },
    } })
    local over = world.ui.panel('over', { at = 'entity', parts = { { 'text', name = 'name' } } })
    world.action('set', { part = 'text', value = 'any', mine = 'bool' }, function(player, a)
        hud:set(a.part, a.value, if a.mine then player else nil)
    end)
    world.action('open', {}, function(player) shop:show(player) end)
    world.action('close', {}, function(player) shop:hide(player) hud:hide(player) end)
    world.action('hang', {}, function(player) over:show(player) end)
    world.action('aside', {}, function(player) hud:show(player, player) end)";

fn list(value: Option<&Value>) -> &[Value] {
    match value {
        Some(Value::List(items)) => items,
        other => panic!("{other:?} is not a list"),
    }
}

/// The place of a part on screens, as the definition tells pages.
fn place_of(panel: &str, part: &str) -> String {
    let script = Script::load(&Sources::of_main(WORLD), Limits::DEFAULT).expect("the script loads");
    let definition = script.definition();
    let press = definition.action("ui:press").expect("there are buttons");
    let panels = list(press.hint.get("ui"));
    let named = |value: &&Value, name: &str| value.get("name").and_then(Value::as_text) == Some(name);
    let panel = panels.iter().find(|found| named(found, panel)).expect("the panel is declared");
    let parts = list(panel.get("parts"));
    let part = parts.iter().find(|found| named(found, part)).expect("the part is declared");
    part.get("place").and_then(Value::as_text).expect("a part has a place").to_owned()
}

fn play(case: &str) -> Option<String> {
    let mut case = format!(
        "local test, world = require('@nowcast/test'), require('@nowcast/world')
        local function press(player, part, row) test.act(player, 'ui:press', {{ part = part, row = row }}) end
        local function set(player, part, value, mine) test.act(player, 'set', {{ part = part, value = value, mine = mine or false }}) end
        test.case('case', function() local ada, bo = test.join('Ada'), test.join('Bo') {case} end)"
    );
    for (panel, part) in
        [("hud", "coins"), ("hud", "heal"), ("hud", "goods"), ("hud", "wish"), ("shop", "buy")]
    {
        case = case.replace(&format!("<{panel}.{part}>"), &format!("'{}'", place_of(panel, part)));
    }
    let sources = Sources::from_iter([("world.luau", WORLD), ("tests/c.luau", case.as_str())]);
    let scenario =
        Scenario::new(sources, "tests/c.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    scenario.run(0, 1).failure.map(|fault| fault.to_string())
}

#[test]
fn a_part_shows_a_value_to_all_or_to_one_player() {
    let case = "set(ada, 'coins', 5)
        test.equal(test.screen(<hud.coins>), 5)
        set(ada, 'coins', 7, true)
        test.equal(test.screen(<hud.coins>, ada), 7)
        test.equal(test.screen(<hud.coins>, bo), nil)
        set(ada, 'goods', { 'apple', 'hat' })
        test.equal(test.screen(<hud.goods>), { 'apple', 'hat' })
        set(ada, 'coins', nil, true)
        test.equal(test.screen(<hud.coins>, ada), nil)";
    assert_eq!(play(case), None);
}

#[test]
fn a_press_is_an_action_of_a_player_who_sees_the_button() {
    let case = "press(ada, <hud.heal>)
        test.equal(world.state.pressed, 'Ada; ')
        set(ada, 'heal', false, true)
        press(ada, <hud.heal>)
        press(bo, <hud.heal>)
        test.equal(world.state.pressed, 'Ada; Bo; ')
        press(ada, <shop.buy>)
        test.equal(world.state.pressed, 'Ada; Bo; ')
        test.act(ada, 'open')
        press(ada, <shop.buy>)
        test.equal(world.state.pressed, 'Ada; Bo; bought; ')
        test.act(ada, 'close')
        press(ada, <shop.buy>)
        press(ada, 'score')
        press(ada, <hud.coins>)
        test.equal(world.state.pressed, 'Ada; Bo; bought; ')";
    assert_eq!(play(case), None);
}

#[test]
fn a_row_of_a_list_is_pressed_only_if_it_is_there() {
    let case = "press(ada, <hud.goods>, 1)
        set(ada, 'goods', { 'apple', 'hat' })
        press(ada, <hud.goods>, 2)
        press(ada, <hud.goods>, 3)
        press(ada, <hud.goods>)
        test.equal(world.state.pressed, 'Ada 2; ')";
    assert_eq!(play(case), None);
}

#[test]
fn the_text_of_an_input_is_an_action_without_control_characters_and_not_too_long() {
    let case = "local function write(text) test.act(ada, 'ui:press', { part = <hud.wish>, text = text }) end
        write('a <b>hat</b> and more')
        write('a\\n\\u{202e}hat')
        test.equal(world.state.pressed, 'Ada wishes a <b>hat</b>; Ada wishes ahat; ')
        press(ada, <hud.wish>)
        set(ada, 'wish', false, true)
        write('no')
        test.equal(world.state.pressed, 'Ada wishes a <b>hat</b>; Ada wishes ahat; ')
        set(ada, 'wish', '', true)
        test.press(ada, 'hud', 'wish', 'yes')
        test.equal(world.state.pressed, 'Ada wishes a <b>hat</b>; Ada wishes ahat; Ada wishes yes; ')";
    assert_eq!(play(case), None);
}

#[test]
fn values_that_do_not_fit_are_refused_by_name() {
    for (part, value, problem) in [
        ("coin", "1", "panel hud has no part \"coin\"; did you mean `coins`?"),
        ("health", "'full'", "hud.health: a bar shows a number"),
        ("health", "0/0", "hud.health: a bar shows a number"),
        ("goods", "'apple'", "hud.goods: a list shows at most 16 texts"),
        ("goods", "table.create(17, 'x')", "hud.goods: a list shows at most 16 texts"),
        ("goods", "{ 3 }", "hud.goods: a list shows texts"),
        ("coins", "string.rep('x', 201)", "hud.coins: a text has at most 200 bytes"),
        ("coins", "{}", "hud.coins: a text shows a text, a number, true or false"),
        ("wish", "3", "hud.wish: an input shows a text"),
        ("icon", "false", "hud.icon: a picture shows a file"),
        ("heal", "3", "hud.heal: a button shows a text, and false turns it off"),
    ] {
        let told = play(&format!("set(ada, '{part}', {value})")).unwrap_or_default();
        assert!(told.contains(problem), "{part} = {value}: {told}");
    }
    for (action, problem) in [("hang", "hangs over an entity"), ("aside", "has a place on the screen")] {
        let told = play(&format!("test.act(ada, '{action}')")).unwrap_or_default();
        assert!(told.contains(problem), "{action}: {told}");
    }
}

#[test]
fn a_wrong_declaration_of_a_panel_is_refused_by_name() {
    let many_panels = "for i = 1, 33 do world.ui.panel('p' .. i, { parts = {} }) end";
    let many_parts =
        "for i = 1, 20 do local parts = {} for j = 1, 20 do parts[j] = { 'text', name = 'a' .. j } end
        world.ui.panel('p' .. i, { parts = parts }) end";
    for (call, problem) in [
        ("world.ui.panel('a b', { parts = {} })", "1 to 32 letters"),
        ("world.ui.panel('a', {})", "needs its parts"),
        ("world.ui.panel('a', { parts = {}, att = 'top' })", "did you mean `at`?"),
        ("world.ui.panel('a', { parts = {}, at = 'rihgt' })", "did you mean `right`?"),
        ("world.ui.panel('a', { parts = { { 'video', name = 'b' } } })", "begins with a type"),
        ("world.ui.panel('a', { parts = { { 'text' } } })", "parts[1].name is needed"),
        ("world.ui.panel('a', { parts = { { 'button', name = 'b' } } })", "a button needs press"),
        ("world.ui.panel('a', { parts = { { 'input', name = 'b' } } })", "an input needs press"),
        (
            "world.ui.panel('a', { parts = { { 'input', name = 'b', press = print, max = 201 } } })",
            "the largest number of characters, 1 to 200",
        ),
        (
            "world.ui.panel('a', { parts = { { 'picture', name = 'b', max = 4 } } })",
            "the largest width of a picture in pixels, 8 to 512",
        ),
        (
            "world.ui.panel('a', { parts = { { 'text', name = 'b', press = print } } })",
            "of a button, a list or an input",
        ),
        (
            "world.ui.panel('a', { parts = {} }) world.ui.panel('a', { parts = {} })",
            "two panels are called \"a\"",
        ),
        ("world.ui.pannel('a', { parts = {} })", "did you mean `panel`?"),
        (many_panels, "at most 32 panels"),
        (many_parts, "at most 256 parts"),
    ] {
        let text = format!("local world = require('@nowcast/world')\n{call}");
        let fault = Script::load(&Sources::of_main(&text), Limits::DEFAULT).map(drop).unwrap_err();
        assert!(fault.message.contains(problem), "{call}: {fault}");
    }
}

#[test]
fn a_reload_keeps_the_values_of_parts_that_keep_their_names() {
    let mut live = Live::new(Sources::of_main(WORLD), 1, Limits::DEFAULT).expect("the script loads");
    let player = PlayerId(1);
    live.apply(Command::join(player, "Ada")).expect("the world accepts the command");
    let text = |text: &str| Value::Text(text.into());
    let pairs = vec![
        (text("mine"), Value::Bool(true)),
        (text("part"), text("coins")),
        (text("value"), Value::Int(9)),
    ];
    let set = Command::Action { player, name: "set".into(), arguments: Value::Map(pairs) };
    live.apply(set).expect("the world accepts the command");
    live.step();
    let place = place_of("hud", "coins");
    let shown = |live: &Live| live.world().scene().screen(player, &place).and_then(Value::as_f64);
    assert_eq!(shown(&live), Some(9.0));
    let more = format!("{WORLD}\nworld.ui.panel('aaa', {{ parts = {{}} }})");
    live.reload(Sources::of_main(&more)).expect("the new version loads");
    live.step();
    assert_eq!(shown(&live), Some(9.0));
    let events = std::iter::from_fn(|| live.poll_event());
    assert!(
        events.filter(|event| matches!(event, Event::Screen { place: at, .. } if *at == place)).count() >= 1
    );
}
