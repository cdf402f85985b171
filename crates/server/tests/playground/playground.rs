use std::f32::consts::FRAC_PI_2;

use super::*;

#[test]
fn it_has_three_hundred_blocks_of_several_sizes_that_stand_by_themselves() {
    let mut world = Playground::new(Config::default());
    let before = blocks(&world);
    assert_eq!(before.len(), 300);
    let mut sizes: Vec<_> =
        world.entities().filter(|e| e.kind == Kind::Block).map(|e| e.size.map(f32::to_bits)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    assert!(sizes.len() >= 8, "{} sizes", sizes.len());
    assert!(world.awake() == 300, "they are awake at first");

    steps(&mut world, 3 * 60);
    assert_eq!(world.awake(), 0, "after three seconds everything sleeps");
    for ((id, was), (_, is)) in before.into_iter().zip(blocks(&world)) {
        assert!(distance(was, is) < 0.02, "{id:?} moved from {was:?} to {is:?}");
    }
}

#[test]
fn ids_are_ordered_statics_first_then_blocks_then_avatars() {
    let (world, ada) = playground_with_ada();
    let all: Vec<_> = world.entities().map(|e| (e.id, e.kind)).collect();
    assert!(all.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert_eq!(all.first().unwrap().1, Kind::Static);
    assert_eq!(*all.last().unwrap(), (ada, Kind::Avatar));
    for (id, kind) in all {
        assert_eq!(world.entity(id).map(|e| (e.id, e.kind)), Some((id, kind)));
    }
    assert_eq!(world.entity(EntityId(0)), None);
    assert!(world.poses().map(|(id, _)| id).is_sorted());
    assert_eq!(world.poses().count(), 301);
}

#[test]
fn walking_into_a_stack_knocks_it_over() {
    let (mut world, ada) = playground_with_ada();
    let totem: Vec<_> = blocks(&world)
        .into_iter()
        .filter(|(_, p)| (p[0] + 5.5).abs() < 0.1 && (p[2] - 3.0).abs() < 0.1)
        .collect();
    assert_eq!(totem.len(), 5);
    go_to(&mut world, ada, [-5.5, 0.9, 8.5], 0.5, 8);
    world.set_input(ada, walk(0.0));
    steps(&mut world, 240);
    let highest = totem.iter().map(|(id, _)| position(&world, *id)[1]).fold(0.0, f32::max);
    assert!(highest < 3.0, "the top has fallen to {highest}");
}

#[test]
fn one_push_fells_the_whole_row_of_dominoes() {
    let (mut world, ada) = playground_with_ada();
    let row: Vec<_> = world
        .entities()
        .filter(|e| e.kind == Kind::Block && (e.size[1] - 1.1).abs() < 1e-3 && e.size[2] < 0.2)
        .map(|e| (e.id, e.pose.position))
        .collect();
    assert_eq!(row.len(), 45);
    let first = row[0].1;
    go_to(&mut world, ada, [first[0], 0.9, first[2] + 1.8], 0.2, 10);
    world.set_input(ada, walk(0.0));
    steps(&mut world, 40);
    world.set_input(ada, stand());
    steps(&mut world, 900);
    let standing = row.iter().filter(|(id, _)| position(&world, *id)[1] > 0.5).count();
    assert_eq!(standing, 0, "all 45 have fallen");
}

#[test]
fn a_block_pushed_over_the_edge_comes_back_from_above() {
    let mut world = Playground::new(Config::default());
    let ada = world.join("Ada").unwrap();
    steps(&mut world, 60);
    // The cube at (4.4, 8.8), carried to a gap in the eastern wall and thrown out.
    let (cube, home) = *blocks(&world).last().unwrap();
    go_to(&mut world, ada, home, 1.3, 8);
    world.act(ada, Action::grab());
    world.step();
    assert_eq!(world.entity(ada).unwrap().held, Some(cube));
    go_to(&mut world, ada, [27.0, 0.9, 9.5], 0.3, 10);
    world.set_input(ada, Input { yaw: -FRAC_PI_2, ..stand() });
    steps(&mut world, 40);
    drain(&mut world);
    world.act(ada, Action::throw(1.0, 0.3));
    let returned = (0..600).any(|_| {
        world.step();
        drain(&mut world).contains(&Event::Returned(cube))
    });
    assert!(returned);
    steps(&mut world, 240);
    let back = position(&world, cube);
    assert!(distance(back, home) < 1.0, "at home again: {back:?}");
}
