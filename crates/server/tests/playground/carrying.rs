use std::f32::consts::PI;

use nowcast_server::playground::Action;

use super::*;

/// One of the cubes that lie about near the spawn point.
fn loose_cube(world: &Playground) -> EntityId {
    let (id, _) = *blocks(world).last().expect("the playground has blocks");
    id
}

fn fetch(world: &mut Playground, who: EntityId, block: EntityId) {
    let place = position(world, block);
    go_to(world, who, place, 1.3, 8);
    world.act(who, Action::grab());
    world.step();
    assert_eq!(world.entity(who).unwrap().held, Some(block), "took the nearest block in front");
    assert_eq!(world.entity(block).unwrap().held, Some(who));
}

#[test]
fn a_block_is_fetched_carried_and_put_down_elsewhere() {
    let (mut world, ada) = playground_with_ada();
    drain(&mut world);
    let cube = loose_cube(&world);
    fetch(&mut world, ada, cube);
    go_to(&mut world, ada, [8.0, 0.9, 12.0], 0.3, 8);
    steps(&mut world, 30);
    let carried = distance(position(&world, cube), position(&world, ada));
    assert!((0.6..1.3).contains(&carried), "carried in front, {carried} m away");
    world.act(ada, Action::throw(0.0, 0.0));
    steps(&mut world, 120);
    let put = position(&world, cube);
    assert!(
        distance(put, [8.0, 0.25, 12.0]) < 1.6 && (put[1] - 0.25).abs() < 0.02,
        "lies on the ground: {put:?}"
    );
    let expected = [Event::Held { avatar: ada, block: Some(cube) }, Event::Held { avatar: ada, block: None }];
    assert_eq!(drain(&mut world), expected);
}

#[test]
fn a_thrown_block_flies_where_the_avatar_faces_and_the_harder_the_farther() {
    let thrown = |power: f32| {
        let (mut world, ada) = playground_with_ada();
        let cube = loose_cube(&world);
        fetch(&mut world, ada, cube);
        go_to(&mut world, ada, [7.0, 0.9, 12.0], 0.3, 8);
        world.set_input(ada, Input { yaw: PI, ..stand() });
        steps(&mut world, 60);
        let start = position(&world, cube);
        world.act(ada, Action::throw(power, 0.4));
        steps(&mut world, 60);
        let end = position(&world, cube);
        assert!((end[0] - start[0]).abs() < 1.0, "straight ahead: {start:?} to {end:?}");
        end[2] - start[2]
    };
    let (soft, hard) = (thrown(0.3), thrown(1.0));
    assert!(soft > 1.0 && hard > 8.0 && hard > 2.0 * soft, "{soft} m and {hard} m");
}

#[test]
fn a_thrown_block_knocks_over_a_tower() {
    let (mut world, ada) = playground_with_ada();
    let cube = loose_cube(&world);
    fetch(&mut world, ada, cube);
    // The totem at (5.5, 3): five cubes, the top one above two and a half metres.
    let (top, before) = blocks(&world)
        .into_iter()
        .filter(|(_, p)| (p[0] - 5.5).abs() < 0.1 && (p[2] - 3.0).abs() < 0.1)
        .max_by(|a, b| a.1[1].total_cmp(&b.1[1]))
        .unwrap();
    assert!(before[1] > 2.5);
    go_to(&mut world, ada, [5.5, 0.9, 8.5], 0.2, 8);
    world.set_input(ada, stand());
    steps(&mut world, 30);
    world.act(ada, Action::throw(1.0, 0.25));
    steps(&mut world, 240);
    assert!(position(&world, top)[1] < 1.5, "the top fell to {:?}", position(&world, top));
}

#[test]
fn nobody_takes_what_another_one_carries_and_who_leaves_drops_it() {
    let (mut world, ada) = playground_with_ada();
    let ben = world.join("Ben").unwrap();
    let cube = loose_cube(&world);
    fetch(&mut world, ada, cube);
    let place = position(&world, cube);
    go_to(&mut world, ben, place, 1.2, 8);
    world.act(ben, Action::Grab { block: Some(cube) });
    steps(&mut world, 2);
    assert_eq!(world.entity(ben).unwrap().held, None);

    world.leave(ada);
    assert_eq!(world.entity(cube).unwrap().held, None);
    assert!(drain(&mut world).ends_with(&[Event::Held { avatar: ada, block: None }, Event::Despawned(ada)]));
    world.act(ben, Action::Grab { block: Some(cube) });
    steps(&mut world, 2);
    assert_eq!(world.entity(ben).unwrap().held, Some(cube));
}

#[test]
fn out_of_reach_behind_or_behind_a_wall_is_not_taken() {
    let (mut world, ada) = playground_with_ada();
    let cube = loose_cube(&world);
    world.act(ada, Action::Grab { block: Some(cube) });
    world.act(ada, Action::grab());
    steps(&mut world, 2);
    assert_eq!(world.entity(ada).unwrap().held, None, "everything is metres away");

    let place = position(&world, cube);
    go_to(&mut world, ada, place, 1.3, 8);
    let yaw = yaw_toward(place, position(&world, ada));
    world.set_input(ada, Input { yaw, ..stand() });
    world.act(ada, Action::grab());
    steps(&mut world, 2);
    assert_eq!(world.entity(ada).unwrap().held, None, "it lies behind her back");
}

#[test]
fn what_is_carried_is_no_lever() {
    let (mut world, ada) = playground_with_ada();
    let cube = loose_cube(&world);
    fetch(&mut world, ada, cube);
    // Jump and spin, with the block in front, then push it into the ground and against a wall.
    let mut highest: f32 = 0.0;
    for tick in 0..900 {
        let yaw = tick as f32 * 0.13;
        world.set_input(ada, Input::new(1.0, 0.3, yaw, true, tick % 7 != 0).unwrap());
        world.step();
        highest = highest.max(position(&world, ada)[1]);
    }
    assert!(highest < 0.9 + 1.35, "nobody flies on his own block: {highest}");
    go_to(&mut world, ada, [20.0, 0.9, 26.0], 0.5, 10);
    world.set_input(ada, run(PI));
    for _ in 0..240 {
        world.step();
        let at = position(&world, ada);
        assert!(at[1] < 1.0 && at[2] < 28.5, "the wall stops both: {at:?}");
    }
}

#[test]
fn turning_around_before_a_wall_keeps_the_block_or_drops_it() {
    let (mut world, ada) = playground_with_ada();
    let cube = loose_cube(&world);
    fetch(&mut world, ada, cube);
    // Ada stands before a pillar of the gate and turns around, so that the block has to come through or past her.
    go_to(&mut world, ada, [8.0, 0.9, 6.0], 0.5, 12);
    go_to(&mut world, ada, [7.5, 0.9, -12.0], 0.5, 12);
    go_to(&mut world, ada, [8.0, 0.9, -22.5], 0.5, 12);
    go_to(&mut world, ada, [4.0, 0.9, -22.8], 0.4, 12);
    world.set_input(ada, Input { yaw: 0.0, ..stand() });
    steps(&mut world, 60);
    assert!(position(&world, ada)[2] > -24.0 + 0.3, "she stands before the pillar");
    world.set_input(ada, Input { yaw: PI, ..stand() });
    steps(&mut world, 120);
    let apart = distance(position(&world, cube), position(&world, ada));
    assert!(apart < 1.6, "turned around within arm's length, or dropped: {apart}");
}
