use nowcast_server::playground::{Action, JoinError};

use super::*;

#[test]
fn two_avatars_cannot_be_in_the_same_place() {
    let (mut world, ada) = plain_with_ada();
    let ben = world.join("Ben").unwrap();
    steps(&mut world, 30);
    for _ in 0..300 {
        let (a, b) = (position(&world, ada), position(&world, ben));
        world.set_input(ada, run(yaw_toward(a, b)));
        world.set_input(ben, run(yaw_toward(b, a)));
        world.step();
        let apart = distance(position(&world, ada), position(&world, ben));
        assert!(apart > 0.6, "two capsules 0.7 m wide are {apart} m apart");
    }
}

#[test]
fn everybody_who_joins_gets_a_place_of_his_own() {
    let mut world = Playground::new(Config { avatars_max: 256, ..Config::default() });
    let ids: Vec<_> = (0..256).map(|i| world.join(&format!("guest {i}")).expect("there is room")).collect();
    let places: Vec<_> = ids.iter().map(|id| position(&world, *id)).collect();
    for (index, a) in places.iter().enumerate() {
        for b in &places[..index] {
            assert!(distance(*a, *b) > 0.8, "{a:?} and {b:?}");
        }
    }
    assert_eq!(world.join("one too many"), Err(JoinError::Full { avatars_max: 256 }));
    world.leave(ids[7]);
    let late = world.join("late").expect("one has left");
    assert!(!ids.contains(&late), "an id is never given twice");
    assert_eq!(world.avatars(), 256);
}

#[test]
fn a_crowd_that_runs_into_everything_stays_in_the_world() {
    let mut world = Playground::new(Config::default());
    let ids: Vec<_> = (0..60).map(|_| world.join("").unwrap()).collect();
    for tick in 0..900u32 {
        for (index, id) in ids.iter().enumerate() {
            let yaw = (tick / 90) as f32 * 1.7 + index as f32;
            world.set_input(*id, Input::new(1.0, 0.0, yaw, true, tick % 50 == 0).unwrap());
        }
        world.step();
    }
    for entity in world.entities() {
        assert!(entity.pose.position.iter().all(|v| v.is_finite() && v.abs() < 60.0), "{entity:?}");
    }
}

#[test]
fn names_and_chat_are_events_and_keep_their_order() {
    let (mut world, ada) = plain_with_ada();
    assert_eq!(drain(&mut world), [Event::Spawned(ada)]);
    world.act(ada, Action::chat(" hello\u{7} <b>you</b> "));
    world.act(ada, Action::Rename { name: "\u{202e}Ada L.".into() });
    world.act(ada, Action::chat("it is still me"));
    world.act(ada, Action::chat("\u{200b}"));
    assert_eq!(world.poll_event(), None, "nothing happens between steps");
    world.step();
    let said = |name: &str, text: &str| Event::Chat { from: ada, name: name.into(), text: text.into() };
    assert_eq!(
        drain(&mut world),
        [
            said("Ada", "hello <b>you</b>"),
            Event::Renamed { id: ada, name: "Ada L.".into() },
            said("Ada L.", "it is still me"),
        ]
    );
    assert_eq!(world.entity(ada).unwrap().name, Some("Ada L."));
    let guest = world.join(" \u{0} ").unwrap();
    assert_eq!(world.entity(guest).unwrap().name, Some(format!("guest-{}", guest.0).as_str()));
}
