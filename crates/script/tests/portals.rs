//! Portals between rooms, and bans by rules.

use nowcast_script::{ARRIVE, Limits, Script, Sources};

use crate::one_case;

const WORLD: &str = "
    local world = require('@nowcast/world')
    world.state { arrived = '' }
    world.action('go', { room = 'text' }, function(player, arguments) player:send_to(arguments.room, { coins = 3, at = vector.one }) end)
    world.action('haul', {}, function(player) player:send_to('shop', { text = string.rep('x', 5000) }) end)
    world.action('out', { hours = 'f64' }, function(player, arguments) player:ban('spam', { hours = arguments.hours }) end)
    world.on('arrive', function(player, data, from) world.state.arrived = `{player.name} {data.coins} {from}` end)";

fn play(case: &str) -> Option<String> {
    one_case::play(WORLD, case)
}

#[test]
fn rules_send_a_player_with_data_and_receive_a_player_with_data() {
    let case = "test.act(ada, 'go', { room = 'shop-2' })
        test.equal(test.sent(), { { player = ada, room = 'shop-2', data = { coins = 3, at = { 1, 1, 1 } } } })
        test.arrive(ada, { coins = 7 }, 'hall')
        test.equal(world.state.arrived, 'Ada 7 hall')";
    assert_eq!(play(case), None);
}

#[test]
fn other_names_and_too_much_data_are_refused_by_name() {
    for room in ["https://elsewhere.example", "", "Shop", "shop.-5m", "../shop"] {
        let told = play(&format!("test.act(ada, 'go', {{ room = '{room}' }})")).expect("it is no room");
        assert!(told.contains("is not the name of a room: rooms of this server"), "{told}");
    }
    let told = play("test.act(ada, 'haul', {})").expect("the data is too large");
    assert!(told.contains("4096") || told.contains("4,096"), "{told}");
}

#[test]
fn a_banned_bot_leaves_and_a_ban_has_bounds() {
    assert_eq!(
        play("test.act(ada, 'out', { hours = 2 }) test.step(2) test.equal(#world.players(), 0)"),
        None
    );
    for hours in ["0", "-1", "1e9"] {
        let told = play(&format!("test.act(ada, 'out', {{ hours = {hours} }})")).expect("out of bounds");
        assert!(told.contains("the duration of the ban"), "{told}");
    }
}

#[test]
fn names_of_the_server_are_reserved() {
    let script = Script::load(&Sources::of_main(WORLD), Limits::DEFAULT).expect("the script loads");
    assert!(script.definition().action(ARRIVE).is_some());
    let text = "local world = require('@nowcast/world')\nworld.action('@arrive', {}, print)";
    let fault = Script::load(&Sources::of_main(text), Limits::DEFAULT).map(drop).unwrap_err();
    assert!(fault.message.contains("reserved for the server"), "{fault}");
    let told = play("world.emit('@go', {})").expect("the event is the server's");
    assert!(told.contains("reserved for the server"), "{told}");
}
