//! People in worlds of scripts.

use nowcast_script::{Limits, Live, Sources};
use nowcast_world::{Command, Input, PlayerId, Value};

#[test]
fn a_teleported_person_keeps_its_yaw_until_the_next_input() {
    let text = "local world = require('@nowcast/world')
        local Person = world.kind('person', { walker = {} })
        world.on('join', function(player) player:spawn_avatar(Person, { at = vector.create(0, 1, 0), yaw = -1.5 }) end)";
    let mut live = Live::new(Sources::of_main(text), 1, Limits::DEFAULT).expect("the script loads");
    let player = PlayerId(1);
    live.apply(Command::Join { player, name: "Ada".into() }).expect("the world accepts the command");
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
    live.apply(Command::Join { player: PlayerId(1), name: "Ada".into() }).expect("there is room");
    live.step();
    assert_eq!(live.world().scene().state("lives").and_then(Value::as_f64), Some(3.0));
}
