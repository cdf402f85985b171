use nowcast_server::playground::Action;
use proptest::prelude::*;

use super::*;

fn absurd() -> impl Strategy<Value = f32> {
    prop_oneof![
        Just(f32::NAN),
        Just(f32::INFINITY),
        Just(f32::NEG_INFINITY),
        Just(f32::MAX),
        Just(f32::MIN_POSITIVE),
        Just(1e300_f64 as f32),
        -1.0f32..1.0,
        any::<f32>(),
    ]
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any::<Option<u32>>().prop_map(|block| Action::Grab { block: block.map(|id| EntityId(id % 400)) }),
        (absurd(), absurd()).prop_map(|(power, pitch)| Action::Throw { power, pitch }),
        any::<String>().prop_map(|text| Action::Chat { text }),
        any::<String>().prop_map(|name| Action::Rename { name }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn nothing_that_comes_in_makes_a_pose_that_is_no_number(
        inputs in prop::collection::vec((absurd(), absurd(), absurd(), any::<(bool, bool)>()), 1..40),
        actions in prop::collection::vec(action(), 1..40),
    ) {
        let (mut world, ada) = playground_with_ada();
        for (index, (forward, right, yaw, (run, jump))) in inputs.into_iter().enumerate() {
            // Built by hand, past the door of `Input::new`.
            world.set_input(ada, Input { forward, right, yaw, run, jump });
            if let Some(action) = actions.get(index) {
                world.act(ada, action.clone());
            }
            steps(&mut world, 5);
        }
        for (id, pose) in world.poses() {
            prop_assert!(pose.position.iter().chain(&pose.rotation).all(|v| v.is_finite()), "{:?} {:?}", id, pose);
            prop_assert!(pose.euler_xyz().iter().all(|v| v.is_finite()));
        }
    }
}

#[test]
fn what_is_refused_is_counted_and_the_input_before_it_holds() {
    let (mut world, ada) = plain_with_ada();
    world.set_input(ada, walk(0.0));
    world.set_input(ada, Input { forward: f32::NAN, ..stand() });
    world.act(ada, Action::Throw { power: 1e30, pitch: 0.0 });
    let start = position(&world, ada);
    steps(&mut world, 60);
    assert!(start[2] - position(&world, ada)[2] > 2.5, "she still walks");
    assert_eq!((world.stats().invalid_refused, world.stats().commands_refused), (1, 1));
    world.set_input(EntityId(9999), stand());
    world.act(EntityId(9999), Action::grab());
    world.leave(EntityId(9999));
    assert_eq!(world.stats().commands_refused, 1 + 3);
}

#[test]
fn a_flood_of_actions_and_events_stays_bounded() {
    let (mut world, ada) = plain_with_ada();
    for _ in 0..2000 {
        for _ in 0..100 {
            world.act(ada, Action::chat("spam"));
        }
        world.step();
    }
    assert_eq!(world.stats().commands_dropped, 2000 * 36);
    assert_eq!(drain(&mut world).len() as u64, 65_536);
    assert_eq!(world.stats().events_dropped, 2 + 2000 * 64 - 65_536);
}
